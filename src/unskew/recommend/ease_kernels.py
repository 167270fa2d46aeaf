"""The loops of EASE, compiled with numba; see `unskew.recommend.candidates` for the rules."""
# mypy: disallow-untyped-defs=False

from __future__ import annotations

import numpy as np

from unskew.arrays.compiling import compiled
from unskew.recommend.candidates import best_first, offered


@compiled
def gram(lo, hi, modelled, holder_start, holder, start, stop, item, place, out):
    """Rows of the co-occurrence counts of the modelled items; ``place[i]`` is a row and column, or -1."""
    for row in range(lo, hi):
        j = modelled[row]
        for at in range(holder_start[j], holder_start[j + 1]):
            u = holder[at]
            for e in range(start[u], stop[u]):
                column = place[item[e]]
                if column >= 0:
                    out[row, column] += 1


@compiled
def mirrored(lo, hi, matrix):
    """Copy what is above the diagonal to below it."""
    for row in range(lo, hi):
        for column in range(row):
            matrix[row, column] = matrix[column, row]


@compiled
def ease_weights(lo, hi, matrix, diagonal):
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
def rounded(lo, hi, matrix, unit):
    """Round to multiples of `unit`."""
    for row in range(lo, hi):
        for column in range(matrix.shape[1]):
            matrix[row, column] = np.rint(matrix[row, column] / unit) * unit


@compiled
def ease_best(lo, hi, start, item, place, modelled, weights, k, totals, mine, out):
    """The k modelled items of highest sum of rows over the profile, without what the profile holds."""
    n = len(modelled)
    scores = np.empty(min(k, n))
    items = np.empty(len(scores), dtype=np.uint32)
    for p in range(lo, hi):
        totals[:] = 0.0
        for e in range(start[p], start[p + 1]):
            j = place[item[e]]
            if j >= 0:
                mine[j] = True
                for i in range(n):
                    totals[i] += weights[j, i]
        kept = 0
        for i in range(n):
            if not mine[i]:
                kept = offered(totals[i], i, kept, len(scores), scores, items)
        best_first(kept, scores, items)
        for t in range(kept):
            out[p, t] = modelled[items[t]]
        for e in range(start[p], start[p + 1]):
            j = place[item[e]]
            if j >= 0:
                mine[j] = False


@compiled
def ease_ranks(lo, hi, user, held, start, stop, item, place, weights, k, totals, out):
    """The rank of held-out items by the sum of rows over the rest of the profile; places follow the codes."""
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
