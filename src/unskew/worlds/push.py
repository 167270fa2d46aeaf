"""Recommending: a campaign shows lists to people, and they take some of it.

Works on codes and times; whether people are simulated or those of a real log makes no difference here.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from unskew.progress import progress
from unskew.recommend import Batch, Recommender, recommender
from unskew.snapshot import Snapshot
from unskew.worlds.people import PUSH, Codes, Events, Tastes, Times
from unskew.worlds.recipe import Campaign

_AT_A_TIME = 50_000  # users
_DEEPER = 12  # how much longer than what is shown a list is, so that enough of it may be shown


@dataclass(frozen=True)
class Shown:
    """Who was shown which item when, by which campaign and at which place of the list (from 1)."""

    user: Codes
    item: Codes
    time: Times
    campaign: Codes
    position: Codes

    @classmethod
    def joined(cls, parts: list[Shown], like: Times) -> Shown:
        """Several one after the other; none at all has times such as `like`."""
        empty = np.empty(0, dtype=np.int64)
        parts = [cls(empty, empty, like[:0], empty, empty), *parts]
        names = ("user", "item", "time", "campaign", "position")
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


@dataclass
class Service:
    """A service that recommends: the people, what they took so far, what they were shown.

    Attributes
    ----------
    organic
        What everyone takes by itself, the future included.
    tastes
        What they would like.
    shielded
        Users who are never shown anything.
    ticks_a_day
        How much time a day is.
    anyway
        Probability to take what is shown and would have been taken later anyway; None for `acceptance`.
    """

    organic: Events
    tastes: Tastes
    n_users: int
    n_items: int
    shielded: npt.NDArray[np.bool_]
    seed: int
    ticks_a_day: float = 1.0
    anyway: float | None = None
    last: float = np.inf
    events: Events = field(init=False)
    shown: list[Shown] = field(init=False, default_factory=list)
    ranking: Codes | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self.events = self.organic

    def run(self, campaign: Campaign, tick: int | float) -> None:
        """Show recommendations at a time; people take some of them."""
        if not (self.events.time <= tick).any():
            return
        number = len(self.shown)
        rng = np.random.default_rng([self.seed, PUSH, number])
        progress().stage(f"campaign {number + 1}: recommending by {campaign.recommender}")
        now = self.events.until(tick)
        users = now.log.users.values.to_numpy()
        reached = rng.random(self.n_users)[users] < campaign.reach
        reached &= ~self.shielded[users] & (now.sizes() > 0)
        made = recommender(campaign.recommender).fit(now)
        allowed = self.allowed(campaign, now)
        user, item, position = _lists(made, now, np.flatnonzero(reached), allowed, campaign.shown)
        time = np.full(len(user), tick, dtype=self.organic.time.dtype)
        self.shown.append(Shown(user, item, time, np.full(len(user), number, dtype=np.int64), position))
        self._take(campaign, rng, user, item, tick)

    def organic_view(self) -> Events:
        """What users took without having been shown it before."""
        shown = Shown.joined(self.shown, self.organic.time)
        marked = shown_before(self.events, shown, self.n_items)
        return self.events.only(~marked)

    def allowed(self, campaign: Campaign, now: Snapshot) -> npt.NDArray[np.bool_]:
        """Which items (by code of the service) may be recommended."""
        codes = now.log.items.values.to_numpy()
        ranking = codes[np.lexsort((codes, -now.counts()))]
        if self.ranking is None:  # what is excluded stays so
            self.ranking = ranking
        most = max(round(campaign.catalogue * self.n_items), 20)
        allowed = np.zeros(self.n_items, dtype=bool)
        allowed[ranking[:most]] = True
        if campaign.excluded:
            allowed[self.ranking[campaign.excluded - 1 :: campaign.excluded]] = False
        return allowed

    def _take(
        self, campaign: Campaign, rng: np.random.Generator, user: Codes, item: Codes, tick: int | float
    ) -> None:
        liked = self.tastes.affinity(user, item)
        length = np.bincount(user, minlength=self.n_users)[user]
        usual = np.bincount(user, weights=liked, minlength=self.n_users)[user] / length
        chance = np.minimum(campaign.acceptance * liked / np.where(usual > 0, usual, 1.0), 1.0)
        key = user * self.n_items + item
        later = np.isin(key, self.organic.keys(self.n_items))
        chance[later] = campaign.acceptance if self.anyway is None else self.anyway
        wait = rng.exponential(campaign.delay * self.ticks_a_day, len(user))
        taken = rng.random(len(user)) < chance
        time = np.minimum(tick + wait, self.last)
        if self.organic.time.dtype.kind == "i":
            time = np.floor(time)
        more = Events(user[taken], item[taken], time[taken].astype(self.organic.time.dtype))
        self.events = _earliest(self.events, more, self.n_items)


def shown_before(events: Events, shown: Shown, items: int) -> npt.NDArray[np.bool_]:
    """Which events are of a pair that had been shown at or before their time."""
    if len(shown.user) == 0:
        return np.zeros(len(events), dtype=bool)
    keys = shown.user * items + shown.item
    order = np.lexsort((shown.time, keys))
    found, first = np.unique(keys[order], return_index=True)
    earliest = shown.time[order][first]
    wanted = events.keys(items)
    at = np.minimum(np.searchsorted(found, wanted), len(found) - 1)
    marked: npt.NDArray[np.bool_] = (found[at] == wanted) & (earliest[at] <= events.time)
    return marked


def _earliest(events: Events, more: Events, items: int) -> Events:
    """Both together; a pair that is in both counts where it comes first."""
    user, item = np.concatenate([events.user, more.user]), np.concatenate([events.item, more.item])
    time = np.concatenate([events.time, more.time])
    key = user * items + item
    order = np.lexsort((time, key))
    first = np.ones(len(order), dtype=bool)
    first[1:] = key[order][1:] != key[order][:-1]
    kept = np.sort(order[first])
    return Events(user[kept], item[kept], time[kept])


def _lists(
    model: Recommender, now: Snapshot, rows: Codes, allowed: npt.NDArray[np.bool_], shown: int
) -> tuple[Codes, Codes, Codes]:
    """User, item and place of what is shown: the best of each list that may be, and that the user lacks."""
    ids, users = now.log.items.values.to_numpy(), now.log.users.values.to_numpy()
    may = allowed[ids]
    depth = min(shown * _DEEPER, len(ids))
    found = []
    for at in range(0, len(rows), _AT_A_TIME):
        some = rows[at : at + _AT_A_TIME]
        batch = _batch(now, some)
        lists = model.recommend(batch, depth)
        good = (lists >= 0) & may[lists]
        if getattr(model, "may_recommend_profile", False):
            held = np.repeat(np.arange(len(some)), np.diff(batch.start)) * len(ids) + batch.item
            good &= ~np.isin(np.arange(len(some))[:, None] * len(ids) + lists, held)
        place = np.cumsum(good, axis=1)
        row, column = np.nonzero(good & (place <= shown))
        found.append((users[some[row]], ids[lists[row, column]], place[row, column]))
    if not found:
        empty = np.empty(0, dtype=np.int64)
        return empty, empty, empty
    user, item, place = (np.concatenate(part).astype(np.int64) for part in zip(*found, strict=True))
    return user, item, place


def _batch(now: Snapshot, rows: Codes) -> Batch:
    p = now.profiles
    first = p.start[rows].astype(np.int64)
    sizes = p.stop[rows].astype(np.int64) - first
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    entries = np.arange(offsets[-1]) + np.repeat(first - offsets[:-1], sizes)
    return Batch(rows, offsets, p.item[entries].astype(np.int64), p.n_items)
