"""Strata of pairs, by the rank that production gave to the item; and cells, which are finer.

A pair belongs to a *rank stratum*: reports are by these. Pairs are thinned by *cell*: the rank stratum, the push
of the item, the size of the profile, and whether the item is to the user's taste, which is its rank by a second
model. Since cells are many and thin, only their margins are trusted (`MARGINS`).

The *push* of an item is how many interactions it had in the windows, for each user who had it before the first.
Production may recommend some of what its model ranks high and never the rest, for reasons that no model knows: a
catalogue, stock, a rule. A pair does not count in the push of its own item, so that pairs of people who were shown
nothing have the same push as those of others who were not, on average (as for any Poisson process).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unskew.arrays.types import Codes, Floats, Mask
from unskew.views.windows import WindowPairs

LAST_RANKS = np.array([1, 2, 3, 5, 9, 14, 24, 48, 96, 200])
"""The last rank of each rank stratum."""

BEYOND = len(LAST_RANKS)
"""The outermost rank stratum, which recommendations hardly reach."""

NEW = BEYOND + 1
"""The stratum of users who had no profile when the window began."""

RANK_STRATA = NEW + 1

FIRST_SIZES = np.array([0, 1, 2, 5])
"""The first size of profiles of each kind of user who had one, 0 for those who joined after the first window.

Users who had none when a window began are a kind of their own, the first.
"""

TASTE_RANKS = np.array([1, 3, 10, 40])
"""The last rank of each band of taste; what is not among the first ones is in the last band."""

PUSH_BANDS = 4
KINDS = len(FIRST_SIZES) + 1
TASTES = len(TASTE_RANKS) + 1
CELLS = RANK_STRATA * PUSH_BANDS * KINDS * TASTES

RANK_OF, PUSH_OF, KIND_OF, TASTE_OF = np.unravel_index(np.arange(CELLS), (RANK_STRATA, PUSH_BANDS, KINDS, TASTES))
"""What each cell is made of."""

_COARSE = np.array([0, 0, 0, 0, 0, 0, 1, 2, 3, 3, 4, 5])  # rank strata, fewer of them

MARGINS = (
    RANK_OF * PUSH_BANDS + PUSH_OF,
    RANK_OF * KINDS + KIND_OF,
    _COARSE[RANK_OF] * TASTES + TASTE_OF,
    (RANK_OF * PUSH_BANDS + PUSH_OF) * KINDS + KIND_OF,
)
"""Groups of cells: by rank and push; rank and kind of user; rank (coarsely) and taste; rank, push and kind."""


@dataclass(frozen=True)
class Stratified:
    """Pairs with their cells, and the people of the windows with their kinds."""

    # Whose each pair is, and to which cell it belongs.
    user: Codes
    cell: Codes
    # Everyone of each window, once for each, and of what kind; rates are for each person of a kind.
    person: Codes
    kind: Codes


def stratify(taken: WindowPairs, ranks: Codes, tastes: Codes, push: Floats, edges: Floats) -> Stratified:
    """The cell of each pair, from its ranks by production and by the model of taste.

    `edges` are the pushes at which a higher band begins.
    """
    known = taken.known
    stratum = np.where(known, _find_band(LAST_RANKS, ranks), NEW)
    band = np.where(known, np.searchsorted(edges, push, side="right"), 0)
    taste = np.where(known, _find_band(TASTE_RANKS, tastes), 0)
    cell = np.ravel_multi_index(
        (stratum, band, _find_kind(known, taken.size), taste), (RANK_STRATA, PUSH_BANDS, KINDS, TASTES)
    )
    return Stratified(
        taken.user, cell.astype(np.int64), taken.person, _find_kind(taken.person_known, taken.person_size)
    )


def add_up(by_cell: Floats) -> Floats:
    """Figures of cells, added up by rank stratum."""
    totals: Floats = np.bincount(RANK_OF, weights=by_cell, minlength=RANK_STRATA).astype(np.float64)
    return totals


def name_strata() -> list[str]:
    """What each rank stratum is called."""
    firsts = np.concatenate([[1], LAST_RANKS[:-1] + 1])
    ranks = [f"rank {a}" if a == b else f"ranks {a} to {b}" for a, b in zip(firsts, LAST_RANKS, strict=True)]
    return [*ranks, "beyond", "users without a profile"]


def _find_band(last_ranks: Codes, ranks: Codes) -> Codes:
    """The band of each rank; those that are 0, for none, are in the last."""
    return np.where(ranks > 0, np.searchsorted(last_ranks, ranks), len(last_ranks))


def _find_kind(known: Mask, size: Codes) -> Codes:
    return np.where(known, np.searchsorted(FIRST_SIZES, size, side="right"), 0)


_HOLDERS = 5.0  # added to those of each item, so that one take of a rare item is no push
_LEAST_HOLDERS = 3  # before a window: an item with fewer is new, and everything new has many interactions
_QUANTILES = (0.5, 0.8, 0.95)  # of what is usually taken: few usual pairs are of items that are pushed as much


@dataclass(frozen=True)
class ItemPush:
    """How often those who could be shown something interacted with each item in the windows."""

    # What was taken, and which of it counts.
    taken: WindowPairs
    counted: Mask
    times: Codes  # how often each item was, by code
    holders: Codes  # how many users held it before the first window

    @classmethod
    def measure(cls, taken: WindowPairs, counted: Mask) -> ItemPush:
        """Count what was taken, of the pairs that count."""
        n_items = len(taken.log.items)
        before = taken.profiles_before(0)
        holders = np.zeros(n_items, dtype=np.int64) if before is None else before.counts()
        return cls(taken, counted, np.bincount(taken.log.item[taken.entry[counted]], minlength=n_items), holders)

    def of(self, pairs: WindowPairs) -> Floats:
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
