"""What a recommender is: two methods, on codes.

Anything with ``fit`` and ``recommend`` will do; nothing has to be subclassed. Items and users are codes
here (positions in ``snapshot.log.items`` and ``.users``); `unskew.evaluate` turns ids into codes and back.

**Items are numbered in the order of their ids.** Whoever drives a recommender hands it a snapshot that was
numbered so (`Slice.number_by_id`), and batches and pairs of the same snapshot. A stable sort by score then breaks
ties by id. In the log itself the most frequent item of all history has the smallest code: a recommender that
is fitted to ``log.at(date)`` directly works, but lets its ties know the future.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
import numpy.typing as npt
from scipy import sparse

from unskew.arrays.types import Codes
from unskew.data.snapshot import Snapshot


@dataclass(frozen=True)
class Batch:
    """Profiles to recommend for: what is left of each when what is held out has been taken out.

    Attributes
    ----------
    user
        The code of the user of each profile; a user may come several times.
    start, item
        Profile k is ``item[start[k]:start[k + 1]]``: item codes, in the order in which they were taken.
    n_items
        Number of items; every code is below it.
    """

    user: Codes
    start: Codes
    item: Codes
    n_items: int

    def __len__(self) -> int:
        return len(self.user)

    def profile(self, k: int) -> Codes:
        """The items of profile k."""
        return self.item[self.start[k] : self.start[k + 1]]

    def matrix(self) -> sparse.csr_matrix:
        """The profiles as rows of ones, for libraries that want a matrix."""
        ones = np.ones(len(self.item), dtype=np.float32)
        return sparse.csr_matrix((ones, self.item, self.start), shape=(len(self), self.n_items))


@runtime_checkable
class Recommender(Protocol):
    """Recommends items for profiles.

    ``recommend`` never gives an item that the profile holds, nor one twice; it may give fewer than k, with
    -1 for none, at the end. Equal scores are told apart the same way every time; by code is best, which is by id.
    """

    def fit(self, snapshot: Snapshot, /) -> Self:
        """Learn from the profiles at a date; returns itself."""

    def recommend(self, profiles: Batch, k: int, /) -> Codes:
        """The best k items of each profile: shape (len(profiles), k), -1 for none."""


@runtime_checkable
class RanksHeldOut(Protocol):
    """A recommender that can tell the rank of held-out items faster than by recommending."""

    def held_out_ranks(self, pairs: HeldOutPairs, k: int, /) -> Codes:
        """The rank of each held-out item, from 1; 0 if it is not among the best k."""


@dataclass(frozen=True)
class HeldOutPairs:
    """Pairs of a user and an item of its profile that is held out; one item at a time.

    Attributes
    ----------
    snapshot
        The profiles, with the held-out items still in them.
    user, item
        Codes of each pair, sorted by user.
    entry
        Where the pair is in ``snapshot.profiles.item``.
    """

    snapshot: Snapshot
    user: Codes
    item: Codes
    entry: Codes

    def __len__(self) -> int:
        return len(self.user)


def top_k(scores: npt.NDArray[Any], k: int) -> Codes:
    """The k items of highest score in each row, ties by code; -inf and NaN mean never.

    Shape (n, k), -1 for none.
    """
    out = np.full((len(scores), k), -1, dtype=np.int64)
    for row, all_scores in enumerate(scores):
        some = np.flatnonzero(all_scores > -np.inf)
        s = all_scores[some]
        if k < len(s):
            near = s >= np.partition(s, len(s) - k)[len(s) - k]
            some, s = some[near], s[near]
        best = some[np.argsort(-s, kind="stable")][:k]
        out[row, : len(best)] = best
    return out
