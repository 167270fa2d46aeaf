"""Who holds what, as plain arrays: the form in which loops see profiles, cut into blocks of users.

The cut of a log follows from all of its history and is that of every date and view of it, whether its profiles are
on this machine or on many: sums over blocks, added in the order of the blocks, are then the same to the last bit.
Entries are positions in ``profiles.item``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from unskew.arrays.types import Codes, Floats, Items, Mask, Offsets


class Rows(NamedTuple):
    """Offsets and item codes of profiles as the loops take them; see `Profiles`."""

    start: Offsets
    stop: Offsets
    item: Items


@dataclass(frozen=True)
class Profiles:
    """The arrays of a set of profiles; the profile of u is ``item[start[u]:stop[u]]``."""

    # Offsets and item codes. A user whose start equals its stop has no items.
    start: Offsets
    stop: Offsets
    item: Items
    n_items: int  # number of items; every code is below it
    a: Floats | None = None  # P(u) of each user, any positive scale; None for uniform
    b: Floats | None = None  # P(i|u) of each entry, any positive scale per row; None for uniform
    cut: Codes | None = None  # where the users are cut into blocks; None to cut by what these profiles hold

    @property
    def rows(self) -> Rows:
        """The same for the loops."""
        return Rows(self.start, self.stop, self.item)

    @property
    def n_users(self) -> int:
        return len(self.stop)

    def sizes(self) -> Codes:
        """Number of items in each profile."""
        return self.stop.astype(np.int64) - self.start.astype(np.int64)

    def sizes_of(self, users: Codes | Items) -> Codes:
        """The same for some users alone: a batch of pairs must not look at all."""
        return self.stop[users].astype(np.int64) - self.start[users].astype(np.int64)

    def masses(self) -> Floats:
        """P(u) of each user before it is made to sum to 1; 0 for one without items."""
        has_items = self.stop != self.start
        return has_items.astype(np.float64) if self.a is None else np.where(has_items, self.a, 0.0)

    def shares(self) -> Floats:
        """P(u) of each user: sums to 1 over the users who have items."""
        shares = self.masses()
        total = shares.sum()
        return shares / total if total > 0 else shares

    @cached_property
    def edges(self) -> Codes:
        """The cut into blocks of about equal work (an entry counts 1, a row 1 more)."""
        return cut_users(self.sizes(), self.n_items) if self.cut is None else self.cut


_FEWEST, _MOST = 2, 32
_ENTRIES_AN_ITEM = 8  # of a block: fewer, and adding up the sums of blocks would cost more than making them


def cut_users(sizes: Codes, n_items: int, *, repeated: Codes | None = None, blocks: int | None = None) -> Codes:
    """Where to cut the users into blocks of about equal work (an entry counts 1, a user 1 more).

    - `sizes`: how many entries each user has, in the order of the users.
    - `n_items`: how many items there are, which decides about the number of blocks.
    - `repeated`: how many users in a row have each of the `sizes`; None for one each.
    - `blocks`: into how many to cut, at most, if not into as many as pay off on one machine.

    Returns
    -------
    Codes
        The first user of each block, and the number of users at the end.

    Examples
    --------
    >>> cut_users(np.array([3, 3, 1, 1, 1, 1]), 1).tolist()
    [0, 1, 6]
    >>> cut_users(np.array([3, 1]), 1, repeated=np.array([2, 4])).tolist()
    [0, 1, 6]
    """
    if len(sizes) == 0:
        return np.zeros(1, dtype=np.int64)
    times = np.ones(len(sizes), dtype=np.int64) if repeated is None else repeated
    work = sizes.astype(np.int64) + 1
    ends, users = np.cumsum(work * times), np.cumsum(times)
    if blocks is None:
        blocks = int(np.clip(ends[-1] // (_ENTRIES_AN_ITEM * max(n_items, 1)), _FEWEST, _MOST))
    wanted = np.arange(1, blocks) * (ends[-1] / blocks)
    group = np.searchsorted(ends, wanted)
    before = ends[group] - work[group] * times[group]
    inside = np.maximum(np.ceil((wanted - before) / work[group]).astype(np.int64) - 1, 0)
    inside += before + (inside + 1) * work[group] < wanted  # where a quotient was rounded down to a whole number
    cuts = users[group] - times[group] + inside
    return np.unique(np.concatenate([[0], cuts, [users[-1]]])).astype(np.int64)


def all_entries(profiles: Profiles) -> Codes:
    """Every entry, in the order of the users."""
    return entries_of(profiles, np.arange(profiles.n_users))[1]


def all_users(profiles: Profiles) -> Codes:
    """The user of every entry, in the same order."""
    return np.repeat(np.arange(profiles.n_users), profiles.sizes())


def entries_of(profiles: Profiles, users: Codes) -> tuple[Codes, Codes]:
    """Where those of each of the users begin, and their entries one after the other."""
    first = profiles.start[users].astype(np.int64)
    sizes = profiles.stop[users].astype(np.int64) - first
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    return offsets, np.arange(offsets[-1]) + np.repeat(first - offsets[:-1], sizes)


def users_of(profiles: Profiles, entries: Codes) -> Codes:
    """The user of each entry."""
    rows = np.flatnonzero(profiles.stop != profiles.start)
    return rows[np.searchsorted(profiles.start[rows].astype(np.int64), entries, side="right") - 1]


def sum_entries(profiles: Profiles, values: Floats) -> Floats:
    """For each user the sum of a number of each of its entries, which are in the order of `all_entries`."""
    return np.bincount(all_users(profiles), weights=values, minlength=profiles.n_users).astype(np.float64)


def mark_entries(profiles: Profiles) -> Mask:
    """Which places of ``profiles.item`` belong to a profile: those from its `start` up to its `stop`."""
    change = np.zeros(len(profiles.item) + 1, dtype=np.int64)  # +1 where a row begins, -1 where it ends
    np.add.at(change, profiles.start, 1)
    np.add.at(change, profiles.stop, -1)
    return np.asarray(np.cumsum(change[:-1]) > 0)


def find_sorted(keys: Codes, wanted: Codes) -> Codes:
    """The place of each wanted number among ascending keys, or -1.

    >>> find_sorted(np.array([2, 5, 9]), np.array([9, 3, 2]))
    array([ 2, -1,  0])
    """
    if not len(keys):
        return np.full(len(wanted), -1, dtype=np.int64)
    at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[at] == wanted, at, -1)
