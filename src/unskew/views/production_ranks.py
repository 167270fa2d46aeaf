"""The rank that a model of production, fitted just before a window, gave to what was taken in it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from unskew.arrays.types import Codes
from unskew.data.snapshot import Snapshot
from unskew.evaluation.ranking import fit, lists_for
from unskew.progress import progress
from unskew.recommend.contract import Batch, PreparedLists, Recommender, is_valid_at
from unskew.views.short_windows import ShortWindow, tick_before
from unskew.views.taken_pairs import TakenPairs

DEPTH = 200
"""How far lists are looked through."""

_PART = 5  # of the items is looked through where they are few, so that something is left beyond
_CELLS = 4_000_000  # of lists in memory at a time


def rank_taken(model: Recommender, taken: TakenPairs, *, may_lack_lists: bool = False) -> Codes:
    """The rank of each pair in the list for the profile just before its window, from 1; 0 if it is not there.

    Lists are looked through up to `DEPTH`, or a fifth of the items that anyone holds. Users who had no profile
    have no list. With `may_lack_lists`, a model whose lists were made elsewhere may have none for some windows.
    """
    ranks = np.zeros(len(taken), dtype=np.int64)
    for number in range(len(taken.windows)):
        places = np.flatnonzero((taken.window == number) & taken.known)
        before = taken.profiles_before(number)
        if before is None or len(places) == 0:
            continue
        now = _date_lists(model, before.number_by_id(), taken.windows[number])
        if may_lack_lists and is_valid_at(model, now.log.axis, now.tick) is False:
            continue
        fit(model, now)
        item = now.log.item[taken.entry[places]].astype(np.int64)
        ranks[places] = _find_ranks(model, now, taken.user[places], item)
    return ranks


def _date_lists(model: Recommender, before: Snapshot, window: ShortWindow) -> Snapshot:
    """The profiles just before a window, with the date of which lists made elsewhere are taken.

    That is the start of the window or, if there are none yet, its end.
    """
    if not isinstance(model, PreparedLists):
        return before
    log = before.log
    start, end = window.start, tick_before(log, window.end)
    tick = end if model.is_valid_at(log.axis, start) is False else start
    return replace(before, tick=tick, at=log.axis.show(tick))


def _find_ranks(model: Recommender, now: Snapshot, user: Codes, item: Codes) -> Codes:
    """The rank of items in the lists of users, made once for each user."""
    depth = max(1, min(DEPTH, now.n_items // _PART))
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
