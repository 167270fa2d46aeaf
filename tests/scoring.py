"""Scores by their definition: plain loops over profiles as dicts, to hold the evaluation against."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Self

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

import unskew as us
from tests.dense import Event
from unskew.arrays.types import Codes
from unskew.data.ids import Ids
from unskew.data.slice import Slice
from unskew.data.times import TimeAxis
from unskew.recommend import Batch

Pair = tuple[Any, Any]
Profiles = Mapping[Any, Sequence[Any]]
Lists = Callable[[list[Any], int], list[Any]]


def events_of(
    max_size: int = 30, *, users: str = "abcde", items: int = 6, least: int = 1
) -> st.SearchStrategy[list[Event]]:
    """Random histories of few users and items, from time 0 to 9."""
    one = st.tuples(st.sampled_from(users), st.integers(0, items - 1), st.integers(0, 9))
    return st.lists(one, min_size=least, max_size=max_size)


def weights_of(items: int = 6) -> st.SearchStrategy[dict[int, float]]:
    """Weights of all items; 0 now and then."""
    return st.fixed_dictionaries({i: st.sampled_from([0.0, 0.1, 1.0, 2.5, 40.0]) for i in range(items)})


def log_of(events: Sequence[Event]) -> us.Log:
    """The log of these events, made by hand: a law reads hundreds of them."""
    first: dict[Pair, int] = {}
    for user, item, time in events:
        first[user, item] = min(time, first.get((user, item), time))
    users, items = (sorted({pair[k] for pair in first}) for k in (0, 1))
    users.sort(key=lambda u: -sum(v == u for v, _ in first))
    items.sort(key=lambda i: -sum(j == i for _, j in first))
    rows = sorted((users.index(u), t, items.index(i)) for (u, i), t in first.items())
    sizes = [sum(row[0] == u for row in rows) for u in range(len(users))]
    return us.Log(
        users=Ids.of(pa.array(users)),
        items=Ids.of(pa.array(items)),
        start=np.cumsum([0, *sizes]).astype(np.uint32),
        item=np.array([row[2] for row in rows], dtype=np.uint32),
        time=np.array([row[1] for row in rows], dtype=np.int64),
        axis=TimeAxis("integer"),
    )


def items_by_user(part: Slice) -> dict[Any, list[Any]]:
    """What a slice of a log holds of each user, in the order of time; who holds nothing is not in it."""
    log, p = part.log, part.profiles
    found = {user: log.items.take(p.item[p.start[u] : p.stop[u]]).to_pylist() for u, user in enumerate(log.users)}
    return {user: items for user, items in found.items() if items}


def taken(events: Iterable[Event], until: float = math.inf, since: float = -math.inf) -> dict[Any, list[Any]]:
    """The items of each user whose first time lies after `since` and up to `until`, in the order of time."""
    first: dict[Pair, float] = {}
    for user, item, time in events:
        first[user, item] = min(time, first.get((user, item), math.inf))
    held: dict[Any, list[Any]] = {}
    for (user, item), _ in sorted(first.items(), key=lambda x: x[1]):
        if since < first[user, item] <= until:
            held.setdefault(user, []).append(item)
    return held


def pair_shares(
    profiles: Profiles,
    weight: Callable[[Any], float] = lambda _: 1.0,
    p_user: Callable[[Any], float] = lambda _: 1.0,
    p_item: Callable[[Any, Any], float] = lambda _u, _i: 1.0,
) -> dict[Pair, float]:
    """P(u) P(i|u,w) of every pair; who holds nothing of any weight takes no part."""
    parts = {u: {i: weight(i) * p_item(u, i) for i in items} for u, items in profiles.items()}
    parts = {u: mine for u, mine in parts.items() if sum(mine.values()) > 0 and p_user(u) > 0}
    total = sum(p_user(u) for u in parts)
    return {
        (u, i): p_user(u) / total * part / sum(mine.values())
        for u, mine in parts.items()
        for i, part in mine.items()
        if part > 0
    }


def place(listed: Sequence[Any], item: Any) -> int:
    """The rank of an item in a list, from 1; 0 if it is not there."""
    return 1 + list(listed).index(item) if item in listed else 0


def score_by_hand(
    profiles: Profiles, recommend: Lists, metric: Callable[[int], float], k: int, shares: Mapping[Pair, float]
) -> float:
    """``sum_ui P(u) P(i|u,w) l(g(u minus i), i)``, one pair after the other."""
    return sum(
        share * metric(place(recommend([j for j in profiles[u] if j != i], k), i))
        for (u, i), share in shares.items()
    )


def stepping(catalogue: Sequence[int]) -> Lists:
    """A recommender whose list depends on the whole profile, in whatever order, and is never all of the rest."""
    items = sorted(catalogue)

    def stepper(profile: list[int], k: int) -> list[int]:
        first = sum(profile) % len(items)
        order = items[first:] + items[:first]
        return [i for i in order if i not in profile][: min(k, len(items) - 2)]

    return stepper


class Spy:
    """Recommends what a function of ids says, and remembers all that it was shown."""

    def __init__(self, recommend: Lists) -> None:
        self.function = recommend
        self.snapshot: us.Snapshot | None = None
        self.seen: list[tuple[Any, list[Any]]] = []
        self.asked: list[int] = []

    def __str__(self) -> str:
        return "spy"

    def fit(self, snapshot: us.Snapshot, /) -> Self:
        self.snapshot = snapshot
        return self

    def recommend(self, profiles: Batch, k: int, /) -> Codes:
        assert self.snapshot is not None
        log = self.snapshot.log
        self.asked.append(k)
        out = np.full((len(profiles), k), -1, dtype=np.int64)
        for row in range(len(profiles)):
            profile = log.items.take(profiles.profile(row)).to_pylist()
            self.seen.append((log.users[int(profiles.user[row])], profile))
            codes = log.items.codes(self.function(profile, k))
            out[row, : len(codes)] = codes
        return out


def hit(k: int) -> Callable[[int], float]:
    return lambda rank: float(0 < rank <= k)


def mrr(k: int) -> Callable[[int], float]:
    return lambda rank: 1 / rank if 0 < rank <= k else 0.0


def ndcg(k: int) -> Callable[[int], float]:
    return lambda rank: 1 / math.log2(rank + 1) if 0 < rank <= k else 0.0


def rbp(k: int, p: float = 0.8) -> Callable[[int], float]:
    return lambda rank: (1 - p) * p ** (rank - 1) if 0 < rank <= k else 0.0
