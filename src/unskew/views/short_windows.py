"""Short windows of time in which production recommended: long ones are cut.

A model of production is fitted anew just before each of them, on the profiles of then; what was taken in it is
ranked by that model.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from unskew.arrays.types import Mask, Times
from unskew.data.log import Log
from unskew.data.times import Label, TimeWindow

MOST_WINDOWS = 12  # into which one is cut: each costs a fit of the model
_PARTS = 25  # of the whole log: lists grow old in more than one of them


@dataclass(frozen=True)
class ShortWindow:
    """A window [start, end), in ticks, and until when takes are held against it.

    Attributes
    ----------
    start, end
        Production recommended from `start`, included, to `end`, not included.
    until
        What was taken from `end` up to here, not included, counts too where nothing was recommended: it tells
        which takes of the window were only brought forward.
    """

    start: int | float
    end: int | float
    until: int | float

    def contains(self, time: Times) -> Mask:
        """Which of some times lie in [start, end)."""
        inside: Mask = (time >= self.start) & (time < self.end)
        return inside


def tick_before(log: Log, tick: int | float) -> int | float:
    """The last time before a tick."""
    return tick - 1 if log.time.dtype.kind in "iu" else float(np.nextafter(tick, -math.inf))


def tick_after(log: Log, tick: int | float) -> int | float:
    """The first time after a tick."""
    return tick + 1 if log.time.dtype.kind in "iu" else float(np.nextafter(tick, math.inf))


def label_before(log: Log, tick: int | float) -> Label:
    """How to speak of the time just before a tick."""
    return log.axis.show(tick_before(log, tick))


def cut_windows(
    log: Log, windows: Sequence[TimeWindow], until: int | float, *, most: int = MOST_WINDOWS
) -> list[ShortWindow]:
    """Windows up to the tick `until`, which is included; long ones are cut into equal parts.

    A part is about a twenty-fifth of the time that the log covers, or less if more parts are allowed. Each counts
    until the next begins. What windows share counts once.
    """
    length = max(float(log.span[1] - log.span[0]) * MOST_WINDOWS / (_PARTS * most), 1e-9)
    end = tick_after(log, until)
    edges = [(max(w.start, log.span[0]), min(w.end, end)) for w in windows]
    parts: list[tuple[Any, Any]] = []
    for start, stop in _join([edge for edge in edges if edge[0] < edge[1]]):
        number = max(1, min(most, round((stop - start) / length)))
        cuts = np.linspace(start, stop, number + 1)
        if log.time.dtype.kind in "iu":
            cuts = np.unique(np.round(cuts).astype(np.int64))
        parts += [(a.item(), b.item()) for a, b in pairwise(cuts)]
    starts = [start for start, _ in parts] + [end]
    return [ShortWindow(start, stop, starts[k + 1]) for k, (start, stop) in enumerate(parts)]


def _join(edges: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    """Windows in the order of time, those that touch or overlap as one."""
    joined: list[tuple[Any, Any]] = []
    for start, end in sorted(edges):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], end))
        else:
            joined.append((start, end))
    return joined
