"""Random histories, constant lists ranked at two of their dates, and what each user finds in them."""

from __future__ import annotations

from typing import Any

import numpy as np

import unskew as us
from tests.dense import Event, columns, profiles_at, random_events
from unskew.evaluation.held_out_ranks import HeldOutRanks

LISTS = (["i0", "i1"], ["i1", "i2"], ["i3", "i5", "i0"])
BEFORE, NOW = 4, 9


def history(seed: int, users: int = 60, *, joining: bool = True) -> list[Event]:
    return random_events(np.random.default_rng(seed), users, joining=joining)


def log_of(events: list[Event]) -> us.Log:
    return us.read_log(columns(events))


def ranked(snapshot: us.Snapshot, items: list[str] | None = None, **options: Any) -> HeldOutRanks:
    return us.rank_held_out(us.Constant(items or LISTS[0]), snapshot, metric=["hit@5"], **options)


def metric_of_users(events: list[Event], at: int, items: list[str]) -> dict[Any, float]:
    """The hit rate of each user, from its profile as a dict."""
    held = profiles_at(events, at)
    return {user: sum(i in items for i in profile) / len(profile) for user, profile in held.items()}
