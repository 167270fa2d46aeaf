"""Batches and held-out pairs cut into blocks for threads, and their arrays as the kernels want them.

The cut depends on the data alone and no kernel adds anything across blocks, so that results do not depend on
the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from unskew.arrays.blocks import over_blocks
from unskew.arrays.profiles import Profiles
from unskew.arrays.types import Codes, Items
from unskew.recommend.contract import Batch, HeldOutPairs

_MOST = 64  # blocks


def cut(work: npt.NDArray[Any], scratch: int) -> Codes:
    """Where to cut rows of this much work into blocks; each has to pay for `scratch` numbers of its own."""
    if len(work) == 0:
        return np.zeros(1, dtype=np.int64)
    ends = np.cumsum(work)
    blocks = int(np.clip(ends[-1] // max(4096, scratch // 8), 1, _MOST))
    cuts = np.searchsorted(ends, np.arange(1, blocks) * (ends[-1] / blocks))
    return np.unique(np.concatenate([[0], cuts, [len(work)]])).astype(np.int64)


@dataclass(frozen=True)
class Rows:
    """Profiles to recommend for, as unsigned arrays."""

    start: npt.NDArray[np.uint64]
    item: Items
    n_items: int

    @classmethod
    def of(cls, batch: Batch) -> Rows:
        return cls(batch.start.astype(np.uint64), batch.item.astype(np.uint32), batch.n_items)

    def over(self, work: Callable[[int, int, int], Any], *, each: int = 1) -> None:
        """Call ``work(block, lo, hi)`` for blocks of profiles; `each` entry costs this many steps or so."""
        sizes = np.diff(self.start).astype(np.int64) + 1
        over_blocks(cut(sizes, self.n_items), int(sizes.sum()) * each, work)


@dataclass(frozen=True)
class Pairs:
    """Held-out pairs as unsigned arrays; a block has all the pairs of its users."""

    user: Items
    item: Items
    profiles: Profiles
    edges: Codes
    work: int

    @classmethod
    def of(cls, pairs: HeldOutPairs) -> Pairs:
        profiles = pairs.snapshot.profiles
        user = pairs.user.astype(np.uint32)
        first = np.flatnonzero(np.diff(user, prepend=user[:1] + 1))  # of each user
        ends = np.append(first[1:], len(user)) if len(user) else first
        work = (ends - first) + profiles.sizes()[user[first]]
        edges = np.append(first, len(user))[cut(work, profiles.n_items)]
        return cls(user, pairs.item.astype(np.uint32), profiles, edges, int(work.sum()))

    def ranks(self, work: Callable[[int, int, Codes], Any], *, each: int = 1) -> Codes:
        """Call ``work(lo, hi, out)`` for blocks of pairs; `each` pair costs this many steps or so."""
        out = np.zeros(len(self.user), dtype=np.int64)
        over_blocks(self.edges, self.work * each, lambda block, lo, hi: work(lo, hi, out))
        return out
