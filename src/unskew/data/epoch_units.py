"""Numbers that count since 1970: what they count, told from how large they are."""

from __future__ import annotations

from datetime import UTC, datetime

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
