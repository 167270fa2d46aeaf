"""The profiles the other way round: who holds an item."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from unskew.arrays.compiling import compiled
from unskew.arrays.profiles import Rows
from unskew.arrays.types import Codes, Floats
from unskew.data.snapshot import Snapshot


class Holders(NamedTuple):
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
        _write_holders(p.rows, start[:-1].copy(), user, together)
        return cls(start, user, together)

    def sum_over(self, value: Floats) -> Floats:
        """The sum of a value of users over those who hold each item."""
        item = np.repeat(np.arange(len(self.together)), np.diff(self.start).astype(np.int64))
        sums: Floats = np.bincount(item, weights=value[self.user], minlength=len(self.together)).astype(np.float64)
        return sums


@compiled
def _write_holders(
    profiles: Rows, place: npt.NDArray[np.uint64], holder: npt.NDArray[np.uint32], together: Codes
) -> None:
    """Write who holds item i to `holder` from ``place[i]`` on, in the order of users; `place` moves along.

    Adds to ``together[i]`` the sizes of their profiles.
    """
    start, stop, item = profiles.start, profiles.stop, profiles.item
    for u in range(len(stop)):
        n = np.int64(stop[u]) - np.int64(start[u])
        for e in range(start[u], stop[u]):
            i = item[e]
            holder[place[i]] = u
            place[i] += np.uint64(1)
            together[i] += n
