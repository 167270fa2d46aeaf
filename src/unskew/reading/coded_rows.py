"""Rows with codes in place of ids, which wait until all are read: only then is known which user comes first.

`MemoryRows` wait in memory. `SpilledRows` wait in files, the rows of a user all in the same one, which are then
folded one after the other, so that only the ids and the log itself have to fit. Both give the same bits.
"""

from __future__ import annotations

import errno
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from unskew.arrays.folding import Folded, Ordered, ProfileWriter, Rows, fold, order
from unskew.errors import FileError, option
from unskew.reading.id_column import IdColumn

_FILES = 32  # of spilled rows: only one is in memory at a time


class SortedRows(NamedTuple):
    """The profiles of a log, with the ids of users and items by rank."""

    users: pa.Array
    items: pa.Array
    profiles: Ordered


class WaitingRows(Protocol):
    """Where rows wait."""

    def add(self, rows: Rows) -> None:
        """Take some more rows, in any order."""

    def sort(self, users: IdColumn, items: IdColumn) -> SortedRows:
        """Fold repeats, number users by size and items by frequency, ties by id, and sort. Nothing waits then,
        and the columns are empty.
        """


class MemoryRows:
    """Rows that wait in memory."""

    def __init__(self) -> None:
        self._parts: list[Rows] = []

    def add(self, rows: Rows) -> None:
        self._parts.append(rows)

    def sort(self, users: IdColumn, items: IdColumn) -> SortedRows:
        folded = fold(self._parts, len(users), len(items))
        self._parts.clear()  # gathered already; the memory is needed
        by_size, by_count = users.rank(folded.sizes), items.rank(folded.counts)
        ids = _take_all(users, by_size), _take_all(items, by_count)
        return SortedRows(*ids, order(folded, by_size, by_count))


class SpilledRows:
    """Rows that wait in files of a folder, made by `unskew.reading.limits.open_spill_folder`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._kinds: Rows | None = None  # no rows, of the types that all have
        self._full = 0

    def add(self, rows: Rows) -> None:
        if self._kinds is None:
            self._kinds = Rows(*(array[:0] for array in rows))
        file = (rows.user % _FILES).astype(np.uint8)
        by_file = np.argsort(file, kind="stable")
        edges = np.searchsorted(file[by_file], np.arange(_FILES + 1))
        for name, array in zip(Rows._fields, rows, strict=True):
            sorted_by_file = array[by_file]
            for k in range(_FILES):
                self._append(self._path(name, k), sorted_by_file[edges[k] : edges[k + 1]])

    def sort(self, users: IdColumn, items: IdColumn) -> SortedRows:
        sizes, counts = np.zeros(len(users), dtype=np.int64), np.zeros(len(items), dtype=np.int64)
        for k in range(_FILES):
            folded = self._fold(k, len(users), len(items))
            sizes[k::_FILES] = folded.sizes
            counts += folded.counts
        by_size, by_count = users.rank(sizes), items.rank(counts)
        ids = _take_all(users, by_size), _take_all(items, by_count)
        writer = ProfileWriter(by_size, by_count, sizes, len(counts), folded.time.dtype)
        for k in range(_FILES):
            writer.write(self._fold(k, len(sizes), len(counts)), _FILES, k)
            for name in Rows._fields:
                self._path(name, k).unlink(missing_ok=True)
        return SortedRows(*ids, writer.finish())

    def _fold(self, k: int, users: int, items: int) -> Folded:
        """The rows of file k, gathered by user: those whose code is ``k + _FILES * u`` as user u."""
        rows = self._read(k)
        here = Rows(rows.user // _FILES, rows.item, rows.time)
        return fold([here], len(range(k, users, _FILES)), items)

    def _read(self, k: int) -> Rows:
        assert self._kinds is not None
        found = []
        for name, kind in zip(Rows._fields, self._kinds, strict=True):
            path = self._path(name, k)
            found.append(np.fromfile(path, dtype=kind.dtype) if path.exists() else kind)
        return Rows(*found)

    def _append(self, path: Path, values: npt.NDArray[np.generic]) -> None:
        if not len(values):
            return
        try:
            with path.open("ab") as file:
                file.write(values.data)
        except OSError as error:
            place = self._folder.parent.parent  # of the folder that is made for each reading
            full = f"there is no room left in {place} for temporary files"
            raise FileError(
                full if error.errno == errno.ENOSPC else f"cannot write to {place}: {error.strerror or error}",
                remedy=f"name another folder with {option('temp_dir')}",
            ) from None

    def _path(self, name: str, k: int) -> Path:
        return self._folder / f"{name}-{k}.rows"


def _take_all(column: IdColumn, codes: npt.NDArray[np.int64]) -> pa.Array:
    """The ids of all codes; the column is not needed any more."""
    found = column.take(codes)
    column.clear()
    return found
