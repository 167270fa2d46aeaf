"""The file formats that unskew reads, and how to tell which of them a file has.

To add one, write a function that opens its files and add an entry to `FORMATS`; nothing else asks for a format by
its name.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from unskew.errors import FileError, option
from unskew.reading.columnar_files import check_pages, open_arrow, open_parquet
from unskew.reading.input_files import InputFile
from unskew.reading.text_files import CsvForm, open_csv, open_json
from unskew.reading.unpacking import find_encoding, read_head, strip_packing
from unskew.storage.files import ARROW_MAGIC
from unskew.text import with_article

_Opener = Callable[[duckdb.DuckDBPyConnection, Sequence[InputFile], Hashable], str | pa.Table]


def _open_later(name: str) -> _Opener:
    """A function of `unskew.reading.database_files`, which is loaded when such a file is opened."""

    def open_files(*arguments: Any) -> Any:
        from unskew.reading import database_files

        return getattr(database_files, name)(*arguments)

    return open_files


@dataclass(frozen=True)
class Format:
    """A file format."""

    name: str  # as people say it
    key: str  # what it is called in options; see `unskew.reading.input_files`
    endings: tuple[str, ...]  # of the names of its files, in lower case
    # Makes some files readable that have the same form, and is given that: SQL, or an Arrow table.
    open_files: _Opener
    # What says of which type a value is: its ``column``, the ``value`` itself (so that a column may mix types), or
    # ``nothing``. In the last case every value is text, times included, and what a column holds is found out from
    # all its values.
    typed_by: Literal["column", "value", "nothing"]
    # Whether reading a file twice means parsing it twice, so that it is kept in a temporary table.
    parse_once: bool
    # The bytes that every file has at `magic_at`; empty if it is text, which may begin with anything.
    magic: bytes = b""
    magic_at: int = 0
    # What files must have in common to be read in one scan; None for a file that is read by itself.
    form_of: Callable[[InputFile], Hashable | None] = lambda _: ()
    # Reads the Arrow schema, which knows zones and categoricals that DuckDB does not. Not needed where
    # `open_files` gives an Arrow table.
    read_schema: Callable[[Path], pa.Schema] | None = None
    # Refuses a file, given its path, its name and some columns, if these are damaged and DuckDB does not see it;
    # it asks a function for memory before it takes it.
    check_columns: Callable[[Path, str, Sequence[str], Callable[[int], None]], None] | None = None


PARQUET = Format(
    name="Parquet",
    key="parquet",
    endings=(".parquet", ".pq"),
    open_files=open_parquet,
    typed_by="column",
    parse_once=False,
    magic=b"PAR1",
    read_schema=pq.read_schema,
    check_columns=check_pages,
)
CSV = Format(
    name="CSV",
    key="csv",
    endings=(".csv", ".tsv", ".txt", ".dat", ".data", ".tab", ".psv", ".ssv"),
    open_files=open_csv,
    typed_by="nothing",
    parse_once=True,
    form_of=CsvForm.of,
)
JSON_LINES = Format(
    name="JSON lines",
    key="json",
    endings=(".jsonl", ".ndjson", ".json"),
    open_files=open_json,
    typed_by="value",
    parse_once=True,
)
_typed_alone = functools.partial(Format, typed_by="column", parse_once=False, form_of=lambda _: None)

ARROW = _typed_alone("Arrow", "arrow", (".arrow", ".feather"), open_arrow, magic=ARROW_MAGIC)
EXCEL = _typed_alone("Excel", "excel", (".xlsx", ".xlsm"), _open_later("open_excel"), magic=b"PK\x03\x04")
SQLITE = _typed_alone(
    "SQLite",
    "sqlite",
    (".sqlite", ".sqlite3", ".db", ".db3"),
    _open_later("open_sqlite"),
    magic=b"SQLite format 3\0",
)
DUCKDB = _typed_alone(
    "DuckDB", "duckdb", (".duckdb", ".ddb"), _open_later("open_duckdb"), magic=b"DUCK", magic_at=8
)

FORMATS = (PARQUET, CSV, JSON_LINES, ARROW, EXCEL, SQLITE, DUCKDB)

_MAGIC_BYTES = max(form.magic_at + len(form.magic) for form in FORMATS)
_SHARED_ENDINGS = (".db",)  # of several databases: what the file begins with decides
_FOREIGN = {
    ".xls": "pd.read_excel",
    ".ods": "pd.read_excel",
    ".xml": "pd.read_xml",
    ".html": "pd.read_html",
    ".orc": "pd.read_orc",
    ".h5": "pd.read_hdf",
    ".hdf5": "pd.read_hdf",
    ".pkl": "pd.read_pickle",
    ".pickle": "pd.read_pickle",
    ".dta": "pd.read_stata",
    ".sav": "pd.read_spss",
    ".sas7bdat": "pd.read_sas",
}
"""Files that other libraries read, and with what."""


def find_ending(path: Path) -> str:
    """The ending that says the format of a file: in lower case, without .gz and the like; it may be empty."""
    return Path(strip_packing(path.name)).suffix.lower()


def find_format(file: InputFile) -> Format:
    """The format of a file: what was asked for, else its ending says it, and its first bytes must not contradict.

    Text with any other ending is JSON if it begins so, else it is cut like CSV.
    """
    with file.path.open("rb") as stream:
        head = stream.read(_MAGIC_BYTES)
    if not head:
        raise FileError(f"{file.name} is empty")
    real = next((form for form in FORMATS if form.magic and head.startswith(form.magic, form.magic_at)), None)
    ending = find_ending(file.path)
    if file.options.format is not None:
        requested = next(form for form in FORMATS if form.key == file.options.format)
        named: Format | None = requested
        claim = f"is to be read as {with_article(f'{requested.name} file')}"
        remedy = f"leave out {option('format')}"
    else:
        named = next((form for form in FORMATS if ending in form.endings and ending not in _SHARED_ENDINGS), None)
        claim, remedy = f"ends in {ending}", "rename it"
    if named is not None and real is not named and (real is not None or named.magic):
        content = ("not " if real is None else "") + with_article(f"{(real or named).name} file")
        raise FileError(f"{file.name} {claim} but is {content}", remedy=remedy)
    chosen = named or real
    if chosen is not None:
        return chosen
    if ending in _FOREIGN:
        raise FileError(f"unskew does not read {ending} files", remedy=_write_recipe(file.place.name, ending))
    head, _ = read_head(file.path, file.name)
    if find_encoding(head, whole=False) is not None:
        return JSON_LINES if head.lstrip()[:1] in (b"{", b"[") else CSV
    known = ", ".join(ending for form in FORMATS for ending in form.endings)
    raise FileError(
        f"cannot tell the format of {file.name}: it is not text, and its ending is none of {known}",
        remedy=_write_recipe(file.place.name, ending),
    )


def _write_recipe(name: str, ending: str) -> str:
    """How to make a file of another one that can be read."""
    if ending in (".tar", ".tgz"):
        return f"unpack it first: tar xf {name}"
    reader = _FOREIGN.get(ending)
    if reader is None:
        return "save it as Parquet or CSV with the program that wrote it"
    return (
        f"make it a Parquet file in Python: import pandas as pd; {reader}({name!r})"
        f".to_parquet({Path(name).stem + '.parquet'!r})"
    )
