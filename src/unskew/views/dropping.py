"""Views that drop what may have been recommended: `organic` exposed rows, `outside` campaign windows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, cast
from weakref import WeakKeyDictionary

import numpy as np

from unskew.checks import public, require_instance
from unskew.data.log import DatedLog, Log
from unskew.data.times import TimeWindow, Windows, mark_inside, read_windows
from unskew.data.view_report import Stratum, ViewReport
from unskew.engines.population import is_on_spark
from unskew.errors import EmptyError, InputError, option, warn
from unskew.text import count, percent


def describe_view(
    log: Log,
    left: Log,
    reason: str,
    *,
    strata: Sequence[Stratum] = (),
    notes: Sequence[str] = (),
    advice: Sequence[str] = (),
) -> ViewReport:
    """The report of a view, made from the whole log and from what is left of it."""
    users, still = (int(np.count_nonzero(np.diff(part.start.astype(np.int64)))) for part in (log, left))
    return ViewReport(
        view=left.view,
        reason=reason,
        pairs=len(log),
        dropped_pairs=len(log) - len(left),
        users=users,
        dropped_users=users - still,
        strata=tuple(strata),
        notes=tuple(notes),
        advice=tuple(advice),
    )


_MADE: WeakKeyDictionary[Log, Log] = WeakKeyDictionary()  # two dates of one view are dates of one log


@public
def organic(log: Log) -> Log:
    """The log without the rows marked as exposed: a view, itself a log.

    Rows are dropped before repeats are folded, so an item with which a user first
    interacted when exposed, and again by itself, stays at the later time.

    >>> import unskew as us
    >>> rows = {"user": ["a", "a", "b"], "item": [1, 2, 1], "time": [3, 4, 5], "shown": [False, True, False]}
    >>> us.views.organic(us.read_log(rows, exposed="shown"))
    Log(2 users, 1 items, 2 interactions from 3 to 5, organic view)
    """
    require_instance(DatedLog, log, "a log", "read one with read_log")
    if log.exposed is None:
        raise InputError("this log has no exposure marks", remedy=f"read it with {option('exposed', 'COLUMN')}")
    if is_on_spark(log):
        spark_view: Any = log.take_view(_keep_unexposed, "organic", "what was exposed is known")
        return cast(Log, spark_view)
    if log not in _MADE:
        _MADE[log] = _drop_exposed(log)
    return _MADE[log]


def _keep_unexposed(log: Log) -> Log:
    assert log.exposed is not None
    again = None if log.repeats is None or log.repeats.exposed is None else ~log.repeats.exposed
    return log.keep_entries(~log.exposed, repeats=again, view="organic")


def _drop_exposed(log: Log) -> Log:
    has_stays = log.removed is not None or log.unexposed is not None
    left = log.unexposed if has_stays else _keep_unexposed(log)  # rows were dropped before stays were joined
    if left is None or len(left) == 0:
        raise EmptyError(
            "every row of this log is marked as exposed: nothing is left without them",
            remedy=f"check the column that {option('exposed')} names",
        )
    return replace(left, view_report=describe_view(log, left, "what was exposed is known"))


@public
def outside(log: Log, campaigns: Windows) -> Log:
    """The log without the interactions during campaigns: a view, itself a log.

    Nothing has to be known about a campaign but when it was. Interactions that recommendations did not cause are
    lost with the rest, so the windows should be short: as long as recommendations went on to be taken, no longer.

    Parameters
    ----------
    log
        All of history; read it with ``read_log(..., repeats=True)`` if users take items more than once, so that an
        item of a window that comes again outside counts from then on.
    campaigns
        Windows ``"START:END"`` from a start, included, to an end, not included (a bare date is the start of that
        day), ``"START:"`` for one that goes on, or pairs ``(start, end)``.

    Examples
    --------
    >>> import unskew as us
    >>> log = us.read_log({"user": ["a", "a", "b"], "item": [1, 2, 1], "time": [3, 4, 5]})
    >>> us.views.outside(log, ["4:5"])
    Log(2 users, 1 items, 2 interactions from 3 to 5, outside view)
    """
    require_instance(DatedLog, log, "a log", "read one with read_log")
    windows = require_windows(log, campaigns)
    warn_of_lost_repeats(log)
    reason = f"the dates of {count(len(windows), 'campaign')} are known"
    details = "without " + ", ".join(map(str, windows))
    if is_on_spark(log):
        spark_view: Any = log.take_view(_DropInside(windows), "outside", reason, details)
        return cast(Log, spark_view)
    left = _DropInside(windows)(log)
    if len(left) == 0:
        names = " and ".join(f"'{window}'" for window in windows)
        raise EmptyError(
            f"all interactions of this log are inside {names}, and nothing is left outside",
            remedy="give shorter campaigns",
        )
    return replace(left, view_report=describe_view(log, left, reason), view_details=details)


@dataclass(frozen=True)
class _DropInside:
    """The step from a log, or from a block of one, to what of it lies outside of the windows."""

    windows: tuple[TimeWindow, ...]

    def __call__(self, log: Log) -> Log:
        again = None if log.repeats is None else ~mark_inside(self.windows, log.repeats.time)
        return log.keep_entries(~mark_inside(self.windows, log.time), repeats=again, view="outside")


def require_windows(log: Log, campaigns: Windows) -> tuple[TimeWindow, ...]:
    """The windows of campaigns on the time axis of a log; some must be given."""
    windows = read_windows(log, campaigns)
    if not windows:
        raise InputError(f"{option('campaigns')} is empty", remedy="say when they were: START:END")
    first, last = log.span
    for window in windows:
        if window.start > last or window.end <= first:
            warn(f"the campaign {window} lies outside the log, which runs from {log.first} to {log.last}")
    return windows


def warn_of_lost_repeats(log: Log) -> None:
    """Say that later rows of a pair are not known, if some were merged into the first."""
    if log.repeats is None and log.removed is None and log.reading.folded:
        share = percent(log.reading.folded / max(log.reading.rows, 1))
        warn(
            f"{log.reading.folded} repeated rows ({share} of all) were merged into the first of the same user and "
            "item, so a pair that this view drops stays away even if it comes again later: read the log with "
            f"{option('repeats', True)}"
        )
