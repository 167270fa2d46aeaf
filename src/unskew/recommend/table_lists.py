"""The lists of a table, in the codes of a log: who has which, and where an item is in it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from unskew.arrays.rows import all_entries, all_users
from unskew.arrays.types import Codes, Floats, Mask
from unskew.data.ids import Ids, are_comparable, ids_of_texts, kind_of
from unskew.data.snapshot import Snapshot
from unskew.errors import InputError
from unskew.recommend.table_rows import Rows
from unskew.text import count


@dataclass(frozen=True)
class Lists:
    """The lists in codes, one after the other.

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
    def of(cls, rows: Rows, snapshot: Snapshot, name: str) -> Lists:
        log = snapshot.log
        user = _find_codes(rows.user, log.users, rows.is_text, f"{name}: column 'user'")
        item = _find_codes(rows.item, log.items, rows.is_text, f"{name}: column {rows.item_column!r}")
        held_out = np.full(len(rows), -1, dtype=np.int64)
        if rows.held_out is not None:
            held_out = _find_codes(rows.held_out, log.items, rows.is_text, f"{name}: column 'held_out'")
        unknown = (user < 0) | (item < 0)
        if rows.held_out is not None:
            unknown |= held_out < 0
        if unknown.any():
            raise _unknown_ids(rows, unknown, user < 0, item < 0, snapshot, name)

        key = user * (len(log.items) + 1) + held_out + 1
        by = (rows.rank,) if rows.rank is not None else (item, -_require_score(rows))
        order = np.lexsort((*by, key))
        key, item = key[order], item[order]
        _check_once(rows, order, key, item, name)
        keys, start = np.unique(key, return_index=True)
        holds = np.isin(_number_pairs(snapshot, user[order], item), _held_pairs(snapshot))
        holds &= held_out[order] != item
        return cls(
            name=name,
            snapshot=snapshot,
            per_user=rows.held_out is None,
            key=keys,
            start=np.append(start, len(item)).astype(np.int64),
            item=item,
            held=holds,
        )

    def list_of(self, user: int, held_out: int) -> Codes:
        """The list of a user; empty if there is none."""
        g = int(self._find(np.array([user]), np.array([held_out]))[0])
        return self.item[self.start[g] : self.start[g + 1]] if g >= 0 else self.item[:0]

    def find_left_out(self, user: int, own: Codes) -> int:
        """The one item that a profile lacks."""
        p = self.snapshot.profiles
        full = p.item[int(p.start[user]) : int(p.stop[user])].astype(np.int64)
        lacking = full[~np.isin(full, own)]
        if len(lacking) == 0:
            raise InputError(
                f"{self.name} has a list for each held-out item, but nothing is taken out of the profile of user "
                f"{self.snapshot.log.users[user]!r}",
                remedy="with a time split, give one list for each user",
            )
        if len(lacking) > 1:
            raise InputError(
                f"{self.name} has a list for each held-out item, but {len(lacking)} items of the profile of user "
                f"{self.snapshot.log.users[user]!r} are left out",
                remedy="leave out one at a time",
            )
        return int(lacking[0])

    def count_without(self) -> tuple[int, int]:
        """How many users (or pairs) of the snapshot have no list, and how many there are."""
        if self.per_user:
            user = np.flatnonzero(self.snapshot.sizes())
            item = np.full(len(user), -1, dtype=np.int64)
        else:
            user, item = np.divmod(_held_pairs(self.snapshot), max(len(self.snapshot.log.items), 1))
        return int((self._find(user, item) < 0).sum()), len(user)

    def rank(self, user: Codes, item: Codes, k: int) -> Codes:
        """Where `item` is in the list, not counting what the remaining profile holds."""
        g = self._find(user, np.full_like(item, -1) if self.per_user else item)
        there = g >= 0
        size = len(self.snapshot.log.items)
        sorted_by = np.argsort(self._owners() * size + self.item)
        keys = (self._owners() * size + self.item)[sorted_by]
        wanted = np.where(there, g, 0) * size + item
        at = np.minimum(np.searchsorted(keys, wanted), max(len(keys) - 1, 0))
        there &= keys[at] == wanted if len(keys) else False
        entry = sorted_by[at] if len(keys) else np.zeros_like(item)
        first = self.start[np.where(g >= 0, g, 0)]
        before = np.concatenate([[0], np.cumsum(self.held)])
        if not self.per_user:
            self._check_profiles(g, user, before, k)
        skipped = before[entry] - before[first] if self.per_user else 0
        rank = entry - first - skipped + 1
        found: Codes = np.where(there & (rank <= k), rank, 0)
        return found

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
        wanted = user * (len(self.snapshot.log.items) + 1) + held_out + 1
        if not len(self.key):
            return np.full(len(user), -1, dtype=np.int64)
        at = np.minimum(np.searchsorted(self.key, wanted), len(self.key) - 1)
        found: Codes = np.where(self.key[at] == wanted, at, -1)
        return found


def _find_codes(values: pa.Array, ids: Ids, is_text: bool, where: str) -> Codes:
    if is_text:
        return ids.codes(ids_of_texts(values, ids))
    theirs, ours = values.type, ids.values.type
    if len(values) and not are_comparable(theirs, ours):
        raise InputError(
            f"{where} holds {kind_of(theirs)} ({values[0].as_py()!r}), but the ids of the log are {kind_of(ours)} "
            f"({ids.examples()})",
            remedy="give them in the type of the log",
        )
    return ids.codes(values)


def _unknown_ids(
    rows: Rows,
    unknown: Mask,
    no_user: Mask,
    no_item: Mask,
    snapshot: Snapshot,
    name: str,
) -> InputError:
    first, n = int(np.argmax(unknown)), int(unknown.sum())
    user, item = rows.user[first].as_py(), rows.item[first].as_py()
    held_out = None if rows.held_out is None else rows.held_out[first].as_py()
    what = f"user {user!r}" if no_user[first] else f"item {item!r}" if no_item[first] else f"item {held_out!r}"
    view = "" if snapshot.policy.view == "all" else f" ({snapshot.policy.view} view)"
    return InputError(
        f"{name} recommends item {item!r} to user {user!r}, but the log{view} has no {what}; there "
        f"{'are' if n > 1 else 'is'} {count(n, 'such recommendation')}",
        remedy="leave them out, or give the ids of the log",
    )


def _check_once(rows: Rows, order: Codes, key: Codes, item: Codes, name: str) -> None:
    by_item = np.lexsort((item, key))
    twice = np.flatnonzero((np.diff(key[by_item]) == 0) & (np.diff(item[by_item]) == 0))
    if len(twice):
        row = int(order[by_item[twice[0]]])
        raise InputError(
            f"{name} recommends item {rows.item[row].as_py()!r} to user {rows.user[row].as_py()!r} twice in a list"
        )
    if rows.rank is not None:
        rank = rows.rank[order]
        equal = np.flatnonzero((np.diff(key) == 0) & (np.diff(rank) == 0))
        if len(equal):
            row = int(order[equal[0]])
            raise InputError(
                f"{name} has two items of rank {rows.rank[row]:g} for user {rows.user[row].as_py()!r}",
                remedy="give each its own",
            )


def _require_score(rows: Rows) -> Floats:
    assert rows.score is not None  # there is a rank or a score
    return rows.score


def _number_pairs(snapshot: Snapshot, user: Codes, item: Codes) -> Codes:
    return user * len(snapshot.log.items) + item


def _held_pairs(snapshot: Snapshot) -> Codes:
    """A number for each pair of a user and an item it holds."""
    p = snapshot.profiles
    return _number_pairs(snapshot, all_users(p), p.item[all_entries(p)].astype(np.int64))
