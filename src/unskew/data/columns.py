"""The columns that a log came from, its labels and its repeats; and dates in dataframes.

A log counts a user and an item once, at the first time. A view that drops this first row, say because it followed
a recommendation, must not lose that the user interacted with the item again later: it then counts from there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, time
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from unskew.arrays.types import Codes, Floats, Mask, Times
from unskew.data.date_grammar import WrittenTime, parse_time

if TYPE_CHECKING:
    from unskew.data.log import Log


@dataclass(frozen=True)
class Columns:
    """What the columns were called where the log came from; used again in what is written."""

    user: str = "user"
    item: str = "item"
    time: str = "time"


@dataclass(frozen=True)
class Reading:
    """What reading did to the rows."""

    rows: int  # rows of the source
    # Rows that repeat a (user, item) and were folded into its earliest (with `removed`: into a stay that they
    # overlap), or whose item left the moment it came.
    folded: int = 0
    dropped: int = 0  # rows dropped because of a null, with `drop_nulls`


@dataclass(frozen=True)
class Labels:
    """A column of texts, one for each entry: ``values[codes[e]]``."""

    values: pa.Array
    codes: npt.NDArray[np.int32]

    @classmethod
    def of(cls, column: pa.ChunkedArray) -> Labels:
        """Number the texts in their order."""
        encoded = column.combine_chunks().dictionary_encode()
        order = pc.sort_indices(encoded.dictionary)
        place = np.empty(len(order), dtype=np.int32)
        place[order.to_numpy()] = np.arange(len(order), dtype=np.int32)
        return cls(encoded.dictionary.take(order), place[encoded.indices.to_numpy()])

    def add(self, column: pa.ChunkedArray) -> tuple[Labels, npt.NDArray[np.int32]]:
        """The same with the texts of another column beside its own, and the codes of that column."""
        texts = pa.concat_arrays([self.values.take(self.codes), *column.chunks])
        both = Labels.of(pa.chunked_array([texts]))
        length = len(self.codes)
        return Labels(both.values, both.codes[:length]), both.codes[length:]


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
            dates = _to_dates(table.column(place).to_pylist())
            table = table if dates is None else table.set_column(place, name, dates)
    return table


def _to_dates(texts: list[str | None]) -> pa.Array | None:
    """Dates, or datetimes if there are any among them, with a zone (UTC) if all have an offset; None if not all
    are times.
    """
    distinct = list(dict.fromkeys(text for text in texts if text is not None))
    times = [moment for moment in map(parse_time, distinct) if moment is not None]
    if not distinct or len(times) < len(distinct):
        return None
    written = dict(zip(distinct, times, strict=True))
    zoned = {moment.value.tzinfo is not None for moment in times if isinstance(moment.value, datetime)}
    if not zoned:
        return pa.array([None if text is None else written[text].value for text in texts], type=pa.date32())
    if len(zoned) > 1:
        return None
    unit = "ns" if any(moment.nanoseconds for moment in times) else "us"
    ticks = {text: _tick(moment, unit) for text, moment in written.items()}
    kind = pa.timestamp(unit, tz="UTC" if True in zoned else None)
    return pa.array([None if text is None else ticks[text] for text in texts], type=pa.int64()).cast(kind)


def _tick(written: WrittenTime, unit: str) -> int:
    """A time in microseconds or nanoseconds since 1970; a bare date among datetimes is the end of its day."""
    moment = written.value if isinstance(written.value, datetime) else datetime.combine(written.value, time.max)
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    since = moment - datetime(1970, 1, 1, tzinfo=UTC)
    micro = (since.days * 86_400 + since.seconds) * 10**6 + since.microseconds
    return micro if unit == "us" else 1000 * micro + written.nanoseconds


@dataclass(frozen=True, eq=False)
class Repeats:
    """The rows of a log that repeat an earlier one of the same user and item."""

    entry: Codes  # which entry of the log each repeats; sorted by it, then by time
    time: Times  # the tick of each, later than that of its entry or at the same time
    exposed: Mask | None = None  # whether it was marked as exposed, or None if that is not known of the log
    # The further columns of the log, the labels as codes of its texts.
    extra: Mapping[str, Floats] = field(default_factory=dict)
    labels: Mapping[str, npt.NDArray[np.int32]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.entry)

    def select(self, keep: Codes, entry: Codes) -> Repeats:
        """Some of them, by place, with the entries that they repeat numbered anew."""
        return Repeats(
            entry[keep],
            self.time[keep],
            None if self.exposed is None else self.exposed[keep],
            {name: values[keep] for name, values in self.extra.items()},
            {name: codes[keep] for name, codes in self.labels.items()},
        )


def keep_rows(log: Log, keep: Mask, keep_repeats: Mask | None) -> Log:
    """The log of some of its rows; an entry that is dropped counts from its first repeat that is kept, if any."""
    time, repeats = log.time, log.repeats
    exposed, extra = log.exposed, dict(log.extra)
    codes = {name: labels.codes for name, labels in log.labels.items()}
    first = np.empty(0, dtype=np.int64)
    if repeats is not None and keep_repeats is not None:
        stand_in = np.flatnonzero(keep_repeats & ~keep[repeats.entry])
        entry, at = np.unique(repeats.entry[stand_in], return_index=True)
        first = stand_in[at]
        keep = keep.copy()
        keep[entry] = True
        time = _put(time, entry, repeats.time[first])
        exposed = (
            None if exposed is None or repeats.exposed is None else _put(exposed, entry, repeats.exposed[first])
        )
        extra = {name: _put(values, entry, repeats.extra[name][first]) for name, values in extra.items()}
        codes = {name: _put(values, entry, repeats.labels[name][first]) for name, values in codes.items()}
    user = log.entry_users()
    chosen = np.flatnonzero(keep)
    if len(first):
        chosen = chosen[np.lexsort((log.item[chosen], time[chosen], user[chosen]))]
    sizes = np.bincount(user[chosen], minlength=len(log.users))
    return replace(
        log,
        start=np.concatenate([[0], np.cumsum(sizes)]).astype(log.start.dtype),
        item=log.item[chosen],
        time=time[chosen],
        removed=None if log.removed is None else log.removed[chosen],
        exposed=None if exposed is None else exposed[chosen],
        extra={name: values[chosen] for name, values in extra.items()},
        labels={name: replace(labels, codes=codes[name][chosen]) for name, labels in log.labels.items()},
        repeats=None if repeats is None else _keep_repeats(repeats, keep_repeats, first, chosen, len(log)),
        unexposed=None,
    )


def _keep_repeats(repeats: Repeats, keep: Mask | None, used: Codes, chosen: Codes, size: int) -> Repeats:
    """The repeats of what is left."""
    place = np.full(size, -1, dtype=np.int64)
    place[chosen] = np.arange(len(chosen))
    left = np.ones(len(repeats), dtype=np.bool_) if keep is None else keep.copy()
    left[used] = False
    entry = place[repeats.entry]
    order = np.argsort(entry, kind="stable")
    order = order[(left & (entry >= 0))[order]]
    return repeats.select(order, entry)


def _put(values: Any, at: Codes, new: Any) -> Any:
    changed = values.copy()
    changed[at] = new
    return changed
