"""Intervals and tests: how sure a score is. Users are the independent units.

A score is ``L = sum_u m_u x_u / sum_u m_u`` with x_u the metric of user u (its items weighted by P(i|u,w)) and
m_u its share of P(u). Pairs of one user are never taken as independent. Metrics lie between a lowest and a
highest value, and so scores have limits even where nothing, or everything, was found: see `interval_formulas`.
What each of them rests on is the effective number of users, ``(sum m)^2 / sum m^2``: where a few have most of
P(u), the error rests on those few. Since it is itself estimated, it is taken with Student's t of n - 1 degrees
of freedom.

A metric without bounds has Student's interval. If users are drawn independently, user u moves its score by its
*influence* ``h_u = m_u (x_u - L) / sum m``, and the variance is estimated by ``n/(n-1) sum_u h_u^2``:
linearised, as for any ratio of sums over users. Influences add up: that on a difference of two scores is the
difference of those on each, so that what the two share cancels.

With a sampled score the draws are the independent units in place of the users: its interval is about the score
of all pairs of this very snapshot, and does not know who else might have been in it.

Units are cut into the blocks of their log, and the sums of blocks are added in the order of the blocks: so a score
is the same to the last bit whether its users are on this machine or on many.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import TypeVar

import numpy as np
import numpy.typing as npt
from scipy.special import stdtr

from unskew.arrays.types import Codes, Floats, Mask
from unskew.data.policy import check_level, critical_value
from unskew.data.slice import Slice
from unskew.errors import InputError
from unskew.evaluation.interval_formulas import (
    UNIT,
    Bounds,
    DifferenceEvidence,
    Evidence,
    find_difference_limits,
    find_limits,
    find_p_value,
    settle_mean,
    spread_terms,
    weigh_difference,
    weigh_difference_sums,
    weigh_sums,
)

FEW = 5.0
"""A score that rests on fewer effective hits than this is marked: its interval is conservative."""

Terms = Callable[[Floats, Floats], Floats]
"""From masses and totals to what is summed: a row for each sum, with a number for each unit."""

Result = TypeVar("Result")
Measuring = Generator[Terms, Floats, Result]
"""A computation that asks for sums over units, one set after the other."""


@dataclass(frozen=True)
class Estimate:
    """A value with its confidence interval, and how that was made."""

    value: float
    low: float
    high: float
    level: float = 0.95
    method: str = "users"
    hits: float = math.nan  # how many effective hits it rests on; NaN if that is not known

    @property
    def interval(self) -> tuple[float, float]:
        """Low and high."""
        return self.low, self.high

    @property
    def too_few_hits(self) -> bool:
        """Whether it rests on fewer than `FEW` effective hits."""
        return self.hits < FEW

    @classmethod
    def around(cls, value: float, error: float, n: float, level: float, method: str = "users") -> Estimate:
        """With Student's interval, of a value whose error was estimated from n units."""
        half = critical_value(level, n) * error if n > 1 else math.nan
        return cls(value, value - half, value + half, level, method)

    @classmethod
    def from_evidence(cls, value: float, known: Evidence, level: float, bounds: Bounds, method: str) -> Estimate:
        """With the limits of a mean of values between these bounds."""
        low, high = (bounds.lowest + bounds.width * float(x) for x in find_limits(known, 0.5 - level / 2))
        return cls(value, low, high, level, method, float(known.hits))

    @classmethod
    def from_repeats(cls, value: float, repeats: Floats, level: float, bounds: Bounds | None = None) -> Estimate:
        """With the spread of bootstrap repetitions around a score, or around a difference (without `bounds`).

        Around the score, not around their own mean: where repetitions come out higher than the score that they
        repeat, that score is likely to be too high itself, by as much. Student's t makes up for a spread that is
        known from few repetitions only; percentiles would need thousands.
        """
        n = len(repeats)
        if n < 2:
            raise InputError("a bootstrap needs at least 2 repetitions")
        variance = float(np.mean((repeats - value) ** 2))
        if bounds is None or not bounds.known or variance == 0:
            return cls.around(value, math.sqrt(variance), n + 1, level, "bootstrap")
        mean = min(max((value - bounds.lowest) / bounds.width, 0.0), 1.0)
        draws = max(mean * (1 - mean) * bounds.width**2 / variance, 1e-9)
        parts = (np.asarray(float(x)) for x in (mean, draws, n + 1, mean * draws))
        return cls.from_evidence(value, Evidence(*parts), level, bounds, "bootstrap")


@dataclass(frozen=True, eq=False)
class Units:
    """What a score is the mean of: one number for each independent unit, a user or (of a sample) a draw."""

    # The mass of each unit, 0 for one that is not evaluated, and its mass times metric.
    mass: Floats
    total: Floats
    user: Codes  # whose it is
    method: str = "users"  # what the units are: ``users`` or ``draws``
    bounds: Bounds = UNIT  # between which values the metric lies
    edges: Codes | None = None  # where the users of the log are cut into blocks; None for one block

    def estimate(self, level: float) -> Estimate:
        """The score with its interval."""
        return sum_for(measure_score(level, self.bounds, self.method), self.add)

    def add(self, terms: Terms) -> Floats:
        """The sums over all units."""
        edges = [0, len(self.mass)] if self.edges is None else self.edges.tolist()
        return add_blocks([add_block(terms, self.mass[lo:hi], self.total[lo:hi]) for lo, hi in pairwise(edges)])

    def of_users(self, part: Mask) -> Units:
        """The same without the units of other users."""
        kept = part[self.user]
        return replace(self, mass=np.where(kept, self.mass, 0.0), total=np.where(kept, self.total, 0.0))

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
    """The difference of two scores, the units of which are put side by side."""

    value: float  # itself
    # Its standard error by the influences of the units, and the effective number of units that it rests on: the
    # error of a difference is known no better than that of either.
    error: float
    n: float
    method: str
    width: float
    evidence: DifferenceEvidence | None  # what is known about it where the metric has bounds, in units of `width`

    @classmethod
    def of(cls, first: Units, second: Units, places: tuple[Codes, Codes] | None = None) -> Difference:
        """The first score minus the second. Units have `places` among all: at one place they are the same.

        Without places they are paired in their order.
        """
        at, at_second = places or (first.numbers(), second.numbers())
        size = int(max(at.max(initial=-1), at_second.max(initial=-1)) + 1)
        together = _spread_out(first.influence, at, size) - _spread_out(second.influence, at_second, size)
        n = min(first.n, second.n)
        evidence = None
        if first.bounds.known and n >= 2:
            shares = (_spread_out(x, at, size) for x in first.bounds.share(first.mass, first.total))
            others = (_spread_out(x, at_second, size) for x in first.bounds.share(second.mass, second.total))
            evidence = weigh_difference(*shares, *others)
        error = standard_error(together, n)
        return cls(first.value - second.value, error, n, first.method, first.bounds.width, evidence)

    def estimate(self, level: float) -> Estimate:
        """With the interval in which it is likely to be."""
        check_level(level)
        if self.evidence is None:
            return Estimate.around(self.value, self.error, self.n, level, self.method)
        low, high = (self.width * float(x) for x in find_difference_limits(self.evidence, 0.5 - level / 2))
        return Estimate(self.value, low, high, level, self.method)

    def p_value(self) -> float:
        """Of no difference: below ``1 - level`` exactly where the interval of that level leaves out 0."""
        if self.evidence is None:
            return p_value(self.value, self.error, self.n)
        return float(find_p_value(self.evidence))


def combine_scores(
    signed: Sequence[tuple[int, Units, bool]], places: tuple[Codes, Codes] | None, level: float
) -> Estimate:
    """A sum of scores with signs, some of them (marked True) at the reference date.

    `places` number the users of the two dates: at one place they are the same. None pairs units in their order.
    """
    at = [units.numbers() if places is None else places[is_then] for _, units, is_then in signed]
    if [sign for sign, _, _ in signed] == [1, -1]:
        return Difference.of(signed[0][1], signed[1][1], (at[0], at[1])).estimate(level)
    value = sum(sign * units.value for sign, units, _ in signed)
    together = np.zeros(max(place.max(initial=-1) for place in at) + 1)
    for (sign, units, _), place in zip(signed, at, strict=True):
        together[place] += sign * units.influence
    n = min(units.n for _, units, _ in signed)  # the error of a sum is known no better than that of any part
    return Estimate.around(value, standard_error(together, n), n, level, signed[0][1].method)


def _spread_out(values: Floats, places: Codes, size: int) -> Floats:
    spread = np.zeros(size)
    spread[places] = values
    return spread


def number_users(now: Slice, reference: Slice) -> tuple[Codes, Codes]:
    """A number for each user of either log, the same for the same id: those of `now`, and those of `reference`."""
    numbers = np.arange(len(now.log.users))
    if now.log.users is reference.log.users:
        return numbers, numbers
    codes = now.log.users.codes(reference.log.users.values)
    return numbers, np.where(codes >= 0, codes, len(numbers) + np.arange(len(codes)))


def sum_by_user(user: Codes, values: Floats, n: int) -> Floats:
    """The sum of the values for each of n users, by whose they are."""
    return np.asarray(np.bincount(user, weights=values, minlength=n), dtype=np.float64)


def influences(mass: Floats, total: Floats) -> Floats:
    """What each user adds to the error of ``sum total / sum mass``: ``(total_u - L mass_u) / sum mass``."""
    everything = float(mass.sum())
    if everything <= 0:
        return np.zeros(len(mass))
    score = float(total.sum()) / everything
    return (total - score * mass) / everything


def effective_number(mass: Floats) -> float:
    """How many units of equal mass tell as much: ``(sum m)^2 / sum m^2``; of two or more at least 2.

    >>> effective_number(np.array([1.0, 1.0, 1.0, 0.0])), effective_number(np.array([2.0, 1.0, 1.0]))
    (3.0, 2.6666666666666665)
    """
    n = int(np.count_nonzero(mass))
    if n < 2:
        return float(n)
    share = mass / mass.sum()
    return max(1.0 / float((share * share).sum()), 2.0)


def standard_error(influence: Floats, n: float) -> float:
    """The standard error of a sum of the influences of n independent units; NaN if there are fewer than 2.

    `n` counts everyone evaluated: an influence of 0 may belong to a user who is exactly average.
    """
    return math.sqrt(n / (n - 1) * float((influence * influence).sum())) if n > 1 else math.nan


def p_value(difference: float, error: float, n: float) -> float:
    """Of no difference, two-sided, by Student's t, the error being estimated from n units; NaN without an error.

    It is below ``1 - level`` exactly where the interval of `Estimate.around` leaves out 0.
    """
    if math.isnan(error):
        return math.nan
    if error == 0:
        return 1.0 if difference == 0 else 0.0
    return float(2 * stdtr(n - 1, -abs(difference) / error))


def holm(p: npt.ArrayLike) -> Floats:
    """Holm's correction: p-values that stay valid however many comparisons are looked at.

    The smallest of m is taken times m, the next times m - 1, and so on, none below the one before. NaN (no test
    was possible) stays NaN and still counts as looked at.

    >>> holm([0.01, 0.04, 0.03]).round(6).tolist()
    [0.03, 0.06, 0.06]
    """
    values = np.asarray(p, dtype=np.float64)
    order = np.argsort(values, kind="stable")
    steps = np.maximum.accumulate(values[order] * (len(values) - np.arange(len(values))))
    corrected = np.empty(len(values))
    corrected[order] = np.minimum(steps, 1.0)
    return corrected


def sum_for(measuring: Measuring[Result], add: Callable[[Terms], Floats]) -> Result:
    """Give a computation the sums that it asks for."""
    [result] = sum_for_all([measuring], lambda asked: [add(terms) for _, terms in asked])
    return result


def sum_for_all(
    computations: Sequence[Measuring[Result]], add: Callable[[list[tuple[int, Terms]]], list[Floats]]
) -> list[Result]:
    """Give several computations their sums, all that are asked for at a time together; each has a number."""
    results: dict[int, Result] = {}
    asked: dict[int, Terms] = {k: next(computation) for k, computation in enumerate(computations)}
    while asked:
        answers, asked = zip(asked, add(list(asked.items())), strict=True), {}
        for k, sums in answers:
            try:
                asked[k] = computations[k].send(sums)
            except StopIteration as end:
                results[k] = end.value
    return [results[k] for k in range(len(computations))]


def measure_score(level: float, bounds: Bounds, method: str) -> Measuring[Estimate]:
    """A score, from sums over masses and totals."""
    check_level(level)
    everything, together, n_units = (yield sum_up).tolist()
    value = together / everything if everything > 0 else math.nan
    if n_units < 2:
        return Estimate(value, math.nan, math.nan, level, method)
    if not bounds.known:
        shares, influence = (yield partial(square_influences, everything, value)).tolist()
        n = max(1.0 / shares, 2.0)
        estimate = Estimate.around(value, math.sqrt(n / (n - 1) * influence), n, level, method)
    else:
        shares, bounded = (yield partial(square_shares, everything, bounds)).tolist()
        mean = settle_mean(np.asarray(bounded))
        spread, seen = yield partial(measure_spreads, everything, bounds, float(mean))
        known = weigh_sums(mean, np.asarray(shares), spread, seen)
        estimate = Estimate.from_evidence(value, known, level, bounds, method)
    # with one bound only the interval may reach beyond it
    return replace(estimate, low=max(estimate.low, bounds.lowest), high=min(estimate.high, bounds.highest))


def measure_difference(bounds: Bounds) -> Measuring[Difference]:
    """The difference of two scores of the same users under the same weights, from sums over masses and differences
    of totals.
    """
    everything, together, users = (yield sum_up).tolist()
    value = together / everything if everything > 0 else math.nan
    if users < 2:
        return Difference(value, math.nan, users, "users", bounds.width, None)
    if not bounds.known:
        squares, influence = yield partial(square_influences, everything, value)
        n = max(1.0 / float(squares), 2.0)
        error = math.sqrt(n / (n - 1) * float(influence))
        return Difference(value, error, n, "users", bounds.width, None)
    squares, up, down = yield partial(part_gains, everything, bounds)
    spread_up, spread_down, seen = yield partial(measure_gain_spreads, everything, bounds, float(up), float(down))
    evidence = weigh_difference_sums((up, down), (squares, squares, squares), (spread_up, spread_down), seen)
    n = max(1.0 / float(squares), 2.0)
    error = bounds.width * math.sqrt(n / (n - 1) * float(seen))
    return Difference(value, error, n, "users", bounds.width, evidence)


def add_block(terms: Terms, mass: Floats, total: Floats) -> Floats:
    """The sums over the units of one block."""
    return np.asarray(terms(mass, total).sum(axis=-1), dtype=np.float64)


def add_blocks(sums: list[Floats]) -> Floats:
    """The sums of blocks, added in their order."""
    total = sums[0].copy()
    for more in sums[1:]:
        total += more
    return total


def sum_up(mass: Floats, total: Floats) -> Floats:
    """All mass, all totals, and how many units have any mass."""
    return np.array([mass, total, (mass != 0).astype(np.float64)])


def square_shares(everything: float, bounds: Bounds, mass: Floats, total: Floats) -> Floats:
    """The squares of the shares of all mass, and the totals as shares of the whole between the bounds."""
    share, bounded = bounds.share(mass, total, everything)
    return np.array([share * share, bounded])


def square_influences(everything: float, score: float, mass: Floats, total: Floats) -> Floats:
    """The squares of the shares of all mass, and of what each unit adds to the error of the score."""
    share, influence = mass / everything, (total - score * mass) / everything
    return np.array([share * share, influence * influence])


def part_gains(everything: float, bounds: Bounds, mass: Floats, total: Floats) -> Floats:
    """The squares of the shares of all mass, what went up and what went down; totals are differences of totals."""
    share, gained = mass / everything, total / (bounds.width * everything)
    return np.array([share * share, np.maximum(gained, 0.0), np.maximum(-gained, 0.0)])


def measure_gain_spreads(
    everything: float, bounds: Bounds, up: float, down: float, mass: Floats, total: Floats
) -> Floats:
    """How far ups and downs are from their means by share, and the squared influences of units."""
    share, gained = mass / everything, total / (bounds.width * everything)
    influence = gained - (up - down) * share
    spread_up = spread_terms(share, np.maximum(gained, 0.0), np.asarray(up))
    spread_down = spread_terms(share, np.maximum(-gained, 0.0), np.asarray(down))
    return np.array([spread_up, spread_down, influence * influence])


def measure_spreads(everything: float, bounds: Bounds, mean: float, mass: Floats, total: Floats) -> Floats:
    """How far values are from their mean: by share, and by squared share."""
    share, bounded = bounds.share(mass, total, everything)
    seen = bounded - mean * share
    return np.array([spread_terms(share, bounded, np.asarray(mean)), seen * seen])
