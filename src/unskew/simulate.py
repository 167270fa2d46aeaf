"""A small world whose history is known: people with tastes, and two campaigns that push items.

Profiles grow by themselves (by taste and popularity) from day 0; on two days the service recommends
popular items to everyone, and some are taken. The paper's data are not public; this has their size
and shape.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Codes = npt.NDArray[np.int64]

_GROUPS = 12  # of taste
_SAME = 0.5  # share of what people take that comes from their group's taste


@dataclass(frozen=True)
class World:
    """A simulated log and what is known about it.

    Attributes
    ----------
    table
        Columns user, item, time (in days), sorted by time.
    pushed
        The items that the campaigns recommended, most often taken first.
    campaigns
        The days on which they were recommended.
    """

    table: pa.Table
    pushed: list[int]
    campaigns: tuple[int, ...]


def campaign_world(
    users: int = 34_448,
    items: int = 35_741,
    *,
    per_user: float = 5.3,
    days: int = 500,
    campaigns: tuple[int, ...] = (330, 430),
    accepted: float = 0.4,
    growth: float = 0.0,
    seed: int = 0,
) -> World:
    """Simulate a log of people who take items, with campaigns.

    Parameters
    ----------
    users, items, per_user
        The size; `per_user` is about how many items a profile has at the end.
    days, campaigns
        Length of the history, and the days on which items were recommended.
    accepted
        How many recommended items a user takes on average at each campaign.
    growth
        Share of the users who join between day 300 and the end; 0 for all before day 200.
    seed
        Of everything that is random; the same seed gives the same world.

    Examples
    --------
    >>> world = campaign_world(users=200, items=50, seed=1)
    >>> world.table.column_names, world.campaigns
    (['user', 'item', 'time'], (330, 430))
    """
    rng = np.random.default_rng(seed)
    group = rng.integers(0, _GROUPS, users)
    joined = rng.random(users) ** 1.5 * 200
    late = rng.random(users) < growth
    joined[late] = 300 + rng.random(int(late.sum())) * (days - 300)
    sizes = 1 + (rng.pareto(1.6, users) * max(per_user - 1.5 - accepted, 0.5) * 0.6).astype(np.int64)
    sizes = np.minimum(sizes, max(items // 4, 1))
    who = np.repeat(np.arange(users), sizes)
    what = _draw(rng, group[who], items, sharp=1.0)
    begin = joined[who]
    when = begin + rng.beta(0.6, 2.5, len(who)) * (days - begin)
    first = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    when[first] = joined  # everyone takes something on the day of joining

    parts = [(who, what, when)]
    counts = np.zeros(items, dtype=np.int64)
    for day in campaigns:
        reached = np.repeat(np.arange(users), rng.poisson(accepted, users))
        reached = reached[joined[reached] < day]
        taken = _draw(rng, group[reached], max(items // 25, 5), sharp=1.35)
        taken = 2 * taken + 1  # every other popular item is never pushed
        reached, taken = reached[taken < items], taken[taken < items]
        counts += np.bincount(taken, minlength=items)
        parts.append((reached, taken, day + rng.exponential(4.0, len(reached))))
    user, item, time = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    day_of = np.minimum(np.floor(time), days).astype(np.int64)
    order = np.lexsort((item, user, day_of))
    columns: dict[str, Any] = {"user": user[order], "item": item[order], "time": day_of[order]}
    pushed = np.argsort(-counts, kind="stable")[: int(np.count_nonzero(counts))]
    return World(pa.table(columns), pushed.tolist(), campaigns)


def _draw(rng: np.random.Generator, group: Codes, items: int, sharp: float) -> Codes:
    """Items by popularity (Zipf-like, low codes are popular), half of them within the group's taste."""
    rank = _zipf(rng, items, sharp, len(group))
    own = rank // _GROUPS * _GROUPS + group
    return np.where((rng.random(len(group)) < _SAME) & (own < items), own, rank)


def _zipf(rng: np.random.Generator, items: int, sharp: float, n: int) -> Codes:
    weight = 1.0 / (np.arange(items) + 10.0) ** sharp
    return np.minimum(np.searchsorted(np.cumsum(weight / weight.sum()), rng.random(n)), items - 1)
