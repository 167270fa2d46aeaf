"""Pairs drawn on a Spark cluster, with the profiles of their users: what any recommender can be scored on.

The draws are those of `unskew.evaluation.pairs`: the same seed draws the same pairs, wherever the profiles are. A
recommender that learns from profiles is fitted to those of the users who were drawn and of `FIT_USERS` others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from unskew.arrays.profiles import entries_of
from unskew.arrays.types import Codes, Floats
from unskew.data.held_out import HeldOutSplit
from unskew.data.ids import Ids
from unskew.data.log import Log
from unskew.data.policy import Share
from unskew.data.slice import Snapshot, Weighting, find_pair_shares
from unskew.engines.spark.blocks import BLOCK, Record
from unskew.engines.spark.log import SparkSnapshot
from unskew.engines.spark.population import SparkWeighting
from unskew.evaluation.pairs import HoldOut, PairSelection, pairs_of, pick_entries, place_draws

FIT_USERS = 100_000
"""How many users a recommender that learns from profiles is fitted to, at least; all, if there are no more."""


@dataclass(frozen=True, eq=False)
class Draws:
    """Pairs drawn under one weighting; arrays have one number for each draw."""

    # In which block of users, and whose it is there.
    block: Codes
    user: Codes
    place: Codes  # which entry of the profile, from 0
    probability: Floats  # P(u) P(i|u,w) of the pair


@dataclass(frozen=True, eq=False)
class UserSample:
    """The profiles of some users of a snapshot on a cluster, on this machine."""

    snapshot: Snapshot  # their profiles: a snapshot of a log of these users alone, in their order in the whole log
    # Where each of them is on the cluster.
    block: Codes
    user: Codes
    everyone: int  # how many users there are in all

    def entries(self, draws: Draws) -> Codes:
        """Where the pairs that were drawn are in the profiles here."""
        width = 1 + int(max(self.user.max(initial=0), draws.user.max(initial=0)))
        rows = np.searchsorted(self.block * width + self.user, draws.block * width + draws.user)
        return self.snapshot.profiles.start[rows].astype(np.int64) + draws.place

    def describe(self) -> str | None:
        """Of how many users these are some; None if they are all."""
        fetched = len(self.user)
        return None if fetched >= self.everyone else f"a sample of {fetched} of {self.everyone} users"


def draw_on_spark(weighting: SparkWeighting, n: int, seed: int) -> Draws:
    """Draw n pairs: users by P(u) with repetition, then one item each by P(i|u,w)."""
    users = weighting.users
    rng = np.random.default_rng(seed)
    at_user, at_item = rng.random(n), rng.random(n)
    place = place_draws(at_user, users.n_users)
    ends = np.cumsum(users.users_by_block)
    work = partial(_draw_block, users.restrict, weighting.log_weights, ends, place, at_item)
    drawn = users.whole.log.blocks.map(work, "drawing pairs")
    number, *columns = (np.concatenate(column) for column in zip(*drawn, strict=True))
    back = np.argsort(number)
    return Draws(*(column[back] for column in columns))


def collect_users(
    snapshot: SparkSnapshot, draws: Sequence[Draws], *, others: int = 0, seed: int = 0
) -> UserSample:
    """Fetch the profiles of the users who were drawn, and of so many others, drawn without repetition."""
    everyone = snapshot.everyone
    rng = np.random.default_rng([seed, 1])
    more = rng.choice(everyone.n_users, min(others, everyone.n_users), replace=False, shuffle=False)
    wanted: dict[int, Codes] = {}
    for k in range(snapshot.log.blocks.blocks):
        drawn_users = [drawn.user[drawn.block == k] for drawn in draws]
        wanted[k] = np.unique(np.concatenate(drawn_users)) if drawn_users else np.zeros(0, dtype=np.int64)
    ends = np.cumsum(everyone.users_by_block)
    work = partial(_fetch_users, everyone.restrict, wanted, np.sort(more), ends)
    parts = snapshot.log.blocks.map(work, "fetching profiles")
    fetched = [part for part in parts if len(part["user"])]
    names = ("block", "user", "size", "item", "time")
    block, user, sizes, item, time = (np.concatenate([part[name] for part in fetched]) for name in names)
    log = snapshot.log
    ids = pa.concat_arrays([part["ids"] for part in fetched])
    offsets = np.uint32 if int(sizes.sum()) < 2**32 - 1 else np.uint64
    log_of_users = Log(
        users=Ids(ids, ids.type),
        items=log.items,
        start=np.concatenate([[0], np.cumsum(sizes)]).astype(offsets),
        item=item,
        time=time,
        axis=log.axis,
        columns=log.columns,
        view=log.view,
        source=log.source,
        view_details=log.view_details,
        cut=np.searchsorted(block, np.arange(log.blocks.blocks + 1)),
        is_part=True,
    )
    return UserSample(Snapshot.cut_off(log_of_users, snapshot.moment), block, user, everyone.n_users)


@dataclass(frozen=True, repr=False, eq=False)
class SampledSelection(PairSelection):
    """Pairs that were drawn on a cluster, ranked here; whom weights leave out is known there."""

    shares_excluded: dict[str, Share] = field(default_factory=dict)
    below_min_items: Share = Share()

    @property
    def users_below_min_items(self) -> Share:
        return self.below_min_items

    def users_excluded(self, weighting: Weighting) -> Share:
        return self.shares_excluded[weighting.name]

    @classmethod
    def draw(
        cls, snapshot: SparkSnapshot, weightings: Sequence[SparkWeighting], n: int, seed: int, *, others: int
    ) -> tuple[SampledSelection, UserSample, list[Draws]]:
        """Draw n pairs under each of the weightings, and fetch their users and so many others.

        `snapshot` has all users, the weightings have those who are scored.
        """
        draws = [draw_on_spark(weighting, n, seed) for weighting in weightings]
        sample = collect_users(snapshot, draws, others=others, seed=seed)
        here = sample.snapshot
        local_weightings = tuple(
            Weighting(here, w.log_weights, w.name, w.top, frees_constant_lists=w.frees_constant_lists)
            for w in weightings
        )
        entries = [sample.entries(drawn) for drawn in draws]
        seen = here.number_by_id()
        pairs = pairs_of(seen, np.unique(np.concatenate(entries)))
        excluded = {w.name: w.users.excluded() for w in weightings}
        split = HeldOutSplit.of_profiles(here)
        selection = cls(
            split,
            HoldOut(seen, 1, seed),
            pairs,
            local_weightings,
            n,
            seed,
            None,
            shares_excluded=excluded,
            below_min_items=weightings[0].users.whole.below_min_items,
        )
        selection._drawn.update(zip(local_weightings, entries, strict=True))
        return selection, sample, draws


def _draw_block(
    restrict: Callable[[Record], Snapshot],
    log_weights: Floats,
    ends: Codes,
    place: Codes,
    at_item: Floats,
    record: Record,
) -> tuple[Codes, Codes, Codes, Codes, Floats]:
    """The draws of one block, those whose user is in it, counted over all users who are evaluated: the number of
    each, and the fields of `Draws`.
    """
    block = int(record[BLOCK][0].as_py())
    first = int(ends[block - 1]) if block else 0
    numbers = np.flatnonzero((place >= first) & (place < ends[block]))
    p = restrict(record).profiles
    users = np.flatnonzero(p.stop != p.start)[place[numbers] - first]
    shares = find_pair_shares(p, np.where(p.stop != p.start, 1.0 / int(ends[-1]), 0.0), log_weights)
    entries = pick_entries(p, shares, users, at_item[numbers])
    blocks = np.full(len(numbers), block, dtype=np.int64)
    return numbers, blocks, users, entries - p.start[users].astype(np.int64), shares[entries]


def _fetch_users(
    restrict: Callable[[Record], Snapshot], wanted: dict[int, Codes], places: Codes, ends: Codes, record: Record
) -> dict[str, Any]:
    """Profiles of some users of a block: those wanted, and those at some places among all who hold anything."""
    block = int(record[BLOCK][0].as_py())
    first, last = int(ends[block - 1]) if block else 0, int(ends[block])
    part = restrict(record)
    p = part.profiles
    lo, hi = np.searchsorted(places, [first, last])
    others = np.flatnonzero(p.stop != p.start)[places[lo:hi] - first]
    users = np.union1d(wanted[block], others).astype(np.int64)
    start, entries = entries_of(p, users)
    return {
        "block": np.full(len(users), block, dtype=np.int64),
        "user": users,
        "ids": part.log.users.values.take(pa.array(users)),
        "size": np.diff(start),
        "item": p.item[entries],
        "time": part.per_entry(part.log.time)[entries],
    }
