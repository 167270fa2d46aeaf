"""One log whose truth is known: what the yardstick scores methods on, and what it is called."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from unskew.arrays.types import Mask
from unskew.data.log import Log
from unskew.data.slice import Snapshot
from unskew.data.time_steps import label_of
from unskew.data.times import Moment, TimeWindow
from unskew.errors import EmptyError, InputError
from unskew.reading.reader import read_log
from unskew.recommend.contract import Recommender
from unskew.worlds.people import Events
from unskew.worlds.recipe import CONTENT, is_world_model
from unskew.worlds.simulation import make_table
from unskew.worlds.world import World
from unskew.worlds.world_models import make_production


def cut_log(log: Log, users: int, items: int, seed: int) -> Log:
    """The log of so many of its users, drawn with a seed, and of the items that most of them hold.

    A log that is smaller stays as it is.
    """
    chosen = np.random.default_rng(seed).permutation(len(log.users)) < users
    user, item = log.entry_users(), log.item.astype(np.int64)
    counts = np.bincount(item[chosen[user]], minlength=len(log.items))
    place = np.empty(len(counts), dtype=np.int64)
    place[np.lexsort((np.arange(len(counts)), -counts))] = np.arange(len(counts))
    kept = chosen[user] & (place[item] < items)
    if not kept.any():
        raise EmptyError(
            f"nothing is left of {log.source} with {users} users and {items} items",
            remedy="keep more users or items",
        )
    table = make_table(Events(user[kept], item[kept], np.asarray(log.time)[kept]), log)
    unit = log.axis.unit if log.axis.kind == "epoch" else None
    return read_log(table, *table.column_names[:3], time_unit=unit)


FACTS = ("dates", "production", "hold-out", "exposures")
"""What somebody may know besides the log."""

VERSIONS = ("v1", "v2")
"""What results call the content models of a world: the one in production, and its twin."""

_REFERENCE = 0.6  # how far into the time the reference date is, if nothing was recommended by then
_DAYS = 500  # of a log of plain numbers, as for injected campaigns
_RECENT_DAYS = 60  # just before the reference date
_DELAYS = 5.0  # windows are this many mean delays long: 99.3 % of what is accepted is accepted by then


@dataclass(frozen=True)
class Showing:
    """A campaign as its owner remembers it: when, made by what, and days until things are taken, on average."""

    day: Any
    recommender: str
    delay: float

    @classmethod
    def of_parameters(cls, parameters: Mapping[str, Any]) -> tuple[Showing, ...]:
        """Those of the parameters of a world, as world.json has them; of a closed loop those of its rounds.

        If something was recommended before the reference date, those after it.
        """
        loop = parameters.get("loop")
        if loop:
            days = range(loop["first"], loop["first"] + loop["every"] * loop["rounds"], loop["every"])
            return tuple(cls(day, "", loop["campaign"]["delay"]) for day in days)
        stopped = parameters.get("stopped_after")
        campaigns = [c for c in parameters["campaigns"] if stopped is None or c["day"] > stopped]
        return tuple(cls(c["day"], c["recommender"], c["delay"]) for c in campaigns)


@dataclass(frozen=True)
class Profile:
    """How active people are, and how much of that recommendations caused."""

    # Interactions a day in the world without recommendations: until the reference date, in the 60 days before it,
    # and after it.
    organic_so_far: float
    organic_before: float
    organic_after: float
    # Share of the interactions in the campaign windows that followed an exposure; None if there are none.
    exposed_share: float | None
    # Share of them that recommendations caused: had nothing been recommended since the reference date, the user
    # would not have interacted with the item.
    induced_share: float | None

    @classmethod
    def of(
        cls, log: Log, organic: Log, truth: Log, windows: Sequence[TimeWindow], before: int | float, day: float
    ) -> Profile:
        """From the log, the log without recommendations, the log without recommendations since `before`."""
        time = np.asarray(organic.time)
        first, last = (tick.item() for tick in organic.span)
        recent = max(first, before - _RECENT_DAYS * day)
        inside = np.zeros(len(log.time), dtype=bool)
        for window in windows:
            inside |= window.contains(log.time)
        pairs = int(inside.sum())
        exposed = np.zeros(len(log.time), dtype=bool) if log.exposed is None else log.exposed
        return cls(
            _rate((time <= before).sum(), (before - first) / day),
            _rate(((time > recent) & (time <= before)).sum(), (before - recent) / day),
            _rate((time > before).sum(), (last - before) / day),
            float((exposed & inside).sum() / pairs) if pairs else None,
            float((_mark_missing(log, truth) & inside).sum() / pairs) if pairs else None,
        )


@dataclass(frozen=True, eq=False)
class Case:
    """One world of one seed."""

    # What the world is called in the results, and its seed.
    label: str
    seed: int
    log: Log  # what happened, rows that followed a recommendation marked as exposed
    # What would have happened had nothing been recommended, or nothing since the reference date if something was
    # before.
    truth: Log
    # The reference date (t0) and the date of the evaluation (t1).
    before: Moment
    now: Moment
    windows: tuple[TimeWindow, ...] = ()  # when recommendations were accepted
    # What made them, a spec or a model; None if it changed from one time to the next.
    production: str | Recommender | None = None
    holdout: tuple[Any, ...] | None = None  # the users who were never shown anything; None if nobody was held out
    shown: Mapping[Any, int] = field(default_factory=dict)  # how often each item was recommended
    exposures: Any = None  # who was shown what when
    # The content models of the world by the names ``v1`` and ``v2``, if one of them is in production.
    models: Mapping[str, Recommender] = field(default_factory=dict)
    # How active people are, and how much of that recommendations caused; None if nobody asked.
    profile: Profile | None = None

    @classmethod
    def of(cls, label: str, world: World, showings: Sequence[Showing]) -> Case:
        """A world, and the campaigns that its owner remembers."""
        log = world.log
        windows = find_windows(world, showings)
        before, now = find_dates(world, windows)
        specs = {showing.recommender for showing in showings}
        has_content = any(spec in CONTENT for spec in specs)
        twins = [world.content_model(twin) for twin in range(len(CONTENT))] if has_content else []
        production: str | Recommender | None = specs.pop() if len(specs) == 1 and "" not in specs else None
        if is_world_model(production):
            production = make_production(str(production), world.recipe, int(world.about["seed"]))
        truth = world.truth if world.stopped is None else world.stopped
        counts = world.exposures.column(world.columns[1]).value_counts().to_pylist()
        return cls(
            label=label,
            seed=int(world.about["seed"]),
            log=log,
            truth=truth,
            before=before,
            now=now,
            windows=windows,
            production=production,
            holdout=tuple(world.holdout.column(0).to_pylist()) or None,
            exposures=world.exposures,
            shown={showing["values"]: showing["counts"] for showing in counts},
            models=dict(zip(VERSIONS, twins, strict=False)),
            profile=Profile.of(log, world.truth, truth, windows, before.tick, _ticks_per_day(world)),
        )

    @cached_property
    def facts(self) -> frozenset[str]:
        """Which of `FACTS` its owner can know."""
        optional = (self.windows or None, self.production, self.holdout, self.log.exposed)
        return frozenset(fact for fact, value in zip(FACTS, optional, strict=True) if value is not None)

    def require_production(self) -> str | Recommender:
        """What made the recommendations, where that is known."""
        assert self.production is not None
        return self.production

    def rank_by_showing(self) -> tuple[list[Any], list[Any]]:
        """The items held at the reference date: most recommended first, and least recommended first.

        Among those that were recommended equally often, the most frequent of that date come first.
        """
        p = Snapshot.of(self.truth, self.before).probabilities()
        shares = {item: share for item, share in zip(self.truth.items.to_list(), p.tolist(), strict=True) if share}
        frequent = sorted(shares, key=lambda item: (-shares[item], str(item)))
        most = sorted(frequent, key=lambda item: -self.shown.get(item, 0))
        return most, sorted(frequent, key=lambda item: self.shown.get(item, 0))


def find_windows(world: World, showings: Iterable[Showing]) -> tuple[TimeWindow, ...]:
    """When recommendations of campaigns were accepted; windows that overlap, or nearly do, are one."""
    log, day = world.log, _ticks_per_day(world)
    last = _find_span(world)[1]
    spans: list[list[int | float]] = []
    for start, delay in sorted((log.axis.moment(showing.day).tick, showing.delay) for showing in showings):
        length = delay * _DELAYS * day
        end: int | float = start + length
        if log.time.dtype.kind == "i":
            end = start + max(math.ceil(length), 1)
        if spans and start <= spans[-1][1] + length / 2:
            spans[-1][1] = max(spans[-1][1], end)
        else:
            spans.append([start, end])
    show = log.axis.show
    return tuple(
        TimeWindow(start, math.inf, show(start), None)
        if end > last
        else TimeWindow(start, end, show(start), show(end))
        for start, end in spans
    )


def _find_span(world: World) -> tuple[int | float, int | float]:
    if "base" not in world.about:
        return 0, world.recipe.days - 1
    first, last = world.log.span
    return first.item(), last.item()


def _ticks_per_day(world: World) -> float:
    log = world.log
    if "base" not in world.about:
        return 1.0
    return log.axis.duration(1) if log.axis.is_calendar else float(log.span[1] - log.span[0]) / _DAYS


def find_reference(days: int, first: int) -> int:
    """The reference day of a simulated world: day 300 of 500, or the one before its first campaign."""
    return min(math.floor((days - 1) * _REFERENCE), first - 1)


def find_dates(world: World, windows: Sequence[TimeWindow]) -> tuple[Moment, Moment]:
    """The reference date and the end."""
    log = world.log
    first, last = _find_span(world)
    start = windows[0].start if windows else last
    if "base" not in world.about:
        tick: int | float = find_reference(world.recipe.days, int(start))
    elif log.time.dtype.kind == "i":
        tick = min(math.floor(first + (last - first) * _REFERENCE), start - 1)
    else:
        tick = min(first + (last - first) * _REFERENCE, float(np.nextafter(start, -math.inf)))
    if tick < world.truth.span[0]:
        raise InputError(
            f"nothing had happened before the first campaign at {log.axis.show(start)}, so there is no date to "
            "compare with",
            remedy="take a world whose campaigns begin later",
        )
    return Moment(tick, label_of(log.axis, tick)), Moment(last, label_of(log.axis, last))


def _rate(count: Any, days: float) -> float:
    return float(count) / days if days > 0 else math.nan


def _mark_missing(log: Log, truth: Log) -> Mask:
    """Which entries of a log are of pairs that another log does not have."""
    user = truth.users.codes(log.users.column())[log.entry_users()]
    item = truth.items.codes(log.items.column())[log.item]
    known = truth.entry_users() * len(truth.items) + truth.item
    missing: Mask = (user < 0) | (item < 0) | ~np.isin(user * len(truth.items) + item, known)
    return missing
