"""Cross-fitting: pairs are dealt into folds, and each is ranked by a model that was fitted without its fold.

This makes the scores of any model comparable with exact leave-one-out: what it has learned does not contain the
pair that it has to find. It has learned from a little less, though: with K folds, from ``1 - 1/K`` of the
pairs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from unskew.arrays.rows import all_entries, users_of
from unskew.arrays.types import Codes
from unskew.checks import require_whole_number
from unskew.data.slice import Snapshot
from unskew.errors import PolicyError, option
from unskew.recommend.contract import HeldOutPairs


@dataclass(frozen=True, eq=False)
class Folds:
    """Which fold each entry of a snapshot is in.

    Attributes
    ----------
    snapshot
        The profiles.
    number
        How many folds there are.
    fold
        Of each place of ``profiles.item``; -1 where no profile is.
    """

    snapshot: Snapshot
    number: int
    fold: Codes

    @classmethod
    def deal(cls, snapshot: Snapshot, number: int, seed: int) -> Folds:
        """Deal the entries like cards: users in random order, the entries of each in random order, one fold after
        the other. So folds are of equal size, and a user's pairs go to different ones as evenly as possible.
        """
        require_whole_number(option("folds"), number, "how many parts the pairs are dealt into", 2)
        entries = all_entries(snapshot.profiles)
        if number > len(entries):
            raise PolicyError(
                f"{option('folds')} is {number}, but there are only {len(entries)} pairs to deal",
                remedy="give no more folds than pairs; 10 are usual",
            )
        rng = np.random.default_rng(seed)
        turn = rng.permutation(snapshot.profiles.n_users)[users_of(snapshot.profiles, entries)]
        order = np.lexsort((rng.random(len(entries)), turn))
        fold = np.full(len(snapshot.profiles.item), -1, dtype=np.int64)
        fold[entries[order]] = np.arange(len(entries)) % number
        return cls(snapshot, number, fold)

    def training(self, k: int) -> Snapshot:
        """The profiles without the pairs of fold k."""
        return self.snapshot.without(np.flatnonzero(self.fold == k))

    def places(self, pairs: HeldOutPairs, k: int) -> Codes:
        """Which of the pairs are in fold k."""
        return np.flatnonzero(self.fold[pairs.entry] == k)


def take_pairs(pairs: HeldOutPairs, places: Codes) -> HeldOutPairs:
    """Some of the pairs."""
    return replace(pairs, user=pairs.user[places], item=pairs.item[places], entry=pairs.entry[places])
