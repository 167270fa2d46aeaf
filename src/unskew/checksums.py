"""Checksums of arrays and tables: of what they hold, wherever in memory it is and however a file packs it.

They tell damage, not malice: whoever can write a file can write a checksum that fits.
"""

from __future__ import annotations

import zlib

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


def sum_array(array: pa.Array, begin: int = 0) -> int:
    """The checksum of the type of an array and of its values, after that of something else.

    >>> sum_array(pa.array([1, 2])) == sum_array(pa.array([0, 1, 2])[1:])
    True
    >>> sum_array(pa.array([1, None])) == sum_array(pa.array([1, 0]))
    False
    """
    kind = array.type
    if pa.types.is_dictionary(kind):
        return sum_array(array.dictionary_decode(), zlib.crc32(b"dictionary", begin))
    is_list = pa.types.is_list(kind) or pa.types.is_large_list(kind)
    name = "list" if is_list else str(kind)  # what is in it has another name in Parquet
    begin = zlib.crc32(f"{name} {len(array)}".encode(), begin)
    if array.null_count:
        begin = zlib.crc32(_to_bytes(pc.is_valid(array).cast(pa.uint8())), begin)
    if is_list:
        lengths = pc.list_value_length(array).fill_null(0)
        return sum_array(array.flatten(), zlib.crc32(_to_bytes(lengths), begin))
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return zlib.crc32(_to_bytes(array.fill_null(0) if array.null_count else array), begin)
    texts = array.cast(pa.large_string())
    texts = texts.fill_null("") if texts.null_count else texts
    ends = np.frombuffer(texts.buffers()[1], dtype=np.int64)[texts.offset : texts.offset + len(texts) + 1]
    data = texts.buffers()[2]
    begin = zlib.crc32((ends - ends[0]).data, begin) if len(texts) else begin
    return begin if data is None or not len(texts) else zlib.crc32(memoryview(data)[ends[0] : ends[-1]], begin)


def sum_table(table: pa.Table) -> int:
    """The checksum of the names and values of all columns."""
    total = 0
    for name, column in zip(table.column_names, table.columns, strict=True):
        array = column.combine_chunks()
        whole = pa.concat_arrays(array.chunks) if isinstance(array, pa.ChunkedArray) else array
        total = sum_array(whole, zlib.crc32(name.encode(), total))
    return total


def _to_bytes(array: pa.Array) -> memoryview:
    return np.ascontiguousarray(array.to_numpy(zero_copy_only=True)).data
