"""What a column holds: ids, numbers, flags or times, decided from its type or, in text, from all its values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from unskew.data.times import PER_SECOND, TimeAxis
from unskew.errors import ColumnError, ReadingNotice, TimeError, option, warn
from unskew.reading.column_times import ZONED_NANOSECONDS, TimeReading, all_values, first_value, read_text_times
from unskew.reading.connection import fetch_row, find_types, quote_name
from unskew.reading.sources import Part, Source

_INTEGERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER")
_WIDE = ("UBIGINT", "HUGEINT", "UHUGEINT")
_FLOATS = ("FLOAT", "DOUBLE")
_STAMPS = ("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS")
_ZONED = "TIMESTAMP WITH TIME ZONE"
_NOTHING = '"NULL"'  # the type of a column in which there is no value at all
_MOST = 9.2e18  # decimal numbers up to this become 64-bit integers
_AS_WRITTEN = TimeReading()


@dataclass(frozen=True)
class TimeColumn:
    """How a column becomes ticks, and what the ticks mean."""

    expression: str
    axis: TimeAxis
    is_compact: bool = False  # numbers such as 20130601


def family_of(kind: str) -> str:
    """What types of one column in several files must have in common."""
    if kind in (*_INTEGERS, *_WIDE, *_FLOATS) or kind.startswith("DECIMAL"):
        return "numbers"
    if kind in (*_STAMPS, "TIMESTAMP_NS", "DATE"):
        return "dates without a zone"
    if kind in (_ZONED, ZONED_NANOSECONDS):
        return "dates with a zone"
    names = {"VARCHAR": "text", "BOOLEAN": "true or false", _NOTHING: "any"}
    return "any" if kind == "JSON" else names.get(kind, kind)


def json_expression(source: Source, short: str, name: str, table: str) -> str:
    """SQL for a column of JSON values: all numbers, all texts or all flags; anything else is refused."""
    rows = source.connection.execute(f"SELECT DISTINCT json_type({short}) FROM {table}").fetchall()
    kinds = {row[0] for row in rows} - {None, "NULL"}
    if kinds <= {"BIGINT", "UBIGINT"}:
        return f"{short}::{'HUGEINT' if len(kinds) == 2 else 'UBIGINT' if kinds == {'UBIGINT'} else 'BIGINT'}"
    if kinds <= {"BIGINT", "UBIGINT", "DOUBLE"}:
        whole = source.connection.execute(
            f"SELECT {short}::VARCHAR FROM {table} WHERE json_type({short}) = 'DOUBLE' "
            f"AND regexp_full_match({short}::VARCHAR, '-?[0-9]+') LIMIT 1"
        ).fetchall()
        if whole:
            raise ColumnError(
                f"column {name!r} holds {whole[0][0]}, an integer beyond 64 bits", remedy="write it as text"
            )
        _refuse_wide(source, short, name, table, f"json_type({short}) <> 'DOUBLE'", ("BIGINT", "DOUBLE"))
        return f"{short}::DOUBLE"
    if kinds == {"VARCHAR"}:
        return f"({short} ->> '$')"
    if kinds == {"BOOLEAN"}:
        return f"{short}::BOOLEAN"
    words = {"VARCHAR": "text", "BOOLEAN": "true or false", "ARRAY": "lists", "OBJECT": "objects"}
    listing = " and ".join(sorted({words.get(kind, "numbers") for kind in kinds}))
    raise ColumnError(f"column {name!r} holds {listing}: all its values must be numbers, or all text")


def _refuse_wide(
    source: Source, short: str, name: str, table: str, is_integer: str, kinds: tuple[str, str]
) -> None:
    """Refuse integers that a decimal number cannot hold, in a column that has both: two could become one."""
    wide = source.connection.execute(
        f"SELECT {short}::VARCHAR FROM {table} WHERE {is_integer} AND abs({short}::HUGEINT) > {2**53} LIMIT 1"
    ).fetchall()
    if wide:
        raise ColumnError(
            f"column {name!r} holds integers ({kinds[0]}, such as {wide[0][0]}) and decimal numbers "
            f"({kinds[1]}), which cannot tell such large integers apart",
            remedy="make all of them integers, or all text",
        )


def _refuse_wide_parts(source: Source, name: str) -> None:
    """The same for files of which some have integers and some decimal numbers in one column."""
    whole = [part for part in source.parts if part.kinds.get(name) in (*_INTEGERS, *_WIDE)]
    other = [part for part in source.parts if part.kinds.get(name) in _FLOATS]
    if whole and other:
        for part in whole:
            kinds = (f"{part.kinds[name]} in {part.name}", f"{other[0].kinds[name]} in {other[0].name}")
            _refuse_wide(source, quote_name(name), name, part.relation, "true", kinds)


def create_plain_view(source: Source, names: Mapping[str, str], table: str) -> dict[str, str]:
    """Make the view `raw`: a table whose columns of JSON hold plain values; gives the types of its columns.

    `names` says how to speak of the columns, whose names in SQL are short.
    """
    plain = [
        f"{json_expression(source, short, names[short], table)} AS {short}" if kind == "JSON" else short
        for short, kind in find_types(source.connection, table).items()
    ]
    source.connection.execute(f"CREATE OR REPLACE TEMP VIEW raw AS SELECT {', '.join(plain)} FROM {table}")
    return find_types(source.connection, "raw")


def refuse_twins(part: Part, name: str) -> None:
    """Refuse a column whose name another one has too, or has in other letters, which SQL does not tell apart."""
    names = [] if part.schema is None else part.schema.names
    if names.count(name) > 1:
        raise ColumnError(f"{part.name} has two columns {name!r}", remedy="rename one of them")
    twin = next((other for other in names if other != name and other.lower() == name.lower()), None)
    if twin is not None:
        raise ColumnError(
            f"{part.name} has columns {name!r} and {twin!r}, which differ only in case",
            remedy="rename one of them",
        )


def read_plain(source: Source, names: Sequence[str]) -> pa.Table:
    """Some columns as they are, JSON as the values that it stands for; no others are checked."""
    source = source.narrow(names)
    for name in names:
        for part in source.parts:
            refuse_twins(part, name)
    short = {f"c{k}": name for k, name in enumerate(names)}
    selected = ", ".join(f"{quote_name(name)} AS {column}" for column, name in short.items())
    source.connection.execute(f"CREATE OR REPLACE TEMP VIEW parsed AS SELECT {selected} FROM {source.relation}")
    create_plain_view(source, short, "parsed")
    return source.connection.sql("SELECT * FROM raw").to_arrow_table().rename_columns(list(names))


def id_expression(source: Source, kind: str, short: str, name: str) -> str:
    """SQL for a column of ids: null where there is none."""
    if kind.endswith("]") or kind.startswith(("STRUCT", "MAP", "UNION", "VARIANT", "INTERVAL")):
        raise ColumnError(f"column {name!r} holds {kind}: an id must be one number or one text")
    if kind in _FLOATS or kind.startswith("DECIMAL"):
        _refuse_wide_parts(source, name)
        whole = f"TRY_CAST({short} AS BIGINT)"
        exact = f"abs({short}) <= {2**53}" if kind in _FLOATS else "true"
        if all_values(source, short, f"isnan({short}::DOUBLE) OR ({whole} = {short} AND {exact})"):
            return whole
        return f"CASE WHEN isnan({short}) THEN NULL ELSE {short} END" if kind in _FLOATS else short
    if kind == "UUID":
        return f"{short}::VARCHAR"
    if kind == "VARCHAR" and source.is_text:
        for whole in (short, f"regexp_replace({short}, '\\.0+$', '')"):  # 17511, and 17511.0 of a column with gaps
            if all_values(source, short, f"TRY_CAST({whole} AS BIGINT)::VARCHAR = {whole}"):
                return f"{whole}::BIGINT"
    if kind in ("UBIGINT", "HUGEINT") and source.is_typed_by_value:
        fits = all_values(source, short, f"TRY_CAST({short} AS BIGINT) IS NOT NULL")
        return f"{short}::BIGINT" if fits else short
    return short


def number_expression(source: Source, kind: str, short: str, name: str) -> str:
    """SQL for a further column of numbers; NaN where there is none."""
    number = f"coalesce({short}::DOUBLE, 'nan'::DOUBLE)"
    if family_of(kind) == "numbers" or kind in ("BOOLEAN", _NOTHING):
        return number
    if kind == "VARCHAR":
        bad = first_value(source, short, f"TRY_CAST({short} AS DOUBLE) IS NULL")
        if bad is None:
            return number
        raise ColumnError(f"column {name!r} holds {bad!r}: numbers are needed there")
    raise ColumnError(f"column {name!r} holds {kind.lower()} values: numbers are needed there")


def flag_expression(source: Source, kind: str, short: str, name: str) -> str:
    """SQL for a column that is true or false; false where there is nothing."""
    if kind in ("BOOLEAN", _NOTHING):
        return f"coalesce({short}::BOOLEAN, false)"
    if family_of(kind) == "numbers":
        return f"coalesce({short} <> 0 AND NOT isnan({short}::DOUBLE), false)"
    if kind == "VARCHAR":
        flag = f"TRY_CAST(trim({short}) AS BOOLEAN)"
        bad = first_value(source, short, f"{flag} IS NULL AND trim({short}) <> ''")
        if bad is None:
            return f"coalesce({flag}, false)"
        raise ColumnError(f"column {name!r} holds {bad!r}: exposed must be true or false, or 1 or 0")
    raise ColumnError(f"column {name!r} holds {kind.lower()} values: exposed must be true or false")


def time_column(
    source: Source, kind: str, short: str, name: str, reading: TimeReading = _AS_WRITTEN, *, last_year: int = 2099
) -> TimeColumn:
    """How to read a column of times; of numbers such as 20130601, if none is later than `last_year`."""
    zone, unit = source.zone(name), reading.unit
    if kind == _NOTHING:
        return TimeColumn("NULL::BIGINT", TimeAxis("integer"))
    if reading.format is not None and kind in (*_INTEGERS, *_WIDE):
        kind, short = "VARCHAR", f"{short}::VARCHAR"
    if kind == "VARCHAR":
        kind, short, zone = read_text_times(source, short, name, reading.format)
    elif reading.format is not None:
        raise TimeError(
            f"{option('time_format', reading.format)} reads texts, but column {name!r} holds "
            f"{kind.lower()} values",
            remedy=f"leave out {option('time_format')}",
        )
    is_number = family_of(kind) == "numbers"
    dates = _read_compact_dates(source, short, name, last_year) if unit is None and is_number else None
    if dates is not None:
        return dates
    if kind in _WIDE and not all_values(source, short, f"TRY_CAST({short} AS BIGINT) IS NOT NULL"):
        raise TimeError(
            f"column {name!r} holds integers beyond 64 bits, which cannot be times",
            remedy=f"name the column of times with {option('time')}",
        )
    if kind in (*_INTEGERS, *_WIDE):
        axis = TimeAxis("integer") if unit is None else TimeAxis("epoch", unit, "UTC")
        return TimeColumn(f"{short}::BIGINT", axis)
    if is_number:
        return _read_decimals(source, f"{short}::DOUBLE", name, unit)
    if unit is not None:
        raise TimeError(
            f"{option('time_unit', unit)} reads numbers as time since 1970, but column {name!r} holds "
            f"{kind.lower()} values",
            remedy=f"leave out {option('time_unit')}",
        )
    if kind == "DATE":
        ticks = _require_finite(source, short, name, short, f"date_diff('day', DATE '1970-01-01', {short})")
        return TimeColumn(ticks, TimeAxis("date", "day"))
    if kind in _STAMPS:
        moment = f"TRY_CAST({short} AS TIMESTAMP)"
        ticks = _require_finite(source, short, name, moment, f"epoch_us({moment})")
        return TimeColumn(ticks, TimeAxis("datetime", "us"))
    if kind == "TIMESTAMP_NS":
        return TimeColumn(f"epoch_ns({short})", TimeAxis("datetime", "ns"))
    if kind == ZONED_NANOSECONDS:
        return TimeColumn(f"epoch_ns({short})", TimeAxis("datetime", "ns", zone or "UTC"))
    if kind == _ZONED:
        ticks = _require_finite(source, short, name, short, f"epoch_us({short})")
        return TimeColumn(ticks, TimeAxis("datetime", "us", zone or "UTC"))
    raise TimeError(f"column {name!r} holds {kind.lower()} values: times must be numbers, dates or datetimes")


def align_times(source: Source, left: TimeColumn, name: str, when: TimeColumn, time_name: str) -> str:
    """SQL for the ticks of a second time column on the axis of the first; fractions are rounded up.

    That something leaves at 3.5 on an axis of integers means that it is there at 3 and not at 4.
    """
    axis_left, axis_when = left.axis, when.axis
    if all_values(source, left.expression, "false"):  # no value in it
        return f"NULL::{'DOUBLE' if axis_when.kind == 'float' else 'BIGINT'}"
    if (axis_left.zone is None) == (axis_when.zone is None):
        if (axis_left.kind, axis_left.unit) == (axis_when.kind, axis_when.unit):
            return left.expression
        if (axis_left.kind, axis_when.kind) == ("integer", "float"):
            return f"({left.expression})::DOUBLE"
        if (axis_left.kind, axis_when.kind) == ("float", "integer"):
            if not all_values(source, left.expression, f"abs({left.expression}) < {_MOST}"):
                raise TimeError(
                    f"column {name!r} holds numbers beyond 64 bits, but {time_name!r} holds integers",
                    remedy="correct them, or leave out the column",
                )
            return f"ceil({left.expression})::BIGINT"
        if axis_left.kind == axis_when.kind and axis_left.unit in PER_SECOND and axis_when.unit in PER_SECOND:
            return _rescale(left.expression, PER_SECOND[axis_left.unit], PER_SECOND[axis_when.unit])
    descriptions = [
        f"{axis.kind} times" + (" with a zone" * (axis.zone is not None) or " without a zone") * axis.is_calendar
        for axis in (axis_left, axis_when)
    ]
    raise TimeError(
        f"column {name!r} holds {descriptions[0]}, but {time_name!r} {descriptions[1]}",
        remedy="give both in the same form",
    )


def is_missing(name: str, *, is_id: bool = False) -> str:
    """SQL that is true where a column of the source has no value, or NaN; the text ``nan`` is an id."""
    column = quote_name(name)
    number = f"TRY_CAST({column}::VARCHAR AS DOUBLE)"
    is_number = f"typeof({column}) IN ('FLOAT', 'DOUBLE', 'JSON')"
    if not is_id:
        is_number += f" OR lower(trim({column}::VARCHAR)) IN ('nan', '-nan')"
    return f"({column} IS NULL OR (({is_number}) AND coalesce(isnan({number}), false)))"


def _read_compact_dates(source: Source, short: str, name: str, last_year: int) -> TimeColumn | None:
    """Numbers as dates if every one of them is a date such as 20130601; else None."""
    number = f"TRY_CAST({short} AS BIGINT)"
    day = f"TRY_CAST(try_strptime({number}::VARCHAR, '%Y%m%d') AS DATE)"
    is_date = f"{number} = {short} AND {number} BETWEEN 19000101 AND {last_year}1231 AND {day} IS NOT NULL"
    if not all_values(source, short, f"{is_date} OR isnan(({short})::DOUBLE)"):
        return None
    (example,) = fetch_row(source.connection, f"SELECT min({number}) FROM raw")
    if example is None:
        return None
    text = str(example)
    warn(
        f"column {name!r} holds times such as {text}, read as dates: {text[:4]}-{text[4:6]}-{text[6:]}",
        ReadingNotice,
    )
    return TimeColumn(f"date_diff('day', DATE '1970-01-01', {day})", TimeAxis("date", "day"), is_compact=True)


def _read_decimals(source: Source, expression: str, name: str, unit: str | None) -> TimeColumn:
    if not all_values(source, expression, f"isnan({expression}) OR isfinite({expression})"):
        raise TimeError(f"column {name!r} holds infinite times", remedy="remove those rows")
    present = f"CASE WHEN isnan({expression}) THEN NULL ELSE {expression} END"
    if unit is None:
        return TimeColumn(present, TimeAxis("float"))
    ticks, axis = f"floor({present})", TimeAxis("epoch", "day", "UTC")
    if unit != "day":
        ticks, axis = f"floor({present} * {10**6 / PER_SECOND[unit]!r})", TimeAxis("epoch", "us", "UTC")
    if not all_values(source, present, f"abs({ticks}) < {_MOST}"):
        raise TimeError(
            f"column {name!r} holds numbers too large for {option('time_unit', unit)}", remedy="is the unit right?"
        )
    return TimeColumn(f"({ticks})::BIGINT", axis)


def _require_finite(source: Source, short: str, name: str, moment: str, expression: str) -> str:
    if not all_values(source, short, f"isfinite({moment})"):
        raise TimeError(
            f"column {name!r} holds times that are infinite or too far off", remedy="remove those rows"
        )
    return expression


def _rescale(ticks: str, per: int, wanted: int) -> str:
    if wanted >= per:
        return f"({ticks}) * {wanted // per}"
    k = per // wanted  # // rounds towards zero, which is up for what is negative
    return f"(({ticks}) // {k} + CASE WHEN ({ticks}) % {k} > 0 THEN 1 ELSE 0 END)"
