"""Exposures: who was shown which item when, from a table of its own, marked in a log."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from unskew.arrays.profiles import find_sorted
from unskew.arrays.types import Codes, Mask, Times
from unskew.checks import public, require_instance
from unskew.data.ids import Ids, are_comparable, kind_of
from unskew.data.log import DatedLog, Log
from unskew.data.time_steps import Step
from unskew.engines.population import is_on_spark
from unskew.errors import EmptyError, InputError, PolicyError, TimeError, option, warn
from unskew.reading.column_guesses import find_columns
from unskew.reading.reader import read_log
from unskew.text import count, percent


@public
def mark_exposed(log: Log, exposures: Any, *, within: Any = None) -> Log:
    """The log with a mark at each interaction that followed an exposure of the same user to the same item.

    Parameters
    ----------
    log
        Read it with ``read_log(..., repeats=True)`` if users take items more than once, so that what was taken
        again later, unexposed, is known.
    exposures
        Who was shown which item when: anything that `read_log` reads, with the column names of the log, names such
        as user, item and time, or others that are often used for these; or a log of its own, read with
        ``repeats=True``.
    within
        How long an exposure counts: a number in the log's unit (of days if the log has dates), a timedelta, or
        text such as ``"30d"``: for interactions in [shown, shown + 30 days). By default for ever.

    Examples
    --------
    >>> import unskew as us
    >>> log = us.read_log({"user": ["a", "a", "b"], "item": [1, 2, 1], "time": [3, 4, 5]})
    >>> from unskew.reading import mark_exposed
    >>> marked = mark_exposed(log, {"user": ["a", "b"], "item": [2, 1], "time": [1, 6]})
    >>> us.views.organic(marked)
    Log(2 users, 1 items, 2 interactions from 3 to 5, organic view)
    """
    require_instance(DatedLog, log, "a log", "read one with read_log")
    if log.exposed is not None:
        raise PolicyError(
            "this log has exposure marks already",
            remedy=f"give {option('exposed')} or {option('exposures')}, not both",
        )
    length = None if within is None else _read_length(log, within)
    if is_on_spark(log):
        from unskew.engines.spark.layout import mark_exposed_on_spark

        return cast(Log, mark_exposed_on_spark(log, exposures, length, _judge_known))
    key, time = _read_pairs(log, exposures)
    keys = log.entry_users() * len(log.items) + log.item
    exposed = _follow(keys, log.time, key, time, length)
    repeats = log.repeats
    if repeats is not None:
        again = _follow(keys[repeats.entry], repeats.time, key, time, length)
        repeats = replace(repeats, exposed=again)
    marked = replace(log, exposed=exposed, repeats=repeats)
    if log.removed is None:
        return marked
    left = marked.keep_entries(~exposed, view="organic")
    return replace(marked, unexposed=left if len(left) else None)


@dataclass(frozen=True)
class Showings:
    """When each pair of a log was first shown, by codes of the log."""

    user: Codes
    item: Codes
    time: Times


def find_showings(log: Log, exposures: Any) -> Showings:
    """When each pair was first shown, from anything that `mark_exposed` reads."""
    pair, time = _read_pairs(log, exposures)
    pairs, first = np.unique(pair, return_index=True)
    return Showings(pairs // len(log.items), pairs % len(log.items), time[first])


def _read_pairs(log: Log, exposures: Any) -> tuple[Codes, Times]:
    """One number for the user and item of each exposure, as in the log, and its tick on the log's axis; sorted."""
    shown = exposures
    if not isinstance(shown, Log):
        names = find_columns(exposures, log.columns, "exposures")
        shown = read_log(exposures, names.user, names.item, names.time, repeats=True)
    if log.axis.kind == "epoch" and shown.axis.kind == "integer":
        shown = replace(shown, axis=log.axis)
    user, item = _find(log.users, shown.users, "user", shown), _find(log.items, shown.items, "item", shown)
    entry, time = np.arange(len(shown)), shown.time
    if shown.repeats is not None:
        entry, time = np.append(entry, shown.repeats.entry), np.append(time, shown.repeats.time)
    ticks = shown.axis.convert(time, log.axis, shown.source)
    user_codes, item_codes = user[shown.entry_users()][entry], item[shown.item][entry]
    known = (user_codes >= 0) & (item_codes >= 0)
    _judge_known(int(known.sum()), len(known), shown.source)
    key = user_codes[known] * len(log.items) + item_codes[known]
    order = np.lexsort((ticks[known], key))
    return key[order], ticks[known][order]


def _read_length(log: Log, within: Any) -> float:
    try:
        step = Step.of(log.axis, within)
    except TimeError as error:
        raise error.with_context(option("within")) from None
    if step.months:
        raise TimeError(f"{option('within')} is {within!r}", remedy="give it in days: months differ in length")
    return log.axis.duration(step.days) if step.days else step.ticks


def _judge_known(known: int, total: int, source: str) -> None:
    """Refuse exposures of which the log has no user and item, and warn where it has few."""
    if not known:
        raise EmptyError(
            f"no exposure in {source} is of a user and an item of the log",
            remedy="are these exposures of the same service?",
        )
    unknown = total - known
    if unknown > total / 2:
        warn(
            f"{count(unknown, 'exposure')} of {total} ({percent(unknown / total)}) in {source} are of users or "
            "items that the log does not have"
        )


def _find(log_ids: Ids, shown_ids: Ids, what: str, shown: Log) -> Codes:
    codes = log_ids.match(shown_ids.values)
    if not are_comparable(shown_ids.values.type, log_ids.values.type) and (codes < 0).all():
        raise InputError(
            f"the {what}s of {shown.source} are {kind_of(shown_ids.values.type)}, those of the log "
            f"{kind_of(log_ids.values.type)}",
            remedy="make them the same type",
        )
    return codes


def _follow(key: Codes, time: Times, shown: Codes, when: Times, within: float | None) -> Mask:
    """Which rows have an exposure of the same pair at their time or before, less than `within` ago."""
    pairs, first = np.unique(shown, return_index=True)
    place = find_sorted(pairs, key)
    exposed: Mask = np.zeros(len(key), dtype=np.bool_)
    rows = np.flatnonzero(place >= 0)
    if within is None:
        exposed[rows] = when[first[place[rows]]] <= time[rows]
        return exposed
    both = np.concatenate([shown, key[rows]])
    times = np.concatenate([when, time[rows]])
    is_row = np.repeat([0, 1], [len(shown), len(rows)])
    order = np.lexsort((is_row, times, both))  # at one time an exposure comes first
    seen = np.where(is_row[order] == 0, np.arange(len(order)), -1)
    latest = order[np.maximum.accumulate(seen).clip(0)]
    follows = (is_row[order] == 1) & (both[latest] == both[order]) & (is_row[latest] == 0)
    follows &= times[order] - times[latest] < within
    exposed[rows[order[follows] - len(shown)]] = True
    return exposed
