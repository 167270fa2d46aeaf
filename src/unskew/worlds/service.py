"""Recommending: a campaign shows lists to people, and they take some of it.

Works on codes and times; whether people are simulated or those of a real log makes no difference here.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from unskew.arrays.types import Codes, Times
from unskew.data.ids import Ids
from unskew.data.snapshot import Snapshot
from unskew.evaluation.ranking import fit, lists_for
from unskew.progress import progress
from unskew.recommend import Batch, Recommender, recommender
from unskew.recommend.contract import traits_of
from unskew.worlds.people import PUSH, Events, Tastes
from unskew.worlds.recipe import Campaign

_AT_A_TIME = 50_000  # users
_CELLS = 6_000_000  # of lists in memory at a time
_DEEPER = 12  # how much longer than what is shown a list is, so that most often enough of it may be shown


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
    last
        When it ends.
    ticks_a_day
        How much time a day is.
    anyway
        Probability to take what is shown and would have been taken later anyway; None for `acceptance`.
    ids
        What users and items are called, for recommenders that want to know; None for their codes.
    """

    organic: Events
    tastes: Tastes
    n_users: int
    n_items: int
    shielded: npt.NDArray[np.bool_]
    seed: int
    last: int | float
    ticks_a_day: float = 1.0
    anyway: float | None = None
    ids: tuple[Ids, Ids] | None = None
    events: Events = field(init=False)
    shown: list[Shown] = field(init=False, default_factory=list)
    ranking: Codes | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self.events = self.organic

    def run(self, campaign: Campaign, tick: int | float) -> None:
        """Show recommendations at a time; people take some of them."""
        number = len(self.shown)
        rng = np.random.default_rng([self.seed, PUSH, number])
        progress().stage(f"campaign {number + 1}: recommending by {campaign.recommender}")
        if (self.events.time <= tick).any():
            user, item, position = self._listed(campaign, rng, tick)
        else:  # nobody is there yet
            user = item = position = np.empty(0, dtype=np.int64)
        time = np.full(len(user), tick, dtype=self.organic.time.dtype)
        self.shown.append(Shown(user, item, time, np.full(len(user), number, dtype=np.int64), position))
        self._take(campaign, rng, user, item, tick)

    def organic_view(self) -> Events:
        """What users took without having been shown it before."""
        shown = Shown.joined(self.shown, self.organic.time)
        marked = shown_before(self.events, shown, self.n_items)
        return self.events.only(~marked)

    def _listed(
        self, campaign: Campaign, rng: np.random.Generator, tick: int | float
    ) -> tuple[Codes, Codes, Codes]:
        """User, item and place of what a campaign shows, by codes of the service."""
        now = self.events.until(tick)
        users = now.log.users.values.to_numpy()
        reached = rng.random(self.n_users)[users] < campaign.reach
        reached &= ~self.shielded[users] & (now.sizes() > 0)
        named = self._under_own_ids(now)
        items = now.log.items.values.to_numpy()[named.log.items.order()]
        now = named.number_by_id()
        model = recommender(campaign.recommender)
        fit(model, now)
        may = self._allowed(campaign, now, items)[items]
        user, item, place = _lists(model, now, np.flatnonzero(reached), may, campaign.shown)
        return users[user], items[item], place

    def _under_own_ids(self, now: Snapshot) -> Snapshot:
        """The profiles as a recommender may know them: by the ids of the log, not by codes."""
        if self.ids is None:
            return now
        users = Ids.of(self.ids[0].take(now.log.users.values))
        items = Ids.of(self.ids[1].take(now.log.items.values))
        return replace(now, log=replace(now.log, users=users, items=items))

    def _allowed(self, campaign: Campaign, now: Snapshot, codes: Codes) -> npt.NDArray[np.bool_]:
        """Which items (by code of the service) may be recommended."""
        ranking = codes[np.argsort(-now.counts(), kind="stable")]
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
        if self.organic.time.dtype.kind == "i":
            wait = np.floor(np.minimum(wait, 2.0**62)).astype(np.int64)  # whole ticks: floats have 53 bits
        taken &= wait <= self.last - tick  # what comes later is not seen any more
        time = (tick + wait[taken]).astype(self.organic.time.dtype)
        more = Events(user[taken], item[taken], time)
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
    model: Recommender, now: Snapshot, rows: Codes, may: npt.NDArray[np.bool_], shown: int
) -> tuple[Codes, Codes, Codes]:
    """User, item and place of what is shown: the best of each list that may be, and that the user lacks."""
    n_items = len(may)
    depth = min(shown * _DEEPER, n_items)
    step = max(1, min(_AT_A_TIME, _CELLS // depth))
    found: list[tuple[Codes, Codes, Codes]] = [(np.empty(0, dtype=np.int64),) * 3]
    for at in range(0, len(rows), step):
        some = rows[at : at + step]
        batch = Batch.of(now, some)
        lists, _ = lists_for(model, now, batch, depth, np.full(len(some), -1, dtype=np.int64))
        good = (lists >= 0) & may[lists]
        if traits_of(model).may_recommend_profile:
            held = np.repeat(np.arange(len(some)), np.diff(batch.start)) * n_items + batch.item
            good &= ~np.isin(np.arange(len(some))[:, None] * n_items + lists, held)
        place = np.cumsum(good, axis=1, dtype=np.int64)
        row, column = np.nonzero(good & (place <= shown))
        found.append((some[row], lists[row, column], place[row, column]))
    user, item, position = (np.concatenate(part) for part in zip(*found, strict=True))
    return user, item, position
