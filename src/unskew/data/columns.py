"""The columns that a log came from, and dates in dataframes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from unskew.data.date_grammar import WrittenTime, parse_time


@dataclass(frozen=True)
class Columns:
    """What the columns were called where the log came from; used again in what is written."""

    user: str = "user"
    item: str = "item"
    time: str = "time"


@dataclass(frozen=True)
class Reading:
    """What reading did to the rows.

    Attributes
    ----------
    rows
        Rows of the source.
    folded
        Rows that repeat a (user, item) and were folded into its earliest (with `removed`: into a stay
        that they overlap), or whose item left the moment it came.
    dropped
        Rows dropped because of a null, with `drop_nulls`.
    """

    rows: int
    folded: int = 0
    dropped: int = 0


@dataclass(frozen=True)
class Labels:
    """A column of texts, one for each entry: ``values[codes[e]]``."""

    values: pa.Array
    codes: npt.NDArray[np.int32]

    @classmethod
    def of(cls, column: pa.ChunkedArray) -> Labels:
        """Number the texts in their order."""
        found = column.combine_chunks().dictionary_encode()
        order = pc.sort_indices(found.dictionary)
        place = np.empty(len(order), dtype=np.int32)
        place[order.to_numpy()] = np.arange(len(order), dtype=np.int32)
        return cls(found.dictionary.take(order), place[found.indices.to_numpy()])

    def add(self, column: pa.ChunkedArray) -> tuple[Labels, npt.NDArray[np.int32]]:
        """The same with the texts of another column beside its own, and the codes of that column."""
        texts = pa.concat_arrays([self.values.take(self.codes), *column.chunks])
        both = Labels.of(pa.chunked_array([texts]))
        own = len(self.codes)
        return Labels(both.values, both.codes[:own]), both.codes[own:]


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
