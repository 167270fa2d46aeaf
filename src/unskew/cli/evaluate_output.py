"""What ``unskew evaluate`` prints: a report as tables and sentences."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from unskew.cli.held_out_words import describe_held_out, describe_without_profile
from unskew.cli.printing import print_line, print_table
from unskew.text import percent, thousands

if TYPE_CHECKING:
    from unskew.evaluation.changes import Change, Part
    from unskew.evaluation.report import Report
    from unskew.evaluation.score import Score
    from unskew.weights.item_weights import ItemWeights

TOO_FEW_HITS = (
    "Too few hits: the score rests on fewer than 5 effective hits, and its interval is conservative. Take more "
    "users or a longer list for a score that can be compared."
)
BIASED = (
    "* Not a constant list: item weights do not remove from such a score what recommendations did to the log, and "
    "can even reverse an order. It is no verdict; exposures, the dates of campaigns or a hold-out group would "
    "remove the bias."
)
_INTERVALS = {
    "users": "users are the independent units, weights and models taken as given",
    "draws": "draws of a sample, about the score of all pairs",
    "bootstrap": "weighted: users drawn again at both dates, weights fitted again, models not refitted",
    "bootstrap, target known": "weighted: users drawn again, weights fitted again, models not refitted, the "
    "target taken as known",
}
"""What the intervals of each method are about."""


def print_report(report: Report) -> None:
    """Scores, what stands behind them, then what changed and what differs, in sentences."""
    _print_scores(report.scores)
    methods = [meant for method, meant in _INTERVALS.items() if any(s.method == method for s in report.scores)]
    print_line(f"Intervals of {100 * report.scores[0].level:g} %: {'; '.join(methods)}.")
    for line in _describe_protocol(report):
        print_line(line)
    _print_changes(report.changes)
    weights = report.weights
    if weights is not None and report.bound_holds:
        print_line(
            f"Weights: {weights.status}, the score of a constant algorithm is within "
            f"{weights.bound:.4f} of its score at {weights.reference} "
            f"({weights.report.bound_before:.4f} before){_describe_left_out(weights)}{_describe_new(weights)}."
        )
    for comparison in report.comparisons:
        print_line(str(comparison))
    for note in report.notes:
        print_line(f"Note: {note}.")


def _describe_protocol(report: Report) -> Iterator[str]:
    """What was held out, who could not be evaluated, and why some qualities have no weighted score."""
    protocol = report.protocol
    told = describe_held_out(protocol, report.at, report.after, report.reference, report.reference_after)
    if told:
        yield told
    for at in dict.fromkeys(score.at for score in report.scores):
        alone = next(score.users_without_profile for score in report.scores if score.at == at)
        if alone.count:
            yield f"At {at} {describe_without_profile(alone, protocol)}"
    weighted = {score.quality for score in report.scores if score.weighting == "weighted"}
    of_users = dict.fromkeys(score.quality for score in report.scores if score.quality not in weighted)
    if of_users and report.weights is not None:
        yield (
            f"{', '.join(of_users)}: raw only, since one value stands for all held-out items of a user, and item "
            "weights have nothing to choose from."
        )


def _print_scores(scores: list[Score]) -> None:
    from unskew.evaluation.left_out import MEANINGS

    split = any(s.segment for s in scores)

    def describe(s: Score) -> list[str]:
        segment = [s.segment or "all"] if split else []
        return [*segment, str(s.at), s.weighting if s.top is None else f"top {s.top}"]

    def mark(s: Score) -> str:
        return "*" if s.biased and s.weighting == "weighted" else ""

    few = any(s.too_few_hits for s in scores)
    names = [*(["segment"] if split else []), "at", "weighting"]
    rows = [
        [
            s.recommender,
            s.quality,
            *describe(s),
            f"{s.value:z.4f}{mark(s)}",
            f"{s.low:z.4f}",
            f"{s.high:z.4f}",
            f"{s.folds} folds" if s.folds else s.left_out,
            *(["too few hits" if s.too_few_hits else ""] if few else []),
        ]
        for s in scores
    ]
    head = ["recommender", "quality", *names, "score", "low", "high", "left out", *(["hits"] if few else [])]
    print_table(head, rows, left=2 + len(names))
    if any(map(mark, scores)):
        print_line(BIASED)
    if few:
        print_line(TOO_FEW_HITS)
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
        for name, part in _parts(change).items()
    ]
    if rows:
        names = ["recommender", *(["baseline"] if both else []), "quality", "part"]
        print_table([*names, "points", "low", "high", "bound"], rows, left=len(names))
    for change in changes:
        print_line(f"{change}.")
    if changes and changes[0].method == "bootstrap":
        print_line(
            f"Intervals of changes: users of both dates drawn together {changes[0].repeats} times, the weights "
            f"fitted again each time; the recommenders were not.{_doubt_few(changes[0].repeats)}"
        )


_ENOUGH = 20


def _doubt_few(repeats: int) -> str:
    """A spread that is known from few draws is itself a matter of luck."""
    return "" if repeats >= _ENOUGH else f" So few draws make rough intervals: take at least {_ENOUGH}."


def _parts(change: Change) -> dict[str, Part]:
    """The parts of a change, and the item mix as it is measured on the baseline beside the other."""
    found: dict[str, Part] = {}
    for name, part in change.parts().items():
        found[name] = part
        if name == "item mix" and change.item_mix_baseline is not None:
            found["(item mix, on the baseline)"] = change.item_mix_baseline
    return found


def _bound(change: Change, name: str) -> str:
    """What item weights can still be off by, beside what they do not explain."""
    return "" if change.bound is None or "rest" not in name else f"{100 * change.bound:.2f}"


def _points(part: Part) -> list[str]:
    return [f"{100 * value:+z.2f}" for value in (part.value, part.low, part.high)]


def _describe_new(weights: ItemWeights) -> str:
    """How much of the item mix the weights have no target for."""
    new = weights.report.new_items
    if new.count == 0:
        return ""
    done = "dropped" if weights.options.new_items == "drop" else "kept"
    return f"; {thousands(new.count)} new items, {done}, have {percent(new.mass)} of the mass now"


def _describe_left_out(weights: ItemWeights) -> str:
    """At whose cost the bound was bought: it is about the users who are left, at both dates."""
    now, then = weights.report.users_left_out, weights.report.users_left_out_reference
    if now.count + then.count == 0:
        return ""
    return f", with {percent(now.mass)} of the users left out now and {percent(then.mass)} then"
