"""What ``unskew evaluate`` prints: a report as tables and sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from unskew.cli.printing import print_line, print_table
from unskew.text import percent, thousands

if TYPE_CHECKING:
    from unskew.evaluation.changes import Change, Part
    from unskew.evaluation.evaluate_report import Report
    from unskew.evaluation.score import Score
    from unskew.weights.item_weights import ItemWeights

_INTERVALS = {
    "users": "users are the independent units, weights and models taken as given",
    "wilson": "hits of a sample, about the score of all pairs",
    "draws": "draws of a sample, about the score of all pairs",
    "bootstrap": "weighted: users drawn again at both dates, weights fitted again",
    "bootstrap, target known": "weighted: users drawn again, weights fitted again, the target taken as known",
}
"""What the intervals of each method are about."""


def print_report(report: Report) -> None:
    """Scores, what stands behind them, then what changed and what differs, in sentences."""
    _print_scores(report.scores)
    methods = [meant for method, meant in _INTERVALS.items() if any(s.method == method for s in report.scores)]
    print_line(f"Intervals of {100 * report.scores[0].level:g} %: {'; '.join(methods)}.")
    _print_changes(report.changes)
    weights = report.weights
    if weights is not None and report.bound_holds:
        print_line(
            f"Weights: {weights.status}, the score of a constant algorithm is within "
            f"{weights.bound:.4f} of its score at {weights.reference} "
            f"({weights.report.bound_before:.4f} before){_describe_left_out(weights)}. Item weights alone do not "
            "repair personalised algorithms: what they leave unexplained can still be bias."
        )
    for comparison in report.comparisons:
        print_line(str(comparison))
    for note in report.notes:
        print_line(f"Note: {note}.")


def _print_scores(scores: list[Score]) -> None:
    from unskew.evaluation.left_out import MEANINGS

    split = any(s.segment for s in scores)

    def describe(s: Score) -> list[str]:
        segment = [s.segment or "all"] if split else []
        return [*segment, str(s.at), s.weighting if s.top is None else f"top {s.top}"]

    names = [*(["segment"] if split else []), "at", "weighting"]
    rows = [
        [
            s.recommender,
            s.quality,
            *describe(s),
            f"{s.value:z.4f}",
            f"{s.low:z.4f}",
            f"{s.high:z.4f}",
            f"{s.folds} folds" if s.folds else s.left_out,
        ]
        for s in scores
    ]
    head = ["recommender", "quality", *names, "score", "low", "high", "left out"]
    print_table(head, rows, left=2 + len(names))
    kinds = dict.fromkeys(s.left_out for s in scores)
    print_line("Left out: " + "; ".join(f"{kind}: {MEANINGS[kind]}" for kind in kinds) + ".")
    leaking = dict.fromkeys(s.recommender for s in scores if s.left_out == "profile")
    if leaking:
        print_line(f"Scores of {', '.join(leaking)} are too high by an unknown amount; --folds 10 removes that.")
    behind = [
        [
            *describe(s),
            thousands(s.pairs),
            thousands(round(s.effective_pairs)),
            percent(s.largest_item),
            percent(s.users_left_out.mass),
        ]
        for s in scores
    ]
    head = [*names, "pairs", "effective", "largest item", "users left out"]
    print_table(head, [list(row) for row in dict.fromkeys(map(tuple, behind))], left=len(names))


def _print_changes(changes: list[Change]) -> None:
    """The parts of each change as one table, then each in a sentence."""
    both = any(change.baseline for change in changes)
    rows = [
        [*names, change.quality, name, *_points(part), _bound(change, name)]
        for change in changes
        if change.comparable
        for names in [[change.recommender, *([change.baseline or ""] if both else [])]]
        for name, part in change.parts().items()
    ]
    if rows:
        names = ["recommender", *(["baseline"] if both else []), "quality", "part"]
        print_table([*names, "points", "low", "high", "bound"], rows, left=len(names))
    for change in changes:
        print_line(f"{change}.")
    if changes and changes[0].method == "bootstrap":
        print_line(
            f"Intervals of changes: users of both dates drawn together {changes[0].repeats} times, the weights "
            "fitted again each time; the recommenders were not."
        )


def _bound(change: Change, name: str) -> str:
    """What item weights can still be off by, beside what they do not explain."""
    return "" if change.bound is None or "rest" not in name else f"{100 * change.bound:.2f}"


def _points(part: Part) -> list[str]:
    return [f"{100 * value:+z.2f}" for value in (part.value, part.low, part.high)]


def _describe_left_out(weights: ItemWeights) -> str:
    """At whose cost the bound was bought: it is about the users who are left, at both dates."""
    now, then = weights.report.users_left_out, weights.report.users_left_out_reference
    if now.count + then.count == 0:
        return ""
    return f", with {percent(now.mass)} of the users left out now and {percent(then.mass)} then"
