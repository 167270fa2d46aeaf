"""The organic view: a log without the rows that followed a recommendation or a promotion."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast
from weakref import WeakKeyDictionary

from unskew.checks import public, require_instance
from unskew.data.log import DatedLog, Log
from unskew.engines.population import is_on_spark
from unskew.errors import EmptyError, InputError, option
from unskew.views.reporting import describe_view

_MADE: WeakKeyDictionary[Log, Log] = WeakKeyDictionary()  # two dates of one view are dates of one log


@public
def organic(log: Log) -> Log:
    """The log without the rows marked as exposed: a view, itself a log.

    Rows are dropped before repeats are folded, so an item that a user first took when exposed
    and took again by itself stays, at the later time.

    >>> import unskew as us
    >>> rows = {"user": ["a", "a", "b"], "item": [1, 2, 1], "time": [3, 4, 5], "shown": [False, True, False]}
    >>> us.views.organic(us.read_log(rows, exposed="shown"))
    Log(2 users, 1 items, 2 interactions from 3 to 5, organic view)
    """
    require_instance(DatedLog, log, "a log", "read one with read_log")
    if log.exposed is None:
        raise InputError("this log has no exposure marks", remedy=f"read it with {option('exposed', 'COLUMN')}")
    if is_on_spark(log):
        there: Any = log.take_view(_keep_unexposed, "organic", "what was exposed is known")
        return cast(Log, there)
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
        raise EmptyError("every row of this log is marked as exposed: nothing is left without them")
    return replace(left, view_report=describe_view(log, left, "what was exposed is known"))
