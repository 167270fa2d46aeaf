"""Drawing which pairs are kept: a seed and the number of a draw decide, nothing else."""

from __future__ import annotations

import numpy as np

from unskew.arrays.types import Codes, Floats, Mask

_GOLDEN = (5**0.5 - 1) / 2


def draw_kept(keep: Floats, stratum: Codes, seed: int, draw: int) -> Mask:
    """Which pairs are kept, each with its probability.

    In each stratum as many as expected, up to one: the pairs are put in a random order and thinned evenly.
    Draws of one seed go round by the golden section, so that over n of them each pair is kept about
    ``n * keep`` times, and averages settle faster than those of independent draws.
    """
    rng = np.random.default_rng([seed, 0x7417])
    order = np.lexsort((rng.random(len(stratum)), stratum))
    first = np.searchsorted(stratum[order], stratum[order], side="left")
    sizes = np.bincount(stratum, minlength=1)[stratum[order]]
    level = np.empty(len(stratum))
    level[order] = (np.arange(len(stratum)) - first) / sizes
    offset = rng.random(int(stratum.max(initial=0)) + 1)[stratum] / np.maximum(np.bincount(stratum)[stratum], 1)
    kept: Mask = (level + offset + draw * _GOLDEN) % 1.0 < keep
    return kept
