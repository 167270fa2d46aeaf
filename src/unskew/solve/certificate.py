"""How good can any weighting be? A lower bound on TV, and one on D, from the ratios T/q.

For any set S of items, whatever the P(i|u), ``q(S) <= P(u holds any of S)``. So no weighting has a TV
below ``T(S) - P(u holds any of S)``. With ``S = {i: T_i/q_i >= c}`` this is tight at the optimum, and
all c can be tried at once: u holds some of S exactly if the largest ratio in its profile is at least c.

While the passes run, the ratios are put into a few thousand levels, fine around 1 where it matters,
so that one more look-up per entry gives the bound for all of them (`RunningBound`). At the end one
pass computes it without rounding (`exact`).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from unskew.sweep import LEVELS, Floats, Sweep

_MIDDLE = LEVELS // 2
_BITS = 18  # of a 32-bit float that are dropped: 5 bits of mantissa stay, steps of 3 %
_SMALLEST = int(np.float32(2.0**-26).view(np.uint32) >> _BITS)


@dataclass
class RunningBound:
    """The best lower bound on TV seen so far, and the items that prove it."""

    target: Floats
    best: float = 0.0
    trapped: npt.NDArray[np.bool_] = field(init=False)

    def __post_init__(self) -> None:
        self.trapped = np.zeros(len(self.target), dtype=bool)

    def update(self, level: npt.NDArray[np.uint16], users: Floats) -> None:
        """Take a pass into account: `users` is P(u) by the highest level that u holds."""
        items = np.bincount(level, weights=self.target, minlength=LEVELS)
        excess = np.cumsum((items - users)[:0:-1])  # from the highest level down to 1
        k = int(np.argmax(excess))
        if excess[k] > self.best:
            self.best = float(excess[k])
            self.trapped = level >= LEVELS - 1 - k

    def take(self, bound: float, trapped: npt.NDArray[np.bool_]) -> None:
        """Take a bound found otherwise into account."""
        if bound > self.best:
            self.best, self.trapped = bound, trapped


def levels(f: Floats, wanted: npt.NDArray[np.int64], n_items: int) -> npt.NDArray[np.uint16]:
    """A level for each item: rises with ``f = log(T/q)`` of the wanted items, 0 for the others."""
    size = (np.abs(f).astype(np.float32).view(np.uint32) >> _BITS).astype(np.int64) - _SMALLEST
    size = np.clip(size, 0, _MIDDLE - 1)
    result = np.zeros(n_items, dtype=np.uint16)
    result[wanted] = _MIDDLE + np.where(f < 0, -size, size)
    return result


def exact(sweep: Sweep, target: Floats, q: Floats) -> tuple[float, npt.NDArray[np.bool_], float]:
    """The lower bound on TV, its items, and the gap in nats, all from one pass.

    The gap ``sum_u a_u max_{i in u} T_i/q_i - 1`` is never below ``D(w) - min D``.
    """
    wanted = target > 0
    with np.errstate(divide="ignore"):
        ratio = np.where(wanted, target / np.where(wanted, q, 1.0), 0.0)
    highest = sweep.row_maxima(ratio)
    shares = sweep.profiles.shares()
    here = np.flatnonzero(np.isfinite(highest) & (shares > 0))
    gap = float((shares[here] * highest[here]).sum() - 1.0)

    by_ratio = np.argsort(-ratio, kind="stable")
    by_user = here[np.argsort(-highest[here], kind="stable")]
    held = np.concatenate([[0.0], np.cumsum(shares[by_user])])
    users = held[np.searchsorted(-highest[by_user], -ratio[by_ratio], side="right")]
    excess = np.cumsum(target[by_ratio]) - users
    # between equal ratios the set is cut in two; only the last of them is a set {T/q >= c}, the others
    # count all its users but not all its items, so that they are bounds as well, only weaker
    k = int(np.argmax(excess))
    trapped = ratio >= ratio[by_ratio[k]] if excess[k] > 0 else np.zeros(len(target), dtype=bool)
    return max(float(excess[k]), 0.0), trapped, max(gap, 0.0)
