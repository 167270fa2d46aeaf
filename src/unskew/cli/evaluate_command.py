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
from unskew.cli.terminal import print_json, print_line, print_table, tell
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
        command=quote_command(without=("--json", "--details")),
        **source.keywords(log),
        **options,
        **fit.keywords(log),
    )
    if as_json:
        print_json(answer.to_dict())
        return
    print_answers(answer)
    if not details:
        _print_summary(answer)
    if source.known.is_given and (details or not answer.verdicts):
        print_view(answer.view_report, details=details)
    if details:
        _print_details(answer)


_MUCH = 0.005  # of the mass


def _print_summary(report: Report) -> None:
    """One compact table of scores, and the notes that matter."""
    from unskew.show.verdict_text import is_of_untrusted_view, make_score_table

    if not report.verdicts:
        for sentence in (*report.changes, *report.comparisons):
            print_line(f"{sentence}.")
    head, rows, left = make_score_table(report)
    print_table(head, rows, left=left)
    if any(score.too_few_hits for score in report.scores):
        print_line("* rests on fewer than 5 effective hits: its interval is conservative.")
    if any(map(is_of_untrusted_view, report.scores)):
        print_line(UNTRUSTED)
    if not report.verdicts:  # whose reasons say as much
        for note in _list_caveats(report):
            print_line(note)
    for note in report.notes:
        print_line(f"Note: {note}.")


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
    if report.weights is not None and report.bound_holds:
        fit = report.weights.report
        if max(fit.new_items.mass, fit.users_excluded.mass, fit.users_excluded_reference.mass) > _MUCH:
            yield _describe_weights(report, report.weights)


def _describe_weights(report: Report, weights: ItemWeights) -> str:
    return describe_weights(weights, fixed=any(change.bound_holds for change in report.changes))


def print_answers(report: Report) -> None:
    """Each verdict with its reason, then the next steps."""
    from unskew.show.verdict_text import list_verdict_lines

    for line in list_verdict_lines(report.verdicts):
        print_line(line)


def _print_details(report: Report) -> None:
    """Scores, what stands behind them, then what changed and what differs, in sentences."""
    _print_scores(report.scores)
    print_line(describe_intervals(report))
    for line in describe_protocol(report):
        print_line(line)
    _print_changes(report.changes)
    if report.weights is not None and report.bound_holds:
        print_line(_describe_weights(report, report.weights))
    for comparison in report.comparisons:
        print_line(str(comparison))
    for note in report.notes:
        print_line(f"Note: {note}.")


def _print_scores(scores: list[Score]) -> None:
    from unskew.evaluation.pairs import MEANINGS
    from unskew.evaluation.score import name_kind

    split = any(s.segment for s in scores)
    few = any(s.too_few_hits for s in scores)

    def describe(s: Score) -> list[str]:
        return [*([s.segment or "all"] if split else []), str(s.at), name_kind(s.weighting, s.top, s.view)]

    def mark(s: Score) -> str:
        return "*" if s.biased and s.weighting == "weighted" else ""

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
    behind: dict[tuple[str, ...], None] = {}  # which recommenders and metrics share
    for s in scores:
        pairs, effective = thousands(s.pairs), thousands(round(s.effective_pairs))
        behind[*describe(s), pairs, effective, percent(s.largest_item), percent(s.users_excluded.mass)] = None
    print_table([*names, "pairs", "effective", "largest item", "users excluded"], list(behind), left=len(names))


def _print_changes(changes: list[Change]) -> None:
    """The parts of each change as one table, then each in a sentence."""
    both = any(change.baseline for change in changes)
    rows = []
    for change in changes:
        names = [change.recommender, *([change.baseline or ""] if both else []), change.metric]
        for name, part in _list_parts(change) if change.comparable else ():
            points = [f"{100 * value:+z.2f}" for value in (part.value, part.low, part.high)]
            # what item weights can still be off by for a fixed list, beside what they do not explain
            has_bound = change.bound is not None and change.bound_holds and "unexplained" in name
            rows.append([*names, name, *points, f"{100 * (change.bound or 0.0):.2f}" if has_bound else ""])
    if rows:
        head = ["recommender", *(["baseline"] if both else []), "metric", "part"]
        print_table([*head, "points", "low", "high", "bound"], rows, left=len(head))
    for change in changes:
        print_line(f"{change}.")
    again = describe_change_intervals(changes)
    if again:
        print_line(again)


def _list_parts(change: Change) -> Iterator[tuple[str, Part]]:
    for name, part in change.parts().items():
        yield name, part
        if name == "item mix" and change.item_mix_baseline is not None:
            yield "(item mix, on the baseline)", change.item_mix_baseline
