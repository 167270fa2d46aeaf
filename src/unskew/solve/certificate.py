"""How good can any weighting be? A lower bound on TV, and one on D, from the ratios T/q.

For any set S of items, whatever the P(i|u), ``q(S) <= P(u holds any of S)``. So no weighting has a TV
below ``T(S) - P(u holds any of S)``. With ``S = {i: T_i/q_i >= c}`` this is tight at the optimum, and
all c can be tried at once: u holds some of S exactly if the largest ratio in its profile is at least c.

The ratios are put into two thousand levels, fine around 1 where it matters, so that one more look-up
per entry gives the bound for all of them, and nothing has to be sorted or kept per user. Whatever the
levels, what comes out is the bound of some set S, and so valid.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from unskew.arrays import item_kernels
from unskew.arrays.sweep import LEVELS
from unskew.arrays.types import Floats, Levels, Mask
from unskew.solve.problem import Passes

_MIDDLE = LEVELS // 2
_BITS = 18  # of a 32-bit float that are dropped: 5 bits of mantissa stay, steps of 3 %
_SMALLEST = int(np.float32(2.0**-26).view(np.uint32) >> _BITS)
_ROUNDING = 1e-13  # of the sums: less than this above the best is no news


@dataclass
class RunningBound:
    """The best lower bound on TV seen so far, and the items that prove it."""

    target: Floats
    best: float = 0.0
    trapped: Mask = field(init=False)
    _looked_at: float = np.inf
    _idle: int = 0

    def __post_init__(self) -> None:
        self.trapped = np.zeros(len(self.target), dtype=bool)

    def is_due(self, residual: float) -> bool:
        """Whether the next pass should look for a better bound, which costs it a fifth more.

        Always once the bound is within a factor of 10 of TV; before that when TV has halved, and every
        fourth pass in any case.
        """
        self._idle += 1
        due = self.best >= 0.1 * residual or residual <= 0.5 * self._looked_at or self._idle >= 4
        if due:
            self._looked_at, self._idle = residual, 0
        return due

    def update(self, level: Levels, users: Floats) -> None:
        """Take a pass into account: `users` is P(u) by the highest level that u holds."""
        items = np.zeros(LEVELS)
        item_kernels.sum_by_level(level, self.target, items)
        excess = np.cumsum((items - users)[:0:-1])  # from the highest level down to 1
        k = int(np.argmax(excess))
        if excess[k] > self.best + _ROUNDING:
            self.best = float(excess[k])
            self.trapped = level >= LEVELS - 1 - k

    def close(self, passes: Passes, f: Floats) -> float:
        """One pass more, for the last point: its bound, and the gap in nats, which is returned.

        The gap ``sum_u a_u max_{i in u} T_i/q_i - 1`` is never below ``D(w) - min D``.
        """
        level = levels(f, self.target)
        mean, users = passes.highest(np.where(self.target > 0, np.exp(f), 0.0), level)
        self.update(level, users)
        return max(mean - 1.0, 0.0)


def levels(f: Floats, target: Floats) -> Levels:
    """A level for each item: rises with ``f = log(T/q)``, 0 for an item without a target."""
    bits, level = f.astype(np.float32).view(np.int32), np.empty(len(f), dtype=np.uint16)
    item_kernels.find_levels(bits, f, target, _BITS, _SMALLEST, _MIDDLE, level)
    return level
