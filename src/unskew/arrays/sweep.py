"""Passes over profiles, block by block: weights of items, and of margins."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from unskew.arrays import item_kernels, kernels
from unskew.arrays.blocks import over_blocks, over_items
from unskew.arrays.compiling import look_ahead
from unskew.arrays.marked_rows import MarkedBlock, add_marked, is_worth_marking, mark_block
from unskew.arrays.profiles import Profiles
from unskew.arrays.types import Codes, Floats, Levels, Mask

LEVELS = 2**11
"""How many levels of T/q the running certificate tells apart."""

_LOWEST = -700.0  # exp of less has fewer digits than other numbers, and takes 20 times as long


class Sweep:
    """Passes over one set of profiles, with the buffers that they share and their count."""

    def __init__(self, profiles: Profiles) -> None:
        self.profiles, self.count = profiles, 0
        self._entries = int(profiles.sizes().sum())
        self._total = float(profiles.masses().sum())
        blocks, n_items = len(profiles.edges) - 1, profiles.n_items
        self._sums = np.empty((blocks, n_items))
        self._shifted = np.empty((blocks, n_items))  # takes no memory until a row has to be shifted
        self._levels = np.empty((blocks, LEVELS))
        self._w = np.empty(n_items)
        self._marked: list[MarkedBlock] | None = None

    def marginal(self, theta: Floats) -> Floats:
        """The weighted item marginal ``q_i = sum_u a_u pi_ui`` for log-weights `theta`. One pass."""
        return self._pass(theta, None, None)

    def marginal_and_levels(self, theta: Floats, level: Levels) -> tuple[Floats, Floats]:
        """The marginal, and P(u) by the highest `level` of the items of u. One pass."""
        q = self._pass(theta, None, level)
        return q, self._levels.sum(axis=0) / self._total

    def ratio_mean(self, theta: Floats, ratio: Floats) -> Floats:
        """``sum_u a_u pi_uk v_u`` with ``v_u = sum_i ratio_i pi_ui``, for every item k. One pass."""
        return self._pass(theta, ratio, None)

    def highest(self, ratio: Floats, level: Levels) -> tuple[float, Floats]:
        """``sum_u a_u max_{i in u} ratio_i``, and P(u) by the highest `level` of the items of u. One pass."""
        rows, levels = self.profiles.rows, self._levels
        self.count += 1

        def block(k: int, lo: int, hi: int) -> float:
            levels[k] = 0.0
            return float(kernels.sum_highest_ratios(lo, hi, rows, self.profiles.a, ratio, level, levels[k]))

        total = sum(over_blocks(self.profiles.edges, self._entries, block))
        return total / self._total, levels.sum(axis=0) / self._total

    def reach(self, items: Mask) -> float:
        """P(u has any of these items). Not counted as a pass: it is asked once, for a report."""
        held = count_kept(self.profiles, items) > 0
        if self.profiles.a is None:
            return int(np.count_nonzero(held)) / self._total
        return float(self.profiles.shares()[held].sum())

    def _pass(self, theta: Floats, ratio: Floats | None, level: Levels | None) -> Floats:
        p, w = self.profiles, self._w
        self.count += 1
        make_weights(theta, w)

        marked, ahead = self._mark() if ratio is None else None, look_ahead(p.n_items)

        def block(k: int, lo: int, hi: int) -> int:
            out = self._sums[k], self._shifted[k], self._levels[k]
            if marked is not None:
                return int(add_marked(marked[k], p.rows, p.a, w, theta, level, *out))
            return int(kernels.add_block(lo, hi, p.rows, p.a, p.b, w, theta, ratio, level, *out, ahead))

        shifted = over_blocks(self.profiles.edges, self._entries, block)
        q = np.empty(p.n_items)
        over_items(p.n_items, lambda k, lo, hi: item_kernels.add_blocks(lo, hi, self._sums, w, self._total, q))
        if any(shifted):
            more = np.zeros(p.n_items)
            for k in np.flatnonzero(shifted):
                more += self._shifted[k]
            q += more / self._total
        return q

    def _mark(self) -> list[MarkedBlock] | None:
        """The copy that makes passes faster, from the second pass on: for one alone it would not pay."""
        if self._marked is None and self.count == 2 and is_worth_marking(self.profiles):
            p = self.profiles
            self._marked = over_blocks(p.edges, self._entries, lambda _, lo, hi: mark_block(p, lo, hi))
        return self._marked


def make_weights(theta: Floats, out: Floats) -> None:
    """``exp(theta - max theta)``: `numpy.exp` without what takes it long, minus infinity and results near 0."""
    highest = theta.max() if len(theta) else 0.0
    shift = float(highest) if np.isfinite(highest) else 0.0

    def part(_: int, lo: int, hi: int) -> None:
        logs, weights = theta[lo:hi], out[lo:hi]
        item_kernels.clip_logs(logs, shift, _LOWEST, weights)
        np.exp(weights, out=weights)
        item_kernels.weigh_lowest(logs, shift, _LOWEST, weights)

    over_items(len(out), part)


def count_kept(profiles: Profiles, keep: Mask) -> Codes:
    """How many items of each profile are among those to keep."""
    rows, out = profiles.rows, np.zeros(profiles.n_users, dtype=np.int64)
    over_blocks(profiles.edges, len(profiles.item), lambda _, lo, hi: kernels.count_kept(lo, hi, rows, keep, out))
    return out


Groups = npt.NDArray[np.int32]
"""The groups of each entry, one column a margin; those of all margins are numbered one after the other."""


class MarginSweep:
    """Passes over profiles whose entries have groups, with their buffers and their count.

    Every entry belongs to a row, and none has weight 0; `size` is how many groups all margins have together.
    """

    def __init__(self, profiles: Profiles, groups: Groups, size: int) -> None:
        self.profiles, self.groups, self.size, self.count = profiles, groups, size, 0
        self.pairs = np.zeros(len(profiles.item))  # ``P(u) P(i|u,w)`` of each entry after the last pass
        self._log_b = None if profiles.b is None else np.log(profiles.b)
        self._sums = np.empty((len(profiles.edges) - 1, size))

    def marginals(self, theta: Floats, score: Floats | None = None) -> tuple[Floats, float]:
        """The weighted marginals of all margins, one after the other, for log-weights of their groups. One pass.

        With `score`, also ``sum_u P(u) max_e sum_k score`` of the groups k of e, over the entries e of u.
        """
        p, shares = self.profiles, self.profiles.shares()
        self.count += 1

        def block(k: int, lo: int, hi: int) -> float:
            entries, out = (self._log_b, self.groups), (self.pairs, self._sums[k])
            return float(item_kernels.add_margins(lo, hi, p.rows, shares, *entries, theta, score, *out))

        highest = over_blocks(p.edges, len(p.item), block)
        q = np.zeros(self.size)
        for sums in self._sums:
            q += sums
        return q, float(sum(highest))
