"""CSV files as a DuckDB relation, without guessing.

A file is cut by the delimiter of its header line and every value is text; what a column holds is found out from
all of its values in `unskew.reading.column_types`, never from a sample of them.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pyarrow as pa

from unskew.errors import ColumnError, EmptyError, FileError
from unskew.reading.sql import quote_paths, quote_text
from unskew.text import first_line

_DELIMITERS = ",\t;|"
_HEAD = 2**20  # a header is not longer than this
_GZIP = b"\x1f\x8b"


@dataclass(frozen=True)
class CsvForm:
    """How to cut a CSV file: files of the same form are read together."""

    delimiter: str
    columns: tuple[str, ...]
    blank: int = 0
    """Empty lines before the header."""

    @classmethod
    def of(cls, path: Path) -> CsvForm:
        """From the header line of the file."""
        head = _read_head(path).removeprefix("\ufeff")
        text = head.lstrip("\r\n")
        if not text.strip():
            raise EmptyError(f"{path} has no header line", remedy="name the columns in its first line")
        delimiter = _find_delimiter(re.split(r"[\r\n]", text, maxsplit=1)[0])
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
        try:
            names = [name.strip() for name in next(reader)]
        except csv.Error as error:
            raise FileError(f"cannot read {path}: line 1: {error}") from None
        twice = next((n for n in names if n and names.count(n) > 1), None)
        if twice is not None:
            raise ColumnError(f"{path} has two columns {twice!r} in its first line, which must name the columns")
        blank = len(head[: len(head) - len(text)].splitlines())
        return cls(delimiter, _tell_apart(names), blank)


def open_csv(_: duckdb.DuckDBPyConnection, files: Sequence[Path]) -> str:
    """SQL for CSV files that all have the form of the first."""
    form = CsvForm.of(files[0])
    columns = ", ".join(f"{quote_text(name)}: 'VARCHAR'" for name in form.columns)
    return (
        f"read_csv({quote_paths(files)}, auto_detect=false, header=true, skip={form.blank}, "
        f"delim={quote_text(form.delimiter)}, quote='\"', escape='\"', columns={{{columns}}}, "
        "hive_partitioning=false)"
    )


def _tell_apart(names: list[str]) -> tuple[str, ...]:
    """Names that differ even without regard to case, which SQL does not tell; a column without a name gets one."""
    taken: set[str] = set()
    columns = []
    for k, name in enumerate(names):
        shown = name or f"column {k + 1}"
        while shown.lower() in taken:
            shown += "_"
        taken.add(shown.lower())
        columns.append(shown)
    return tuple(columns)


def _read_head(path: Path) -> str:
    with path.open("rb") as file:
        is_gzip = file.read(2) == _GZIP
    if is_gzip and path.suffix != ".gz":
        raise FileError(f"{path} is packed with gzip", remedy=f"give it the ending {path.suffix}.gz")
    try:
        with pa.input_stream(str(path)) as stream:
            head: bytes = stream.read(_HEAD)
    except (pa.ArrowException, OSError) as error:
        raise FileError(f"cannot read {path}: {first_line(error)}") from None
    line = re.split(rb"[\r\n]", head.lstrip(b"\r\n"), maxsplit=1)[0]
    try:
        line.decode()
    except UnicodeDecodeError:
        raise FileError(f"cannot read {path}: line 1: it is not UTF-8", remedy="save it as UTF-8") from None
    if b"\0" in line:
        raise FileError(f"cannot read {path}: it is not text")
    return head.decode(errors="replace")


def _find_delimiter(header: str) -> str:
    bare = re.sub(r'"[^"]*"', "", header)
    return max(_DELIMITERS, key=bare.count)
