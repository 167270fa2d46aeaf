"""Steps of time, as people write them: 12h, 7d, 1mo, or a number.

Days, weeks, months and years are steps of the calendar: from a bare date they lead to bare dates (the end of each
day), from a time of day to the same time of day, whatever the clocks do in between. All other steps are lengths of
time.
"""

from __future__ import annotations

import calendar
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from itertools import count
from typing import Any

from unskew.data.date_grammar import parse_time
from unskew.data.times import UNIT_WORDS, Label, Moment, TimeAxis, to_python_value
from unskew.errors import TimeError, option

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

    def before(self, axis: TimeAxis, moment: Moment) -> Moment:
        """The time that is one step before another."""
        if self.ticks:
            tick = moment.tick - self.ticks
            return Moment(tick, label_of(axis, tick))
        anchor = _anchor(axis, moment)
        rest = moment.tick - axis.moment(anchor).tick
        try:
            tick = axis.moment(self._date_after(anchor, -1)).tick + rest
        except (OverflowError, ValueError):
            raise TimeError(f"there is no date that long before {moment.label}") from None
        return Moment(tick, label_of(axis, tick))

    def _date_after(self, anchor: date, k: int) -> date:
        """The date that is k steps after `anchor`."""
        if self.days:
            return anchor + timedelta(days=k * self.days)
        year, month = divmod(anchor.year * 12 + anchor.month - 1 + k * self.months, 12)
        last = calendar.monthrange(year, month + 1)[1]
        return anchor.replace(year=year, month=month + 1, day=min(anchor.day, last))


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


def _remedy(axis: TimeAxis) -> str:
    return f"give {_WRITTEN}" if axis.is_calendar else "give a number"


def _name_ticks(axis: TimeAxis) -> str:
    return UNIT_WORDS[axis.unit or "s"]
