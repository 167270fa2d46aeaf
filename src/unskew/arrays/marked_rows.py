"""A copy of profiles of ever changing sizes whose passes cost less: rows end to end, their ends marked.

Where short rows have sizes in no order, as at any date but the last of a log, a loop over one row after another is
slow, most likely since the processor cannot foresee where a row ends. Here the rows of a block are one run of
entries: the last entry of a row has `LAST` set in its item code, and what happens at its end is arithmetic,
not a branch. A pass was measured to take about a third less time, and a block adds to it what
`unskew.arrays.kernels.add_block` adds, each sum in the same order: to the last bit.

The copy takes 4 bytes for each entry and 14 for each user, and the time of half a pass. After the entries come
`AHEAD` more codes of 0, since the loops ask for numbers so many entries ahead. It is for uniform P(i|u) alone.
"""
# mypy: disallow-untyped-defs=False

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from unskew.arrays.compiling import compiled, prefetch
from unskew.arrays.kernels import OVERFLOW, UNDERFLOW, add_row_shifted
from unskew.arrays.profiles import Profiles
from unskew.arrays.types import Floats, Items, Levels

LAST = np.uint32(2**31)
"""The bit of an item code that marks the last entry of a row."""

AHEAD = 128
"""How many entries ahead the loops ask. It stands in this file, since compiled code keeps the number that it was
compiled with until this file changes, and whoever makes room for the codes has to know it."""

_ITEM = np.uint32(2**31 - 1)
_BIT = np.uint32(31)
_ONE = np.uint64(1)
_AHEAD = np.uint64(AHEAD)


@compiled
def mark_rows(lo, hi, rows, code, users):
    """Copy the rows of the users ``lo <= u < hi`` end to end with their ends marked, and the users who have one.

    Returns the first row of the second half, and its first entry.
    """
    start, stop, item = rows.start, rows.stop, rows.item
    half = (np.uint64(len(code)) - _AHEAD) // np.uint64(2)
    n = np.uint64(0)
    k = np.uint64(0)
    row, entry = k, n
    for u in range(lo, hi):
        first = start[u]
        last = stop[u]
        if first == last:
            continue
        if n <= half:
            row, entry = k, n
        for e in range(first, last):
            code[n] = item[e]
            n += _ONE
        code[n - _ONE] |= LAST
        users[k] = u
        k += _ONE
    for _ in range(_AHEAD):
        code[n] = 0
        n += _ONE
    return row, entry


@compiled
def take_entry(e, k, total, highest, code, w, level, totals, levels):
    """Add entry e to what its row k has so far; returns the row of the next entry and what that has."""
    soon = np.uint64(code[e + _AHEAD] & _ITEM)
    prefetch(w, soon)
    if level is not None:
        prefetch(level, soon)
    i = code[e] & _ITEM
    is_last = code[e] >> _BIT
    total += w[i]
    totals[k] = total
    if level is not None:
        highest = max(highest, np.uint32(level[i]))
        levels[k] = highest
        highest &= is_last - np.uint32(1)  # 0 after the last
    return k + np.uint64(is_last), 0.0 if is_last else total, highest


@compiled
def sum_rows(code, row, entry, w, level, totals, levels):
    """The sum of the weights of each row and, with `level`, its highest level.

    Both halves of the rows in turn: each addition waits for the one before it, and there are two to wait for.
    """
    middle, end = np.uint64(entry), np.uint64(len(code)) - _AHEAD
    e1, k1, total1, highest1 = np.uint64(0), np.uint64(0), 0.0, np.uint32(0)
    e2, k2, total2, highest2 = middle, np.uint64(row), 0.0, np.uint32(0)
    for _ in range(min(middle, end - middle)):
        k1, total1, highest1 = take_entry(e1, k1, total1, highest1, code, w, level, totals, levels)
        k2, total2, highest2 = take_entry(e2, k2, total2, highest2, code, w, level, totals, levels)
        e1 += _ONE
        e2 += _ONE
    for e in range(e1, middle):
        k1, total1, highest1 = take_entry(e, k1, total1, highest1, code, w, level, totals, levels)
    for e in range(e2, end):
        k2, total2, highest2 = take_entry(e, k2, total2, highest2, code, w, level, totals, levels)


@compiled
def spread_shares(code, shares, sums):
    """Add the share of each row to the sums of its items."""
    k = np.uint64(0)
    for e in range(np.uint64(len(code)) - _AHEAD):
        prefetch(sums, np.uint64(code[e + _AHEAD] & _ITEM))
        sums[code[e] & _ITEM] += shares[k]
        k += np.uint64(code[e] >> _BIT)


@compiled
def count_extremes(totals):
    """How many rows have a sum of weights that is out of range."""
    n = 0
    for k in range(len(totals)):
        n += (totals[k] < UNDERFLOW) | (totals[k] > OVERFLOW)
    return n


class MarkedBlock(NamedTuple):
    """The rows of the users of a block."""

    code: Items  # item codes of all rows, the last of each row marked, and `AHEAD` more
    users: Items  # whose row it is
    # The first row of the second half, and its first entry.
    row: int
    entry: int
    # Scratch: a number for each row.
    shares: Floats
    highest: Levels


@compiled
def add_marked(block, rows, a, w, theta, level, sums, shifted, levels):
    """What the users of a block add to a pass; the outputs and the result are as in `add_block`."""
    users, shares, highest = block.users, block.shares, block.highest
    sums[:] = 0.0
    levels[:] = 0.0
    sum_rows(block.code, block.row, block.entry, w, level, shares, highest)
    if level is not None:
        for k in range(len(users)):
            levels[highest[k]] += 1.0 if a is None else a[users[k]]
    n_shifted = count_extremes(shares)
    if n_shifted > 0:
        shifted[:] = 0.0
        for k in range(len(users)):
            if shares[k] < UNDERFLOW or shares[k] > OVERFLOW:
                add_row_shifted(rows, a, None, users[k], theta, None, shifted)
                shares[k] = np.inf  # a share of 0, which changes no sum
    for k in range(len(users)):
        shares[k] = (1.0 if a is None else a[users[k]]) / shares[k]
    spread_shares(block.code, shares, sums)
    return n_shifted


_MANY_USERS = 50_000  # fewer, and a processor remembers from one pass to the next where rows end
_OFTEN = 0.25  # of the users have another number of items than the user before


def mark_block(profiles: Profiles, lo: int, hi: int) -> MarkedBlock:
    """A copy of the rows of the users ``lo <= u < hi``."""
    sizes = profiles.stop[lo:hi] - profiles.start[lo:hi]
    n_rows = int(np.count_nonzero(sizes))
    code = np.empty(int(sizes.sum(dtype=np.int64)) + AHEAD, np.uint32)
    users = np.empty(n_rows, np.uint32)
    row, entry = mark_rows(lo, hi, profiles.rows, code, users)
    return MarkedBlock(code, users, row, entry, np.empty(n_rows), np.empty(n_rows, np.uint16))


def is_worth_marking(profiles: Profiles) -> bool:
    """Whether passes over these profiles can use such a copy, and are faster with it."""
    if profiles.b is not None or profiles.n_items > int(LAST) or profiles.n_users < _MANY_USERS:
        return False
    return int(np.count_nonzero(np.diff(profiles.sizes()))) > _OFTEN * profiles.n_users
