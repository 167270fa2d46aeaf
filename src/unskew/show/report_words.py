"""What a report says in words: sentences about scores, changes and weights, for terminals and for pages.

Loads nothing but text, so that a command line can name these before it loads what computes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from unskew.data.held_out_words import describe_below_min_items, describe_held_out, describe_without_profile
from unskew.text import percent, thousands

if TYPE_CHECKING:
    from unskew.evaluation.changes import Change
    from unskew.evaluation.report import Report
    from unskew.evaluation.score import Score
    from unskew.weights.item_weights import ItemWeights

TOO_FEW_HITS = (
    "Too few hits: the score rests on fewer than 5 effective hits, and its interval is conservative. Take more "
    "users or a longer list for a score that can be compared."
)
BIASED = (
    "* Not a fixed list: item weights do not remove from such a score what recommendations did to the log, and "
    "can even reverse an order. It is no verdict; exposures, the dates of campaigns or a holdout group remove the "
    "bias, if the view of the log that they allow passes its tests."
)
INTERVALS = {
    "users": "users are the independent units, weights and models held fixed",
    "draws": "draws of a sample, about the score of all pairs",
    "bootstrap": "weighted: users drawn again at both dates, weights fitted again, models not refitted",
    "bootstrap, target known": "weighted: users drawn again, weights fitted again, models not refitted, the "
    "target known",
}
"""What the intervals of each method are about."""

_ENOUGH = 20


def describe_intervals(report: Report) -> str:
    """How the intervals of the scores were made."""
    methods = [meant for method, meant in INTERVALS.items() if any(s.method == method for s in report.scores)]
    return f"Intervals of {100 * report.scores[0].level:g} %: {'; '.join(methods)}."


def describe_protocol(report: Report) -> Iterator[str]:
    """What was held out, who could not be evaluated, and why some metrics have no weighted score."""
    protocol = report.protocol
    told = describe_held_out(protocol, report.at, report.after, report.reference, report.reference_after)
    if told:
        yield told
    for at in dict.fromkeys(score.at for score in report.scores):
        alone = next(score.users_without_profile for score in report.scores if score.at == at)
        if alone.count:
            yield f"At {at} {describe_without_profile(alone, protocol)}"
        below = next(score.users_below_min_items for score in report.scores if score.at == at)
        if below.count:
            yield f"At {at} {describe_below_min_items(below, report.min_items)}"
    weighted = {score.metric for score in report.scores if score.weighting == "weighted"}
    of_users = dict.fromkeys(score.metric for score in report.scores if score.metric not in weighted)
    if of_users and report.weights is not None:
        yield (
            f"{', '.join(of_users)}: not re-weighted, since one value stands for all held-out items of a user, "
            "and item weights have nothing to choose from."
        )


def describe_change_intervals(changes: Sequence[Change]) -> str:
    """How the intervals of changes were made; nothing where they were made as those of the scores."""
    if not changes or changes[0].method != "bootstrap":
        return ""
    repeats = changes[0].repeats
    few = "" if repeats >= _ENOUGH else f" So few draws make rough intervals: take at least {_ENOUGH}."
    cut = ""
    if any(change.more_data is not None and change.more_data.low < change.more_data.high for change in changes):
        cut = " For more data and what is unexplained, weights were taken as given."
    return (
        f"Intervals of changes: users of both dates drawn together {repeats} times, the weights fitted again each "
        f"time; the recommenders were not.{cut}{few}"
    )


def describe_weights(weights: ItemWeights, *, fixed: bool) -> str:
    """How the fit ended and at whose cost; for fixed lists, how far their scores can still be off."""
    bound = ""
    if fixed:
        bound = (
            f", the score of a fixed list is within {100 * weights.bound:.2f} points of its score at "
            f"{weights.reference} ({100 * weights.report.bound_before:.2f} before), hit@5 within "
            f"{100 * weights.worst(5):.2f} (worst@5)"
        )
    return f"Weights: {weights.status}{bound}{_describe_excluded(weights)}{_describe_new(weights)}."


def _describe_new(weights: ItemWeights) -> str:
    """How much of the item mix the weights have no target for."""
    new = weights.report.new_items
    if new.count == 0:
        return ""
    done = "dropped" if weights.options.new_items == "drop" else "kept"
    return f"; {thousands(new.count)} new items, {done}, have {percent(new.mass)} of the mass now"


def _describe_excluded(weights: ItemWeights) -> str:
    """At whose cost the bound was bought: it is about the users who are left, at both dates."""
    now, then = weights.report.users_excluded, weights.report.users_excluded_reference
    if now.count + then.count == 0:
        return ""
    return f", with {percent(now.mass)} of the users excluded now and {percent(then.mass)} then"


def describe_leaks(scores: Sequence[Score]) -> str:
    """Whose models still contain what they were to find; nothing where none do."""
    leaking = dict.fromkeys(score.recommender for score in scores if score.held_out == "profile")
    if not leaking:
        return ""
    return f"Scores of {', '.join(leaking)} are too high by an unknown amount; --folds 10 removes that."
