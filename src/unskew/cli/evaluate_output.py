"""What ``unskew evaluate`` prints: a report as tables and sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from unskew.cli.printing import print_command, print_line, print_table
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


def print_verdicts(report: Report, *, details: bool) -> None:
    """The answers first, then one table of scores unless details with all scores follow."""
    from unskew.show.verdict_text import has_few_hits, make_score_table

    print_answers(report)
    if report.verdicts and not details:
        head, rows = make_score_table(report)
        print_table(head, rows, left=2)
        if has_few_hits(report):
            print_line("* rests on fewer than 5 effective hits: its interval is conservative.")
    if report.verdicts:
        print_notes(report)


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
    if not report.verdicts:  # else they stand below the verdicts
        print_notes(report)


def _print_scores(scores: list[Score]) -> None:
    from unskew.evaluation.held_out import MEANINGS

    split = any(s.segment for s in scores)
    several_views = len({s.view for s in scores}) > 1

    def describe(s: Score) -> list[str]:
        segment = [s.segment or "all"] if split else []
        return [
            *segment,
            *([s.view] if several_views else []),
            str(s.at),
            s.weighting if s.top is None else f"top {s.top}",
        ]

    def mark(s: Score) -> str:
        return "*" if s.biased and s.weighting == "weighted" else ""

    few = any(s.too_few_hits for s in scores)
    names = [*(["segment"] if split else []), *(["view"] if several_views else []), "at", "weighting"]
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
