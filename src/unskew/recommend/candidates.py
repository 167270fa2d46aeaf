"""The best of many candidates, kept in a heap; compiled with numba, for the loops of the recommenders.

The heap is the first n of two arrays, `scores` and `items`, with the last of the best on top. (Arrays are handed
to these small functions one by one: taken out of a tuple at each call they would be counted each time.)

The rules of `unskew.arrays.kernels` hold for these loops too: each works on one block ``lo <= . < hi`` of items,
of profiles or of held-out pairs, offsets and items are unsigned, arrays that belong together come as one named
tuple, and an argument that may be None is decided at compile time. Scratch arrays as long as the items come in as
zeros and are left as zeros.

Scores are multiples of one small power of two (see `measure_similarity` in `unskew.recommend.knn_kernels`), so
that they add up without rounding: a sum does not depend on its order, a part can be subtracted again, and equal
means equal. Equal scores are ordered by code, which is by id (see `unskew.recommend.contract`).
"""
# mypy: disallow-untyped-defs=False

from __future__ import annotations

from unskew.arrays.compiling import compiled

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
