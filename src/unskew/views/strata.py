"""Strata: pairs that are thinned alike, by the rank that production gave to the item."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unskew.arrays.types import Codes, Mask
from unskew.views.taken_pairs import TakenPairs

LAST_RANKS = np.array([1, 2, 3, 5, 9, 14, 24, 48, 96, 200])
"""The last rank of each stratum; one more is beyond them all, and one is of users who had no profile."""

BEYOND = len(LAST_RANKS)
NEW = BEYOND + 1
NUMBER = NEW + 1
"""How many strata there are."""


@dataclass(frozen=True)
class Stratified:
    """Pairs with their strata, and the people of the windows with their kinds.

    Attributes
    ----------
    stratum
        Of each pair, as a number.
    user
        Whose each pair is.
    person, kind
        Everyone of each window, once for each, and of what kind: rates of a stratum are for each person of one.
    """

    stratum: Codes
    user: Codes
    person: Codes
    kind: Codes


KNOWN_USERS, NEW_USERS = 0, 1
KIND_OF = np.where(np.arange(NUMBER) == NEW, NEW_USERS, KNOWN_USERS)
"""Of which kind of people the rate of each stratum is."""


def stratify(taken: TakenPairs, ranks: Codes) -> Stratified:
    """The stratum of each pair."""
    stratum = np.where(ranks > 0, np.searchsorted(LAST_RANKS, ranks), np.where(ranks < 0, NEW, BEYOND))
    return Stratified(stratum, taken.user, taken.person, np.where(taken.person_size > 0, KNOWN_USERS, NEW_USERS))


def name_strata() -> list[str]:
    """What each stratum is called."""
    firsts = np.concatenate([[1], LAST_RANKS[:-1] + 1])
    ranks = [f"rank {a}" if a == b else f"ranks {a} to {b}" for a, b in zip(firsts, LAST_RANKS, strict=True)]
    return [*ranks, f"beyond rank {LAST_RANKS[-1]}", "users without a profile"]


def is_outermost() -> Mask:
    """Which strata recommendations do not reach."""
    return np.arange(NUMBER) == BEYOND
