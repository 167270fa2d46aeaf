"""Drawing which pairs are kept: a seed and the number of a draw decide, nothing else."""

from __future__ import annotations

import numpy as np

from unskew.arrays.types import Codes, Floats, Mask

_GOLDEN = (5**0.5 - 1) / 2
_STREAM = 0x7417  # of random numbers


def draw_kept(keep: Floats, cell: Codes, seed: int, draw: int) -> Mask:
    """Which pairs are kept, each with its probability.

    A systematic sample: pairs are lined up by cell, at random within each, and a pair is kept when the sum of the
    probabilities so far passes a whole number. So each cell, and any row of cells, keeps as many as expected, up
    to one. The draws of one seed begin at different places, spaced by the golden section, so that averages over
    draws settle faster than those of independent ones.
    """
    rng = np.random.default_rng([seed, _STREAM])
    order = np.lexsort((rng.random(len(cell)), cell))
    passed = np.floor(np.cumsum(keep[order]) + (rng.random() + draw * _GOLDEN) % 1.0)
    kept = np.empty(len(cell), dtype=np.bool_)
    kept[order] = np.diff(passed, prepend=0.0) > 0
    return kept | (keep >= 1.0)
