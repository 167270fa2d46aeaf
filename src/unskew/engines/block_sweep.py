"""Passes over profiles on a cluster: each block by the loop that runs on one machine, the sums added in their
order.

Log-weights go to every worker, and sums over items come back; nothing about users does. Weights are made from
log-weights here, once, since machines differ in the last bit of an exponential.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unskew.arrays import item_kernels, kernels
from unskew.arrays.blocks import over_items
from unskew.arrays.prefetch import look_ahead
from unskew.arrays.sweep import LEVELS, count_kept, make_weights
from unskew.arrays.types import Codes, Floats, Levels, Mask
from unskew.engines.block_logs import read_profiles
from unskew.engines.block_table import BlockTable, Record


@dataclass(frozen=True)
class SparseSums:
    """A number for each of some items, 0 for the others."""

    items: Codes
    values: Floats

    @classmethod
    def of(cls, sums: Floats) -> SparseSums:
        some = np.flatnonzero(sums)
        return cls(some.astype(np.uint32), sums[some])

    def add_to(self, total: Floats) -> None:
        total[self.items] += self.values


@dataclass
class BlockSweep:
    """Passes over profiles on a cluster, and their count; see `unskew.arrays.sweep.Sweep`.

    Attributes
    ----------
    table
        The profiles, as `unskew.engines.block_logs.write_profiles` makes them. P(u) is uniform.
    n_items, n_users
        Number of items, and of users.
    """

    table: BlockTable
    n_items: int
    n_users: int
    count: int = 0

    def marginal(self, theta: Floats) -> Floats:
        """The weighted item marginal ``q_i = sum_u a_u pi_ui`` for log-weights `theta`. One pass."""
        return self._pass(theta, None, None)[0]

    def marginal_and_levels(self, theta: Floats, level: Levels) -> tuple[Floats, Floats]:
        """The marginal, and P(u) by the highest `level` that u holds. One pass."""
        return self._pass(theta, None, level)

    def ratio_mean(self, theta: Floats, ratio: Floats) -> Floats:
        """``sum_u a_u pi_uk v_u`` with ``v_u = sum_i ratio_i pi_ui``, for every item k. One pass."""
        return self._pass(theta, ratio, None)[0]

    def highest(self, ratio: Floats, level: Levels) -> tuple[float, Floats]:
        """``sum_u a_u max_{i in u} ratio_i``, and P(u) by the highest `level` that u holds. One pass."""
        self.count += 1
        found = self.table.map(_SumHighest(ratio, level), "a pass over the profiles")
        total = float(self.n_users)
        return sum(one for one, _ in found) / total, np.array([levels for _, levels in found]).sum(axis=0) / total

    def reach(self, items: Mask) -> float:
        """P(u holds any of these items). Not counted as a pass: it is asked once, for a report."""
        holders: int = sum(self.table.map(_CountHolders(items), "looking who holds some items"))
        return holders / float(self.n_users)

    def _pass(self, theta: Floats, ratio: Floats | None, level: Levels | None) -> tuple[Floats, Floats]:
        self.count += 1
        w = np.empty(len(theta))
        make_weights(theta, w)
        found = self.table.map(_AddBlock(w, theta, ratio, level), "a pass over the profiles")
        total, sums, shifted = float(self.n_users), np.zeros((1, self.n_items)), np.zeros(self.n_items)
        for one, more, _ in found:
            one.add_to(sums[0])
            if more is not None:
                more.add_to(shifted)
        q = np.empty(self.n_items)
        over_items(self.n_items, lambda k, lo, hi: item_kernels.add_blocks(lo, hi, sums, w, total, q))
        if any(more is not None for _, more, _ in found):
            q += shifted / total
        return q, np.array([levels for _, _, levels in found]).sum(axis=0) / total


@dataclass(frozen=True)
class _AddBlock:
    """What the users of a block add to a pass; see `unskew.arrays.kernels.add_block`."""

    w: Floats
    theta: Floats
    ratio: Floats | None
    level: Levels | None

    def __call__(self, record: Record) -> tuple[SparseSums, SparseSums | None, Floats]:
        p = read_profiles(record, len(self.w))
        sums, shifted, levels = np.empty(p.n_items), np.empty(p.n_items), np.empty(LEVELS)
        out = sums, shifted, levels, look_ahead(p.n_items)
        n_shifted = kernels.add_block(
            0, p.n_users, p.rows, p.a, p.b, self.w, self.theta, self.ratio, self.level, *out
        )
        return SparseSums.of(sums), SparseSums.of(shifted) if n_shifted else None, levels


@dataclass(frozen=True)
class _SumHighest:
    ratio: Floats
    level: Levels

    def __call__(self, record: Record) -> tuple[float, Floats]:
        p, levels = read_profiles(record, len(self.ratio)), np.zeros(LEVELS)
        total = kernels.sum_highest_ratios(0, p.n_users, p.rows, p.a, self.ratio, self.level, levels)
        return total, levels


@dataclass(frozen=True)
class _CountHolders:
    items: Mask

    def __call__(self, record: Record) -> int:
        return int(np.count_nonzero(count_kept(read_profiles(record, len(self.items)), self.items)))
