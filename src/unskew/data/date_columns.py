"""Times in tables for people: a column of ISO texts as the dates or datetimes that they are.

Inside and in files a time of a calendar is text, since that tells a bare date, which is the end of its day, from
midnight. A dataframe is for plots and joins, which want dates.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, time

import pyarrow as pa

from unskew.data.date_grammar import WrittenTime, parse_time


def restore_dates(table: pa.Table, names: Sequence[str]) -> pa.Table:
    """The table with these columns as dates or datetimes, where they hold nothing else; others stay as they are.

    >>> import pyarrow as pa
    >>> table = pa.table({"at": ["2024-03-01", "2024-04-01"], "value": [1, 2]})
    >>> restore_dates(table, ["at", "value"]).schema.field("at").type
    DataType(date32[day])
    """
    for name in names:
        place = table.schema.get_field_index(name)
        if place >= 0 and pa.types.is_string(table.schema.field(place).type):
            found = _to_dates(table.column(place).to_pylist())
            table = table if found is None else table.set_column(place, name, found)
    return table


def _to_dates(texts: list[str | None]) -> pa.Array | None:
    """Dates, or datetimes if there are any among them, with a zone (UTC) if all have an offset; None if not all
    are times.
    """
    given = list(dict.fromkeys(text for text in texts if text is not None))
    times = [one for one in map(parse_time, given) if one is not None]
    if not given or len(times) < len(given):
        return None
    written = dict(zip(given, times, strict=True))
    clocked = [isinstance(one.value, datetime) for one in times]
    if not any(clocked):
        return pa.array([None if text is None else written[text].value for text in texts], type=pa.date32())
    zoned = [isinstance(one.value, datetime) and one.value.tzinfo is not None for one in times]
    if any(zoned) and not all(zone for zone, clock in zip(zoned, clocked, strict=True) if clock):
        return None
    unit = "ns" if any(one.nanoseconds for one in times) else "us"
    ticks = {text: _tick(one, unit) for text, one in written.items()}
    kind = pa.timestamp(unit, tz="UTC" if any(zoned) else None)
    return pa.array([None if text is None else ticks[text] for text in texts], type=pa.int64()).cast(kind)


def _tick(one: WrittenTime, unit: str) -> int:
    """A time in microseconds or nanoseconds since 1970; a bare date among datetimes is the end of its day."""
    moment = one.value if isinstance(one.value, datetime) else datetime.combine(one.value, time.max)
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    since = moment - datetime(1970, 1, 1, tzinfo=UTC)
    micro = (since.days * 86_400 + since.seconds) * 10**6 + since.microseconds
    return micro if unit == "us" else 1000 * micro + one.nanoseconds
