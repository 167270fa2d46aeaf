"""What a solver asks of the data: passes over profiles that it never sees.

Whatever can answer these questions is an engine: threads on this machine (`unskew.arrays.sweep.Sweep`), or a
cluster whose partitions run the same loops. P(u) sums to 1 in all of them.
"""

from __future__ import annotations

from typing import Protocol

from unskew.arrays.types import Floats, Levels, Mask


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
