"""Limits of means of values between 0 and 1, however rare and however unevenly weighted. Arrays only.

A mean ``L = sum_u s_u x_u`` of shares s that sum to 1 and values x in [0, 1] tells as much as n draws of a
coin, ``n = L (1 - L) / v`` with v its variance. Its limits are Wilson's of that n: they ask which p are so far
from L that L would be rare, with the variance ``p (1 - p) / n`` that p itself would give. Where nothing was
found p = L would have none.

v is the product of three things that are known with different ease:

- ``1 / units = sum_u s_u^2``, from the shares alone (Kish's effective number of units);
- the size of a hit, ``sum_u s_u (x_u - L)^2 / (L (1 - L))``: 1 where every x is 0 or 1, whoever it belongs to;
  less where units are means of several values, or values are graded. With few hits it is drawn towards 1;
- how uneven the error is, ``sum_u s_u^2 (x_u - L)^2`` over what the two above give: not 1 where those with
  large shares do better or worse. It rests on few units, and so has its full say only where there are many
  hits.

Below `RARE` hits (or misses) the limit on their side is the exact one of Clopper and Pearson: there Wilson's is
too bold.

A difference of two means is taken apart into what went up and what went down, ``D = A - B``, both such means.
Its limits are the d so far from D that D would be rare, as above: the variance is that of the ups a and downs b
that are likeliest if ``a - b = d``, which for rare ones have ``a + b = ((A + B) + sqrt((A + B)^2 + 4 d (d -
D))) / 2``. With hits and equal shares these are Tango's limits (1998), and the test of no difference is
McNemar's.

Sums run over the last axis, so that many samples can be looked at together.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import betaincinv, stdtr, stdtrit

Array = npt.NDArray[Any]

RARE = 10.0
"""Hits below which a limit is exact. Where 5 are expected this changes nothing: Wilson's limit of 9 is below 5."""
DRAWN = 10.0
"""The size of a hit is drawn towards 1 with the part ``DRAWN / (DRAWN + hits^2)``."""
EVEN = 20.0
"""How uneven the error is enters with the power ``hits / (hits + EVEN)``."""

_ROUNDING = 1e-12
_NOTHING = 1e-100  # whose square is no number any more
_HALVINGS = 60
_FAR = 1e50  # of which p-values near 0 ask
_MANY = 1e30
"""Draws that leave no doubt: all values are the same."""


@dataclass(frozen=True)
class Bounds:
    """The lowest and the highest value that a metric can have, and so its mean."""

    lowest: float = 0.0
    highest: float = 1.0

    @property
    def known(self) -> bool:
        """Whether there are any."""
        return math.isfinite(self.lowest) and math.isfinite(self.highest) and self.lowest < self.highest

    @property
    def width(self) -> float:
        """How far the highest is from the lowest."""
        return self.highest - self.lowest

    def share(self, mass: Array, total: Array, everything: float | None = None) -> tuple[Array, Array]:
        """Masses and totals (mass times value) as shares of the whole and values between 0 and 1.

        `everything` is the sum of all masses, where these are some of them.
        """
        whole = float(mass.sum()) if everything is None else everything
        share = mass / whole
        return share, np.clip((total - self.lowest * mass) / (self.width * whole), 0.0, share)


UNIT = Bounds()
"""From 0 to 1, as of hits."""


class Evidence(NamedTuple):
    """What is known about a mean."""

    mean: Array  # itself, between 0 and 1
    n: Array  # how many draws of a coin tell as much
    units: Array  # how many units of equal share there would be; at least 2
    hits: Array  # how many hits of equal size were found


class DifferenceEvidence(NamedTuple):
    """What is known about a difference ``up - down``."""

    # What was gained and what was lost.
    up: Array
    down: Array
    # What the variance is per ``a (1 - a)`` of an up of a, and per ``b (1 - b)`` of a down of b.
    up_error: Array
    down_error: Array
    together: Array  # what it is besides per ``2 a b``: who goes up does not go down
    units: Array  # how many units of equal share there would be; at least 2

    @property
    def value(self) -> Array:
        """The difference."""
        return self.up - self.down

    def variance(self, true: Array | float) -> Array:
        """The variance that it would have if `true` were the difference."""
        return np.asarray(np.vectorize(_find_variance, otypes=[np.float64])(true, *self))


def weigh_evidence(share: Array, total: Array) -> Evidence:
    """What shares (they sum to 1) and each unit's share times value tell about the mean."""
    mean = settle_mean(total.sum(-1))
    seen = _sum_squares(total - mean[..., None] * share)
    return weigh_sums(mean, _sum_squares(share), _spread(share, total, mean), seen)


def settle_mean(mean: Array) -> Array:
    """A mean as it was before rounding took it away from 0 or 1."""
    return np.where(mean > 1 - _ROUNDING, 1.0, np.where(mean < _NOTHING, 0.0, mean))


def weigh_sums(mean: Array, squares: Array, spread: Array, seen: Array) -> Evidence:
    """The same from sums: ``sum s^2``, ``sum s (x - mean)^2`` and ``sum s^2 (x - mean)^2``."""
    units = np.asarray(np.maximum(1.0 / squares, 2.0))
    size = _measure_size(spread, mean * (1 - mean), units)
    rarer = _count_hits(np.minimum(mean, 1 - mean), size, units)
    n = _divide(units, _draw_to_one(size, rarer) * _unevenness(seen, spread / units, rarer), _MANY)
    return Evidence(mean, n, units, _count_hits(mean, size, units))


def weigh_difference(share: Array, total: Array, other_share: Array, other_total: Array) -> DifferenceEvidence:
    """The same about ``total - other_total``; the two are paired by place, and their shares may differ."""
    gained = total - other_total
    up, down = np.maximum(gained, 0.0), np.maximum(-gained, 0.0)
    a, b = up.sum(-1), down.sum(-1)
    level, other_level = total.sum(-1)[..., None], other_total.sum(-1)[..., None]
    seen = _sum_squares(gained - level * share + other_level * other_share)
    squares = _sum_squares(share), _sum_squares(other_share), (share * other_share).sum(-1)
    return weigh_difference_sums((a, b), squares, (_spread(share, up, a), _spread(other_share, down, b)), seen)


def weigh_difference_sums(
    gains: tuple[Array, Array], squares: tuple[Array, Array, Array], spreads: tuple[Array, Array], seen: Array
) -> DifferenceEvidence:
    """The same from sums: ups and downs, ``sum s^2`` of either and ``sum s s'``, the variances of ups and downs by
    share, and the squared influences.
    """
    (a, b), (spread_a, spread_b), shared = gains, spreads, squares[2]
    units_a, units_b = (np.asarray(np.maximum(1.0 / each, 2.0)) for each in squares[:2])
    units = np.minimum(units_a, units_b)
    # one size for both directions: where only one was seen, the other is not taken to be of another kind
    size = _measure_size(spread_a + spread_b, a * (1 - a) + b * (1 - b), units)
    hits = _count_hits(a + b, size, units)
    uneven = _unevenness(seen, spread_a / units_a + spread_b / units_b + 2 * a * b * shared, hits)
    size = _draw_to_one(size, hits) * uneven
    return DifferenceEvidence(a, b, size / units_a, size / units_b, uneven * shared, units)


def find_limits(known: Evidence, tail: float) -> tuple[Array, Array]:
    """The limits of a mean that leave out `tail` on each side."""
    mean, n, units, _ = known
    quantile = np.minimum(-stdtrit(units - 1, tail), _FAR)
    return _lower(mean, n, quantile, tail), 1 - _lower(1 - mean, n, quantile, tail)


def find_difference_limits(known: DifferenceEvidence, tail: float) -> tuple[Array, Array]:
    """The limits of a difference that leave out `tail` on each side."""
    quantile = np.minimum(-stdtrit(known.units - 1, tail), _FAR)
    search = np.vectorize(_search, otypes=[np.float64])
    low, high = (search(end, quantile, *known) for end in (-1.0, 1.0))
    n_up, n_down = (_divide(np.ones(()), error, _MANY) for error in (known.up_error, known.down_error))
    low = np.minimum(low, _exact_lower(known.up, n_up, tail) - known.down)
    return low, np.maximum(high, known.up - _exact_lower(known.down, n_down, tail))


def find_p_value(known: DifferenceEvidence) -> Array:
    """The p-value of no difference, two-sided: below twice the tail exactly where the limits leave out 0."""
    error = np.sqrt(known.variance(0.0))
    return np.where(
        known.value == 0, 1.0, 2 * stdtr(known.units - 1, -np.abs(known.value) / np.maximum(error, 1e-300))
    )


def _search(end: float, quantile: float, up: float, down: float, *errors: float) -> float:
    """Between the difference and an end, where it would be `quantile` standard errors away; by bisection.

    Of numbers, since NumPy takes many times as long for one as Python does.
    """
    value = up - down
    near, far = value, end
    for _ in range(_HALVINGS):
        middle = (near + far) / 2
        if abs(middle - value) <= quantile * math.sqrt(_find_variance(middle, up, down, *errors)):
            near = middle
        else:
            far = middle
    return near


def _find_variance(
    true: float, up: float, down: float, up_error: float, down_error: float, together: float, _: float
) -> float:
    both = up + down
    both = (both + math.sqrt(max(both * both + 4 * true * (true - (up - down)), 0.0))) / 2
    a, b = min(max((both + true) / 2, 0.0), 1.0), min(max((both - true) / 2, 0.0), 1.0)
    return up_error * a * (1 - a) + down_error * b * (1 - b) + 2 * together * a * b


def count_units(share: Array) -> Array:
    """How many units of equal share tell as much: ``1 / sum s^2``; at least 2."""
    return np.asarray(np.maximum(1.0 / _sum_squares(share), 2.0))


def _lower(mean: Array, n: Array, quantile: Array, tail: float) -> Array:
    widening = quantile * quantile / n
    half = quantile * np.sqrt(np.maximum(mean * (1 - mean), 0.0) / n + widening / (4 * n))
    wilson = np.clip((mean + widening / 2 - half) / (1 + widening), 0.0, 1.0)
    return np.where(mean > 0, np.minimum(wilson, _exact_lower(mean, n, tail)), 0.0)


def _exact_lower(mean: Array, n: Array, tail: float) -> Array:
    """The lower limit of Clopper and Pearson where hits are rare; otherwise the mean, which limits nothing."""
    hits = mean * n
    is_rare = (hits > 0) & (hits < RARE * (1 - _ROUNDING))
    exact = betaincinv(np.where(is_rare, hits, 1.0), np.where(is_rare, n - hits + 1, 1.0), tail)
    return np.where(is_rare, np.minimum(exact, mean), mean)


def _measure_size(spread: Array, possible: Array, units: Array) -> Array:
    """The size of a hit, free of the bias that both of its parts have in small samples."""
    size = _divide(spread, possible, 1.0)
    return np.clip(_divide(size, 1 - 1 / units + size / units, 1.0), 0.0, 1.0)


def _count_hits(mean: Array, size: Array, units: Array) -> Array:
    return _divide(mean * units, size, np.where(mean > 0, _MANY, 0.0))


def _draw_to_one(size: Array, hits: Array) -> Array:
    return size + (1 - size) * DRAWN / (DRAWN + hits * hits)


def _unevenness(seen: Array, modelled: Array, hits: Array) -> Array:
    return np.asarray(_divide(seen, modelled, 1.0) ** (hits / (hits + EVEN)))


def _spread(share: Array, total: Array, mean: Array) -> Array:
    return np.asarray(spread_terms(share, total, mean).sum(-1))


def spread_terms(share: Array, total: Array, mean: Array) -> Array:
    """What each unit adds to the variance of values by share, ``s (x - mean)^2``."""
    values = _divide(total, share, 0.0)
    return np.asarray(share * (values - mean[..., None]) ** 2)


def _sum_squares(values: Array) -> Array:
    return np.asarray((values * values).sum(-1))


def _divide(a: Array, b: Array, otherwise: Array | float) -> Array:
    """``a / b``, or `otherwise` where b is as good as 0."""
    usable = b > 1e-300
    return np.where(usable, a / np.where(usable, b, 1.0), otherwise)
