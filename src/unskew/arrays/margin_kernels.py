"""The loop of a pass over several margins at once, compiled with numba; `unskew.arrays.kernels` has the rules."""
# mypy: disallow-untyped-defs=False

from __future__ import annotations

import numpy as np

from unskew.arrays.compiling import compiled


@compiled
def add_margins(lo, hi, start, stop, a, log_b, groups, theta, score, pairs, sums):
    """Fill ``pairs[e] = a_u pi_ui`` of the users ``lo <= u < hi`` and add it to `sums` at each group of the entry.

    ``groups[e]`` has the groups of an entry, one of each margin; its log-weight is the sum of their `theta`.
    Each row is shifted by its own maximum, since log-weights of two margins may be far out and all but cancel.
    Returns the sum over users of ``a_u max_e sum_k score[groups[e, k]]``, 0 without `score`.
    """
    sums[:] = 0.0
    margins = groups.shape[1]
    highest_scores = 0.0
    for u in range(lo, hi):
        first = start[u]
        last = stop[u]
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
