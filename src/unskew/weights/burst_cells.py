"""What known users took in short cells of time: the counts in which bursts are looked for.

Only users who had a profile when a cell begins count: recommendations reach these, and people who join take many
items at once. Users are in two halves, so that the items that rose can be chosen by one and counted in the
other.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import date, timedelta

import numpy as np
from scipy import sparse

from unskew.arrays.types import Codes, Floats, Items, Mask
from unskew.data.log import Log
from unskew.data.times import TimeAxis
from unskew.errors import EmptyError

_MOST, _FEWEST = 100, 20  # cells
_TAKES = 30  # in a cell, on average


@dataclass(frozen=True, eq=False)
class BurstCells:
    """Counts of takes by cell.

    Attributes
    ----------
    edges
        Where cells begin and, one more, where the last ends: ticks of the log.
    counts
        For each half of the users a matrix of cells by items.
    known
        How many users had a profile when each cell begins.
    """

    edges: list[int | float]
    counts: tuple[sparse.csr_matrix, sparse.csr_matrix]
    known: Codes

    @classmethod
    def of(cls, log: Log) -> BurstCells:
        """Cut the time of a log into cells, and count."""
        whose = log.entry_users()
        first = log.time[log.start[whose]]  # rows are sorted by time
        edges = _cut_time(log, int(np.count_nonzero(log.time > first)))
        if len(edges) < _FEWEST:
            raise EmptyError(
                f"there is too little time between {log.first} and {log.last} to look for bursts in",
                remedy=f"at least {_FEWEST - 1} days or units of time are needed",
            )
        begin = np.asarray(edges)
        cell = np.searchsorted(begin, log.time, side="right") - 1
        knows = first < begin[cell]
        half = np.random.default_rng(0).integers(0, 2, len(log.users))[whose] == 0
        shape = (len(edges) - 1, len(log.items))
        counts = tuple(_count(cell, log.item, shape, knows & part) for part in (half, ~half))
        joined = np.sort(log.time[log.start[:-1][np.diff(log.start.astype(np.int64)) > 0]])
        return cls(edges, (counts[0], counts[1]), np.searchsorted(joined, begin[:-1], side="left"))

    def __len__(self) -> int:
        return len(self.known)

    def takes(self) -> Floats:
        """How many takes each half has in each cell."""
        return np.array([np.asarray(half.sum(axis=1)).ravel() for half in self.counts])

    def take_mix(self, cells: list[int]) -> tuple[Floats, Floats]:
        """How often each item was taken in some cells together, by each half."""
        one, other = (np.asarray(half[cells].sum(axis=0)).ravel() for half in self.counts)
        return one, other


def _count(cell: Codes, item: Items, shape: tuple[int, int], some: Mask) -> sparse.csr_matrix:
    ones = np.ones(int(some.sum()))
    return sparse.csr_matrix((ones, (cell[some], item[some])), shape=shape)


def _cut_time(log: Log, takes: int) -> list[int | float]:
    """Where cells begin: whole days or units of time where there are enough of them."""
    axis = log.axis
    low, high = (tick.item() for tick in log.span)
    number = int(np.clip(takes // _TAKES, _FEWEST, _MOST))
    if axis.is_calendar and (high - low) / axis.duration(1) >= _FEWEST:
        return _cut_days(axis, low, high, number)
    step = (high - low) / number
    if axis.kind != "float":
        step = max(1, round(step))
        return [low + k * step for k in range(max(1, round((high + 1 - low) / step)))] + [high + 1]
    edges = [low + k * step for k in range(number + 1)]
    return [*edges[:-1], math.nextafter(max(high, edges[-1]), math.inf)] if step > 0 else [low]


def _cut_days(axis: TimeAxis, low: float, high: float, number: int) -> list[int | float]:
    first, last = (date.fromisoformat(str(axis.show(tick))[:10]) for tick in (low, high))
    step = max(1, round(((last - first).days + 1) / number))
    days = [first + timedelta(days=k * step) for k in range(max(1, round(((last - first).days + 1) / step)))]
    return [axis.begin(day.isoformat()).tick for day in (*days, last + timedelta(days=1))]
