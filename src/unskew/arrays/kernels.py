"""The loops over profiles, compiled with numba: arrays in, arrays out, nothing else.

Each works on the users ``lo <= u < hi`` of one block and releases the interpreter lock, so that
`unskew.arrays.sweep` can run blocks on threads. Offsets and items are unsigned (numba then leaves out the test
for negative indices, a quarter of the time).
Offsets and items come as one `Rows`. An argument that may be None (`a`: P(u), `b`: P(i|u), `ratio`, `level`) is
decided at compile time, which numba does for arguments and not for fields of a tuple: the loop exists once here
and is compiled without what is not needed. Uniform P(i|u) needs no array at all, since any constant cancels in
``w_i b_ui / sum_j w_j b_uj``.
"""

from __future__ import annotations

# mypy: disallow-untyped-defs=False
import numpy as np

from unskew.arrays.compiling import compiled, prefetch

UNDERFLOW = 1e-250
OVERFLOW = 1e250
"""A row whose weights sum to less than the one or more than the other is computed again, shifted by its own
maximum."""


@compiled
def log_weight(theta, i, b, e):
    """``log(w_i b_ui)`` of entry e, which is of item i."""
    return theta[i] if b is None else theta[i] + np.log(b[e])


@compiled
def highest_log_weight(rows, b, u, theta):
    """The largest ``log(w_i b_ui)`` of a row; -inf if the row has no entry with a weight."""
    item = rows.item
    highest = -np.inf
    for e in range(rows.start[u], rows.stop[u]):
        highest = max(highest, log_weight(theta, item[e], b, e))
    return highest


@compiled
def add_row_shifted(rows, a, b, u, theta, ratio, sums):
    """Add one row of extreme weights, shifted so that its largest ``w_i b_ui`` is 1.

    Here `sums` is the marginal itself, not to be multiplied by w.
    """
    item = rows.item
    first = rows.start[u]
    last = rows.stop[u]
    shift = highest_log_weight(rows, b, u, theta)
    if shift == -np.inf:
        return
    total = 0.0
    mean = 0.0
    for e in range(first, last):
        i = item[e]
        x = np.exp(log_weight(theta, i, b, e) - shift)
        total += x
        if ratio is not None:
            mean += ratio[i] * x
    share = (1.0 if a is None else a[u]) / total
    if ratio is not None:
        share *= mean / total
    for e in range(first, last):
        i = item[e]
        x = np.exp(log_weight(theta, i, b, e) - shift)
        sums[i] += share * x


@compiled
def add_block(lo, hi, rows, a, b, w, theta, ratio, level, sums, shifted, levels, ahead):
    """What the users ``lo <= u < hi`` add to a pass; the outputs are zeroed first.

    ``w * sums + shifted`` is the item marginal of these users: `sums` of all rows but those whose sum of
    weights is out of range, which are added to `shifted` by `add_row_shifted`. Returns how many these are; if
    none, `shifted` is left as it was. With `ratio` the share of a row is multiplied by ``v_u = sum_i ratio_i
    pi_ui`` (the gradient of D). With `level` (a small integer per item), P(u) is added to `levels` at the
    highest level in the row. With `ahead`, what an item needs is asked for so many entries before it comes (see
    `unskew.arrays.blocks`), which changes no result.
    """
    start, stop, item = rows.start, rows.stop, rows.item
    sums[:] = 0.0
    levels[:] = 0.0
    n_shifted = 0
    end = np.uint64(len(item) - 1)
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
            if ahead is not None:
                soon = np.uint64(item[min(np.uint64(e) + np.uint64(ahead), end)])
                prefetch(w, soon)
                prefetch(sums, soon)
                if level is not None:
                    prefetch(level, soon)
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
            if n_shifted == 0:
                shifted[:] = 0.0
            n_shifted += 1
            add_row_shifted(rows, a, b, u, theta, ratio, shifted)
            continue
        share /= total
        if ratio is not None:
            share *= mean / total
        for e in range(first, last):
            sums[item[e]] += share if b is None else share * b[e]
    return n_shifted


@compiled
def sum_highest_ratios(lo, hi, rows, a, ratio, level, levels):
    """Sum of ``a_u max_i ratio_i``; P(u) is added to `levels` at the highest level in the row."""
    start, stop, item = rows.start, rows.stop, rows.item
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
def find_stops(lo, hi, start, time, tick, out):
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
def count_holders(lo, hi, rows, out):
    """Add the number of users of these rows who have each item."""
    start, stop, item = rows.start, rows.stop, rows.item
    for u in range(lo, hi):
        for e in range(start[u], stop[u]):
            out[item[e]] += 1


@compiled
def count_kept(lo, hi, rows, keep, out):
    """How many items of each row are to be kept."""
    start, stop, item = rows.start, rows.stop, rows.item
    for u in range(lo, hi):
        n = 0
        for e in range(start[u], stop[u]):
            if keep[item[e]]:
                n += 1
        out[u] = n


@compiled
def fill_recency(lo, hi, rows, time, half_life, most, out):
    """``2^-(age / half_life)`` of each entry, age counted from the newest of its row.

    Ages beyond `most` half-lives count as that many, so that no entry gets a probability of zero.
    """
    start, stop = rows.start, rows.stop
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
def fill_pair_shares(lo, hi, rows, shares, b, theta, out):
    """``out[e] = a_u pi_ui`` of each entry, each row shifted by its own maximum; `shares` are P(u)."""
    start, stop, item = rows.start, rows.stop, rows.item
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
        share = shares[u] / total
        for e in range(first, last):
            out[e] *= share


@compiled
def pick_entries(rows, shares, users, at, out):
    """For each of the users the entry at which the shares of its row, added up, pass ``at`` times their sum."""
    start, stop = rows.start, rows.stop
    for k in range(len(users)):
        u = users[k]
        total = 0.0
        for e in range(start[u], stop[u]):
            total += shares[e]
        sought = at[k] * total
        reached = 0.0
        entry = np.int64(start[u])
        for e in range(start[u], stop[u]):
            if shares[e] > 0.0:
                entry = np.int64(e)
                reached += shares[e]
                if reached > sought:
                    break
        out[k] = entry


@compiled
def find_fault(lo, hi, start, item, time, removed, last, gone):
    """What is wrong with these rows: 0 for nothing, else one of `FAULTS`. It looks at each entry once.

    Without `removed` an item stays for ever. `last` (-1 for each item) and `gone` (anything) are scratch.
    """
    for u in range(lo, hi):
        first = np.int64(start[u])
        for e in range(first, np.int64(start[u + 1])):
            i = item[e]
            if i >= len(last):
                return 1
            if e > first and not time[e - 1] <= time[e]:
                return 2
            held = last[i] >= first
            if held and (removed is None or gone[i] > time[e]):
                return 3
            if removed is not None:
                gone[i] = max(gone[i], removed[e]) if held else removed[e]
            last[i] = e
    return 0


FAULTS = (
    "",
    "an item code is beyond the number of items",
    "the times of a user are not in order",
    "a user holds an item twice",
)
"""What `find_fault` finds, in words."""
