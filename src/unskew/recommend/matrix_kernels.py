"""Ranks and lists from blocks of scores, compiled with numba; see `unskew.recommend.candidates` for the rules."""
# mypy: disallow-untyped-defs=False

from __future__ import annotations

import numpy as np

from unskew.arrays.compiling import compiled
from unskew.recommend.candidates import offer, sort_best_first

STEP = 512
"""Columns that are counted before asking whether the rank can still be among the best k."""


@compiled
def list_best(scores, k, out):
    """The columns of the k highest scores in each row, ties by column; -inf and NaN never."""
    room = min(k, scores.shape[1])
    best = np.empty(room)
    columns = np.empty(room, dtype=np.uint32)
    for row in range(len(scores)):
        kept = 0
        for i in range(scores.shape[1]):
            score = float(scores[row, i])
            if score > -np.inf:
                kept = offer(score, i, kept, best, columns)
        sort_best_first(kept, best, columns)
        for t in range(kept):
            out[row, t] = columns[t]


@compiled
def count_ranks(scores, column, k, out):
    """The rank of one column in each row, ties by column; 0 if it is beyond k or never recommended."""
    n = scores.shape[1]
    for row in range(len(scores)):
        h = column[row]
        if h < 0 or not scores[row, h] > -np.inf:
            continue
        own = scores[row, h]
        ahead = first = 0
        while first < n and ahead < k:
            last = min(first + STEP, n)
            for i in range(first, min(last, h)):
                ahead += scores[row, i] >= own
            for i in range(max(first, h + 1), last):
                ahead += scores[row, i] > own
            first = last
        if ahead < k:
            out[row] = ahead + 1


@compiled
def multiply(left, right):
    """The inner product of two vectors in double precision, added from the first to the last."""
    total = 0.0
    for t in range(len(left)):
        total += float(left[t]) * float(right[t])
    return total


@compiled
def is_ahead(i, h, own, rough, doubt, vector, factors):
    """Whether column i comes before h: by a rough score if that is certain, else by the score itself."""
    if rough - doubt > own:
        return True
    if rough + doubt < own:
        return False
    score = multiply(vector, factors[i])
    return score > own or (score == own and i < h)


@compiled
def count_ranks_by_factors(rough, vectors, factors, doubt, column, row, start, profile, k, out):
    """The rank of one column for each of these vectors, by their inner products with the factors of columns.

    ``rough`` has the products in single precision, each within ``doubt[i] * |vector|`` of the right one: where
    that decides, it decides, and elsewhere the product is made again in double precision. So a rank does not
    depend on how a library has rounded. ``profile[start[r]:start[r + 1]]`` with r the `row` are the columns that
    do not count, that of the held-out item perhaps among them.
    """
    n = len(factors)
    for p in range(len(vectors)):
        h, r = column[p], row[p]
        vector, scores = vectors[p], rough[p]
        length = np.sqrt(multiply(vector, vector))
        if h < 0 or length == 0.0:
            continue
        own = multiply(vector, factors[h])
        most = k + start[r + 1] - start[r]
        ahead = first = 0
        while first < n and ahead < most:
            last = min(first + STEP, n)
            certain = possible = 0
            for i in range(first, last):
                score, near = float(scores[i]), doubt[i] * length
                certain += score - near > own
                possible += score + near >= own
            if certain == possible:
                ahead += certain
            else:
                for i in range(first, last):
                    ahead += i != h and is_ahead(i, h, own, float(scores[i]), doubt[i] * length, vector, factors)
            first = last
        for e in range(start[r], start[r + 1]):
            j = profile[e]
            if j != h and j < first:
                ahead -= is_ahead(j, h, own, float(scores[j]), doubt[j] * length, vector, factors)
        if ahead < k:
            out[p] = ahead + 1


@compiled
def fold_in_without(factors, base, confidence, start, profile, row, column, out):
    """The least squares vectors of profiles, each without one of its items; pairs of a row stand together.

    With more confidence c in what a profile holds its matrix is ``base + (c - 1) sum y y'``, its right side
    ``c sum y``. Without y the one loses ``(c - 1) y y'`` and the other ``c y``: if z solves the whole and w solves
    the same matrix for y, the solution becomes ``z - w (c - (c - 1) y'(z - c w) / (1 - (c - 1) y'w))``.
    """
    more = confidence - 1
    p = 0
    while p < len(row):
        r, last = row[p], p
        while last < len(row) and row[last] == r:
            last += 1
        held = factors[profile[start[r] : start[r + 1]]]
        sides = np.zeros((factors.shape[1], 1 + last - p))
        for j in range(len(held)):
            sides[:, 0] += confidence * held[j]
        for q in range(p, last):
            if column[q] >= 0:
                sides[:, 1 + q - p] = factors[column[q]]
        solved = np.linalg.solve(base + more * np.dot(held.T, held), sides)
        z = solved[:, 0].copy()
        for q in range(p, last):
            out[q] = z
            if column[q] >= 0:
                y, w = factors[column[q]], solved[:, 1 + q - p].copy()
                yw = multiply(y, w)
                out[q] -= w * (confidence - more * (multiply(y, z) - confidence * yw) / (1 - more * yw))
        p = last
