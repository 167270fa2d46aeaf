"""Text files as a DuckDB relation: CSV and what is like it.

How a file is cut is told from its first lines in `unskew.reading.text_sniffing`, and every value is text; what a
column holds is found out from all of its values in `unskew.reading.column_types`, never from a sample of them.
"""

from __future__ import annotations

import csv
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

import duckdb

from unskew.errors import EmptyError, FileError
from unskew.reading.input_file import InputFile, name_columns
from unskew.reading.sql import quote_paths, quote_text
from unskew.reading.text_sniffing import describe_text, sniff_text
from unskew.reading.unpacking import read_head

_SNIFFED = 2**18  # characters; more would only take longer


@dataclass(frozen=True)
class CsvForm:
    """How to cut a CSV file: files of the same form are read together."""

    delimiter: str
    columns: tuple[str, ...]
    blank: int = 0
    """Empty lines before the first that is read."""
    header: bool = True
    quote: str = '"'
    said: str = field(default="", compare=False)
    """What the file was taken for, where it does not make that clear by itself."""

    @classmethod
    def of(cls, file: InputFile) -> CsvForm:
        """From the first lines of the file."""
        head, whole = read_head(file.path, file.name)
        text = head.decode(errors="replace").removeprefix("\ufeff")
        shown = text.lstrip("\r\n")
        if not shown.strip():
            raise EmptyError(f"{file.name} has no header line", remedy="name the columns in its first line")
        try:
            form = sniff_text(shown[:_SNIFFED], file.options, whole=whole and len(shown) <= _SNIFFED)
        except csv.Error as error:
            raise FileError(f"cannot read {file.name}: line 1: {error}") from None
        blank = len(text[: len(text) - len(shown)].splitlines())
        said = describe_text(form, file.notes)
        return cls(
            form.sep, name_columns(file, form.rows[0], header=form.header), blank, form.header, form.quote, said
        )


def open_csv(_: duckdb.DuckDBPyConnection, files: Sequence[InputFile], form: Hashable) -> str:
    """SQL for CSV files that all have the same form."""
    assert isinstance(form, CsvForm)
    columns = ", ".join(f"{quote_text(name)}: 'VARCHAR'" for name in form.columns)
    return (
        f"read_csv({quote_paths([file.path for file in files])}, auto_detect=false, "
        f"header={str(form.header).lower()}, skip={form.blank}, delim={quote_text(form.delimiter)}, "
        f"quote={quote_text(form.quote)}, escape={quote_text(form.quote)}, columns={{{columns}}}, "
        "hive_partitioning=false)"
    )
