"""Times given with a log in mind: numbers that count since 1970, steps, and -30d."""

from __future__ import annotations

import calendar
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from itertools import count
from typing import Any

from unskew.data.date_grammar import SPACE, parse_compact_date, parse_excel_date, parse_time
from unskew.data.times import PER_SECOND, UNIT_WORDS, Label, Moment, TimeAxis, to_python_value
from unskew.errors import TimeError, option

_FIRST, _LAST = (datetime(year, 1, 1, tzinfo=UTC).timestamp() for year in (1990, 2100))


def find_epoch_unit(first: float, last: float) -> str | None:
    """The unit in which numbers from `first` to `last` count since 1970: all lie in the years 1990 to 2099 then.

    The units are so far apart that there is at most one. Days are never found: their numbers are small, and could
    be anything.

    >>> find_epoch_unit(874724710, 893286638), find_epoch_unit(1.37e12, 1.38e12), find_epoch_unit(1, 500)
    ('s', 'ms', None)
    """
    for unit, per in PER_SECOND.items():
        if _FIRST * per <= first and last <= _LAST * per:
            return unit
    return None


def find_excel_dates(first: float, last: float) -> tuple[date, date] | None:
    """The dates that numbers from `first` to `last` are in Excel, if all lie in the years 1990 to 2099.

    They may as well count days since something else, so that they are advice and never read so.

    >>> find_excel_dates(40737, 41000.5), find_excel_dates(0, 500)
    ((datetime.date(2011, 7, 13), datetime.date(2012, 4, 1)), None)
    """
    begin, end = parse_excel_date(first), parse_excel_date(last)
    return None if begin is None or end is None else (begin, end)


def advise_on_numbers(first: float, last: float) -> str:
    """What to do about numbers from `first` to `last` that may be dates and are not read so; empty if nothing."""
    if parse_compact_date(first) and parse_compact_date(last):
        return (
            f"if times such as {first:.0f} are dates, give the date as {last:.0f} too, or cast the column to dates"
        )
    excel = find_excel_dates(first, last)
    if excel is None:
        return ""
    return (
        f"if they are dates of Excel, {excel[0]} to {excel[1]}, format the column as yyyy-mm-dd there and save it "
        "again"
    )


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
    def of(cls, axis: TimeAxis, step: Any, text: str | None = None) -> Step:
        """Read a step given by a person, who wrote it as `text`."""
        value, text = to_python_value(step), repr(step) if text is None else text
        if isinstance(value, str):
            return cls._of_text(axis, value.strip().lower(), step)
        if isinstance(value, bool) or not isinstance(value, int | float | timedelta):
            raise TimeError(f"{step!r} is not a step", remedy=_remedy(axis))
        if not (value > timedelta(0) if isinstance(value, timedelta) else 0 < value < math.inf):
            raise TimeError(f"the step is {step!r}; it must be positive")
        if axis.is_calendar:
            days = value / timedelta(days=1) if isinstance(value, timedelta) else value
            if days == int(days):
                return cls(days=int(days))
        return cls._of_ticks(axis, axis.duration(value), text)

    @classmethod
    def _of_text(cls, axis: TimeAxis, text: str, step: str) -> Step:
        match = _STEP.fullmatch(text.removeprefix("+"))
        if match is None:
            if re.fullmatch(_STEP.pattern, text.removeprefix("-")):
                raise TimeError(f"the step is {step!r}; it must be positive")
            raise TimeError(f"{step!r} is not a step", remedy=_remedy(axis))
        number, unit = float(match[1]), match[2]
        if number.is_integer():
            number = int(number)
        if not unit:
            return cls.of(axis, number)
        if not axis.is_calendar:
            raise TimeError(
                f"{step!r} is a step of the calendar, but the times of this log are plain numbers",
                remedy=f"give a number, or say what the numbers count with {option('time_unit')}",
            )
        if unit not in (*_LENGTHS, *_CALENDAR):
            hint = " (min for minutes, mo for months)" if unit == "m" else ""
            raise TimeError(f"{step!r} is not a step{hint}", remedy=_remedy(axis))
        if not number > 0:
            raise TimeError(f"the step is {step!r}; it must be positive")
        if unit in _LENGTHS:
            return cls.of(axis, number * _LENGTHS[unit], repr(step))
        days, months = _CALENDAR[unit]
        if months and number != int(number):
            raise TimeError(f"the step is {step!r}", remedy="give a whole number of months or years")
        return cls(months=int(number) * months) if months else cls.of(axis, number * days, repr(step))

    @classmethod
    def _of_ticks(cls, axis: TimeAxis, ticks: float, text: str) -> Step:
        if axis.kind != "float":
            whole = round(ticks)
            if whole < 1 or abs(ticks - whole) > 1e-6 * whole:
                units = "numbers" if axis.kind == "integer" else UNIT_WORDS[axis.unit or "s"]
                raise TimeError(
                    f"the step is {text}, but the times of this log are whole {units}",
                    remedy=f"give a whole number{'' if axis.kind == 'integer' else f' of {units}'}, at least 1",
                )
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
            raise TimeError(
                f"there is no date that long before {moment.label}", remedy="give a shorter time or a later date"
            ) from None
        return Moment(tick, label_of(axis, tick))

    def _date_after(self, anchor: date, k: int) -> date:
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
    written = parse_time(shown if axis.unit == "day" else str(moment.label))
    if written is not None and not isinstance(written.value, datetime):
        return written.value
    return datetime.fromisoformat(shown).replace(tzinfo=None)


def _remedy(axis: TimeAxis) -> str:
    return f"give {_WRITTEN}" if axis.is_calendar else "give a number"


LAST = "last"
_RELATIVE_STEP = re.compile(r"-\s*[0-9.]+\s*[a-z]+")  # a bare number is a time: that of a log of numbers
_NUMBER = re.compile(r"-\s*(\d+(?:\.\d*)?|\.\d+)")


@dataclass(frozen=True)
class LogSpan:
    """The time axis of a log, and its first and last tick."""

    axis: TimeAxis
    first: int | float
    last: int | float

    def moment(self, value: Any) -> Moment:
        """Read a time given by a person, as `TimeAxis.moment` does; text may be relative to the end of the log."""
        return self._read(value, self.axis.moment)

    def begin(self, value: Any) -> Moment:
        """The same where something begins: a bare date is the start of that day, not its end."""
        return self._read(value, self.axis.begin)

    def is_relative(self, text: str) -> bool:
        """Whether a text says how long before something else: -30d. A negative number is a time of some logs."""
        if not text.startswith("-"):
            return False
        numbers = self.axis.kind in ("integer", "float", "epoch") and self.first < 0
        return not (numbers and _NUMBER.fullmatch(text))

    def _read(self, value: Any, read: Callable[[Any], Moment]) -> Moment:
        if isinstance(value, Moment):
            return value
        text = value.strip(SPACE) if isinstance(value, str) else ""
        try:
            if text.lower() == LAST:
                return self._find_end()
            if _RELATIVE_STEP.fullmatch(text.lower()):
                return Step.of(self.axis, text[1:].strip()).before(self.axis, self._find_end())
            return read(value)
        except TimeError as error:
            raise self._add_span(error) from None

    def _find_end(self) -> Moment:
        """The end of the log; the bare date of its last day where it has days."""
        if not self.axis.is_calendar:
            return Moment(self.last, self.axis.show(self.last))
        return self.axis.moment(str(self.axis.show(self.last))[:10])

    def _add_span(self, error: TimeError) -> TimeError:
        """The same error with the span of the log, and with what its numbers count if that is plain to see."""
        remedy, unit = error.remedy, find_epoch_unit(self.first, self.last)
        if not self.axis.is_calendar and unit is not None:
            remedy = f"they look like {UNIT_WORDS[unit]} since 1970, which {option('time_unit', unit)} says"
        elif not self.axis.is_calendar:
            remedy = "; ".join(filter(None, (remedy, advise_on_numbers(self.first, self.last))))
        span = f"the log runs from {self.axis.show(self.first)} to {self.axis.show(self.last)}"
        return TimeError(f"{error.message} ({span})", remedy=remedy)


def show_span(unit: str, first: int | float, last: int | float) -> str:
    """From when to when numbers run that count so since 1970, in days."""
    axis = TimeAxis("epoch", unit, "UTC")
    return " to ".join(str(axis.show(int(tick)))[:10] for tick in (first, last))
