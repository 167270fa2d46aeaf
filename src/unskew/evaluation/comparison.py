"""Comparing recommenders at one date, pair by pair on the same held-out items.

Only users (or draws) on whom the two differ tell anything about the difference; see `interval_formulas`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields, replace
from itertools import combinations
from typing import Any

import numpy as np
from scipy.special import ndtr

from unskew.checks import public, require_instance
from unskew.data.policy import critical_value
from unskew.data.slice import Weighting, Weights
from unskew.data.view_report import NO_VIEW, NOT_TRUSTED
from unskew.errors import PolicyError
from unskew.evaluation.changes import Change
from unskew.evaluation.held_out_ranks import AnyMetric, HeldOutRanks
from unskew.evaluation.intervals import Difference, holm
from unskew.evaluation.metric import metrics as named_metrics
from unskew.evaluation.pairs import MEANINGS
from unskew.evaluation.score import Results, flatten, name_kind
from unskew.text import percent, show_points, to_json_value

MOST_EMPTY = 0.05
"""The share of a score on empty profiles or lists beyond which a comparison shows the other users as well."""


@dataclass(frozen=True)
class WithProfile:
    """The difference on the users of whom something is known, beside the one on everybody."""

    # As of `Comparison`, under the same weights.
    difference: float
    low: float
    high: float
    users: int  # how many users it rests on
    # The users have at least so many items, so that a profile is left; None for the pairs for which both
    # recommenders returned something.
    min_items: int | None


_WITH_PROFILE = tuple(field.name for field in fields(WithProfile))


@dataclass(frozen=True)
class Comparison:
    """The difference of two recommenders on the same held-out pairs: ``a - b``.

    Attributes
    ----------
    low, high
        The interval of the difference at `level`; by users, or by draws where pairs were sampled.
    p, p_holm
        p-value of no difference, and the same corrected for all comparisons made together.
    comparable
        Whether the same of a held-out pair was left out of both: otherwise one of them is flattered, and there
        is no difference, interval or p-value (NaN).
    held_out
        What was left out of the one and of the other; see `Score`.
    biased
        Whether the bias of the log can be in the difference. Neither interval nor p-value knows of it, and under
        item weights the order of two algorithms can be the reverse of the true one.
    caveat
        What the p-value takes for granted under this view of the log, in a clause.
    view
        Which view of the log was scored.
    empty_profiles, empty_lists
        The share of the scores on empty profiles, and the shares on empty lists of the one and of the other; see
        `Score`.
    with_profile
        The difference without these, if they are more than 5 % and answered differently by the two; else None.
    """

    a: str
    b: str
    metric: str
    weighting: str
    difference: float = math.nan
    low: float = math.nan
    high: float = math.nan
    p: float = math.nan
    p_holm: float = math.nan
    level: float = 0.95
    comparable: bool = True
    held_out: tuple[str, str] = ("profile", "profile")
    biased: bool = True
    caveat: str = NO_VIEW
    view: str = "all"
    empty_profiles: float = 0.0
    empty_lists: tuple[float | None, float | None] = (0.0, 0.0)
    with_profile: WithProfile | None = None

    def __str__(self) -> str:
        if not self.comparable:
            return self._explain_difference()
        p = "< 0.0001" if self.p_holm < 0.0001 else f"= {self.p_holm:.2g}"
        return (
            (
                f"{self.a} minus {self.b}, {self.metric}, {name_kind(self.weighting, view=self.view)}: "
                f"{show_points(self.difference, self.low, self.high)}, p {p} (Holm)"
            )
            + self._describe_caveats()
            + (f"; {self._describe_others()}" if self.with_profile is not None else "")
        )

    def describe_populations(self) -> str:
        """That users without a profile may decide this comparison."""
        others = self.with_profile
        assert others is not None
        if others.users == 0:
            return f"{self._describe_empty()}: there are no other users"
        return (
            f"{self._describe_empty()}. Without these users {self.a} minus {self.b} is "
            f"{100 * others.difference:+z.2f} instead of {100 * self.difference:+z.2f} points {self.metric} "
            f"({name_kind(self.weighting, view=self.view)})"
        )

    def _describe_others(self) -> str:
        others = self.with_profile
        assert others is not None
        shown = show_points(others.difference, others.low, others.high)
        if others.users == 0:
            return self.describe_populations()
        if others.min_items is None:
            return f"{self._describe_empty()}: where both return something the difference is {shown}"
        least = f"(with at least {others.min_items} items)"
        return f"{self._describe_empty()}: on the other users the difference is {shown} {least}"

    def _describe_empty(self) -> str:
        """How much of the score is on empty profiles or lists, and who returns nothing."""
        silent = [
            n for n, share in zip((self.a, self.b), self.empty_lists, strict=True) if (share or 0) > MOST_EMPTY
        ]
        if self.with_profile is not None and self.with_profile.min_items is None:
            shares = [(n, s) for n, s in zip((self.a, self.b), self.empty_lists, strict=True) if s]
            return " and ".join(
                f"{name} returns nothing for {percent(share, 0)} of this score" for name, share in shares
            )
        whom = f", for whom {' and '.join(silent)} return{'s' * (len(silent) == 1)} nothing" if silent else ""
        return (
            f"{percent(self.empty_profiles, 0)} of this score is on users whose profile is empty once the item is "
            f"held out{whom}"
        )

    def _describe_caveats(self) -> str:
        """What p takes for granted; nothing if fixed lists are compared under weights of the reference date."""
        if self.caveat == NO_VIEW:
            return f"; {NO_VIEW}" * self.biased
        return f"; {self.caveat}" + f"; {NOT_TRUSTED}" * self.biased

    def _explain_difference(self) -> str:
        note = "; ".join(f"{n}: {MEANINGS[kind]}" for n, kind in zip((self.a, self.b), self.held_out, strict=True))
        use = (
            "use the same folds for both"
            if "external" not in self.held_out
            else "use a time split, and lists with dates"
        )
        return f"{self.a} and {self.b}, {self.metric}, {self.weighting}: not comparable ({note}); {use}"

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        values: dict[str, Any] = to_json_value(asdict(self))
        return values

    def to_row(self) -> dict[str, Any]:
        """The same as columns of a table."""
        row = self.to_dict()
        return flatten({**row, "with_profile": row["with_profile"] or dict.fromkeys(_WITH_PROFILE)})


@public
def compare(
    *ranks: HeldOutRanks,
    metric: AnyMetric | Iterable[AnyMetric] = "hit@5",
    weights: Weights = None,
    level: float = 0.95,
) -> Results[Comparison]:
    """Compare recommenders pair by pair on the same held-out items, with Holm's correction across all.

    Parameters
    ----------
    *ranks
        From `rank_held_out`, of the same snapshot and the same pairs.
    metric, weights, level
        As for `evaluate`, one metric or several. The weights are taken as given.

    Examples
    --------
    >>> import unskew as us
    >>> rows = [("ann", "x"), ("ann", "y"), ("bob", "x"), ("cid", "x"), ("cid", "z"), ("dan", "y")]
    >>> log = us.read_log({"user": [u for u, _ in rows], "item": [i for _, i in rows], "time": [1] * 6})
    >>> ranks = [us.rank_held_out(f"constant:{item}", log.at(1), metric=["hit@1"]) for item in "xz"]
    >>> us.compare(*ranks, metric="hit@1")[0].difference
    0.375
    """
    if len(ranks) < 2:
        raise PolicyError("compare needs the ranks of at least two recommenders")
    for other in ranks:
        require_instance(HeldOutRanks, other, "the ranks of a recommender", "give what rank_held_out gives")
        ranks[0].require_same_pairs(other)
    wanted = named_metrics(metric)
    if len(wanted) > 1:
        each = (compare(*ranks, metric=single, weights=weights, level=level) for single in wanted)
        return Results([comparison for results in each for comparison in results], ranks[0].snapshot.log.frames)
    [metric] = wanted
    weighting, label = ranks[0].weigh(metric, weights), ranks[0].metric(metric).name
    units = [each.units(metric, weights) for each in ranks]
    log = ranks[0].snapshot.log
    comparisons = []
    for i, j in combinations(range(len(ranks)), 2):
        a, b = ranks[i], ranks[j]
        comparison = Comparison(
            a=a.recommender,
            b=b.recommender,
            metric=label,
            weighting=weighting.name,
            level=level,
            comparable=a.held_out == b.held_out,
            held_out=(a.held_out.kind, b.held_out.kind),
            view=log.view,
        )
        if comparison.comparable:
            difference = Difference.of(units[i], units[j])
            estimate = difference.estimate(level)
            comparison = replace(
                comparison,
                difference=estimate.value,
                low=estimate.low,
                high=estimate.high,
                p=difference.p_value(),
                biased=a.may_be_biased(weighting) or b.may_be_biased(weighting),
                caveat=NO_VIEW if log.view_report is None else log.view_report.caveat,
            )
            comparison = _add_populations(comparison, a, b, metric, weighting)
        comparisons.append(comparison)
    return Results(correct_together(comparisons), log.frames)


def share_intervals(comparisons: Sequence[Comparison], changes: Iterable[Change]) -> list[Comparison]:
    """Comparisons with the intervals of changes if they are the same differences, corrected together again."""
    return correct_together([_share_interval(each, changes) for each in comparisons])


def correct_together(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """Comparisons with p-values corrected for all that were made together: of one metric and weighting."""
    corrected = list(comparisons)
    for key in dict.fromkeys((each.metric, each.weighting) for each in comparisons):
        places = [k for k, each in enumerate(comparisons) if (each.metric, each.weighting) == key]
        for k, p in zip(places, holm([comparisons[k].p for k in places]), strict=True):
            corrected[k] = replace(comparisons[k], p_holm=float(p))
    return corrected


def _share_interval(comparison: Comparison, changes: Iterable[Change]) -> Comparison:
    """A comparison with the interval of the part of a change that is the same difference: of one there is one."""
    for change in changes:
        names = (change.recommender, change.baseline)
        same = change.metric == comparison.metric and comparison.weighting == "weighted"
        if (
            change.algorithm is None
            or not (same and comparison.comparable)
            or {comparison.a, comparison.b} != set(names)
        ):
            continue
        limits = (change.algorithm.low, change.algorithm.high)
        if (comparison.a, comparison.b) != names:
            limits = (-limits[1], -limits[0])
        if not limits[0] < limits[1]:
            return comparison
        error = (limits[1] - limits[0]) / (2 * critical_value(comparison.level))
        p = 2 * float(ndtr(-abs(comparison.difference) / error))
        return replace(comparison, low=limits[0], high=limits[1], p=p)
    return comparison


def _add_populations(
    comparison: Comparison,
    first: HeldOutRanks,
    second: HeldOutRanks,
    metric: AnyMetric,
    weighting: Weighting,
) -> Comparison:
    """With the shares on empty profiles and lists, and the difference without these if they may decide it."""
    shares = first.probabilities(weighting)
    total, bare = shares.sum(), first.selection.empty_profiles
    empty = [
        None if ranks.empty is None else float(shares[ranks.empty].sum() / total) for ranks in (first, second)
    ]
    on_empty_profiles = float(shares[bare].sum() / total)
    comparison = replace(comparison, empty_profiles=on_empty_profiles, empty_lists=(empty[0], empty[1]))
    by_profile = on_empty_profiles > MOST_EMPTY and (first.personal or second.personal)
    if by_profile:
        a, b = (ranks.values(metric)[bare] for ranks in (first, second))
        by_profile = bool((a != b).any())
    known = [share for share in empty if share is not None]
    by_list = len(known) == 2 and known[0] != known[1] and max(known) > MOST_EMPTY
    if by_profile:
        kept = ~bare
    elif by_list and first.empty is not None and second.empty is not None:
        kept = ~(first.empty | second.empty)
    else:
        return comparison
    least = first.selection.held.together + 1 if by_profile else None
    users = len(np.unique(first.users[kept & (shares > 0)]))
    others = WithProfile(math.nan, math.nan, math.nan, users, least)
    if users > 0:
        difference = Difference.of(first.units(metric, weighting, kept), second.units(metric, weighting, kept))
        estimate = difference.estimate(comparison.level)
        others = WithProfile(estimate.value, estimate.low, estimate.high, users, least)
    return replace(comparison, with_profile=others)
