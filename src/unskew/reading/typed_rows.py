"""The rows of a source as typed columns: ids as they are, times as ticks; checked, and named in messages.

They are a view of DuckDB called `typed`, with the columns u, i and t and, where asked for, r (removed), x
(exposed), c0, c1, ... (numbers) and l0, l1, ... (texts). What becomes of them is left to `unskew.reading.encoder`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from unskew.arrays.types import Codes, Items, Times
from unskew.data.columns import Columns
from unskew.data.ids import Ids, kind_of
from unskew.data.log import Log
from unskew.data.time_steps import find_epoch_unit
from unskew.data.times import UNIT_WORDS
from unskew.errors import ColumnError, EmptyError, TimeError, option, warn
from unskew.reading.column_times import TimeReading
from unskew.reading.column_types import (
    TimeColumn,
    align_times,
    create_plain_view,
    flag_expression,
    id_expression,
    is_missing,
    number_expression,
    time_column,
)
from unskew.reading.connection import fetch_row, find_types, quote_name
from unskew.reading.sources import Source
from unskew.text import count

NO_LABEL = "(none)"

_BATCH = 500_000  # rows that are read at once
_VECTOR = 2048  # rows that DuckDB hands out at least
_COPIES = 6  # of a batch that exist at once: in DuckDB, in Arrow, and while its ids get their numbers


@dataclass
class TypedRows:
    """The rows of a source, and what is to be kept of them."""

    source: Source
    names: Columns
    removed: str | None
    exposed: str | None
    extra: tuple[str, ...]
    labels: tuple[str, ...]
    times: TimeReading
    drop_nulls: bool
    repeats: bool = False
    when: TimeColumn = field(init=False)  # how the column of times became ticks

    def __post_init__(self) -> None:
        self.when = self._read_types(self._materialise())

    @property
    def sql(self) -> duckdb.DuckDBPyConnection:
        return self.source.connection

    @cached_property
    def columns(self) -> dict[str, str]:
        """The columns of the source by their short names, users, items and times first."""
        columns = {"u": self.names.user, "i": self.names.item, "t": self.names.time}
        columns |= {short: name for short, name in (("r", self.removed), ("x", self.exposed)) if name}
        columns |= {f"c{k}": name for k, name in enumerate(self.extra)}
        return columns | {f"l{k}": name for k, name in enumerate(self.labels)}

    @property
    def others(self) -> list[str]:
        """The short names of all columns but users, items and times."""
        return list(self.columns)[3:]

    @property
    def is_plain(self) -> bool:
        """Whether there is nothing but users, items and times, each pair to be kept once."""
        return not (self.others or self.repeats)

    @cached_property
    def batch(self) -> int:
        """How many rows may be read at once: fewer if memory is limited and texts are long."""
        memory, types = self.source.memory, find_types(self.sql, "typed")
        if memory.limit is None:
            return _BATCH
        longest = [f"coalesce(max(strlen({column})), 0)" for column, kind in types.items() if kind == "VARCHAR"]
        width = 8 * len(types) + sum(fetch_row(self.sql, f"SELECT {', '.join(['0', *longest])} FROM typed"))
        memory.require(_COPIES * _VECTOR * width)
        return int(min(_BATCH, max(_VECTOR, memory.limit // (4 * _COPIES * width))))

    def _materialise(self) -> dict[str, str]:
        """Parse text once; what is columnar already is only named. Gives the types of the columns of `raw`."""
        selected = ", ".join(f"{quote_name(name)} AS {short}" for short, name in self.columns.items())
        kind = "TABLE" if self.source.parse_once else "VIEW"
        self.sql.execute(f"CREATE TEMP {kind} parsed AS SELECT {selected} FROM {self.source.relation}")
        return create_plain_view(self.source, self.columns, "parsed")

    def _read_types(self, types: dict[str, str]) -> TimeColumn:
        """Make `typed`, as the types of the columns say: ids as they are, times as ticks."""
        when = time_column(self.source, types["t"], "t", self.names.time, self.times)
        chosen = [
            f"{id_expression(self.source, types['u'], 'u', self.names.user)} AS u",
            f"{id_expression(self.source, types['i'], 'i', self.names.item)} AS i",
            f"{when.expression} AS t",
        ]
        if self.removed:
            last_year = 9999 if when.is_compact else 2099  # 99991231 is often what never leaves has
            left = time_column(self.source, types["r"], "r", self.removed, self.times, last_year=last_year)
            chosen.append(f"{align_times(self.source, left, self.removed, when, self.names.time)} AS r")
        if self.exposed:
            chosen.append(f"{flag_expression(self.source, types['x'], 'x', self.exposed)} AS x")
        for k, name in enumerate(self.extra):
            chosen.append(f"{number_expression(self.source, types[f'c{k}'], f'c{k}', name)} AS c{k}")
        chosen += [f"coalesce(l{k}::VARCHAR, '{NO_LABEL}') AS l{k}" for k in range(len(self.labels))]
        self.sql.execute(f"CREATE TEMP VIEW typed AS SELECT {', '.join(chosen)} FROM raw")
        return when

    def refuse_nulls(self, rows: int, dropped: int, each: Sequence[int]) -> None:
        """Refuse a source with no rows, or with rows that lack a user, an item or a time."""
        if rows == 0:
            raise EmptyError(f"{self.source.name} has no rows")
        for name, n in zip(list(self.columns.values())[:3], each, strict=True):
            if n and not self.drop_nulls:
                where, _ = self.source.first_row(is_missing(name, is_id=name != self.names.time), "1")
                raise ColumnError(
                    f"column {name!r} has {count(n, 'null value')}, the first in {where}",
                    remedy=f"fill them in, or drop these rows with {option('drop_nulls', True)}",
                )
        if dropped == rows:
            raise EmptyError(
                f"nothing is left: every row of {self.source.name} has a null user, item or time",
                remedy="fill them in, or name other columns",
            )

    def check_calendar(self, name: str | None, first: Any, last: Any) -> None:
        """Dates must lie in the years that a date can have; often it is the unit that is wrong."""
        for tick in (first, last):
            try:
                if tick is not None:
                    self.when.axis.show(tick)
            except OverflowError:
                raise TimeError(
                    f"column {name!r} holds {tick}, which is beyond the years 1 to 9999",
                    remedy=_explain_unit(self.times.unit, first, last),
                ) from None

    def make_log(self, users: Ids, items: Ids, start: Codes, item: Items, time: Times) -> Log:
        return Log(
            users=users,
            items=items,
            start=start.astype(np.uint32 if len(item) < 2**32 - 1 else np.uint64),
            item=item,
            time=time,
            axis=self.when.axis,
            columns=self.names,
            source=self.source.name,
            frames=self.source.library,
        )

    def make_ids(self, values: pa.Array, column: str) -> Ids:
        kind = values.type
        return Ids(values, pa.dictionary(pa.int32(), kind) if self.source.is_categorical(column) else kind)

    def warn_of_white_space(self, ids: pa.Array, column: str) -> None:
        if kind_of(ids.type) != "text" or not _may_hold_white_space(ids):
            return
        self.sql.register("spellings", pa.table({"id": ids}))
        bare = r"trim(regexp_replace(id, '[\s\p{Z}]+', ' ', 'g'))"
        number, twins = fetch_row(
            self.sql,
            "SELECT count(*), min(example) FROM (SELECT list(id ORDER BY id)[1:2] AS example FROM spellings "
            f"GROUP BY {bare} HAVING count(*) > 1)",
        )
        if number:
            warn(
                f"column {column!r} has {count(number, 'id')} in spellings that differ only in white space, "
                f"such as {twins[0]!r} and {twins[1]!r}: each spelling counts as a separate id; trim them if they "
                "mean the same"
            )


def _explain_unit(unit: str | None, first: int, last: int) -> str:
    """What to do about numbers that are no times in a unit."""
    if unit is None:
        return "are these dates?"
    right = find_epoch_unit(first, last)
    if right is None or right == unit:
        return f"is {option('time_unit', unit)} right?"
    return (
        f"is {option('time_unit', unit)} right? They look like {UNIT_WORDS[right]}, which "
        f"{option('time_unit', right)} says"
    )


_BEGINS_WHITE_SPACE = np.zeros(256, dtype=np.bool_)  # bytes of UTF-8 that are white space or begin it
_BEGINS_WHITE_SPACE[[*range(9, 14), *range(28, 33), 0xC2, 0xE1, 0xE2, 0xE3]] = True


def _may_hold_white_space(texts: pa.Array) -> bool:
    """Whether some text may hold white space, by its bytes alone: a look at every byte, and not at every text."""
    data = texts.cast(pa.large_string()).buffers()[2]
    return data is not None and bool(_BEGINS_WHITE_SPACE[np.frombuffer(data, dtype=np.uint8)].any())
