"""Workbooks, databases and packed files: how the campaign writes them, and how somebody else reads them.

A workbook is read here as the XML that it is. Of databases there is no second reader: they are read row by row,
without anything of unskew, and one that says itself that it is damaged is not believed.
"""

from __future__ import annotations

import bz2
import io
import lzma
import re
import sqlite3
import tempfile
import zipfile
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

import duckdb
import openpyxl
import pyarrow as pa

from fuzz.plain_columns import Columns, list_columns, list_rows, pack_csv, show, unpack_csv

_NAME = "events"
_CONTROLS = re.compile("[\\x00-\\x08\\x0b-\\x1f]")  # which a workbook cannot hold
_SPACE = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"


def pack_excel(table: pa.Table) -> bytes:
    """A workbook of one sheet."""
    book = openpyxl.Workbook()
    book.active.append(table.column_names)
    for row in list_rows(table):
        book.active.append([_simplify(value) for value in row.values()])
    sink = io.BytesIO()
    book.save(sink)
    return sink.getvalue()


def unpack_excel(content: bytes, names: Sequence[str] | None = None) -> Columns:
    """The cells of the first sheet, from its XML."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        texts = []
        if "xl/sharedStrings.xml" in archive.namelist():
            strings = Xml.fromstring(archive.read("xl/sharedStrings.xml"))
            texts = ["".join(part.text or "" for part in one.iter(f"{_SPACE}t")) for one in strings]
        sheet = Xml.fromstring(archive.read("xl/worksheets/sheet1.xml"))
    rows = [{_column(cell): _read_cell(cell, texts) for cell in row} for row in sheet.iter(f"{_SPACE}row")]
    head, *body = [row for row in rows if any(value is not None for value in row.values())]
    return {str(name): [row.get(column) for row in body] for column, name in head.items()}


def _column(cell: Xml.Element) -> str:
    return re.sub("[0-9]", "", cell.attrib["r"])


def _read_cell(cell: Xml.Element, texts: list[str]) -> Any:
    value = cell.findtext(f"{_SPACE}v")
    kind = cell.attrib.get("t", "n")
    if kind == "inlineStr":
        return "".join(part.text or "" for part in cell.iter(f"{_SPACE}t"))
    if value is None or kind == "s":
        return None if value is None else texts[int(value)]
    if kind == "n":
        return float(value) if re.search("[.eE]", value) else int(value)
    return bool(int(value)) if kind == "b" else value


def pack_sqlite(table: pa.Table) -> bytes:
    """A database of one table."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file"
        with closing(sqlite3.connect(path)) as database:
            names = ", ".join('"' + name.replace('"', '""') + '"' for name in table.column_names)
            database.execute(f"CREATE TABLE {_NAME} ({names})")
            marks = ", ".join("?" * table.num_columns)
            rows = [[_simplify(value) for value in row.values()] for row in list_rows(table)]
            database.executemany(f"INSERT INTO {_NAME} VALUES ({marks})", rows)
            database.commit()
        return path.read_bytes()


def unpack_sqlite(content: bytes, names: Sequence[str] | None = None) -> Columns:
    """The rows as SQLite gives them, if it finds nothing wrong."""
    return _read_database(content, _select_sqlite)


def _select_sqlite(path: Path) -> Columns:
    with closing(sqlite3.connect(path)) as database:
        database.text_factory = lambda raw: raw.decode(errors="backslashreplace")
        if database.execute("PRAGMA integrity_check").fetchall() != [("ok",)]:
            raise ValueError("SQLite says that it is damaged")
        (name,) = [row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        quoted = name.replace('"', '""')
        cursor = database.execute(f'SELECT * FROM "{quoted}"')
        rows = cursor.fetchall()
        return {one[0]: [_read_blob(row[k]) for row in rows] for k, one in enumerate(cursor.description)}


def _read_blob(value: Any) -> Any:
    """A blob as the text that it is: SQLite lets both stand in one column."""
    return value.decode() if isinstance(value, bytes) else value


def pack_duckdb(table: pa.Table) -> bytes:
    """A database of one table."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file"
        with closing(duckdb.connect(str(path), config={"threads": 1})) as database:
            database.register("rows", table)
            database.execute(f"CREATE TABLE {_NAME} AS SELECT * FROM rows")
        return path.read_bytes()


def unpack_duckdb(content: bytes, names: Sequence[str] | None = None) -> Columns:
    """The rows as DuckDB gives them."""
    return _read_database(content, _select_duckdb)


def _select_duckdb(path: Path) -> Columns:
    with closing(duckdb.connect(str(path), read_only=True, config={"threads": 1})) as database:
        (name,) = [row[0] for row in database.execute("SELECT table_name FROM duckdb_tables()").fetchall()]
        return list_columns(database.sql(f'SELECT * FROM "{name}"').to_arrow_table())


def _read_database(content: bytes, select: Callable[[Path], Columns]) -> Columns:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file"
        path.write_bytes(content)
        return select(path)


def pack_bz2(table: pa.Table) -> bytes:
    """CSV, packed with bzip2."""
    return bz2.compress(pack_csv(table))


def unpack_bz2(content: bytes, names: Sequence[str] | None = None) -> Columns:
    """The same, unpacked."""
    return unpack_csv(bz2.decompress(content))


def pack_xz(table: pa.Table) -> bytes:
    """CSV, packed with xz."""
    return lzma.compress(pack_csv(table))


def unpack_xz(content: bytes, names: Sequence[str] | None = None) -> Columns:
    """The same, unpacked."""
    return unpack_csv(lzma.decompress(content))


def pack_zip(table: pa.Table) -> bytes:
    """CSV, as the one file of an archive."""
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(zipfile.ZipInfo(f"{_NAME}.csv"), pack_csv(table))
    return sink.getvalue()


def unpack_zip(content: bytes, names: Sequence[str] | None = None) -> Columns:
    """The same, unpacked."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        (name,) = archive.namelist()
        return unpack_csv(archive.read(name))


def _simplify(value: Any) -> Any:
    """What workbooks and SQLite can hold: numbers and texts."""
    return value if value is None or isinstance(value, int | float) else _CONTROLS.sub("?", show(value))
