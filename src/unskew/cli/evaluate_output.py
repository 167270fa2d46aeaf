"""What ``unskew evaluate`` prints: a report as tables and sentences."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from unskew.cli.printing import print_command, print_line, print_table
from unskew.data.held_out_words import describe_held_out
from unskew.show.report_words import (
    BIASED,
    TOO_FEW_HITS,
    describe_change_intervals,
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

_MUCH = 0.005  # of the mass


def print_summary(report: Report) -> None:
    """The answer, one compact table of scores, and the notes that matter."""
    from unskew.show.verdict_text import has_few_hits, make_score_table

    print_answers(report)
    if not report.verdicts:
        for sentence in (*report.changes, *report.comparisons):
            print_line(f"{sentence}.")
    head, rows, left = make_score_table(report)
    print_table(head, rows, left=left)
    if has_few_hits(report):
        print_line("* rests on fewer than 5 effective hits: its interval is conservative.")
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
    from unskew.evaluation.held_out import MEANINGS
    from unskew.evaluation.score_names import name_kind

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
    """The parts of a change, and the item mix as it is measured on the baseline beside the other."""
    found: dict[str, Part] = {}
    for name, part in change.parts().items():
        found[name] = part
        if name == "item mix" and change.item_mix_baseline is not None:
            found["(item mix, on the baseline)"] = change.item_mix_baseline
    return found


def _bound(change: Change, name: str) -> str:
    """What item weights can still be off by for a fixed list, beside what they do not explain."""
    if change.bound is None or not change.bound_holds or "unexplained" not in name:
        return ""
    return f"{100 * change.bound:.2f}"


def _points(part: Part) -> list[str]:
    return [f"{100 * value:+z.2f}" for value in (part.value, part.low, part.high)]
