"""Reading a table of recommendations: one row for each, whatever form it came in."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from unskew.arrays.types import Codes
from unskew.data.date_grammar import parse_time
from unskew.data.ids import are_comparable, kind_of
from unskew.data.times import TimeAxis
from unskew.errors import ColumnError, InputError
from unskew.frames import join_chunks
from unskew.reading.column_types import (
    create_plain_view,
    id_expression,
    number_expression,
    refuse_twins,
    time_column,
)
from unskew.reading.sources import Source, open_source
from unskew.reading.sql import find_types, quote_name
from unskew.recommend.table_columns import choose_columns, how_to_name
from unskew.text import count

_SHORT = {"user": "u", "held_out": "h", "items": "l", "item": "i", "rank": "r", "score": "s", "date": "d"}
"""What SQL calls the columns; a name of the table could be anything."""

_ISO_DATE = re.compile(r"(?<![0-9])[0-9]{4}-[0-9]{2}-[0-9]{2}(?![0-9])")


@dataclass(frozen=True)
class Rows:
    """One recommendation each; ids as they came.

    Attributes
    ----------
    held_out
        What was left out of the profile, or None if the table does not say.
    rank, score
        One of them orders a list: the smallest rank or the highest score first.
    date, dates
        From when the list of each row was valid, as a place in `dates`, which are as people write them; None if
        the table does not say.
    is_text
        Whether the ids are text because the file knows nothing else.
    columns
        Where they came from: the column of each role.
    """

    user: pa.Array
    item: pa.Array
    held_out: pa.Array | None
    rank: npt.NDArray[np.float64] | None
    score: npt.NDArray[np.float64] | None
    date: Codes | None
    dates: tuple[Any, ...]
    is_text: bool
    columns: Mapping[str, str]

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
    with open_source(source) as found:
        chosen = choose_columns(found.columns, named, found.name)
        if dated:
            chosen.pop("date", None)
        days = {} if dated or "date" in chosen or not _is_files(found) else _group_by_date(found)
        if not days:
            return _read(found, chosen)
    parts = []
    for day, files in days.items():
        with open_source(files) as found:
            parts.append(_read(found, chosen).valid_from(day))
    return _join(parts, [files[0] for files in days.values()])


def _is_files(source: Source) -> bool:
    return source.parts[0].format is not None


def _group_by_date(source: Source) -> dict[str, list[str]]:
    """The files of each date that their names have in them; nothing if none has any."""
    found: dict[str, list[str]] = {}
    for part in source.parts:
        found.setdefault(find_date(Path(part.name)) or "", []).append(part.name)
    without = found.pop("", [])
    if found and without:
        raise InputError(
            f"{next(iter(found.values()))[0]} has a date in its name, and {without[0]} has none, or several",
            remedy=f"give every file one date as in 2013-06-01, or a column of dates ({how_to_name('date')})",
        )
    return dict(sorted(found.items()))


def find_date(path: Path) -> str | None:
    """The one date in the name of a file, or of a folder as ``date=2013-06-01``; None if there is none or several.

    >>> find_date(Path("lists/lists_2013-06-01.csv")), find_date(Path("date=2013-06-01/part-0.parquet"))
    ('2013-06-01', '2013-06-01')
    >>> find_date(Path("2013-06-01_2013-06-08.csv"))
    """
    names = [path.name, path.parent.name if "=" in path.parent.name else ""]
    for name in names:
        found = [text for text in _ISO_DATE.findall(name) if parse_time(text) is not None]
        if found:
            return found[0] if len(found) == 1 else None
    return None


def _read(source: Source, chosen: Mapping[str, str]) -> Rows:
    names = {_SHORT[role]: column for role, column in chosen.items()}
    for part in source.parts:
        for name in names.values():
            refuse_twins(part, name)
    narrow = source.narrow(list(names.values()))
    selected = ", ".join(f"{quote_name(name)} AS {short}" for short, name in names.items())
    what = "TABLE" if narrow.parse_once else "VIEW"
    narrow.connection.execute(f"CREATE TEMP {what} parsed AS SELECT {selected} FROM {narrow.relation}")
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
        found = source.connection.execute(
            "SELECT l::VARCHAR FROM parsed WHERE l IS NOT NULL AND json_type(l) NOT IN ('ARRAY', 'NULL') LIMIT 1"
        ).fetchall()
        if found:
            raise ColumnError(f"column {name!r} holds {found[0][0]}", remedy="it must hold lists")
        items = "CASE WHEN json_type(l) = 'ARRAY' THEN l::JSON[] END"
    elif not kind.endswith("]"):
        instead = "; in a text file, give item and rank" if source.is_text else ""
        raise ColumnError(f"column {name!r} holds {kind.lower()} values", remedy=f"it must hold lists{instead}")
    others = "".join(f", {short}" for short in "hd" if short in names)
    source.connection.execute(
        f"CREATE TEMP TABLE listed AS SELECT u{others}, unnest(a) AS i, generate_subscripts(a, 1) AS r "
        f"FROM (SELECT u{others}, {items} AS a FROM parsed)"
    )


def _collect(source: Source, given: Mapping[str, str], chosen: Mapping[str, str]) -> Rows:
    names = {"i": given.get("l", "item"), "r": "rank"} | dict(given)
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
    """Several tables, each of one date, as one."""
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
