"""The log beside whatever needs one: 60 rows of integers, small enough to be looked through pair by pair."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from random import Random
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa

import unskew as us
from unskew.arrays.id_table import fills_page
from unskew.reading import columnar_files, encoder

N = 60
_DRAWS = Random(1)
USERS = [_DRAWS.randrange(12) for _ in range(N)]
ITEMS = [int(11 * _DRAWS.random() ** 2) for _ in range(N)]
TIMES = [n * 5 // 3 for n in range(N)]


def make_small_table() -> pa.Table:
    """Its rows."""
    return pa.table({"user": USERS, "item": ITEMS, "time": TIMES})


@contextmanager
def read_as_large(way: str) -> Iterator[None]:
    """What is read inside is read as large logs are: by loops, its rows waiting in ``memory`` or in ``files``.

    With ``sql`` it is read as logs are that have more than users, items and times; with ``arrays`` as it would be
    anyway, being small.
    """
    few = columnar_files._FEW if way in ("sql", "arrays") else 0
    changes: dict[str, dict[str, Any]] = {
        "memory": {"FEW": 0, "_BYTES_IN_MEMORY": 0},
        "files": {"FEW": 0, "_BYTES_IN_MEMORY": 2**62},
        "sql": {"_IDS": set()},
        "arrays": {"FEW": encoder.FEW},
    }
    with patch.multiple(encoder, **changes[way]), patch.object(columnar_files, "_FEW", few):
        yield


def load_reading_loops() -> None:
    """Read the log in all these ways, with ids and times of other types too."""
    table = make_small_table()
    kinds = pa.string(), pa.string(), pa.float64()
    others = table.cast(pa.schema(list(zip(table.column_names, kinds, strict=True))))
    for way in ("memory", "files"):
        with read_as_large(way):
            us.read_log(table)
            us.read_log(others).at(50)
    fills_page(np.frombuffer(b"", dtype=np.uint8))


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
