"""Arrays in files of our own: packed as one Arrow batch, with checksums of what they hold.

A checksum is of values, wherever in memory they are and however a file packs them. It shows damage, not malice:
whoever can write a file can write a checksum that fits. So a batch is refused before it is unpacked to far more
than a file can be meant to hold.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

Arrays = Mapping[str, pa.Array]
"""Arrays of any lengths and types, by name."""

_HEADER, _COMPRESSION = 2, 3  # numbers of fields: of a message, and of a batch


def pack_row(arrays: Arrays) -> pa.RecordBatch:
    """One row of lists, one list per array: so that arrays of different lengths share one batch."""
    columns = [
        pa.LargeListArray.from_arrays(pa.array([0, len(array)], type=pa.int64()), array)
        for array in arrays.values()
    ]
    return pa.RecordBatch.from_arrays(columns, names=list(arrays))


def read_batch(source: Any) -> pa.RecordBatch:
    """The first batch of a stream that `pack_row` made; a ValueError if there is none, or if it is compressed.

    Arrow decompresses a batch before anybody can look at it, to any size. What is not compressed is no larger than
    its file.

    >>> batch = pa.record_batch({"x": [1, 2, 3]})
    >>> sink = pa.BufferOutputStream()
    >>> with pa.ipc.new_stream(sink, batch.schema) as writer:
    ...     writer.write_batch(batch)
    >>> read_batch(pa.BufferReader(sink.getvalue())).to_pydict()
    {'x': [1, 2, 3]}
    """
    messages = pa.ipc.MessageReader.open_stream(source)
    try:
        first, second = messages.read_next_message(), messages.read_next_message()
    except StopIteration:
        raise ValueError("it holds no batch") from None
    if (first.type, second.type) != ("schema", "record batch"):
        raise ValueError(f"a {first.type} and a {second.type} come first, not a schema and a batch")
    if _is_compressed(second):
        raise ValueError("it is compressed, which unskew never does")
    batch = pa.ipc.read_record_batch(second, pa.ipc.read_schema(first))
    batch.validate(full=True)
    return batch


def _is_compressed(message: pa.ipc.Message) -> bool:
    """Whether the header of a batch, a table of FlatBuffers, says how its buffers are compressed.

    A table begins with the distance back to a list that says how far behind its beginning each field is, 0 for a
    field that is absent; a table in a field is behind it, at the distance that the field holds.
    """
    header = memoryview(message.metadata)

    def find_field(table: int, number: int) -> int:
        fields = table - struct.unpack_from("<i", header, table)[0]
        if 4 + 2 * number >= struct.unpack_from("<H", header, fields)[0]:
            return 0
        distance: int = struct.unpack_from("<H", header, fields + 4 + 2 * number)[0]
        return table + distance if distance else 0

    def follow(place: int) -> int:
        distance: int = struct.unpack_from("<I", header, place)[0]
        return place + distance

    try:
        return find_field(follow(find_field(follow(0), _HEADER)), _COMPRESSION) != 0
    except struct.error:
        raise ValueError("its header is damaged") from None


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
