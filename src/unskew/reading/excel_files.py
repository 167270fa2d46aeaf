"""Excel workbooks: one sheet, read with openpyxl, which is an extra."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from datetime import date, datetime, time
from typing import Any

import duckdb
import pyarrow as pa

from unskew.errors import EmptyError, FileError, UnskewError
from unskew.reading.input_file import InputFile, choose_inside, name_columns
from unskew.reading.text_sniffing import find_header
from unskew.text import tell_damage

_SAMPLE = 200  # rows that tell whether the first is a header


def open_excel(_: duckdb.DuckDBPyConnection, files: Sequence[InputFile], __: Hashable) -> pa.Table:
    """A sheet as a table, each column in the type that all its cells have."""
    (file,) = files
    rows = _trim(_read_sheet(file))
    if not rows:
        raise EmptyError(f"{file.name} has no rows")
    header = _has_header(rows, file)
    first = ["" if cell is None else str(cell) for cell in rows[0]]
    names = name_columns(file, first, header=header)
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
    try:
        book = openpyxl.load_workbook(file.path, read_only=True, data_only=True)
        try:
            sheet = book[choose_inside(file, book.sheetnames, "sheet")]
            return list(sheet.iter_rows(values_only=True))
        finally:
            book.close()
    except UnskewError:
        raise
    except Exception as error:  # whatever damaged bytes lead openpyxl to
        raise FileError(f"cannot read {file.name}: {tell_damage(error)}") from error


def _trim(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """The rows that have anything in them, without the empty columns at their end that a sheet often has."""
    filled = [row for row in rows if any(cell is not None for cell in row)]
    width = max((k + 1 for row in filled for k, cell in enumerate(row) if cell is not None), default=0)
    return [row[:width] for row in filled]


def _has_header(rows: Sequence[Sequence[Any]], file: InputFile) -> bool:
    if file.options.header is not None:
        return file.options.header
    evident = find_header([["" if c is None else str(c) for c in row] for row in rows[:_SAMPLE]])
    return file.options.column_names is None if evident is None else evident


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
