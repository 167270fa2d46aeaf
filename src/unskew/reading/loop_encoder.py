"""From rows to a log by loops: ids become codes batch by batch, and the rows wait until all are read.

Faster than SQL, and with less memory. What has more than a user, an item and a time goes through
`unskew.reading.sql_encoder`; both give the same log to the last bit.
"""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import NamedTuple

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from unskew.arrays.folding import Rows
from unskew.arrays.types import Times
from unskew.data.columns import Reading
from unskew.data.log import Log
from unskew.reading.coded_rows import CodedRows, FileStorage, MemoryStorage
from unskew.reading.id_column import IdColumn
from unskew.reading.sql import find_memory_limit, find_types
from unskew.reading.typed_rows import TypedRows

FEW = 100_000
"""Rows below which SQL is as fast, and no loops have to be loaded."""

_MOST = 2**31  # codes are short
_BYTES_A_ROW = 60  # where all wait in memory, with its share of the ids and of the log
_IDS = {"VARCHAR", "INTEGER", "BIGINT", "UINTEGER", "UBIGINT"}
_BATCH = 500_000  # rows that are encoded at once


class CountedRows(NamedTuple):
    """What was counted while rows were read and their ids were given numbers.

    Attributes
    ----------
    rows, dropped
        How many rows there are, and how many of them lack something and are left out.
    nulls
        How many rows have no user, no item and no time.
    first, last
        The first and the last tick.
    """

    users: IdColumn
    items: IdColumn
    rows: int
    dropped: int
    nulls: tuple[int, int, int]
    first: float
    last: float


def choose_storage(rows: TypedRows) -> type[MemoryStorage] | type[FileStorage] | None:
    """Where rows may wait; None where SQL has to do all.

    That is where there are few, where they are more than users, items and times, or where ids would be told apart
    in another way than in SQL.
    """
    kinds = find_types(rows.sql, "typed")
    if not rows.is_plain or not {kinds["u"], kinds["i"]} <= _IDS:
        return None
    number: int = rows.sql.execute("SELECT count(*) FROM typed").fetchall()[0][0]
    if not FEW <= number < _MOST:
        return None
    return MemoryStorage if number * _BYTES_A_ROW <= find_memory_limit(rows.sql) else FileStorage


def encode_rows(rows: TypedRows, waiting: CodedRows) -> Log:
    """The log of some rows."""
    counted = read_rows(rows.sql, "typed", waiting)
    rows.refuse_nulls(counted.rows, counted.dropped, counted.nulls)
    rows.check_calendar(rows.names.time, counted.first, counted.last)
    found = waiting.sort(counted.users, counted.items)
    users, items = rows.make_ids(found.users, rows.names.user), rows.make_ids(found.items, rows.names.item)
    log = rows.make_log(users, items, *found.profiles)
    return replace(log, reading=Reading(counted.rows, counted.rows - counted.dropped - len(log), counted.dropped))


def read_rows(sql: duckdb.DuckDBPyConnection, table: str, waiting: CodedRows) -> CountedRows:
    """Read the columns u, i and t of a table, in batches, give the ids numbers, and have the rows wait.

    A batch is read while the users of the one before get their numbers in one thread and its items in another.
    """
    sql.execute("SET preserve_insertion_order = false")
    rows, left, nulls = 0, 0, np.zeros(3, dtype=np.int64)
    first, last = np.inf, -np.inf
    reader = sql.sql(f"SELECT u, i, t FROM {table}").to_arrow_reader(_BATCH)
    users, items = (IdColumn(reader.schema.field(k).type) for k in range(2))

    def finish(batch: _CodedBatch) -> None:
        nonlocal left, first, last
        part = batch.finish()
        if len(part.time):
            left += len(part.time)
            first, last = min(first, part.time.min()), max(last, part.time.max())
        waiting.add(part)

    with ThreadPoolExecutor(1) as for_users, ThreadPoolExecutor(1) as for_items:
        begun: list[_CodedBatch] = []
        try:
            for batch in reader:
                rows += batch.num_rows
                nulls += [column.null_count for column in batch.columns]
                user, item, time = batch.columns
                begun.append(
                    _CodedBatch(for_users.submit(users.add, user), for_items.submit(items.add, item), time)
                )
                if len(begun) > 1:
                    finish(begun.pop(0))
            for each in begun:
                finish(each)
        except BaseException:  # an interrupt does not wait for batches that have not begun
            for pool in (for_users, for_items):
                pool.shutdown(wait=False, cancel_futures=True)
            raise
    return CountedRows(users, items, rows, rows - left, (int(nulls[0]), int(nulls[1]), int(nulls[2])), first, last)


class _CodedBatch(NamedTuple):
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
