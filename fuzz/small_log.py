"""The log beside whatever needs one: 60 rows of integers, small enough to be looked through pair by pair."""

from __future__ import annotations

from functools import cache
from random import Random

import pyarrow as pa

import unskew as us

N = 60
_DRAWS = Random(1)
USERS = [_DRAWS.randrange(12) for _ in range(N)]
ITEMS = [int(11 * _DRAWS.random() ** 2) for _ in range(N)]
TIMES = [n * 5 // 3 for n in range(N)]


def make_small_table() -> pa.Table:
    """Its rows."""
    return pa.table({"user": USERS, "item": ITEMS, "time": TIMES})


@cache
def read_small_log() -> us.Log:
    """The log itself; read once, before the first child is made."""
    return us.read_log(make_small_table())


def list_pairs() -> list[tuple[str, str, int]]:
    """User, item and time of each pair, at its earliest."""
    earliest: dict[tuple[str, str], int] = {}
    for u, i, t in zip(USERS, ITEMS, TIMES, strict=True):
        earliest.setdefault((str(u), str(i)), t)
    return [(u, i, t) for (u, i), t in earliest.items()]
