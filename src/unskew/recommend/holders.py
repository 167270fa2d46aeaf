"""The profiles the other way round: who holds an item."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from unskew.arrays.types import Codes, Floats
from unskew.data.snapshot import Snapshot
from unskew.recommend import candidates as kernels


@dataclass(frozen=True)
class Holders:
    """The users who hold item i are ``user[start[i]:start[i + 1]]``, in the order of their codes.

    ``together[i]`` is the number of items that they hold, repeats counted: the work of one row of co-occurrences.
    """

    start: npt.NDArray[np.uint64]
    user: npt.NDArray[np.uint32]
    together: Codes

    @classmethod
    def of(cls, snapshot: Snapshot, count: Codes) -> Holders:
        """Turn the profiles of a snapshot round; `count` is how many users hold each item."""
        p = snapshot.profiles
        start = np.zeros(p.n_items + 1, dtype=np.uint64)
        start[1:] = np.cumsum(count)
        user = np.empty(int(start[-1]), dtype=np.uint32)
        together = np.zeros(p.n_items, dtype=np.int64)
        kernels.holders(p.start, p.stop, p.item, start[:-1].copy(), user, together)
        return cls(start, user, together)

    def summed(self, value: Floats) -> Floats:
        """The sum of a value of users over those who hold each item."""
        item = np.repeat(np.arange(len(self.together)), np.diff(self.start).astype(np.int64))
        sums: Floats = np.bincount(item, weights=value[self.user], minlength=len(self.together)).astype(np.float64)
        return sums
