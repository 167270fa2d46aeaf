"""Ranks and lists from blocks of scores, compiled with numba; see `unskew.recommend.candidates` for the rules."""
# mypy: disallow-untyped-defs=False

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from unskew.arrays.compiling import compiled
from unskew.arrays.types import Codes, Floats
from unskew.recommend.candidates import STEP, offer, sort_best_first


class ItemFactors(NamedTuple):
    """The factors of columns, and how far a rough product with each is off at most, as a part of ``|vector|``."""

    factors: npt.NDArray[Any]
    doubt: Floats


class ProfileRows(NamedTuple):
    """The columns that profiles hold: row r is ``profile[start[r]:start[r + 1]]``."""

    start: Codes
    profile: npt.NDArray[Any]


class Vectors(NamedTuple):
    """One vector for each held-out item.

    Attributes
    ----------
    vectors, rough
        The vectors, and their products with the factors of every column in single precision.
    column, row
        The column of the held-out item, or -1, and the row of the profile.
    """

    vectors: Floats
    rough: npt.NDArray[Any]
    column: Codes
    row: Codes


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
def find_empty_rows(scores, out):
    """Mark rows in which nothing may be recommended."""
    for row in range(len(scores)):
        out[row] = True
        for i in range(scores.shape[1]):
            if scores[row, i] > -np.inf:
                out[row] = False
                break


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
def count_ranks_by_factors(asked, items, profiles, k, out):
    """The rank of one column for each of these vectors, by their inner products with the factors of columns.

    ``rough`` has the products in single precision, each within ``doubt[i] * |vector|`` of the right one: where
    that decides, it decides, and elsewhere the product is made again in double precision. So a rank does not
    depend on how a library has rounded. What the profile holds does not count; the held-out item may be part of
    it.
    """
    vectors, rough, column, row = asked.vectors, asked.rough, asked.column, asked.row
    factors, doubt = items.factors, items.doubt
    start, profile = profiles.start, profiles.profile
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
            certain = 0
            possible = -1 if first <= h < last else 0  # h itself is never certain
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
def solve_each(held, single, base, more):
    """The solutions of ``base + more sum y y'`` for each y of `held`, where `single` are those of `base`.

    By Woodbury's formula a profile of fewer items than factors needs a system of its own size only.
    """
    m, f = held.shape
    if m < f:
        small = more * np.dot(held, single.T)
        for j in range(m):
            small[j, j] += 1.0
        return np.linalg.solve(small.T, single)
    return np.linalg.solve(base + more * np.dot(held.T, held), held.T).T


@compiled
def fold_in_without(factors, single, base, confidence, start, profile, row, column, out):
    """The least squares vectors of profiles, each without one of its items, or whole where that is -1.

    With confidence c in what a profile holds its matrix is ``base + (c - 1) sum y y'``, its right side
    ``c sum y``. Without y the one loses ``(c - 1) y y'`` and the other ``c y``: if z solves the whole and w solves
    the same matrix for y, the solution becomes ``z - w (c - (c - 1) y'(z - c w) / (1 - (c - 1) y'w))``. Pairs of a
    row stand together.
    """
    more = confidence - 1
    z = np.zeros(factors.shape[1])
    solved = np.zeros((0, factors.shape[1]))
    for p in range(len(row)):
        own = profile[start[row[p]] : start[row[p] + 1]]
        if p == 0 or row[p] != row[p - 1]:
            solved = np.ascontiguousarray(solve_each(factors[own], single[own], base, more))
            z[:] = 0.0
            for j in range(len(own)):
                z += confidence * solved[j]
        out[p] = z
        for j in range(len(own)):
            if own[j] == column[p]:
                y, w = factors[own[j]], solved[j]
                yw = multiply(y, w)
                out[p] -= w * (confidence - more * (multiply(y, z) - confidence * yw) / (1 - more * yw))
