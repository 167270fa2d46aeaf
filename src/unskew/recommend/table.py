"""Lists that were made elsewhere, as a recommender."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa

from unskew.arrays.profiles import all_entries, all_users, find_sorted
from unskew.arrays.types import Codes, Mask
from unskew.checks import public_class
from unskew.data.ids import Ids
from unskew.data.log import Log
from unskew.data.slice import Snapshot
from unskew.data.times import TimeAxis
from unskew.errors import EmptyError, InputError, PolicyError, warn
from unskew.reading.sources import expand, names_files
from unskew.recommend.calls import require_fitted
from unskew.recommend.contract import Batch, HeldOutPairs, Traits
from unskew.recommend.parameters import format_spec
from unskew.recommend.table_rows import (
    CodedLists,
    describe_guesses,
    find_ticks,
    find_unknown,
    name_column,
    number_owners,
    read_rows,
    warn_of_unknown,
)


@dataclass(frozen=True)
class Lists:
    """The lists of one date in codes, one after the other."""

    name: str
    snapshot: Snapshot
    per_user: bool
    key: Codes  # whose list it is: the user, and the held-out item where there is one; ascending
    # List g is ``item[start[g]:start[g + 1]]``.
    start: Codes
    item: Codes
    held: Mask  # whether the user holds the item, for each item of each list; the held-out item does not count

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

    def find_held_out(self, user: int, remaining: Codes) -> int:
        """The one item that a profile lacks."""
        p = self.snapshot.profiles
        full = p.item[int(p.start[user]) : int(p.stop[user])].astype(np.int64)
        lacking = full[~np.isin(full, remaining)]
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
        listed = g >= 0
        size = len(self.snapshot.log.items) + 1  # with what the log does not have
        sorted_by = np.argsort(self._owners() * size + self.item)
        keys = (self._owners() * size + self.item)[sorted_by]
        at = find_sorted(keys, np.where(listed, g, 0) * size + item)
        listed &= at >= 0
        entry = sorted_by[at] if len(keys) else np.zeros_like(item)
        first = self.start[np.where(g >= 0, g, 0)]
        before = np.concatenate([[0], np.cumsum(self.held)])
        if not self.per_user:
            self._check_profiles(g, user, before, k)
        skipped = before[entry] - before[first] if self.per_user else 0
        rank = entry - first - skipped + 1
        ranks: Codes = np.where(listed & (rank <= k), rank, 0)
        return ranks

    def find_empty(self, user: Codes, item: Codes) -> Mask:
        """Whether the list has nothing but what the remaining profile, without `item`, has; or there is none."""
        g = self._find(user, np.full_like(item, -1) if self.per_user else item)
        counts = self.item < len(self.snapshot.log.items)
        left = np.concatenate([[0], np.cumsum(counts & ~self.held if self.per_user else counts)])
        empty: Mask = g < 0
        empty[~empty] = np.diff(left[self.start])[g[~empty]] == 0
        closer = np.flatnonzero(empty & (g >= 0))  # the held-out item alone may be left
        empty[closer] = self.rank(user[closer], item[closer], len(self.item) + 1) == 0
        return empty

    def _check_profiles(self, g: Codes, user: Codes, before: Codes, k: int) -> None:
        """No list may have among its first k what the remaining profile holds."""
        listed = np.flatnonzero(g >= 0)
        first = self.start[g[listed]]
        last = np.minimum(first + k, self.start[g[listed] + 1])
        bad = before[last] > before[first]
        if bad.any():
            pair = int(np.argmax(bad))
            entry = first[pair] + int(np.argmax(self.held[first[pair] : last[pair]]))
            log = self.snapshot.log
            raise InputError(
                f"{self.name}, for user {log.users[int(user[listed[pair]])]!r}: recommends item "
                f"{log.items[int(self.item[entry])]!r}, which is in the profile",
                remedy="take it out of the table",
            )

    def _owners(self) -> Codes:
        return np.repeat(np.arange(len(self.key)), np.diff(self.start))

    def _find(self, user: Codes, held_out: Codes) -> Codes:
        return find_sorted(self.key, number_owners(user, held_out, self.snapshot.log))


def _number_pairs(snapshot: Snapshot, user: Codes, item: Codes) -> Codes:
    return user * (len(snapshot.log.items) + 1) + item


def _held_pairs(snapshot: Snapshot) -> Codes:
    """A number for each pair of a user and an item it holds."""
    p = snapshot.profiles
    return _number_pairs(snapshot, all_users(p), p.item[all_entries(p)].astype(np.int64))


@public_class
class Table:
    """Recommendations external: a list of items for each user, or for each user and held-out item.

    Parameters
    ----------
    source
        A Parquet, CSV, JSON lines or Arrow file (whatever `read_log` reads), a glob, a folder or a list of these,
        or a dataframe, with the columns

        - ``user``;
        - ``held_out``, if each list was made for the profile without that item;
        - ``items``, a ranked list (not in CSV), best first; or ``item`` and ``rank``, the smallest first; or
          ``item`` and ``score``, the highest first and ties by id;
        - ``date``, if there are lists of several dates: from when each was valid.

    user, item, items, rank, score, held_out, date
        What these columns are called, if not that. ``user_id``, ``sku``, ``pos``, ``day`` and the like are taken
        without being told, with a warning that says which.
    valid_from
        The date from which all lists were valid, in place of a column. Without either, the dates in the names of
        the files count, if each has one: ``lists/2013-09-01.parquet``, ``lists/date=2013-09-01/part-0.parquet``.

    Notes
    -----
    **At a date, the list of a user is the newest one that was valid by then**; a later one is never used, since it
    knows what has to be found. With a time split the date is that of the split. As everywhere, a bare date means
    the end of that day. Lists without any date are scored wherever they are asked for; a report does not score
    them at its reference date.

    **Most tables hold, for each user, what was recommended for the full profile, without what the user had
    already. Such a table cannot contain any held-out item, and every score is 0.** There are three ways out:

    - lists that were not rid of what the user has: without a ``held_out`` column, items that the
      remaining profile holds are skipped here. The model has still seen the held-out item, in the profile too;
    - lists made at an earlier date: ``evaluate(..., after=date)`` looks for what users took after it;
    - a list for each held-out item, with a ``held_out`` column: nothing is skipped, and a list that has an item of
      the remaining profile is an error. For a sample of pairs, see ``unskew sample``.

    Users that the log does not have are skipped. Items that it does not have keep their place in a list, as in
    other libraries. A warning counts both. Users who are scored and have no list count as misses, and are counted
    as well.

    Examples
    --------
    >>> import unskew as us
    >>> from unskew.recommend import Table
    >>> log = us.read_log({"user": ["ann", "ann", "bob"], "item": ["x", "y", "z"], "time": [1, 1, 1]})
    >>> lists = {"user": ["ann", "bob"], "items": [["x", "z", "y"], ["z", "x"]]}
    >>> table = Table(lists).fit(log.at(1).number_by_id())
    >>> table
    Table(2 lists, 5 recommendations)
    """

    def __init__(
        self,
        source: Any,
        *,
        user: str | None = None,
        item: str | None = None,
        items: str | None = None,
        rank: str | None = None,
        score: str | None = None,
        held_out: str | None = None,
        date: str | None = None,
        valid_from: Any = None,
    ) -> None:
        if date is not None and valid_from is not None:
            raise PolicyError(
                "date= of a table names a column of dates, and valid_from= (from= in a spec) is one for all lists",
                remedy="give one of the two",
            )
        named = {
            "user": user,
            "item": item,
            "items": items,
            "rank": rank,
            "score": score,
            "held_out": held_out,
            "date": date,
        }
        files = expand(source) if names_files(source) else []
        self._name = _name_table(source, files, {**named, "from": valid_from})
        rows = read_rows(files or source, named, dated=valid_from is not None)
        self._rows = rows if valid_from is None else rows.valid_from(valid_from)
        guessed = describe_guesses(rows.columns, named)
        if guessed:
            warn(f"{self} was read with {guessed}")
        self.traits = Traits(learns="external", external=True, files=tuple(files))
        self._firsts: dict[TimeAxis, float] = {}  # the first date of any list, looked for once
        self._coded: tuple[Log, CodedLists] | None = None  # ids are looked up once for all dates of a log
        self._lists: Lists | None = None

    def __str__(self) -> str:
        return self._name

    def __repr__(self) -> str:
        lists = "" if self._lists is None else f"{len(self._lists.key)} lists, "
        return f"Table({lists}{len(self._rows)} recommendations)"

    @property
    def dates(self) -> tuple[Any, ...]:
        """From when lists were valid, as they say it; empty if they do not."""
        return self._rows.dates

    def is_valid_at(self, axis: TimeAxis, tick: int | float, /) -> bool | None:
        """Whether there are lists that were valid at a time of a log; None if they do not say since when."""
        if self._rows.date is None:
            return None
        if axis not in self._firsts:
            self._firsts[axis] = min(find_ticks(self.dates, axis, str(self)), default=math.inf)
        return bool(self._firsts[axis] <= tick)

    def fit(self, snapshot: Snapshot, /) -> Self:
        """Find the ids in the log, and the lists that were valid at the date; nothing is learned."""
        log = snapshot.log
        if self.is_valid_at(log.axis, snapshot.tick) is False:
            raise EmptyError(f"no lists of {self} are valid at {snapshot.at}", remedy=self._describe_dates(log))
        if self._coded is None or self._coded[0] is not log:
            self._coded = (log, CodedLists.of(self._rows, log, str(self)))
        self._lists = Lists.of(self._coded[1], snapshot, str(self))
        return self

    def hold_against(self, items: Ids, view: str, find_users: Callable[[pa.Array, bool, str], Mask]) -> None:
        """Warn of what a log on many machines does not have, and refuse lists of which it has nothing.

        `find_users` says of ids, which may be texts of a file, whether any of the machines has them.
        """
        rows, name = self._rows, str(self)
        known = find_users(rows.user, rows.is_text, name_column(rows, "user", name))
        *_, unknown = find_unknown(rows, items, known, name)
        if any(mask.any() for mask in unknown.values()):
            warn_of_unknown(rows, unknown, view, f"items such as {items.examples()}", name)

    def _describe_dates(self, log: Log) -> str:
        if not self.dates:
            return "it has no lists at all"
        first = int(np.argmin(find_ticks(self.dates, log.axis, str(self))))
        return f"the first are valid from {self.dates[first]}"

    def count_missing(self, pairs: HeldOutPairs, /) -> tuple[int, int, str]:
        """How many of those whom the pairs score have no list, of how many, and of what: users, or pairs."""
        lists = require_fitted(self._lists, self)
        unit = "users" if lists.per_user else "pairs of a user and a held-out item"
        return *lists.count_missing(pairs), unit

    def recommend(self, profiles: Batch, k: int, /) -> Codes:
        """The first k items of each list: shape (len(profiles), k), -1 for none and for one that the log lacks.

        With a ``held_out`` column, the held-out item is the one that the profile lacks.
        """
        lists = require_fitted(self._lists, self)
        out = np.full((len(profiles), k), -1, dtype=np.int64)
        for row in range(len(profiles)):
            remaining = profiles.profile(row)
            user = int(profiles.user[row])
            items = lists.list_of(user, -1 if lists.per_user else lists.find_held_out(user, remaining))
            if lists.per_user:
                items = items[~np.isin(items, remaining)]
            out[row, : min(k, len(items))] = np.where(items < profiles.n_items, items, -1)[:k]
        return out

    def held_out_ranks(self, pairs: HeldOutPairs, k: int, /) -> Codes:
        """The rank of each held-out item, from 1; 0 if it is not among the first k of its list."""
        return require_fitted(self._lists, self).rank(pairs.user, pairs.item, k)

    def empty_lists(self, pairs: HeldOutPairs, /) -> Mask:
        """Whether there is no list, or none with an item that the remaining profile does not have."""
        return require_fitted(self._lists, self).find_empty(pairs.user, pairs.item)


def _name_table(source: Any, files: Sequence[Path], named: Mapping[str, Any]) -> str:
    """The table as a spec names it, with what was said about it."""
    path = "table"
    if isinstance(source, str | Path):
        path = f"table:{source}"
    elif files:
        path = f"table:{files[0]}" + (f" and {len(files) - 1} more" if len(files) > 1 else "")
    return format_spec(path, **{name: value for name, value in named.items() if value is not None})
