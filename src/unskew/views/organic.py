"""The organic view: a log without the rows that followed a recommendation or a promotion."""

from __future__ import annotations

from unskew.checks import require_instance
from unskew.data.log import Log
from unskew.errors import EmptyError, InputError, option


def organic(log: Log) -> Log:
    """The log without the rows marked as exposed: a view, itself a log.

    Rows are dropped before repeats are folded, so an item that a user first took when exposed
    and took again by itself stays, at the later time.

    >>> import unskew as us
    >>> rows = {"user": ["a", "a", "b"], "item": [1, 2, 1], "time": [3, 4, 5], "shown": [False, True, False]}
    >>> us.organic(us.read_log(rows, exposed="shown"))
    Log(2 users, 2 items, 2 interactions from 3 to 5, organic view)
    """
    require_instance(Log, log, "a log", "read one with read_log")
    if log.exposed is None:
        raise InputError("this log has no exposure marks", remedy=f"read it with {option('exposed', 'COLUMN')}")
    if log.unexposed is None:
        raise EmptyError("every row of this log is marked as exposed: nothing is left without them")
    return log.unexposed
