"""Pairs and people, counted by blocks of users: from these come rates, for all users or for any sample of blocks.

Users are dealt into blocks at random. A sample of blocks stands for a sample of users, and costs the same however
large the log is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from unskew.arrays.types import Codes, Floats, Mask
from unskew.views.strata import CELLS, KINDS, Stratified

MOST_BLOCKS = 200


@dataclass(frozen=True)
class Tally:
    """Counts of those who could be shown something, and of those who were shown nothing.

    Attributes
    ----------
    suspect, others
        Pairs that recommendations may have brought and others, by block and cell.
    people
        Users who could be shown something, once for each window, by block and kind.
    quiet_pairs, quiet_people
        The same where nothing was shown.
    scaled
        Whether that was at another time, so that it must be scaled to agree where recommendations do not reach.
    models
        By how many models the quiet pairs were ranked: each pair counts so many times.
    """

    suspect: Floats
    others: Floats
    people: Floats
    quiet_pairs: Floats
    quiet_people: Floats
    scaled: bool
    models: int = 1

    @property
    def blocks(self) -> int:
        """How many blocks of users there are."""
        return len(self.suspect)


def deal_blocks(n_users: int, holdout: Mask | None, seed: int) -> Codes:
    """A block for each user: as many of the holdout group in each as possible, and of the others."""
    order = np.random.default_rng([seed, 0xB10C]).permutation(n_users)
    if holdout is not None:
        order = order[np.argsort(holdout[order], kind="stable")]
    block = np.empty(n_users, dtype=np.int64)
    block[order] = np.arange(n_users) % min(MOST_BLOCKS, max(2, n_users // 2))
    return block


def tally(
    pairs: Stratified, suspect: Mask, quiet: Sequence[Stratified], holdout: Mask | None, block: Codes
) -> Tally:
    """Count pairs and people by block.

    `quiet` has the pairs of quiet windows, once for each model that ranked them; if it is empty, the holdout group
    is who was shown nothing.
    """
    blocks = int(block.max()) + 1
    nobody = np.zeros(len(block), dtype=np.bool_) if holdout is None else holdout
    shown, shown_people = ~nobody[pairs.user], ~nobody[pairs.person]
    unshown = [(some, ~nobody[some.user], ~nobody[some.person]) for some in quiet] or [
        (pairs, ~shown, ~shown_people)
    ]
    return Tally(
        _count(pairs.user, pairs.cell, shown & suspect, block, blocks, CELLS),
        _count(pairs.user, pairs.cell, shown & ~suspect, block, blocks, CELLS),
        _count(pairs.person, pairs.kind, shown_people, block, blocks, KINDS),
        _sum(_count(some.user, some.cell, which, block, blocks, CELLS) for some, which, _ in unshown),
        _sum(_count(some.person, some.kind, which, block, blocks, KINDS) for some, _, which in unshown),
        scaled=bool(quiet),
        models=len(unshown),
    )


def _sum(several: Iterable[Floats]) -> Floats:
    total: Floats = np.sum(list(several), axis=0)
    return total


def _count(user: Codes, what: Codes, which: Mask, block: Codes, blocks: int, size: int) -> Floats:
    places = block[user[which]] * size + what[which]
    return np.bincount(places, minlength=blocks * size).reshape(blocks, size).astype(np.float64)
