"""The exponent of a power law in the tail of counts, by maximum likelihood."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize_scalar
from scipy.special import zeta

LEAST_IN_TAIL = 50
MOST_STARTS = 60


@dataclass(frozen=True)
class PowerLaw:
    """P(size) proportional to size ** -exponent for sizes from `start` on.

    Attributes
    ----------
    exponent
        The most likely one.
    start
        The size at which the tail starts.
    distance
        The largest difference between the shares of the tail up to a size, seen and expected (Kolmogorov-Smirnov).
    share
        The part of all users that is in the tail.
    """

    exponent: float
    start: int
    distance: float
    share: float

    def expected_users(self, sizes: npt.NDArray[np.int64], users: int) -> npt.NDArray[np.float64]:
        """How many of `users` in the tail have each of the sizes."""
        return users / float(zeta(self.exponent, self.start)) * np.asarray(sizes, np.float64) ** -self.exponent


def fit_power_law(sizes: npt.NDArray[np.int64], users: npt.NDArray[np.int64]) -> PowerLaw:
    """The law of the tail that the data follow most closely (Clauset, Shalizi and Newman, 2009).

    For each start the exponent maximises the likelihood of whole numbers,
    ``-n log zeta(a, start) - a sum log size``; the start is the one with the smallest Kolmogorov-Smirnov distance
    among those that leave at least 50 users in the tail.

    Examples
    --------
    >>> import numpy as np
    >>> size = np.arange(1, 100_000)
    >>> law = fit_power_law(size, np.round(1e9 * size**-2.5).astype(int))
    >>> round(law.exponent, 2), law.start
    (2.5, 1)
    """
    order = np.argsort(sizes)
    sizes, users = np.asarray(sizes)[order], np.asarray(users)[order]
    in_tail = users[::-1].cumsum()[::-1]
    enough = sizes[(in_tail >= min(LEAST_IN_TAIL, in_tail[0])) & (sizes >= 1)]
    laws = [_fit_from(int(start), sizes, users) for start in enough[:MOST_STARTS]]
    return min(laws, key=lambda law: law.distance)


def _fit_from(start: int, sizes: npt.NDArray[np.int64], users: npt.NDArray[np.int64]) -> PowerLaw:
    tail = sizes >= start
    size, count = sizes[tail], users[tail]
    n, logs = count.sum(), float((count * np.log(size)).sum())

    def cost(a: float) -> float:
        return float(n * np.log(zeta(a, start)) + a * logs)

    exponent = float(minimize_scalar(cost, bounds=(1.01, 12.0), method="bounded").x)
    seen = count.cumsum() / n
    expected = 1 - zeta(exponent, size + 1.0) / zeta(exponent, start)
    return PowerLaw(exponent, start, float(np.abs(seen - expected).max()), float(n / users.sum()))


def bin_users(
    sizes: npt.NDArray[np.int64], users: npt.NDArray[np.int64], start: int = 10, factor: float = 1.5
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Users per size in bins that grow by `factor`: sizes in the middle of their bins, and means over each bin.

    Single counts say little where most sizes have no user at all; the mean over a bin counts these too.
    """
    edges, end = [start], max(int(sizes.max()), start) + 1
    while edges[-1] < end:
        edges.append(min(end, max(edges[-1] + 1, round(edges[-1] * factor))))
    bounds = np.array(edges)
    held, _ = np.histogram(sizes, bounds - 0.5, weights=users)
    some = held > 0
    middle = np.sqrt(bounds[:-1] * (bounds[1:] - 1.0))
    return middle[some], (held / np.diff(bounds))[some]
