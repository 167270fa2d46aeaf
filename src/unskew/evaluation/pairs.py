"""Held-out pairs: which item of which profile is taken out.

Exhaustive: every pair of a user and an item of its profile, weighted by P(u) P(i|u,w). Sampled: users drawn by
P(u) with repetition, then one item each by P(i|u,w). Everything here is in terms of entries (positions in
``profiles.item``), so that weights and ranks line up without any look-up.
"""

from __future__ import annotations

from typing import cast

import numpy as np

from unskew.arrays.rows import all_entries, all_users, users_of
from unskew.arrays.types import Codes, Floats
from unskew.data.slice import Slice
from unskew.data.snapshot import Snapshot
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
    order = np.argsort(at_user)  # looked up one beside the other, they are found three times as fast
    at_user, at_item = at_user[order], at_item[order]
    p = weighting.part.profiles
    users = _pick(np.cumsum(p.shares()), at_user)
    shares = weighting.pair_shares
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
