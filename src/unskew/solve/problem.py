"""What is solved and what comes out: arrays only; and what a solver asks of the data, which it never sees.

Whatever can answer the questions of `Passes` is an engine: threads on this machine (`unskew.arrays.sweep.Sweep`),
or a cluster whose partitions run the same loops. P(u) sums to 1 in all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

from unskew.arrays.types import Codes, Floats, Levels, Mask

Status = Literal["solved", "certified", "unfinished"]


class Passes(Protocol):
    """Passes over one set of profiles; arrays are over all items.

    Attributes
    ----------
    count
        How many there were so far.
    """

    count: int

    def marginal(self, theta: Floats, /) -> Floats:
        """The weighted item marginal ``q_i = sum_u a_u pi_ui`` for log-weights `theta`. One pass."""

    def marginal_and_levels(self, theta: Floats, level: Levels, /) -> tuple[Floats, Floats]:
        """The marginal, and P(u) by the highest `level` of the items that u holds. One pass."""

    def ratio_mean(self, theta: Floats, ratio: Floats, /) -> Floats:
        """``sum_u a_u pi_uk v_u`` with ``v_u = sum_i ratio_i pi_ui``, for every item k. One pass."""

    def highest(self, ratio: Floats, level: Levels, /) -> tuple[float, Floats]:
        """``sum_u a_u max_{i in u} ratio_i``, and P(u) by the highest `level` that u holds. One pass."""

    def reach(self, items: Mask, /) -> float:
        """P(u holds any of these items); asked once, for the certificate."""


@dataclass(frozen=True)
class Problem:
    """Find item weights under which the marginal of the profiles is `target`.

    Attributes
    ----------
    passes
        Passes over the profiles.
    target
        T_i for every item, sum 1; an item with T_i > 0 is held by someone.
    theta
        Log-weights to start from: those of fitted items may be anything finite, those of other items
        stay as they are (0 for an item left alone, -inf for one that is dropped).
    free
        The items whose weights are fitted.
    """

    passes: Passes
    target: Floats
    theta: Floats
    free: Codes

    @property
    def is_whole(self) -> bool:
        """Whether every item with a target is fitted, and nothing else is in the profiles."""
        others = np.ones(len(self.target), dtype=bool)
        others[self.free] = False
        return bool((self.target[self.free] > 0).all() and np.isneginf(self.theta[others]).all())


@dataclass(frozen=True)
class Solution:
    """Log-weights and what is known about them.

    Attributes
    ----------
    theta, q
        Log-weights and the marginal that they give.
    divergence
        D of this q; `history` has it after each accepted pass.
    residual
        ``TV = 1/2 sum |T_i - q_i|``.
    bound_least
        No weighting of these profiles has a smaller TV than this.
    trapped
        The items that prove it: T of these minus P(u holds any of them) is `bound_least`.
    gap
        At least ``D - min D`` in nats, over every choice of P(i|u).
    passes
        Sweeps over the entries, those of rejected steps included.
    """

    theta: Floats
    q: Floats
    divergence: float
    residual: float
    bound_least: float
    trapped: Mask
    gap: float
    passes: int
    history: tuple[float, ...]
    status: Status
