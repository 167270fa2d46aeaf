"""Numbers that stand for dates: what they count and since when, from how large they are."""

from __future__ import annotations

from datetime import UTC, date, datetime

from unskew.data.date_grammar import parse_compact_date, parse_excel_date
from unskew.data.times import PER_SECOND

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
