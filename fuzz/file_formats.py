"""Every file format that unskew reads: how the campaign writes one, and how somebody else reads it.

To have a new format join, add a line to `WAYS`; a test fails as long as a format of `unskew.reading.formats` has
none. The reader must not be what unskew reads the format with; it may fail where the file is damaged.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from fuzz import more_formats as more
from fuzz.plain_columns import Columns, decode, list_columns, list_rows, pack_csv, show, unpack_csv


@dataclass(frozen=True)
class Way:
    """A way to write tables to files.

    Attributes
    ----------
    format
        What `unskew.reading.formats` calls it.
    ending
        Of its files.
    pack, unpack
        From a table to the bytes of a file, and back by another reader; of some columns alone, so that what is
        damaged in others does not matter.
    is_text
        Whether people can edit it.
    """

    format: str
    ending: str
    pack: Callable[[pa.Table], bytes]
    unpack: Callable[[bytes, Sequence[str] | None], Columns]
    is_text: bool = False


def _pack_parquet(table: pa.Table, **options: Any) -> bytes:
    sink = io.BytesIO()
    pq.write_table(table, sink, **options)
    return sink.getvalue()


def _unpack_parquet(content: bytes, names: Sequence[str] | None = None) -> Columns:
    return list_columns(pq.ParquetFile(io.BytesIO(content)).read(columns=names, use_threads=False))


def _pack_arrow(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def _unpack_arrow(content: bytes, names: Sequence[str] | None = None) -> Columns:
    return list_columns(pa.ipc.open_file(io.BytesIO(content)).read_all())


def _pack_gzip(table: pa.Table) -> bytes:
    return gzip.compress(pack_csv(table), mtime=0)


def _unpack_gzip(content: bytes, names: Sequence[str] | None = None) -> Columns:
    return unpack_csv(gzip.decompress(content))


def _pack_json(table: pa.Table) -> bytes:
    return b"".join(json.dumps(row, default=show).encode() + b"\n" for row in list_rows(table))


def _unpack_json(content: bytes, names: Sequence[str] | None = None) -> Columns:
    text = decode(content)
    for lines in (text.split("\n"), text.splitlines()):  # \r is white space, or the end of a line
        with contextlib.suppress(ValueError):
            rows = [json.loads(line, object_pairs_hook=_require_once) for line in lines if line.strip()]
            break
    else:
        rows = json.loads(text, object_pairs_hook=_require_once)
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise ValueError("a row is no object")
    return {name: [row.get(name) for row in rows] for name in dict.fromkeys(key for row in rows for key in row)}


def _require_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a key stands twice in an object")
    return dict(pairs)


WAYS = (
    Way("Parquet", ".parquet", _pack_parquet, _unpack_parquet),
    Way(
        "Parquet",
        ".pq",
        lambda table: _pack_parquet(table, compression="none", use_dictionary=False, data_page_version="2.0"),
        _unpack_parquet,
    ),
    Way("CSV", ".csv", pack_csv, unpack_csv, is_text=True),
    Way("CSV", ".csv.gz", _pack_gzip, _unpack_gzip),
    Way("JSON lines", ".jsonl", _pack_json, _unpack_json, is_text=True),
    Way("Arrow", ".arrow", _pack_arrow, _unpack_arrow),
    Way("CSV", ".csv.bz2", more.pack_bz2, more.unpack_bz2),
    Way("CSV", ".csv.xz", more.pack_xz, more.unpack_xz),
    Way("CSV", ".csv.zip", more.pack_zip, more.unpack_zip),
    Way("Excel", ".xlsx", more.pack_excel, more.unpack_excel),
    Way("SQLite", ".sqlite", more.pack_sqlite, more.unpack_sqlite),
    Way("DuckDB", ".duckdb", more.pack_duckdb, more.unpack_duckdb),
)
