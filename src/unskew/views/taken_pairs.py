"""What was taken in short windows of time, and by whom: the pairs that a view decides about, before any ranking."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unskew.arrays.types import Codes, Mask
from unskew.data.log import Log
from unskew.data.snapshot import Snapshot
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
    size
        How many items its user held just before the window; 0 for users who joined in it.
    holders
        How many users held the item then.
    person, person_window, person_size
        Everyone of each window: who had a profile just before it, and who took the first item in it.
    """

    log: Log
    windows: tuple[ShortWindow, ...]
    entry: Codes
    user: Codes
    window: Codes
    inside: Mask
    size: Codes
    holders: Codes
    person: Codes
    person_window: Codes
    person_size: Codes

    def __len__(self) -> int:
        return len(self.entry)

    def profiles_before(self, number: int) -> Snapshot | None:
        """The profiles just before a window; None if nobody had one."""
        return profiles_before(self.log, self.windows[number])


def profiles_before(log: Log, window: ShortWindow) -> Snapshot | None:
    """The profiles just before a window; None if nobody had one."""
    tick = tick_before(log, window.start)
    if tick < log.span[0]:
        return None
    return Snapshot.of(log, Moment(tick, label_before(log, window.start)))


def find_taken(log: Log, windows: Sequence[ShortWindow], *, later: bool = False) -> TakenPairs:
    """What was taken in windows; with `later`, also after each and before the next."""
    whose = log.entry_users()
    nothing = np.empty(0, dtype=np.int64)
    parts: list[tuple[Codes, ...]] = [(nothing,) * 9]
    for number, window in enumerate(windows):
        before = profiles_before(log, window)
        sizes = np.zeros(len(log.users), dtype=np.int64) if before is None else before.sizes()
        counts = np.zeros(len(log.items), dtype=np.int64) if before is None else before.counts()
        end = window.until if later else window.end
        entry = np.flatnonzero((log.time >= window.start) & (log.time < end))
        user = whose[entry]
        person = np.union1d(np.flatnonzero(sizes), user)
        parts.append(
            (
                entry,
                user,
                np.full(len(entry), number),
                log.time[entry] < window.end,
                sizes[user],
                counts[log.item[entry]],
                person,
                np.full(len(person), number),
                sizes[person],
            )
        )
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
    columns[3] = columns[3].astype(np.bool_)
    return TakenPairs(log, tuple(windows), *columns)
