"""The lists of a table in the codes of a log; what the log does not have is skipped and counted."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from unskew.arrays.types import Codes, Floats, Mask
from unskew.data.ids import Ids, are_comparable, kind_of
from unskew.data.log import Log
from unskew.data.times import Moment, TimeAxis
from unskew.errors import InputError, TimeError, UnskewWarning
from unskew.recommend.table_rows import Rows
from unskew.text import count, enumerate_words


@dataclass(frozen=True)
class CodedLists:
    """All lists of a table, of all dates, one after the other: by owner, then by date.

    Attributes
    ----------
    per_user
        Whether there is a list for each user, and not for each user and held-out item.
    key
        Whose each list is: the user, and the held-out item where there is one.
    since
        The tick from which each list is valid, or None if the table does not say.
    start, item
        List g is ``item[start[g]:start[g + 1]]``, best first.
    """

    per_user: bool
    key: Codes
    since: Floats | Codes | None
    start: Codes
    item: Codes

    @classmethod
    def of(cls, rows: Rows, log: Log, name: str) -> CodedLists:
        """Find the ids in the log and sort; warn of what it does not have."""
        user = find_codes(rows.user, log.users, rows.is_text, name_column(rows, "user", name))
        item, held_out, unknown = find_unknown(rows, log.items, (user >= 0) | log.is_part, name)
        known = ~np.logical_or.reduce(list(unknown.values()))
        if not log.is_part and not known.all():  # a part lacks what is in another
            examples = f"users such as {log.users.examples()} and items such as {log.items.examples()}"
            warn_of_unknown(rows, unknown, log.view, examples, name)
        kept = np.flatnonzero(known & (user >= 0))
        key = number_owners(user[kept], held_out[kept], log)
        since = None if rows.date is None else find_ticks(rows.dates, log.axis, name)[rows.date[kept]]
        order = _sort(rows, kept, key, since, item[kept])
        kept, key, since = kept[order], key[order], None if since is None else since[order]
        begins = np.ones(len(kept), dtype=bool)
        begins[1:] = np.diff(key) != 0
        if since is not None:
            begins[1:] |= np.diff(since) != 0
        _check_once(rows, kept, np.cumsum(begins), item[kept], name)
        first = np.flatnonzero(begins)
        return cls(
            per_user=rows.held_out is None,
            key=key[first],
            since=None if since is None else since[first],
            start=np.append(first, len(kept)).astype(np.int64),
            item=item[kept],
        )

    def newest(self, tick: int | float) -> tuple[Codes, Codes, Codes]:
        """Of each owner the newest list that is valid at a tick: owners in order, then `start` and `item`."""
        if self.since is None:
            return self.key, self.start, self.item
        valid = np.flatnonzero(self.since <= tick)
        is_last = np.append(np.diff(self.key[valid]) != 0, len(valid) > 0)[: len(valid)]
        lists = valid[is_last]
        lengths = np.diff(self.start)[lists]
        start = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        entries = np.arange(start[-1]) + np.repeat(self.start[lists] - start[:-1], lengths)
        return self.key[lists], start, self.item[entries]


def number_owners(user: Codes, held_out: Codes, log: Log) -> Codes:
    """A number for each owner of a list: a user, and a held-out item or -1."""
    return user * (len(log.items) + 1) + held_out + 1


def find_ticks(dates: Sequence[Any], axis: TimeAxis, name: str) -> Any:
    """From when lists with these dates are valid, in ticks of the log: a bare date is the end of that day."""
    try:
        moments = [_find_moment(date, axis) for date in dates]
    except TimeError as error:
        raise error.with_context(f"{name}, the date of a list") from None
    return np.array([moment.tick for moment in moments], dtype=np.float64 if axis.kind == "float" else np.int64)


def _find_moment(date: Any, axis: TimeAxis) -> Moment:
    """A fraction of a tick is rounded up: a list is not there before its time."""
    whole = isinstance(date, float) and math.isfinite(date) and axis.kind in ("integer", "epoch")
    return axis.moment(math.ceil(date) if whole else date)


def find_unknown(rows: Rows, items: Ids, has_user: Mask, name: str) -> tuple[Codes, Codes, dict[str, Mask]]:
    """The codes of items and of held-out items (-1 for none), and in which rows the log lacks the user, the item
    or the held-out item.
    """
    item = find_codes(rows.item, items, rows.is_text, name_column(rows, "item", name))
    unknown = {"user": ~has_user, "item": item < 0}
    held_out = np.full(len(rows), -1, dtype=np.int64)
    if rows.held_out is not None:
        held_out = find_codes(rows.held_out, items, rows.is_text, name_column(rows, "held_out", name))
        unknown["held-out item"] = held_out < 0
    return item, held_out, unknown


def name_column(rows: Rows, role: str, name: str) -> str:
    """How to speak of a column of a table."""
    column = rows.columns.get("items") or rows.columns["item"] if role == "item" else rows.columns[role]
    return f"{name}: column {column!r}"


def find_codes(values: pa.Array, ids: Ids, is_text: bool, where: str) -> Codes:
    """The codes of ids in a log, -1 for those that it does not have."""
    codes = ids.match(values)
    theirs, ours = values.type, ids.values.type
    if not is_text and len(values) and not are_comparable(theirs, ours) and (codes < 0).all():
        raise InputError(
            f"{where} holds {kind_of(theirs)} ({values[0].as_py()!r}), but the ids of the log are {kind_of(ours)} "
            f"({ids.examples()})",
            remedy="give them in the type of the log",
        )
    return codes


def warn_of_unknown(rows: Rows, unknown: Mapping[str, Mask], view: str, examples: str, name: str) -> None:
    """Say how much of a table a log does not have, and refuse a table of which it has nothing; `examples` are ids
    that it has.
    """
    columns = {"user": rows.user, "item": rows.item, "held-out item": rows.held_out}
    skipped = np.logical_or.reduce(list(unknown.values()))
    first = int(np.argmax(skipped))
    what = next(what for what, mask in unknown.items() if mask[first])
    example = f"{what} {columns[what][first].as_py()!r}"
    view = "" if view == "all" else f" ({view} view)"
    if skipped.all():
        raise InputError(
            f"{name} has no recommendation whose user and item the log{view} has; it has no {example}, for "
            f"example, but {examples}",
            remedy="give the ids of the log",
        )
    some = {what: mask for what, mask in unknown.items() if mask.any()}
    counted = [count(len(columns[what].filter(pa.array(mask)).unique()), what) for what, mask in some.items()]
    warnings.warn(
        f"the log{view} does not have {enumerate_words(counted)} of {name}, such as {example}: "
        f"{count(int(skipped.sum()), 'recommendation')} of {len(rows)} skipped",
        UnskewWarning,
        stacklevel=4,
    )


def _sort(rows: Rows, kept: Codes, key: Codes, since: Any, item: Codes) -> Codes:
    """The order of the rows: by owner, then by date, then by place in the list, ties of scores by id."""
    if rows.rank is not None:
        by: tuple[Any, ...] = (rows.rank[kept],)
    else:
        assert rows.score is not None  # there is a rank or a score
        by = (item, -rows.score[kept])
    return np.lexsort((*by, key) if since is None else (*by, since, key))


def _check_once(rows: Rows, kept: Codes, number: Codes, item: Codes, name: str) -> None:
    """No list, by its number, may have an item or a rank twice."""
    remedy = "" if rows.date is not None else "if there are lists of several dates, name the column that has them"
    by_item = np.lexsort((item, number))
    twice = np.flatnonzero((np.diff(number[by_item]) == 0) & (np.diff(item[by_item]) == 0))
    if len(twice):
        row = int(kept[by_item[twice[0]]])
        item_id, user_id = rows.item[row].as_py(), rows.user[row].as_py()
        raise InputError(f"{name} recommends item {item_id!r} to user {user_id!r} twice in a list", remedy=remedy)
    if rows.rank is not None:
        equal = np.flatnonzero((np.diff(number) == 0) & (np.diff(rows.rank[kept]) == 0))
        if len(equal):
            row = int(kept[equal[0]])
            raise InputError(
                f"{name} has two items of rank {rows.rank[row]:g} for user {rows.user[row].as_py()!r}",
                remedy=f"give each its own{'; ' if remedy else ''}{remedy}",
            )
