"""Small tables and the plain-Python answers that logs are held against."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

import unskew as us
from unskew.errors import EmptyError, UnskewWarning

LAW = settings(max_examples=40, deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow])
"""How long a law is looked at: every example reads a log."""


@dataclass(frozen=True)
class Row:
    """One line of a log."""

    user: str
    item: int
    time: int
    removed: int | None = None
    exposed: bool = False


def rows_of(max_size: int = 25, *, removals: bool = False) -> st.SearchStrategy[list[Row]]:
    """Random lines: few users, items and times, so that they repeat and overlap."""

    def row(user: str, item: int, time: int, stay: int | None, exposed: bool) -> Row:
        return Row(user, item, time, None if stay is None or not removals else time + stay, exposed)

    one = st.builds(
        row,
        st.sampled_from("abcd"),
        st.integers(0, 4),
        st.integers(-2, 7),
        st.none() | st.integers(0, 4),
        st.booleans(),
    )
    return st.lists(one, min_size=1, max_size=max_size)


def columns_of(rows: Iterable[Row]) -> dict[str, list[Any]]:
    """The lines as a dict of columns, which `read_log` takes."""
    rows = list(rows)
    return {name: [getattr(row, name) for row in rows] for name in ("user", "item", "time", "removed", "exposed")}


def profiles_at(rows: Iterable[Row], time: float) -> dict[str, set[int]]:
    """Who holds what at `time`: what came by then and has not left."""
    held: dict[str, set[int]] = {}
    for row in rows:
        if row.time <= time and (row.removed is None or row.removed > time):
            held.setdefault(row.user, set()).add(row.item)
    return held


def held(log: us.Log, time: Any) -> dict[Any, set[Any]]:
    """The same from a log; nothing where there is no snapshot."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnskewWarning)
        try:
            snapshot = log.at(time)
        except EmptyError:
            return {}
    found = {user: snapshot.profile(user) for user in log.users}
    assert all(len(items) == len(set(items)) for items in found.values())
    return {user: set(items) for user, items in found.items() if items}


def late(log: us.Log, time: Any, **priors: Any) -> us.Snapshot:
    """A snapshot that may lie after the end of the log."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnskewWarning)
        return log.at(time, **priors)


def dense(snapshot: us.Snapshot, b: dict[tuple[Any, Any], float] | None = None) -> npt.NDArray[np.float64]:
    """P(i|u) as a matrix over all users and items, from the profiles as lists; rows of zeros for no one."""
    items = snapshot.log.items.to_list()
    matrix = np.zeros((len(snapshot.log.users), len(items)))
    for u, user in enumerate(snapshot.log.users):
        for item in snapshot.profile(user):
            matrix[u, items.index(item)] = 1.0 if b is None else b[user, item]
    sums = matrix.sum(axis=1, keepdims=True)
    result: npt.NDArray[np.float64] = np.divide(matrix, sums, out=np.zeros_like(matrix), where=sums > 0)
    return result
