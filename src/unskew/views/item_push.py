"""The push of an item in a window: how much it was taken there, for each user who held it before.

Production may recommend some of what its model ranks high and never the rest, for reasons that no model knows: a
catalogue, stock, a rule. Items that were pushed are told by how much they were taken. A pair does not count in the
push of its own item, so that pairs of people who were shown nothing have the same push as those of others who were
not, on average (as for any Poisson process).
"""

from __future__ import annotations

import numpy as np

from unskew.arrays.types import Floats, Mask
from unskew.views.strata import PUSH_BANDS
from unskew.views.taken_pairs import TakenPairs

_HOLDERS = 5.0  # added to those of each item, so that one take of a new item is no push
_QUANTILES = (0.5, 0.8, 0.95)  # of what is usually taken: few usual pairs are of items that are pushed as much


def measure_push(taken: TakenPairs, counted: Mask) -> Floats:
    """For each pair, how often others took its item in the same window; only pairs in `counted` count."""
    n_items = len(taken.log.items)
    key = taken.window * n_items + taken.log.item[taken.entry].astype(np.int64)
    _, place = np.unique(key, return_inverse=True)
    times = np.bincount(place[counted], minlength=len(taken))[place] - counted
    push: Floats = times / (taken.holders + _HOLDERS)
    return push


def find_edges(usual: Floats) -> Floats:
    """Where a higher band of pushes begins, from those of usual pairs."""
    if len(usual) == 0:
        return np.full(PUSH_BANDS - 1, np.inf)
    edges: Floats = np.quantile(usual, _QUANTILES)
    return edges
