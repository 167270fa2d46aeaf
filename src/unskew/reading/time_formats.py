"""Times written in other ways than `unskew.data.date_grammar` says: by a format, given or found.

A format is found only where all values of a column have it and no other reading is possible. Whether 12/01/2010 is
in January or in December is asked for, never guessed.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from itertools import product

import duckdb

from unskew.errors import ReadingNotice, TimeError, option
from unskew.reading.sources import Source
from unskew.reading.sql import quote_text
from unskew.text import first_line

_DAYS = (
    *(
        day.replace("/", mark)
        for mark in "/.-"
        for day in ("%d/%m/%Y", "%m/%d/%Y", "%d/%m/%y", "%m/%d/%y", "%y/%m/%d")
    ),
    *("%Y/%m/%d", "%Y.%m.%d"),
    *("%d-%b-%Y", "%d %b %Y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y", "%d-%b-%y", "%b %d %Y"),
)
_CLOCKS = ("", " %H:%M", " %H:%M:%S", " %H:%M:%S.%f", " %I:%M %p", " %I:%M:%S %p", "T%H:%M:%S", ", %H:%M")
_WHOLE = ("%a %b %d %H:%M:%S %z %Y", "%a, %d %b %Y %H:%M:%S %z", "%d/%b/%Y:%H:%M:%S %z", "%a %b %d %H:%M:%S %Y")
_FORMATS = (*(day + clock for day, clock in product(_DAYS, _CLOCKS)), *_WHOLE)
_YEARS = (1800, 2200)  # a format that gives others is not the right one
_CLOCK_CODES = ("%H", "%I", "%M", "%S", "%f", "%p", "%c", "%X", "%s", "%g", "%n")


@dataclass(frozen=True)
class TimeReading:
    """How times are to be read where they do not say so themselves.

    Attributes
    ----------
    unit
        What numbers count since 1970.
    format
        How texts are written, in the codes of ``strftime``.
    """

    unit: str | None = None
    format: str | None = None

    def __post_init__(self) -> None:
        if self.format is None:
            return
        if not isinstance(self.format, str) or "%" not in self.format:
            raise TimeError(f"{option('time_format')} is {self.format!r}", remedy="write it as in %d/%m/%Y %H:%M")
        if self.unit is not None:
            raise TimeError(
                f"{option('time_unit')} is for numbers and {option('time_format')} for texts",
                remedy="give one of the two",
            )


def read_as_format(source: Source, short: str, name: str, format_: str) -> tuple[str, str, str | None]:
    """The type of times that are written so, the SQL that reads them, and their zone."""
    try:
        found = source.connection.execute(
            f"SELECT min({short}) FROM raw WHERE {short} IS NOT NULL AND {_parse(short, format_)} IS NULL"
        ).fetchall()[0][0]
    except duckdb.Error as error:
        raise TimeError(
            f"{option('time_format')} is {format_!r}: {first_line(error)}", remedy="write it as in %d/%m/%Y %H:%M"
        ) from None
    if found is not None:
        raise TimeError(f"column {name!r} holds {found!r}, which is not written as {format_!r}")
    return _read(short, format_)


def find_format(source: Source, short: str, name: str) -> tuple[str, str, str | None] | None:
    """The same with the one format that all texts of a column have; None if there is none."""
    sql = source.connection
    example = sql.execute(f"SELECT min({short}) FROM raw WHERE {short} IS NOT NULL").fetchall()[0][0]
    if example is None:
        return None
    text = quote_text(example)
    fits = sql.execute("SELECT " + ", ".join(_is_written(text, one) for one in _FORMATS)).fetchall()[0]
    likely = [one for one, fit in zip(_FORMATS, fits, strict=True) if fit]
    if not likely:
        return None
    counts = ", ".join(f"count(*) FILTER (NOT coalesce({_is_written(short, one)}, false))" for one in likely)
    bad = sql.execute(f"SELECT {counts} FROM raw WHERE {short} IS NOT NULL").fetchall()[0]
    right = [one for one, n in zip(likely, bad, strict=True) if n == 0]
    if not right:
        return None
    first = _parse(short, right[0])
    for other in right[1:]:
        differ = sql.execute(
            f"SELECT min({short}) FROM raw WHERE {short} IS NOT NULL AND {first} <> {_parse(short, other)}"
        ).fetchall()[0][0]
        if differ is not None:
            one, two = (_show(source, differ, form) for form in (right[0], other))
            raise TimeError(
                f"column {name!r} holds times such as {differ!r}, which can be {one} or {two}",
                remedy=f"say which with {option('time_format', right[0])} or {option('time_format', other)}",
            )
    warnings.warn(
        f"column {name!r} holds times such as {example!r}, read with {option('time_format', right[0])}",
        ReadingNotice,
        stacklevel=2,
    )
    return _read(short, right[0])


def _parse(text: str, format_: str) -> str:
    """SQL for a text read so; DuckDB would take words such as epoch for times, whatever the format."""
    return f"CASE WHEN regexp_matches({text}, '[0-9]') THEN try_strptime(trim({text}), {quote_text(format_)}) END"


def _is_written(text: str, format_: str) -> str:
    moment = _parse(text, format_)
    return f"({moment} IS NOT NULL AND year({moment}) BETWEEN {_YEARS[0]} AND {_YEARS[1]})"


def _read(short: str, format_: str) -> tuple[str, str, str | None]:
    moment = _parse(short, format_)
    if "%z" in format_ or "%Z" in format_:
        return "TIMESTAMP WITH TIME ZONE", f"{moment}::TIMESTAMPTZ", "UTC"
    if not any(code in format_ for code in _CLOCK_CODES):
        return "DATE", f"{moment}::DATE", None
    return "TIMESTAMP", moment, None


def _show(source: Source, text: str, format_: str) -> str:
    moment = _parse(quote_text(text), format_)
    return str(source.connection.execute(f"SELECT strftime({moment}, '%-d %B %Y')").fetchall()[0][0])
