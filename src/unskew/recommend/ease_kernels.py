"""The loops of EASE, compiled with numba; see `unskew.recommend.candidates` for the rules.

Lists are made from B, whose entries are taken as whole numbers of units: sums are exact, whatever their order,
and a row can be subtracted again. Ranks without the held-out pair are made from P itself.
"""
# mypy: disallow-untyped-defs=False

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from unskew.arrays.compiling import compiled
from unskew.arrays.types import Codes, Floats
from unskew.recommend.candidates import STEP, offer, sort_best_first


class LinearModel(NamedTuple):
    """The inverse P over the modelled items, by ascending code.

    Attributes
    ----------
    modelled, place
        The code of each row, and the row of each item code, or -1.
    held_by
        How many users hold the item of each row.
    inverse, diagonal
        P, and its diagonal in double precision.
    l2, unit
        The penalty, and what scores are told apart by.
    in_units
        ``B_ji`` is ``P_ji * in_units[i]``, in units, for i other than j.
    """

    modelled: Codes
    place: Codes
    held_by: Codes
    inverse: npt.NDArray[Any]
    diagonal: Floats
    l2: float
    unit: float
    in_units: Floats


class Removal(NamedTuple):
    """What taking one pair out of the model does to scores: the numbers of `remove_pair`."""

    d: float
    on_r: float
    on_b: float
    rr: float
    rb: float
    bb: float


@compiled
def count_together(lo, hi, holders, profiles, modelled, place, out):
    """Rows of the co-occurrence counts of the modelled items."""
    start, stop, item = profiles.start, profiles.stop, profiles.item
    holder_start, holder = holders.start, holders.user
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
def find_largest_weight(lo, hi, inverse, diagonal):
    """The largest ``|B|`` of these rows."""
    largest = 0.0
    for row in range(lo, hi):
        for column in range(len(diagonal)):
            if column != row:
                largest = max(largest, abs(float(inverse[row, column])) / diagonal[column])
    return largest


@compiled
def add_weights(j, times, model, totals):
    """Add row j of B so many times, in units; its diagonal is 0."""
    row, in_units = model.inverse[j], model.in_units
    own = totals[j]
    for i in range(len(totals)):
        totals[i] += times * np.rint(row[i] * in_units[i])
    totals[j] = own


@compiled
def recommend_by_rows(lo, hi, profiles, model, k, totals, seen, out):
    """The k modelled items of highest sum of rows over the profile, without what the profile holds.

    Where a profile shares most of its items with the one before, only the rows that differ are added or
    subtracted: held-out items are asked for user by user. ``seen[i]`` is the number of the last profile with i.
    """
    start, stop, item = profiles.start, profiles.stop, profiles.item
    modelled, place = model.modelled, model.place
    n = len(modelled)
    room = min(k, n)
    scores = np.empty(room)
    items = np.empty(room, dtype=np.uint32)
    size_before = 0
    for p in range(lo, hi):
        before, now = p - lo, p - lo + 1
        size = shared = 0
        for e in range(start[p], stop[p]):
            j = place[item[e]]
            if j >= 0:
                size += 1
                shared += before > 0 and seen[j] == before
        from_before = size_before - shared < shared
        if not from_before:
            totals[:] = 0.0
        for e in range(start[p], stop[p]):
            j = place[item[e]]
            if j >= 0:
                if not (from_before and seen[j] == before):
                    add_weights(j, 1.0, model, totals)
                seen[j] = now
        if from_before:
            for e in range(start[p - 1], stop[p - 1]):
                j = place[item[e]]
                if j >= 0 and seen[j] == before:
                    add_weights(j, -1.0, model, totals)
        size_before = size
        kept = 0
        for i in range(n):
            if seen[i] != now:
                kept = offer(totals[i], i, kept, scores, items)
        sort_best_first(kept, scores, items)
        for t in range(kept):
            out[p, t] = modelled[items[t]]


@compiled
def score_less_row(i, totals, row, in_units):
    """The sum of item i without what one row of B has added, in units."""
    return totals[i] - np.rint(row[i] * in_units[i])


@compiled
def rank_by_rows(lo, hi, pairs, profiles, model, k, totals, out):
    """The rank of held-out items by the sum of rows over the rest of the profile; B contains the pair."""
    user, held = pairs.user, pairs.item
    start, stop, item = profiles.start, profiles.stop, profiles.item
    place, inverse, in_units = model.place, model.inverse, model.in_units
    n = len(totals)
    p = lo
    while p < hi:
        u = user[p]
        totals[:] = 0.0
        size = 0
        for e in range(start[u], stop[u]):
            j = place[item[e]]
            if j >= 0:
                add_weights(j, 1.0, model, totals)
                size += 1
        while p < hi and user[p] == u:
            h = place[held[p]]
            if h >= 0:
                score, row = totals[h], inverse[h]
                ahead = first = 0
                while first < n and ahead < k + size:
                    last = min(first + STEP, n)
                    for i in range(first, min(last, h)):
                        ahead += score_less_row(i, totals, row, in_units) >= score
                    for i in range(max(first, h + 1), last):
                        ahead += score_less_row(i, totals, row, in_units) > score
                    first = last
                for e in range(start[u], stop[u]):
                    j = place[item[e]]
                    if 0 <= j < first and j != h:
                        x = score_less_row(j, totals, row, in_units)
                        ahead -= x > score or (x == score and j < h)
                if ahead < k:
                    out[p] = ahead + 1
            p += 1


@compiled
def remove_pair(r_h, b_h, rho):
    """What it does to scores that item h leaves a profile and the model, of which x is left.

    Let ``r = P x``, ``b = P e_h`` and ``rho = x' P x``. Without the pair the Gram matrix loses
    ``x e_h' + e_h x' + e_h e_h'``, of rank 2, and by Woodbury's formula its inverse Q has, with
    ``D = (1 - r_h)^2 - (1 + rho) b_h``,

        D (Q x)_i = (1 - r_h - b_h) r_i + (rho + r_h) b_i
        D Q_ii    = D P_ii + b_h r_i^2 + 2 (1 - r_h) r_i b_i + (1 + rho) b_i^2

    and the score of item i is ``-(Q x)_i / Q_ii``. D is the ratio of the two determinants, and positive.
    """
    q = 1 - r_h
    return Removal(q * q - (1 + rho) * b_h, b_h - q, -(rho + r_h), b_h, 2 * q, 1 + rho)


@compiled
def score_without(r, b, p, removal):
    """The score of an item as a fraction: ``-D (Q x)_i`` and ``D Q_ii``."""
    below = removal.d * p + (removal.rr * r + removal.rb * b) * r + removal.bb * b * b
    return removal.on_r * r + removal.on_b * b, below


@compiled
def score_item_without(i, totals, row, diagonal, removal):
    """The same of item i, from the vector P x of the whole profile and row h of P."""
    b = float(row[i])
    return score_without(totals[i] - b, b, diagonal[i], removal)


@compiled
def rank_without_pairs(lo, hi, pairs, profiles, model, k, totals, out):
    """The rank of held-out items by the model of a log that does not have the pair; 0 if nobody else holds it.

    The vector P x of the whole profile, made once for a user, and row h of P are all that a pair needs. Scores
    that are less than a unit apart are equal. Out is -1 where rounding has left no right Q_hh.
    """
    user, held = pairs.user, pairs.item
    start, stop, item = profiles.start, profiles.stop, profiles.item
    place, inverse, diagonal, unit = model.place, model.inverse, model.diagonal, model.unit
    n = len(totals)
    p = lo
    while p < hi:
        u = user[p]
        totals[:] = 0.0
        size = 0
        for e in range(start[u], stop[u]):
            j = place[item[e]]
            if j >= 0:
                size += 1
                row = inverse[j]
                for i in range(n):
                    totals[i] += row[i]
        whole = 0.0
        for e in range(start[u], stop[u]):
            j = place[item[e]]
            if j >= 0:
                whole += totals[j]
        while p < hi and user[p] == u:
            h = place[held[p]]
            others = model.held_by[h] - 1.0 if h >= 0 else 0.0
            if others > 0:
                row, b_h = inverse[h], diagonal[h]
                r_h = totals[h] - b_h
                removal = remove_pair(r_h, b_h, whole - 2 * r_h - b_h)
                over, below = score_without(r_h, b_h, b_h, removal)
                q_hh = below / removal.d
                right = removal.d > 0 and q_hh * (others + model.l2) > 0.9 and q_hh * model.l2 < 1.1
                least, most = over / below - unit, over / below + unit
                ahead = first = 0
                while right and first < n and ahead < k + size:
                    last = min(first + STEP, n)
                    for i in range(first, min(last, h)):
                        over, below = score_item_without(i, totals, row, diagonal, removal)
                        ahead += over >= least * below
                    for i in range(max(first, h + 1), last):
                        over, below = score_item_without(i, totals, row, diagonal, removal)
                        ahead += over > most * below
                    first = last
                for e in range(start[u], stop[u]):
                    j = place[item[e]]
                    if 0 <= j < first and j != h:
                        over, below = score_item_without(j, totals, row, diagonal, removal)
                        ahead -= over > most * below or (over >= least * below and j < h)
                if not right:
                    out[p] = -1
                elif ahead < k:
                    out[p] = ahead + 1
            p += 1
