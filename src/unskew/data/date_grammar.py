"""How dates and datetimes are written, in files as by people: the one place that says so.

====================================  ===============================================================
``2013-06-01``, ``2013-6-1``          a date
``2013-06-01 10:30``                  a datetime; ``T`` may stand for the space
``2013-06-01T10:30:00.25``            seconds and a fraction of them may follow
``2013-06-01T10:30:00+02:00``         an offset from UTC may follow: ``Z``, ``UTC``, ``+02:00``, ``+0200``, ``+02``
``20130601``                          a date, where no number can stand: see below
``2013-06``                           a month, for people alone: its last day, or its first where something begins
====================================  ===============================================================

White space around it and one space before the offset do not matter, and 24:00 is midnight at the end of the day.
Everything else is refused, above all the weeks of ISO 8601 (2013-W22-6). 20130601 is a date for a log of dates,
and in a column of which all values are such dates. In a log whose times are other numbers it is a number, which is
refused if it lies outside the log and so must be meant as a date.

The patterns are regular expressions that Python and DuckDB read alike. They do not know how long a month is: that
a day exists is checked by `parse_time` here and by a cast in DuckDB.
"""

from __future__ import annotations

import calendar
import re
from datetime import UTC, date, datetime, timedelta, timezone
from typing import NamedTuple

DAY = r"(?P<year>[0-9]{4})-(?P<month>[0-9]{1,2})-(?P<day>[0-9]{1,2})"
_HOUR = r"(?P<hour>[01]?[0-9]|2[0-3]):(?P<minute>[0-5][0-9])(:(?P<second>[0-5][0-9])(\.(?P<fraction>[0-9]+))?)?"
CLOCK = rf"[ T]({_HOUR}|(?P<midnight>24:00(:00(\.0+)?)?))"
OFFSET = r" ?(?P<offset>Z|UTC|[+-]([01][0-9]|2[0-3])([0-5][0-9]|:[0-5][0-9](:[0-5][0-9])?)?)"
"""Seconds are for local times from before there were zones."""

SPACE = " \t\n\r\f"
"""What may stand around a time."""

HOW_TO_WRITE = "write dates as 2013-06-01 and datetimes as 2013-06-01T10:30:00"

_TIME = re.compile(f"{DAY}({CLOCK}({OFFSET})?)?")
_OFFSET = re.compile(OFFSET)
_MONTH = re.compile("(?P<year>[0-9]{4})-(?P<month>[0-9]{1,2})")
_EXCEL = date(1899, 12, 30)  # day 0 of its dates from March 1900 on
_EXCEL_FIRST, _EXCEL_LAST = ((date(year, 1, 1) - _EXCEL).days for year in (1990, 2100))
_COMPACT = re.compile("((?:19|20)[0-9]{2})([0-9]{2})([0-9]{2})")


class WrittenTime(NamedTuple):
    """A date or datetime, and the nanoseconds below its microseconds, which it cannot hold itself."""

    value: date
    nanoseconds: int = 0


def parse_time(text: str) -> WrittenTime | None:
    """The date or datetime that a text says; None if it says none, or one that the calendar does not have.

    >>> parse_time("2013-6-1"), parse_time("2013-06-31"), parse_time("20130601")
    (WrittenTime(value=datetime.date(2013, 6, 1), nanoseconds=0), None, None)
    """
    match = _TIME.fullmatch(text.strip(SPACE))
    if match is None:
        return None
    try:
        day = date(int(match["year"]), int(match["month"]), int(match["day"]))
        return _add_clock(day, match) if match["hour"] or match["midnight"] else WrittenTime(day)
    except (ValueError, OverflowError):  # there is no such day, or it is beyond the years 1 to 9999
        return None


def parse_month(text: str) -> tuple[date, date] | None:
    """The first and the last day of the month that a text says; None if it says none.

    >>> parse_month("2012-2")
    (datetime.date(2012, 2, 1), datetime.date(2012, 2, 29))
    """
    match = _MONTH.fullmatch(text.strip(SPACE))
    if match is None:
        return None
    year, month = int(match["year"]), int(match["month"])
    if not (year >= 1 and 1 <= month <= 12):
        return None
    return date(year, month, 1), date(year, month, calendar.monthrange(year, month)[1])


def parse_compact_date(number: int | float | str) -> date | None:
    """The date that a number is, read as 20130601; None if it is none of the years 1900 to 2099.

    >>> parse_compact_date(20130601), parse_compact_date(20131301), parse_compact_date(330)
    (datetime.date(2013, 6, 1), None, None)
    """
    match = _COMPACT.fullmatch(str(number).removesuffix(".0"))
    written = parse_time("-".join(match.groups())) if match else None
    return written.value if written else None


def parse_excel_date(number: float | str) -> date | None:
    """The date that a number is in Excel; None if it is none of the years 1990 to 2099.

    >>> parse_excel_date("45323"), parse_excel_date(41000.5), parse_excel_date(330), parse_excel_date("a")
    (datetime.date(2024, 2, 1), datetime.date(2012, 4, 1), None, None)
    """
    try:
        days = float(number)
    except ValueError:
        return None
    if not (_EXCEL_FIRST <= days < _EXCEL_LAST):
        return None
    return _EXCEL + timedelta(days=int(days))


def parse_offset(text: str) -> timezone | None:
    """The zone that an offset says; None if it is none.

    >>> parse_offset("+0530"), parse_offset("Z"), parse_offset("+25:00")
    (datetime.timezone(datetime.timedelta(seconds=19800)), datetime.timezone.utc, None)
    """
    if _OFFSET.fullmatch(text) is None:
        return None
    digits = re.sub("[^0-9]", "", text).ljust(6, "0")
    hours, minutes, seconds = (int(digits[k : k + 2]) for k in (0, 2, 4))
    length = timedelta(hours=hours, minutes=minutes, seconds=seconds)
    return timezone(-length if "-" in text else length)


def _add_clock(day: date, match: re.Match[str]) -> WrittenTime:
    if match["midnight"]:
        day += timedelta(days=1)
    hour, minute, second = (int(match[part] or 0) for part in ("hour", "minute", "second"))
    fraction = (match["fraction"] or "").ljust(9, "0")
    zone = parse_offset(match["offset"]) if match["offset"] else None
    moment = datetime(day.year, day.month, day.day, hour, minute, second, int(fraction[:6]), tzinfo=zone)
    if zone is not None:
        moment.astimezone(UTC)  # which must be within the years of the calendar as well
    return WrittenTime(moment, int(fraction[6:9]))
