"""The loops of the recommenders, compiled with numba: arrays in, arrays out, nothing else.

As in `unskew.kernels`: each works on one block ``lo <= . < hi`` of items, of profiles or of held-out pairs,
offsets and items are unsigned, and an argument that may be None is decided at compile time. Scratch arrays
as long as the items come in as zeros and are left as zeros.

Scores are multiples of one small power of two (see `similarity`), so that they add up without rounding: a sum does
not depend on its order, a part can be subtracted again, and equal means equal.
"""
# mypy: disallow-untyped-defs=False

from __future__ import annotations

import numpy as np

from unskew.kernels import compiled

COSINE, JACCARD, COOCCURRENCE = 0, 1, 2


@compiled
def before(score, i, other_score, j, order):
    """Whether item i comes before j: by score, then by `order`."""
    return score > other_score or (score == other_score and order[i] < order[j])


@compiled
def sunk(n, score, i, scores, items, order):
    """Put item i into the place of the last of n: `scores` and `items` are a heap with the last on top."""
    at = 0
    while True:
        child = 2 * at + 1
        if child >= n:
            break
        if child + 1 < n and before(scores[child], items[child], scores[child + 1], items[child + 1], order):
            child += 1
        if not before(score, i, scores[child], items[child], order):
            break
        scores[at] = scores[child]
        items[at] = items[child]
        at = child
    scores[at] = score
    items[at] = i


@compiled
def offered(score, i, n, most, scores, items, order):
    """Keep item i if it is among the best `most`; returns how many there are now, n before."""
    if n == most:
        if n > 0 and before(score, i, scores[0], items[0], order):
            sunk(n, score, i, scores, items, order)
        return n
    at = n
    while at > 0:
        parent = (at - 1) >> 1
        if not before(scores[parent], items[parent], score, i, order):
            break
        scores[at] = scores[parent]
        items[at] = items[parent]
        at = parent
    scores[at] = score
    items[at] = i
    return n + 1


@compiled
def best_first(n, scores, items, order):
    """Sort the n that were kept."""
    for last in range(n - 1, 0, -1):
        score = scores[last]
        i = items[last]
        scores[last] = scores[0]
        items[last] = items[0]
        sunk(last, score, i, scores, items, order)


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
    order,
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
            kept = offered(score, i, kept, most, scores, items, order)
        best_first(kept, scores, items, order)
        row_stop[j] = first + np.uint64(kept)
        if row_together is not None:
            for r in range(first, row_stop[j]):
                row_together[r] = sums[row_item[r]]
        for t in range(n):
            sums[touched[t]] = 0


@compiled
def knn_best(lo, hi, start, item, row_start, row_cut, row_item, row_score, order, k, totals, mine, touched, out):
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
                kept = offered(totals[i], i, kept, len(scores), scores, items, order)
            totals[i] = 0.0
        best_first(kept, scores, items, order)
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
    order,
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
                kept = offered(totals[i], i, kept, most, scores, items, order)
        best_first(kept, scores, items, order)
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
                    if spare == row_stop[j] or before(less, h, row_score[spare], row_item[spare], order):
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
                if before(scores[middle], items[middle], score, h, order):
                    low = middle + 1
                else:
                    high = middle
            ahead = low
            if score > 0.0 and ahead < k + np.int64(row_cut[h] - row_start[h]):
                for r in range(row_start[h], row_cut[h]):
                    i = row_item[r]
                    if not mine[i]:
                        total = totals[i]
                        ahead -= before(total, i, score, h, order)
                        ahead += before(total - row_score[r] + raised[i], i, score, h, order)
                        raised[i] = 0.0
                for t in range(moves):
                    i = moved[t]
                    if raised[i] > 0.0:
                        total = totals[i]
                        ahead -= before(total, i, score, h, order)
                        ahead += before(total + raised[i], i, score, h, order)
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
def ease_best(lo, hi, start, item, place, modelled, weights, order, k, totals, mine, out):
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
                kept = offered(totals[i], i, kept, len(scores), scores, items, order)
        best_first(kept, scores, items, order)
        for t in range(kept):
            out[p, t] = modelled[items[t]]
        for e in range(start[p], start[p + 1]):
            j = place[item[e]]
            if j >= 0:
                mine[j] = False


@compiled
def ease_ranks(lo, hi, user, held, start, stop, item, place, weights, k, totals, out):
    """The rank of held-out items by the sum of rows over the rest of the profile; places are in tie order."""
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
