"""Parquet and Arrow files: their columns have types, so that there is nothing to find out.

DuckDB reads past the end of a damaged page of a Parquet file, and takes what it finds there for part of a text. So
pages of texts are checked before: their checksums, if they have them, and whether texts end where their page does.
If pages have fewer values than there are rows, it fills up with values of other columns: these are counted.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Hashable, Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from unskew.data.saved_log import is_saved_log
from unskew.errors import FileError, InputError
from unskew.reading.connection import quote_paths, report_unreadable, run_interruptibly
from unskew.reading.input_files import InputFile

_FEW = 100_000  # rows that Arrow reads before a loop is loaded
_MOST_BYTES = 2**25  # of texts that Arrow reads at once
_CODECS = ("SNAPPY", "ZSTD", "GZIP", "BROTLI", "UNCOMPRESSED")
_PLAIN, _BY_DICTIONARY = 0, (2, 8)  # encodings
_DATA, _DICTIONARY, _DATA_2 = 0, 2, 3  # kinds of pages
_DETAILS = {_DATA: 5, _DICTIONARY: 7, _DATA_2: 8}  # where the header of a page says more
_DAMAGED_HEADER = "the header of a page is damaged"


def open_parquet(_: duckdb.DuckDBPyConnection, files: Sequence[InputFile], __: Hashable) -> str:
    """SQL for Parquet files; a column that some of them lack is null there, and folders give no columns."""
    return (
        f"read_parquet({quote_paths([file.path for file in files])}, union_by_name=true, hive_partitioning=false)"
    )


def check_pages(path: Path, name: str, columns: Sequence[str], require: Callable[[int], None]) -> None:
    """Refuse a Parquet file whose pages are damaged in some columns, as far as that can be told.

    Arrow checks a page as it reads it, which takes as long as reading. It does so for few rows, and for what is
    packed or encoded in rare ways; of many rows only the lengths of texts are looked at. `require` is called with
    the memory that is needed, before it is taken.
    """
    with report_unreadable(name), pq.ParquetFile(path, page_checksum_verification=True) as file:
        places = [k for k in range(len(file.schema.names)) if file.schema.column(k).path in columns]
        for group, k in product(range(file.num_row_groups), places):
            chunk = _describe_chunk(file, group, k)
            few, text = chunk.num_values < _FEW, chunk.physical_type == "BYTE_ARRAY"
            column, rows = file.schema.column(k), file.metadata.row_group(group).num_rows
            if not column.max_repetition_level:
                _require_count(chunk, chunk.num_values, rows)
            is_whole = not few and _count_values(path, chunk) == rows
            if not is_whole or (text and not _are_whole(path, column, chunk, require)):
                _read_chunk(file, group, chunk, require)


def _describe_chunk(file: Any, group: int, place: int) -> Any:
    """What a file says about a chunk; if it is damaged, Arrow raises while it reads, and else ends the process."""
    columns = [file.schema.column(place).path]
    next(file.iter_batches(1, row_groups=[group], columns=columns, use_threads=False), None)
    return file.metadata.row_group(group).column(place)


def _read_chunk(file: Any, group: int, chunk: Any, require: Callable[[int], None]) -> None:
    """Have Arrow read a chunk and forget it, few rows at a time: each of them may be the longest text."""
    rows = _FEW if chunk.physical_type != "BYTE_ARRAY" else _MOST_BYTES // max(1, chunk.total_uncompressed_size)
    n_rows = 0
    for batch in file.iter_batches(
        max(1, min(rows, _FEW)), row_groups=[group], columns=[chunk.path_in_schema], use_threads=False
    ):
        require(0)
        n_rows += batch.num_rows
    _require_count(chunk, n_rows, file.metadata.row_group(group).num_rows)


def _require_count(chunk: Any, n_values: int, n_rows: int) -> None:
    if n_values != n_rows:
        raise ValueError(f"column {chunk.path_in_schema!r} has {n_values} values in {n_rows} rows")


def _count_values(path: Path, chunk: Any) -> int:
    """How many values the pages of a chunk say that they have."""
    pages = (header for header, _ in _list_pages(path, chunk))
    return sum(
        header.get(_DETAILS.get(header[1], 0), {}).get(1, 0) for header in pages if header[1] != _DICTIONARY
    )


def _are_whole(path: Path, column: Any, chunk: Any, require: Callable[[int], None]) -> bool:
    """Whether all texts of a chunk end where their page does; False as well if that cannot be told."""
    from unskew.arrays.id_table import fills_page

    if column.max_repetition_level or chunk.compression not in _CODECS:
        return False
    codec = None if chunk.compression == "UNCOMPRESSED" else pa.Codec(chunk.compression.lower())
    for header, body in _list_pages(path, chunk):
        if 4 in header and zlib.crc32(body) != header[4] & 0xFFFFFFFF:
            return False
        details = header.get(_DETAILS.get(header[1], 0), {})
        encoding = details.get(4 if header[1] == _DATA_2 else 2)
        if header[1] != _DICTIONARY and encoding in _BY_DICTIONARY:
            continue
        if encoding != _PLAIN and not (header[1] == _DICTIONARY and encoding in _BY_DICTIONARY):
            return False
        before = details.get(5, 0) + details.get(6, 0) if header[1] == _DATA_2 else 0  # levels, never packed
        packed, size = body[before:], header[2] - before
        require(2 * size)
        page = np.frombuffer(codec.decompress(packed, size) if codec else packed, dtype=np.uint8)
        if header[1] == _DATA and column.max_definition_level:
            page = page[4 + int.from_bytes(page[:4].tobytes(), "little") :]
        if not fills_page(page):
            return False
    return True


def _list_pages(path: Path, chunk: Any) -> Iterator[tuple[dict[int, Any], memoryview]]:
    """The header and the bytes of each page of a chunk."""
    start = min(at for at in (chunk.dictionary_page_offset, chunk.data_page_offset) if at)
    data = memoryview(pa.memory_map(str(path)).read_buffer()).cast("B")  # of which only what is looked at is read
    at, end = start, start + chunk.total_compressed_size
    while at < end:
        header, at = _read_header(data, at)
        if header[3] < 0:  # which would lead back to this header for ever
            raise ValueError(_DAMAGED_HEADER)
        yield header, data[at : at + header[3]]
        at += header[3]


def _read_header(data: memoryview, at: int) -> tuple[dict[int, Any], int]:
    """The fields of a structure of Thrift in its compact form, by number, and where it ends."""
    fields: dict[int, Any] = {}
    number = 0
    while data[at]:
        kind, step = data[at] & 15, data[at] >> 4
        at += 1
        if not step:
            step, at = _read_number(data, at)
            step = (step >> 1 ^ -(step & 1)) - number
        number += step
        if kind in (1, 2):
            fields[number] = kind == 1
        elif kind in (4, 5, 6):
            value, at = _read_number(data, at)
            fields[number] = value >> 1 ^ -(value & 1)
        elif kind == 8:
            length, at = _read_number(data, at)
            at += length
        elif kind == 12:
            fields[number], at = _read_header(data, at)
        else:
            raise ValueError(_DAMAGED_HEADER)
    return fields, at + 1


def _read_number(data: memoryview, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):  # up to 64 bits
        value |= (data[at] & 127) << shift
        at += 1
        if data[at - 1] < 128:
            return value, at
    raise ValueError(_DAMAGED_HEADER)


def open_arrow(_: duckdb.DuckDBPyConnection, files: Sequence[InputFile], __: Hashable) -> pa.Table:
    """The table in an Arrow file, mapped into memory."""
    (file,) = files
    if is_saved_log(file.path):
        raise InputError(
            f"{file.name} is a saved log, which cannot be joined with other files", remedy="give it alone"
        )
    with report_unreadable(file.name):
        try:
            table = pa.ipc.open_file(pa.memory_map(str(file.path))).read_all()
        except UnicodeDecodeError:
            raise FileError(f"cannot read {file.name}: the name of a column is not UTF-8") from None
        run_interruptibly(lambda: table.validate(full=True))  # DuckDB would follow a damaged offset anywhere
        return table
