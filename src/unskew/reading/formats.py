"""The file formats that unskew reads, and how to tell which of them a file has.

To add one, write a function that opens its files and add an entry to `FORMATS`; nothing else asks for a format by
its name.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from unskew.errors import FileError
from unskew.files import ARROW_MAGIC
from unskew.reading.columnar_files import open_arrow, open_parquet
from unskew.reading.csv_files import CsvForm, open_csv
from unskew.reading.json_files import open_json
from unskew.text import with_article

COMPRESSED = (".gz", ".zst")
"""Endings that may follow that of a format."""


def _any_form(_: Path) -> Hashable | None:
    return ()


@dataclass(frozen=True)
class Format:
    """A file format.

    Attributes
    ----------
    name
        As people say it.
    endings
        Of the names of its files, in lower case.
    open_files
        Makes some files readable that have the same form: SQL for a relation, or an Arrow table.
    typed_by
        What says of which type a value is: its ``column``, the ``value`` itself (so that a column may mix types),
        or ``nothing``. In the last case every value is text, times included, and what a column holds is found out
        from all its values.
    parse_once
        Whether reading a file twice means parsing it twice, so that it is kept in a temporary table.
    magic
        The bytes with which every file begins; empty if it is text, which may begin with anything.
    form_of
        What files must have in common to be read in one scan; None for a file that is read by itself.
    read_schema
        Reads the Arrow schema, which knows zones and categoricals that DuckDB does not. Not needed where
        `open_files` gives an Arrow table.
    """

    name: str
    endings: tuple[str, ...]
    open_files: Callable[[duckdb.DuckDBPyConnection, Sequence[Path]], str | pa.Table]
    typed_by: Literal["column", "value", "nothing"]
    parse_once: bool
    magic: bytes = b""
    form_of: Callable[[Path], Hashable | None] = _any_form
    read_schema: Callable[[Path], pa.Schema] | None = None


PARQUET = Format(
    name="Parquet",
    endings=(".parquet", ".pq"),
    open_files=open_parquet,
    typed_by="column",
    parse_once=False,
    magic=b"PAR1",
    read_schema=pq.read_schema,
)
CSV = Format(
    name="CSV",
    endings=(".csv", ".tsv", ".txt"),
    open_files=open_csv,
    typed_by="nothing",
    parse_once=True,
    form_of=CsvForm.of,
)
JSON_LINES = Format(
    name="JSON lines",
    endings=(".jsonl", ".ndjson", ".json"),
    open_files=open_json,
    typed_by="value",
    parse_once=True,
)
ARROW = Format(
    name="Arrow",
    endings=(".arrow", ".feather"),
    open_files=open_arrow,
    typed_by="column",
    parse_once=False,
    magic=ARROW_MAGIC,
    form_of=lambda _: None,
)

FORMATS = (PARQUET, CSV, JSON_LINES, ARROW)


def find_ending(path: Path) -> str:
    """The ending that says the format of a file: in lower case, without .gz or .zst; empty if there is none."""
    endings = [ending.lower() for ending in path.suffixes]
    if endings and endings[-1] in COMPRESSED:
        endings.pop()
    return endings[-1] if endings else ""


def find_format(path: Path) -> Format:
    """The format of a file: its ending says it, and its first bytes must not contradict."""
    ending = find_ending(path)
    named = next((one for one in FORMATS if ending in one.endings), None)
    with path.open("rb") as file:
        head = file.read(max(len(one.magic) for one in FORMATS))
    if not head:
        raise FileError(f"{path} is empty")
    real = next((one for one in FORMATS if one.magic and head.startswith(one.magic)), None)
    if named is not None and real is not named and (real is not None or named.magic):
        content = ("not " if real is None else "") + with_article(f"{(real or named).name} file")
        raise FileError(f"{path} ends in {ending} but is {content}", remedy="rename it")
    found = named or real
    if found is None:
        known = ", ".join(ending for one in FORMATS for ending in one.endings)
        raise FileError(
            f"cannot tell the format of {path}", remedy=f"give it one of the endings {known} (also with .gz)"
        )
    return found
