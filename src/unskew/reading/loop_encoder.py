"""From rows to a log by loops: ids become codes batch by batch, and the rows wait until all are read.

Faster than SQL, and with less memory. Few rows are sorted by NumPy, for which no loops have to be loaded. What has
more than a user, an item and a time goes through `unskew.reading.sql_encoder`; all give the same log to the last
bit.
"""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from unskew.arrays.folding import Rows
from unskew.arrays.types import Times
from unskew.data.columns import Reading
from unskew.data.log import Log
from unskew.frames import join_chunks
from unskew.reading.coded_rows import CodedRows, FileStorage, MemoryStorage
from unskew.reading.id_column import IdColumn
from unskew.reading.sql import find_memory_limit, find_types
from unskew.reading.typed_rows import TypedRows

FEW = 100_000
"""Rows below which NumPy is as fast, and no loops have to be loaded."""

_MOST = 2**31  # codes are short
_BYTES_A_ROW = 60  # where all wait in memory, with its share of the ids and of the log
_IDS = {"VARCHAR", "INTEGER", "BIGINT", "UINTEGER", "UBIGINT"}


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


class NoStorage:
    """For rows that are so few that they need not wait."""


def choose_storage(rows: TypedRows) -> type[MemoryStorage] | type[FileStorage] | type[NoStorage] | None:
    """Where rows may wait; None where SQL has to do all.

    That is where they are more than users, items and times, or where ids would be told apart in another way.
    """
    kinds, batch = find_types(rows.sql, "typed"), rows.batch  # which refuses texts that are too long
    if not rows.is_plain or not {kinds["u"], kinds["i"]} <= _IDS:
        return None
    number: int = rows.sql.execute("SELECT count(*) FROM typed").fetchall()[0][0]
    if number < FEW and number <= batch:
        return NoStorage
    if number >= _MOST:
        return None
    return MemoryStorage if number * _BYTES_A_ROW <= find_memory_limit(rows.sql) else FileStorage


def encode_few(rows: TypedRows) -> Log:
    """The log of rows that are few."""
    table = rows.sql.sql("SELECT u, i, t FROM typed").to_arrow_table()
    whole = table.drop_null()
    dropped = len(table) - len(whole)
    rows.refuse_nulls(len(table), dropped, [column.null_count for column in table.columns])
    (user, users), (item, items) = (_number_by_id(join_chunks(whole.column(k))) for k in range(2))
    time = whole.column(2).to_numpy()
    rows.check_calendar(rows.names.time, time.min(), time.max())
    by_pair = np.lexsort((time, item, user))
    user, item, time = user[by_pair], item[by_pair], time[by_pair]
    is_first = np.append(True, (np.diff(user) != 0) | (np.diff(item) != 0))
    user, item, time = user[is_first], item[is_first], time[is_first]
    sizes, counts = np.bincount(user), np.bincount(item)
    by_size, by_count = (np.argsort(-number, kind="stable") for number in (sizes, counts))
    user, item = np.argsort(by_size)[user], np.argsort(by_count)[item]
    order = np.lexsort((item, time, user))
    log = rows.make_log(
        rows.make_ids(users.take(by_size), rows.names.user),
        rows.make_ids(items.take(by_count), rows.names.item),
        np.append(0, np.cumsum(sizes[by_size])),
        item[order].astype(np.uint32),
        time[order],
    )
    return replace(log, reading=Reading(len(table), len(whole) - len(log), dropped))


def _number_by_id(ids: pa.Array) -> tuple[npt.NDArray[np.int64], pa.Array]:
    """The place of each id among all of them in their order, and these."""
    distinct = ids.unique()
    distinct = distinct.take(pc.sort_indices(distinct))
    return pc.index_in(ids, distinct).to_numpy().astype(np.int64), distinct


def encode_rows(rows: TypedRows, waiting: CodedRows) -> Log:
    """The log of some rows."""
    counted = read_rows(rows, waiting)
    rows.refuse_nulls(counted.rows, counted.dropped, counted.nulls)
    rows.check_calendar(rows.names.time, counted.first, counted.last)
    found = waiting.sort(counted.users, counted.items)
    users, items = rows.make_ids(found.users, rows.names.user), rows.make_ids(found.items, rows.names.item)
    log = rows.make_log(users, items, *found.profiles)
    return replace(log, reading=Reading(counted.rows, counted.rows - counted.dropped - len(log), counted.dropped))


def read_rows(typed: TypedRows, waiting: CodedRows) -> CountedRows:
    """Read users, items and times in batches, give the ids numbers, and have the rows wait.

    A batch is read while the users of the one before get their numbers in one thread and its items in another.
    """
    typed.sql.execute("SET preserve_insertion_order = false")
    rows, left, nulls = 0, 0, np.zeros(3, dtype=np.int64)
    first, last = np.inf, -np.inf
    reader = typed.sql.sql("SELECT u, i, t FROM typed").to_arrow_reader(typed.batch)
    users, items = (IdColumn(reader.schema.field(k).type, typed.source.memory.require) for k in range(2))

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
                typed.source.memory.require()
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
