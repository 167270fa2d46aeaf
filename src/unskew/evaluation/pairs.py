"""Held-out pairs: which item of which profile is taken out, and with what probability.

Exhaustive: every pair of a user and an item of its profile, weighted by P(u) P(i|u,w). Sampled: users
drawn by P(u) with repetition, then one item each by P(i|u,w). Everything here is in terms of entries
(positions in ``snapshot.profiles.item``), so that weights and ranks line up without any look-up.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from unskew.arrays import kernels
from unskew.errors import EmptyError, PolicyError
from unskew.recommend.contract import Batch, Codes, HeldOutPairs
from unskew.recommend.checks import whole_number
from unskew.data.snapshot import Snapshot
from unskew.arrays.sweep import Floats, over_blocks

MOST_DRAWS = 100_000_000
"""Of one sample: more are taken for a mistake."""


def number_of_draws(name: str, n: Any) -> int:
    """How many pairs to draw, as an integer that memory has room for."""
    wanted = whole_number(name, n, "how many pairs to draw")
    if wanted > MOST_DRAWS:
        raise PolicyError(f"{name} is {n}; how many pairs to draw: give a whole number of at most {MOST_DRAWS}")
    return wanted


def all_entries(snapshot: Snapshot) -> Codes:
    """Every entry of the snapshot, in the order of its users."""
    p = snapshot.profiles
    sizes = p.sizes()
    ends = np.cumsum(sizes)
    first = p.start.astype(np.int64) - (ends - sizes)
    entries: Codes = np.arange(int(ends[-1]) if len(ends) else 0) + np.repeat(first, sizes)
    return entries


def users_of_entries(snapshot: Snapshot, entries: Codes) -> Codes:
    """The user of each entry."""
    p = snapshot.profiles
    rows = np.flatnonzero(p.stop != p.start)
    return rows[np.searchsorted(p.start[rows].astype(np.int64), entries, side="right") - 1]


def all_pairs(snapshot: Snapshot) -> HeldOutPairs:
    """Every entry of the snapshot as a pair of user and item."""
    entries = all_entries(snapshot)
    user = np.repeat(np.arange(snapshot.profiles.n_users), snapshot.sizes())
    return HeldOutPairs(snapshot, user, snapshot.profiles.item[entries].astype(np.int64), entries)


def entries_of(snapshot: Snapshot, users: Codes) -> tuple[Codes, Codes]:
    """The entries of some users, one after the other, and where those of each begin."""
    p = snapshot.profiles
    first = p.start[users].astype(np.int64)
    sizes = p.stop[users].astype(np.int64) - first
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    return offsets, np.arange(offsets[-1]) + np.repeat(first - offsets[:-1], sizes)


def pairs_of(snapshot: Snapshot, entries: Codes) -> HeldOutPairs:
    """Entries as pairs of user and item."""
    user = users_of_entries(snapshot, entries)
    return HeldOutPairs(snapshot, user, snapshot.profiles.item[entries].astype(np.int64), entries)


def entry_shares(snapshot: Snapshot, theta: Floats) -> Floats:
    """``P(u) P(i|u,w)`` of every place of ``profiles.item``: 0 where no one takes part; sums to 1."""
    p = snapshot.profiles
    out = np.zeros(len(p.item))
    shares = p.shares()
    over_blocks(
        p.edges(),
        len(p.item),
        lambda k, lo, hi: kernels.entry_shares(lo, hi, p.start, p.stop, p.item, shares, p.b, theta, out),
    )
    return out


def draw(snapshot: Snapshot, theta: Floats, n: int, seed: int) -> Codes:
    """Draw n entries: users by P(u) with repetition, then one item each by P(i|u,w).

    The same seed draws the same users under any weights that leave none out, and the same place in their profiles'
    cumulated probabilities: what differs between two weightings is due to the weights.
    """
    rng = np.random.default_rng(seed)
    at_user, at_item = rng.random(n), rng.random(n)
    order = np.argsort(at_user)  # looked up one beside the other, they are found three times as fast
    at_user, at_item = at_user[order], at_item[order]
    p = snapshot.profiles
    users = _pick(np.cumsum(p.shares()), at_user)
    shares = entry_shares(snapshot, theta)
    cumulated = np.concatenate([[0.0], np.cumsum(shares)])
    low = cumulated[p.start[users].astype(np.int64)]
    high = cumulated[p.stop[users].astype(np.int64)]
    at = np.searchsorted(cumulated, low + at_item * (high - low), side="right") - 1
    first, last = p.start[users].astype(np.int64), p.stop[users].astype(np.int64) - 1
    found: Codes = np.clip(at, first, last)
    zero = shares[found] == 0  # rounding has met an item of weight 0: take the likeliest instead
    for k in np.flatnonzero(zero):
        row = shares[first[k] : last[k] + 1]
        found[k] = first[k] + int(np.argmax(row))
    drawn: Codes = np.empty_like(found)
    drawn[order] = found
    return drawn


def _pick(cumulated: Floats, at: Floats) -> Codes:
    found = np.searchsorted(cumulated, at * cumulated[-1], side="right")
    last = int(np.flatnonzero(np.diff(cumulated, prepend=0.0) > 0)[-1])
    picked: Codes = np.minimum(found, last).astype(np.int64)
    return picked


@dataclass(frozen=True)
class Later:
    """A global time split: what was known at a time, and what has to be found.

    Attributes
    ----------
    known
        The profiles at that time; all that a recommender may see.
    whole
        What was taken after it, up to the snapshot, by anyone.
    pairs
        The same of the users who had a profile by then: what is held out.
    """

    known: Snapshot
    whole: Snapshot
    pairs: Snapshot

    @classmethod
    def of(cls, snapshot: Snapshot, after: Any) -> Later:
        """Split what the snapshot holds at the time `after`."""
        whole = snapshot.log.between(after, snapshot)
        known = snapshot.log.at(after)
        pairs = whole.restricted(known.sizes() > 0)
        if not pairs.shares().any():
            raise EmptyError(
                f"nobody who had a profile at {known.at} took anything between then and {snapshot.at}: there is "
                "nothing to hold out"
            )
        return cls(known, whole, pairs)


@dataclass(frozen=True)
class HoldOut:
    """How items are held out.

    Attributes
    ----------
    profiles
        What recommenders may see of each user: the evaluated snapshot itself (one or more items are taken
        out of it), or an earlier one (nothing has to be taken out).
    together
        How many items of a profile are held out at a time.
    seed
        Of the choice of which ones go together.
    """

    profiles: Snapshot
    together: int = 1
    seed: int = 0

    def batches(self, pairs: HeldOutPairs, size: int) -> Iterator[tuple[slice, Batch]]:
        """The profiles that are left when the pairs are held out, in batches of about `size` entries."""
        p = self.profiles.profiles
        same = self.profiles is pairs.snapshot
        lengths = (p.stop[pairs.user].astype(np.int64) - p.start[pairs.user].astype(np.int64)) + 1
        bounds = np.cumsum(lengths)
        group = self._groups(pairs) if same else None
        at = 0
        while at < len(pairs):
            done = bounds[at - 1] if at else 0
            end = max(int(np.searchsorted(bounds, done + size, side="right")), at + 1)
            yield slice(at, end), self._batch(pairs, at, end, group)
            at = end

    def _batch(self, pairs: HeldOutPairs, at: int, end: int, group: npt.NDArray[np.int64] | None) -> Batch:
        p = self.profiles.profiles
        user = pairs.user[at:end]
        offsets, entries = entries_of(self.profiles, user)
        if group is not None:
            keep = group[entries] != np.repeat(group[pairs.entry[at:end]], np.diff(offsets))
            entries = entries[keep]
            offsets = np.concatenate([[0], np.cumsum(keep)])[offsets]
        return Batch(user, offsets, p.item[entries].astype(np.int64), p.n_items)

    def _groups(self, pairs: HeldOutPairs) -> npt.NDArray[np.int64]:
        """A number for each entry; entries of a profile with the same number are held out together."""
        n = len(pairs.snapshot.profiles.item)
        if self.together == 1:
            return np.arange(n)
        rng = np.random.default_rng(self.seed)
        entries = all_entries(pairs.snapshot)
        user = users_of_entries(pairs.snapshot, entries)
        shuffled = np.lexsort((rng.random(len(entries)), user))
        place = np.arange(len(entries)) - np.searchsorted(user[shuffled], user[shuffled], side="left")
        group = np.zeros(n, dtype=np.int64)
        group[entries[shuffled]] = place // self.together
        return group
