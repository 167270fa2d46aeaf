"""One pass over the profiles: the kernels run on threads over a fixed cut into blocks.

The cut depends on the data alone, each block has its own sums, and the sums are added in the order
of the blocks; so the result is the same to the last bit for any number of threads. Nothing larger
than the block sums is allocated, and those only once for a `Sweep`.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from unskew.arrays import compiling, kernels
from unskew.errors import InputError

Floats = npt.NDArray[np.float64]
Offsets = npt.NDArray[Any]  # uint32, or uint64 beyond 4 billion entries
LEVELS = 2**11
"""How many levels of T/q the running certificate tells apart."""

compiling.announce()

_SMALL = 30_000  # entries below which waking a thread costs more than it saves


def threads() -> int:
    """How many threads a pass uses: ``UNSKEW_THREADS``, else the cores this process may use."""
    return _threads(os.environ.get("UNSKEW_THREADS"))


@cache
def _threads(wish: str | None) -> int:
    if wish is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if not wish.isdigit() or int(wish) < 1:
        raise InputError(f"UNSKEW_THREADS is {wish!r}; it must be a whole number of at least 1")
    return int(wish)


@cache
def _pool(n: int, process: int) -> ThreadPoolExecutor:
    """Worker threads, kept for the life of the process (a forked child makes its own)."""
    return ThreadPoolExecutor(n, thread_name_prefix="unskew")


@dataclass(frozen=True)
class Profiles:
    """The arrays of a set of profiles; the profile of u is ``item[start[u]:stop[u]]``.

    Attributes
    ----------
    start, stop, item
        Offsets and item codes. A user whose start equals its stop takes no part.
    n_items
        Number of items; every code is below it.
    a
        P(u) of each user, any positive scale; None for uniform.
    b
        P(i|u) of each entry, any positive scale per row; None for uniform.
    """

    start: Offsets
    stop: Offsets
    item: npt.NDArray[np.uint32]
    n_items: int
    a: Floats | None = None
    b: Floats | None = None

    @property
    def n_users(self) -> int:
        return len(self.stop)

    def sizes(self) -> npt.NDArray[np.int64]:
        """Number of items in each profile."""
        return self.stop.astype(np.int64) - self.start.astype(np.int64)

    def shares(self) -> Floats:
        """P(u) of each user: sums to 1 over the users who take part."""
        some = self.stop != self.start
        shares = some.astype(np.float64) if self.a is None else np.where(some, self.a, 0.0)
        total = shares.sum()
        return shares / total if total > 0 else shares

    def edges(self) -> npt.NDArray[np.int64]:
        """The cut into blocks of about equal work (an entry counts 1, a row 1 more)."""
        return self._edges

    @cached_property
    def _edges(self) -> npt.NDArray[np.int64]:
        if self.n_users == 0:
            return np.zeros(1, dtype=np.int64)
        work = self.sizes() + 1
        ends = np.cumsum(work)
        blocks = int(np.clip(ends[-1] // (8 * max(self.n_items, 1)), 2, 32))
        cuts = np.searchsorted(ends, np.arange(1, blocks) * (ends[-1] / blocks))
        return np.unique(np.concatenate([[0], cuts, [self.n_users]])).astype(np.int64)


def over_blocks(edges: npt.NDArray[np.int64], entries: int, work: Callable[[int, int, int], Any]) -> list[Any]:
    """Call ``work(k, lo, hi)`` for every block k and return the results in the order of the blocks."""
    n = len(edges) - 1
    results: list[Any] = [None] * n

    def some(first: int, step: int) -> None:
        for k in range(first, n, step):
            results[k] = work(k, int(edges[k]), int(edges[k + 1]))

    workers = min(threads(), n)
    if workers <= 1 or entries < _SMALL:
        some(0, 1)
        return results
    pool = _pool(threads(), os.getpid())
    others = [pool.submit(some, k, workers) for k in range(1, workers)]
    try:
        some(0, workers)
    finally:
        for other in others:
            other.result()
    return results


def over_items(n: int, work: Callable[[int, int, int], Any]) -> list[Any]:
    """The same over a cut of n items into even parts, for the arithmetic between two passes."""
    return over_blocks(_even(n), n, work)


@cache
def _even(n: int) -> npt.NDArray[np.int64]:
    """Where to cut n items: parts of about 16 000, at most 16."""
    return np.linspace(0, n, max(1, min(16, n // 16_384)) + 1).astype(np.int64)


@dataclass
class Sweep:
    """Passes over one set of profiles, with the buffers that they share and their count."""

    profiles: Profiles
    passes: int = 0
    _edges: npt.NDArray[np.int64] = field(init=False, repr=False)
    _entries: int = field(init=False, repr=False)
    _total: float = field(init=False, repr=False)
    _sums: Floats = field(init=False, repr=False)
    _levels: Floats = field(init=False, repr=False)
    _w: Floats = field(init=False, repr=False)
    _later: npt.NDArray[np.int64] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        p = self.profiles
        self._edges = p.edges()
        self._entries = int(p.sizes().sum())
        some = p.stop != p.start
        self._total = float(np.count_nonzero(some)) if p.a is None else float(np.where(some, p.a, 0.0).sum())
        blocks = len(self._edges) - 1
        self._sums = np.empty((blocks, p.n_items))
        self._levels = np.empty((blocks, LEVELS))
        self._w = np.empty(p.n_items)
        self._later = np.empty(p.n_users, dtype=np.int64)

    def marginal(self, theta: Floats) -> Floats:
        """The weighted item marginal ``q_i = sum_u a_u pi_ui`` for log-weights `theta`. One pass."""
        return self._pass(theta, None, None)

    def marginal_and_levels(self, theta: Floats, level: npt.NDArray[np.uint16]) -> tuple[Floats, Floats]:
        """The marginal, and P(u) by the highest `level` that u holds. One pass."""
        q = self._pass(theta, None, level)
        return q, self._levels.sum(axis=0) / self._total

    def ratio_mean(self, theta: Floats, ratio: Floats) -> Floats:
        """``sum_u a_u pi_uk v_u`` with ``v_u = sum_i ratio_i pi_ui``, for every item k. One pass."""
        return self._pass(theta, ratio, None)

    def highest(self, ratio: Floats, level: npt.NDArray[np.uint16]) -> tuple[float, Floats]:
        """``sum_u a_u max_{i in u} ratio_i``, and P(u) by the highest `level` that u holds. One pass."""
        p, levels = self.profiles, self._levels
        self.passes += 1

        def block(k: int, lo: int, hi: int) -> float:
            levels[k] = 0.0
            total: float = kernels.highest_ratios(lo, hi, p.start, p.stop, p.item, p.a, ratio, level, levels[k])
            return total

        total = sum(over_blocks(self._edges, self._entries, block))
        return total / self._total, levels.sum(axis=0) / self._total

    def joint(self, theta: Floats, items: npt.NDArray[np.int64]) -> Floats:
        """``P(i,k|w) = sum_u a_u pi_ui pi_uk`` for the chosen `items`. One pass."""
        p = self.profiles
        n = len(items)
        place = np.full(p.n_items, -1, dtype=np.int64)
        place[items] = np.arange(n)
        self.passes += 1

        def block(k: int, lo: int, hi: int) -> Floats:
            sums = np.zeros((n, n))
            held = np.empty((2, n))
            kernels.joint_sums(lo, hi, p.start, p.stop, p.item, p.a, p.b, theta, place, held, sums)
            return sums

        total = np.zeros((n, n))
        for sums in over_blocks(self._edges, self._entries, block):
            total += sums
        return total / self._total

    def _pass(
        self,
        theta: Floats,
        ratio: Floats | None,
        level: npt.NDArray[np.uint16] | None,
    ) -> Floats:
        p, sums, levels, w = self.profiles, self._sums, self._levels, self._w
        self.passes += 1
        highest = theta.max() if len(theta) else 0.0
        shift = float(highest) if np.isfinite(highest) else 0.0
        np.subtract(theta, shift, out=w)
        np.exp(w, out=w)

        def block(k: int, lo: int, hi: int) -> int:
            sums[k] = 0.0
            levels[k] = 0.0
            skipped: int = kernels.item_sums(
                lo, hi, p.start, p.stop, p.item, p.a, p.b, w, ratio, level, sums[k], levels[k], self._later
            )
            return skipped

        skipped = over_blocks(self._edges, self._entries, block)
        q = np.empty(p.n_items)
        over_items(p.n_items, lambda k, lo, hi: kernels.added(lo, hi, sums, w, self._total, q))
        if any(skipped):

            def again(k: int, lo: int, hi: int) -> None:
                sums[k] = 0.0
                rows = self._later[lo : lo + skipped[k]]
                kernels.item_sums_shifted(rows, p.start, p.stop, p.item, p.a, p.b, theta, ratio, sums[k])

            over_blocks(self._edges, self._entries, again)
            q += sums.sum(axis=0) / self._total
        return q
