"""Text files as a DuckDB relation: CSV and what is like it.

How a file is cut is told from its first lines in `unskew.reading.text_sniffing`, and every value is text; what a
column holds is found out from all of its values in `unskew.reading.column_types`, never from a sample of them.
"""

from __future__ import annotations

import csv
import io
import mmap
import re
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

import duckdb

from unskew.errors import EmptyError, FileError
from unskew.reading.input_file import InputFile, name_columns
from unskew.reading.sql import quote_paths, quote_text
from unskew.reading.text_sniffing import describe_text, sniff_text
from unskew.reading.unpacking import open_unpacked, read_head

_SNIFFED = 2**17  # characters; more would only take longer, and csv.reader takes no longer value
_LONGEST = 2**24  # bytes of a line: DuckDB looks at twice that at a time, and drops a last line that is longer


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
        if not (whole and len(shown) <= _SNIFFED) and not re.search("[\r\n]", shown[:_SNIFFED]):
            raise FileError(f"cannot read {file.name}: its first line is longer than {_SNIFFED} characters")
        if not whole:
            _refuse_long_lines(file)
        try:
            form = sniff_text(shown[:_SNIFFED], file.options, whole=whole and len(shown) <= _SNIFFED)
        except csv.Error as error:
            raise FileError(f"cannot read {file.name}: line 1: {error}") from None
        if not form.rows:
            raise EmptyError(f"{file.name} has no values in it")
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
        f"max_line_size={_LONGEST}, buffer_size={2 * _LONGEST}, hive_partitioning=false)"
    )


def _refuse_long_lines(file: InputFile) -> None:
    """Refuse a file with a line that is too long for DuckDB.

    Of a line of twice the length, one of the blocks into which the file is cut holds nothing else. Of a file that
    is not packed only the first line of each block is looked at.
    """
    with open_unpacked(file.path) as stream:
        if isinstance(stream, io.BufferedReader):
            with mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as text:
                blocks = range(0, len(text) - _LONGEST, _LONGEST)
                ends = (b"\n", b"\r")
                too_long = any(all(text.find(end, k, k + _LONGEST) < 0 for end in ends) for k in blocks)
        else:
            too_long = False
            while not too_long and len(block := stream.read(_LONGEST)) == _LONGEST:
                too_long = b"\n" not in block and b"\r" not in block
    if too_long:
        raise FileError(f"cannot read {file.name}: it has a line of more than {_LONGEST >> 20} MB")
