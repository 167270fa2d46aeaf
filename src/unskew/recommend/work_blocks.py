"""Batches and held-out pairs cut into blocks for threads, and their arrays as the kernels want them.

The cut depends on the data alone and no kernel adds anything across blocks, so that results do not depend on
the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from unskew.arrays.blocks import over_blocks
from unskew.arrays.profiles import Profiles, Rows
from unskew.arrays.types import Codes, Items
from unskew.recommend.contract import Batch, HeldOutPairs
from unskew.recommend.preconditions import require_length

_MOST = 64  # blocks


def cut_into_blocks(work: npt.NDArray[Any], scratch: int) -> Codes:
    """Where to cut rows of this much work into blocks; each has to pay for `scratch` numbers of its own."""
    if len(work) == 0:
        return np.zeros(1, dtype=np.int64)
    ends = np.cumsum(work)
    blocks = int(np.clip(ends[-1] // max(4096, scratch // 8), 1, _MOST))
    cuts = np.searchsorted(ends, np.arange(1, blocks) * (ends[-1] / blocks))
    return np.unique(np.concatenate([[0], cuts, [len(work)]])).astype(np.int64)


@dataclass(frozen=True)
class BatchWork:
    """Profiles to recommend for, with unsigned offsets and items."""

    rows: Rows
    n_items: int

    @classmethod
    def of(cls, batch: Batch) -> BatchWork:
        start = batch.start.astype(np.uint64)
        return cls(Rows(start[:-1], start[1:], batch.item.astype(np.uint32)), batch.n_items)

    def recommend(self, work: Callable[[int, int, Codes], Any], k: int, *, each: int = 1) -> Codes:
        """Call ``work(lo, hi, out)`` for blocks of profiles; `each` entry costs this many steps or so.

        Gives `out`: k items for each profile, -1 where `work` writes none.
        """
        out = np.full((len(self.rows.start), require_length(k)), -1, dtype=np.int64)
        sizes = (self.rows.stop - self.rows.start).astype(np.int64) + 1
        edges = cut_into_blocks(sizes, self.n_items)
        over_blocks(edges, int(sizes.sum()) * each, lambda block, lo, hi: work(lo, hi, out))
        return out


class PairCodes(NamedTuple):
    """Users and items of held-out pairs as the kernels take them, sorted by user."""

    user: Items
    item: Items


@dataclass(frozen=True)
class PairWork:
    """Held-out pairs and the profiles that they are in; a block has all the pairs of its users."""

    pairs: PairCodes
    profiles: Profiles
    edges: Codes
    steps: int

    @classmethod
    def of(cls, pairs: HeldOutPairs) -> PairWork:
        profiles = pairs.snapshot.profiles
        user = pairs.user.astype(np.uint32)
        first = np.flatnonzero(np.diff(user, prepend=user[:1] + 1))  # of each user
        ends = np.append(first[1:], len(user)) if len(user) else first
        work = (ends - first) + profiles.sizes_of(user[first])
        edges = np.append(first, len(user))[cut_into_blocks(work, profiles.n_items)]
        return cls(PairCodes(user, pairs.item.astype(np.uint32)), profiles, edges, int(work.sum()))

    def rank(self, work: Callable[[int, int, Codes], Any], *, each: int = 1) -> Codes:
        """Call ``work(lo, hi, out)`` for blocks of pairs; `each` pair costs this many steps or so."""
        out = np.zeros(len(self.pairs.user), dtype=np.int64)
        over_blocks(self.edges, self.steps * each, lambda block, lo, hi: work(lo, hi, out))
        return out
