"""From rows to arrays in memory: ids become codes batch by batch, and loops gather, fold and sort the rows.

Faster than SQL, and it needs about 40 bytes for each row besides the ids. What does not fit, or has more than a
user, an item and a time, goes through `unskew.reading.sql_encoder`; both give the same log to the last bit.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import NamedTuple

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from unskew.arrays.blocks import threads
from unskew.arrays.folding import Ordered, Rows, fold, order
from unskew.arrays.types import Codes, Times
from unskew.data.columns import Reading
from unskew.data.log import Log
from unskew.frames import join_chunks
from unskew.reading.sql import find_memory_limit, find_types
from unskew.reading.typed_rows import TypedRows

FEW = 100_000
"""Rows below which SQL is as fast, and no loops have to be loaded."""

_BYTES_A_ROW = 40
_IDS = {"VARCHAR", "INTEGER", "BIGINT", "UINTEGER", "UBIGINT"}
_BATCH = 2_000_000  # rows that are encoded at once: so many ids are hashed once, not twice


class CodedRows(NamedTuple):
    """Rows with codes in place of ids; nulls are counted and left out.

    Attributes
    ----------
    users, items
        The ids by code, in no particular order.
    nulls
        How many rows have no user, no item and no time.
    """

    parts: list[Rows]
    users: pa.Array
    items: pa.Array
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
    number = rows.sql.execute("SELECT count(*) FROM typed").fetchall()[0][0]
    return bool(number >= FEW and number * _BYTES_A_ROW <= find_memory_limit(rows.sql))


def encode_in_memory(rows: TypedRows) -> Log:
    """The log of some rows."""
    coded = encode_rows(rows.sql, "typed")
    rows.refuse_nulls(coded.rows, coded.dropped, coded.nulls)
    rows.check_calendar(rows.names.time, *coded.span())
    found = sort_rows(rows.sql, coded)
    users, items = rows.make_ids(found.users, rows.names.user), rows.make_ids(found.items, rows.names.item)
    log = rows.make_log(users, items, *found.profiles)
    return replace(log, reading=Reading(coded.rows, coded.rows - coded.dropped - len(log), coded.dropped))


def encode_rows(sql: duckdb.DuckDBPyConnection, table: str) -> CodedRows:
    """Read the columns u, i and t of a table, in batches, and give the ids numbers."""
    sql.execute("SET preserve_insertion_order = false")
    users: list[pa.DictionaryArray] = []
    items: list[pa.DictionaryArray] = []
    times, valid = [], []
    rows, nulls = 0, np.zeros(3, dtype=np.int64)
    with ThreadPoolExecutor(min(2, threads())) as pool:
        for batch in _read_batches(sql, table):
            rows += batch.num_rows
            nulls += [column.null_count for column in batch.columns]
            both = pool.map(pa.Array.dictionary_encode, [_join(batch, 0), _join(batch, 1)])
            for column, kept in zip(both, (users, items), strict=True):
                kept.append(column)
            time = _join(batch, 2)
            times.append(time)
            valid.append(_find_valid(users[-1], items[-1], time))
        (user_ids, user_codes), (item_ids, item_codes) = pool.map(_unify, [users, items])
    parts = []
    while times:
        part = Rows(user_codes.pop(), item_codes.pop(), _to_numbers(times.pop()))
        keep = valid.pop()
        parts.append(part if keep is None else Rows(*(array[keep] for array in part)))
    left = sum(len(part.user) for part in parts)
    return CodedRows(parts, user_ids, item_ids, rows, rows - left, (int(nulls[0]), int(nulls[1]), int(nulls[2])))


def sort_rows(sql: duckdb.DuckDBPyConnection, coded: CodedRows) -> SortedRows:
    """Fold repeats, number users by size and items by frequency, ties by id, and sort."""
    folded = fold(coded.parts, len(coded.users), len(coded.items))
    coded.parts.clear()  # gathered already; the memory is needed
    users, items = _rank(sql, coded.users, folded.sizes), _rank(sql, coded.items, folded.counts)
    return SortedRows(coded.users.take(users), coded.items.take(items), order(folded, users, items))


def _read_batches(sql: duckdb.DuckDBPyConnection, table: str) -> Iterator[pa.Table]:
    for batch in sql.sql(f"SELECT u, i, t FROM {table}").to_arrow_reader(_BATCH):
        if batch.num_rows:
            yield pa.Table.from_batches([batch])


def _join(table: pa.Table, column: int) -> pa.Array:
    return join_chunks(table.column(column))


def _find_valid(*columns: pa.Array) -> npt.NDArray[np.bool_] | None:
    """Which rows have no null in any column; None for all."""
    if not any(column.null_count for column in columns):
        return None
    valid = np.ones(len(columns[0]), dtype=np.bool_)
    for column in columns:
        valid &= column.is_valid().to_numpy(zero_copy_only=False)
    return valid


def _unify(chunks: list[pa.DictionaryArray]) -> tuple[pa.Array, list[npt.NDArray[np.int32]]]:
    """One dictionary for all batches, and the codes of each batch in it; -1 for null."""
    whole = pa.chunked_array(chunks).unify_dictionaries()
    chunks.clear()
    codes = [_to_codes(chunk.indices) for chunk in whole.chunks]
    return whole.chunk(0).dictionary, codes


def _to_codes(indices: pa.Array) -> npt.NDArray[np.int32]:
    if indices.null_count:
        indices = indices.fill_null(-1)
    return np.asarray(indices.to_numpy(zero_copy_only=True), dtype=np.int32)


def _to_numbers(times: pa.Array) -> Times:
    if times.null_count:
        times = times.fill_null(0)
    numbers: Times = times.to_numpy(zero_copy_only=True)
    return numbers


def _rank(sql: duckdb.DuckDBPyConnection, ids: pa.Array, sizes: Codes) -> Codes:
    """The codes of ids, those with the largest size first, ties by id."""
    sql.register("ids_by_code", pa.table({"id": ids, "n": sizes, "code": np.arange(len(ids), dtype=np.int64)}))
    found = sql.sql("SELECT code FROM ids_by_code WHERE n > 0 ORDER BY n DESC, id").to_arrow_table()
    sql.unregister("ids_by_code")
    codes: Codes = found.column(0).to_numpy()
    return codes
