"""CSV and JSON lines as DuckDB relations, without guessing.

A CSV file is cut by the delimiter of its header line and every value is text; what a column holds is
found out from all of its values in `unskew.reading.column_types`, never from a sample of them. JSON values
stay JSON for the same reason: a text that looks like a date or a number is still a text.
"""

from __future__ import annotations

import csv
import glob
import io
import re
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pyarrow as pa

from unskew.errors import ColumnError, EmptyError, FileError
from unskew.text import first_line

_DELIMITERS = ",\t;|"
_HEAD = 2**20  # a header is not longer than this
_GZIP = b"\x1f\x8b"
_REASONS = (
    (r"CSV Error on Line: (\d+)", "line {}"),
    (r"Expected Number of Columns: (\d+ Found: \d+)", "expected {} columns"),
    (r"(unterminated quote)", "a quote is opened and never closed"),
    (r"(not utf-8 encoded)", "it is not UTF-8: save it as UTF-8"),
    (r"(Maximum line size of \d+ bytes exceeded)", "{}"),
    (r"(state machine reached an invalid state)", "its quotes or its line ends are not those of a CSV file"),
)


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
        head = _head(path).removeprefix("\ufeff")
        text = head.lstrip("\r\n")
        if not text.strip():
            raise EmptyError(f"{path} has no header line: its first line must name the columns")
        delimiter = _delimiter(re.split(r"[\r\n]", text, maxsplit=1)[0])
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
        try:
            names = [name.strip() for name in next(reader)]
        except csv.Error as error:
            raise FileError(f"cannot read {path}: line 1: {error}") from None
        twice = next((n for n in names if n and names.count(n) > 1), None)
        if twice is not None:
            raise ColumnError(f"{path} has two columns {twice!r} in its first line, which must name the columns")
        lowered: set[str] = set()
        columns = []
        for k, name in enumerate(names):  # SQL does not tell upper from lower case
            shown = name or f"column {k + 1}"
            while shown.lower() in lowered:
                shown += "_"
            lowered.add(shown.lower())
            columns.append(shown)
        blank = len(head[: len(head) - len(text)].splitlines())
        return cls(delimiter, tuple(columns), blank)

    def relation(self, files: list[Path]) -> str:
        """These files, which all have this form."""
        columns = ", ".join(f"{text(name)}: 'VARCHAR'" for name in self.columns)
        return (
            f"read_csv({paths(files)}, auto_detect=false, header=true, skip={self.blank}, "
            f"delim={text(self.delimiter)}, quote='\"', escape='\"', columns={{{columns}}})"
        )


def json_relation(connection: duckdb.DuckDBPyConnection, files: list[Path]) -> str:
    """JSON lines (or one array) of objects, each value as JSON."""
    found = connection.execute(f"DESCRIBE SELECT * FROM read_json({paths(files)}, union_by_name=true)").fetchall()
    if [row[0] for row in found] == ["json"]:  # what DuckDB calls values that are no objects
        if found[0][1] == "JSON":
            raise EmptyError(f"{files[0]} has no rows")
        raise FileError(f"{files[0]} does not hold one JSON object on each line, such as {{'user': 1, ...}}")
    columns = ", ".join(f"{text(row[0])}: 'JSON'" for row in found)
    return f"read_json({paths(files)}, columns={{{columns}}})"


def text(value: str) -> str:
    """A text constant for SQL."""
    return "'" + value.replace("'", "''") + "'"


def paths(files: list[Path]) -> str:
    """A list of paths for SQL, in which a star is a star."""
    return "[" + ", ".join(text(glob.escape(str(f))) for f in files) + "]"


def reason(error: duckdb.Error) -> str:
    """What DuckDB says against a file, in one line."""
    message = str(error)
    found = [(re.search(pattern, message), shown) for pattern, shown in _REASONS]
    told = [
        shown.format(match[1].replace(" Found", ", found").replace(":", "")) for match, shown in found if match
    ]
    return ": ".join(told) if told else re.sub(r"^[A-Z][A-Za-z ]+ Error: ", "", first_line(error))


def _head(path: Path) -> str:
    with path.open("rb") as file:
        packed = file.read(2) == _GZIP
    if packed and path.suffix != ".gz":
        raise FileError(f"{path} is packed with gzip: give it the ending {path.suffix}.gz")
    try:
        with pa.input_stream(str(path)) as stream:
            head: bytes = stream.read(_HEAD)
    except (pa.ArrowException, OSError) as error:
        raise FileError(f"cannot read {path}: {first_line(error)}") from None
    line = re.split(rb"[\r\n]", head.lstrip(b"\r\n"), maxsplit=1)[0]
    try:
        line.decode()
    except UnicodeDecodeError:
        raise FileError(f"cannot read {path}: line 1: it is not UTF-8: save it as UTF-8") from None
    if b"\0" in line:
        raise FileError(f"cannot read {path}: it is not text")
    return head.decode(errors="replace")


def _delimiter(header: str) -> str:
    bare = re.sub(r'"[^"]*"', "", header)
    return max(_DELIMITERS, key=bare.count)
