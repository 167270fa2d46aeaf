"""Arrow data that somebody else may have written: one batch, read only if it does not unpack to far too much.

Arrow unpacks a batch before anybody can look at it. How large it is going to be is told by the batch's own header
and by the first bytes of each packed buffer, and is found out here first. Where they lie, Arrow refuses the batch.

The header is a table of FlatBuffers: a table begins with the distance back to a list that says how far behind its
beginning each field is, 0 for one that is not there; what is not of a fixed size is behind its field, at the
distance that stands there.
"""

from __future__ import annotations

import struct
from typing import Any

import pyarrow as pa

_HEADER, _BUFFERS, _COMPRESSION = 2, 2, 3  # the number of a field: of a message, and of a batch
_NOT_PACKED = -1


def read_batch(source: Any, most: int) -> pa.RecordBatch:
    """The first batch of a stream, if it has at most so many bytes; a ValueError if it has more, or is none.

    >>> batch = pa.record_batch({"x": [1, 2, 3]})
    >>> sink = pa.BufferOutputStream()
    >>> with pa.ipc.new_stream(sink, batch.schema) as writer:
    ...     writer.write_batch(batch)
    >>> read_batch(pa.BufferReader(sink.getvalue()), 100).to_pydict()
    {'x': [1, 2, 3]}
    >>> read_batch(pa.BufferReader(sink.getvalue()), 10)
    Traceback (most recent call last):
    ...
    ValueError: it unpacks to more than it may
    """
    messages = pa.ipc.MessageReader.open_stream(source)
    try:
        first, second = messages.read_next_message(), messages.read_next_message()
    except StopIteration:
        raise ValueError("it holds no batch") from None
    if (first.type, second.type) != ("schema", "record batch"):
        raise ValueError(f"a {first.type} and a {second.type} come first, not a schema and a batch")
    if _find_size(second) > most:
        raise ValueError("it unpacks to more than it may")
    return pa.ipc.read_record_batch(second, pa.ipc.read_schema(first))


def _find_size(message: pa.ipc.Message) -> int:
    """How many bytes the buffers of a batch have once they are unpacked."""
    told, body = memoryview(message.metadata), message.body
    try:
        header = _follow(told, _find_field(told, _follow(told, 0), _HEADER))
        place = _find_field(told, header, _BUFFERS)
        if not place or not _find_field(told, header, _COMPRESSION):
            return int(body.size) if body is not None else 0
        buffers = _follow(told, place)
        (n,) = struct.unpack_from("<I", told, buffers)
        content, total = memoryview(body), 0
        for k in range(n):
            offset, length = struct.unpack_from("<qq", told, buffers + 4 + 16 * k)
            if length:
                (size,) = struct.unpack_from("<q", content, offset)
                total += length if size == _NOT_PACKED else size
                if size < _NOT_PACKED:
                    raise ValueError("a buffer has a size below zero")
    except struct.error:
        raise ValueError("its header is damaged") from None
    return total


def _find_field(told: memoryview, table: int, number: int) -> int:
    """Where a field of a table is; 0 if it is not there."""
    (back,) = struct.unpack_from("<i", told, table)
    fields = table - back
    (size,) = struct.unpack_from("<H", told, fields)
    if 4 + 2 * number >= size:
        return 0
    (distance,) = struct.unpack_from("<H", told, fields + 4 + 2 * number)
    return table + distance if distance else 0


def _follow(told: memoryview, place: int) -> int:
    """Where that is whose distance stands here."""
    (distance,) = struct.unpack_from("<I", told, place)
    return int(place + distance)
