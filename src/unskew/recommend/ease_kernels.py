"""The loops of EASE, compiled with numba; see `unskew.recommend.candidates` for the rules."""
# mypy: disallow-untyped-defs=False

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from unskew.arrays.compiling import compiled
from unskew.arrays.types import Codes
from unskew.recommend.candidates import offer, sort_best_first


class LinearModel(NamedTuple):
    """The matrix B over the modelled items, by ascending code; ``place[i]`` is the row of item i, or -1."""

    modelled: Codes
    place: Codes
    matrix: npt.NDArray[Any]


@compiled
def count_together(lo, hi, holders, profiles, model):
    """Rows of the co-occurrence counts of the modelled items."""
    start, stop, item = profiles.start, profiles.stop, profiles.item
    holder_start, holder = holders.start, holders.user
    modelled, place, out = model.modelled, model.place, model.matrix
    for row in range(lo, hi):
        j = modelled[row]
        for at in range(holder_start[j], holder_start[j + 1]):
            u = holder[at]
            for e in range(start[u], stop[u]):
                column = place[item[e]]
                if column >= 0:
                    out[row, column] += 1


@compiled
def mirror(lo, hi, matrix):
    """Copy what is above the diagonal to below it."""
    for row in range(lo, hi):
        for column in range(row):
            matrix[row, column] = matrix[column, row]


@compiled
def turn_into_weights(lo, hi, matrix, diagonal):
    """From the inverse P to ``B = -P / diag(P)`` by columns, the diagonal 0; returns the largest ``|B|``."""
    largest = 0.0
    for row in range(lo, hi):
        for column in range(matrix.shape[1]):
            x = -matrix[row, column] / diagonal[column]
            if row == column:
                x = 0.0
            matrix[row, column] = x
            largest = max(largest, abs(float(x)))
    return largest


@compiled
def round_to(lo, hi, matrix, unit):
    """Round to multiples of `unit`."""
    for row in range(lo, hi):
        for column in range(matrix.shape[1]):
            matrix[row, column] = np.rint(matrix[row, column] / unit) * unit


@compiled
def recommend_by_rows(lo, hi, profiles, model, k, totals, mine, out):
    """The k modelled items of highest sum of rows over the profile, without what the profile holds."""
    start, stop, item = profiles.start, profiles.stop, profiles.item
    modelled, place, weights = model.modelled, model.place, model.matrix
    n = len(modelled)
    room = min(k, n)
    scores = np.empty(room)
    items = np.empty(room, dtype=np.uint32)
    for p in range(lo, hi):
        totals[:] = 0.0
        for e in range(start[p], stop[p]):
            j = place[item[e]]
            if j >= 0:
                mine[j] = True
                for i in range(n):
                    totals[i] += weights[j, i]
        kept = 0
        for i in range(n):
            if not mine[i]:
                kept = offer(totals[i], i, kept, scores, items)
        sort_best_first(kept, scores, items)
        for t in range(kept):
            out[p, t] = modelled[items[t]]
        for e in range(start[p], stop[p]):
            j = place[item[e]]
            if j >= 0:
                mine[j] = False


@compiled
def rank_by_rows(lo, hi, pairs, profiles, model, k, totals, out):
    """The rank of held-out items by the sum of rows over the rest of the profile."""
    user, held = pairs.user, pairs.item
    start, stop, item = profiles.start, profiles.stop, profiles.item
    place, weights = model.place, model.matrix
    n = len(totals)
    p = lo
    while p < hi:
        u = user[p]
        totals[:] = 0.0
        for e in range(start[u], stop[u]):
            j = place[item[e]]
            if j >= 0:
                for i in range(n):
                    totals[i] += weights[j, i]
        while p < hi and user[p] == u:
            h = place[held[p]]
            if h >= 0:
                score = totals[h]
                row = weights[h]
                rest = totals[h + 1 :]
                row_rest = row[h + 1 :]
                ahead = 0
                for i in range(h):
                    ahead += totals[i] - row[i] >= score
                for i in range(len(rest)):
                    ahead += rest[i] - row_rest[i] > score
                for e in range(start[u], stop[u]):
                    j = place[item[e]]
                    if j >= 0 and j != h:
                        x = totals[j] - row[j]
                        ahead -= x > score or (x == score and j < h)
                if ahead < k:
                    out[p] = ahead + 1
            p += 1
