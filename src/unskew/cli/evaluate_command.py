"""``unskew evaluate``: scores of recommenders, raw and weighted, with intervals, as tables and sentences."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from unskew.cli.configured_command import ConfiguredCommand, quote_command
from unskew.cli.log_source import LogOptions, print_view
from unskew.cli.option_groups import everyday_option, own_option, place, use_options
from unskew.cli.shared_options import (
    FitChoice,
    change_options,
    check_question,
    check_specs,
    log_options,
    shared_fit_options,
    show_options,
)
from unskew.cli.terminal import print_command, print_json, print_line, print_table, tell
from unskew.options import Group
from unskew.show.report_words import (
    BIASED,
    TOO_FEW_HITS,
    UNTRUSTED,
    describe_change_intervals,
    describe_held_out,
    describe_intervals,
    describe_leaks,
    describe_protocol,
    describe_weights,
)
from unskew.text import percent, thousands

if TYPE_CHECKING:
    from unskew.evaluation.changes import Change, Part
    from unskew.evaluation.report import Report
    from unskew.evaluation.score import Score
    from unskew.weights.item_weights import ItemWeights


@click.command(cls=ConfiguredCommand)
@place("production", everyday=False)
@log_options
@use_options(
    "reference",
    help="Date to compare with, or a saved marginal: weight scores to its item mix, and split the change since "
    "then.",
)
@use_options("at")
@own_option("--weights FILE", "Weights from 'unskew weights', instead of --reference.", Group.COMPARE)
@use_options("recommenders", required=True)
@use_options("metrics")
@shared_fit_options
@change_options
@use_options("by", "clean_before", "quick")
@everyday_option("--details", "Show all scores, their parts and what stands behind them.", Group.OUTPUT)
@show_options
def evaluate(
    source: LogOptions,
    fit: FitChoice,
    at: str,
    reference: str | None,
    weights: str | None,
    baseline: str | None,
    recommenders: tuple[str, ...],
    metrics: tuple[str, ...],
    details: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Score recommenders on held-out items, raw and weighted.

    With --reference, weighted scores are comparable with those at that date, and the change since then is split
    into its parts.

    \b
    Examples:
      unskew evaluate events.parquet --at 2024-09-01 -r popular -r knn -m hit@5 -m mrr@10
      unskew evaluate events.parquet --reference 2024-03-01 --at 2024-09-01 -r popular
      unskew evaluate events.parquet --reference 2024-03-01 --at 2024-09-01 -r ease --baseline popular
      unskew evaluate events.parquet --reference 2024-03-01 --at 2024-09-01 -r ease --after=-30d
      unskew evaluate events.parquet --reference 2024-03-01 --at 2024-09-01 -r knn --exposures shown.parquet
    """
    from unskew.evaluation.evaluate_report import name_baseline, report
    from unskew.weights.item_weights import ItemWeights

    check_question(fit, options, reference, weights)
    models = check_specs(recommenders, metrics)
    ran = None if baseline is None else name_baseline(baseline, models)
    if options["folds"] is not None:
        dates = 1 if reference is None else 2
        fits = options["folds"] * dates * len({**models, **(ran or {})})
        tell(f"--folds {options['folds']}: recommenders are fitted {fits} times in all")
    fitted = None if weights is None else ItemWeights.load(weights)
    log = source.read(labels=[*filter(None, [options["by"]]), *(fitted.columns if fitted else ())])
    then, now = source.read_dates(log, reference, at)
    answer = report(
        log,
        models,
        at=now,
        reference=None if then is None else source.reference_of(then),
        weights=fitted,
        baseline=ran,
        metric=metrics,
        knowledge=source.known.to_knowledge(log, drop_nulls=source.drop_nulls),
        view=source.known.view,
        command=quote_command(without=("--json", "--details")),
        **source.priors(),
        **options,
        **fit.keywords(log),
    )
    if as_json:
        print_json(answer.to_dict())
        return
    if not details:
        print_summary(answer)
    else:
        print_answers(answer)
    if source.known.is_given and (details or not answer.verdicts):
        print_view(answer.view_report, details=details)
    if details:
        print_report(answer)


_MUCH = 0.005  # of the mass


def print_summary(report: Report) -> None:
    """The answer, one compact table of scores, and the notes that matter."""
    from unskew.show.verdict_text import has_few_hits, is_of_untrusted_view, make_score_table

    print_answers(report)
    if not report.verdicts:
        for sentence in (*report.changes, *report.comparisons):
            print_line(f"{sentence}.")
    head, rows, left = make_score_table(report)
    print_table(head, rows, left=left)
    if has_few_hits(report):
        print_line("* rests on fewer than 5 effective hits: its interval is conservative.")
    if any(map(is_of_untrusted_view, report.scores)):
        print_line(UNTRUSTED)
    if not report.verdicts:  # whose reasons say as much
        for note in _list_caveats(report):
            print_line(note)
    print_notes(report)


def _list_caveats(report: Report) -> Iterator[str]:
    """What was held out, if not one item after the other; and what keeps scores from being compared."""
    held_out = describe_held_out(
        report.protocol, report.at, report.after, report.reference, report.reference_after
    )
    if held_out:
        yield held_out
    weighted = [score for score in report.scores if score.weighting == "weighted"]
    if not report.changes and any(score.biased for score in weighted):
        yield BIASED.removeprefix("* ")
    leaks = describe_leaks(report.scores)
    if leaks:
        yield leaks
    if report.weights is not None and report.bound_holds and _drops_much(report.weights):
        yield describe_weights(report.weights, fixed=any(change.bound_holds for change in report.changes))


def _drops_much(weights: ItemWeights) -> bool:
    fit = weights.report
    shares = (fit.new_items, fit.users_excluded, fit.users_excluded_reference)
    return any(share.mass > _MUCH for share in shares)


def print_answers(report: Report) -> None:
    """Each verdict with its reason, then the next steps."""
    from unskew.show.verdict_text import list_verdict_lines

    for line in list_verdict_lines(report.verdicts):
        (print_command if line.startswith(" ") else print_line)(line)


def print_notes(report: Report) -> None:
    """What was not scored and why, and whether users without a profile may decide."""
    for note in report.notes:
        print_line(f"Note: {note}.")


def print_report(report: Report) -> None:
    """Scores, what stands behind them, then what changed and what differs, in sentences."""
    _print_scores(report.scores)
    print_line(describe_intervals(report))
    for line in describe_protocol(report):
        print_line(line)
    _print_changes(report.changes)
    if report.weights is not None and report.bound_holds:
        fixed = any(change.bound_holds for change in report.changes)
        print_line(describe_weights(report.weights, fixed=fixed))
    for comparison in report.comparisons:
        print_line(str(comparison))
    print_notes(report)


def _print_scores(scores: list[Score]) -> None:
    from unskew.evaluation.pairs import MEANINGS
    from unskew.evaluation.score import name_kind

    split = any(s.segment for s in scores)

    def describe(s: Score) -> list[str]:
        segment = [s.segment or "all"] if split else []
        return [*segment, str(s.at), name_kind(s.weighting, s.top, s.view)]

    def mark(s: Score) -> str:
        return "*" if s.biased and s.weighting == "weighted" else ""

    few = any(s.too_few_hits for s in scores)
    names = [*(["segment"] if split else []), "at", "scored"]
    rows = [
        [
            s.recommender,
            s.metric,
            *describe(s),
            f"{s.value:z.4f}{mark(s)}",
            f"{s.low:z.4f}",
            f"{s.high:z.4f}",
            f"{s.folds} folds" if s.folds else s.held_out,
            *(["too few hits" if s.too_few_hits else ""] if few else []),
        ]
        for s in scores
    ]
    head = ["recommender", "metric", *names, "score", "low", "high", "held out", *(["hits"] if few else [])]
    print_table(head, rows, left=2 + len(names))
    if any(map(mark, scores)):
        print_line(BIASED)
    if few:
        print_line(TOO_FEW_HITS)
    kinds = dict.fromkeys(s.held_out for s in scores)
    print_line("Held out: " + "; ".join(f"{kind}: {MEANINGS[kind]}" for kind in kinds) + ".")
    leaks = describe_leaks(scores)
    if leaks:
        print_line(leaks)
    behind = [
        [
            *describe(s),
            thousands(s.pairs),
            thousands(round(s.effective_pairs)),
            percent(s.largest_item),
            percent(s.users_excluded.mass),
        ]
        for s in scores
    ]
    head = [*names, "pairs", "effective", "largest item", "users excluded"]
    print_table(head, [list(row) for row in dict.fromkeys(map(tuple, behind))], left=len(names))


def _print_changes(changes: list[Change]) -> None:
    """The parts of each change as one table, then each in a sentence."""
    both = any(change.baseline for change in changes)
    rows = [
        [*names, change.metric, name, *_points(part), _bound(change, name)]
        for change in changes
        if change.comparable
        for names in [[change.recommender, *([change.baseline or ""] if both else [])]]
        for name, part in _parts(change).items()
    ]
    if rows:
        names = ["recommender", *(["baseline"] if both else []), "metric", "part"]
        print_table([*names, "points", "low", "high", "bound"], rows, left=len(names))
    for change in changes:
        print_line(f"{change}.")
    again = describe_change_intervals(changes)
    if again:
        print_line(again)


def _parts(change: Change) -> dict[str, Part]:
    parts: dict[str, Part] = {}
    for name, part in change.parts().items():
        parts[name] = part
        if name == "item mix" and change.item_mix_baseline is not None:
            parts["(item mix, on the baseline)"] = change.item_mix_baseline
    return parts


def _bound(change: Change, name: str) -> str:
    """What item weights can still be off by for a fixed list, beside what they do not explain."""
    if change.bound is None or not change.bound_holds or "unexplained" not in name:
        return ""
    return f"{100 * change.bound:.2f}"


def _points(part: Part) -> list[str]:
    return [f"{100 * value:+z.2f}" for value in (part.value, part.low, part.high)]
