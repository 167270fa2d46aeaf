"""Windows of time, such as those of campaigns: from a start, included, to an end, not included.

Written ``START:END``, ``START:`` for one that goes on, or ``START/END`` where the times contain colons. A bare
date is the start of that day, as a start and as an end.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from unskew.arrays.types import Mask, Times
from unskew.data.times import Label, Moment
from unskew.errors import InputError, TimeError, option

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
        inside: Mask = (time >= self.start) & (time < self.end)
        return inside


Windows = str | Sequence[Any] | Iterable[Any]
"""One window as text, or several, each a text, a pair (start, end) with None for no end, or a `TimeWindow`."""


class ReadsTimes(Protocol):
    """What reads times that people give: a `TimeAxis`, or a `Log`, which knows its end as well."""

    def begin(self, value: Any, /) -> Moment:
        """A time where something begins."""


def read_windows(axis: ReadsTimes, given: Windows, name: str = "campaigns") -> tuple[TimeWindow, ...]:
    """The windows that somebody gave, in the order of time; those that touch or overlap stay apart.

    >>> from unskew.data.times import TimeAxis
    >>> [str(window) for window in read_windows(TimeAxis("integer"), ["430:450", (330, 350), "480:"])]
    ['330:350', '430:450', '480:']
    """
    several: Iterable[Any] = [given] if isinstance(given, str | TimeWindow) or _is_pair(given) else given
    return tuple(sorted({_read_window(axis, one, name) for one in several}))


def mark_inside(windows: Iterable[TimeWindow], time: Times) -> Mask:
    """Which of some times lie in any of the windows."""
    inside = np.zeros(len(time), dtype=np.bool_)
    for window in windows:
        inside |= window.contains(time)
    return inside


def _is_pair(given: Any) -> bool:
    """Whether it is a start and an end, and not two windows."""
    if not isinstance(given, tuple) or len(given) != 2:
        return False
    return not any(isinstance(one, tuple | list | TimeWindow) or _is_window(one) for one in given)


def _is_window(given: Any) -> bool:
    return isinstance(given, str) and ("/" in given or given.count(":") == 1)


def _read_window(axis: ReadsTimes, given: Any, name: str) -> TimeWindow:
    if isinstance(given, TimeWindow):
        return given
    if isinstance(given, str):
        start, end = _split(given, name)
    elif isinstance(given, tuple | list) and len(given) == 2:
        start, end = given
    else:
        raise InputError(f"{option(name)} has {given!r}, which is not a window of time", remedy=_HOW)
    try:
        first, last = _begin(axis, start), None if end is None else _begin(axis, end)
    except TimeError as error:
        raise error.with_context(f"{option(name)} {_show(given)}") from None
    window = TimeWindow(
        first.tick, math.inf if last is None else last.tick, first.label, None if last is None else last.label
    )
    if not window.start < window.end:
        raise InputError(f"{option(name)} {_show(given)} ends at its start or before it", remedy=_HOW)
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


def _show(given: Any) -> str:
    return repr(given) if isinstance(given, str) else f"({', '.join(map(str, given))})"
