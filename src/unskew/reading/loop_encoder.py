"""Plain rows to a log by loops: ids become codes batch by batch, and the rows wait until all are read.

Only then is known which user comes first. They wait in groups, the rows of a user all in the same one, which are
then folded and sorted group by group: a group is small enough for the caches of a processor. In `MemoryStorage`
that takes the least time. In `FileStorage` only the ids, the log itself and a group for each thread have to fit
into memory. A group in which many rows wait is folded before all are read, so that repeats take no room.
"""

from __future__ import annotations

import errno
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from unskew.arrays.blocks import over_blocks, threads
from unskew.arrays.folding import Folded, Ordered, ProfileWriter, Rows, fold, unfold
from unskew.arrays.id_table import IdTable, allow_memory
from unskew.arrays.types import Codes
from unskew.data.columns import Reading
from unskew.data.log import Log
from unskew.errors import FileError, option
from unskew.reading.connection import MemoryGuard, open_spill_folder
from unskew.reading.typed_rows import TypedRows


def encode_in_loops(rows: TypedRows, *, in_files: bool) -> Log:
    """The log of plain rows, which wait in files or in memory."""
    if not in_files:
        return encode_rows(rows, CodedRows(MemoryStorage(), rows.source.memory))
    with open_spill_folder(rows.sql) as folder:
        return encode_rows(rows, CodedRows(FileStorage(folder), rows.source.memory))


def encode_rows(rows: TypedRows, waiting: CodedRows) -> Log:
    user_ids, item_ids, number, dropped = read_rows(rows, waiting)
    (users, items), profiles = waiting.sort(user_ids, item_ids)
    log = rows.make_log(rows.make_ids(users, rows.names.user), rows.make_ids(items, rows.names.item), *profiles)
    return replace(log, reading=Reading(number, number - dropped - len(log), dropped))


def read_rows(typed: TypedRows, waiting: CodedRows) -> tuple[IdColumn, IdColumn, int, int]:
    """Read users, items and times in batches, give the ids numbers, and have the rows wait.

    A batch is read while the users of the one before get their numbers in one thread and its items in another.
    Returns the ids, how many rows there are, and how many of them lack something and are dropped.
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
                    _CodedBatch(for_users.submit(users.add_ids, user), for_items.submit(items.add_ids, item), time)
                )
                if len(begun) > 1:
                    finish(begun.pop(0))
            for coded in begun:
                finish(coded)
        except BaseException:  # an interrupt does not wait for batches that have not begun
            for pool in (for_users, for_items):
                pool.shutdown(wait=False, cancel_futures=True)
            raise
    typed.refuse_nulls(rows, rows - left, nulls.tolist())
    typed.check_calendar(typed.names.time, first, last)
    return users, items, rows, rows - left


class _CodedBatch(NamedTuple):
    """A batch whose ids are getting their numbers."""

    users: Future[npt.NDArray[np.int32]]
    items: Future[npt.NDArray[np.int32]]
    times: pa.Array

    def finish(self) -> Rows:
        times = self.times.fill_null(0) if self.times.null_count else self.times
        times = times.to_numpy().copy()  # else the ids of the batch are kept as well
        part = Rows(self.users.result(), self.items.result(), times)
        valid = (part.user >= 0) & (part.item >= 0) & self.times.is_valid().to_numpy(zero_copy_only=False)
        return part if valid.all() else Rows(*(array[valid] for array in part))


_GROUPS = 64  # of users, by the remainder of their code
_MOST_ROWS = 4_000_000  # of a group that wait before it is folded
_BYTES_A_ROW = 28  # of a group, while it is folded


class MemoryStorage:
    """Rows that wait in memory; there is room to keep what was folded of a group, so that it is not done again."""

    keeps_folded = True

    def __init__(self) -> None:
        self._parts: list[list[Rows]] = [[] for _ in range(_GROUPS)]

    def append(self, k: int, rows: Rows) -> None:
        """Have some rows of group k wait."""
        self._parts[k].append(rows)

    def read(self, k: int) -> list[Rows]:
        """All that wait of group k."""
        return self._parts[k]

    def forget(self, k: int) -> None:
        """They are not needed any more."""
        self._parts[k] = []


class FileStorage:
    """Rows that wait in files of a folder, made by `unskew.reading.connection.open_spill_folder`."""

    keeps_folded = False

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._types: list[np.dtype[Any]] = []

    def append(self, k: int, rows: Rows) -> None:
        self._types = [array.dtype for array in rows]
        try:
            for path, array in zip(self._paths(k), rows, strict=True):
                with path.open("ab") as file:
                    file.write(array.data)
        except OSError as error:
            place = self._folder.parent.parent  # of the folder that is made for each reading
            full = f"there is no room left in {place} for temporary files"
            raise FileError(
                full if error.errno == errno.ENOSPC else f"cannot write to {place}: {error.strerror or error}",
                remedy=f"name another folder with {option('temp_dir')}",
            ) from None

    def read(self, k: int) -> list[Rows]:
        if not self._paths(k)[0].exists():
            return []
        return [Rows(*(np.fromfile(path, kind) for path, kind in zip(self._paths(k), self._types, strict=True)))]

    def forget(self, k: int) -> None:
        for path in self._paths(k):
            path.unlink(missing_ok=True)

    def _paths(self, k: int) -> list[Path]:
        return [self._folder / f"{name}-{k}.rows" for name in Rows._fields]


class CodedRows:
    """All rows of a log; `memory` keeps them within a limit."""

    def __init__(self, storage: MemoryStorage | FileStorage, memory: MemoryGuard | None = None) -> None:
        self._storage = storage
        self._memory = memory or MemoryGuard()
        most = (self._memory.limit or np.inf) / (8 * _BYTES_A_ROW * threads())
        self._most = [min(most, _MOST_ROWS)] * _GROUPS  # rows of each group that may wait
        self._waiting = [0] * _GROUPS
        self._folded: dict[int, Folded] = {}
        self._n = 0
        self._empty: Rows | None = None  # no rows, of the types that all have

    def add(self, rows: Rows) -> None:
        """Take some more rows, in any order."""
        self._n += len(rows.user)
        self._empty = Rows(*(array[:0] for array in rows))
        group = (rows.user % _GROUPS).astype(np.uint8)
        by_group = np.argsort(group, kind="stable")
        edges = np.searchsorted(group[by_group], np.arange(_GROUPS + 1))
        grouped = Rows(rows.user[by_group] // _GROUPS, rows.item[by_group], rows.time[by_group])
        for k in range(_GROUPS):
            if edges[k] < edges[k + 1]:
                self._append(k, Rows(*(array[edges[k] : edges[k + 1]] for array in grouped)))
                if self._waiting[k] > self._most[k]:
                    self._shorten(k)

    def _append(self, k: int, rows: Rows) -> None:
        self._storage.append(k, rows)
        self._waiting[k] += len(rows.user)

    def _shorten(self, k: int) -> None:
        """Fold what waits of a group, and wait until it has twice as many rows before it is folded again."""
        self._memory.require(_BYTES_A_ROW * self._waiting[k])
        parts = self._storage.read(k)
        users, items = (1 + max(int(part[column].max()) for part in parts) for column in range(2))
        folded = unfold(fold(parts, users, items))
        self._storage.forget(k)
        self._waiting[k] = 0
        self._append(k, folded)
        self._most[k] = max(self._most[k], 2 * len(folded.user))

    def sort(self, users: IdColumn, items: IdColumn) -> tuple[tuple[pa.Array, pa.Array], Ordered]:
        """Fold repeats, number users by size and items by frequency, ties by id, and sort.

        Returns the ids of users and items by rank, and the profiles. No row waits then; the columns are empty.
        """
        assert self._empty is not None
        sizes, counts = np.zeros(len(users), dtype=np.int64), np.zeros(len(items), dtype=np.int64)
        lock = Lock()

        waiting = sum(sorted(self._waiting)[-threads() :])  # in the largest group of each thread
        self._memory.require(_BYTES_A_ROW * waiting + 16 * len(items) * threads())

        def count(k: int, _: int, __: int) -> None:
            self._memory.require()
            folded = self._fold(k, len(sizes[k::_GROUPS]), len(counts))
            sizes[k::_GROUPS] = folded.sizes
            with lock:
                np.add(counts, folded.counts, out=counts)

        def write(k: int, _: int, __: int) -> None:
            writer.write(self._fold(k, len(sizes[k::_GROUPS]), len(counts)), k)
            self._folded.pop(k, None)
            self._storage.forget(k)

        groups = np.arange(_GROUPS + 1)
        over_blocks(groups, self._n, count)
        by_size, by_count = users.rank(sizes), items.rank(counts)
        ids = users.take_ids(by_size), items.take_ids(by_count)
        users.clear()
        items.clear()
        entry = 4 + self._empty.time.dtype.itemsize
        self._memory.require(entry * int(sizes.sum()) + 32 * len(sizes) + 4 * len(counts))
        writer = ProfileWriter(by_size, by_count, sizes, len(counts), self._empty.time.dtype, _GROUPS)
        over_blocks(groups, self._n, write)
        return ids, writer.finish()

    def _fold(self, k: int, users: int, items: int) -> Folded:
        """The rows of a group, gathered by user: those whose code is ``k + _GROUPS * u`` as user u."""
        if k in self._folded:
            return self._folded[k]
        assert self._empty is not None
        folded = fold(self._storage.read(k) or [self._empty], users, items)
        if self._storage.keeps_folded:
            self._folded[k] = folded
            self._storage.forget(k)
        return folded


_SIGN = np.uint64(1 << 63)
_MOST_BYTES = 2**31 - 1  # that the short offsets of a text column can tell


class IdColumn(IdTable):
    """The ids of one column; `kind` is their type in Arrow, and `require` is asked for memory."""

    def __init__(self, kind: pa.DataType, require: Callable[[int], None] = allow_memory) -> None:
        super().__init__(require)
        self._kind = kind
        self._is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind)

    def add_ids(self, ids: pa.Array) -> npt.NDArray[np.int32]:
        """The codes of a batch; -1 for null."""
        codes = self.add(*(_read_texts(ids) if self._is_text else _read_numbers(ids)))
        if ids.null_count:
            codes[ids.is_null().to_numpy(zero_copy_only=False)] = -1
        return codes

    def take_ids(self, codes: Codes) -> pa.Array:
        """The ids of some codes."""
        start, text = self.take(codes)
        if self._is_text:
            long = pa.types.is_large_string(self._kind) or len(text) > _MOST_BYTES
            kind, offsets = (pa.large_string(), start) if long else (pa.string(), start.astype(np.int32))
            return pa.Array.from_buffers(kind, len(codes), [None, pa.py_buffer(offsets), pa.py_buffer(text)])
        numbers = text.view(">u8").astype(np.uint64)
        if pa.types.is_signed_integer(self._kind):
            return pa.array((numbers ^ _SIGN).view(np.int64)).cast(self._kind)
        return pa.array(numbers).cast(self._kind)


def _read_texts(ids: pa.Array) -> tuple[npt.NDArray[np.integer[Any]], npt.NDArray[np.uint8]]:
    _, offsets, text = ids.buffers()
    kind: Any = np.int64 if pa.types.is_large_string(ids.type) else np.int32
    start = np.frombuffer(offsets, dtype=kind)[ids.offset : ids.offset + len(ids) + 1]
    return start, np.frombuffer(text or b"", dtype=np.uint8)


def _read_numbers(ids: pa.Array) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint8]]:
    signed = pa.types.is_signed_integer(ids.type)
    wide = ids.fill_null(0).cast(pa.int64() if signed else pa.uint64()).to_numpy()
    numbers = wide.view(np.uint64) ^ _SIGN if signed else wide
    return np.arange(0, 8 * len(ids) + 1, 8), numbers.astype(">u8").view(np.uint8)
