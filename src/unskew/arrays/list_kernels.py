"""Where held-out items stand in lists, compiled with numba; see `unskew.arrays.kernels` for the rules."""
# mypy: disallow-untyped-defs=False

from __future__ import annotations

import numpy as np

from unskew.arrays.compiling import compiled


@compiled
def rank_in_lists(lists, held, start, item, n_items, free, ranks, fault):
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
