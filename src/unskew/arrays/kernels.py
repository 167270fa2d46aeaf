"""The loops over profiles, compiled with numba: arrays in, arrays out, nothing else.

Each works on the users ``lo <= u < hi`` of one block and releases the interpreter lock, so that
`unskew.arrays.sweep` can run blocks on threads. The profile of u is ``item[start[u]:stop[u]]``; offsets
and items are unsigned (numba then leaves out the test for negative indices, a quarter of the time).
An argument that may be None (`a`: P(u), `b`: P(i|u), `ratio`, `level`) is decided at compile time: the
loop exists once here and is compiled without what is not needed. Uniform P(i|u) needs no array at
all, since any constant cancels in ``w_i b_ui / sum_j w_j b_uj``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np

Kernel = Callable[..., Any]

UNDERFLOW = 1e-250
OVERFLOW = 1e250
"""A row whose weights sum to less than the one or more than the other is computed again, shifted by its own
maximum."""


def compiled(function: Kernel) -> Kernel:
    """Compile without the interpreter lock and keep the result on disk."""
    result: Kernel = numba.njit(nogil=True, cache=True, error_model="numpy")(function)
    return result


def compiled_for_sums(function: Kernel) -> Kernel:
    """The same for long sums of numbers, which may be added in the order that is fastest."""
    result: Kernel = numba.njit(nogil=True, cache=True, error_model="numpy", fastmath={"reassoc", "contract"})(
        function
    )
    return result


@compiled
def item_sums(lo, hi, start, stop, item, a, b, w, ratio, level, sums, levels, later):
    """Add each row's share to `sums`, so that ``w * sums`` is the item marginal of these users.

    With `ratio` the share is multiplied by ``v_u = sum_i ratio_i pi_ui`` (the gradient of D). With
    `level` (a small integer per item), P(u) is added to `levels` at the highest level in the row.
    Rows whose sum is out of range are left out and written to `later` from ``later[lo]`` on; returns how
    many they are.
    """
    skipped = 0
    for u in range(lo, hi):
        first = start[u]
        last = stop[u]
        if first == last:
            continue
        share = 1.0 if a is None else a[u]
        total = 0.0
        mean = 0.0
        highest = np.uint16(0)
        for e in range(first, last):
            i = item[e]
            x = w[i] if b is None else w[i] * b[e]
            total += x
            if ratio is not None:
                mean += ratio[i] * x
            if level is not None and level[i] > highest:
                highest = level[i]
        if level is not None:
            levels[highest] += share
        if total < UNDERFLOW or total > OVERFLOW:
            later[lo + skipped] = u
            skipped += 1
            continue
        share /= total
        if ratio is not None:
            share *= mean / total
        for e in range(first, last):
            sums[item[e]] += share if b is None else share * b[e]
    return skipped


@compiled
def item_sums_shifted(rows, start, stop, item, a, b, theta, ratio, sums):
    """Add what `item_sums` left out: rows of extreme weights, shifted so that the largest ``w_i b_ui`` is 1.

    Here `sums` is the marginal itself, not to be multiplied by w.
    """
    for u in rows:
        first = start[u]
        last = stop[u]
        shift = -np.inf
        for e in range(first, last):
            shift = max(shift, theta[item[e]] if b is None else theta[item[e]] + np.log(b[e]))
        if shift == -np.inf:
            continue
        total = 0.0
        mean = 0.0
        for e in range(first, last):
            i = item[e]
            x = np.exp(theta[i] - shift if b is None else theta[i] + np.log(b[e]) - shift)
            total += x
            if ratio is not None:
                mean += ratio[i] * x
        share = (1.0 if a is None else a[u]) / total
        if ratio is not None:
            share *= mean / total
        for e in range(first, last):
            i = item[e]
            x = np.exp(theta[i] - shift if b is None else theta[i] + np.log(b[e]) - shift)
            sums[i] += share * x


@compiled
def joint_sums(lo, hi, start, stop, item, a, b, theta, place, held, sums):
    """Add ``a_u pi_ui pi_uk`` for the chosen items; ``place[i]`` is a row of `sums` or -1.

    `held` is scratch: two rows as long as the number of chosen items.
    """
    for u in range(lo, hi):
        first = start[u]
        last = stop[u]
        shift = -np.inf
        for e in range(first, last):
            shift = max(shift, theta[item[e]] if b is None else theta[item[e]] + np.log(b[e]))
        if shift == -np.inf:
            continue
        total = 0.0
        n = 0
        for e in range(first, last):
            i = item[e]
            x = np.exp(theta[i] - shift if b is None else theta[i] + np.log(b[e]) - shift)
            total += x
            if place[i] >= 0:
                held[0, n] = place[i]
                held[1, n] = x
                n += 1
        share = (1.0 if a is None else a[u]) / (total * total)
        for j in range(n):
            for k in range(n):
                sums[int(held[0, j]), int(held[0, k])] += share * held[1, j] * held[1, k]


@compiled
def highest_ratios(lo, hi, start, stop, item, a, ratio, level, levels):
    """Sum of ``a_u max_i ratio_i``; P(u) is added to `levels` at the highest level in the row."""
    total = 0.0
    for u in range(lo, hi):
        first = start[u]
        last = stop[u]
        if first == last:
            continue
        share = 1.0 if a is None else a[u]
        highest = 0.0
        place = np.uint16(0)
        for e in range(first, last):
            i = item[e]
            highest = max(highest, ratio[i])
            place = max(place, level[i])
        levels[place] += share
        total += share * highest
    return total


@compiled
def prefix_stops(lo, hi, start, time, tick, out):
    """Where each time-sorted row ends at `tick`: the first entry later than it."""
    for u in range(lo, hi):
        low = np.int64(start[u])
        high = np.int64(start[u + 1])
        while low < high:
            middle = (low + high) // 2
            if time[middle] <= tick:
                low = middle + 1
            else:
                high = middle
        out[u] = low


@compiled
def item_counts(lo, hi, start, stop, item, out):
    """Add the number of users of these rows who hold each item."""
    for u in range(lo, hi):
        for e in range(start[u], stop[u]):
            out[item[e]] += 1


@compiled
def kept_sizes(lo, hi, start, stop, item, keep, out):
    """How many items of each row are to be kept."""
    for u in range(lo, hi):
        n = 0
        for e in range(start[u], stop[u]):
            if keep[item[e]]:
                n += 1
        out[u] = n


@compiled
def recency(lo, hi, start, stop, time, half_life, most, out):
    """``2^-(age / half_life)`` of each entry, age counted from the newest of its row.

    At most `most` half-lives are told apart, so that no entry gets a probability of zero.
    """
    for u in range(lo, hi):
        first = start[u]
        last = stop[u]
        if first == last:
            continue
        newest = time[first]
        for e in range(first, last):
            newest = max(newest, time[e])
        for e in range(first, last):
            out[e] = 2.0 ** -min(float(newest - time[e]) / half_life, most)


@compiled
def added(lo, hi, blocks, w, total, out):
    """``out = w * (sum of the blocks) / total``, the blocks added in their order."""
    w, out = w[lo:hi], out[lo:hi]
    for i in range(len(out)):
        out[i] = 0.0
    for k in range(blocks.shape[0]):
        block = blocks[k, lo:hi]
        for i in range(len(out)):
            out[i] += block[i]
    for i in range(len(out)):
        out[i] *= w[i] / total


@compiled
def compared(lo, hi, target, q, f):
    """Make `f`, which has ``log(T/q)``, exact near 0 and 0 where T is 0; return these items' parts of D and TV.

    D is summed as ``T f - (T - q)``, which is the same if T and q both sum to 1, but has no negative terms
    that all but cancel: so D still tells two points apart when it is 1e-25.
    """
    target, q, f = target[lo:hi], q[lo:hi], f[lo:hi]
    divergence = 0.0
    distance = 0.0
    for i in range(len(f)):
        t = target[i]
        excess = t - q[i]
        distance += abs(excess)
        if t > 0.0:
            x = excess / q[i]
            if abs(x) < 0.01:  # log(1 + x) to the last digit
                f[i] = x * (
                    1 - x * (1 / 2 - x * (1 / 3 - x * (1 / 4 - x * (1 / 5 - x * (1 / 6 - x * (1 / 7 - x / 8))))))
                )
            divergence += t * f[i]
        else:
            f[i] = 0.0
        divergence -= excess
    return divergence, 0.5 * distance


@compiled_for_sums
def remembered(lo, hi, weight, theta, f, new_theta, new_f, df, dg, slot, used, dots):
    """Store the changes of f and of ``theta + f`` in row `slot`, 0 where the weight is 0.

    Adds to ``dots[0, j]`` the weighted product of that change of f with the one in row j, and to
    ``dots[1, j]`` that of the new f with it. Returns the longest way that a log-weight went. (Slices, because
    loops from 0 are vectorised and others are not: five times as fast.)
    """
    weight, theta, f = weight[lo:hi], theta[lo:hi], f[lo:hi]
    new_theta, new_f = new_theta[lo:hi], new_f[lo:hi]
    changes, steps = df[slot, lo:hi], dg[slot, lo:hi]
    longest = 0.0
    for i in range(len(weight)):
        change = 0.0
        step = 0.0
        if weight[i] > 0.0:
            change = new_f[i] - f[i]
            step = new_theta[i] - theta[i]
        changes[i] = change
        steps[i] = change + step
        longest = max(longest, abs(step))
    for j in range(used):
        earlier = df[j, lo:hi]
        by_change = 0.0
        by_f = 0.0
        for i in range(len(weight)):
            x = weight[i] * earlier[i]
            by_change += x * changes[i]
            by_f += x * new_f[i]
        dots[0, j] += by_change
        dots[1, j] += by_f
    return longest


@compiled
def extrapolated(lo, hi, theta, f, gamma, dg, out):
    """``out = theta + f - gamma @ dg``; returns the longest way that an item goes."""
    theta, f, out = theta[lo:hi], f[lo:hi], out[lo:hi]
    for i in range(len(out)):
        out[i] = f[i]
    for j in range(gamma.shape[0]):
        change = dg[j, lo:hi]
        for i in range(len(out)):
            out[i] -= gamma[j] * change[i]
    longest = 0.0
    for i in range(len(out)):
        longest = max(longest, abs(out[i]))
        out[i] += theta[i]
    return longest


@compiled
def entry_shares(lo, hi, start, stop, item, a, b, theta, out):
    """``out[e] = a_u pi_ui`` of each entry, each row shifted by its own maximum."""
    for u in range(lo, hi):
        first = start[u]
        last = stop[u]
        shift = -np.inf
        for e in range(first, last):
            shift = max(shift, theta[item[e]])
        if shift == -np.inf:
            continue
        total = 0.0
        for e in range(first, last):
            x = np.exp(theta[item[e]] - shift)
            out[e] = x if b is None else x * b[e]
            total += out[e]
        share = a[u] / total
        for e in range(first, last):
            out[e] *= share


@compiled
def list_ranks(lists, held, start, item, n_items, free, ranks, fault):
    """The place (from 1) of each held-out item in its list, 0 if it is not there.

    Checks the lists on the way: the first wrong one is written to `fault` as (kind, row, item); kind 1 is a
    code that does not exist, 2 a repeat, 3 an item of the profile (allowed if `free`). After a -1 nothing counts.
    """
    seen = np.full(n_items, -1, dtype=np.int64)
    for r in range(lists.shape[0]):
        ranks[r] = 0
        if not free:
            for e in range(start[r], start[r + 1]):
                seen[item[e]] = 2 * r
        for k in range(lists.shape[1]):
            i = lists[r, k]
            if i == -1:
                break
            kind = 0
            if i < 0 or i >= n_items:
                kind = 1
            elif seen[i] == 2 * r + 1:
                kind = 2
            elif seen[i] == 2 * r:
                kind = 3
            if kind > 0:
                fault[0] = kind
                fault[1] = r
                fault[2] = i
                return
            seen[i] = 2 * r + 1
            if i == held[r]:
                ranks[r] = k + 1
