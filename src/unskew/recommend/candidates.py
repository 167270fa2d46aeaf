"""Loops that the recommenders share, and those of popularity, compiled with numba: arrays in, arrays out.

Those of the neighbours and of EASE are in files of their own.

As in `unskew.arrays.kernels`: each works on one block ``lo <= . < hi`` of items, of profiles or of held-out pairs,
offsets and items are unsigned, and an argument that may be None is decided at compile time. Scratch arrays
as long as the items come in as zeros and are left as zeros.

Scores are multiples of one small power of two (see `similarity` in `unskew.recommend.knn_kernels`), so that they
add up without rounding: a sum does not depend on its order, a part can be subtracted again, and equal means equal.
"""
# mypy: disallow-untyped-defs=False

from __future__ import annotations

import numpy as np

from unskew.arrays.compiling import compiled


@compiled
def before(score, i, other_score, j):
    """Whether item i comes before j: by score, then by code, which follows the ids."""
    return score > other_score or (score == other_score and i < j)


@compiled
def sunk(n, score, i, scores, items):
    """Put item i into the place of the last of n: `scores` and `items` are a heap with the last on top."""
    at = 0
    while True:
        child = 2 * at + 1
        if child >= n:
            break
        if child + 1 < n and before(scores[child], items[child], scores[child + 1], items[child + 1]):
            child += 1
        if not before(score, i, scores[child], items[child]):
            break
        scores[at] = scores[child]
        items[at] = items[child]
        at = child
    scores[at] = score
    items[at] = i


@compiled
def offered(score, i, n, most, scores, items):
    """Keep item i if it is among the best `most`; returns how many there are now, n before."""
    if n == most:
        if n > 0 and before(score, i, scores[0], items[0]):
            sunk(n, score, i, scores, items)
        return n
    at = n
    while at > 0:
        parent = (at - 1) >> 1
        if not before(scores[parent], items[parent], score, i):
            break
        scores[at] = scores[parent]
        items[at] = items[parent]
        at = parent
    scores[at] = score
    items[at] = i
    return n + 1


@compiled
def best_first(n, scores, items):
    """Sort the n that were kept."""
    for last in range(n - 1, 0, -1):
        score = scores[last]
        i = items[last]
        scores[last] = scores[0]
        items[last] = items[0]
        sunk(last, score, i, scores, items)


@compiled
def holders(start, stop, item, place, holder, together):
    """Write who holds item i to `holder` from ``place[i]`` on, in the order of users; `place` moves along.

    Adds to ``together[i]`` the sizes of their profiles: the work that row i of the co-occurrences takes.
    """
    for u in range(len(stop)):
        n = np.int64(stop[u]) - np.int64(start[u])
        for e in range(start[u], stop[u]):
            i = item[e]
            holder[place[i]] = u
            place[i] += np.uint64(1)
            together[i] += n


@compiled
def popular_ranks(lo, hi, user, held, start, stop, item, key, held_key, ahead, k, out):
    """The rank of held-out items by popularity: those ahead of it, less those that the profile holds."""
    for p in range(lo, hi):
        h = held[p]
        rank = ahead[h] + 1
        if rank <= 0:
            continue
        u = user[p]
        mine = held_key[h]
        for e in range(start[u], stop[u]):
            j = item[e]
            if j != h and key[j] < mine:
                rank -= 1
        if rank <= k:
            out[p] = rank


@compiled
def popular_best(lo, hi, start, item, best, k, mine, out):
    """The first k of `best` that are not in the profile."""
    for p in range(lo, hi):
        for e in range(start[p], start[p + 1]):
            mine[item[e]] = p + 1
        n = 0
        for i in best:
            if n == k:
                break
            if mine[i] != p + 1:
                out[p, n] = i
                n += 1
