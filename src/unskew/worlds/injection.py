"""Campaigns injected into a real log: its people are real, what is recommended to them is simulated.

Their tastes are taken from all they ever took, the future included, by a singular value decomposition: a user is
likely to accept what is close to its own history. The untouched log is the truth.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from scipy import sparse
from scipy.sparse.linalg import svds

from unskew.errors import InputError, PolicyError
from unskew.log import Log
from unskew.progress import progress
from unskew.read import read_log
from unskew.sweep import Floats
from unskew.times import PER_SECOND, TimeAxis
from unskew.worlds.people import HOLDOUT, Codes, Events
from unskew.worlds.push import Service, Shown, shown_before
from unskew.worlds.recipe import Campaign, Recipe
from unskew.worlds.world import World, described

_FACTORS = 24
_LEAST = 0.05  # affinity to what is far from one's history
_USUAL_DAYS = 500.0  # of a world: how a campaign's day is placed in a log that has no calendar


@dataclass(frozen=True)
class History:
    """Tastes of real people: the cosine between what they took and an item, in a space of few dimensions."""

    users: Floats
    items: Floats

    @classmethod
    def of(cls, events: Events, n_users: int, n_items: int) -> History:
        """Decompose who took what, ever."""
        ones = np.ones(len(events))
        held = sparse.csr_array((ones, (events.user, events.item)), shape=(n_users, n_items))
        per_user = 1.0 / np.sqrt(np.maximum(held.sum(axis=1), 1.0))
        per_item = 1.0 / np.sqrt(np.maximum(held.sum(axis=0), 1.0))
        scaled = sparse.dia_array((per_user[None], 0), shape=(n_users, n_users)) @ held
        scaled = (scaled @ sparse.dia_array((per_item[None], 0), shape=(n_items, n_items))).tocsr()
        most = min(scaled.shape) - 1
        if most < 1:
            return cls(np.ones((n_users, 1)), np.ones((n_items, 1)))
        left, values, right = svds(scaled, k=min(_FACTORS, most), v0=np.ones(min(scaled.shape)))
        return cls(_unit(left * values), _unit(right.T * values))

    def affinity(self, user: Codes, item: Codes) -> Floats:
        """The cosine, from a small least value for what is far away to 1."""
        cosine = np.empty(len(user))
        for at in range(0, len(user), 1_000_000):
            part = slice(at, at + 1_000_000)
            cosine[part] = np.einsum("nk,nk->n", self.users[user[part]], self.items[item[part]])
        return np.asarray(_LEAST + (1 - _LEAST) * np.clip(cosine, 0.0, 1.0), dtype=np.float64)


def _unit(rows: Floats) -> Floats:
    length = np.sqrt((rows * rows).sum(axis=1, keepdims=True))
    return np.asarray(rows / np.where(length > 0, length, 1.0), dtype=np.float64)


def inject(base: Any, name: str, recipe: Recipe, seed: int, *, given: bool) -> World:
    """Send the campaigns of a recipe to the users of a log."""
    log = base if isinstance(base, Log) else read_log(base)
    if log.removed is not None:
        raise PolicyError("campaigns cannot be injected into a log with removals: read it without removed=")
    user = np.repeat(np.arange(len(log.users)), log.start[1:].astype(np.int64) - log.start[:-1].astype(np.int64))
    events = Events(user, log.item.astype(np.int64), np.asarray(log.time))
    progress().stage("learning the tastes of the log's users")
    tastes = History.of(events, len(log.users), len(log.items))
    shielded = np.random.default_rng([seed, HOLDOUT]).random(len(log.users)) < recipe.holdout
    first, last = events.time.min(), events.time.max()
    span = float(last) - float(first)
    if span <= 0:
        raise InputError(f"everything in {log.source} happened at {log.first}: there is no time to recommend in")
    a_day = log.axis.duration(1) if log.axis.is_calendar else span / _USUAL_DAYS
    service = Service(
        events,
        tastes,
        len(log.users),
        len(log.items),
        shielded,
        seed,
        ticks_a_day=a_day,
        anyway=recipe.anyway,
        last=last,
    )
    days = [_tick(log, campaign, first, span, given=given) for campaign in recipe.campaigns]
    campaigns = []
    for k in np.argsort(days, kind="stable"):
        service.run(recipe.campaigns[k], days[k])
        campaigns.append(replace(recipe.campaigns[k], day=log.axis.show(days[k])))
    shown = Shown.joined(service.shown, events.time)
    marked = shown_before(service.events, shown, len(log.items))
    parameters = {
        "campaigns": [c.__dict__ for c in campaigns],
        "holdout": recipe.holdout,
        "anyway": recipe.anyway,
    }
    return World(
        log=_table(log, service.events, exposed=marked),
        truth=_table(log, events),
        exposures=_table(log, shown, campaign=shown.campaign, position=shown.position),
        holdout=pa.table({log.columns.user: log.users.take(np.flatnonzero(shielded))}),
        about=described(name, seed, parameters, base=log.source),
    )


def _tick(log: Log, campaign: Campaign, first: Any, span: float, *, given: bool) -> int | float:
    """When a campaign is: a time of the log, or as far into the log as the named world has it."""
    if given:
        tick = log.axis.moment(campaign.day).tick
        if not first <= tick <= first + span:
            raise InputError(f"a campaign at {campaign.day}: the log runs from {log.first} to {log.last}")
        return tick
    tick = float(first) + span * float(campaign.day) / _USUAL_DAYS
    return math.floor(tick) if log.time.dtype.kind == "i" else tick


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
