"""Recommendation lists in tables: columns, rows and codes, checked."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from unskew.arrays.types import Codes, Floats, Mask
from unskew.data.date_grammar import parse_time
from unskew.data.ids import Ids, are_comparable, kind_of
from unskew.data.log import Log
from unskew.data.times import Moment, TimeAxis
from unskew.errors import ColumnError, InputError, TimeError, missing_column, warn
from unskew.frames import join_chunks
from unskew.reading.column_guesses import OF_A_TABLE, shorten_name
from unskew.reading.column_types import (
    create_plain_view,
    id_expression,
    number_expression,
    refuse_twins,
    time_column,
)
from unskew.reading.connection import find_types, quote_name
from unskew.reading.sources import Source, open_source
from unskew.text import count, did_you_mean, enumerate_words

FORMS = (("items",), ("item", "rank"), ("item", "score"))
"""What says which items are in a list and in which order; the first that a table has."""

_HOW = "items (a ranked list), or item and rank, or item and score"


def choose_columns(have: Sequence[str], named: Mapping[str, str | None], where: str) -> dict[str, str]:
    """The column of each role: as named, else as its name says; a role that a table need not have may be missing.

    - `have`: the columns of the table.
    - `named`: roles and the columns that were named for them; None where nothing was said.
    - `where`: how to speak of the table.

    >>> choose_columns(["member_id", "sku", "pos", "day"], {}, "lists")
    {'user': 'member_id', 'date': 'day', 'item': 'sku', 'rank': 'pos'}
    """
    chosen = {role: _require(name, role, have, where) for role, name in named.items() if name is not None}
    columns = f"{where} has the columns {', '.join(map(repr, have))}"
    roles = {role: name for role in ("user", "held_out", "date") if (name := _find(role, have, chosen, where))}
    if "user" not in roles:
        raise ColumnError(
            columns,
            remedy=f"a table of recommendations needs 'user' ({how_to_name('user')}), and {_HOW}",
        )
    return roles | _choose_form(have, chosen, where, columns)


def how_to_name(role: str) -> str:
    """How to say which column has a role; not as an option of the command, where it is one of the log."""
    return f"or name it, as in Table(..., {role}='COLUMN') or table:FILE?{role}=COLUMN"


def describe_guesses(chosen: Mapping[str, str], named: Mapping[str, str | None]) -> str:
    """Which columns were taken though nobody named them and their names are not the plain ones; or nothing."""
    guessed = [
        f"{column!r} as {role.replace('_', ' ')}"
        for role, column in chosen.items()
        if named.get(role) is None and column not in (role, "valid_from")
    ]
    return enumerate_words(guessed)


def _choose_form(have: Sequence[str], chosen: Mapping[str, str], where: str, columns: str) -> dict[str, str]:
    """The columns of items and of their order."""
    asked = [form for form in FORMS if set(chosen) & {"items", "item", "rank", "score"} <= set(form)]
    for plain in (True, False):
        forms = []
        for form in asked:
            names = [_find(role, have, chosen, where, plain=plain) for role in form]
            if all(names):
                forms.append({role: name for role, name in zip(form, names, strict=True) if name})
        if forms and "items" in forms[0] and len(forms) > 1:
            raise ColumnError(
                f"{columns}: the order of the items is not clear",
                remedy=f"give {_HOW}, or say which counts ({how_to_name('items')})",
            )
        if forms:
            return forms[0]
    raise ColumnError(columns, remedy=f"it needs {_HOW} ({how_to_name('item')})")


def _find(
    role: str, have: Sequence[str], chosen: Mapping[str, str], where: str, *, plain: bool = False
) -> str | None:
    """The column of a role: the one that was named, the one of its plain name, or the one that is called so."""
    if role in chosen:
        return chosen[role]
    if role in have:
        return role
    alike = [] if plain else [c for c in have if shorten_name(c) in OF_A_TABLE[role]]
    alike = [c for c in alike if c not in chosen.values()]
    if len(alike) > 1:
        raise ColumnError(
            f"{where} has the columns {' and '.join(map(repr, alike))}, each of which could be {role!r}",
            remedy=f"say which is ({how_to_name(role)})",
        )
    return alike[0] if alike else None


def _require(name: str, role: str, have: Sequence[str], where: str) -> str:
    if not isinstance(name, str):
        raise ColumnError(
            f"{role}= of a table is {name!r}; it takes the name of a column, which is text", remedy="give its name"
        )
    if name not in have:
        remedy = f"name another with {role}={did_you_mean(name, have)}"
        raise missing_column(where, name, have, remedy)
    return name


@dataclass(frozen=True)
class CodedLists:
    """All lists of a table, of all dates, one after the other: by owner, then by date."""

    per_user: bool  # whether there is a list for each user, and not for each user and held-out item
    key: Codes  # whose each list is: the user, and the held-out item where there is one
    since: Floats | Codes | None  # the tick from which each list is valid, or None if the table does not say
    # List g is ``item[start[g]:start[g + 1]]``, best first. An item that the log does not have keeps its place:
    # its code is the number of items.
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
        item = np.where(item >= 0, item, len(log.items))
        kept = np.flatnonzero((user >= 0) & ((held_out >= 0) | (rows.held_out is None)))
        key = number_owners(user[kept], held_out[kept], log)
        since = None if rows.date is None else find_ticks(rows.dates, log.axis, name)[rows.date[kept]]
        order = _sort(rows, kept, key, since, item[kept])
        kept, key, since = kept[order], key[order], None if since is None else since[order]
        begins = np.ones(len(kept), dtype=bool)
        begins[1:] = np.diff(key) != 0
        if since is not None:
            begins[1:] |= np.diff(since) != 0
        _check_once(rows, kept, np.cumsum(begins), item[kept], len(log.items), name)
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
    table_type, log_type = values.type, ids.values.type
    if not is_text and len(values) and not are_comparable(table_type, log_type) and (codes < 0).all():
        raise InputError(
            f"{where} holds {kind_of(table_type)} ({values[0].as_py()!r}), but the ids of the log are "
            f"{kind_of(log_type)} ({ids.examples()})",
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
    role = next(role for role, mask in unknown.items() if mask[first])
    example = f"{role} {columns[role][first].as_py()!r}"
    view = "" if view == "all" else f" ({view} view)"
    if skipped.all():
        raise InputError(
            f"{name} has no recommendation whose user and item the log{view} has; it has no {example}, for "
            f"example, but {examples}",
            remedy="give the ids of the log",
        )
    unknown_masks = {role: mask for role, mask in unknown.items() if mask.any()}
    counted = [
        count(len(columns[role].filter(pa.array(mask)).unique()), role) for role, mask in unknown_masks.items()
    ]
    placed = int((unknown["item"] & ~unknown["user"] & ~unknown.get("held-out item", unknown["user"])).sum())
    dropped = int(skipped.sum()) - placed
    parts = [f"{count(dropped, 'recommendation')} of {len(rows)} skipped"] if dropped else []
    parts += [f"{count(placed, 'recommendation')} of {len(rows)} cannot be hit, but keep their place"][:placed]
    missing = f"{enumerate_words(counted)} of {name}, such as {example}"
    warn(f"the log{view} does not have {missing}: {', '.join(parts)}")


def _sort(rows: Rows, kept: Codes, key: Codes, since: Any, item: Codes) -> Codes:
    """The order of the rows: by owner, then by date, then by place in the list, ties of scores by id."""
    if rows.rank is not None:
        by: tuple[Any, ...] = (rows.rank[kept],)
    else:
        assert rows.score is not None  # there is a rank or a score
        by = (item, -rows.score[kept])
    return np.lexsort((*by, key) if since is None else (*by, since, key))


def _check_once(rows: Rows, kept: Codes, number: Codes, item: Codes, unknown: int, name: str) -> None:
    """No list, by its number, may have an item (but an `unknown` one) or a rank twice."""
    remedy = "" if rows.date is not None else "if there are lists of several dates, name the column that has them"
    by_item = np.lexsort((item, number))
    is_same = (np.diff(number[by_item]) == 0) & (np.diff(item[by_item]) == 0)
    twice = np.flatnonzero(is_same & (item[by_item][1:] != unknown))
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


_SHORT = {"user": "u", "held_out": "h", "items": "l", "item": "i", "rank": "r", "score": "s", "date": "d"}
"""What SQL calls the columns; a name of the table could be anything."""

_ISO_DATE = re.compile(r"(?<![0-9])[0-9]{4}-[0-9]{2}-[0-9]{2}(?![0-9])")


@dataclass(frozen=True)
class Rows:
    """One recommendation each; ids as they came."""

    user: pa.Array
    item: pa.Array
    held_out: pa.Array | None  # what was left out of the profile, or None if the table does not say
    # One of them orders a list: the smallest rank or the highest score first.
    rank: npt.NDArray[np.float64] | None
    score: npt.NDArray[np.float64] | None
    # From when the list of each row was valid, as a place in `dates`, which are as people write them; None if the
    # table does not say.
    date: Codes | None
    dates: tuple[Any, ...]
    is_text: bool  # whether the ids are text because the file knows nothing else
    columns: Mapping[str, str]  # where they came from: the column of each role

    def __len__(self) -> int:
        return len(self.item)

    def valid_from(self, date: Any) -> Rows:
        """The same, valid from one date."""
        return replace(self, date=np.zeros(len(self), dtype=np.int64), dates=(date,))


def read_rows(source: Any, named: Mapping[str, str | None], *, dated: bool = False) -> Rows:
    """Read the recommendations from files or a dataframe; see `Table` for the columns.

    Where no column says from when lists were valid, and nobody else does (`dated`), names of files may: those of
    one date are read together.
    """
    with open_source(source) as source_table:
        chosen = choose_columns(source_table.columns, named, source_table.name)
        if dated:
            chosen.pop("date", None)
        days = {} if dated or "date" in chosen or not _is_files(source_table) else _group_by_date(source_table)
        if not days:
            return _read(source_table, chosen)
    parts = []
    for day, files in days.items():
        with open_source(files) as source_table:
            parts.append(_read(source_table, chosen).valid_from(day))
    return _join(parts, [files[0] for files in days.values()])


def _is_files(source: Source) -> bool:
    return source.parts[0].format is not None


def _group_by_date(source: Source) -> dict[str, list[str]]:
    """The files of each date that their names have in them; nothing if none has any."""
    files: dict[str, list[str]] = {}
    for part in source.parts:
        files.setdefault(find_date(Path(part.name)) or "", []).append(part.name)
    without = files.pop("", [])
    if files and without:
        raise InputError(
            f"{next(iter(files.values()))[0]} has a date in its name, and {without[0]} has none, or several",
            remedy=f"give every file one date as in 2013-06-01, or a column of dates ({how_to_name('date')})",
        )
    return dict(sorted(files.items()))


def find_date(path: Path) -> str | None:
    """The one date in the name of a file, or of a folder as ``date=2013-06-01``; None if there is none or several.

    >>> find_date(Path("lists/lists_2013-06-01.csv")), find_date(Path("date=2013-06-01/part-0.parquet"))
    ('2013-06-01', '2013-06-01')
    >>> find_date(Path("2013-06-01_2013-06-08.csv"))
    """
    names = [path.name, path.parent.name if "=" in path.parent.name else ""]
    for name in names:
        dates = [text for text in _ISO_DATE.findall(name) if parse_time(text) is not None]
        if dates:
            return dates[0] if len(dates) == 1 else None
    return None


def _read(source: Source, chosen: Mapping[str, str]) -> Rows:
    names = {_SHORT[role]: column for role, column in chosen.items()}
    for part in source.parts:
        for name in names.values():
            refuse_twins(part, name)
    narrow = source.narrow(list(names.values()))
    selected = ", ".join(f"{quote_name(name)} AS {short}" for short, name in names.items())
    kind = "TABLE" if narrow.parse_once else "VIEW"
    narrow.connection.execute(f"CREATE TEMP {kind} parsed AS SELECT {selected} FROM {narrow.relation}")
    if "l" in names:
        _unnest(narrow, names)
    else:
        narrow.connection.execute("CREATE TEMP VIEW listed AS SELECT * FROM parsed")
    return _collect(narrow, names, chosen)


def _unnest(source: Source, names: Mapping[str, str]) -> None:
    """One row for each item of a list."""
    kind, name = find_types(source.connection, "parsed")["l"], names["l"]
    items = "l"
    if kind == "JSON":
        wrong = source.connection.execute(
            "SELECT l::VARCHAR FROM parsed WHERE l IS NOT NULL AND json_type(l) NOT IN ('ARRAY', 'NULL') LIMIT 1"
        ).fetchall()
        if wrong:
            raise ColumnError(f"column {name!r} holds {wrong[0][0]}", remedy="it must hold lists")
        items = "CASE WHEN json_type(l) = 'ARRAY' THEN l::JSON[] END"
    elif not kind.endswith("]"):
        instead = "; in a text file, give item and rank" if source.is_text else ""
        raise ColumnError(f"column {name!r} holds {kind.lower()} values", remedy=f"it must hold lists{instead}")
    others = "".join(f", {short}" for short in "hd" if short in names)
    source.connection.execute(
        f"CREATE TEMP TABLE listed AS SELECT u{others}, unnest(a) AS i, generate_subscripts(a, 1) AS r "
        f"FROM (SELECT u{others}, {items} AS a FROM parsed)"
    )


def _collect(source: Source, short_names: Mapping[str, str], chosen: Mapping[str, str]) -> Rows:
    names = {"i": short_names.get("l", "item"), "r": "rank"} | dict(short_names)
    types = create_plain_view(source, names, "listed")
    wanted = []
    axis = TimeAxis("integer")
    for short, kind in types.items():
        if short in "rs":
            value = number_expression(source, kind, short, names[short])
        elif short == "d":
            times = time_column(source, kind, short, names[short])
            value, axis = times.expression, times.axis
        elif kind == "VARCHAR" and source.is_text:
            value = short  # the log says what the ids are
        else:
            value = id_expression(source, kind, short, names[short])
        wanted.append(f"{value} AS {short}")
    source.connection.execute(f"CREATE TEMP VIEW typed AS SELECT {', '.join(wanted)} FROM raw")
    table = source.connection.sql("SELECT * FROM typed").to_arrow_table()
    columns = {short: join_chunks(table.column(short)) for short in table.column_names}
    numbers = _require_values(source, columns, names)
    date, dates = _number_dates(columns.get("d"), axis)
    return Rows(
        user=columns["u"],
        item=columns["i"],
        held_out=columns.get("h"),
        rank=numbers.get("r"),
        score=numbers.get("s"),
        date=date,
        dates=dates,
        is_text=source.is_text,
        columns=chosen,
    )


def _require_values(
    source: Source, columns: Mapping[str, pa.Array], names: Mapping[str, str]
) -> dict[str, npt.NDArray[np.float64]]:
    """Refuse columns in which a value is missing; gives those of numbers as such."""
    numbers: dict[str, npt.NDArray[np.float64]] = {}
    for short, values in columns.items():
        bad = values.null_count
        if short in "rs":
            numbers[short] = values.to_numpy(zero_copy_only=False).astype(np.float64)
            bad = int(np.isnan(numbers[short]).sum())
        if bad:
            raise ColumnError(
                f"column {names[short]!r} of {source.name} has {count(bad, 'missing value')}",
                remedy="fill them in, or leave out these rows",
            )
    return numbers


def _number_dates(ticks: pa.Array | None, axis: TimeAxis) -> tuple[Codes | None, tuple[Any, ...]]:
    """The place of each date among the distinct ones, and these as people write them."""
    if ticks is None:
        return None, ()
    distinct, place = np.unique(ticks.to_numpy(zero_copy_only=False), return_inverse=True)
    return place.astype(np.int64), tuple(axis.show(tick) for tick in distinct.tolist())


def _join(parts: Sequence[Rows], files: Sequence[str]) -> Rows:
    is_text = any(part.is_text for part in parts)

    def join_ids(role: str) -> pa.Array:
        arrays = [getattr(part, role) for part in parts]
        if is_text:
            return pa.concat_arrays([array.cast(pa.string()) for array in arrays])
        for array, file in zip(arrays, files, strict=True):
            if not are_comparable(array.type, arrays[0].type):
                raise ColumnError(
                    f"column {parts[0].columns.get(role, role)!r} holds {kind_of(arrays[0].type)} in {files[0]} "
                    f"and {kind_of(array.type)} in {file}",
                    remedy="make them the same",
                )
        kinds = pa.unify_schemas([pa.schema([("id", a.type)]) for a in arrays], promote_options="permissive")
        return pa.concat_arrays([array.cast(kinds.field("id").type) for array in arrays])

    def join_numbers(role: str) -> npt.NDArray[np.float64] | None:
        return None if getattr(parts[0], role) is None else np.concatenate([getattr(p, role) for p in parts])

    return replace(
        parts[0],
        user=join_ids("user"),
        item=join_ids("item"),
        held_out=None if parts[0].held_out is None else join_ids("held_out"),
        rank=join_numbers("rank"),
        score=join_numbers("score"),
        date=np.repeat(np.arange(len(parts)), [len(part) for part in parts]),
        dates=tuple(part.dates[0] for part in parts),
        is_text=is_text,
    )
