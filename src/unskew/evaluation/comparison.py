"""Comparing recommenders at one date, pair by pair on the same held-out items.

Only users (or draws) on whom the two differ tell anything about the difference; see `interval_formulas`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields, replace
from itertools import combinations
from typing import Any, TypedDict

import numpy as np
from scipy.special import ndtr

from unskew.checks import require_instance
from unskew.data.policy import critical_value
from unskew.data.view_report import NO_VIEW, NOT_TRUSTED
from unskew.data.weighting import Weighting, Weights
from unskew.errors import PolicyError
from unskew.evaluation.changes import Change
from unskew.evaluation.held_out import MEANINGS
from unskew.evaluation.held_out_ranks import AnyMetric, HeldOutRanks
from unskew.evaluation.independent_units import Difference, Units, require_same_pairs
from unskew.evaluation.intervals import holm
from unskew.evaluation.metric import metrics as named_metrics
from unskew.evaluation.results import Results, flatten
from unskew.evaluation.score_names import name_kind
from unskew.text import percent, show_points, to_json_value

MOST_EMPTY = 0.05
"""The share of a score on empty profiles or lists beyond which a comparison shows the other users as well."""


@dataclass(frozen=True)
class WithProfile:
    """The difference on the users of whom something is known, beside the one on everybody.

    Attributes
    ----------
    difference, low, high
        As of `Comparison`, under the same weights.
    users
        How many users it rests on.
    min_items
        The users have at least so many items, so that a profile is left; None for the pairs for which both
        recommenders returned something.
    """

    difference: float
    low: float
    high: float
    users: int
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
    difference: float
    low: float
    high: float
    p: float
    p_holm: float
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
        """The difference on the other users."""
        others = self.with_profile
        assert others is not None
        shown = show_points(others.difference, others.low, others.high)
        if others.users == 0:
            return f"{self._describe_empty()}: there are no other users"
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
        require_same_pairs(ranks[0], other)
    wanted = named_metrics(metric)
    if len(wanted) > 1:
        each = (compare(*ranks, metric=one, weights=weights, level=level) for one in wanted)
        return Results([comparison for some in each for comparison in some], ranks[0].snapshot.log.frames)
    [metric] = wanted
    weighting = ranks[0].weigh(metric, weights)
    units = [Units.of(r, metric, weights) for r in ranks]
    view = ranks[0].snapshot.log.view_report
    caveat = NO_VIEW if view is None else view.caveat
    found = []
    for i, j in combinations(range(len(ranks)), 2):
        biased = any(ranks[k].may_be_biased(weighting) for k in (i, j))
        if ranks[i].held_out != ranks[j].held_out:
            found.append(_refuse(ranks[i], ranks[j], ranks[0].metric(metric).name, weighting, level))
            continue
        difference = Difference.of(units[i], units[j], (units[i].numbers(), units[j].numbers()))
        interval = difference.interval(level)
        found.append(
            Comparison(
                a=ranks[i].recommender,
                b=ranks[j].recommender,
                metric=ranks[0].metric(metric).name,
                weighting=weighting.name,
                difference=difference.value,
                low=interval.low,
                high=interval.high,
                p=difference.p_value(),
                p_holm=math.nan,
                level=level,
                held_out=(ranks[i].held_out.kind, ranks[j].held_out.kind),
                biased=biased,
                caveat=caveat,
                view=ranks[0].snapshot.log.view,
                **_compare_populations(ranks[i], ranks[j], metric, weighting, level),
            )
        )
    corrected = holm([c.p for c in found])
    told = [replace(c, p_holm=float(p)) for c, p in zip(found, corrected, strict=True)]
    return Results(told, ranks[0].snapshot.log.frames)


def share_intervals(comparisons: Sequence[Comparison], changes: Iterable[Change]) -> list[Comparison]:
    """Comparisons with the intervals of changes if they are the same differences, corrected together again."""
    shared = [_share_interval(each, changes) for each in comparisons]
    for key in dict.fromkeys((each.metric, each.weighting) for each in shared):
        places = [k for k, each in enumerate(shared) if (each.metric, each.weighting) == key]
        for k, p in zip(places, holm([shared[k].p for k in places]), strict=True):
            shared[k] = replace(shared[k], p_holm=float(p))
    return shared


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


class _Populations(TypedDict):
    empty_profiles: float
    empty_lists: tuple[float | None, float | None]
    with_profile: WithProfile | None


def _compare_populations(
    one: HeldOutRanks, other: HeldOutRanks, metric: AnyMetric, weighting: Weighting, level: float
) -> _Populations:
    """How much of the scores is on empty profiles and lists, and the difference without, if that may decide."""
    shares = one.probabilities(weighting)
    total = shares.sum()
    bare = one.selection.empty_profiles
    empty_profiles = float(shares[bare].sum() / total)
    mine, theirs = (None if r.empty is None else float(shares[r.empty].sum() / total) for r in (one, other))
    found = _Populations(empty_profiles=empty_profiles, empty_lists=(mine, theirs), with_profile=None)
    by_profile = empty_profiles > MOST_EMPTY and (one.personal or other.personal)
    if by_profile:
        a, b = (r.values(metric)[bare] for r in (one, other))
        by_profile = bool((a != b).any())
    by_list = mine is not None and theirs is not None and mine != theirs and max(mine, theirs) > MOST_EMPTY
    if by_profile:
        kept = ~bare
    elif by_list and one.empty is not None and other.empty is not None:
        kept = ~(one.empty | other.empty)
    else:
        return found
    least = one.selection.held.together + 1 if by_profile else None
    places = np.flatnonzero(kept & (shares > 0))
    users = len(np.unique(one.users[places]))
    if users == 0:
        return {**found, "with_profile": WithProfile(math.nan, math.nan, math.nan, 0, least)}
    units = [Units.of_pairs(r, metric, weighting, kept) for r in (one, other)]
    difference = Difference.of(units[0], units[1], (units[0].numbers(), units[1].numbers()))
    low, high = difference.interval(level).low, difference.interval(level).high
    return {**found, "with_profile": WithProfile(difference.value, low, high, users, least)}


def _refuse(one: HeldOutRanks, other: HeldOutRanks, metric: str, weighting: Weighting, level: float) -> Comparison:
    """A comparison that says why there is none."""
    nothing = math.nan
    return Comparison(
        a=one.recommender,
        b=other.recommender,
        metric=metric,
        weighting=weighting.name,
        difference=nothing,
        low=nothing,
        high=nothing,
        p=nothing,
        p_holm=nothing,
        level=level,
        comparable=False,
        held_out=(one.held_out.kind, other.held_out.kind),
        view=one.snapshot.log.view,
    )
