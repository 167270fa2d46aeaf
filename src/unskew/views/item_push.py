"""The push of an item: how much it was taken in the windows, for each user who held it before the first of them.

Production may recommend some of what its model ranks high and never the rest, for reasons that no model knows: a
catalogue, stock, a rule. Items that were pushed are told by how much they were taken. A pair does not count in the
push of its own item, so that pairs of people who were shown nothing have the same push as those of others who were
not, on average (as for any Poisson process).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unskew.arrays.types import Codes, Floats, Mask
from unskew.views.strata import PUSH_BANDS
from unskew.views.taken_pairs import TakenPairs

_HOLDERS = 5.0  # added to those of each item, so that one take of a rare item is no push
_LEAST_HOLDERS = 3  # before a window: an item with fewer is new, and everything new is taken much
_QUANTILES = (0.5, 0.8, 0.95)  # of what is usually taken: few usual pairs are of items that are pushed as much


@dataclass(frozen=True)
class ItemPush:
    """How often each item was taken in the windows by those who could be shown something.

    Attributes
    ----------
    taken, counted
        What was taken, and which of it counts.
    times
        How often each item was, by code.
    holders
        How many users held it before the first window.
    """

    taken: TakenPairs
    counted: Mask
    times: Codes
    holders: Codes

    @classmethod
    def measure(cls, taken: TakenPairs, counted: Mask) -> ItemPush:
        """Count what was taken, of the pairs that count."""
        n_items = len(taken.log.items)
        before = taken.profiles_before(0)
        holders = np.zeros(n_items, dtype=np.int64) if before is None else before.counts()
        return cls(taken, counted, np.bincount(taken.log.item[taken.entry[counted]], minlength=n_items), holders)

    def of(self, pairs: TakenPairs) -> Floats:
        """The push of the item of each pair; 0 for items that were new."""
        item = pairs.log.item[pairs.entry]
        others = self.times[item] - (self.counted if pairs is self.taken else 0)
        push: Floats = np.where(pairs.holders < _LEAST_HOLDERS, 0.0, others / (self.holders[item] + _HOLDERS))
        return push


def find_edges(usual: Floats) -> Floats:
    """Where a higher band of pushes begins, from those of usual pairs."""
    if len(usual) == 0:
        return np.full(PUSH_BANDS - 1, np.inf)
    edges: Floats = np.quantile(usual, _QUANTILES)
    return edges
