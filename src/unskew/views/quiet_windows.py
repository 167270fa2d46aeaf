"""Quiet windows: short ones in which nothing was recommended, to tell what people take by themselves."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from unskew.data.log import Log
from unskew.errors import EmptyError, option
from unskew.views.short_windows import ShortWindow, tick_after

MOST = 6
"""How many are looked for: each costs a fit of the model."""

_LEAST_USERS = 0.5  # share of the users of the first window who must have a profile by then


def find_quiet(log: Log, busy: Sequence[ShortWindow], until: int | float) -> list[ShortWindow]:
    """Windows as long as the busy ones (their median), before the first of them, between them and after the last.

    After a busy window as much time is left out as it is long, since some is taken late. Those that end closest
    to the start of a busy one come first, and those after the last at the end; windows before half of the users
    of the first busy one had a profile are left out, since a service that is just starting is another one.
    """
    length = _find_length(log, busy)
    found: list[tuple[int | float, ShortWindow]] = []
    free_from = _find_time_of_users(log, busy[0].start)
    for window in busy:
        distance, end = 0, window.start
        while end - length >= free_from:
            found.append((distance, ShortWindow(end - length, end, end)))
            distance, end = distance + 1, end - length
        free_from = window.end + length
    last = tick_after(log, until)
    late = len(found)
    while free_from + length <= last:
        found.append((late, ShortWindow(free_from, free_from + length, free_from + length)))
        free_from += length
    if not found:
        raise EmptyError(
            f"the log has no quiet time as long as a window ({log.axis.show(busy[0].start)} and later)",
            remedy=f"name a group that was never shown anything with {option('holdout')}, or leave more time "
            "around the windows",
        )
    found.sort(key=lambda one: one[0])
    return sorted((window for _, window in found[:MOST]), key=lambda window: window.start)


def list_windows_before(log: Log, busy: Sequence[ShortWindow]) -> list[ShortWindow]:
    """All windows of this length before the first busy one, while the service had half of the users of then."""
    length, first = _find_length(log, busy), _find_time_of_users(log, busy[0].start)
    windows: list[ShortWindow] = []
    end = busy[0].start
    while end - length >= first:
        windows.append(ShortWindow(end - length, end, end))
        end -= length
    return windows[::-1]


def _find_length(log: Log, busy: Sequence[ShortWindow]) -> int | float:
    length = float(np.median([window.end - window.start for window in busy]))
    return max(1, round(length)) if log.time.dtype.kind in "iu" else length


def _find_time_of_users(log: Log, start: int | float) -> int | float:
    """When half of the users who had a profile at `start` had one."""
    rows = np.flatnonzero(np.diff(log.start.astype(np.int64)))
    joined = np.sort(log.time[log.start[:-1][rows].astype(np.int64)])
    joined = joined[joined < start]
    if len(joined) == 0:
        return log.span[0]  # type: ignore[no-any-return]
    return tick_after(log, joined[int(len(joined) * _LEAST_USERS)].item())
