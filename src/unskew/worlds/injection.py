"""Campaigns injected into a real log: its people are real, what is recommended to them is simulated.

The untouched log is the truth. What its people like is learned from all they ever took, the future included: they
like what is close to it.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from scipy import sparse

from unskew.arrays.types import Codes, Floats
from unskew.data.log import Log
from unskew.data.times import PER_SECOND, TimeAxis
from unskew.errors import ColumnError, InputError, PolicyError, option
from unskew.progress import progress
from unskew.reading.reader import read_log
from unskew.worlds.campaigns import Exposures, Service
from unskew.worlds.people import HOLDOUT, Events
from unskew.worlds.recipe import Campaign, Recipe, to_json_types
from unskew.worlds.world import World, describe_world

_ADDED = ("exposed", "campaign", "position")  # columns of the result


def inject(base: Any, name: str, recipe: Recipe, seed: int, *, given: bool) -> World:
    """Send the campaigns of a recipe to the users of a log."""
    log = base if isinstance(base, Log) else read_log(base)
    _check_log(log)
    _check_campaigns(recipe)
    events = Events(log.entry_users(), log.item.astype(np.int64), np.asarray(log.time))
    holdout = np.random.default_rng([seed, HOLDOUT]).random(len(log.users)) < recipe.holdout
    first, last = events.time.min().item(), events.time.max().item()
    span = float(last) - float(first)
    if span <= 0:
        raise InputError(f"everything in {log.source} happened at {log.first}: there is no time to recommend in")
    day = log.axis.duration(1) if log.axis.is_calendar else span / (recipe.days - 1)
    campaigns = [
        (_find_tick(log, campaign, None if given else recipe.days - 1), campaign) for campaign in recipe.campaigns
    ]
    campaigns.sort(key=lambda pair: pair[0])
    progress().stage("learning the tastes of the log's users")
    tastes = LearnedTastes.from_events(events, len(log.users), len(log.items))
    service = Service(
        events,
        tastes,
        len(log.users),
        len(log.items),
        holdout,
        seed,
        last,
        ticks_per_day=day,
        anyway=recipe.anyway,
        ids=(log.users, log.items),
    )
    for tick, campaign in campaigns:
        service.run(campaign, tick)
    shown = service.all_exposures()
    time_unit = log.axis.unit if log.axis.kind == "epoch" else None  # with which the tables are to be read
    parameters = {
        "campaigns": [asdict(replace(campaign, day=log.axis.show(tick))) for tick, campaign in campaigns],
        "holdout": recipe.holdout,
        "anyway": recipe.anyway,
    }
    tables = {
        "log": restore_table(log, service.events, exposed=service.mark_exposed()),
        "truth": restore_table(log, events),
        "exposures": restore_table(log, shown, campaign=shown.campaign, position=shown.position),
        "holdout": pa.table({log.columns.user: log.users.take(np.flatnonzero(holdout))}),
    }
    about = describe_world(name, seed, to_json_types(parameters), base=log.source, time_unit=time_unit)
    return World(tables, about)


def _check_log(log: Log) -> None:
    """Refuse a log whose result would not be a log of the same form."""
    if log.removed is not None:
        raise PolicyError(
            "campaigns cannot be injected into a log with removals", remedy=f"read it without {option('removed')}"
        )
    for name in (log.columns.user, log.columns.item, log.columns.time):
        if name in _ADDED:
            raise ColumnError(
                f"the base log has a column {name!r}, which the result needs for something else",
                remedy="rename it first",
            )


def _check_campaigns(recipe: Recipe) -> None:
    """Refuse what needs to know the topics of items, or to stop."""
    for campaign in recipe.campaigns:
        if campaign.needs_topics:
            raise PolicyError(
                "models of a world, spill-over and joiners need the topics of a simulated world",
                remedy=f"leave out {option('base')}, or give other {option('campaigns')}",
            )


def _find_tick(log: Log, campaign: Campaign, days: int | None) -> int | float:
    """The time of a campaign: one of the log, or its day as a share of the `days` of the named world."""
    first, last = (tick.item() for tick in log.span)
    if days is None or not isinstance(campaign.day, int | float):
        tick = log.axis.moment(campaign.day).tick
    else:
        tick = float(first) + (float(last) - float(first)) * float(campaign.day) / days
        tick = math.floor(tick) if log.time.dtype.kind == "i" else tick
    if not first <= tick <= last:
        raise InputError(
            f"a campaign at {campaign.day} is not in the log, which runs from {log.first} to {log.last}"
        )
    return tick


def restore_table(log: Log, rows: Events | Exposures, **more: npt.NDArray[Any]) -> pa.Table:
    """Codes and ticks as the ids and times of the base log, under the names that they have there."""
    order = np.lexsort((rows.item, rows.user, rows.time))
    if isinstance(rows, Exposures):
        order = np.lexsort((rows.position, rows.user, rows.campaign))
    names = log.columns
    columns: dict[str, Any] = {
        names.user: log.users.take(rows.user[order]),
        names.item: log.items.take(rows.item[order]),
        names.time: _make_times(log.axis, rows.time[order]),
    }
    return pa.table(columns | {name: values[order] for name, values in more.items()})


def _make_times(axis: TimeAxis, ticks: npt.NDArray[Any]) -> pa.Array:
    if axis.kind == "date":
        return pa.array(ticks.astype(np.int32), type=pa.int32()).cast(pa.date32())
    if axis.kind == "datetime":
        unit = axis.unit if axis.unit in PER_SECOND else "s"
        return pa.array(ticks.astype(np.int64)).cast(pa.timestamp(unit, tz=axis.zone))
    return pa.array(ticks)


_FACTORS = 24
_STEPS = 8  # of the power method: tastes need no more
_LEAST = 0.05  # affinity to what is far from one's history
_BLOCK = 1_000_000  # pairs at a time


@dataclass(frozen=True)
class LearnedTastes:
    """Tastes of real people: the cosine between a user and an item.

    Attributes
    ----------
    users, items
        Rows of ``U S`` and ``V S`` of the decomposition, each of length 1.
    """

    users: Floats
    items: Floats

    @classmethod
    def from_events(cls, events: Events, n_users: int, n_items: int) -> LearnedTastes:
        """Decompose who took what, ever; to the same bits on any number of threads."""
        taken = _scale_matrix(events, n_users, n_items)
        back = taken.T.tocsr()
        right = np.random.default_rng(0).standard_normal((n_items, min(_FACTORS, n_users, n_items)))
        for _ in range(_STEPS):
            left = _orthonormalise(taken @ right)
            right = back @ left
        squares, turn = _spectrum(right)
        return cls(
            _normalise_rows(_multiply(left, turn * np.sqrt(squares))), _normalise_rows(_multiply(right, turn))
        )

    def affinity(self, user: Codes, item: Codes, tick: int | float = 0) -> Floats:
        """The cosine, from a small least value for what is far away to 1."""
        cosine = np.empty(len(user))
        for at in range(0, len(user), _BLOCK):
            part = slice(at, at + _BLOCK)
            cosine[part] = np.einsum("nk,nk->n", self.users[user[part]], self.items[item[part]])
        return np.asarray(_LEAST + (1 - _LEAST) * np.clip(cosine, 0.0, 1.0), dtype=np.float64)


def _scale_matrix(events: Events, n_users: int, n_items: int) -> sparse.csr_array:
    per_user = np.bincount(events.user, minlength=n_users)
    per_item = np.bincount(events.item, minlength=n_items)
    size = (per_user + per_user.mean())[events.user] * (per_item + per_item.mean())[events.item]
    return sparse.csr_array((1 / np.sqrt(size), (events.user, events.item)), shape=(n_users, n_items))


def _orthonormalise(columns: Floats) -> Floats:
    """Columns of length 1 at right angles that span the same space."""
    squares, turn = _spectrum(columns)
    return _multiply(columns, turn / np.sqrt(squares))


def _spectrum(columns: Floats) -> tuple[Floats, Floats]:
    """Squared singular values that are not negligible, and their right vectors."""
    gram = np.einsum("nk,nl->kl", columns, columns)  # adds in a fixed order, which a matrix product does not
    squares, turn = np.linalg.eigh(gram)
    kept = squares > 1e-12 * squares[-1]
    return squares[kept], turn[:, kept]


def _multiply(columns: Floats, turn: Floats) -> Floats:
    return np.asarray(np.einsum("nk,kl->nl", columns, turn), dtype=np.float64)


def _normalise_rows(rows: Floats) -> Floats:
    length = np.sqrt((rows * rows).sum(axis=1, keepdims=True))
    return np.asarray(rows / np.where(length > 0, length, 1.0), dtype=np.float64)
