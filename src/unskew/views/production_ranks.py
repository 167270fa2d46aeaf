"""The rank that a model of production, fitted just before a window, gave to what was taken in it."""

from __future__ import annotations

import numpy as np

from unskew.arrays.types import Codes
from unskew.data.snapshot import Snapshot
from unskew.evaluation.ranking import fit, lists_for
from unskew.progress import progress
from unskew.recommend.contract import Batch, Recommender
from unskew.views.taken_pairs import TakenPairs

DEPTH = 200
"""How far lists are looked through."""

_CELLS = 4_000_000  # of lists in memory at a time


def rank_taken(model: Recommender, taken: TakenPairs) -> Codes:
    """The rank of each pair in the list for the profile just before its window, from 1.

    0 where it is not among the first `DEPTH`, -1 for users who had no profile by then.
    """
    ranks = np.where(taken.size > 0, 0, -1)
    for number in range(len(taken.windows)):
        places = np.flatnonzero((taken.window == number) & (taken.size > 0))
        before = taken.profiles_before(number)
        if before is None or len(places) == 0:
            continue
        now = before.number_by_id()
        fit(model, now)
        item = now.log.item[taken.entry[places]].astype(np.int64)
        ranks[places] = _find_ranks(model, now, taken.user[places], item)
    return ranks


def _find_ranks(model: Recommender, now: Snapshot, user: Codes, item: Codes) -> Codes:
    """The rank of items in the lists of users, made once for each user."""
    depth = min(DEPTH, len(now.log.items))
    order = np.argsort(user, kind="stable")
    whom, first = np.unique(user[order], return_index=True)
    ends = np.append(first, len(user))
    ranks = np.zeros(len(user), dtype=np.int64)
    step = max(1, _CELLS // depth)
    progress().begin(f"making lists by {model}", len(whom), "users")
    for at in range(0, len(whom), step):
        some = whom[at : at + step]
        nothing = np.full(len(some), -1, dtype=np.int64)
        lists, _ = lists_for(model, now, Batch.of(now, some), depth, nothing)
        places = order[ends[at] : ends[at + len(some)]]
        rows = np.searchsorted(some, user[places])
        ranks[places] = _places_in(lists[rows], item[places])
        progress().advance(len(some))
    return ranks


def _places_in(lists: Codes, item: Codes) -> Codes:
    """Where an item is in each list, from 1; 0 if it is not. Nothing counts after a -1."""
    there = lists == item[:, None]
    ended = np.cumsum(lists == -1, axis=1) > 0
    there &= ~ended
    found: Codes = np.where(there.any(axis=1), there.argmax(axis=1) + 1, 0)
    return found
