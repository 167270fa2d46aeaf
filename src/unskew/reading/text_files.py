"""Text files as a DuckDB relation: CSV and what is like it, and JSON lines.

How a file is cut is told from its first lines: separator, quotes, and whether it has a header. Every value is
text, or JSON; what a column holds is found out from all of its values in `unskew.reading.column_types`, never from
a sample of them.
"""

from __future__ import annotations

import csv
import io
import mmap
import re
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

import duckdb

from unskew.data.date_grammar import parse_time
from unskew.errors import EmptyError, FileError
from unskew.reading.connection import find_types, quote_paths, quote_text
from unskew.reading.input_files import FileOptions, InputFile, name_columns
from unskew.reading.unpacking import open_unpacked, read_head

_SNIFFED = 2**17  # characters; more would only take longer, and csv.reader takes no longer value
_LONGEST = 2**24  # bytes of a line: DuckDB looks at twice that at a time, and drops a last line that is longer


@dataclass(frozen=True)
class CsvForm:
    """How to cut a text file: files of the same form are read together."""

    # What stands between values, and around those that contain it; quote is empty if there are none.
    sep: str
    quote: str
    header: bool  # whether the first line names the columns
    rows: tuple[tuple[str, ...], ...] = field(compare=False)  # the first lines, cut
    doubts: tuple[str, ...] = field(compare=False)  # what of this the file does not make clear by itself
    columns: tuple[str, ...] = ()
    blank: int = 0  # empty lines before the first that is read
    read_as: str = field(default="", compare=False)  # what the file was taken for, if that is not clear

    @staticmethod
    def of(file: InputFile) -> CsvForm:
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
            raise EmptyError(f"{file.name} has no values in it", remedy="check the file")
        blank = len(text[: len(text) - len(shown)].splitlines())
        names = name_columns(file, form.rows[0], header=form.header)
        return replace(form, columns=names, blank=blank, read_as=describe_text(form, file.notes))


def open_csv(_: duckdb.DuckDBPyConnection, files: Sequence[InputFile], form: Hashable) -> str:
    """SQL for CSV files that all have the same form."""
    assert isinstance(form, CsvForm)
    columns = ", ".join(f"{quote_text(name)}: 'VARCHAR'" for name in form.columns)
    return (
        f"read_csv({quote_paths([file.path for file in files])}, auto_detect=false, "
        f"header={str(form.header).lower()}, skip={form.blank}, delim={quote_text(form.sep)}, "
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


def open_json(connection: duckdb.DuckDBPyConnection, files: Sequence[InputFile], _: Hashable) -> str:
    """SQL for JSON lines (or one array) of objects, each value as JSON."""
    paths = quote_paths([file.path for file in files])
    kinds = find_types(
        connection, f"SELECT * FROM read_json({paths}, union_by_name=true, hive_partitioning=false)"
    )
    if list(kinds) == ["json"]:  # what DuckDB calls values that are no objects
        if kinds["json"] == "JSON":
            raise EmptyError(f"{files[0].name} has no rows")
        raise FileError(
            f"{files[0].name} does not hold JSON objects",
            remedy="write one on each line, such as {'user': 1, ...}",
        )
    columns = ", ".join(f"{quote_text(name)}: 'JSON'" for name in kinds)
    return f"read_json({paths}, columns={{{columns}}}, hive_partitioning=false)"


SEPARATORS = {
    ",": "comma-separated text",
    "\t": "tab-separated text",
    "::": "text separated by '::'",
    ";": "text separated by ';'",
    "|": "text separated by '|'",
    " ": "text separated by spaces",
}
_USUAL = ",\t;|"
_LINES = 200  # that are looked at
_MISSING = {"", "na", "n/a", "nan", "null", "none", "-", "?", r"\n"}
_NUMBER = re.compile(r"[+-]?([0-9]+([.,][0-9]*)?|[.,][0-9]+)(e[+-]?[0-9]+)?", re.IGNORECASE)
_SLASHED = re.compile(r"[0-9]{1,4}[/.-][0-9]{1,2}[/.-][0-9]{1,4}([ T].*)?")


def describe_text(form: CsvForm, notes: Sequence[str] = ()) -> str:
    """What a file was taken for, if it does not make that clear by itself; else empty.

    `notes` are of what was found out about it before it was cut: its encoding.
    """
    if not form.doubts and not notes:
        return ""
    words = [SEPARATORS.get(form.sep, f"text separated by {form.sep!r}"), *notes]
    words += [] if form.header else ["without a header"]
    more = ["its header replaced"] if "header replaced" in form.doubts else []
    more += ["quotes read as plain characters"] if "quote" in form.doubts else []
    return ", ".join([" ".join(words), *more])


def sniff_text(text: str, options: FileOptions, *, whole: bool) -> CsvForm:
    """The form of a text that begins so (or is that, if `whole`); what the options say is not asked for."""
    lines = [line for line in re.split(r"\r\n|\r|\n", text) if line.strip()]
    lines = lines[: min(_LINES, len(lines) if whole or len(lines) == 1 else len(lines) - 1)]
    sep = options.sep if options.sep is not None else find_separator(lines)
    quote = options.quote if options.quote is not None else find_quote(text, sep, whole=whole)
    rows = cut_lines(text, sep, quote, whole=whole)
    evident = True if rows and options.expected & {name.strip() for name in rows[0]} else find_header(rows)
    header = options.header
    if header is None:
        header = options.column_names is None if evident is None else evident
    doubts = {
        "sep": options.sep is None and sep not in _USUAL,
        "header": options.header is None and not header and options.column_names is None,
        "header replaced": options.header is None and header and options.column_names is not None,
        "quote": options.quote is None and not quote and sep in ",;|",
    }
    return CsvForm(sep, quote, header, rows, tuple(name for name, is_doubtful in doubts.items() if is_doubtful))


def find_separator(lines: Sequence[str]) -> str:
    """What stands between values: it occurs equally often in every line; the most frequent such.

    Where there is none, the most frequent in the first line. Spaces count only if nothing else does.
    """
    bare = [re.sub(r'"[^"]*"', "", line) for line in lines]
    first = bare[0] if bare else ""
    counts = {sep: {line.count(sep) for line in bare} for sep in SEPARATORS}
    steady = {sep: next(iter(numbers)) for sep, numbers in counts.items() if len(numbers) == 1 and numbers != {0}}
    spaces = steady.pop(" ", 0)
    if steady:
        return max(steady, key=lambda sep: (sep != "|", steady[sep]))
    if spaces >= 2 and not any(sep in first for sep in _USUAL):
        return " "
    return max(_USUAL, key=first.count)


def find_quote(text: str, sep: str, *, whole: bool) -> str:
    """The quote, or nothing if quotes are characters like any other.

    They are if one that begins a value does not end it, or if what it would join are whole lines. Values between
    tabs, spaces or '::' are quoted only if the first lines show it: there a quote is mostly a part of a title.
    """
    are_closed = _check_quotes(text, sep, whole=whole)
    return '"' if are_closed or (are_closed is None and sep in ",;|") else ""


def _check_quotes(text: str, sep: str, *, whole: bool) -> bool | None:
    """Whether every quote that begins a value ends it as well; None if there is none."""
    begin = re.compile(rf'(?:\A|[\r\n]|{re.escape(sep)})"')
    body = re.compile(r'[^"]*(?:""[^"]*)*"(?!")')  # the text may end within a value, after a doubled quote
    end = re.compile(rf"{re.escape(sep)}|[\r\n]|\Z")
    width = re.split(r"[\r\n]", text.lstrip("\r\n"), maxsplit=1)[0].count(sep)
    place, seen = 0, False
    while (opening := begin.search(text, place)) is not None:
        inside = body.match(text, opening.end())
        if inside is None:  # it is never closed, as far as one can see
            return (seen or None) if not whole and text.count("\n", opening.end()) < 20 else False
        if end.match(text, inside.end()) is None:
            return False
        if "\n" in inside[0]:
            start = max(text.rfind("\n", 0, opening.end()), text.rfind("\r", 0, opening.end())) + 1
            stop = text.find("\n", inside.end())
            lines = text[start : stop if stop >= 0 else len(text)].split("\n")
            if all(line.count(sep) == width for line in lines):
                return False
        place, seen = inside.end(), True
    return True if seen else None


def cut_lines(text: str, sep: str, quote: str, *, whole: bool) -> tuple[tuple[str, ...], ...]:
    """The first lines as values; a last line that may not be whole is dropped if there are others."""
    lines: Iterable[list[str]]
    if len(sep) == 1:
        options: dict[str, Any] = {"quotechar": quote} if quote else {"quoting": csv.QUOTE_NONE, "quotechar": None}
        lines = csv.reader(io.StringIO(text, newline=""), delimiter=sep, **options)
    else:
        lines = (line.split(sep) for line in re.split(r"\r\n|\r|\n", text))
    rows = tuple(islice((tuple(row) for row in lines if row and row != [""]), _LINES + 1))
    return rows[: _LINES if whole or len(rows) > _LINES else max(len(rows) - 1, 1)]


def find_header(rows: Sequence[Sequence[str]]) -> bool | None:
    """Whether the first row names the columns; None if it cannot be told.

    It does if it has words where all the others have numbers or dates, and it is a row like the others if it has
    numbers or dates where they have the same.
    """
    if not rows:
        return None
    first = [classify(value) for value in rows[0]]
    words = alike = 0
    for k, kind in enumerate(first):
        below = {classify(row[k]) for row in rows[1:] if k < len(row)} - {None}
        if kind == "text" and below and "text" not in below:
            words += 1
        if kind in ("number", "time") and below <= {kind}:
            alike += 1
    return None if words == alike == 0 else words > alike


def classify(value: str) -> str | None:
    """Whether a value is written as a ``number``, as a ``time`` or as other ``text``; None if there is none."""
    text = value.strip()
    if text.lower() in _MISSING:
        return None
    if _NUMBER.fullmatch(text):
        return "number"
    if _SLASHED.fullmatch(text) or parse_time(text) is not None:
        return "time"
    return "text"
