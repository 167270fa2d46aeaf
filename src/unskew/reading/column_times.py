"""How the texts of a column of times are read: as numbers, as `unskew.data.date_grammar` says, or by a format.

A format is given, or it is found if all values of a column have it and no other reading is possible. Whether
12/01/2010 is in January or in December is asked for, never guessed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import cast

import duckdb

from unskew.data.date_grammar import CLOCK, DAY, HOW_TO_WRITE, OFFSET, SPACE, parse_offset
from unskew.errors import ReadingNotice, TimeError, option, warn
from unskew.reading.connection import fetch_row, quote_name, quote_text
from unskew.reading.sources import Source
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
_WITH_CLOCK = (
    "%a %b %d %H:%M:%S %z %Y",
    "%a, %d %b %Y %H:%M:%S %z",
    "%d/%b/%Y:%H:%M:%S %z",
    "%a %b %d %H:%M:%S %Y",
)
_FORMATS = (*(day + clock for day, clock in product(_DAYS, _CLOCKS)), *_WITH_CLOCK)
_YEARS = (1800, 2200)  # a format that gives others is not the right one
_CLOCK_CODES = ("%H", "%I", "%M", "%S", "%f", "%p", "%c", "%X", "%s", "%g", "%n")


@dataclass(frozen=True)
class TimeReading:
    """How times are to be read where they do not say so themselves."""

    unit: str | None = None  # what numbers count since 1970
    format: str | None = None  # how texts are written, in the codes of ``strftime``

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
        unreadable = first_value(source, short, f"{_parse(short, format_)} IS NULL")
    except duckdb.Error as error:
        raise TimeError(
            f"{option('time_format')} is {format_!r}: {first_line(error)}", remedy="write it as in %d/%m/%Y %H:%M"
        ) from None
    if unreadable is not None:
        raise TimeError(
            f"column {name!r} holds {unreadable!r}, which is not written as {format_!r}",
            remedy=f"correct it, or leave out {option('time_format')}",
        )
    return _read(short, format_)


def find_format(source: Source, short: str, name: str) -> tuple[str, str, str | None] | None:
    """The same with the one format that all texts of a column have; None if there is none."""
    example = first_value(source, short, "true")
    if example is None:
        return None
    tests = ", ".join(_fits_format(quote_text(example), format_) for format_ in _FORMATS)
    fits = fetch_row(source.connection, f"SELECT {tests}")
    likely = [format_ for format_, fit in zip(_FORMATS, fits, strict=True) if fit]
    total, counts = _count(source, short, {format_: _fits_format(short, format_) for format_ in likely})
    right = [format_ for format_ in likely if counts[format_] == total]
    if not right:
        return None
    for other in right[1:]:
        differ = first_value(source, short, f"{_parse(short, right[0])} <> {_parse(short, other)}")
        if differ is not None:
            readings = " or ".join(_show(source, differ, format_) for format_ in (right[0], other))
            raise TimeError(
                f"column {name!r} holds times such as {differ!r}, which can be {readings}",
                remedy=f"say which with {option('time_format', right[0])} or {option('time_format', other)}",
            )
    warn(
        f"column {name!r} holds times such as {example!r}, read with {option('time_format', right[0])}",
        ReadingNotice,
    )
    return _read(short, right[0])


def _parse(text: str, format_: str) -> str:
    """SQL for a text read so; DuckDB would take words such as epoch for times, whatever the format."""
    return f"CASE WHEN regexp_matches({text}, '[0-9]') THEN try_strptime(trim({text}), {quote_text(format_)}) END"


def _fits_format(text: str, format_: str) -> str:
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
    return str(fetch_row(source.connection, f"SELECT strftime({moment}, '%-d %B %Y')")[0])


_WHOLE = r"\s*[+-]?[0-9]+\s*"
_NUMBER = r"(?i)\s*[+-]?([0-9]+\.?[0-9]*(e[+-]?[0-9]+)?|\.[0-9]+(e[+-]?[0-9]+)?|nan|inf(inity)?)\s*"
_SPACES = f"[{SPACE}]*"
_FIRST_ROWS = "(SELECT * FROM raw LIMIT 1000)"  # which mostly tell what no column of times can be
_BELOW_MICROSECONDS = r".*\.[0-9]{7,}([^0-9].*)?"

ZONED_NANOSECONDS = "TIMESTAMPTZ_NS"
"""What DuckDB calls nanoseconds with a zone, from version 2 on; before, it reads them as microseconds."""


def read_text_times(
    source: Source, short: str, name: str, format_: str | None = None
) -> tuple[str, str, str | None]:
    """The type that all texts of a column can be read as, the SQL that does it, and their zone."""
    if format_ is not None:
        return read_as_format(source, short, name, format_)
    for form, kind in ((_WHOLE, "HUGEINT"), (_NUMBER, "DOUBLE")):
        if all_values(source, short, _matches(short, form)):
            return kind, f"TRY_CAST({short} AS {kind})", None
    for text in (short, _tidy(short)):  # most need no tidying, which takes as long as all the rest
        reading = _read_calendar_times(source, short, text, name)
        if reading is not None:
            return reading
    reading = find_format(source, short, name)
    if reading is None:
        raise _explain(source, name)
    return reading


def _read_calendar_times(source: Source, short: str, text: str, name: str) -> tuple[str, str, str | None] | None:
    """The same for dates and datetimes, cast from `text`; None if some are neither."""
    forms = {
        "day": _is_written(short, text, DAY, "DATE"),
        "naive": _is_written(short, text, f"{DAY}({CLOCK})?", "TIMESTAMP"),
        "zoned": _is_written(short, text, f"{DAY}{CLOCK}{OFFSET}", "TIMESTAMPTZ"),
    }
    total, n = _count(source, short, forms, _FIRST_ROWS)
    if n["naive"] + n["zoned"] < total:
        return None
    likely = next((form for form in ("day", "naive") if n[form] == total), "zoned")
    fine = {"fine": _matches(short, _BELOW_MICROSECONDS)}
    total, n = _count(source, short, {likely: forms[likely], **fine})
    if n[likely] < total:  # the first values are not like all the others
        total, n = _count(source, short, {**forms, **fine})
    n = {form: n.get(form, 0) for form in (*forms, *fine)}
    if n["day"] == total:
        return "DATE", f"{text}::DATE", None
    if n["naive"] == total:
        kind = "TIMESTAMP_NS" if n["fine"] and _all_fit(source, short, text, "TIMESTAMP_NS") else "TIMESTAMP"
        return kind, f"{text}::{kind}", None
    if n["zoned"] == total:
        zone = _common_zone(source, short)
        if n["fine"] and _all_fit(source, short, text, ZONED_NANOSECONDS):
            return ZONED_NANOSECONDS, f"{text}::{ZONED_NANOSECONDS}", zone
        return "TIMESTAMP WITH TIME ZONE", f"{text}::TIMESTAMPTZ", zone
    if n["naive"] + n["zoned"] == total:
        raise TimeError(
            f"column {name!r} mixes times with and without a zone", remedy="give all of them one, or none"
        )
    return None


def _matches(text: str, pattern: str) -> str:
    return f"regexp_full_match({text}, {quote_text(pattern)})"


def _is_written(short: str, text: str, pattern: str, kind: str) -> str:
    """SQL that is true where `short` is written as `pattern` says and, as `text`, is a time of this kind."""
    return f"{_matches(short, _SPACES + pattern + _SPACES)} AND TRY_CAST({text} AS {kind}) IS NOT NULL"


def _tidy(text: str) -> str:
    """SQL for a time without the spaces that DuckDB does not cast, and with Z for UTC."""
    bare = f"replace(trim({text}, {quote_text(SPACE)}), 'UTC', 'Z')"
    return rf"regexp_replace({bare}, ' ([Z+-])', '\1')"


def all_values(source: Source, short: str, test: str) -> bool:
    """Whether `test` holds for every value that is there; mostly the first few tell that it does not."""
    for rows in (_FIRST_ROWS, "raw"):
        total, counts = _count(source, short, {"test": test}, rows)
        if counts["test"] < total:
            return False
    return True


def first_value(source: Source, short: str, test: str) -> str | None:
    """The smallest text for which `test` holds, if there is one."""
    query = f"SELECT min({short}) FROM raw WHERE {short} IS NOT NULL AND {test}"
    return cast(str | None, fetch_row(source.connection, query)[0])


def _count(source: Source, short: str, tests: Mapping[str, str], rows: str = "raw") -> tuple[int, dict[str, int]]:
    """How many values there are in some rows, and for how many of them each test holds."""
    counts = ["count(*)", *(f"count(*) FILTER (WHERE {test})" for test in tests.values())]
    query = f"SELECT {', '.join(counts)} FROM {rows} WHERE {short} IS NOT NULL"
    total, *each = fetch_row(source.connection, query)
    return total, dict(zip(tests, each, strict=True))


def _all_fit(source: Source, short: str, text: str, kind: str) -> bool:
    """Whether DuckDB knows a type of nanoseconds, and all times are within the years of 64 bits, 1677 to 2262."""
    try:
        source.connection.execute(f"SELECT NULL::{kind}")
    except duckdb.Error:
        return False
    return all_values(source, short, f"TRY_CAST({text} AS {kind}) IS NOT NULL")


def _common_zone(source: Source, short: str) -> str:
    """The offset that all times share, else UTC."""
    offset = f"regexp_extract({short}, {quote_text(OFFSET + _SPACES + '$')}, 1)"
    offsets = source.connection.execute(
        f"SELECT DISTINCT {offset} FROM raw WHERE {short} IS NOT NULL LIMIT 2"
    ).fetchall()
    zone = parse_offset(offsets[0][0]) if len(offsets) == 1 else None
    return str(zone or "UTC").removeprefix("UTC") or "UTC"


def _explain(source: Source, name: str) -> TimeError:
    """Say which value is no time, or that the values do not go together."""
    text = f"trim({quote_name(name)}::VARCHAR, '\"')"  # a text of JSON has its quotes here
    date = _is_written(text, _tidy(text), f"{DAY}({CLOCK}({OFFSET})?)?", "TIMESTAMPTZ")
    known = f"({_matches(text, _NUMBER)}) OR ({date})"
    where, value = source.first_row(f"{quote_name(name)} IS NOT NULL AND NOT ({known})", text)
    if value is None:
        return TimeError(f"column {name!r} mixes numbers and dates", remedy="give all times in one form")
    return TimeError(
        f"column {name!r} holds {value!r} in {where}, which is neither a number nor a date",
        remedy=f"{HOW_TO_WRITE}, or say how they are written with {option('time_format')}",
    )
