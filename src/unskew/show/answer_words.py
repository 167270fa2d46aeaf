"""The answer in plain words, for somebody who has not read the paper: what changed, why, how sure that is.

Every word comes from the figures of a report. What is said on terminals too stands in `report_words`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from unskew.show.report_words import (
    TOO_FEW_HITS,
    describe_change_intervals,
    describe_intervals,
    describe_leaks,
    describe_protocol,
)
from unskew.text import enumerate_words, percent, thousands

if TYPE_CHECKING:
    from unskew.evaluation.changes import Change
    from unskew.evaluation.report import Report
    from unskew.evaluation.verdict import Verdict
    from unskew.weights.item_weights import ItemWeights


def explain_metric(name: str) -> str:
    """What a metric measures, in words; of one's own, only its name.

    >>> explain_metric("hit@5")
    'hit@5 is how often the item that was held out is among the first 5 recommended.'
    """
    found = re.fullmatch(r"(user-)?([a-z]+)(?:\([^)]*\))?(?:@(\d+))?", name)
    whole, kind, depth = found.groups() if found else (None, "", None)
    first = f"the first {depth or 100} recommended"
    if whole:
        told = {
            "hit": f"how often any of a user's held-out items is among {first}",
            "recall": f"how many of a user's held-out items are among {first}, as a share",
            "precision": f"how many of {first} are held-out items of the user, as a share",
            "ndcg": f"how many of a user's held-out items are among {first}, those higher up counting more",
            "map": f"how many of a user's held-out items are among {first}, and how high up",
        }
    else:
        told = {
            "hit": f"how often the item that was held out is among {first}",
            "mrr": f"1 where the held-out item comes first, 1/2 where second, and so on among {first}, on average",
            "ndcg": f"1 where the held-out item comes first, less the further down among {first}, on average",
            "rbp": f"how soon a user who reads down {first} finds the held-out item",
        }
    return f"{name} is {told[kind]}." if kind in told else f"{name} is a metric of your own."


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
    told = [f"{_points(change.item_mix.value)} from the item mix"]
    if abs(change.users_excluded.value) >= 5e-5:
        told.insert(0, f"{_points(change.users_excluded.value)} from users excluded")
    if change.more_data is not None and abs(change.more_data.value) >= 5e-5:
        told.append(f"{_points(change.more_data.value)} {change.more_data_words}")
    if change.algorithm is not None:
        told.append(f"{_points(change.algorithm.value)} from {change.algorithm_words}")
    rest = "from the algorithm and all else" if _holds_both(change) else "unexplained"
    told.append(f"{_points(change.unexplained.value)} {rest}")
    return f"Of the change, in points: {enumerate_words(told)}. {_name_main_part(change, verdict)}"


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
    between = f"between {_points(rest.low)} and {_points(rest.high)}"
    if math.isnan(rest.low):
        return "There are too few users for an interval."
    sure = f"at {100 * change.level:g} % confidence"
    text = f"What is unexplained is {_points(rest.value)} points, {between} {sure}"
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
    found: list[str] = []
    weights = report.weights
    weighted = [s for s in report.scores if s.weighting == "weighted"]
    biased = list(dict.fromkeys(s.recommender for s in weighted if s.biased))
    found += [bias_words(biased)] if biased else []
    found.append(WHY_MIX)
    if weights is not None:
        r = weights.report
        if r.users_excluded.mass > 0.005 or r.users_excluded_reference.mass > 0.005:
            found.append(
                f"Anything about {percent(r.users_excluded.mass)} of the users now and "
                f"{percent(r.users_excluded_reference.mass)} then: they have nothing that can be compared, "
                "and are excluded. A report on the users of both dates would say more."
            )
        if r.new_items.mass > 0.005 and weights.options.drops_new:
            found.append(
                f"How well new items are recommended: {thousands(r.new_items.count)} items that nobody had on "
                f"{weights.reference} have {percent(r.new_items.mass)} of the item mix now, and are excluded."
            )
        if r.vanished_items.mass > 0.005:
            found.append(
                f"What {thousands(r.vanished_items.count)} items that nobody has any more would score: they had "
                f"{percent(r.vanished_items.mass)} of the item mix on {weights.reference}."
            )
    return found


def diagnostic_words(report: Report) -> list[str]:
    """What a careful reader should know, and what to do about it; a sentence or two each."""
    found: list[str] = []
    few = list(dict.fromkeys(f"{s.recommender} ({s.metric})" for s in report.scores if s.too_few_hits))
    if few:
        found.append(f"{enumerate_words(few)}: {TOO_FEW_HITS[0].lower()}{TOO_FEW_HITS[1:]}")
    leaks = describe_leaks(report.scores)
    found += [leaks] if leaks else []
    weights = report.weights
    if weights is not None:
        found += _weight_warnings(report, weights)
    found += list(describe_protocol(report))
    found.append(describe_intervals(report))
    again = describe_change_intervals(report.changes)
    found += [again] if again else []
    found += [f"{note[0].upper()}{note[1:]}." for note in report.notes]
    view = report.view_report
    if view is not None:
        found += [f"{note[0].upper()}{note[1:]}." for note in view.notes]
        found += [f"Better: {advice}." for advice in view.advice]
    return found


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


def _points(value: float) -> str:
    return f"{100 * value:+z.2f}".replace("-", "−")
