"""The loops of the item neighbours, compiled with numba; see `unskew.recommend.candidates` for the rules."""
# mypy: disallow-untyped-defs=False

from __future__ import annotations

import numpy as np

from unskew.arrays.compiling import compiled
from unskew.recommend.candidates import comes_before, offer, sort_best_first

COSINE, JACCARD, COOCCURRENCE = 0, 1, 2


@compiled
def measure_similarity(kind, together, mine, other, unit):
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
def find_neighbours(lo, hi, holders, profiles, counts, value, scale, neighbours, together, scratch):
    """The items most alike to each item j, best first, as many as there is room for.

    With `value` (of users) and `scale` (of items) the similarity is ``scale_i scale_j sum_u value_u`` over the
    users who hold both, else `measure_similarity`; the number of these users is then kept in `together`, if that
    is not None.
    """
    start, stop, item = profiles.start, profiles.stop, profiles.item
    holder_start, holder = holders.start, holders.user
    row_start, row_stop, row_item, row_score = (
        neighbours.start,
        neighbours.stop,
        neighbours.item,
        neighbours.score,
    )
    kind, unit, held_by = counts.kind, counts.unit, counts.held_by
    sums, touched = scratch.sums, scratch.touched
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
                score = measure_similarity(kind, sums[i], held_by[j], held_by[i], unit)
            else:
                score = max(np.rint(sums[i] * scale[j] * scale[i] / unit), 1.0) * unit
            kept = offer(score, i, kept, scores, items)
        sort_best_first(kept, scores, items)
        row_stop[j] = first + np.uint64(kept)
        if together is not None:
            for r in range(first, row_stop[j]):
                together[r] = sums[row_item[r]]
        for t in range(n):
            sums[touched[t]] = 0


@compiled
def recommend_by_neighbours(lo, hi, profiles, neighbours, k, scratch, out):
    """The k items of highest sum of rows over the profile, without what the profile holds."""
    start, stop, item = profiles.start, profiles.stop, profiles.item
    row_start, row_cut, row_item, row_score = (
        neighbours.start,
        neighbours.cut,
        neighbours.item,
        neighbours.score,
    )
    totals, mine, touched = scratch.totals, scratch.mine, scratch.touched
    room = min(k, len(totals))
    scores = np.empty(room)
    items = np.empty(room, dtype=np.uint32)
    for p in range(lo, hi):
        n = 0
        for e in range(start[p], stop[p]):
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
                kept = offer(totals[i], i, kept, scores, items)
            totals[i] = 0.0
        sort_best_first(kept, scores, items)
        for t in range(kept):
            out[p, t] = items[t]
        for e in range(start[p], stop[p]):
            mine[item[e]] = False


@compiled
def rank_by_neighbours(lo, hi, pairs, profiles, neighbours, counts, together, k, scratch, out):
    """The rank of held-out items by the sum of rows over the rest of the profile.

    A user's sums over the whole profile are made once, and its best candidates sorted (k and as many more as a row
    is long). To hold out h changes few of them: those in row h lose that part; and with `together`, where the
    pair is taken out of the counts as well, h stands lower in the rows j of the profile, or falls out of row j, to
    which then the spare of row j moves up. So a rank is found by one search in the sorted candidates and a
    correction for each that changed.
    """
    user, held = pairs.user, pairs.item
    start, stop, item = profiles.start, profiles.stop, profiles.item
    row_start, row_cut, row_stop, row_item, row_score = (
        neighbours.start,
        neighbours.cut,
        neighbours.stop,
        neighbours.item,
        neighbours.score,
    )
    kind, unit, held_by = counts.kind, counts.unit, counts.held_by
    totals, mine, touched = scratch.lists.totals, scratch.lists.mine, scratch.lists.touched
    scores, items = scratch.best_score, scratch.best_item
    raised, moved, head, step = scratch.raised, scratch.moved, scratch.head, scratch.step
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
                if together is not None and mine[i]:
                    step[steps, 0] = j
                    step[steps, 1] = r
                    step[steps, 2] = head[i]
                    steps += 1
                    head[i] = steps
        kept = 0
        for t in range(n):
            i = touched[t]
            if not mine[i]:
                kept = offer(totals[i], i, kept, scores, items)
        sort_best_first(kept, scores, items)
        while p < hi and user[p] == u:
            h = held[p]
            score = 0.0
            moves = 0
            if together is None:
                score = totals[h]
            else:
                at = head[h]
                while at > 0:
                    j = step[at - 1, 0]
                    r = step[at - 1, 1]
                    at = step[at - 1, 2]
                    less = measure_similarity(kind, np.int64(together[r]) - 1, held_by[j], held_by[h] - 1, unit)
                    spare = row_cut[j]
                    if spare == row_stop[j] or comes_before(less, h, row_score[spare], row_item[spare]):
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
                if comes_before(scores[middle], items[middle], score, h):
                    low = middle + 1
                else:
                    high = middle
            ahead = low
            if score > 0.0 and ahead < k + np.int64(row_cut[h] - row_start[h]):
                for r in range(row_start[h], row_cut[h]):
                    i = row_item[r]
                    if not mine[i]:
                        total = totals[i]
                        ahead -= comes_before(total, i, score, h)
                        ahead += comes_before(total - row_score[r] + raised[i], i, score, h)
                        raised[i] = 0.0
                for t in range(moves):
                    i = moved[t]
                    if raised[i] > 0.0:
                        total = totals[i]
                        ahead -= comes_before(total, i, score, h)
                        ahead += comes_before(total + raised[i], i, score, h)
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
def find_empty_lists(lo, hi, pairs, profiles, neighbours, counts, together, mine, out):
    """Mark held-out items without which the rest of the profile gives no other item a score, nor themselves.

    The first neighbour outside the profile decides, which is nearly always the first of all. With `together` the
    held-out item may fall out of a row, and the spare of that row moves up, as in `rank_by_neighbours`.
    """
    user, held = pairs.user, pairs.item
    start, stop, item = profiles.start, profiles.stop, profiles.item
    row_start, row_cut, row_stop, row_item, row_score = (
        neighbours.start,
        neighbours.cut,
        neighbours.stop,
        neighbours.item,
        neighbours.score,
    )
    kind, unit, held_by = counts.kind, counts.unit, counts.held_by
    p = lo
    while p < hi:
        u = user[p]
        for e in range(start[u], stop[u]):
            mine[item[e]] = True
        while p < hi and user[p] == u:
            h = held[p]
            empty = True
            for e in range(start[u], stop[u]):
                j = item[e]
                if j == h:
                    continue
                for r in range(row_start[j], row_cut[j]):
                    if not mine[row_item[r]]:
                        empty = False
                    elif row_item[r] == h:
                        if together is None:
                            empty = False
                        else:
                            less = measure_similarity(
                                kind, np.int64(together[r]) - 1, held_by[j], held_by[h] - 1, unit
                            )
                            spare = row_cut[j]
                            if spare == row_stop[j] or comes_before(less, h, row_score[spare], row_item[spare]):
                                empty = less == 0.0
                            else:
                                empty = mine[row_item[spare]]
                    if not empty:
                        break
                if not empty:
                    break
            out[p] = empty
            p += 1
        for e in range(start[u], stop[u]):
            mine[item[e]] = False
