"""Intervals and tests: how sure a score is. Users are the independent units.

A score is ``L = sum_u a_u x_u`` with x_u the quality of user u (its items weighted by P(i|u,w)). If users are
drawn independently, its variance is estimated by ``n/(n-1) sum_u a_u^2 (x_u - L)^2``: linearised, as for any
ratio of sums over users. Pairs of one user are never taken as independent.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import stats

from unskew.errors import InputError
from unskew.sweep import Floats


@dataclass(frozen=True)
class Interval:
    """A confidence interval, and how it was made."""

    low: float
    high: float
    level: float = 0.95
    method: str = "users"

    def __iter__(self) -> object:
        return iter((self.low, self.high))


def critical(level: float) -> float:
    """How many standard errors an interval of this level has on each side."""
    if not 0 < level < 1:
        raise InputError(f"the level of an interval must lie between 0 and 1, not {level}")
    return float(stats.norm.ppf(0.5 + level / 2))


def influences(mass: Floats, total: Floats) -> Floats:
    """What each user adds to the error of ``sum total / sum mass``: ``(total_u - L mass_u) / sum mass``."""
    everything = float(mass.sum())
    if everything <= 0:
        return np.zeros(len(mass))
    score = float(total.sum()) / everything
    return (total - score * mass) / everything


def standard_error(influence: Floats) -> float:
    """The standard error of a sum of independent influences, of which those not 0 are counted."""
    n = int(np.count_nonzero(influence))
    if n < 2:
        return math.nan
    return math.sqrt(n / (n - 1) * float((influence * influence).sum()))


def by_users(value: float, mass: Floats, total: Floats, level: float) -> Interval:
    """The interval of a score from the mass and the summed quality of each user."""
    part = mass > 0
    influence = influences(mass[part], total[part])
    n = len(influence)
    if n < 2:
        return Interval(math.nan, math.nan, level)
    error = math.sqrt(n / (n - 1) * float((influence * influence).sum()))
    return Interval(value - critical(level) * error, value + critical(level) * error, level)


def wilson(hits: float, n: int, level: float) -> Interval:
    """Wilson's interval of a proportion: hits out of n independent draws."""
    z = critical(level)
    p = hits / n
    middle = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    return Interval(max(middle - half, 0.0), min(middle + half, 1.0), level, "wilson")


def by_draws(values: Floats, level: float) -> Interval:
    """The interval of the mean of independent draws."""
    if len(values) < 2:
        return Interval(math.nan, math.nan, level, "draws")
    error = float(values.std(ddof=1)) / math.sqrt(len(values))
    mean = float(values.mean())
    return Interval(mean - critical(level) * error, mean + critical(level) * error, level, "draws")


def by_bootstrap(value: float, repeats: Floats, level: float) -> Interval:
    """The interval from the spread of bootstrap repetitions around their own mean, centred at the score."""
    if len(repeats) < 2:
        raise InputError("a bootstrap needs at least 2 repetitions")
    error = float(repeats.std(ddof=1))
    return Interval(value - critical(level) * error, value + critical(level) * error, level, "bootstrap")


def p_value(difference: float, error: float) -> float:
    """Of no difference, two-sided; 1 where nothing differs at all."""
    if error == 0 or math.isnan(error):
        return 1.0 if difference == 0 else 0.0 if error == 0 else math.nan
    return float(2 * stats.norm.sf(abs(difference) / error))


def holm(p: npt.ArrayLike) -> Floats:
    """Holm's correction: p-values that stay valid however many comparisons are looked at.

    >>> holm([0.01, 0.04, 0.03]).round(6).tolist()
    [0.03, 0.06, 0.06]
    """
    values = np.asarray(p, dtype=np.float64)
    order = np.argsort(values, kind="stable")
    steps = np.maximum.accumulate(values[order] * (len(values) - np.arange(len(values))))
    corrected = np.empty(len(values))
    corrected[order] = np.minimum(steps, 1.0)
    return corrected
