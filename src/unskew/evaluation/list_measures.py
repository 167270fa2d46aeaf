"""Measures of one list against all that is held out of a user, as trec_eval defines them.

Arrays in, arrays out: the rank of each held-out item (0: not in the list) and the number of the list in which it
was sought.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from unskew.arrays.types import Codes, Floats


@dataclass(frozen=True)
class RankedLists:
    """Lists, and where the held-out items are in each; `held` and `found` have one number for each list.

    Attributes
    ----------
    depth
        How far lists are looked at.
    held, found
        How many items are held out, and how many of them are in the list.
    of, rank
        Of each item that was found: the list, and the rank.
    """

    depth: int
    held: Codes
    found: Codes
    of: Codes
    rank: Codes

    def sum(self, gains: Floats) -> Floats:
        """The sum over the items of each list that were found."""
        return np.asarray(np.bincount(self.of, weights=gains, minlength=len(self.held)), dtype=np.float64)


def _hit(lists: RankedLists) -> Floats:
    return (lists.found > 0).astype(np.float64)


def _recall(lists: RankedLists) -> Floats:
    return lists.found / lists.held


def _precision(lists: RankedLists) -> Floats:
    return lists.found / lists.depth


def _ndcg(lists: RankedLists) -> Floats:
    most = min(lists.depth, int(lists.held.max(initial=1)))
    ideal = np.cumsum(1.0 / np.log2(np.arange(most) + 2.0))
    best: Floats = ideal[np.minimum(lists.held, most) - 1]
    return lists.sum(1.0 / np.log2(lists.rank + 1.0)) / best


def _average_precision(lists: RankedLists) -> Floats:
    order = np.lexsort((lists.rank, lists.of))
    of = lists.of[order]
    place = np.empty(len(of))
    place[order] = np.arange(len(of)) - np.searchsorted(of, of, side="left") + 1.0
    return lists.sum(place / lists.rank) / lists.held


MEASURES: dict[str, Callable[[RankedLists], Floats]] = {
    "hit": _hit,
    "recall": _recall,
    "precision": _precision,
    "ndcg": _ndcg,
    "map": _average_precision,
}
"""Each by its name: trec_eval calls them success_k, recall_k, P_k, ndcg_cut_k and map_cut_k."""


def measure_lists(measure: str, rank: Codes, sought_in: Codes, depth: int) -> Floats:
    """For each held-out item the measure of the list in which it was sought; ranks beyond `depth` do not count."""
    _, of = np.unique(sought_in, return_inverse=True)
    held = np.bincount(of)
    found = np.flatnonzero((rank > 0) & (rank <= depth))
    lists = RankedLists(depth, held, np.bincount(of[found], minlength=len(held)), of[found], rank[found])
    values: Floats = MEASURES[measure](lists)[of]
    return values
