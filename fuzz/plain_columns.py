"""Tables as plain Python has them: the values of each column; and CSV, in which most others are packed."""

from __future__ import annotations

import contextlib
import csv
import io
import re
from collections.abc import Sequence
from itertools import combinations
from typing import Any

import pyarrow as pa

Columns = dict[str, list[Any]]
"""The values of each column; texts alone where the format has nothing else."""


def list_columns(table: pa.Table) -> Columns:
    table.validate(full=True)
    pairs = list(zip(table.column_names, table.columns, strict=True))
    if any(name == other and not column.equals(twin) for (name, column), (other, twin) in combinations(pairs, 2)):
        raise ValueError("two columns have one name")
    return {name: _without_lengths(column).to_pylist() for name, column in pairs}


def _without_lengths(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Parquet has no lengths of time: where Arrow's own note in the file says so, the file has whole numbers."""
    return column.cast(pa.int64()) if pa.types.is_duration(column.type) else column


def pack_csv(table: pa.Table) -> bytes:
    sink = io.StringIO()
    writer = csv.writer(sink, lineterminator="\n")
    writer.writerow(table.column_names)
    writer.writerows(["" if v is None else show(v) for v in row.values()] for row in list_rows(table))
    return sink.getvalue().encode()


def unpack_csv(content: bytes, names: Sequence[str] | None = None) -> Columns:
    """By the rules of RFC 4180, with the separator of the first line; strict where Python's reader is not.

    A quote that is never closed is taken for what it is, and so are all others then. An empty cell is None.
    """
    text = decode(content).lstrip("\r\n")
    first = text.split("\n")[0]
    separator = max(",\t;|", key=first.count)
    if separator not in first and first.count(" ") > 1:  # a single column may still have commas behind its values
        separator = " "
    ways: list[Any] = [
        {},
        {"skipinitialspace": True},
        {"quoting": csv.QUOTE_NONE},
    ]
    for way in ways:
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True, **way)
        with contextlib.suppress(csv.Error):
            header, *rows = (row for row in reader if row)
            rows = [row if any(row[len(header) :]) else row[: len(header)] for row in rows]
            if all(len(row) == len(header) for row in rows):
                break
    else:
        raise ValueError("a row has another number of cells than the first line")
    columns = zip(*rows, strict=True) if rows else [()] * len(header)
    named = {
        name.strip(): _drop_zeros([v or None for v in values])
        for name, values in zip(header, columns, strict=True)
    }
    return {name: values for name, values in named.items() if name or any(values)}


def _drop_zeros(values: list[Any]) -> list[Any]:
    """A column of whole numbers without the zeros of 17511.0, which programs write where there are gaps."""
    whole = [value and re.sub(r"\.0+$", "", value) for value in values]
    known = [value for value in whole if value is not None]
    are_whole = all(re.fullmatch("0|-?[1-9][0-9]{0,18}", value) and abs(int(value)) < 2**63 for value in known)
    return whole if are_whole else values


def list_rows(table: pa.Table) -> list[dict[str, Any]]:
    columns = list_columns(table)
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def show(value: Any) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


def decode(content: bytes) -> str:
    """Text in UTF-8; in UTF-16 or UTF-32 if it begins with their mark or has zeros in it; else as on Windows."""
    marked = content.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in content
    wide = ("utf-32", "utf-16", "utf-16-le", "utf-16-be")
    for encoding in wide if marked else ("utf-8-sig", "cp1252", "latin-1"):
        with contextlib.suppress(UnicodeDecodeError):
            text = content.decode(encoding)
            if "\0" not in text:
                return text
    raise ValueError("it is no text")
