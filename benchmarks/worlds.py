"""Worlds of a given number of entries, ready to be fitted.

They come from a generator of their own: quicker than `unskew.simulate`, and cruder, since nobody asks here what
would have happened without the campaigns.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

import unskew as us
from unskew.arrays.profiles import Profiles
from unskew.arrays.sweep import Sweep
from unskew.arrays.types import Floats
from unskew.solve.problem import Problem
from unskew.weights import FitOptions
from unskew.weights.alignment import Alignment

USERS, ITEMS, ENTRIES = 34_448, 35_741, 163_000  # the paper's size, and about what it gives
MOST_ITEMS = int(os.environ.get("BENCH_MOST_ITEMS", "100000"))  # a larger catalogue leaves the caches

Codes = npt.NDArray[np.int64]

_DAYS = 500
_CAMPAIGNS = (330, 430)
_PER_USER = 5.3
_GROUPS = 12  # of taste
_SAME = 0.5  # share of what people take that comes from their group's taste


@dataclass(frozen=True)
class Case:
    """Two dates of a world, and the problem that they pose."""

    now: us.Snapshot
    before: us.Snapshot
    problem: Problem

    @property
    def target(self) -> Floats:
        return self.problem.target

    @property
    def profiles(self) -> Profiles:
        assert isinstance(self.problem.passes, Sweep)
        return self.problem.passes.profiles


def case(entries: int, growth: float = 0.0) -> Case:
    """A world with about so many interactions; its catalogue grows with the square root, up to 100 000."""
    scale = entries / ENTRIES
    return case_of(int(USERS * scale), min(int(ITEMS * scale**0.5), MOST_ITEMS), growth)


def case_of(users: int, items: int, growth: float = 0.0, *, at: int | None = None) -> Case:
    """A world with so many users and items, on its last day or at another one."""
    log = us.read_log(quick_world(users, items, growth=growth))
    before, now = log.at(300), log.at(log.last if at is None else at)
    alignment = Alignment.of(now, before, FitOptions())
    target = alignment.target(keep_new=False)
    wanted: Codes = np.flatnonzero(target > 0)
    theta = np.where(target > 0, 0.0, -np.inf)
    return Case(now, before, Problem(Sweep(alignment.now.collect().profiles), target, theta, wanted))


def quick_world(users: int, items: int, *, growth: float = 0.0, accepted: float = 0.7, seed: int = 0) -> pa.Table:
    """A log of people who take items, with two campaigns: columns user, item, time (in days), sorted by time.

    `accepted` is how many recommended items a user takes on average at each campaign, `growth` the share of the
    users who join between day 300 and the end; the others join before day 200.
    """
    rng = np.random.default_rng(seed)
    group = rng.integers(0, _GROUPS, users)
    joined = rng.random(users) ** 1.5 * 200
    late = rng.random(users) < growth
    joined[late] = 300 + rng.random(int(late.sum())) * (_DAYS - 300)
    sizes = 1 + (rng.pareto(1.6, users) * max(_PER_USER - 1.5 - accepted, 0.5) * 0.6).astype(np.int64)
    sizes = np.minimum(sizes, max(items // 4, 1))
    who = np.repeat(np.arange(users), sizes)
    what = _draw(rng, group[who], items, sharp=1.0)
    begin = joined[who]
    when = begin + rng.beta(0.6, 2.5, len(who)) * (_DAYS - begin)
    when[np.cumsum(sizes) - sizes] = joined  # everyone takes something on the day of joining

    parts = [(who, what, when)]
    for day in _CAMPAIGNS:
        reached = np.repeat(np.arange(users), rng.poisson(accepted, users))
        reached = reached[joined[reached] < day]
        taken = _draw(rng, group[reached], max(items // 25, 5), sharp=1.35)
        taken = 2 * taken + 1  # every other popular item is never pushed
        reached, taken = reached[taken < items], taken[taken < items]
        parts.append((reached, taken, day + rng.exponential(4.0, len(reached))))
    user, item, time = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    day_of = np.minimum(np.floor(time), _DAYS).astype(np.int64)
    order = np.lexsort((item, user, day_of))
    return pa.table({"user": user[order], "item": item[order], "time": day_of[order]})


def _draw(rng: np.random.Generator, group: Codes, items: int, sharp: float) -> Codes:
    """Items by popularity (Zipf-like, low codes are popular), half of them within the group's taste."""
    weight = 1.0 / (np.arange(items) + 10.0) ** sharp
    rank = np.minimum(np.searchsorted(np.cumsum(weight / weight.sum()), rng.random(len(group))), items - 1)
    own = rank // _GROUPS * _GROUPS + group
    return np.where((rng.random(len(group)) < _SAME) & (own < items), own, rank)


def world_to_rank(pairs: int) -> us.Snapshot:
    """A snapshot with about so many pairs and 4 000 items, numbered by id."""
    log = us.read_log(quick_world(int(pairs / _PER_USER), 4000))
    return log.at(log.last).number_by_id()


def movietweetings() -> us.Snapshot | None:
    """The last snapshot of MovieTweetings, ``movietweetings/log.parquet`` below ``UNSKEW_DATA``, if it is set."""
    folder = os.environ.get("UNSKEW_DATA")
    if folder is None:
        return None
    log = us.read_log(Path(folder) / "movietweetings" / "log.parquet", time_unit="s")
    return log.at(log.last)
