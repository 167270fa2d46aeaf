"""Short windows of time: those in which production recommended, quiet ones, and the interactions in them.

Long campaigns are cut into short windows. A model of production is fitted anew just before each of them, on the
profiles of then; interactions in it are ranked by that model. Quiet windows, in which nothing was recommended,
tell what people take by themselves.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from unskew.arrays.types import Codes, Mask, Times
from unskew.data.log import Log
from unskew.data.slice import Snapshot
from unskew.data.times import Label, Moment, TimeWindow
from unskew.errors import EmptyError, option

MOST_WINDOWS = 12  # into which one is cut: each costs a fit of the model
_PARTS = 25  # of the whole log: lists grow old in more than one of them


@dataclass(frozen=True)
class ShortWindow:
    """A window [start, end), in ticks, and until when interactions are compared with it."""

    # Production recommended from `start`, included, to `end`, not included.
    start: int | float
    end: int | float
    # Interactions from `end` up to here, not included, count too if nothing was recommended: they show which
    # interactions of the window were only brought forward.
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
    joined: list[tuple[Any, Any]] = []
    for start, end in sorted(edges):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], end))
        else:
            joined.append((start, end))
    return joined


MOST_QUIET = 6
"""How many are looked for: each costs a fit of the model."""

_LEAST_USERS = 0.5  # share of the users of the first window who must have a profile by then


def find_quiet(log: Log, busy: Sequence[ShortWindow], until: int | float) -> list[ShortWindow]:
    """Windows as long as the busy ones (their median), before the first of them, between them and after the last.

    After a busy window as much time is left out as it is long, since some interactions come late. Those that end
    closest to the start of a busy one come first, and those after the last at the end; windows before half of the
    users of the first busy one had a profile are left out, since a service that is just starting is another one.
    """
    length = _find_length(log, busy)
    candidates: list[tuple[int | float, ShortWindow]] = []
    free_from = _find_time_of_users(log, busy[0].start)
    for window in busy:
        distance, end = 0, window.start
        while end - length >= free_from:
            candidates.append((distance, ShortWindow(end - length, end, end)))
            distance, end = distance + 1, end - length
        free_from = window.end + length
    last = tick_after(log, until)
    late = len(candidates)
    while free_from + length <= last:
        candidates.append((late, ShortWindow(free_from, free_from + length, free_from + length)))
        free_from += length
    if not candidates:
        raise EmptyError(
            f"the log has no quiet time as long as a window ({log.axis.show(busy[0].start)} and later)",
            remedy=f"name a group that was never shown anything with {option('holdout')}, or leave more time "
            "around the windows",
        )
    candidates.sort(key=lambda candidate: candidate[0])
    return sorted((window for _, window in candidates[:MOST_QUIET]), key=lambda window: window.start)


def list_windows_before(log: Log, busy: Sequence[ShortWindow]) -> list[ShortWindow]:
    """All windows of this length before the first busy one, while the service had half of the users of then."""
    length, first = _find_length(log, busy), _find_time_of_users(log, busy[0].start)
    windows: list[ShortWindow] = []
    end = busy[0].start
    while end - length >= first:
        windows.append(ShortWindow(end - length, end, end))
        end -= length
    return windows[::-1]


def _find_length(log: Log, busy: Sequence[ShortWindow]) -> int | float:
    length = float(np.median([window.end - window.start for window in busy]))
    return max(1, round(length)) if log.time.dtype.kind in "iu" else length


def _find_time_of_users(log: Log, start: int | float) -> int | float:
    """When half of the users who had a profile at `start` had one."""
    rows = np.flatnonzero(np.diff(log.start.astype(np.int64)))
    joined = np.sort(log.time[log.start[:-1][rows].astype(np.int64)])
    joined = joined[joined < start]
    if len(joined) == 0:
        return log.span[0]  # type: ignore[no-any-return]
    return tick_after(log, joined[int(len(joined) * _LEAST_USERS)].item())


@dataclass(frozen=True)
class WindowPairs:
    """Pairs of short windows, one after the other, and the people of these windows."""

    log: Log
    windows: tuple[ShortWindow, ...]
    # Each pair as a place of ``log.item``, and whose it is.
    entry: Codes
    user: Codes
    window: Codes  # in which window, as a number
    inside: Mask  # whether it is of the window itself, or from the time after it and before the next
    known: Mask  # whether its user had a profile just before the window, and did not join in it
    # How many items its user held before anything was recommended: just before the window or, if that is earlier,
    # before the first in which something was.
    size: Codes
    holders: Codes  # how many users held the item then
    # Everyone of each window: who had a profile just before it, and who had the first item in it.
    person: Codes
    person_window: Codes
    person_known: Mask
    person_size: Codes

    def __len__(self) -> int:
        return len(self.entry)

    def take_some(self, most: int) -> WindowPairs:
        """The pairs of not more than so many windows, spread evenly."""
        if len(self.windows) <= most:
            return self
        chosen = np.unique(np.linspace(0, len(self.windows) - 1, most).round().astype(np.int64))
        pairs, people = np.isin(self.window, chosen), np.isin(self.person_window, chosen)
        return WindowPairs(
            self.log,
            tuple(self.windows[number] for number in chosen),
            self.entry[pairs],
            self.user[pairs],
            np.searchsorted(chosen, self.window[pairs]),
            self.inside[pairs],
            self.known[pairs],
            self.size[pairs],
            self.holders[pairs],
            self.person[people],
            np.searchsorted(chosen, self.person_window[people]),
            self.person_known[people],
            self.person_size[people],
        )

    def profiles_before(self, number: int) -> Snapshot | None:
        """The profiles just before a window; None if nobody had one."""
        return profiles_before(self.log, self.windows[number])


def profiles_before(log: Log, window: ShortWindow) -> Snapshot | None:
    """The profiles just before a window; None if nobody had one."""
    tick = tick_before(log, window.start)
    if tick < log.span[0]:
        return None
    return Snapshot.of(log, Moment(tick, label_before(log, window.start)))


def find_window_pairs(
    log: Log, windows: Sequence[ShortWindow], first: ShortWindow | None = None, *, later: bool = False
) -> WindowPairs:
    """Interactions in windows; with `later`, also after each and before the next.

    `first` is the first window in which something was recommended, to some users and not to others:
    recommendations make profiles longer, so that their sizes tell how active people are only before it. Without
    it, sizes are those just before each window.
    """
    whose = log.entry_users()
    at_first = None if first is None else _sizes(log, profiles_before(log, first))
    nothing = np.empty(0, dtype=np.int64)
    parts: list[tuple[Any, ...]] = [(nothing,) * 11]
    for number, window in enumerate(windows):
        before = profiles_before(log, window)
        held = _sizes(log, before)
        size = held
        if at_first is not None and first is not None and window.start > first.start:
            size = np.where(held > 0, np.minimum(held, at_first), 0)
        counts = np.zeros(len(log.items), dtype=np.int64) if before is None else before.counts()
        end = window.until if later else window.end
        entry = np.flatnonzero((log.time >= window.start) & (log.time < end))
        user = whose[entry]
        person = np.union1d(np.flatnonzero(held), user)
        parts.append(
            (
                entry,
                user,
                np.full(len(entry), number),
                log.time[entry] < window.end,
                held[user] > 0,
                size[user],
                counts[log.item[entry]],
                person,
                np.full(len(person), number),
                held[person] > 0,
                size[person],
            )
        )
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
    for k in (3, 4, 9):
        columns[k] = columns[k].astype(np.bool_)
    return WindowPairs(log, tuple(windows), *columns)


def _sizes(log: Log, before: Snapshot | None) -> Codes:
    return np.zeros(len(log.users), dtype=np.int64) if before is None else before.sizes()
