"""What a column holds: ids, numbers or times, decided from its type or, in text, from its values."""

from __future__ import annotations

from dataclasses import dataclass

from unskew.errors import ColumnError, TimeError
from unskew.sources import Source, quoted
from unskew.times import PER_SECOND, TimeAxis

_INTEGERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER")
_WIDE = ("UBIGINT", "HUGEINT", "UHUGEINT")
_DECIMALS = ("FLOAT", "DOUBLE")
_STAMPS = ("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS")
_ZONED = "TIMESTAMP WITH TIME ZONE"
_OFFSET = r"(Z|[+-]\d\d(:?\d\d)?)$"


@dataclass(frozen=True)
class TimeColumn:
    """How a column becomes ticks, and what the ticks mean."""

    expression: str
    axis: TimeAxis


def id_expression(source: Source, kind: str, short: str, name: str) -> str:
    """SQL for a column of ids: null where there is none."""
    if kind.endswith("]") or kind.startswith(("STRUCT", "MAP", "UNION")):
        raise ColumnError(f"column {name!r} holds {kind}: an id must be one number or one text")
    if kind in _DECIMALS:
        return f"CASE WHEN isnan({short}) THEN NULL ELSE {short} END"
    if kind in ("UUID", "JSON"):
        return f"{short}::VARCHAR"
    if (
        kind == "VARCHAR"
        and source.is_text
        and _all(source, short, f"TRY_CAST({short} AS BIGINT)::VARCHAR = {short}")
    ):
        return f"{short}::BIGINT"
    return short


def number_expression(source: Source, kind: str, short: str, name: str) -> str:
    """SQL for a further column of numbers."""
    if kind in (*_INTEGERS, *_WIDE, *_DECIMALS, "BOOLEAN") or kind.startswith("DECIMAL"):
        return f"{short}::DOUBLE"
    if kind == "VARCHAR" and _all(source, short, f"TRY_CAST({short} AS DOUBLE) IS NOT NULL"):
        return f"{short}::DOUBLE"
    raise ColumnError(f"column {name!r} holds {kind.lower()} values: numbers are needed there")


def time_column(source: Source, kind: str, short: str, name: str, unit: str | None) -> TimeColumn:
    """How to read a column of times."""
    if kind == "VARCHAR":
        kind, short = _text_times(source, short, name)
    if kind in _INTEGERS:
        return _integers(f"{short}::BIGINT", unit)
    if kind in _WIDE:
        if not _all(source, short, f"TRY_CAST({short} AS BIGINT) IS NOT NULL"):
            raise TimeError(f"column {name!r} holds integers beyond 64 bits: they cannot be times")
        return _integers(f"{short}::BIGINT", unit)
    if kind in _DECIMALS or kind.startswith("DECIMAL"):
        return _decimals(source, f"{short}::DOUBLE", name, unit)
    if unit is not None:
        raise TimeError(
            f"time_unit={unit!r} reads numbers as time since 1970, but column {name!r} holds "
            f"{kind.lower()} values: leave it out"
        )
    if kind == "DATE":
        return TimeColumn(
            _finite(source, short, name, f"date_diff('day', DATE '1970-01-01', {short})"), TimeAxis("date", "day")
        )
    if kind in _STAMPS:
        return TimeColumn(
            _finite(source, short, name, f"epoch_us({short}::TIMESTAMP)"), TimeAxis("datetime", "us")
        )
    if kind == "TIMESTAMP_NS":
        return TimeColumn(f"epoch_ns({short})", TimeAxis("datetime", "ns"))
    if kind == _ZONED:
        zone = source.zone(name) or "UTC"
        return TimeColumn(_finite(source, short, name, f"epoch_us({short})"), TimeAxis("datetime", "us", zone))
    raise TimeError(f"column {name!r} holds {kind.lower()} values: times must be numbers, dates or datetimes")


def _integers(expression: str, unit: str | None) -> TimeColumn:
    if unit is None:
        return TimeColumn(expression, TimeAxis("integer"))
    return TimeColumn(expression, TimeAxis("epoch", unit, "UTC"))


def _decimals(source: Source, expression: str, name: str, unit: str | None) -> TimeColumn:
    if not _all(source, expression, f"isnan({expression}) OR isfinite({expression})"):
        raise TimeError(f"column {name!r} holds infinite times: remove those rows")
    present = f"CASE WHEN isnan({expression}) THEN NULL ELSE {expression} END"
    if unit is None:
        return TimeColumn(present, TimeAxis("float"))
    if unit == "day":
        return TimeColumn(f"floor({present})::BIGINT", TimeAxis("epoch", "day", "UTC"))
    micro = 10**6 / PER_SECOND[unit]
    return TimeColumn(f"floor({present} * {micro!r})::BIGINT", TimeAxis("epoch", "us", "UTC"))


def _finite(source: Source, short: str, name: str, expression: str) -> str:
    if not _all(source, short, f"isfinite({short})"):
        raise TimeError(f"column {name!r} holds infinite times: remove those rows")
    return expression


def _text_times(source: Source, short: str, name: str) -> tuple[str, str]:
    """The type that all texts of a column can be read as, and the SQL that does it."""
    for kind in ("BIGINT", "DOUBLE"):
        if _all(source, short, f"TRY_CAST({short} AS {kind}) IS NOT NULL"):
            return kind, f"TRY_CAST({short} AS {kind})"
    if _all(source, short, f"length({short}) <= 10 AND TRY_CAST({short} AS DATE) IS NOT NULL"):
        return "DATE", f"{short}::DATE"
    if _all(source, short, f"TRY_CAST({short} AS TIMESTAMPTZ) IS NOT NULL"):
        zoned = _all(source, short, f"regexp_matches({short}, '{_OFFSET}') AND length({short}) > 10")
        kind = _ZONED if zoned else "TIMESTAMP"
        return kind, f"{short}::{kind}"
    column = quoted(name)
    tests = [f"TRY_CAST({column} AS {k}) IS NULL" for k in ("BIGINT", "DOUBLE", "TIMESTAMPTZ")]
    where, value = source.first_row(f"{column} IS NOT NULL AND {' AND '.join(tests)}", column)
    if value is None:
        raise TimeError(f"column {name!r} mixes numbers and dates: give all times in one form")
    raise TimeError(f"column {name!r} holds {value!r} in {where}, which is neither a number nor a date")


def _all(source: Source, short: str, test: str) -> bool:
    """Whether `test` holds for every value that is there."""
    found = source.connection.execute(
        f"SELECT count(*) FILTER (WHERE NOT coalesce({test}, false)) FROM raw WHERE {short} IS NOT NULL"
    ).fetchall()
    return bool(found[0][0] == 0)
