"""The lists of a table that are valid at a date: who has which, and where an item is in it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unskew.arrays.lookup import find_sorted
from unskew.arrays.rows import all_entries, all_users
from unskew.arrays.types import Codes, Mask
from unskew.data.snapshot import Snapshot
from unskew.errors import InputError
from unskew.recommend.contract import HeldOutPairs
from unskew.recommend.table_codes import CodedLists, number_owners


@dataclass(frozen=True)
class Lists:
    """The lists of one date in codes, one after the other.

    Attributes
    ----------
    key
        Whose list it is: the user, and the held-out item where there is one; ascending.
    start, item
        List g is ``item[start[g]:start[g + 1]]``.
    held
        Whether the user holds the item, for each item of each list; the held-out item does not count.
    """

    name: str
    snapshot: Snapshot
    per_user: bool
    key: Codes
    start: Codes
    item: Codes
    held: Mask

    @classmethod
    def of(cls, coded: CodedLists, snapshot: Snapshot, name: str) -> Lists:
        """Of each user the newest list that was valid at the date of the snapshot."""
        key, start, item = coded.newest(snapshot.tick)
        user, held_out = np.divmod(np.repeat(key, np.diff(start)), len(snapshot.log.items) + 1)
        holds = np.isin(_number_pairs(snapshot, user, item), _held_pairs(snapshot))
        holds &= held_out - 1 != item
        return cls(
            name=name,
            snapshot=snapshot,
            per_user=coded.per_user,
            key=key,
            start=start,
            item=item,
            held=holds,
        )

    def list_of(self, user: int, held_out: int) -> Codes:
        """The list of a user; empty if there is none."""
        g = int(self._find(np.array([user]), np.array([held_out]))[0])
        return self.item[self.start[g] : self.start[g + 1]] if g >= 0 else self.item[:0]

    def find_held_out(self, user: int, own: Codes) -> int:
        """The one item that a profile lacks."""
        p = self.snapshot.profiles
        full = p.item[int(p.start[user]) : int(p.stop[user])].astype(np.int64)
        lacking = full[~np.isin(full, own)]
        if len(lacking) == 0:
            raise InputError(
                f"{self.name} has a list for each held-out item, but nothing is held out from the profile of user "
                f"{self.snapshot.log.users[user]!r}",
                remedy="with a time split, give one list for each user",
            )
        if len(lacking) > 1:
            raise InputError(
                f"{self.name} has a list for each held-out item, but {len(lacking)} items of the profile of user "
                f"{self.snapshot.log.users[user]!r} are held out",
                remedy="hold out one at a time",
            )
        return int(lacking[0])

    def count_missing(self, pairs: HeldOutPairs) -> tuple[int, int]:
        """How many of the users (or pairs) to be scored have no list, and how many are to be scored."""
        user = np.unique(pairs.user) if self.per_user else pairs.user
        held_out = np.full(len(user), -1, dtype=np.int64) if self.per_user else pairs.item
        return int((self._find(user, held_out) < 0).sum()), len(user)

    def rank(self, user: Codes, item: Codes, k: int) -> Codes:
        """Where `item` is in the list, not counting what the remaining profile holds."""
        g = self._find(user, np.full_like(item, -1) if self.per_user else item)
        there = g >= 0
        size = len(self.snapshot.log.items)
        sorted_by = np.argsort(self._owners() * size + self.item)
        keys = (self._owners() * size + self.item)[sorted_by]
        at = find_sorted(keys, np.where(there, g, 0) * size + item)
        there &= at >= 0
        entry = sorted_by[at] if len(keys) else np.zeros_like(item)
        first = self.start[np.where(g >= 0, g, 0)]
        before = np.concatenate([[0], np.cumsum(self.held)])
        if not self.per_user:
            self._check_profiles(g, user, before, k)
        skipped = before[entry] - before[first] if self.per_user else 0
        rank = entry - first - skipped + 1
        found: Codes = np.where(there & (rank <= k), rank, 0)
        return found

    def find_empty(self, user: Codes, item: Codes) -> Mask:
        """Whether the list has nothing but what the remaining profile, without `item`, has; or there is none."""
        g = self._find(user, np.full_like(item, -1) if self.per_user else item)
        left = np.concatenate([[0], np.cumsum(~self.held if self.per_user else np.ones(len(self.held)))])
        empty: Mask = g < 0
        empty[~empty] = np.diff(left[self.start])[g[~empty]] == 0
        closer = np.flatnonzero(empty & (g >= 0))  # the held-out item alone may be left
        empty[closer] = self.rank(user[closer], item[closer], len(self.item) + 1) == 0
        return empty

    def _check_profiles(self, g: Codes, user: Codes, before: Codes, k: int) -> None:
        """No list may have among its first k what the remaining profile holds."""
        there = np.flatnonzero(g >= 0)
        first = self.start[g[there]]
        last = np.minimum(first + k, self.start[g[there] + 1])
        bad = before[last] > before[first]
        if bad.any():
            pair = int(np.argmax(bad))
            entry = first[pair] + int(np.argmax(self.held[first[pair] : last[pair]]))
            log = self.snapshot.log
            raise InputError(
                f"{self.name}, for user {log.users[int(user[there[pair]])]!r}: recommends item "
                f"{log.items[int(self.item[entry])]!r}, which the profile holds"
            )

    def _owners(self) -> Codes:
        """The number of the list that each item is in."""
        return np.repeat(np.arange(len(self.key)), np.diff(self.start))

    def _find(self, user: Codes, held_out: Codes) -> Codes:
        """The number of each list, or -1."""
        return find_sorted(self.key, number_owners(user, held_out, self.snapshot.log))


def _number_pairs(snapshot: Snapshot, user: Codes, item: Codes) -> Codes:
    return user * len(snapshot.log.items) + item


def _held_pairs(snapshot: Snapshot) -> Codes:
    """A number for each pair of a user and an item it holds."""
    p = snapshot.profiles
    return _number_pairs(snapshot, all_users(p), p.item[all_entries(p)].astype(np.int64))
