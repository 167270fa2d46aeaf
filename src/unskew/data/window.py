"""What was taken between two dates: not profiles, but what was added to them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from unskew.data.slice import Slice
from unskew.data.snapshot import Snapshot
from unskew.data.times import Label, Moment
from unskew.errors import EmptyError


@dataclass(frozen=True, repr=False, eq=False)
class Window(Slice):
    """What users took after one time and up to another. Made by `Log.between`; see `Slice`.

    Attributes
    ----------
    after
        The time after which it begins.
    """

    after: Label = ""

    @classmethod
    def of(cls, snapshot: Snapshot, start: Moment) -> Window:
        """What is in the profiles of `snapshot` and was not there yet at `start`."""
        began = snapshot.log.stops_at(start.tick)
        if snapshot._entries is not None:  # without removals an entry's place is its place in the log
            began = np.searchsorted(snapshot._entries, began.astype(np.int64)).astype(began.dtype)
        first = np.minimum(np.maximum(began, snapshot.profiles.start), snapshot.profiles.stop)
        window = cls(
            log=snapshot.log,
            at=snapshot.at,
            tick=snapshot.tick,
            profiles=replace(snapshot.profiles, start=first),
            policy=replace(snapshot.policy, held="window"),
            _entries=snapshot._entries,
            after=start.label,
        )
        if window.n_users == 0:
            raise EmptyError(f"there are no interactions after {start.label} and up to {snapshot.at}")
        return window

    def keep_known(self, known: Snapshot) -> Window:
        """The same of the users who had a profile when it begins: what a global time split holds out."""
        part = self.restrict(known.sizes() > 0)
        return replace(part, policy=replace(self.policy, held="later"))

    def __repr__(self) -> str:
        return (
            f"Window(after {self.after} and up to {self.at}: {self.n_users} users, {self.n_items} items, "
            f"{len(self)} interactions)"
        )
