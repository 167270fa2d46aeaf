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
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import stdtr

from unskew.arrays.types import Floats
from unskew.data.policy import check_level, critical_value
from unskew.errors import InputError
from unskew.evaluation.interval_formulas import UNIT, Bounds, Evidence, find_limits, settle_mean, weigh_sums
from unskew.evaluation.unit_sums import (
    ArrayUnits,
    Measuring,
    Spreads,
    SquaredInfluences,
    SquaredShares,
    Units,
    sum_for,
    sum_up,
)

FEW = 5.0
"""A score that rests on fewer effective hits than this is marked: its interval is conservative."""


@dataclass(frozen=True)
class Interval:
    """A confidence interval and how it was made; `hits`: how many effective hits it rests on, if that is known."""

    low: float
    high: float
    level: float = 0.95
    method: str = "users"
    hits: float = math.nan

    def __iter__(self) -> Iterator[float]:
        return iter((self.low, self.high))

    @property
    def too_few_hits(self) -> bool:
        """Whether it rests on fewer than `FEW` effective hits."""
        return self.hits < FEW


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


def interval_around(value: float, error: float, n: float, level: float, method: str = "users") -> Interval:
    """Student's interval of a value whose error was estimated from n units."""
    half = critical_value(level, n) * error if n > 1 else math.nan
    return Interval(value - half, value + half, level, method)


def interval_from_units(
    mass: Floats, total: Floats, level: float, bounds: Bounds = UNIT, method: str = "users"
) -> Interval:
    """The interval of a score from the mass and the summed metric of each independent unit.

    >>> low, high = interval_from_units(np.ones(400), np.zeros(400), 0.95)
    >>> low, round(high, 4)
    (0.0, 0.0096)
    """
    return measure_units(ArrayUnits(mass, total), level, bounds, method)[1]


def measure_units(
    units: Units, level: float, bounds: Bounds = UNIT, method: str = "users"
) -> tuple[float, Interval]:
    """A score and its interval, from sums over its independent units."""
    return sum_for(measure_score(level, bounds, method), units.add)


def measure_score(level: float, bounds: Bounds, method: str) -> Measuring[tuple[float, Interval]]:
    """The same, asking for one set of sums after the other: so that those of many scores can be made together."""
    check_level(level)
    sums = yield sum_up
    everything, together, some = sums.tolist()
    value = together / everything if everything > 0 else math.nan
    if some < 2:
        return value, Interval(math.nan, math.nan, level, method)
    if not bounds.known:
        sums = yield SquaredInfluences(everything, value)
        shares, influence = sums.tolist()
        n = max(1.0 / shares, 2.0)
        return value, interval_around(value, math.sqrt(n / (n - 1) * influence), n, level, method)
    sums = yield SquaredShares(everything, bounds)
    shares, bounded = sums.tolist()
    mean = settle_mean(np.asarray(bounded))
    spread, seen = yield Spreads(everything, bounds, float(mean))
    return value, _scale(weigh_sums(mean, np.asarray(shares), spread, seen), level, bounds, method)


def interval_from_repeats(value: float, repeats: Floats, level: float, bounds: Bounds | None = None) -> Interval:
    """The interval from the spread of bootstrap repetitions around a score, or a difference (without `bounds`).

    Around the score, not around their own mean: where repetitions come out higher than the score that they repeat,
    that score is likely to be too high itself, by as much. Student's t makes up for a spread that is known from
    few repetitions only; percentiles would need thousands.
    """
    n = len(repeats)
    if n < 2:
        raise InputError("a bootstrap needs at least 2 repetitions")
    variance = float(np.mean((repeats - value) ** 2))
    if bounds is None or not bounds.known or variance == 0:
        return interval_around(value, math.sqrt(variance), n + 1, level, "bootstrap")
    mean = min(max((value - bounds.lowest) / bounds.width, 0.0), 1.0)
    draws = max(mean * (1 - mean) * bounds.width**2 / variance, 1e-9)
    parts = (np.asarray(float(x)) for x in (mean, draws, n + 1, mean * draws))
    return _scale(Evidence(*parts), level, bounds, "bootstrap")


def _scale(known: Evidence, level: float, bounds: Bounds, method: str) -> Interval:
    low, high = (bounds.lowest + bounds.width * float(x) for x in find_limits(known, 0.5 - level / 2))
    return Interval(low, high, level, method, float(known.hits))


def p_value(difference: float, error: float, n: float) -> float:
    """Of no difference, two-sided, by Student's t, the error being estimated from n units; NaN without an error.

    It is below ``1 - level`` exactly where the `interval_around` the difference leaves out 0.
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
