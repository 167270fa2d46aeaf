"""Small logs for the recommenders, every pair of them held out, and ranks in a few obvious lines."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import strategies as st

import unskew as us
from unskew.arrays import blocks
from unskew.arrays.types import Codes
from unskew.recommend.contract import Batch, HeldOutPairs

Floats = npt.NDArray[np.float64]
Scores = Callable[[Floats, Floats], Floats]
"""From users by items in zeros and ones, and one profile of zeros and ones, to the score of each item."""


def profiles_of(items: int = 7, users: int = 7) -> st.SearchStrategy[list[list[int]]]:
    """Random profiles over few items, so that counts and scores are often equal."""
    one = st.lists(st.integers(0, items - 1), min_size=1, unique=True)
    return st.lists(one, min_size=1, max_size=users)


def snapshot_of(profiles: Iterable[Iterable[int]]) -> us.Snapshot:
    """A log in which user u takes the items of profile u one after the other, all read and at its end.

    Items are numbered by id, as recommenders see them; those of its ``log`` too.
    """
    rows = [(u, item, time) for u, profile in enumerate(profiles) for time, item in enumerate(profile)]
    users, items, times = map(list, zip(*rows, strict=True))
    return us.read_log({"user": users, "item": items, "time": times}).at(max(times)).number_by_id()


def random_snapshot(seed: int, users: int, items: int, mean: float) -> us.Snapshot:
    """Profiles of random size over items of unequal popularity."""
    rng = np.random.default_rng(seed)
    chance = 1 / np.arange(3, items + 3)
    sizes = np.clip(1 + rng.poisson(mean - 1, users), 1, items)
    return snapshot_of(rng.choice(items, n, replace=False, p=chance / chance.sum()).tolist() for n in sizes)


def all_pairs(snapshot: us.Snapshot) -> HeldOutPairs:
    """Every entry held out once."""
    p = snapshot.profiles
    sizes = p.sizes()
    user = np.repeat(np.arange(p.n_users), sizes)
    entry = np.concatenate([np.arange(int(a), int(b)) for a, b in zip(p.start, p.stop, strict=True)])
    return HeldOutPairs(snapshot, user, p.item[entry].astype(np.int64), entry)


def remaining(pairs: HeldOutPairs) -> Batch:
    """The profiles without what is held out."""
    p = pairs.snapshot.profiles
    rows = []
    for user, entry in zip(pairs.user, pairs.entry, strict=True):
        rows.append([int(p.item[e]) for e in range(int(p.start[user]), int(p.stop[user])) if e != entry])
    return batch_of(rows, p.n_items, pairs.user)


def batch_of(rows: Sequence[Sequence[int]], n_items: int, user: Codes | None = None) -> Batch:
    ends = np.cumsum([0, *map(len, rows)])
    item = np.array([i for row in rows for i in row], dtype=np.int64)
    return Batch(np.arange(len(rows)) if user is None else user, ends, item, n_items)


def without(pairs: HeldOutPairs, k: int) -> us.Snapshot:
    """The snapshot as if pair k had never been in the log."""
    p = pairs.snapshot.profiles
    entry, user = int(pairs.entry[k]), int(pairs.user[k])
    start, stop = p.start.copy(), p.stop.copy()
    start[user + 1 :] -= 1
    stop[user:] -= 1
    return replace(pairs.snapshot, profiles=replace(p, start=start, stop=stop, item=np.delete(p.item, entry)))


def matrix_of(snapshot: us.Snapshot) -> Floats:
    """Users by items, 1 where the user holds the item."""
    p = snapshot.profiles
    matrix = np.zeros((p.n_users, p.n_items))
    for u in range(p.n_users):
        matrix[u, p.item[int(p.start[u]) : int(p.stop[u])]] = 1
    return matrix


def ranking(scores: Floats, profile: Floats) -> list[int]:
    """Items by score, then by code; without the profile and without scores of -inf."""
    best = np.argsort(-scores, kind="stable")
    return [int(i) for i in best if profile[i] == 0 and scores[i] > -np.inf]


def ranks(scores: Scores, pairs: HeldOutPairs, *, exact: bool) -> list[int]:
    """The rank of each held-out item; `exact` scores with a matrix in which the pair is not."""
    x = matrix_of(pairs.snapshot)
    found = []
    for user, item in zip(pairs.user, pairs.item, strict=True):
        left = x.copy()
        left[user, item] = 0
        listed = ranking(scores(left if exact else x, left[user]), left[user])
        found.append(listed.index(int(item)) + 1 if int(item) in listed else 0)
    return found


def with_threads(
    monkeypatch: pytest.MonkeyPatch, make: Callable[[us.Snapshot], Any], n_items: int
) -> Iterator[tuple[npt.NDArray[Any], ...]]:
    """What a model says of a log that is large enough for threads, with 1, 2 and 5 of them."""
    snapshot = random_snapshot(2, 4000, n_items, 10)
    pairs = all_pairs(snapshot)
    assert len(pairs) > blocks.SMALL
    batch = remaining(pairs)
    for n in (1, 2, 5):
        monkeypatch.setenv("UNSKEW_THREADS", str(n))
        model = make(snapshot)
        yield model.held_out_ranks(pairs, 50), model.recommend(batch, 5)


def within(found: Sequence[int], k: int) -> list[int]:
    """The same ranks when only the best k count."""
    return [rank if rank <= k else 0 for rank in found]


def places(lists: Codes, item: Codes) -> list[int]:
    """The rank of each item in its own list, 0 if it is not there."""
    return [1 + row.index(i) if i in row else 0 for row, i in zip(lists.tolist(), item.tolist(), strict=True)]
