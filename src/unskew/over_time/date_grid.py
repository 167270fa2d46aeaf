"""A grid of dates on the time axis of a log: from one to another in equal steps.

Days, weeks, months and years are steps of the calendar: from a bare date they lead to bare dates (the end of each
day), from a time of day to the same time of day, whatever the clocks do in between. All other steps are lengths of
time. The last date is always part of the grid, even where the steps do not meet it.
"""

from __future__ import annotations

import calendar
import math
import re
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from itertools import count
from typing import Any

from unskew.data.date_grammar import parse_time
from unskew.data.log import Log
from unskew.data.times import Label, Moment, TimeAxis, to_python_value
from unskew.errors import EmptyError, PolicyError, TimeError, UnskewWarning, option

MOST = 100_000
"""Dates of a grid: more are taken for a mistake."""

_LENGTHS = {"s": timedelta(seconds=1), "min": timedelta(minutes=1), "h": timedelta(hours=1)}
_CALENDAR = {"d": (1, 0), "w": (7, 0), "mo": (0, 1), "y": (0, 12)}  # days and months
_STEP = re.compile(r"(\d+(?:\.\d*)?|\.\d+)\s*([a-z]*)")
_WRITTEN = "a number of days, or a number with a unit: 12h, 7d, 2w, 1mo (units: s, min, h, d, w, mo, y)"


@dataclass(frozen=True)
class Step:
    """A step of the calendar in whole days or months, or a length in ticks."""

    days: int = 0
    months: int = 0
    ticks: float = 0.0

    @classmethod
    def of(cls, axis: TimeAxis, given: Any, text: str | None = None) -> Step:
        """Read a step given by a person, who wrote it as `text`."""
        value, text = to_python_value(given), repr(given) if text is None else text
        if isinstance(value, str):
            return cls._of_text(axis, value.strip().lower(), given)
        if isinstance(value, bool) or not isinstance(value, int | float | timedelta):
            raise TimeError(f"{given!r} is not a step", remedy=_remedy(axis))
        if not (value > timedelta(0) if isinstance(value, timedelta) else 0 < value < math.inf):
            raise TimeError(f"the step is {given!r}; it must be positive")
        if axis.is_calendar:
            days = value / timedelta(days=1) if isinstance(value, timedelta) else value
            if days == int(days):
                return cls(days=int(days))
        return cls._of_ticks(axis, axis.duration(value), text)

    @classmethod
    def _of_text(cls, axis: TimeAxis, text: str, given: str) -> Step:
        found = _STEP.fullmatch(text.removeprefix("+"))
        if found is None:
            if re.fullmatch(_STEP.pattern, text.removeprefix("-")):
                raise TimeError(f"the step is {given!r}; it must be positive")
            raise TimeError(f"{given!r} is not a step", remedy=_remedy(axis))
        number, unit = float(found[1]), found[2]
        if number.is_integer():
            number = int(number)
        if not unit:
            return cls.of(axis, number)
        if not axis.is_calendar:
            raise TimeError(
                f"{given!r} is a step of the calendar, but the times of this log are plain numbers",
                remedy=f"give a number, or say what the numbers count with {option('time_unit')}",
            )
        if unit not in (*_LENGTHS, *_CALENDAR):
            hint = " (min for minutes, mo for months)" if unit == "m" else ""
            raise TimeError(f"{given!r} is not a step{hint}", remedy=_remedy(axis))
        if not number > 0:
            raise TimeError(f"the step is {given!r}; it must be positive")
        if unit in _LENGTHS:
            return cls.of(axis, number * _LENGTHS[unit], repr(given))
        days, months = _CALENDAR[unit]
        if months and number != int(number):
            raise TimeError(f"the step is {given!r}; give a whole number of months or years")
        return cls(months=int(number) * months) if months else cls.of(axis, number * days, repr(given))

    @classmethod
    def _of_ticks(cls, axis: TimeAxis, ticks: float, text: str) -> Step:
        if axis.kind != "float":
            whole = round(ticks)
            if whole < 1 or abs(ticks - whole) > 1e-6 * whole:
                each = "numbers" if axis.kind == "integer" else _name_ticks(axis)
                raise TimeError(f"the step is {text}, but the times of this log are whole {each}")
            ticks = whole
        return cls(ticks=ticks)

    def estimate(self, axis: TimeAxis) -> float:
        """About how many ticks the step has, rather too few than too many."""
        return self.ticks or axis.duration(self.days or 28 * self.months)

    def ticks_from(self, axis: TimeAxis, start: Moment) -> Iterator[int | float]:
        """Endlessly: the tick of each date."""
        if self.ticks:
            yield from (start.tick + k * self.ticks for k in count())
        anchor = _anchor(axis, start)
        rest = start.tick - axis.moment(anchor).tick  # what a datetime cannot hold
        for k in count():
            yield axis.moment(self._date_after(anchor, k)).tick + rest

    def _date_after(self, anchor: date, k: int) -> date:
        """The date that is k steps after `anchor`."""
        if self.days:
            return anchor + timedelta(days=k * self.days)
        year, month = divmod(anchor.year * 12 + anchor.month - 1 + k * self.months, 12)
        last = calendar.monthrange(year, month + 1)[1]
        return anchor.replace(year=year, month=month + 1, day=min(anchor.day, last))


def grid_of(
    log: Log,
    start: Any = None,
    end: Any = None,
    every: Any = None,
    *,
    dates: Iterable[Any] | None = None,
    otherwise: Any = None,
) -> list[Moment]:
    """The dates from `start` to `end`, or those given, in order and each once; none before the log begins.

    Parameters
    ----------
    log
        Whose times they are.
    start, end
        The first and the last date; by default `otherwise` or else the log's first, and its last.
    every
        The step: 1 (unit of time, or day) by default.
    dates
        The dates themselves, in place of the other three.
    otherwise
        The first date where none is given.

    Examples
    --------
    >>> import unskew as us
    >>> log = us.read_log({"user": ["a", "b"], "item": [1, 2], "time": ["2024-01-31", "2024-05-20"]})
    >>> [moment.label for moment in grid_of(log, "2024-01-31", "2024-05-01", "1mo")]
    ['2024-01-31', '2024-02-29', '2024-03-31', '2024-04-30', '2024-05-01']
    """
    if dates is not None:
        if start is not None or end is not None or every is not None:
            steps = f"{option('start')}, {option('end')} and {option('every')}"
            raise PolicyError(f"give {option('dates')}, or {steps}, not both")
        found = _read_dates(log.axis, dates)
    else:
        first, last = (
            log.axis.moment(_value_or(start, _value_or(otherwise, log.first))),
            log.axis.moment(_value_or(end, log.last)),
        )
        if start is None and otherwise is not None and first.tick > last.tick:
            end_of = "the end of the log" if end is None else "the last date"
            raise TimeError(
                f"the reference {first.label} is after {end_of}, {last.label}",
                remedy=f"say where to begin with {option('start')}, or give a later {option('end')}",
            )
        found = _step_through(log.axis, first, last, every)
    _check_range(log, found)
    return found


def _step_through(axis: TimeAxis, first: Moment, last: Moment, every: Any) -> list[Moment]:
    if first.tick > last.tick:
        raise TimeError(f"the first date {first.label} is after the last, {last.label}", remedy="swap them")
    step = Step.of(axis, _value_or(every, 1))
    about = (last.tick - first.tick) / step.estimate(axis)
    if about > MOST:
        raise TimeError(
            f"there are about {about:.3g} dates from {first.label} to {last.label} in steps of {_value_or(every, 1)}, "
            f"more than {MOST}",
            remedy=f"take larger steps with {option('every')}",
        )
    found: list[int | float] = []
    near = 1e-9 * step.ticks if axis.kind == "float" else 0  # rounding must not give the last date twice
    try:
        for tick in step.ticks_from(axis, first):
            if tick >= last.tick - near:
                break
            if not found or tick > found[-1]:
                found.append(tick)
    except (OverflowError, ValueError):  # beyond the last day that the calendar has
        pass
    return [Moment(tick, label_of(axis, tick)) for tick in (*found, last.tick)]


def _read_dates(axis: TimeAxis, dates: Iterable[Any]) -> list[Moment]:
    if isinstance(dates, str) or not isinstance(dates, Iterable):
        raise TimeError(f"{option('dates')}: {dates!r} is not a list of dates", remedy="put it into one")
    ticks = {moment.tick for moment in map(axis.moment, dates)}
    if not ticks:
        raise TimeError(f"{option('dates')} is empty", remedy="give at least one date")
    if len(ticks) > MOST:
        raise TimeError(f"{option('dates')} holds {len(ticks)} dates, more than {MOST}", remedy="take fewer")
    return [Moment(tick, label_of(axis, tick)) for tick in sorted(ticks)]


def label_of(axis: TimeAxis, tick: int | float) -> Label:
    """The end of a day as the bare date, any other time in the form in which the log's times come.

    It depends on nothing but the time, so that the dates of two grids can be told apart by their labels.
    """
    shown = axis.show(tick)
    if not axis.is_calendar or axis.unit == "day":
        return shown
    day = str(shown)[:10]
    return day if axis.moment(day).tick == tick else shown


def _anchor(axis: TimeAxis, moment: Moment) -> date:
    """The bare date that was given, or the time on the clock of the log's zone."""
    shown = str(axis.show(moment.tick))
    given = parse_time(shown if axis.unit == "day" else str(moment.label))
    if given is not None and not isinstance(given.value, datetime):
        return given.value
    return datetime.fromisoformat(shown).replace(tzinfo=None)


def _check_range(log: Log, found: list[Moment]) -> None:
    begins, ends = log.axis.moment(log.first).tick, log.axis.moment(log.last).tick
    if found[0].tick < begins:
        raise EmptyError(
            f"nothing had happened yet at {found[0].label}: the log runs from {log.first} to {log.last}",
            remedy="begin later",
        )
    same_day = log.axis.is_calendar and str(log.last).startswith(str(found[-1].label))
    late = [moment for moment in found if moment.tick > ends]
    if late and not (same_day and len(late) == 1):
        warnings.warn(
            f"the dates from {late[0].label} on ({len(late)} of {len(found)}) are after the log ends: it runs "
            f"from {log.first} to {log.last}",
            UnskewWarning,
            stacklevel=4,
        )


def _remedy(axis: TimeAxis) -> str:
    return f"give {_WRITTEN}" if axis.is_calendar else "give a number"


def _name_ticks(axis: TimeAxis) -> str:
    return {"s": "seconds", "ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds"}.get(
        axis.unit or "s", "days"
    )


def _value_or(value: Any, default: Any) -> Any:
    return default if value is None else value
