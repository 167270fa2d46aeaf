"""Rows of users, items and times, gathered into profiles: each item of a user once, at its earliest time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from unskew.arrays.folding_kernels import count_rows, fold_rows, gather_rows, order_rows
from unskew.arrays.types import Codes, Times


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
    """Gather rows by user and fold repeats; codes run from 0 to `users` and to `items`. On one thread."""
    sizes = np.zeros(users, dtype=np.int64)
    for part in parts:
        count_rows(part.user, sizes)
    start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    place, total = start[:-1].copy(), int(start[-1])
    item = np.empty(total, dtype=np.int32)
    time = np.empty(total, dtype=parts[0].time.dtype)
    for part in parts:
        gather_rows(part.user, part.item, part.time, place, item, time)
    last, counts = np.full(items, -1, dtype=np.int64), np.zeros(items, dtype=np.int64)
    fold_rows(start, item, time, last, sizes, counts)
    return Folded(start, sizes, item, time, counts)


def unfold(folded: Folded) -> Rows:
    """The rows that are left after folding."""
    sizes = folded.sizes
    user = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
    place = np.arange(len(user)) + np.repeat(folded.start[:-1] - np.cumsum(sizes) + sizes, sizes)
    return Rows(user, folded.item[place], folded.time[place])


class ProfileWriter:
    """Profiles in a new order of users and items, from rows that were folded all at once or in groups of users.

    Parameters
    ----------
    users, items
        ``users[k]`` and ``items[k]`` are the codes that become k.
    sizes
        How many items each user has, by code.
    n_items
        How many codes of items there are.
    time
        The type of times.
    groups
        Into how many groups users fall, by the remainder of their code; at most 256.
    """

    def __init__(
        self, users: Codes, items: Codes, sizes: Codes, n_items: int, time: np.dtype[Any], groups: int = 1
    ) -> None:
        self._start = np.concatenate([[0], np.cumsum(sizes[users])]).astype(np.int64)
        self._rank = np.zeros(n_items, dtype=np.uint32)
        self._rank[items] = np.arange(len(items), dtype=np.uint32)
        self._item = np.empty(int(self._start[-1]), dtype=np.uint32)
        self._time: Times = np.empty(len(self._item), dtype=time)
        group = (users % groups).astype(np.uint8)
        places = np.argsort(group, kind="stable")
        self._edges = np.concatenate([[0], np.cumsum(np.bincount(group, minlength=groups))])
        self._order, self._begin = users[places] // groups, self._start[places]

    def write(self, folded: Folded, group: int = 0) -> None:
        """Put the profiles of a group in their place; `folded` has the code ``group + groups * u`` as user u."""
        mine = slice(self._edges[group], self._edges[group + 1])
        order_rows(
            self._order[mine],
            folded.start,
            folded.sizes,
            folded.item,
            folded.time,
            self._rank,
            self._begin[mine],
            self._item,
            self._time,
        )

    def finish(self) -> Ordered:
        return Ordered(self._start, self._item, self._time)


def order(folded: Folded, users: Codes, items: Codes) -> Ordered:
    """Profiles in a new order of users and items: `users[k]` and `items[k]` are the codes that become k."""
    writer = ProfileWriter(users, items, folded.sizes, len(folded.counts), folded.time.dtype)
    writer.write(folded)
    return writer.finish()
