"""A column of ids that comes in batches, texts or whole numbers, and the numbers that stand for them.

The table of ids knows bytes alone. A text has its own; a number becomes eight of them whose order is that of the
numbers: the highest byte first, and for signed numbers the sign turned over.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from unskew.arrays.id_table import IdTable, allow_memory
from unskew.arrays.types import Codes

_SIGN = np.uint64(1 << 63)
_MOST_BYTES = 2**31 - 1  # that the short offsets of a text column can tell


class IdColumn:
    """The ids of one column; `kind` is their type in Arrow, and `require` is asked for memory."""

    def __init__(self, kind: pa.DataType, require: Callable[[int], None] = allow_memory) -> None:
        self._kind = kind
        self._table = IdTable(require)

    def __len__(self) -> int:
        return len(self._table)

    def add(self, ids: pa.Array) -> npt.NDArray[np.int32]:
        """The codes of a batch; -1 for null."""
        codes = self._table.add(*(self._read_texts(ids) if self._is_text else self._read_numbers(ids)))
        if ids.null_count:
            codes[ids.is_null().to_numpy(zero_copy_only=False)] = -1
        return codes

    def rank(self, sizes: Codes) -> Codes:
        """The codes of ids with a positive size, those with the largest first, ties by id."""
        return self._table.rank(sizes)

    def take(self, codes: Codes) -> pa.Array:
        """The ids of some codes."""
        start, text = self._table.take(codes)
        if self._is_text:
            long = pa.types.is_large_string(self._kind) or len(text) > _MOST_BYTES
            kind, offsets = (pa.large_string(), start) if long else (pa.string(), start.astype(np.int32))
            return pa.Array.from_buffers(kind, len(codes), [None, pa.py_buffer(offsets), pa.py_buffer(text)])
        numbers = text.view(">u8").astype(np.uint64)
        if pa.types.is_signed_integer(self._kind):
            return pa.array((numbers ^ _SIGN).view(np.int64)).cast(self._kind)
        return pa.array(numbers).cast(self._kind)

    def clear(self) -> None:
        """Forget all ids: the memory is needed."""
        self._table = IdTable()

    @property
    def _is_text(self) -> bool:
        return bool(pa.types.is_string(self._kind) or pa.types.is_large_string(self._kind))

    def _read_texts(self, ids: pa.Array) -> tuple[npt.NDArray[np.integer[Any]], npt.NDArray[np.uint8]]:
        _, offsets, text = ids.buffers()
        kind: Any = np.int64 if pa.types.is_large_string(ids.type) else np.int32
        start = np.frombuffer(offsets, dtype=kind)[ids.offset : ids.offset + len(ids) + 1]
        return start, np.frombuffer(text or b"", dtype=np.uint8)

    def _read_numbers(self, ids: pa.Array) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint8]]:
        signed = pa.types.is_signed_integer(self._kind)
        wide = ids.fill_null(0).cast(pa.int64() if signed else pa.uint64()).to_numpy()
        numbers = wide.view(np.uint64) ^ _SIGN if signed else wide
        return np.arange(0, 8 * len(ids) + 1, 8), numbers.astype(">u8").view(np.uint8)
