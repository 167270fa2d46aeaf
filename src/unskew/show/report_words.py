"""What a report says in words: sentences about scores, changes and weights, for terminals and for pages.

Every word comes from the figures of a report. Loads nothing but text, so that a command line can name these before
it loads what computes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from unskew.text import count, enumerate_words, percent, thousands

if TYPE_CHECKING:
    from unskew.data.policy import Share
    from unskew.data.times import Label
    from unskew.evaluation.changes import Change
    from unskew.evaluation.report import Report
    from unskew.evaluation.score import Score
    from unskew.evaluation.verdict import Verdict
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
UNTRUSTED = (
    "By chance: this view did not pass its tests on these scores, and its bias may exceed what chance does."
)
INTERVALS = {
    "users": "users are the independent units, weights and models held fixed",
    "draws": "draws of a sample, about the score of all pairs",
    "bootstrap": "weighted: users drawn again at both dates, weights fitted again, models not refitted",
    "bootstrap, target known": "weighted: users drawn again, weights fitted again, models not refitted, the "
    "target known",
    "jackknife": "groups of users left out in turn, models fitted again",
}
"""What the intervals of each method are about."""

_ENOUGH = 20


def describe_intervals(report: Report) -> str:
    """How the intervals of the scores were made."""
    methods = [meant for method, meant in INTERVALS.items() if any(s.method == method for s in report.scores)]
    sentence = f"Intervals of {100 * report.scores[0].level:g} %: {'; '.join(methods)}."
    if any(s.view != "all" and s.biased for s in report.scores):
        sentence += f" {UNTRUSTED}"
    return sentence


def describe_protocol(report: Report) -> Iterator[str]:
    """What was held out, who could not be evaluated, and why some metrics have no weighted score."""
    protocol = report.protocol
    sentence = describe_held_out(protocol, report.at, report.after, report.reference, report.reference_after)
    if sentence:
        yield sentence
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
    text, fit = f"Weights: {weights.status}", weights.report
    if fixed:
        text += (
            f", the score of a fixed list is within {100 * weights.bound:.2f} points of its score at "
            f"{weights.reference} ({100 * fit.bound_before:.2f} before), hit@5 within "
            f"{100 * weights.worst(5):.2f} (worst@5)"
        )
    new, now, then = fit.new_items, fit.users_excluded, fit.users_excluded_reference
    if now.count + then.count:  # at whose cost the bound was bought: it is about the others, at both dates
        text += f", with {percent(now.mass)} of the users excluded now and {percent(then.mass)} then"
    if new.count:
        choice = "dropped" if weights.options.new_items == "drop" else "kept"
        text += f"; {thousands(new.count)} new items, {choice}, have {percent(new.mass)} of the mass now"
    return f"{text}."


def describe_leaks(scores: Sequence[Score]) -> str:
    """Whose models still contain what they were to find; nothing where none do."""
    leaking = dict.fromkeys(score.recommender for score in scores if score.held_out == "profile")
    if not leaking:
        return ""
    return f"Scores of {', '.join(leaking)} are too high by an unknown amount; --folds 10 removes that."


def explain_metric(name: str) -> str:
    """What a metric measures, in words; of one's own, only its name.

    >>> explain_metric("hit@5")
    'hit@5 is how often the item that was held out is among the first 5 recommended.'
    """
    match = re.fullmatch(r"(user-)?(?:item-)?([a-z]+)(?:\([^)]*\))?(?:@(\d+))?", name)
    whole, kind, depth = match.groups() if match else (None, "", None)
    first = f"the first {depth or 100} recommended"
    if whole:
        meanings = {
            "hit": f"how often any of a user's held-out items is among {first}",
            "recall": f"how many of a user's held-out items are among {first}, as a share",
            "precision": f"how many of {first} are held-out items of the user, as a share",
            "mrr": f"1 where the first of a user's held-out items that is found comes first, 1/2 where second, "
            f"and so on among {first}, on average",
            "ndcg": f"how many of a user's held-out items are among {first}, those higher up counting more",
            "map": f"how many of a user's held-out items are among {first}, and how high up",
        }
    else:
        meanings = {
            "hit": f"how often the item that was held out is among {first}",
            "mrr": f"1 where the held-out item comes first, 1/2 where second, and so on among {first}, on average",
            "ndcg": f"1 where the held-out item comes first, less the further down among {first}, on average",
            "rbp": f"how soon a user who reads down {first} finds the held-out item",
        }
    return f"{name} is {meanings[kind]}." if kind in meanings else f"{name} is a metric of your own."


def headline_change(change: Change) -> str:
    """What happened to a score, in one sentence."""
    whose, then, now = change.recommender, percent(change.score_reference), percent(change.score)
    if not change.comparable:
        return f"{whose} cannot be compared with {change.reference}."
    size = f"{100 * abs(change.change.value):.2f}"
    if size == "0.00":
        return f"{whose} scores as {change.baseline or 'it'} did on {change.reference}: {now}."
    more = "more" if change.change.value > 0 else "less"
    other = "" if change.baseline is None else f"{change.baseline} did "
    sentence = f"{whose} scores {size} points {more} than {other}on {change.reference}"
    if change.change.low <= 0 <= change.change.high:
        return f"{sentence}, which can be chance: {then} then, {now} now."
    return f"{sentence}: {then} then, {now} now."


def split_words(change: Change, verdict: Verdict | None = None) -> str:
    """What the change of a score comes from, in sentences; what is said of the algorithm rests on its verdict."""
    if not change.comparable:
        return f"{change}."
    parts = [f"{points(change.item_mix.value)} from the item mix"]
    if abs(change.users_excluded.value) >= 5e-5:
        parts.insert(0, f"{points(change.users_excluded.value)} from users excluded")
    if change.more_data is not None and abs(change.more_data.value) >= 5e-5:
        parts.append(f"{points(change.more_data.value)} {change.more_data_words}")
    if change.algorithm is not None:
        parts.append(f"{points(change.algorithm.value)} from {change.algorithm_words}")
    rest = "from the algorithm and all else" if _holds_both(change) else "unexplained"
    parts.append(f"{points(change.unexplained.value)} {rest}")
    return f"Of the change, in points: {enumerate_words(parts)}. {_name_main_part(change, verdict)}"


def _name_main_part(change: Change, verdict: Verdict | None) -> str:
    sizes = {
        "item mix": abs(change.item_mix.value),
        "users": abs(change.users_excluded.value),
        "more data": 0.0 if change.more_data is None else abs(change.more_data.value),
        "algorithm": 0.0 if change.algorithm is None else abs(change.algorithm.value),
        "unexplained": abs(change.unexplained.value),
    }
    total, main = sum(sizes.values()), max(sizes, key=lambda name: sizes[name])
    if total < 5e-5:
        return "Nothing moved."
    if sizes[main] < 0.55 * total:
        return "No part of it outweighs the others."
    most = "Nearly all" if sizes[main] > 0.9 * total else "Most"
    return {
        "item mix": f"{most} of what moved is the item mix: other items have to be found than then, which says "
        "nothing about how well they are found.",
        "users": f"{most} of what moved comes from users who cannot be compared: ask about those of both dates.",
        "more data": f"{most} of what moved is that there is more data to learn from than then.",
        "algorithm": _judge_algorithm(most, verdict)
        if change.held_out[0] == change.held_out[1]
        else f"{most} of what moved may be no more than lists that have seen the held-out items.",
        "unexplained": f"{most} of what moved is the algorithm and all else together."
        if _holds_both(change)
        else f"{most} of what moved is not the item mix.",
    }[main]


def _judge_algorithm(most: str, verdict: Verdict | None) -> str:
    """That the algorithm made the difference, if the verdict says so; else that it may not have."""
    if verdict is not None and verdict.decision in ("better", "worse"):
        return f"{most} of what moved is the algorithm, as the verdict confirms."
    difference = f"{most} of what moved is the difference between the two algorithms on this log"
    if verdict is not None and verdict.decision == "no clear difference":
        return f"{difference}, which is not clear."
    return f"{difference}. Recommendations may have caused it: the verdict is undecided."


def certainty_words(change: Change) -> str:
    """How sure the part is that is left, and what it may be."""
    if not change.comparable:
        return ""
    rest = change.unexplained
    between = f"between {points(rest.low)} and {points(rest.high)}"
    if math.isnan(rest.low):
        return "There are too few users for an interval."
    sure = f"at {100 * change.level:g} % confidence"
    text = f"What is unexplained is {points(rest.value)} points, {between} {sure}"
    biased = not change.bound_holds and change.biased
    if abs(rest.value) < 5e-5 and (change.bound_holds or (change.bound or 0.0) < 1e-3):
        return f"Nothing is left to explain, up to {100 * max(change.bound or 0.0, 1e-4):.2f} points."
    if change.is_within_bound and change.bound is not None:
        return (
            f"{text}. Item weights can still be off by {100 * change.bound:.2f} points, more than that: the data "
            "cannot show a remaining difference."
        )
    if rest.low <= 0 <= rest.high:
        return f"{text}: it may well be nothing but chance."
    if biased:
        return (
            f"{text}: more than chance. It need not be the algorithm: one that learns from the log learns from "
            "what was recommended as well, and item weights do not undo that."
        )
    return f"{text}: more than chance."


WHY_MIX = (
    "Why the item mix changed. Recommendations change it, and so do seasons, news and new users; "
    "re-weighting undoes the change, whatever caused it."
)
"""What no log says by itself."""


def bias_words(recommenders: Sequence[str]) -> str:
    """Of whom the bias of the log is still in the scores, and what would remove it."""
    return (
        f"Whether {enumerate_words(list(recommenders))} would score the same had nothing been recommended. Item "
        "weights repair lists that are the same for everybody; an algorithm that learns from the log keeps most "
        "of the bias. An exposure log (who was shown what, and when), the dates of campaigns or a holdout group "
        "of users who are never shown anything would tell."
    )


def limit_words(report: Report) -> list[str]:
    """What the data cannot tell, and what would; a sentence or two each."""
    limits: list[str] = []
    weights = report.weights
    weighted = [s for s in report.scores if s.weighting == "weighted"]
    biased = list(dict.fromkeys(s.recommender for s in weighted if s.biased))
    limits += [bias_words(biased)] if biased else []
    limits.append(WHY_MIX)
    if weights is not None:
        r = weights.report
        if r.users_excluded.mass > 0.005 or r.users_excluded_reference.mass > 0.005:
            limits.append(
                f"Anything about {percent(r.users_excluded.mass)} of the users now and "
                f"{percent(r.users_excluded_reference.mass)} then: they have nothing that can be compared, "
                "and are excluded. A report on the users of both dates would say more."
            )
        if r.new_items.mass > 0.005 and weights.options.drops_new:
            limits.append(
                f"How well new items are recommended: {thousands(r.new_items.count)} items that nobody had on "
                f"{weights.reference} have {percent(r.new_items.mass)} of the item mix now, and are excluded."
            )
        if r.vanished_items.mass > 0.005:
            limits.append(
                f"What {thousands(r.vanished_items.count)} items that nobody has any more would score: they had "
                f"{percent(r.vanished_items.mass)} of the item mix on {weights.reference}."
            )
    return limits


def diagnostic_words(report: Report) -> list[str]:
    """What a careful reader should know, and what to do about it; a sentence or two each."""
    notes: list[str] = []
    few = list(dict.fromkeys(f"{s.recommender} ({s.metric})" for s in report.scores if s.too_few_hits))
    if few:
        notes.append(f"{enumerate_words(few)}: {TOO_FEW_HITS[0].lower()}{TOO_FEW_HITS[1:]}")
    leaks = describe_leaks(report.scores)
    notes += [leaks] if leaks else []
    weights = report.weights
    if weights is not None:
        notes += _weight_warnings(report, weights)
    notes += list(describe_protocol(report))
    notes.append(describe_intervals(report))
    again = describe_change_intervals(report.changes)
    notes += [again] if again else []
    notes += [f"{note[0].upper()}{note[1:]}." for note in report.notes]
    view = report.view_report
    if view is not None:
        notes += [f"{note[0].upper()}{note[1:]}." for note in view.notes]
        notes += [f"Better: {advice}." for advice in view.advice]
    return notes


def _weight_warnings(report: Report, weights: ItemWeights) -> Iterator[str]:
    if weights.status == "unfinished":
        yield "The fit of the weights ran out of passes before it converged: weighted scores can still be off."
    if not report.bound_holds:
        yield f"The weights were fitted at {weights.at}, not at {report.at}: their bound does not hold here."
    thin = [s for s in report.scores if s.weighting == "weighted" and s.pairs and s.segment is None]
    if thin:
        s = thin[0]
        share = s.effective_pairs / s.pairs
        hint = " That is little: intervals are wide." if share < 0.1 else ""
        yield (
            f"Weights cost certainty: {thousands(s.pairs)} weighted pairs tell as much as "
            f"{thousands(round(s.effective_pairs))} equal ones.{hint}"
        )
        if s.largest_item > 0.1:
            yield f"One item alone is {percent(s.largest_item)} of the held-out items."


def places_words(logged: Sequence[str], reweighted: Sequence[str]) -> str:
    """Whether re-weighting changes an order of names, best first.

    >>> places_words(["a", "b", "c"], ["b", "a", "c"])
    'As logged, a has the highest score; re-weighted, b. Their places change: b from 2 to 1 and a from 1 to 2.'
    """
    moved = [
        f"{name} from {logged.index(name) + 1} to {k}"
        for k, name in enumerate(reweighted, start=1)
        if logged.index(name) + 1 != k
    ]
    if not moved:
        return f"The order of the scores is the same as logged and re-weighted; {logged[0]} has the highest."
    if logged[0] == reweighted[0]:
        return f"{logged[0]} has the highest score either way. Places change below: {enumerate_words(moved)}."
    return (
        f"As logged, {logged[0]} has the highest score; re-weighted, {reweighted[0]}. Their places change: "
        f"{enumerate_words(moved)}."
    )


def _holds_both(change: Change) -> bool:
    """Whether what is left holds the algorithm too, since what ran then cannot be scored now."""
    return change.baseline is not None and change.algorithm is None


def points(value: float, digits: int = 2) -> str:
    """A signed number of percentage points; a dash if it is unknown."""
    return "–" if math.isnan(value) else f"{100 * value:+z.{digits}f}".replace("-", "−")


def percent_or_dash(value: float) -> str:
    """A share in percent; a dash if it is unknown."""
    return "–" if math.isnan(value) else percent(value)


WORDS = {
    "item mix": "How likely each item is to be the one that has to be found: the share of each item in what "
    "users have. Campaigns and recommendations push some items, and so change it.",
    "as logged": "Scored on the log as it is, as if recommendations had caused nothing.",
    "re-weighted": "Scored as if the item mix were still that of the reference date: items that became more "
    "frequent count less, and those that became rarer count more. That does not undo what an algorithm learned "
    "from recommended items.",
    "range": "From the lowest to the highest difference that may be true, over all assumptions about what "
    "recommendations caused, with the intervals of each.",
    "stand-ins for production": "Models that may resemble what made the recommendations. Where interactions since "
    "the reference date agree more with them than before, recommendations may be the cause.",
    "exposure log": "Who was shown what, and when; also called impressions.",
    "holdout group": "Users who are never shown recommendations.",
    "held out": "To score a recommender, an item is removed from what a user has, and the recommender has to find "
    "it from the rest.",
    "item weights": "A number for each item, chosen so that the held-out items have the item mix of the reference "
    "date.",
    "points": "Percentage points: from 10 % to 12 % is 2 points.",
    "users excluded": "Users who have nothing that exists at the other date, so that no weighting can make them "
    "comparable.",
    "more data": "What longer profiles and more users add to a score. It is measured with profiles cut at random "
    "to the size that they had at the reference date.",
    "unexplained": "What is left of a change once the item mix, the users excluded, more data and a change of "
    "algorithm are removed. It can be a real improvement, chance, or bias that is left.",
    "bound": "The furthest that the re-weighted score of a list that is the same for everybody can still be from "
    "its score at the reference date.",
    "mass": "A share of the item mix.",
    "profiles": "What users have at a date, each user's items together.",
    "interval": "Where the figure would lie if other people of the same kind had been asked: 95 of 100 such "
    "intervals contain the true one. It is about chance, and about nothing else.",
}


def describe_held_out(
    protocol: str,
    at: Label,
    after: Label | None = None,
    reference: Label | None = None,
    reference_after: Label | None = None,
) -> str:
    """What is held out, at both dates if they are known; nothing for leave-one-out, which needs no word."""
    if protocol == "leave-last-out":
        return "Held out: the last item of each profile."
    if protocol != "time split" or after is None:
        return ""
    before = ""
    if reference_after is not None:
        before = f", and at the reference date after {reference_after} and up to {reference}"
    return f"Held out: interactions after {after} and up to {at}{before}."


def describe_without_profile(users: Share, protocol: str) -> str:
    """Who could not be evaluated; nothing if there is nobody."""
    if users.count == 0:
        return ""
    few = f"{thousands(users.count)} users" if users.count > 1 else count(1, "user")
    why = "had no profile before" if protocol == "time split" else "had no other item"
    return f"{few} ({percent(users.mass)}) {why}, and cannot be scored."


def describe_below_min_items(users: Share, min_items: int) -> str:
    """Who is excluded for too few items; nothing if there is nobody."""
    if users.count == 0:
        return ""
    few = f"{thousands(users.count)} users have" if users.count > 1 else "1 user has"
    return f"{few} fewer than {min_items} items ({percent(users.mass)}): excluded."
