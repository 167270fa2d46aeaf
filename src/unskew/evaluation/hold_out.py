"""Holding out: the profiles that are left when items are taken out of them, in batches."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from unskew.arrays.rows import all_entries, entries_of, users_of
from unskew.arrays.types import Codes, Mask
from unskew.data.slice import Snapshot
from unskew.recommend.contract import Batch, HeldOutPairs


@dataclass(frozen=True)
class HoldOut:
    """How items are held out.

    Attributes
    ----------
    profiles
        What recommenders may see of each user: the evaluated snapshot itself (one or more items are taken
        out of it), or one that is without them (nothing has to be taken out).
    together
        How many items of a profile are held out at a time.
    seed
        Of the choice of which ones go together.
    """

    profiles: Snapshot
    together: int = 1
    seed: int = 0

    def batches(self, pairs: HeldOutPairs, size: int) -> Iterator[tuple[slice, Batch]]:
        """The profiles that are left when the pairs are held out, in batches of about `size` entries."""
        p = self.profiles.profiles
        same = self.profiles is pairs.snapshot
        lengths = (p.stop[pairs.user].astype(np.int64) - p.start[pairs.user].astype(np.int64)) + 1
        bounds = np.cumsum(lengths)
        group = self._groups(pairs) if same else None
        at = 0
        while at < len(pairs):
            done = bounds[at - 1] if at else 0
            end = max(int(np.searchsorted(bounds, done + size, side="right")), at + 1)
            yield slice(at, end), self._batch(pairs, at, end, group)
            at = end

    def number_lists(self, pairs: HeldOutPairs) -> Codes:
        """The list in which each pair is sought, as a number: that of the profile which is left for it."""
        if self.profiles is not pairs.snapshot:
            return pairs.user
        if self.together == 1:
            return np.arange(len(pairs))
        return self._groups(pairs)[pairs.entry] * self.profiles.profiles.n_users + pairs.user

    def leaves_nothing(self, pairs: HeldOutPairs) -> Mask:
        """For which pairs nothing is left of the profile."""
        sizes = self.profiles.profiles.sizes_of(pairs.user)
        nothing: Mask = sizes <= (self.together if self.profiles is pairs.snapshot else 0)
        return nothing

    def _batch(self, pairs: HeldOutPairs, at: int, end: int, group: Codes | None) -> Batch:
        p = self.profiles.profiles
        user = pairs.user[at:end]
        offsets, entries = entries_of(p, user)
        if group is not None:
            keep = group[entries] != np.repeat(group[pairs.entry[at:end]], np.diff(offsets))
            entries = entries[keep]
            offsets = np.concatenate([[0], np.cumsum(keep)])[offsets]
        return Batch(user, offsets, p.item[entries].astype(np.int64), p.n_items)

    def _groups(self, pairs: HeldOutPairs) -> Codes:
        """A number for each entry; entries of a profile with the same number are held out together."""
        n = len(pairs.snapshot.profiles.item)
        if self.together == 1:
            return np.arange(n)
        rng = np.random.default_rng(self.seed)
        entries = all_entries(pairs.snapshot.profiles)
        user = users_of(pairs.snapshot.profiles, entries)
        shuffled = np.lexsort((rng.random(len(entries)), user))
        place = np.arange(len(entries)) - np.searchsorted(user[shuffled], user[shuffled], side="left")
        group = np.zeros(n, dtype=np.int64)
        group[entries[shuffled]] = place // self.together
        return group
