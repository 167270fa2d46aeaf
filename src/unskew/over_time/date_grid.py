"""A grid of dates on the time axis of a log: from one to another in equal steps.

What a step is stands in `unskew.data.time_steps`. The last date is always part of the grid, even where the steps
do not meet it.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

from unskew.data.log import Log
from unskew.data.time_steps import Step, label_of
from unskew.data.times import Moment, TimeAxis, refuse_compact_date
from unskew.errors import PolicyError, TimeError, UnskewWarning, option

MOST = 100_000
"""Dates of a grid: more are taken for a mistake."""


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
        found = _read_dates(log, dates)
    else:
        first, last = (
            log.moment(_value_or(start, _value_or(otherwise, log.first))),
            log.moment(_value_or(end, log.last)),
        )
        for moment in (first, last):
            refuse_compact_date(log.axis, moment, log.span)
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
    every = 1 if every is None else every
    step = Step.of(axis, every)
    about = (last.tick - first.tick) / step.estimate(axis)
    if about > MOST:
        raise TimeError(
            f"there are about {about:.3g} dates from {first.label} to {last.label} in steps of {every}, "
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


def _read_dates(log: Log, dates: Iterable[Any]) -> list[Moment]:
    if isinstance(dates, str) or not isinstance(dates, Iterable):
        raise TimeError(f"{option('dates')}: {dates!r} is not a list of dates", remedy="put it into one")
    ticks = {moment.tick for moment in map(log.moment, dates)}
    if not ticks:
        raise TimeError(f"{option('dates')} is empty", remedy="give at least one date")
    if len(ticks) > MOST:
        raise TimeError(f"{option('dates')} holds {len(ticks)} dates, more than {MOST}", remedy="take fewer")
    return [Moment(tick, label_of(log.axis, tick)) for tick in sorted(ticks)]


def _check_range(log: Log, found: list[Moment]) -> None:
    begins, ends = log.axis.moment(log.first).tick, log.axis.moment(log.last).tick
    if found[0].tick < begins:
        raise log.too_early_error(found[0], remedy="begin later")
    same_day = log.axis.is_calendar and str(log.last).startswith(str(found[-1].label))
    late = [moment for moment in found if moment.tick > ends]
    if late and not (same_day and len(late) == 1):
        warnings.warn(
            f"the dates from {late[0].label} on ({len(late)} of {len(found)}) are after the log ends: it runs "
            f"from {log.first} to {log.last}",
            UnskewWarning,
            stacklevel=4,
        )


def _value_or(value: Any, default: Any) -> Any:
    return default if value is None else value
