"""What was taken in short windows of time, and by whom: the pairs that a view decides about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from unskew.arrays.types import Codes, Mask
from unskew.data.log import Log
from unskew.data.slice import Snapshot
from unskew.data.times import Moment
from unskew.views.short_windows import ShortWindow, label_before, tick_before


@dataclass(frozen=True)
class TakenPairs:
    """Pairs taken in short windows, one after the other, and the people of these windows.

    Attributes
    ----------
    entry, user
        Each pair as a place of ``log.item``, and whose it is.
    window
        In which window, as a number.
    inside
        Whether it was taken in the window itself, or after it and before the next.
    known
        Whether its user had a profile just before the window, and did not join in it.
    size
        How many items its user held before anything was recommended: just before the window or, if that is
        earlier, before the first in which something was.
    holders
        How many users held the item then.
    person, person_window, person_known, person_size
        Everyone of each window: who had a profile just before it, and who took the first item in it.
    """

    log: Log
    windows: tuple[ShortWindow, ...]
    entry: Codes
    user: Codes
    window: Codes
    inside: Mask
    known: Mask
    size: Codes
    holders: Codes
    person: Codes
    person_window: Codes
    person_known: Mask
    person_size: Codes

    def __len__(self) -> int:
        return len(self.entry)

    def take_some(self, most: int) -> TakenPairs:
        """The pairs of not more than so many windows, spread evenly."""
        if len(self.windows) <= most:
            return self
        chosen = np.unique(np.linspace(0, len(self.windows) - 1, most).round().astype(np.int64))
        pairs, people = np.isin(self.window, chosen), np.isin(self.person_window, chosen)
        return TakenPairs(
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


def find_taken(
    log: Log, windows: Sequence[ShortWindow], first: ShortWindow | None = None, *, later: bool = False
) -> TakenPairs:
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
    return TakenPairs(log, tuple(windows), *columns)


def _sizes(log: Log, before: Snapshot | None) -> Codes:
    return np.zeros(len(log.users), dtype=np.int64) if before is None else before.sizes()
