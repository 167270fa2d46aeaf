"""The time axis of a log: what its times are, how one is read and how it is shown back; and windows of time.

Inside, a time is a number (a *tick*): the integer or decimal number itself for a log with plain
numbers, else a count of units since 1970-01-01. How dates are written is in `unskew.data.date_grammar`;
reading files is left to `unskew.reading`.

A bare date means the end of that day, so that ``log.at("2013-06-01")`` holds what happened on
1 June. A date with a clock time means that very moment, included.

A window, such as that of a campaign, runs from a start, included, to an end, not included: ``START:END``,
``START:`` for one that goes on, or ``START/END`` if the times contain colons. In it a bare date is the start of
that day.
"""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import Any, Literal, Protocol
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt

from unskew.arrays.types import Mask, Times
from unskew.data.date_grammar import (
    HOW_TO_WRITE,
    SPACE,
    parse_compact_date,
    parse_excel_date,
    parse_month,
    parse_offset,
    parse_time,
)
from unskew.errors import InputError, TimeError, option
from unskew.text import one_line

Kind = Literal["integer", "float", "date", "datetime", "epoch"]
Label = int | float | str


def require_label(name: str, value: Any) -> Any:
    """A time of a file of ours as it is shown, or None; a ValueError if it is neither."""
    if isinstance(value, bool) or not isinstance(value, int | float | str | None):
        raise ValueError(f"{name} is {one_line(value)}")
    return value


PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
UNIT_WORDS = {"s": "seconds", "ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds", "day": "days"}
TIME_UNITS = ("s", "ms", "us", "ns", "day")
_MICROSECOND = timedelta(microseconds=1)
_DAY = timedelta(days=1)
_WHOLE = re.compile(r"[+-]?[0-9]+")
_LEAST, _MOST = -(2**63), 2**63 - 1  # what a tick can be


@dataclass(frozen=True)
class Moment:
    """A time on an axis: the number to compare with, and how to show it."""

    tick: int | float
    label: Label


@dataclass(frozen=True)
class TimeAxis:
    """What the times of a log are."""

    # ``integer`` and ``float``: plain numbers in the log's own unit; ``date`` and ``datetime``: calendar times;
    # ``epoch``: integers read as a count since 1970 because `time_unit` was given.
    kind: Kind
    unit: str | None = None  # what one tick is for the calendar kinds: ``s``, ``ms``, ``us``, ``ns`` or ``day``
    zone: str | None = None  # the zone in which a bare date begins and ends; None for times without a zone

    @property
    def is_calendar(self) -> bool:
        """Whether dates mean something on this axis."""
        return self.kind not in ("integer", "float")

    @property
    def per_second(self) -> int:
        """How many ticks a second has, of a unit below a day."""
        return PER_SECOND[self.unit or "s"]

    def moment(self, value: Any) -> Moment:
        """Read a time given by a person: a number, a date, a datetime or text of one of these."""
        original, nano, value = value, _nanoseconds_of(value), to_python_value(value)
        if isinstance(value, bool) or not isinstance(value, int | float | str | date):
            raise TimeError(f"{original!r} is not a time", remedy="give a number, a date or a datetime")
        if isinstance(value, str):
            value, nano = self._from_text(value.strip(SPACE))
        if isinstance(value, int | float):
            return self._from_number(value)
        if not self.is_calendar:
            raise TimeError(
                f"{value.isoformat()!r} is a date, but the times of this log are plain numbers",
                remedy=f"give a number, or say with {option('time_unit')} ({', '.join(TIME_UNITS)}) what the "
                "numbers count since 1970, so that dates work",
            )
        if isinstance(value, datetime):
            return Moment(_clamp(self._tick(value, nano)), _write_iso(value, nano))
        return Moment(_clamp(self._end_of_day(value)), value.isoformat())

    def begin(self, value: Any) -> Moment:
        """The same where something begins: a bare date is the start of that day, not its end."""
        month = parse_month(value) if isinstance(value, str) and self.is_calendar else None
        moment = self.moment(month[0] if month else value)
        day = parse_time(moment.label) if isinstance(moment.label, str) else None
        if day is None or isinstance(day.value, datetime) or self.unit == "day":
            return moment
        return Moment(_clamp(self._tick(datetime(day.value.year, day.value.month, day.value.day))), moment.label)

    def show(self, tick: int | float) -> Label:
        """A tick in the form in which the log's times came (a date or datetime as ISO text)."""
        if self.kind == "float":
            return float(tick)
        tick = int(tick)
        if self.kind == "integer":
            return tick
        if self.unit == "day":
            return (date(1970, 1, 1) + timedelta(days=tick)).isoformat()
        seconds, rest = divmod(tick, self.per_second)
        micro, nano = divmod(rest * 10**9 // self.per_second, 1000)
        moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds, microseconds=micro)
        moment = moment.astimezone(self._tzinfo())
        if self.zone is None:
            moment = moment.replace(tzinfo=None)
        return _write_iso(moment, nano)

    def duration(self, value: Any) -> float:
        """A length of time in ticks: a timedelta, or a number (of days on a calendar axis)."""
        value = to_python_value(value)
        if isinstance(value, timedelta):
            if not self.is_calendar:
                raise TimeError("the times of this log are plain numbers", remedy="give the length as a number")
            days = value / _DAY
        elif isinstance(value, int | float) and not isinstance(value, bool):
            days = float(value) if abs(value) < 2**1023 else math.inf
        else:
            raise TimeError(f"{value!r} is not a length of time", remedy="give a number or a timedelta")
        if not (math.isfinite(days) and days > 0):
            raise TimeError(f"a length of time must be positive, not {value!r}")
        return days if not self.is_calendar or self.unit == "day" else days * 86400 * self.per_second

    def convert(self, ticks: npt.NDArray[Any], other: TimeAxis, source: str) -> npt.NDArray[Any]:
        """Times of this axis as ticks of another, rounded down; `source` says in an error whose they are."""
        if (self.kind, self.unit, self.zone) == (other.kind, other.unit, other.zone):
            return ticks
        if not self.is_calendar and not other.is_calendar:
            return ticks.astype(np.float64) if other.kind == "float" else np.floor(ticks).astype(np.int64)
        alike = "date" in (self.kind, other.kind) or (self.zone is None) == (other.zone is None)
        if not (self.is_calendar and other.is_calendar and alike):
            kinds = (f"{a.kind} times{' with a zone' * (a.zone is not None)}" for a in (self, other))
            raise TimeError(
                "{} has {}, but the log {}".format(source, *kinds), remedy="give both in the same form"
            )
        if self.unit == "day":
            distinct, place = np.unique(ticks, return_inverse=True)
            return np.array([other.begin(self.show(day)).tick for day in distinct.tolist()], dtype=np.int64)[place]
        if other.unit == "day":
            quarter = 900 * self.per_second  # of an hour: at its ends alone a day begins, in any zone
            distinct, place = np.unique(ticks // quarter, return_inverse=True)
            days = [other.moment(str(self.show(k * quarter))[:10]).tick for k in distinct.tolist()]
            return np.array(days, dtype=np.int64)[place]
        if other.per_second >= self.per_second:
            return ticks * (other.per_second // self.per_second)
        return ticks // (self.per_second // other.per_second)

    def _from_text(self, text: str) -> tuple[int | float | date, int]:
        """A number, a date or a datetime, and the nanoseconds that a datetime cannot hold."""
        if self.kind in ("integer", "epoch") and _WHOLE.fullmatch(text):
            return int(text), 0
        if not self.is_calendar:
            with contextlib.suppress(ValueError):
                return float(text), 0
        written = parse_time(text)
        if written is not None:
            return written
        month = parse_month(text)
        day = month[1] if month else parse_compact_date(text) if self.is_calendar else None
        if day is not None:
            return day, 0
        if self.is_calendar:
            raise TimeError(f"{text!r} is not a date", remedy=_advise_on_excel(text) or HOW_TO_WRITE)
        raise TimeError(f"{text!r} is not a time of this log", remedy="give a number such as 330")

    def _from_number(self, value: int | float) -> Moment:
        if isinstance(value, int) and not _LEAST <= value <= _MOST:
            raise TimeError(
                "an integer beyond 64 bits is not a time of any log",
                remedy=HOW_TO_WRITE if self.is_calendar else "give a number such as 330",
            )
        if not math.isfinite(value):
            raise TimeError(
                f"{value!r} is not a time",
                remedy=HOW_TO_WRITE if self.is_calendar else "give a number such as 330",
            )
        if self.kind == "float":
            return Moment(float(value), float(value))
        if self.kind in ("integer", "epoch"):
            tick = math.floor(value)
            return Moment(_clamp(tick), tick if tick == value else value)
        day = parse_compact_date(value)
        if day is not None:
            return Moment(_clamp(self._end_of_day(day)), day.isoformat())
        raise TimeError(
            f"{value!r} is a number, but the times of this log are dates",
            remedy=_advise_on_excel(value) or "give a date such as 2013-06-01",
        )

    def _tzinfo(self) -> tzinfo:
        return zone_of(self.zone) if self.zone else UTC

    def _tick(self, value: datetime, nano: int = 0) -> int:
        if value.tzinfo is None:
            value = value.replace(tzinfo=self._tzinfo())
        elif self.kind == "date" or (self.kind == "datetime" and self.zone is None):
            raise TimeError(
                f"{value.isoformat()!r} has a zone, but the times of this log have none", remedy="give it without"
            )
        if self.unit == "day":
            return (value.astimezone(self._tzinfo()).date() - date(1970, 1, 1)).days
        micro = (value - datetime(1970, 1, 1, tzinfo=UTC)) // _MICROSECOND
        return (micro * 1000 + nano) * self.per_second // 10**9

    def _end_of_day(self, day: date) -> int:
        if self.unit == "day":
            return (day - date(1970, 1, 1)).days
        if day == date.max:
            return self._tick(datetime(day.year, day.month, day.day)) + 86400 * self.per_second - 1
        following = day + _DAY
        return self._tick(datetime(following.year, following.month, following.day)) - 1


def zone_of(name: str) -> tzinfo:
    """The zone called `name`: a name such as Europe/Paris, or a fixed offset such as +02:00."""
    offset = parse_offset(name)
    if offset is not None:
        return offset
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:
        raise TimeError(
            f"the time zone {name!r} is not known on this machine: {error}",
            remedy="write the times in UTC, or install the Python package tzdata",
        ) from None


def check_time_unit(unit: str | None) -> None:
    """Refuse a time unit that is none of those documented."""
    if unit is not None and unit not in TIME_UNITS:
        raise InputError(f"{option('time_unit')} is {unit!r}", remedy=f"give one of {', '.join(TIME_UNITS)}")


def refuse_compact_date(axis: TimeAxis, moment: Moment, span: tuple[int | float, int | float]) -> None:
    """Refuse 20130601 where times are other numbers and it lies outside the log, whose ends `span` has."""
    if axis.kind not in ("integer", "float", "epoch") or span[0] <= moment.tick <= span[1]:
        return
    day = parse_compact_date(moment.label)
    if day is None or any(parse_compact_date(tick) for tick in span):
        return
    remedy = f"if it is a date, write {day.isoformat()}"
    if not axis.is_calendar:
        remedy += f" and say with {option('time_unit')} what the times of the log count since 1970"
    raise TimeError(
        f"{moment.label} is a number outside the log, which runs from {axis.show(span[0])} to "
        f"{axis.show(span[1])}",
        remedy=remedy,
    )


def to_python_value(value: Any) -> Any:
    """The Python value that a scalar of numpy or pandas stands for; None for one that is missing."""
    if isinstance(value, np.datetime64):
        by_day = np.datetime_data(value.dtype)[0] in ("Y", "M", "W", "D")
        return value.astype("datetime64[D]" if by_day else "datetime64[us]").item()
    if isinstance(value, np.timedelta64):
        return value.astype("timedelta64[us]").item()
    if str(value) == "NaT":
        return None
    if hasattr(value, "to_pydatetime"):
        return value.to_pydatetime(warn=False)
    return value.item() if isinstance(value, np.generic) else value


def _nanoseconds_of(value: Any) -> int:
    """What a time has below its microseconds, which a datetime of Python cannot hold."""
    if isinstance(value, np.datetime64) and np.datetime_data(value.dtype)[0] == "ns" and not np.isnat(value):
        return int(value.astype(np.int64) % 1000)
    nano = getattr(value, "nanosecond", 0)
    return nano if isinstance(nano, int) else 0


def _write_iso(moment: datetime, nano: int) -> str:
    """ISO text of a datetime and the nanoseconds that it cannot hold."""
    if not nano:
        return moment.isoformat()
    zone = moment.isoformat()[len(moment.replace(tzinfo=None).isoformat()) :]
    return f"{moment.replace(tzinfo=None).isoformat(timespec='microseconds')}{nano:03d}{zone}"


def _advise_on_excel(value: float | str) -> str:
    """How to write the date that a number is in Excel; empty if it can be none."""
    day = parse_excel_date(value)
    return "" if day is None else f"if it is a date of Excel, write {day}"


def _clamp(tick: int) -> int:
    """The nearest tick of 64 bits: a date beyond them is before or after every time of a log."""
    return min(max(tick, _LEAST), _MOST)


_HOW = "write START:END, START: for one that goes on, or START/END where the times contain colons"


@dataclass(frozen=True, order=True)
class TimeWindow:
    """A window [start, end) in ticks of a log, and how its ends are written."""

    start: int | float
    end: int | float
    first: Label
    last: Label | None = None

    def __str__(self) -> str:
        slash = any(":" in str(label) for label in (self.first, self.last))
        return f"{self.first}{'/' if slash else ':'}{'' if self.last is None else self.last}"

    def contains(self, time: Times) -> Mask:
        """Which of some times lie in it."""
        return np.asarray((time >= self.start) & (time < self.end))


Windows = str | Sequence[Any] | Iterable[Any]
"""One window as text, or several, each a text, a pair (start, end) with None for no end, or a `TimeWindow`."""


class ReadsTimes(Protocol):
    """What reads times that people give: a `TimeAxis`, or a `Log`, which knows its end as well."""

    def begin(self, value: Any, /) -> Moment:
        """A time where something begins."""


def read_windows(axis: ReadsTimes, windows: Windows, name: str = "campaigns") -> tuple[TimeWindow, ...]:
    """The windows that somebody gave, in the order of time; those that touch or overlap stay apart.

    >>> from unskew.data.times import TimeAxis
    >>> [str(window) for window in read_windows(TimeAxis("integer"), ["430:450", (330, 350), "480:"])]
    ['330:350', '430:450', '480:']
    """
    several: Iterable[Any] = [windows] if isinstance(windows, str | TimeWindow) or _is_pair(windows) else windows
    return tuple(sorted({_read_window(axis, window, name) for window in several}))


def mark_inside(windows: Iterable[TimeWindow], time: Times) -> Mask:
    """Which of some times lie in any of the windows."""
    inside = np.zeros(len(time), dtype=np.bool_)
    for window in windows:
        inside |= window.contains(time)
    return inside


def _is_pair(window: Any) -> bool:
    """Whether it is a start and an end, and not two windows."""
    if not isinstance(window, tuple) or len(window) != 2:
        return False
    texts = [end for end in window if isinstance(end, str)]
    are_windows = any("/" in text or text.count(":") == 1 for text in texts)
    return not are_windows and not any(isinstance(end, tuple | list | TimeWindow) for end in window)


def _read_window(axis: ReadsTimes, value: Any, name: str) -> TimeWindow:
    if isinstance(value, TimeWindow):
        return value
    if isinstance(value, str):
        start, end = _split(value, name)
    elif isinstance(value, tuple | list) and len(value) == 2:
        start, end = value
    else:
        raise InputError(f"{option(name)} has {value!r}, which is not a window of time", remedy=_HOW)
    try:
        first, last = _begin(axis, start), Moment(math.inf, "") if end is None else _begin(axis, end)
    except TimeError as error:
        raise error.with_context(f"{option(name)} {_show(value)}") from None
    window = TimeWindow(first.tick, last.tick, first.label, None if end is None else last.label)
    if not window.start < window.end:
        raise InputError(f"{option(name)} {_show(value)} ends at its start or before it", remedy=_HOW)
    return window


def _begin(axis: ReadsTimes, value: Any) -> Moment:
    """Where a window begins or ends: the first tick that is not before the time."""
    moment = axis.begin(value)
    is_between = isinstance(moment.label, float) and isinstance(moment.tick, int) and moment.label > moment.tick
    return Moment(moment.tick + 1, moment.label) if is_between else moment


def _split(text: str, name: str) -> tuple[str, str | None]:
    mark = "/" if "/" in text else ":"
    if text.count(mark) != 1:
        raise InputError(f"{option(name)} {text!r} is not a window of time", remedy=_HOW)
    start, _, end = (part.strip() for part in text.partition(mark))
    if not start:
        raise InputError(f"{option(name)} {text!r} has no start", remedy=_HOW)
    return start, end or None


def _show(window: Any) -> str:
    return repr(window) if isinstance(window, str) else f"({', '.join(map(str, window))})"
