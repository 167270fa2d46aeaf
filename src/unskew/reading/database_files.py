"""Files with several tables, of which one is read: SQLite and DuckDB databases, and Excel workbooks.

SQLite is read with Python's own library, row by row into a temporary table, each column in the type that all its
values have. A DuckDB file is attached, read-only. Views are not read: they may read other files, or never end.
Excel is read with openpyxl, which is an extra.
"""

from __future__ import annotations

import functools
import sqlite3
import zlib
from collections.abc import Hashable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import date, datetime, time
from typing import Any
from urllib.parse import quote

import duckdb
import pyarrow as pa

from unskew.errors import ColumnError, EmptyError, FileError
from unskew.reading.connection import quote_name, quote_text, report_unreadable, run_interruptibly
from unskew.reading.input_files import InputFile, choose_inside, name_columns
from unskew.reading.text_files import find_header
from unskew.text import first_line

_ROWS = 100_000  # that are converted at once
_ARROW = {"integer": pa.int64(), "real": pa.float64(), "text": pa.string(), "blob": pa.binary()}


@dataclass(frozen=True)
class _Column:
    name: str
    expression: str
    type: pa.DataType


def open_sqlite(connection: duckdb.DuckDBPyConnection, files: Sequence[InputFile], _: Hashable) -> str:
    """The name of a temporary table with the rows of one table of a SQLite file."""
    (file,) = files
    name = f"sqlite_{zlib.crc32(f'{file.path}?{file.options.table}'.encode()):08x}"
    try:
        database = _connect(file)
        copy = functools.partial(_copy_table, database, file, connection, name)
        run_interruptibly(copy, stops=(database.interrupt, connection.interrupt))
    except sqlite3.Error as error:
        raise FileError(f"cannot read {file.name}: {first_line(error)}") from None
    return name


def _copy_table(
    database: sqlite3.Connection, file: InputFile, connection: duckdb.DuckDBPyConnection, name: str
) -> None:
    """Copy a table and close the database: here, since nobody else may while a value is still computed."""
    with closing(database):
        _refuse_damage(database, file)
        names = database.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name"
        )
        table = choose_inside(file, [row[0] for row in names], "table")
        columns = _find_columns(database, table, file)
        schema = pa.schema([(column.name, column.type) for column in columns])
        rows = pa.RecordBatchReader.from_batches(schema, _read_batches(database, table, columns, schema))
        connection.register("sqlite_rows", rows)
        connection.execute(f"CREATE OR REPLACE TEMP TABLE {name} AS SELECT * FROM sqlite_rows")
        connection.unregister("sqlite_rows")


def open_duckdb(connection: duckdb.DuckDBPyConnection, files: Sequence[InputFile], _: Hashable) -> str:
    """The name of one table of a DuckDB file, attached to the connection."""
    (file,) = files
    name = f"attached_{zlib.crc32(str(file.path).encode()):08x}"
    attached = {row[0] for row in connection.execute("SELECT database_name FROM duckdb_databases()").fetchall()}
    if name not in attached:
        connection.execute(f"ATTACH {quote_text(str(file.path))} AS {name} (READ_ONLY, TYPE duckdb)")
    rows = connection.execute(
        f"SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = '{name}' AND NOT internal"
    ).fetchall()
    tables = {(table if schema == "main" else f"{schema}.{table}"): (schema, table) for schema, table in rows}
    schema, table = tables[choose_inside(file, sorted(tables), "table")]
    return f"{name}.{quote_name(schema)}.{quote_name(table)}"


def _connect(file: InputFile) -> sqlite3.Connection:
    """The database, opened so that nothing is ever written to it and its schema runs no functions of others."""
    database = sqlite3.connect(
        f"file:{quote(str(file.path.absolute()))}?mode=ro", uri=True, check_same_thread=False
    )
    database.execute("PRAGMA trusted_schema = OFF")
    database.text_factory = lambda raw: raw.decode(errors="backslashreplace")  # two ids stay two
    return database


def _refuse_damage(database: sqlite3.Connection, file: InputFile) -> None:
    """Refuse a file that SQLite would read in part, without a word about the rows that it cannot reach."""
    try:
        verdict = database.execute("PRAGMA quick_check(1)").fetchone()
    except UnicodeDecodeError:  # SQLite quotes what it found, and that is no text
        raise FileError(f"{file.name} is damaged (its schema is no text)", remedy="restore it") from None
    if verdict != ("ok",):
        raise FileError(f"{file.name} is damaged ({verdict[0].splitlines()[-1]})", remedy="restore it")


def _find_columns(database: sqlite3.Connection, table: str, file: InputFile) -> list[_Column]:
    """The columns of a table, each with the one type that holds all its values: SQLite lets each have its own."""
    rows = database.execute(f"SELECT * FROM {quote_name(table)} LIMIT 0")
    names = [field[0] for field in rows.description]
    twice = next((n for n in names if [m.lower() for m in names].count(n.lower()) > 1), None)
    if twice is not None:
        raise ColumnError(f"{table!r} of {file.name} has two columns {twice!r}", remedy="rename one of them")
    columns = []
    for name in names:
        quoted = quote_name(name)
        query = f"SELECT DISTINCT typeof({quoted}) FROM {quote_name(table)} WHERE {quoted} IS NOT NULL"
        kinds = {row[0] for row in database.execute(query)}
        if kinds == {"integer", "real"}:
            columns.append(_Column(name, f"CAST({quoted} AS REAL)", pa.float64()))
        elif len(kinds) == 1:
            columns.append(_Column(name, quoted, _ARROW[kinds.pop()]))
        else:
            columns.append(_Column(name, f"CAST({quoted} AS TEXT)" if kinds else quoted, pa.string()))
    return columns


def _read_batches(
    database: sqlite3.Connection, table: str, columns: Sequence[_Column], schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    chosen = ", ".join(column.expression for column in columns)
    rows = database.execute(f"SELECT {chosen} FROM {quote_name(table)}")
    while batch := rows.fetchmany(_ROWS):
        yield pa.record_batch([list(values) for values in zip(*batch, strict=True)], schema=schema)


_SAMPLE = 200  # rows that tell whether the first is a header


def open_excel(_: duckdb.DuckDBPyConnection, files: Sequence[InputFile], __: Hashable) -> pa.Table:
    """A sheet as a table, each column in the type that all its cells have."""
    (file,) = files
    rows = _trim(_read_sheet(file))
    if not rows:
        raise EmptyError(f"{file.name} has no rows")
    texts = [["" if cell is None else str(cell) for cell in row] for row in rows[:_SAMPLE]]
    header = file.options.header
    if header is None:
        evident = find_header(texts)
        header = file.options.column_names is None if evident is None else evident
    names = name_columns(file, texts[0], header=header)
    body = rows[1:] if header else rows
    arrays = [_to_array([row[k] if k < len(row) else None for row in body]) for k in range(len(names))]
    return pa.table(arrays, names=list(names))


def _read_sheet(file: InputFile) -> list[tuple[Any, ...]]:
    try:
        import openpyxl
    except ModuleNotFoundError:
        raise FileError(
            f"cannot read {file.name}: Excel files need openpyxl",
            remedy="pip install 'unskew[excel]', or save the sheet as CSV",
        ) from None
    with (
        report_unreadable(file.name),
        closing(openpyxl.load_workbook(file.path, read_only=True, data_only=True)) as book,
    ):
        sheet = book[choose_inside(file, book.sheetnames, "sheet")]
        return list(sheet.iter_rows(values_only=True))


def _trim(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """The rows that have anything in them, without the empty columns at their end that a sheet often has."""
    filled = [row for row in rows if any(cell is not None for cell in row)]
    width = max((k + 1 for row in filled for k, cell in enumerate(row) if cell is not None), default=0)
    return [row[:width] for row in filled]


def _to_array(cells: Sequence[Any]) -> pa.Array:
    """Cells in the one type that they all have: Excel lets each have its own."""
    kinds = {type(cell) for cell in cells if cell is not None}
    if kinds and kinds <= {int, float}:
        if all(cell is None or (abs(cell) < 2**63 and float(cell).is_integer()) for cell in cells):
            return pa.array([None if cell is None else int(cell) for cell in cells])
        if not any(isinstance(cell, int) and abs(cell) > 2**53 for cell in cells):
            return pa.array([None if cell is None else float(cell) for cell in cells])
        kinds = {str}  # decimal numbers could not tell such integers apart
    if len(kinds) <= 1 and not kinds & {time, str}:
        return pa.array(cells)
    if kinds <= {datetime, date}:
        return pa.array([datetime(c.year, c.month, c.day) if type(c) is date else c for c in cells])
    return pa.array([None if cell is None else str(cell) for cell in cells])
