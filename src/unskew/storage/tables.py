"""Tables and arrays in files of our own: Parquet whose metadata say what it holds and how it was made.

A checksum is of values, wherever in memory they are and however a file packs them. It shows damage, not malice:
whoever can write a file can write a checksum that fits. So what is read is also refused before it unpacks to far
more than such a file can be meant to hold. Arrays of different lengths are packed as one Arrow batch.
"""

from __future__ import annotations

import base64
import json
import struct
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq

from unskew.errors import FileError, InputError
from unskew.storage.files import (
    check_readable,
    check_writable,
    damage_error,
    parse_json,
    replace_file,
    report_damage,
)
from unskew.text import one_line, tell_damage

Arrays = Mapping[str, pa.Array]
"""Arrays of any lengths and types, by name."""

_HEADER, _COMPRESSION = 2, 3  # numbers of fields: of a message, and of a batch

_KEY = b"unskew"
_ARRAYS_KEY = b"unskew.arrays"
_SUM_KEY = b"unskew.checksum"
_FORMAT = 4  # of the metadata; raised when a file that was written before cannot be read as it is any more
_MOST_BYTES = 2**30  # that a small file may hold once it is unpacked
_MOST_RATIO = 40
_MAKE_AGAIN = "make it again"
_TABLE_ENDINGS = (".parquet", ".pq", ".csv")
_KINDS = {
    "weights": "item weights",
    "marginal": "a marginal",
    "timeline": "a timeline",
    "probabilities": "probabilities of a timeline",
    "sample": "a test set",
}
"""What files hold, in words."""


def write_parquet(
    path: Path, table: pa.Table, kind: str, about: dict[str, Any], arrays: Arrays | None = None
) -> None:
    """Write a table whose metadata say what it is (`kind`) and how it was made (`about`).

    `arrays` are kept beside it, as a second Arrow table in the metadata.
    """
    metadata = {_KEY: json.dumps({"kind": kind, "format": _FORMAT, **about}, allow_nan=False).encode()}
    if arrays is not None:
        metadata[_ARRAYS_KEY] = _pack_arrays(arrays)
    with replace_file(path) as temporary:
        pq.write_table(seal(table.replace_schema_metadata(metadata)), temporary)


def seal(table: pa.Table) -> pa.Table:
    """The table with a checksum of itself and of what its metadata say, by which `read_parquet` tells damage."""
    return table.replace_schema_metadata({**table.schema.metadata, _SUM_KEY: _sum_up(table)})


def _sum_up(table: pa.Table) -> bytes:
    total = sum_table(table)
    for key in (_KEY, _ARRAYS_KEY):
        total = zlib.crc32(table.schema.metadata.get(key, b""), total)
    return str(total).encode()


def write_table(
    path: Path, table: pa.Table, kind: str, about: dict[str, Any], arrays: Arrays | None = None
) -> None:
    """The same, but as CSV if the name of the file says so: for people and other programs.

    CSV has no room for how a table was made, so unskew does not read such a file again. Lists are written as JSON.
    """
    check_writable(path)
    check_table_name(path)
    if not is_csv(path):
        write_parquet(path, table, kind, about, arrays)
        return
    for k, field in enumerate(table.schema):
        if pa.types.is_nested(field.type):
            texts = [json.dumps(value, ensure_ascii=False, default=str) for value in table.column(k).to_pylist()]
            table = table.set_column(k, field.name, pa.array(texts, type=pa.string()))
    with replace_file(path) as temporary:
        pa.csv.write_csv(table, temporary)


def check_table_name(path: Path) -> None:
    """Refuse a name whose ending says something else than Parquet or CSV; without any it is Parquet."""
    if path.suffix.lower() not in ("", *_TABLE_ENDINGS):
        raise FileError(
            f"cannot tell from the name {path} what to write", remedy="end it in .parquet, or in .csv for CSV"
        )


def is_csv(path: Path) -> bool:
    """Whether the name of a file says that it is CSV."""
    return path.suffix.lower() == ".csv"


def is_table(path: Path) -> bool:
    """Whether a file is a table that `write_parquet` wrote."""
    try:
        return _KEY in (pq.read_schema(path.absolute()).metadata or {})
    except Exception:  # whatever other bytes lead Arrow to
        return False


def read_parquet(path: Path) -> tuple[pa.Table, dict[str, Any]]:
    """A table and its metadata; the metadata are empty for a file that unskew did not write."""
    check_readable(path)
    if path.is_dir():
        raise FileError(f"{path} is a folder", remedy="give the name of a file")
    if is_csv(path):
        raise FileError(
            f"{path} is CSV, which has no room for how a table was made",
            remedy="write a Parquet file, and use that",
        )
    try:
        table = _read_limited(path)
    except Exception as error:  # whatever damaged bytes lead Arrow to
        raise FileError(
            f"{path} is not a Parquet file that can be read: {tell_damage(error)}", remedy=_MAKE_AGAIN
        ) from error
    about = read_metadata(table.schema)
    version, is_sealed = about.get("format"), _SUM_KEY in (table.schema.metadata or {})
    is_other_version = isinstance(version, int) and version != _FORMAT  # which `require_format` says
    if version == _FORMAT or (is_sealed and not is_other_version):
        _verify(path, table)
    return table, about


def _read_limited(path: Path) -> pa.Table:
    """The table in a file, unless it is much larger than the file can be meant to hold.

    Texts are looked at as Parquet has them, each once, before they are written out for every row.
    """
    most = max(_MOST_BYTES, _MOST_RATIO * path.stat().st_size)
    too_much = ValueError(f"it unpacks to more than {most / 2**30:.0f} GB")
    with pq.ParquetFile(path.absolute()) as file:
        schema, groups = file.schema_arrow, range(file.num_row_groups)
        if sum(file.metadata.row_group(k).total_byte_size for k in groups) > most:
            raise too_much
    texts = [field.name for field in schema if pa.types.is_string(field.type) or pa.types.is_binary(field.type)]
    with pq.ParquetFile(path.absolute(), read_dictionary=texts) as file:
        batches, total = [], 0
        for batch in file.iter_batches():
            total += sum(map(_find_size, batch.columns))
            if total > most:
                raise too_much
            columns = [
                column if column.type == field.type else column.dictionary_decode()
                for field, column in zip(schema, batch.columns, strict=True)
            ]
            batches.append(pa.RecordBatch.from_arrays(columns, schema=schema))
        return pa.Table.from_batches(batches, schema)


def _find_size(column: pa.Array) -> int:
    """How many bytes a column has once every row has its own text."""
    if not pa.types.is_dictionary(column.type):
        return int(column.nbytes)
    if not (pa.types.is_string(column.type.value_type) or pa.types.is_binary(column.type.value_type)):
        return int(column.nbytes) + 8 * len(column)
    sizes = pc.binary_length(column.dictionary).take(column.indices)
    return int(pc.sum(sizes.cast(pa.int64())).as_py() or 0) + 8 * len(column)


def _verify(path: Path, table: pa.Table) -> None:
    with report_damage(path, _MAKE_AGAIN):
        if _sum_up(table) != table.schema.metadata.get(_SUM_KEY):
            raise ValueError("it does not hold what unskew wrote")


def read_metadata(schema: pa.Schema) -> dict[str, Any]:
    """What unskew wrote about the table that has this schema."""
    raw = (schema.metadata or {}).get(_KEY)
    if raw is None:
        return {}
    try:
        result = parse_json(raw)
    except ValueError as error:
        raise FileError(f"what unskew wrote about this file is damaged: {error}", remedy=_MAKE_AGAIN) from None
    return result if isinstance(result, dict) else {}


def require_kind(path: Path, about: Mapping[str, Any], kind: str, remedy: str) -> None:
    """Refuse a file with other content, or of another version of unskew; `remedy` says how to make one."""
    actual, wanted = about.get("kind"), _KINDS[kind]
    if not isinstance(actual, str):
        raise InputError(f"{path} is not {'' if wanted.startswith('a ') else 'a file of '}{wanted}", remedy=remedy)
    if actual != kind:
        raise InputError(
            f"{path} holds {_KINDS.get(actual, f'a table of kind {one_line(actual)}')}, not {wanted}",
            remedy=remedy,
        )
    require_format(path, about, remedy)


def require_format(path: Path, about: Mapping[str, Any], remedy: str, *, current: int = _FORMAT) -> None:
    """Refuse a file of another version of unskew; `remedy` says how to make one."""
    version = about.get("format")
    if version != current:
        newer = isinstance(version, int) and version > current
        raise FileError(
            f"{path} was written by {'a newer' if newer else 'an older'} version of unskew",
            remedy="update unskew" if newer else remedy,
        )


def require_entries(path: Path, entries: Mapping[str, Any], names: Iterable[str], remedy: str) -> None:
    """Refuse a file that lacks some of what unskew writes with its table."""
    for name in names:
        if name not in entries:
            raise damage_error(path, f"it has no {name}", remedy)


def read_arrays(schema: pa.Schema) -> dict[str, pa.Array]:
    """The arrays that were written beside the table that has this schema; none if there are none."""
    content = (schema.metadata or {}).get(_ARRAYS_KEY)
    if content is None:
        return {}
    try:
        batch = read_batch(pa.BufferReader(base64.b64decode(content, validate=True)))
        return {name: batch.column(name)[0].values for name in batch.schema.names}
    except Exception as error:  # as above
        raise FileError(
            f"the arrays in the metadata of this file are damaged: {tell_damage(error)}", remedy=_MAKE_AGAIN
        ) from error


def _pack_arrays(arrays: Arrays) -> bytes:
    """One row of lists, as text, which is all that Parquet allows in metadata."""
    batch = pack_row(arrays)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return base64.b64encode(sink.getvalue())


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
