"""How the time between two dates is cut for a chart: about sixteen steps of whole hours, days or months."""

from __future__ import annotations

from collections.abc import Sequence

from unskew.data.log import Log
from unskew.data.times import PER_SECOND, Label, Moment

ABOUT = 16
"""Dates of a chart: enough to see when something happened, few enough to wait for."""

WORTH_WAITING = 600.0
"""Seconds that fitting models for a chart may take, as far as can be told before; both ends are always there."""

_HOURS = (1, 2, 3, 6, 12)
_DAYS = (1, 2, 3, 5, 7, 10, 14, 21)


def thin_out(grid: Sequence[Moment], each: float) -> list[Moment]:
    """The dates that are worth waiting for if one takes `each` seconds, the first and the last among them.

    >>> from unskew.data.times import Moment
    >>> dates = [Moment(k, k) for k in range(300, 501, 10)]
    >>> [moment.label for moment in thin_out(dates, 150.0)], len(thin_out(dates, 1.0))
    ([300, 350, 400, 450, 500], 21)
    """
    steps = max(1, int(WORTH_WAITING // max(each, 1e-9)))
    if steps >= len(grid) - 1:
        return list(grid)
    return [grid[round(k * (len(grid) - 1) / steps)] for k in range(steps + 1)]


def choose_step(log: Log, start: Label, end: Label) -> int | float | str:
    """The step from one date to another that a person would take; as `timeline` takes it.

    >>> import unskew as us
    >>> log = us.read_log({"user": ["a", "b"], "item": [1, 2], "time": ["2024-01-31", "2026-05-20"]})
    >>> choose_step(log, "2024-01-31", "2024-02-10"), choose_step(log, "2024-02-01", "2026-05-20")
    ('1d', '2mo')
    >>> choose_step(us.simulate(users=50, items=20).log, 300, 500)
    12
    """
    first, last = (log.axis.moment(time).tick for time in (start, end))
    span = max(last - first, 0)
    if log.axis.kind == "float":
        return span / ABOUT or 1.0
    if not log.axis.is_calendar:
        return max(1, int(span) // ABOUT)
    days = span / (1 if log.axis.unit == "day" else 86_400 * PER_SECOND[log.axis.unit or "s"])
    wanted = days / ABOUT
    if wanted < 0.75 and log.axis.unit != "day":
        return f"{min(_HOURS, key=lambda hours: abs(hours - 24 * wanted))}h"
    if wanted < 26:
        return f"{min(_DAYS, key=lambda step: abs(step - wanted))}d"
    return f"{max(1, round(wanted / 30.4))}mo"
