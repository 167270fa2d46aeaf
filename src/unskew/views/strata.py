"""Strata: what was taken, by the rank that production gave to it; and cells, which are finer.

A pair belongs to a *rank stratum*: reports are by these. Pairs are thinned by *cell*: the rank stratum, the push
of the item (`unskew.views.item_push`), the size of the profile, and whether the item is to the user's taste, which
is its rank by a second model. Since cells are many and thin, only their margins are trusted (`MARGINS`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unskew.arrays.types import Codes, Floats, Mask
from unskew.views.taken_pairs import TakenPairs

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
    """Pairs with their cells, and the people of the windows with their kinds.

    Attributes
    ----------
    user, cell
        Whose each pair is, and to which cell it belongs.
    person, kind
        Everyone of each window, once for each, and of what kind; rates are for each person of a kind.
    """

    user: Codes
    cell: Codes
    person: Codes
    kind: Codes


def stratify(taken: TakenPairs, ranks: Codes, tastes: Codes, push: Floats, edges: Floats) -> Stratified:
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
    """The kind of each user."""
    return np.where(known, np.searchsorted(FIRST_SIZES, size, side="right"), 0)
