"""The profiles at a date: what is evaluated and what weights are fitted to."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from unskew.arrays.profiles import Profiles
from unskew.arrays.rows import mark_entries
from unskew.arrays.types import Codes, Mask, Times
from unskew.data.policy import Policy
from unskew.data.slice import Slice
from unskew.data.times import Moment
from unskew.errors import EmptyError, InputError

if TYPE_CHECKING:
    from unskew.data.log import Log


@dataclass(frozen=True, repr=False, eq=False)
class Snapshot(Slice):
    """The profiles of a log at one date: everything taken up to it. Made by `Log.at`; see `Slice`."""

    @classmethod
    def of(cls, log: Log, moment: Moment) -> Snapshot:
        """The profiles of `log` at `moment`, P(u) and P(i|u) uniform; somebody holds something."""
        snapshot = cls.cut_off(log, moment)
        if snapshot.n_users == 0:
            raise EmptyError(
                f"the snapshot at {moment.label} is empty: every item had left its profile again "
                f"(the log runs from {log.first} to {log.last})"
            )
        return snapshot

    @classmethod
    def cut_off(cls, log: Log, moment: Moment) -> Snapshot:
        """The same, of a part of a log in which maybe nobody holds anything yet."""
        profiles = log.profiles(log.stops_at(moment.tick))
        entries = None
        if log.removed is not None:
            profiles, entries = _without_removed(profiles, log.removed, moment.tick)
        return cls(log, moment.label, moment.tick, profiles, Policy(view=log.view), entries)

    def __repr__(self) -> str:
        return f"Snapshot(at {self.at}: {self.n_users} users, {self.n_items} items, {len(self)} interactions)"

    def without(self, entries: Codes) -> Snapshot:
        """The profiles without some of their entries, which are places of ``profiles.item``."""
        keep = self.mark_entries()
        keep[entries] = False
        kept = np.flatnonzero(keep)
        places = kept if self._entries is None else self._entries[kept]
        return replace(self, profiles=_keep_entries(self.profiles, keep), _entries=places)

    def profile(self, user: Any) -> list[Any]:
        """The ids of what a user holds, in the order in which they were taken."""
        code = int(self.log.users.codes([user])[0])
        if code < 0:
            raise InputError(f"the log has no user {user!r} (it has {self.log.users.examples()})")
        p = self.profiles
        held: list[Any] = self.log.items.take(p.item[int(p.start[code]) : int(p.stop[code])]).to_pylist()
        return held


def _without_removed(profiles: Profiles, removed: Times, tick: int | float) -> tuple[Profiles, Codes]:
    """Rows without the entries that had left by `tick`, and which entries stayed.

    New arrays, since this is no prefix.
    """
    inside = mark_entries(profiles)
    if removed.dtype.kind == "i":
        tick = min(tick, np.iinfo(removed.dtype).max - 1)  # what never leaves has the largest there is
    inside &= removed > tick
    return _keep_entries(profiles, inside), np.flatnonzero(inside)


def _keep_entries(profiles: Profiles, keep: Mask) -> Profiles:
    """Rows with some of their entries alone; new arrays, since what is kept is no prefix."""
    ends = np.concatenate([[0], np.cumsum(keep)])
    offsets = profiles.start.dtype
    return replace(
        profiles,
        start=ends[profiles.start].astype(offsets),
        stop=ends[profiles.stop].astype(offsets),
        item=profiles.item[keep],
        b=None if profiles.b is None else profiles.b[keep],
    )
