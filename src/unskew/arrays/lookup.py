"""Looking numbers up among others that are sorted."""

from __future__ import annotations

import numpy as np

from unskew.arrays.types import Codes


def find_sorted(keys: Codes, wanted: Codes) -> Codes:
    """The place of each wanted number among ascending keys, or -1.

    >>> find_sorted(np.array([2, 5, 9]), np.array([9, 3, 2]))
    array([ 2, -1,  0])
    """
    if not len(keys):
        return np.full(len(wanted), -1, dtype=np.int64)
    at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    found: Codes = np.where(keys[at] == wanted, at, -1)
    return found
