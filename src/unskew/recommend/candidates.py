"""Which items a list may hold, and which users hold an item."""
# mypy: disallow-untyped-defs=False

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from unskew.arrays.compiling import compiled
from unskew.arrays.profiles import Rows
from unskew.arrays.types import Codes, Floats
from unskew.data.slice import Snapshot


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


STEP = 512
"""Candidates that are counted before asking whether the rank can still be among the best k."""


@compiled
def comes_before(score, i, other_score, j):
    """Whether item i comes before j: by score, then by code."""
    return score > other_score or (score == other_score and i < j)


@compiled
def sink(score, i, n, scores, items):
    """Put item i into the place of the last of n, which is on top."""
    at = 0
    while True:
        child = 2 * at + 1
        if child >= n:
            break
        if child + 1 < n and comes_before(scores[child], items[child], scores[child + 1], items[child + 1]):
            child += 1
        if not comes_before(score, i, scores[child], items[child]):
            break
        scores[at] = scores[child]
        items[at] = items[child]
        at = child
    scores[at] = score
    items[at] = i


@compiled
def offer(score, i, n, scores, items):
    """Keep item i if it is among the best that there is room for; returns how many there are now, n before."""
    if n == len(items):
        if n > 0 and comes_before(score, i, scores[0], items[0]):
            sink(score, i, n, scores, items)
        return n
    at = n
    while at > 0:
        parent = (at - 1) >> 1
        if not comes_before(scores[parent], items[parent], score, i):
            break
        scores[at] = scores[parent]
        items[at] = items[parent]
        at = parent
    scores[at] = score
    items[at] = i
    return n + 1


@compiled
def sort_best_first(n, scores, items):
    """Sort the n that were kept."""
    for last in range(n - 1, 0, -1):
        score = scores[last]
        i = items[last]
        scores[last] = scores[0]
        items[last] = items[0]
        sink(score, i, last, scores, items)
