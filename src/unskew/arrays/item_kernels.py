"""The loops over items between two passes, compiled with numba; see `unskew.arrays.kernels` for the rules."""
# mypy: disallow-untyped-defs=False

from __future__ import annotations

import numpy as np

from unskew.arrays.compiling import compiled, compiled_for_sums


@compiled
def clip_logs(theta, shift, lowest, out):
    """``out = theta - shift``, but at least `lowest`."""
    for i in range(len(out)):
        out[i] = max(theta[i] - shift, lowest)


@compiled
def weigh_lowest(theta, shift, lowest, out):
    """Make ``out = exp(theta - shift)`` right where that was clipped: 0, or a number of few digits."""
    few = 0
    for i in range(len(out)):
        x = theta[i] - shift
        out[i] = 0.0 if x < -746.0 else out[i]
        few += (x < lowest) & (x >= -746.0)
    if few > 0:
        for i in range(len(out)):
            x = theta[i] - shift
            if -746.0 <= x < lowest:
                out[i] = np.exp(x)


@compiled
def add_blocks(lo, hi, blocks, w, total, out):
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
def compare(lo, hi, target, q, f):
    """Make `f`, which has ``log(T/q)`` where q > 0, exact near 0, and 0 where T is 0; return parts of D and TV.

    D is summed as ``T f - (T - q)``, which is the same if T and q both sum to 1, but has no negative terms
    that all but cancel: so D still tells two points apart when it is 1e-25. (Two loops, because the first is
    vectorised without the sums, and has no branch that depends on the data: three times as fast.)
    """
    target, q, f = target[lo:hi], q[lo:hi], f[lo:hi]
    for i in range(len(f)):
        x = (target[i] - q[i]) / q[i]
        near = x * (1 - x * (1 / 2 - x * (1 / 3 - x * (1 / 4 - x * (1 / 5 - x * (1 / 6 - x * (1 / 7 - x / 8)))))))
        logarithm = near if abs(x) < 0.01 else f[i]  # log(1 + x) to the last digit
        logarithm = np.inf if q[i] == 0.0 else logarithm
        f[i] = logarithm if target[i] > 0.0 else 0.0
    divergence = 0.0
    distance = 0.0
    for i in range(len(f)):
        excess = target[i] - q[i]
        distance += abs(excess)
        divergence += target[i] * f[i]
        divergence -= excess
    return divergence, 0.5 * distance


@compiled
def find_levels(bits, f, target, dropped, smallest, middle, out):
    """A level for each item, see `unskew.solve.certificate.levels`; `bits` are those of f as 32-bit floats."""
    for i in range(len(out)):
        size = ((bits[i] & 0x7FFFFFFF) >> dropped) - smallest
        size = min(max(size, 0), middle - 1)
        level = middle - size if f[i] < 0 else middle + size
        out[i] = level if target[i] > 0 else 0


@compiled
def sum_by_level(level, target, out):
    """Add the targets of the items of each level, in the order of the items."""
    for i in range(len(level)):
        out[level[i]] += target[i]


@compiled_for_sums
def remember(lo, hi, weight, theta, f, new_theta, new_f, df, dg, slot, used, dots):
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
def shorten(lo, hi, theta, factor, out):
    """Make the way from `theta` to `out` shorter by a factor, where there is one."""
    theta, out = theta[lo:hi], out[lo:hi]
    for i in range(len(out)):
        if theta[i] > -np.inf:
            out[i] = theta[i] + (out[i] - theta[i]) * factor


@compiled
def extrapolate(lo, hi, theta, f, gamma, dg, out):
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
def add_margins(lo, hi, rows, a, log_b, groups, theta, score, pairs, sums):
    """Fill ``pairs[e] = a_u pi_ui`` of the users ``lo <= u < hi`` and add it to `sums` at each group of the entry.

    ``groups[e]`` has the groups of an entry, one of each margin; its log-weight is the sum of their `theta`.
    Each row is shifted by its own maximum, since log-weights of two margins may be far out and all but cancel.
    Returns the sum over users of ``a_u max_e sum_k score[groups[e, k]]``, 0 without `score`.
    """
    sums[:] = 0.0
    margins = groups.shape[1]
    highest_scores = 0.0
    for u in range(lo, hi):
        first = rows.start[u]
        last = rows.stop[u]
        if first == last:
            continue
        shift = -np.inf
        best = -np.inf
        for e in range(first, last):
            x = 0.0 if log_b is None else log_b[e]
            value = 0.0
            for k in range(margins):
                x += theta[groups[e, k]]
                if score is not None:
                    value += score[groups[e, k]]
            pairs[e] = x
            shift = max(shift, x)
            best = max(best, value)
        total = 0.0
        for e in range(first, last):
            pairs[e] = np.exp(pairs[e] - shift)
            total += pairs[e]
        share = (1.0 if a is None else a[u]) / total
        for e in range(first, last):
            pairs[e] *= share
            for k in range(margins):
                sums[groups[e, k]] += pairs[e]
        if score is not None:
            highest_scores += (1.0 if a is None else a[u]) * best
    return highest_scores


@compiled
def rank_in_lists(lists, held, start, item, n_items, free, ranks, fault):
    """The place (from 1) of each held-out item in its list, 0 if it is not there.

    Checks the lists on the way: the first wrong one is written to `fault` as (kind, row, item); kind 1 is a
    code that does not exist, 2 a repeat, 3 an item of the profile (allowed if `free`). A -1 is a gap.
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
                continue
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


@compiled
def add_drawn_rows(users, wanted, uniform, rows, a, b, scratch, sums):
    """Add the item mix of some users to `sums`, each with as many of its items as `wanted`, drawn at random.

    `uniform` has a random number in [0, 1) for each item that is drawn; a user of whom all items are wanted needs
    none of them. `scratch` has room for the largest profile. Returns the sum of P(u).
    """
    mass = 0.0
    used = 0
    for k in range(len(users)):
        u = users[k]
        first = np.int64(rows.start[u])
        size = np.int64(rows.stop[u]) - first
        count = wanted[k]
        for e in range(size):
            scratch[e] = first + e
        total = 0.0
        for e in range(count):
            if count < size:
                other = min(e + int(uniform[used] * (size - e)), size - 1)
                scratch[e], scratch[other] = scratch[other], scratch[e]
                used += 1
            total += 1.0 if b is None else b[scratch[e]]
        share = 1.0 if a is None else a[u]
        mass += share
        for e in range(count):
            entry = scratch[e]
            sums[rows.item[entry]] += share / total * (1.0 if b is None else b[entry])
    return mass
