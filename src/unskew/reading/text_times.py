"""Times written as text: which one form do all of them have?

The forms are spelled out here instead of asking DuckDB what it can cast, since it would also round
"1.5" to an integer, drop the name of a zone, and take "epoch" for a date.
"""

from __future__ import annotations

from unskew.errors import TimeError
from unskew.reading.sources import Source
from unskew.reading.sql import quote_name

_WHOLE = r"\s*[+-]?[0-9]+\s*"
_NUMBER = r"(?i)\s*[+-]?([0-9]+\.?[0-9]*(e[+-]?[0-9]+)?|\.[0-9]+(e[+-]?[0-9]+)?|nan|inf(inity)?)\s*"
_DAY = r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}"
_CLOCK = r"[ T][0-9]{1,2}:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?"
_OFFSET = r"\s?(Z|z|UTC|[+-][0-9]{2}(:?[0-9]{2})?)"
_FINE = r".*\.[0-9]{7,}\D*"


def text_times(source: Source, short: str, name: str) -> tuple[str, str, str | None]:
    """The type that all texts of a column can be read as, the SQL that does it, and their zone."""
    for form, kind in ((_WHOLE, "HUGEINT"), (_NUMBER, "DOUBLE")):
        total, n = _count(source, short, number=f"regexp_full_match({short}, '{form}')")
        if n["number"] == total:
            return kind, f"TRY_CAST({short} AS {kind})", None
    total, n = _count(
        source,
        short,
        day=f"regexp_full_match({short}, '{_DAY}') AND TRY_CAST({short} AS DATE) IS NOT NULL",
        naive=f"regexp_full_match({short}, '{_DAY}({_CLOCK})?') AND TRY_CAST({short} AS TIMESTAMP) IS NOT NULL",
        zoned=f"regexp_full_match({short}, '{_DAY}{_CLOCK}{_OFFSET}') "
        f"AND TRY_CAST({short} AS TIMESTAMPTZ) IS NOT NULL",
        fine=f"regexp_full_match({short}, '{_FINE}')",
    )
    if n["day"] == total:
        return "DATE", f"{short}::DATE", None
    if n["naive"] == total:
        kind = "TIMESTAMP_NS" if n["fine"] else "TIMESTAMP"
        return kind, f"{short}::{kind}", None
    if n["zoned"] == total:
        return "TIMESTAMP WITH TIME ZONE", f"{short}::TIMESTAMPTZ", _common_offset(source, short)
    if n["naive"] + n["zoned"] == total:
        raise TimeError(f"column {name!r} mixes times with and without a zone: give all of them one, or none")
    raise _refused(source, name)


def _count(source: Source, short: str, **tests: str) -> tuple[int, dict[str, int]]:
    """How many values there are, and for how many of them each test holds."""
    counts = ", ".join(f"count(*) FILTER (WHERE {test})" for test in tests.values())
    total, *each = source.connection.execute(
        f"SELECT count(*), {counts} FROM raw WHERE {short} IS NOT NULL"
    ).fetchall()[0]
    return total, dict(zip(tests, each, strict=True))


def _common_offset(source: Source, short: str) -> str:
    """The offset that all times share, else UTC."""
    offset_of = f"upper(trim(regexp_extract({short}, '{_OFFSET}$')))"
    found = source.connection.execute(
        f"SELECT DISTINCT {offset_of} FROM raw WHERE {short} IS NOT NULL LIMIT 2"
    ).fetchall()
    offset = found[0][0] if len(found) == 1 else "UTC"
    if offset in ("Z", "UTC") or not offset.strip("+-0:"):
        return "UTC"
    digits = offset.replace(":", "").ljust(5, "0")
    return f"{digits[:3]}:{digits[3:]}"


def _refused(source: Source, name: str) -> TimeError:
    """Say which value is no time, or that the values do not go together."""
    column = f"{quote_name(name)}::VARCHAR"
    plain = f"trim({column}, '\"')"  # a text of JSON has its quotes here
    known = (
        f"regexp_full_match({plain}, '{_NUMBER}') OR (regexp_full_match({plain}, '{_DAY}({_CLOCK})?({_OFFSET})?') "
    )
    known += f"AND TRY_CAST({plain} AS TIMESTAMPTZ) IS NOT NULL)"
    where, value = source.first_row(f"{quote_name(name)} IS NOT NULL AND NOT ({known})", plain)
    if value is None:
        return TimeError(f"column {name!r} mixes numbers and dates: give all times in one form")
    return TimeError(
        f"column {name!r} holds {value!r} in {where}, which is neither a number nor a date: write dates as "
        "2013-06-01 and datetimes as 2013-06-01T10:30:00"
    )
