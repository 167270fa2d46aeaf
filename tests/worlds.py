"""What is true of every world, said in plain Python: dicts from a pair of a user and an item to a time."""

from __future__ import annotations

import functools
from collections import defaultdict
from typing import Any, Self

import numpy as np
import pyarrow as pa

import unskew as us
from unskew.arrays.types import Codes
from unskew.recommend import Batch
from unskew.worlds.named_worlds import WORLDS
from unskew.worlds.recipe import Campaign

Pair = tuple[Any, Any]
SMALL: dict[str, Any] = {"users": 600, "items": 300}
"""A size at which every world shows what it is about."""


@functools.cache
def small(world: str = "paper", **given: Any) -> us.worlds.World:
    """A named world of few users; made once."""
    size = {"users": 600} if world == "few-items" else SMALL
    return us.simulate(world, **{**size, "seed": 3, **given})


def fewer(world: str) -> tuple[Campaign, ...]:
    """The campaigns of a named world; of one that is always on only some, which takes less time."""
    campaigns = WORLDS[world].campaigns
    return campaigns[:: max(1, len(campaigns) // 4)]


def rows(table: pa.Table) -> list[tuple[Any, ...]]:
    """The rows of a table as tuples."""
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def taken(table: pa.Table) -> dict[Pair, Any]:
    """When each user took each item; fails if a pair comes twice."""
    found = {(user, item): time for user, item, time, *_ in rows(table)}
    assert len(found) == len(table)
    return found


def first_shown(world: us.worlds.World) -> dict[Pair, Any]:
    """When each user was first shown each item."""
    first: dict[Pair, Any] = {}
    for user, item, time, *_ in rows(world.exposures):
        first[user, item] = min(time, first.get((user, item), time))
    return first


def check_history(world: us.worlds.World) -> None:
    """Whatever was recommended: what may be in the log, and what must be."""
    log, truth, first = taken(world.tables["log"]), taken(world.tables["truth"]), first_shown(world)
    campaigns = [] if "base" in world.about else world.recipe.campaigns
    if not any(campaign.spill_over or campaign.joiners for campaign in campaigns):
        for pair, time in log.items():  # what is new, or came earlier, had been shown by then
            if truth.get(pair) != time:
                assert pair in first
                assert first[pair] <= time
    for pair, time in truth.items():  # nothing is put off and, unless something replaces it, nothing is lost
        if not any(campaign.substitution for campaign in campaigns):
            assert pair in log
        assert log.get(pair, time) <= time
    for user, item, time, exposed in rows(world.tables["log"]):
        assert exposed == (first.get((user, item), time) <= time and (user, item) in first)
    for user, item, time, *_ in rows(world.exposures):  # nobody is shown what they hold
        assert log.get((user, item), time) >= time
        assert (user, item) not in log or (user, item) not in truth or truth[user, item] > time
    _check_lists(world)
    _check_holdout(world)


def _check_lists(world: us.worlds.World) -> None:
    lists, times = defaultdict(list), defaultdict(set)
    for user, item, time, campaign, position in rows(world.exposures):
        lists[campaign, user].append((position, item))
        times[campaign].add(time)
    for shown in lists.values():
        assert [position for position, _ in shown] == list(range(1, len(shown) + 1))
        assert len({item for _, item in shown}) == len(shown)
    days = [time for campaign in sorted(times) for time in times[campaign]]
    assert len(days) == len(times)  # one time a campaign
    assert days == sorted(days)
    assert world.campaigns == sorted(set(days))


def _check_holdout(world: us.worlds.World) -> None:
    column = world.columns[0]
    held = set(world.holdout[column].to_pylist())
    assert len(held) == len(world.holdout)
    assert held.isdisjoint(world.exposures[column].to_pylist())
    mine = {pair: time for pair, time in taken(world.tables["log"]).items() if pair[0] in held}
    assert mine == {pair: time for pair, time in taken(world.tables["truth"]).items() if pair[0] in held}


class Echo:
    """Recommends to everyone what they hold: no recommender may."""

    def fit(self, snapshot: us.Snapshot, /) -> Self:
        return self

    def recommend(self, profiles: Batch, k: int, /) -> Codes:
        out = np.full((len(profiles), k), -1, dtype=np.int64)
        out[:, 0] = profiles.item[profiles.start[:-1]]
        return out


class Stranger(Echo):
    """Recommends nothing; a class that unskew does not ship."""

    def recommend(self, profiles: Batch, k: int, /) -> Codes:
        return np.full((len(profiles), k), -1, dtype=np.int64)


class Stutter(Echo):
    """Recommends the first item that a profile lacks twice."""

    def recommend(self, profiles: Batch, k: int, /) -> Codes:
        lacks = [min(set(range(profiles.n_items)) - set(profiles.profile(n))) for n in range(len(profiles))]
        return np.repeat(np.array(lacks)[:, None], k, axis=1)


class Failing(Echo):
    """Breaks down."""

    def recommend(self, profiles: Batch, k: int, /) -> Codes:
        raise ZeroDivisionError("no idea")
