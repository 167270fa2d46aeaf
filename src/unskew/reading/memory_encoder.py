"""From rows to arrays in memory: ids become codes batch by batch, and loops gather, fold and sort the rows.

Faster than SQL, and it needs about 40 bytes for each row besides the ids. What does not fit, or has more than a
user, an item and a time, goes through `unskew.reading.sql_encoder`; both give the same log to the last bit.
"""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import NamedTuple

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from unskew.arrays.folding import Ordered, Rows, fold, order
from unskew.arrays.types import Times
from unskew.data.columns import Reading
from unskew.data.log import Log
from unskew.reading.id_column import IdColumn
from unskew.reading.sql import find_memory_limit, find_types
from unskew.reading.typed_rows import TypedRows

FEW = 100_000
"""Rows below which SQL is as fast, and no loops have to be loaded."""

_MOST = 2**31  # codes are short
_BYTES_A_ROW = 40
_IDS = {"VARCHAR", "INTEGER", "BIGINT", "UINTEGER", "UBIGINT"}
_BATCH = 500_000  # rows that are encoded at once


class CodedRows(NamedTuple):
    """Rows with codes in place of ids; nulls are counted and left out.

    Attributes
    ----------
    nulls
        How many rows have no user, no item and no time.
    """

    parts: list[Rows]
    users: IdColumn
    items: IdColumn
    rows: int
    dropped: int
    nulls: tuple[int, int, int]

    def span(self) -> tuple[float, float]:
        """The first and the last tick."""
        some = [part.time for part in self.parts if len(part.time)]
        return min(times.min() for times in some), max(times.max() for times in some)


class SortedRows(NamedTuple):
    """The profiles of a log, with the ids of users and items by rank."""

    users: pa.Array
    items: pa.Array
    profiles: Ordered


def fits_memory(rows: TypedRows) -> bool:
    """Whether rows are plain, with ids that are told apart here as they are in SQL, and many, and fit."""
    kinds = find_types(rows.sql, "typed")
    if not rows.is_plain or not {kinds["u"], kinds["i"]} <= _IDS:
        return False
    number: int = rows.sql.execute("SELECT count(*) FROM typed").fetchall()[0][0]
    return FEW <= number < _MOST and number * _BYTES_A_ROW <= find_memory_limit(rows.sql)


def encode_in_memory(rows: TypedRows) -> Log:
    """The log of some rows."""
    coded = encode_rows(rows.sql, "typed")
    rows.refuse_nulls(coded.rows, coded.dropped, coded.nulls)
    rows.check_calendar(rows.names.time, *coded.span())
    found = sort_rows(coded)
    users, items = rows.make_ids(found.users, rows.names.user), rows.make_ids(found.items, rows.names.item)
    log = rows.make_log(users, items, *found.profiles)
    return replace(log, reading=Reading(coded.rows, coded.rows - coded.dropped - len(log), coded.dropped))


def encode_rows(sql: duckdb.DuckDBPyConnection, table: str) -> CodedRows:
    """Read the columns u, i and t of a table, in batches, and give the ids numbers.

    A batch is read while the users of the one before get their numbers in one thread and its items in another.
    """
    sql.execute("SET preserve_insertion_order = false")
    parts: list[Rows] = []
    rows, nulls = 0, np.zeros(3, dtype=np.int64)
    reader = sql.sql(f"SELECT u, i, t FROM {table}").to_arrow_reader(_BATCH)
    users, items = (IdColumn(reader.schema.field(k).type) for k in range(2))
    with ThreadPoolExecutor(1) as for_users, ThreadPoolExecutor(1) as for_items:
        waiting: list[_Waiting] = []
        for batch in reader:
            rows += batch.num_rows
            nulls += [column.null_count for column in batch.columns]
            user, item = batch.columns[:2]
            waiting.append(
                _Waiting(for_users.submit(users.add, user), for_items.submit(items.add, item), batch.column(2))
            )
            if len(waiting) > 1:
                parts.append(waiting.pop(0).finish())
        parts += [each.finish() for each in waiting]
    left = sum(len(part.user) for part in parts)
    return CodedRows(parts, users, items, rows, rows - left, (int(nulls[0]), int(nulls[1]), int(nulls[2])))


def sort_rows(coded: CodedRows) -> SortedRows:
    """Fold repeats, number users by size and items by frequency, ties by id, and sort."""
    folded = fold(coded.parts, len(coded.users), len(coded.items))
    coded.parts.clear()  # gathered already; the memory is needed
    users, items = coded.users.rank(folded.sizes), coded.items.rank(folded.counts)
    return SortedRows(coded.users.take(users), coded.items.take(items), order(folded, users, items))


class _Waiting(NamedTuple):
    """A batch whose ids are getting their numbers."""

    users: Future[npt.NDArray[np.int32]]
    items: Future[npt.NDArray[np.int32]]
    times: pa.Array

    def finish(self) -> Rows:
        part = Rows(self.users.result(), self.items.result(), _to_numbers(self.times))
        valid = (part.user >= 0) & (part.item >= 0) & self.times.is_valid().to_numpy(zero_copy_only=False)
        return part if valid.all() else Rows(*(array[valid] for array in part))


def _to_numbers(times: pa.Array) -> Times:
    if times.null_count:
        times = times.fill_null(0)
    numbers: Times = times.to_numpy(zero_copy_only=True).copy()  # else the ids of the batch are kept as well
    return numbers
