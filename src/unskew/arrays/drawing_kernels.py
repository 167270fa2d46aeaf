"""The loop that adds up random parts of profiles. Compiled with numba."""
# mypy: disallow-untyped-defs=False

from __future__ import annotations

import numpy as np

from unskew.arrays.compiling import compiled


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
