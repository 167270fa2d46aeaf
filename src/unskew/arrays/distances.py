"""How far two item marginals are apart, in nats and in score units."""

from __future__ import annotations

import numpy as np

from unskew.arrays.types import Floats


def divergence(target: Floats, q: Floats) -> float:
    """``D = sum_{T_i > 0} T_i log(T_i / q_i)``; infinite if q lacks an item of the target.

    Never negative, since both sum to 1; what rounding takes below 0 counts as 0.
    """
    wanted = target > 0
    with np.errstate(divide="ignore"):
        return max(float((target[wanted] * (np.log(target[wanted]) - np.log(q[wanted]))).sum()), 0.0)


def total_variation(p: Floats, q: Floats) -> float:
    """``1/2 sum |p_i - q_i|``: no score in [0, 1] of a constant algorithm differs by more."""
    return 0.5 * float(np.abs(p - q).sum())


def worst(p: Floats, q: Floats, k: int) -> float:
    """The most by which a hit rate of a constant list of k items can differ between p and q."""
    change = np.sort(q - p)
    k = min(k, len(change))
    up = np.maximum(change[len(change) - k :], 0.0).sum()
    down = -np.minimum(change[:k], 0.0).sum()
    return float(max(up, down))
