"""The rank that a model of production gave to interactions in short windows of time.

With a holdout group, both groups live at the same time, and one model fitted just before each window ranks them.
Quiet windows are earlier, when there was less data to learn from: a model of that time ranks what people do by
themselves lower than a later one, which would look like recommendations. So the same models rank the interactions
of both (`rank_with_quiet`). Each model is fitted to the users of other folds, since it has seen the future of
those in quiet windows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from unskew.arrays.types import Codes, Mask
from unskew.data.log import Log
from unskew.data.slice import Snapshot
from unskew.data.times import Moment
from unskew.progress import progress
from unskew.recommend.calls import fit, lists_for
from unskew.recommend.contract import Batch, PreparedLists, Recommender, is_valid_at, traits_of
from unskew.views.short_windows import ShortWindow, label_before, tick_before
from unskew.views.taken_pairs import TakenPairs

DEPTH = 200
"""How far lists are looked through."""

FOLDS = 5
"""Into how many folds users are dealt; each is ranked by models fitted to the others."""

MODELS = 4
"""How many of the models of the windows also rank quiet windows."""

_PART = 5  # of the items is looked through where they are few, so that something is left beyond
_CELLS = 4_000_000  # of lists in memory at a time
_STREAM = 0xF01D  # of random numbers


def rank_taken(model: Recommender, taken: TakenPairs, *, may_lack_lists: bool = False) -> Codes:
    """The rank of each pair in the list for the profile just before its window, from 1; 0 if it is not there.

    Lists are looked through up to `DEPTH`, or a fifth of the items that anyone has. Users who had no profile have
    no list. With `may_lack_lists`, a model with external lists may have none for some windows.
    """
    ranks = np.zeros(len(taken), dtype=np.int64)
    for number, before, places in _windows(taken):
        now = _date_lists(model, before, taken.windows[number])
        if may_lack_lists and is_valid_at(model, now.log.axis, now.tick) is False:
            continue
        fit(model, now)
        ranks[places] = _rank_pairs(model, now, taken, places, _find_depth(now))
    return ranks


def rank_with_quiet(
    model: Recommender, taken: TakenPairs, quiet: TakenPairs, folds: int = FOLDS
) -> tuple[Codes, Codes]:
    """Ranks of pairs, and of quiet pairs: a row for each model that ranked these.

    A model with external lists cannot be fitted to other users, so that its lists of each time count.
    """
    if traits_of(model).external:
        return rank_taken(model, taken), rank_taken(model, quiet, may_lack_lists=True)[None, :]
    chosen = _spread(len(taken.windows), MODELS).tolist()
    ranks = np.zeros(len(taken), dtype=np.int64)
    quiet_ranks = np.zeros((len(chosen), len(quiet)), dtype=np.int64)
    fold = np.random.default_rng(_STREAM).integers(0, folds, len(taken.log.users))
    for number in range(folds):
        own = fold == number
        others = taken.log.keep_entries(~own[taken.log.entry_users()])
        windows = {place: (before, places) for place, before, places in _windows(taken, own)}
        for place, window in enumerate(taken.windows):
            if place not in windows and place not in chosen:
                continue
            learned = _profiles_of(others, window)
            if learned is None:
                continue
            fit(model, learned)
            depth = _find_depth(learned)
            if place in windows:
                before, places = windows[place]
                ranks[places] = _rank_pairs(model, before, taken, places, depth)
            if place in chosen:
                row = quiet_ranks[chosen.index(place)]
                for k, before, places in _windows(quiet, own):
                    exists = _mark_existing(before.log, quiet.windows[k])
                    row[places] = _rank_pairs(model, before, quiet, places, depth, exists)
    return ranks, quiet_ranks


def _windows(taken: TakenPairs, users: Mask | None = None) -> Iterator[tuple[int, Snapshot, Codes]]:
    """The windows with pairs of users who had a profile: number, profiles just before it, and the pairs."""
    for number in range(len(taken.windows)):
        places = np.flatnonzero((taken.window == number) & taken.known)
        if users is not None:
            places = places[users[taken.user[places]]]
        before = taken.profiles_before(number)
        if before is not None and len(places):
            yield number, before.number_by_id(), places


def _spread(number: int, most: int) -> Codes:
    """Up to so many of some places, spread evenly, both ends included."""
    return np.unique(np.linspace(0, number - 1, min(number, most)).round().astype(np.int64))


def _profiles_of(log: Log, window: ShortWindow) -> Snapshot | None:
    """What a model learns from, just before a window; None if there is nothing."""
    tick = tick_before(log, window.start)
    if not (log.time <= tick).any():
        return None
    return Snapshot.of(log, Moment(tick, label_before(log, window.start))).number_by_id()


def _mark_existing(log: Log, window: ShortWindow) -> Mask:
    """Items that somebody had before a window: a model of that time knows no others."""
    exists = np.zeros(len(log.items), dtype=np.bool_)
    exists[log.item[log.time < window.start]] = True
    return exists


def _date_lists(model: Recommender, before: Snapshot, window: ShortWindow) -> Snapshot:
    """The profiles just before a window, with the date whose external lists count.

    That is the start of the window or, if there are none yet, its end.
    """
    if not isinstance(model, PreparedLists):
        return before
    log = before.log
    start, end = window.start, tick_before(log, window.end)
    tick = end if model.is_valid_at(log.axis, start) is False else start
    return replace(before, tick=tick, at=log.axis.show(tick))


def _find_depth(learned: Snapshot) -> int:
    return max(1, min(DEPTH, learned.n_items // _PART))


def _rank_pairs(
    model: Recommender, now: Snapshot, taken: TakenPairs, places: Codes, depth: int, exists: Mask | None = None
) -> Codes:
    """The rank of items in the lists of users, made once for each user; among items that exist, if given."""
    user, item = taken.user[places], now.log.item[taken.entry[places]].astype(np.int64)
    longest = depth if exists is None or exists.all() else min(2 * depth, len(now.log.items))
    order = np.argsort(user, kind="stable")
    users, first = np.unique(user[order], return_index=True)
    ends = np.append(first, len(user))
    ranks = np.zeros(len(user), dtype=np.int64)
    step = max(1, _CELLS // longest)
    progress().begin(f"making lists by {model}", len(users), "users")
    for at in range(0, len(users), step):
        some = users[at : at + step]
        nothing = np.full(len(some), -1, dtype=np.int64)
        lists, _ = lists_for(model, now, Batch.of(now, some), longest, nothing)
        pairs = order[ends[at] : ends[at + len(some)]]
        ranks[pairs] = _places_in(lists[np.searchsorted(some, user[pairs])], item[pairs], exists)
        progress().advance(len(some))
    return np.where(ranks > depth, 0, ranks)


def _places_in(lists: Codes, item: Codes, exists: Mask | None = None) -> Codes:
    """The place of an item in each list, from 1; 0 if it is not there. Nothing counts after a -1."""
    counts = np.cumsum(lists == -1, axis=1) == 0
    if exists is not None:
        counts &= exists[lists]
    matches = counts & (lists == item[:, None])
    place = np.cumsum(counts, axis=1)[np.arange(len(lists)), matches.argmax(axis=1)]
    ranks: Codes = np.where(matches.any(axis=1), place, 0)
    return ranks
