"""The loops of the item neighbours, compiled with numba; see `unskew.recommend.candidates` for the rules."""
# mypy: disallow-untyped-defs=False

from __future__ import annotations

import numpy as np

from unskew.arrays.compiling import compiled
from unskew.recommend.candidates import before, best_first, offered

COSINE, JACCARD, COOCCURRENCE = 0, 1, 2


@compiled
def similarity(kind, together, mine, other, unit):
    """How alike two items are, from how many users hold both, the one and the other; a multiple of `unit`.

    Items that nobody holds together have 0, all others at least one unit. It never grows when one user
    gives the other item back (one less together, one less of the other).
    """
    if together <= 0:
        return 0.0
    x = float(together)
    if kind == COSINE:
        x /= np.sqrt(float(mine) * float(other))
    elif kind == JACCARD:
        x /= float(mine) + float(other) - x
    return max(np.rint(x / unit), 1.0) * unit


@compiled
def neighbour_rows(
    lo,
    hi,
    holder_start,
    holder,
    start,
    stop,
    item,
    count,
    value,
    scale,
    kind,
    unit,
    most,
    row_start,
    row_stop,
    row_item,
    row_score,
    row_together,
    sums,
    touched,
):
    """The `most` items most alike to each item j, best first, from ``row_start[j]`` up to ``row_stop[j]``.

    With `value` (of users) and `scale` (of items) the likeness is ``scale_i scale_j sum_u value_u`` over the users
    who hold both; else `similarity` by `kind`, and the number of these users is kept in `row_together`.
    """
    for j in range(lo, hi):
        n = 0
        for at in range(holder_start[j], holder_start[j + 1]):
            u = holder[at]
            if value is not None and value[u] == 0.0:
                continue
            for e in range(start[u], stop[u]):
                i = item[e]
                if sums[i] == 0:
                    touched[n] = i
                    n += 1
                sums[i] += 1 if value is None else value[u]
        first = row_start[j]
        last = row_start[j + 1]
        scores = row_score[first:last]
        items = row_item[first:last]
        kept = 0
        for t in range(n):
            i = touched[t]
            if i == j:
                continue
            if value is None:
                score = similarity(kind, sums[i], count[j], count[i], unit)
            else:
                score = max(np.rint(sums[i] * scale[j] * scale[i] / unit), 1.0) * unit
            kept = offered(score, i, kept, most, scores, items)
        best_first(kept, scores, items)
        row_stop[j] = first + np.uint64(kept)
        if row_together is not None:
            for r in range(first, row_stop[j]):
                row_together[r] = sums[row_item[r]]
        for t in range(n):
            sums[touched[t]] = 0


@compiled
def knn_best(lo, hi, start, item, row_start, row_cut, row_item, row_score, k, totals, mine, touched, out):
    """The k items of highest sum of rows over the profile, without what the profile holds."""
    scores = np.empty(min(k, len(totals)))
    items = np.empty(len(scores), dtype=np.uint32)
    for p in range(lo, hi):
        n = 0
        for e in range(start[p], start[p + 1]):
            j = item[e]
            mine[j] = True
            for r in range(row_start[j], row_cut[j]):
                i = row_item[r]
                if totals[i] == 0.0:
                    touched[n] = i
                    n += 1
                totals[i] += row_score[r]
        kept = 0
        for t in range(n):
            i = touched[t]
            if not mine[i]:
                kept = offered(totals[i], i, kept, len(scores), scores, items)
            totals[i] = 0.0
        best_first(kept, scores, items)
        for t in range(kept):
            out[p, t] = items[t]
        for e in range(start[p], start[p + 1]):
            mine[item[e]] = False


@compiled
def knn_ranks(
    lo,
    hi,
    user,
    held,
    start,
    stop,
    item,
    row_start,
    row_cut,
    row_stop,
    row_item,
    row_score,
    row_together,
    count,
    kind,
    unit,
    most,
    k,
    totals,
    raised,
    mine,
    touched,
    head,
    step,
    out,
):
    """The rank of held-out items by the sum of rows over the rest of the profile.

    A user's sums over the whole profile are made once, and its best `most` candidates sorted (k and as many more
    as a row is long). To hold out h changes few of them: those in row h lose that part; and with `row_together`,
    where the pair is taken out of the counts as well, h stands lower in the rows j of the profile, or falls out
    of row j, to which then ``row_item[row_cut[j]]`` moves up. So a rank is found by one search in the sorted
    candidates and a correction for each that changed.

    `step` is scratch for the places of profile items in rows of profile items: of each, the row it is in, where,
    and the next place of the same item; ``head[i]`` is the first, counted from 1.
    """
    scores = np.empty(most)
    items = np.empty(most, dtype=np.uint32)
    moved = np.empty(len(totals) if row_together is not None else 0, dtype=np.uint32)
    p = lo
    while p < hi:
        u = user[p]
        first = start[u]
        last = stop[u]
        for e in range(first, last):
            mine[item[e]] = True
        n = 0
        steps = 0
        for e in range(first, last):
            j = item[e]
            for r in range(row_start[j], row_cut[j]):
                i = row_item[r]
                if totals[i] == 0.0:
                    touched[n] = i
                    n += 1
                totals[i] += row_score[r]
                if row_together is not None and mine[i]:
                    step[steps, 0] = j
                    step[steps, 1] = r
                    step[steps, 2] = head[i]
                    steps += 1
                    head[i] = steps
        kept = 0
        for t in range(n):
            i = touched[t]
            if not mine[i]:
                kept = offered(totals[i], i, kept, most, scores, items)
        best_first(kept, scores, items)
        while p < hi and user[p] == u:
            h = held[p]
            score = 0.0
            moves = 0
            if row_together is None:
                score = totals[h]
            else:
                at = head[h]
                while at > 0:
                    j = step[at - 1, 0]
                    r = step[at - 1, 1]
                    at = step[at - 1, 2]
                    less = similarity(kind, np.int64(row_together[r]) - 1, count[j], count[h] - 1, unit)
                    spare = row_cut[j]
                    if spare == row_stop[j] or before(less, h, row_score[spare], row_item[spare]):
                        score += less
                    elif not mine[row_item[spare]]:
                        i = row_item[spare]
                        if raised[i] == 0.0:
                            moved[moves] = i
                            moves += 1
                        raised[i] += row_score[spare]
            low = 0
            high = kept
            while low < high:
                middle = (low + high) >> 1
                if before(scores[middle], items[middle], score, h):
                    low = middle + 1
                else:
                    high = middle
            ahead = low
            if score > 0.0 and ahead < k + np.int64(row_cut[h] - row_start[h]):
                for r in range(row_start[h], row_cut[h]):
                    i = row_item[r]
                    if not mine[i]:
                        total = totals[i]
                        ahead -= before(total, i, score, h)
                        ahead += before(total - row_score[r] + raised[i], i, score, h)
                        raised[i] = 0.0
                for t in range(moves):
                    i = moved[t]
                    if raised[i] > 0.0:
                        total = totals[i]
                        ahead -= before(total, i, score, h)
                        ahead += before(total + raised[i], i, score, h)
                if ahead < k:
                    out[p] = ahead + 1
            for t in range(moves):
                raised[moved[t]] = 0.0
            p += 1
        for t in range(n):
            totals[touched[t]] = 0.0
        for e in range(first, last):
            mine[item[e]] = False
            head[item[e]] = 0
