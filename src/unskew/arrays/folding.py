"""Rows of users, items and times, gathered into profiles: each item of a user once, at its earliest time.

Rows come in any order as codes of users, codes of items and ticks. The loops come first, compiled with numba.
"""
# mypy: disallow-untyped-defs=False

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from unskew.arrays.compiling import compiled
from unskew.arrays.types import Codes, Times

_SHORT = 24  # up to so many entries inserting each in its place is the fastest way to sort


@compiled
def count_rows(user, counts):
    """Add to `counts` how many rows each user has."""
    for row in range(len(user)):
        counts[user[row]] += 1


@compiled
def gather_rows(user, item, time, place, items, times):
    """Copy rows to where `place` says that the next one of their user belongs."""
    for row in range(len(user)):
        u = user[row]
        k = place[u]
        items[k] = item[row]
        times[k] = time[row]
        place[u] = k + 1


@compiled
def fold_rows(start, items, times, last, sizes, counts):
    """Keep each item of a user once, at its earliest time, at the front of the user's rows.

    `sizes` tells how many are left, `counts` how many users have each item. `last` is where an item was last put:
    that this is one of the user's own rows says that the user has it already.
    """
    for u in range(len(sizes)):
        first = start[u]
        end = first
        for row in range(first, start[u + 1]):
            i = items[row]
            k = last[i]
            if first <= k < end:
                times[k] = min(times[k], times[row])
            else:
                items[end] = i
                times[end] = times[row]
                last[i] = end
                counts[i] += 1
                end += 1
        sizes[u] = end - first


@compiled
def order_rows(order, start, sizes, items, times, rank, begin, new_items, new_times):
    """Write profiles in a new order of users, items as their ranks, each profile by time and then by rank.

    The profile of ``order[u]`` is written from ``begin[u]`` on.
    """
    for u in range(len(order)):
        first = start[order[u]]
        n = sizes[order[u]]
        to = begin[u]
        if n > _SHORT:
            ranks = rank[items[first : first + n]]
            by_rank = np.argsort(ranks)
            by_time = np.argsort(times[first : first + n][by_rank], kind="mergesort")
            for k in range(n):
                entry = by_rank[by_time[k]]
                new_items[to + k] = ranks[entry]
                new_times[to + k] = times[first + entry]
            continue
        for k in range(n):
            i, t = rank[items[first + k]], times[first + k]
            at = to + k
            while at > to and (new_times[at - 1] > t or (new_times[at - 1] == t and new_items[at - 1] > i)):
                new_items[at] = new_items[at - 1]
                new_times[at] = new_times[at - 1]
                at -= 1
            new_items[at] = i
            new_times[at] = t


class Rows(NamedTuple):
    """Some rows, in any order."""

    user: npt.NDArray[np.int32]
    item: npt.NDArray[np.int32]
    time: Times


class Folded(NamedTuple):
    """Rows gathered by user without repeats: those of u are ``[start[u], start[u] + sizes[u])``.

    `counts` says how many users have each item.
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

    - `users`, `items`: ``users[k]`` and ``items[k]`` are the codes that become k.
    - `sizes`: how many items each user has, by code.
    - `n_items`: how many codes of items there are.
    - `time`: the type of times.
    - `groups`: into how many groups users fall, by the remainder of their code; at most 256.
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
        places = slice(self._edges[group], self._edges[group + 1])
        order_rows(
            self._order[places],
            folded.start,
            folded.sizes,
            folded.item,
            folded.time,
            self._rank,
            self._begin[places],
            self._item,
            self._time,
        )

    def finish(self) -> Ordered:
        return Ordered(self._start, self._item, self._time)
