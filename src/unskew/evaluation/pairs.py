"""Held-out pairs: which item of which profile is taken out.

Exhaustive: every pair of a user and an item of its profile, weighted by P(u) P(i|u,w). Sampled: users drawn by
P(u) with repetition, then one item each by P(i|u,w). Everything here is in terms of entries (positions in
``profiles.item``), so that weights and ranks line up without any look-up.
"""

from __future__ import annotations

from typing import cast

import numpy as np

from unskew.arrays import kernels
from unskew.arrays.profiles import Profiles
from unskew.arrays.rows import all_entries, all_users, users_of
from unskew.arrays.types import Codes, Floats
from unskew.data.slice import Slice, Snapshot
from unskew.data.weighting import Weighting
from unskew.recommend.contract import HeldOutPairs


def all_pairs(part: Slice) -> HeldOutPairs:
    """Every entry of the slice as a pair of user and item."""
    return _pairs(part, all_users(part.profiles), all_entries(part.profiles))


def pairs_of(part: Slice, entries: Codes) -> HeldOutPairs:
    """Entries as pairs of user and item."""
    return _pairs(part, users_of(part.profiles, entries), entries)


def _pairs(part: Slice, user: Codes, entries: Codes) -> HeldOutPairs:
    snapshot = cast(Snapshot, part)  # a window stays inside the evaluation: no recommender is asked to rank it
    return HeldOutPairs(snapshot, user, part.profiles.item[entries].astype(np.int64), entries)


def draw(weighting: Weighting, n: int, seed: int) -> Codes:
    """Draw n entries: users by P(u) with repetition, then one item each by P(i|u,w).

    The same seed draws the same users under any weights that leave none out, and the same place in their profiles'
    cumulated probabilities: what differs between two weightings is due to the weights.
    """
    rng = np.random.default_rng(seed)
    at_user, at_item = rng.random(n), rng.random(n)
    p = weighting.part.profiles
    if p.a is None:
        some = np.flatnonzero(p.stop != p.start)
        users = some[place_draws(at_user, len(some))]
    else:
        users = _pick(np.cumsum(p.shares()), at_user)
    return pick_entries(p, weighting.pair_shares, users, at_item)


def place_draws(at: Floats, n: int) -> Codes:
    """Which of n users of equal probability each draw meets; a draw is a number from 0 to 1."""
    places: Codes = np.minimum((at * n).astype(np.int64), n - 1)
    return places


def pick_entries(profiles: Profiles, shares: Floats, users: Codes, at: Floats) -> Codes:
    """One entry of the profile of each of the users, by the probabilities of all entries."""
    found = np.empty(len(users), dtype=np.int64)
    kernels.pick_entries(profiles.rows, shares, users, at, found)
    return found


def _pick(cumulated: Floats, at: Floats) -> Codes:
    found = np.searchsorted(cumulated, at * cumulated[-1], side="right")
    last = int(np.flatnonzero(np.diff(cumulated, prepend=0.0) > 0)[-1])
    picked: Codes = np.minimum(found, last).astype(np.int64)
    return picked
