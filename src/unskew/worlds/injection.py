"""Campaigns injected into a real log: its people are real, what is recommended to them is simulated.

The untouched log is the truth. What its people like is left to `unskew.worlds.tastes`.
"""

from __future__ import annotations

import math
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from unskew.data.log import Log
from unskew.data.times import PER_SECOND, TimeAxis
from unskew.errors import ColumnError, InputError, PolicyError
from unskew.progress import progress
from unskew.reading.reader import read_log
from unskew.worlds.people import HOLDOUT, Events
from unskew.worlds.recipe import Campaign, Recipe
from unskew.worlds.recipe_json import to_json_types
from unskew.worlds.service import Service, Shown, shown_before
from unskew.worlds.tastes import History
from unskew.worlds.world import World, describe_world

_OURS = ("exposed", "campaign", "position")  # columns that are added


def inject(base: Any, name: str, recipe: Recipe, seed: int, *, given: bool) -> World:
    """Send the campaigns of a recipe to the users of a log."""
    log = base if isinstance(base, Log) else read_log(base)
    _check(log)
    user = np.repeat(np.arange(len(log.users)), log.start[1:].astype(np.int64) - log.start[:-1].astype(np.int64))
    events = Events(user, log.item.astype(np.int64), np.asarray(log.time))
    shielded = np.random.default_rng([seed, HOLDOUT]).random(len(log.users)) < recipe.holdout
    first, last = events.time.min().item(), events.time.max().item()
    span = float(last) - float(first)
    if span <= 0:
        raise InputError(f"everything in {log.source} happened at {log.first}: there is no time to recommend in")
    a_day = log.axis.duration(1) if log.axis.is_calendar else span / (recipe.days - 1)
    campaigns = [
        (_tick(log, campaign, None if given else recipe.days - 1), campaign) for campaign in recipe.campaigns
    ]
    campaigns.sort(key=lambda pair: pair[0])
    progress().stage("learning the tastes of the log's users")
    tastes = History.of(events, len(log.users), len(log.items))
    service = Service(
        events,
        tastes,
        len(log.users),
        len(log.items),
        shielded,
        seed,
        last,
        ticks_a_day=a_day,
        anyway=recipe.anyway,
        ids=(log.users, log.items),
    )
    for tick, campaign in campaigns:
        service.run(campaign, tick)
    shown = Shown.joined(service.shown, events.time)
    marked = shown_before(service.events, shown, len(log.items))
    time_unit = log.axis.unit if log.axis.kind == "epoch" else None  # with which the tables are to be read
    parameters = {
        "campaigns": [asdict(replace(campaign, day=log.axis.show(tick))) for tick, campaign in campaigns],
        "holdout": recipe.holdout,
        "anyway": recipe.anyway,
    }
    tables = {
        "log": _table(log, service.events, exposed=marked),
        "truth": _table(log, events),
        "exposures": _table(log, shown, campaign=shown.campaign, position=shown.position),
        "holdout": pa.table({log.columns.user: log.users.take(np.flatnonzero(shielded))}),
    }
    about = describe_world(name, seed, to_json_types(parameters), base=log.source, time_unit=time_unit)
    return World(tables, about)


def _check(log: Log) -> None:
    """Refuse a log that cannot be told apart from what is made of it."""
    if log.removed is not None:
        raise PolicyError("campaigns cannot be injected into a log with removals: read it without removed=")
    for name in (log.columns.user, log.columns.item, log.columns.time):
        if name in _OURS:
            raise ColumnError(f"the base log has a column {name!r}, as the result will have: rename it first")


def _tick(log: Log, campaign: Campaign, days: int | None) -> int | float:
    """When a campaign is: a time of the log, or its day as a share of the `days` of the named world."""
    first, last = log.time.min().item(), log.time.max().item()
    if days is None or not isinstance(campaign.day, int | float):
        tick = log.axis.moment(campaign.day).tick
    else:
        tick = float(first) + (float(last) - float(first)) * float(campaign.day) / days
        tick = math.floor(tick) if log.time.dtype.kind == "i" else tick
    if not first <= tick <= last:
        raise InputError(f"a campaign at {campaign.day}: the log runs from {log.first} to {log.last}")
    return tick


def _table(log: Log, what: Events | Shown, **more: npt.NDArray[Any]) -> pa.Table:
    """Codes and ticks as the ids and times that came in, under their own names."""
    order = np.lexsort((what.item, what.user, what.time))
    if isinstance(what, Shown):
        order = np.lexsort((what.position, what.user, what.campaign))
    names = log.columns
    columns: dict[str, Any] = {
        names.user: log.users.take(what.user[order]),
        names.item: log.items.take(what.item[order]),
        names.time: _times(log.axis, what.time[order]),
    }
    return pa.table(columns | {name: values[order] for name, values in more.items()})


def _times(axis: TimeAxis, ticks: npt.NDArray[Any]) -> pa.Array:
    if axis.kind == "date":
        return pa.array(ticks.astype(np.int32), type=pa.int32()).cast(pa.date32())
    if axis.kind == "datetime":
        unit = axis.unit if axis.unit in PER_SECOND else "s"
        return pa.array(ticks.astype(np.int64)).cast(pa.timestamp(unit, tz=axis.zone))
    return pa.array(ticks)
