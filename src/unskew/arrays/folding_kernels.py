"""The loops that turn rows into profiles: gather by user, fold repeats, order by time. Compiled with numba.

Rows come in any order as codes of users, codes of items and ticks.
"""
# mypy: disallow-untyped-defs=False

from __future__ import annotations

import numpy as np

from unskew.arrays.compiling import compiled

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

    `sizes` tells how many are left, `counts` how many users hold each item. `last` is where an item was last put:
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
