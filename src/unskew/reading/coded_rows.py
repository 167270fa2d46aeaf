"""Rows with codes in place of ids, which wait until all are read: only then is known which user comes first.

They wait in groups, the rows of a user all in the same one, which are then folded and sorted group by group: a
group is small enough for the caches of a processor. In `MemoryStorage` that takes the least time. In `FileStorage`
only the ids, the log itself and a group for each thread have to fit into memory. Both give the same bits. A group
in which many rows wait is folded before all are read, so that repeats take no room.
"""

from __future__ import annotations

import errno
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple, Protocol

import numpy as np
import pyarrow as pa

from unskew.arrays.blocks import over_blocks, threads
from unskew.arrays.folding import Folded, Ordered, ProfileWriter, Rows, fold, unfold
from unskew.errors import FileError, option
from unskew.reading.id_column import IdColumn
from unskew.reading.limits import MemoryGuard

_GROUPS = 64  # of users, by the remainder of their code
_MOST_ROWS = 4_000_000  # of a group that wait before it is folded
_BYTES_A_ROW = 28  # of a group, while it is folded


class SortedRows(NamedTuple):
    """The profiles of a log, with the ids of users and items by rank."""

    users: pa.Array
    items: pa.Array
    profiles: Ordered


class Storage(Protocol):
    """Where the rows of each group wait."""

    keeps_folded: bool
    """Whether there is room to keep what was folded, so that it is not done again."""

    def append(self, k: int, rows: Rows) -> None:
        """Have some rows of group k wait."""

    def read(self, k: int) -> list[Rows]:
        """All of them."""

    def forget(self, k: int) -> None:
        """They are not needed any more."""


class MemoryStorage:
    """Rows that wait in memory."""

    keeps_folded = True

    def __init__(self) -> None:
        self._parts: list[list[Rows]] = [[] for _ in range(_GROUPS)]

    def append(self, k: int, rows: Rows) -> None:
        self._parts[k].append(rows)

    def read(self, k: int) -> list[Rows]:
        return self._parts[k]

    def forget(self, k: int) -> None:
        self._parts[k] = []


class FileStorage:
    """Rows that wait in files of a folder, made by `unskew.reading.limits.open_spill_folder`."""

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

    def __init__(self, storage: Storage, memory: MemoryGuard | None = None) -> None:
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

    def sort(self, users: IdColumn, items: IdColumn) -> SortedRows:
        """Fold repeats, number users by size and items by frequency, ties by id, and sort. Nothing waits then, and
        the columns are empty.
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
        ids = users.take(by_size), items.take(by_count)
        users.clear()
        items.clear()
        entry = 4 + self._empty.time.dtype.itemsize
        self._memory.require(entry * int(sizes.sum()) + 32 * len(sizes) + 4 * len(counts))
        writer = ProfileWriter(by_size, by_count, sizes, len(counts), self._empty.time.dtype, _GROUPS)
        over_blocks(groups, self._n, write)
        return SortedRows(*ids, writer.finish())

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
