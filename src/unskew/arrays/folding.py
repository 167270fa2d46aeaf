"""Rows of users, items and times, gathered into profiles: each item of a user once, at its earliest time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from unskew.arrays.blocks import over_blocks
from unskew.arrays.folding_kernels import count_rows, fold_rows, gather_rows, order_rows
from unskew.arrays.types import Codes, Times

_BLOCKS = 16  # of users; each looks at all rows, and writes to a part of memory that is smaller by as much


class Rows(NamedTuple):
    """Some rows, in any order."""

    user: npt.NDArray[np.int32]
    item: npt.NDArray[np.int32]
    time: Times


class Folded(NamedTuple):
    """Rows gathered by user without repeats: those of u are ``[start[u], start[u] + sizes[u])``.

    `counts` says how many users hold each item.
    """

    start: Codes
    sizes: Codes
    item: npt.NDArray[np.int32]
    time: Times
    counts: Codes


class Ordered(NamedTuple):
    """Profiles one after the other, each in the order of time."""

    start: Codes
    item: npt.NDArray[np.uint32]
    time: Times


def fold(parts: Sequence[Rows], users: int, items: int) -> Folded:
    """Gather rows by user and fold repeats; codes run from 0 to `users` and to `items`."""
    sizes = np.zeros(users, dtype=np.int64)
    for part in parts:
        count_rows(part.user, sizes)
    start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    place, total = start[:-1].copy(), int(start[-1])
    item = np.empty(total, dtype=np.int32)
    time = np.empty(total, dtype=parts[0].time.dtype)

    def gather(_: int, lo: int, hi: int) -> npt.NDArray[np.int64]:
        for part in parts:
            gather_rows(lo, hi, part.user, part.item, part.time, place, item, time)
        last, counts = np.full(items, -1, dtype=np.int64), np.zeros(items, dtype=np.int64)
        fold_rows(lo, hi, start, item, time, last, sizes, counts)
        return counts

    counts = over_blocks(_cut(start), total, gather)
    return Folded(start, sizes, item, time, np.sum(counts, axis=0))


class ProfileWriter:
    """Profiles in a new order of users and items, from rows that were folded all at once or some users at a time.

    ``users[k]`` and ``items[k]`` are the codes that become k; `sizes` says how many items each user has.
    """

    def __init__(self, users: Codes, items: Codes, sizes: Codes, n_items: int, time: np.dtype[Any]) -> None:
        self._users = users
        self._start = np.concatenate([[0], np.cumsum(sizes[users])]).astype(np.int64)
        self._rank = np.zeros(n_items, dtype=np.uint32)
        self._rank[items] = np.arange(len(items), dtype=np.uint32)
        self._item = np.empty(int(self._start[-1]), dtype=np.uint32)
        self._time: Times = np.empty(len(self._item), dtype=time)

    def write(self, folded: Folded, step: int = 1, first: int = 0) -> None:
        """Put profiles in their place: those of the codes ``first + step * k``, which `folded` has as k."""
        places = np.arange(len(self._users)) if step == 1 else np.flatnonzero(self._users % step == first)
        order, begin = self._users[places] // step, self._start[places]

        def write(_: int, lo: int, hi: int) -> None:
            order_rows(
                lo,
                hi,
                order,
                folded.start,
                folded.sizes,
                folded.item,
                folded.time,
                self._rank,
                begin,
                self._item,
                self._time,
            )

        sizes = folded.sizes[order]
        edges = _cut(np.concatenate([[0], np.cumsum(sizes)]))
        over_blocks(edges, int(sizes.sum()), write)

    def finish(self) -> Ordered:
        return Ordered(self._start, self._item, self._time)


def order(folded: Folded, users: Codes, items: Codes) -> Ordered:
    """Profiles in a new order of users and items: `users[k]` and `items[k]` are the codes that become k."""
    writer = ProfileWriter(users, items, folded.sizes, len(folded.counts), folded.time.dtype)
    writer.write(folded)
    return writer.finish()


def _cut(start: Codes) -> Codes:
    """Where to cut users into blocks of about as many rows."""
    wanted = np.linspace(0, start[-1], _BLOCKS + 1)[1:-1]
    return np.concatenate([[0], np.searchsorted(start, wanted), [len(start) - 1]]).astype(np.int64)
