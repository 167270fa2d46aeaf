"""The last item of each profile: what leave-last-out holds out."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from unskew.arrays.rows import all_entries, all_users
from unskew.arrays.types import Codes
from unskew.data.slice import Slice
from unskew.data.snapshot import Snapshot


@dataclass(frozen=True, repr=False, eq=False)
class LastItems(Slice):
    """Of each profile of a snapshot the item that was taken last; see `Slice`."""

    @classmethod
    def of(cls, snapshot: Snapshot) -> LastItems:
        """The last items of the profiles of `snapshot`."""
        users, entries = find_last_entries(snapshot)
        start, stop = snapshot.profiles.start.copy(), snapshot.profiles.start.copy()
        start[users] = entries
        stop[users] = entries + 1
        return cls(
            log=snapshot.log,
            at=snapshot.at,
            tick=snapshot.tick,
            profiles=replace(snapshot.profiles, start=start, stop=stop),
            policy=replace(snapshot.policy, held="last"),
            _entries=snapshot._entries,
        )

    def __repr__(self) -> str:
        return f"LastItems(at {self.at}: {self.n_users} users, {self.n_items} items)"


def find_last_entries(snapshot: Snapshot) -> tuple[Codes, Codes]:
    """Who has a profile, and where in ``profiles.item`` its last item is: by time, then by id.

    The order of entries cannot break ties: in a log it follows how often items are taken in all of history, which
    would put the rarest item last, and would know the future.
    """
    p = snapshot.profiles
    entries, users = all_entries(p), all_users(p)
    time = snapshot.per_entry(snapshot.log.time)
    last = time[entries] == time[p.stop[users].astype(np.int64) - 1]
    entries, users = entries[last], users[last]
    by_id = snapshot.number_by_id().profiles.item[entries]
    order = np.lexsort((by_id, users))
    is_last = np.append(users[order][1:] != users[order][:-1], True)[: len(users)]
    return users[order][is_last], entries[order][is_last]
