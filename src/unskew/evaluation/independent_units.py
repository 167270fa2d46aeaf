"""The independent units of a score, users or draws, and how those of two scores are paired."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from unskew.arrays.types import Codes, Floats, Mask
from unskew.data.policy import check_level
from unskew.data.slice import Slice
from unskew.data.weighting import Weights
from unskew.errors import PolicyError
from unskew.evaluation.estimates import sum_by_user
from unskew.evaluation.held_out_ranks import AnyMetric, HeldOutRanks
from unskew.evaluation.interval_formulas import (
    UNIT,
    Bounds,
    DifferenceEvidence,
    find_difference_limits,
    find_p_value,
    weigh_difference,
    weigh_difference_sums,
)
from unskew.evaluation.intervals import (
    Interval,
    effective_number,
    influences,
    interval_around,
    p_value,
    standard_error,
)
from unskew.evaluation.metric import metric as named_metric
from unskew.evaluation.unit_sums import Gains, GainSpreads, Measuring, SquaredInfluences, sum_up


@dataclass(frozen=True)
class Units:
    """What a score is the mean of: one number for each independent unit, a user or (of a sample) a draw.

    Attributes
    ----------
    mass, total
        The mass of each unit, 0 for one that is not evaluated, and its mass times metric.
    user
        Whose it is.
    method
        What the units are: ``users`` or ``draws``.
    bounds
        Between which values the metric lies.
    """

    mass: Floats
    total: Floats
    user: Codes
    method: str
    bounds: Bounds = UNIT

    @classmethod
    def of(cls, ranks: HeldOutRanks, metric: AnyMetric, weights: Weights) -> Units:
        """Those of a score."""
        bounds = named_metric(metric).bounds
        if ranks.sample is None:
            mass, total = ranks.user_sums(metric, weights)
            return cls(mass, total, np.arange(len(mass)), "users", bounds)
        place = ranks.selection.places_of_draws(ranks.selection.weigh(weights))
        values = ranks.values(metric)[place]
        return cls(np.ones(len(place)), values, ranks.users[place], "draws", bounds)

    @classmethod
    def of_pairs(cls, ranks: HeldOutRanks, metric: AnyMetric, weights: Weights, kept: Mask) -> Units:
        """Those of the score of some pairs alone."""
        bounds, values = named_metric(metric).bounds, ranks.values(metric)
        weighting = ranks.selection.weigh(weights)
        if ranks.sample is None:
            n, shares = len(ranks.snapshot.log.users), ranks.probabilities(weighting)[kept]
            mass = sum_by_user(ranks.users[kept], shares, n)
            total = sum_by_user(ranks.users[kept], shares * values[kept], n)
            return cls(mass, total, np.arange(n), "users", bounds)
        place = ranks.selection.places_of_draws(weighting)
        mass = kept[place].astype(np.float64)
        return cls(mass, mass * values[place], ranks.users[place], "draws", bounds)

    def of_users(self, part: Mask) -> Units:
        """The same without the units of other users."""
        mine = part[self.user]
        return replace(self, mass=np.where(mine, self.mass, 0.0), total=np.where(mine, self.total, 0.0))

    def numbers(self) -> Codes:
        """The number of each unit among these."""
        return np.arange(len(self.mass))

    @property
    def value(self) -> float:
        return float(self.total.sum() / self.mass.sum())

    @property
    def n(self) -> float:
        return effective_number(self.mass)

    @property
    def influence(self) -> Floats:
        return influences(self.mass, self.total)


@dataclass(frozen=True)
class Difference:
    """The difference ``one - other`` of two scores, with their units put side by side.

    Attributes
    ----------
    value
        Itself.
    error, n
        Its standard error by the influences of the units, and the effective number of units that it rests on: the
        error of a difference is known no better than that of either.
    evidence
        What is known about it where the metric has bounds, in units of `width`.
    """

    value: float
    error: float
    n: float
    method: str
    width: float
    evidence: DifferenceEvidence | None

    @classmethod
    def of(cls, one: Units, other: Units, places: tuple[Codes, Codes]) -> Difference:
        """Of units that have these places among all: at one place they are the same."""
        here, there = places
        size = int(max(here.max(initial=-1), there.max(initial=-1)) + 1)
        together = _spread_out(one.influence, here, size) - _spread_out(other.influence, there, size)
        n = min(one.n, other.n)
        evidence = None
        if one.bounds.known and n >= 2:
            mine = (_spread_out(x, here, size) for x in one.bounds.share(one.mass, one.total))
            theirs = (_spread_out(x, there, size) for x in one.bounds.share(other.mass, other.total))
            evidence = weigh_difference(*mine, *theirs)
        error = standard_error(together, n)
        return cls(one.value - other.value, error, n, one.method, one.bounds.width, evidence)

    def interval(self, level: float) -> Interval:
        """Where it is likely to be."""
        check_level(level)
        if self.evidence is None:
            return interval_around(self.value, self.error, self.n, level, self.method)
        low, high = (self.width * float(x) for x in find_difference_limits(self.evidence, 0.5 - level / 2))
        return Interval(low, high, level, self.method)

    def p_value(self) -> float:
        """Of no difference: below ``1 - level`` exactly where the interval of that level leaves out 0."""
        if self.evidence is None:
            return p_value(self.value, self.error, self.n)
        return float(find_p_value(self.evidence))


def measure_difference(bounds: Bounds) -> Measuring[Difference]:
    """The difference of two scores of the same users under the same weights, from sums over masses and differences
    of totals.
    """
    sums = yield sum_up
    everything, together, users = sums.tolist()
    value = together / everything if everything > 0 else math.nan
    if users < 2:
        return Difference(value, math.nan, users, "users", bounds.width, None)
    if not bounds.known:
        squares, influence = yield SquaredInfluences(everything, value)
        n = max(1.0 / float(squares), 2.0)
        error = math.sqrt(n / (n - 1) * float(influence))
        return Difference(value, error, n, "users", bounds.width, None)
    squares, up, down = yield Gains(everything, bounds)
    spread_up, spread_down, seen = yield GainSpreads(everything, bounds, float(up), float(down))
    evidence = weigh_difference_sums((up, down), (squares, squares, squares), (spread_up, spread_down), seen)
    n = max(1.0 / float(squares), 2.0)
    return Difference(
        value, bounds.width * math.sqrt(n / (n - 1) * float(seen)), n, "users", bounds.width, evidence
    )


def combined_interval(
    signed: Sequence[tuple[int, Units, bool]], places: tuple[Codes, Codes] | None, level: float
) -> Interval:
    """The interval of a sum of scores with signs, some of them (marked True) at the reference date.

    `places` number the users of the two dates: at one place they are the same. None pairs units in their order.
    """
    at = [units.numbers() if places is None else places[is_then] for _, units, is_then in signed]
    if [sign for sign, _, _ in signed] == [1, -1]:
        return Difference.of(signed[0][1], signed[1][1], (at[0], at[1])).interval(level)
    value = sum(sign * units.value for sign, units, _ in signed)
    together = np.zeros(max(place.max(initial=-1) for place in at) + 1)
    for (sign, units, _), place in zip(signed, at, strict=True):
        together[place] += sign * units.influence
    n = min(units.n for _, units, _ in signed)  # the error of a sum is known no better than that of any part
    return interval_around(value, standard_error(together, n), n, level, signed[0][1].method)


def _spread_out(values: Floats, places: Codes, size: int) -> Floats:
    found = np.zeros(size)
    found[places] = values
    return found


def number_users(now: Slice, reference: Slice) -> tuple[Codes, Codes]:
    """A number for each user of either log, the same for the same id: those of `now`, and those of `reference`."""
    here = np.arange(len(now.log.users))
    if now.log.users is reference.log.users:
        return here, here
    codes = now.log.users.codes(reference.log.users.values)
    return here, np.where(codes >= 0, codes, len(here) + np.arange(len(codes)))


def require_same_pairs(one: HeldOutRanks, other: HeldOutRanks) -> None:
    """Refuse ranks that cannot be paired: of other users, items or draws, or under other probabilities."""
    a, b = one.selection, other.selection
    if a is b:
        return
    same = a.part.log is b.part.log and a.sample == b.sample and (a.sample is None or a.seed == b.seed)
    same = same and a.held.together == b.held.together and np.array_equal(one.users, other.users)
    if not same or not np.array_equal(a.pairs.item, b.pairs.item):
        raise PolicyError(f"{other.recommender} was ranked on other pairs than {one.recommender}")
    if not np.array_equal(a.part.weigh().pair_shares, b.part.weigh().pair_shares):
        raise PolicyError(f"{other.recommender} was ranked under another P(u) or P(i|u) than {one.recommender}")
