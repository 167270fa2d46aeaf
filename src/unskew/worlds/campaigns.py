"""A service that recommends: its campaigns show lists to people, who take some of what they are shown.

Works on codes and times; whether people are simulated or those of a real log makes no difference here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from unskew.arrays.profiles import find_sorted
from unskew.arrays.types import Codes, Mask, Times
from unskew.data.ids import Ids
from unskew.data.slice import Snapshot
from unskew.progress import progress
from unskew.recommend import Batch, Recommender, recommender
from unskew.recommend.calls import fit, lists_for
from unskew.recommend.contract import traits_of
from unskew.worlds.people import CAMPAIGN, EXPLORE, Events, Items, Tastes
from unskew.worlds.recipe import Campaign

_BLOCK = 50_000  # users at a time
_CELLS = 6_000_000  # of lists in memory at a time
_SPONSORS, _EVERY = 10, 7  # sponsored items: so many, every so many by popularity
_TRIES = 5  # to find a random item that a user lacks
_DEEPER = 12  # how much longer a list is than what is shown, since some of it may not be shown


@dataclass(frozen=True)
class Exposures:
    """Who was shown which item when, by which campaign and at which place of the list (from 1)."""

    user: Codes
    item: Codes
    time: Times
    campaign: Codes
    position: Codes

    @classmethod
    def concatenate(cls, parts: list[Exposures], like: Times) -> Exposures:
        """Several, one after the other; without any, times have the type of `like`."""
        empty = np.empty(0, dtype=np.int64)
        parts = [cls(empty, empty, like[:0], empty, empty), *parts]
        names = ("user", "item", "time", "campaign", "position")
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


@dataclass
class Service:
    """The people of a service, what they took so far, and what they were shown."""

    organic: Events  # what everyone takes by themselves, the future included
    tastes: Tastes  # what they would like
    n_users: int
    n_items: int
    holdout: Mask  # users who are never shown anything
    seed: int
    last: int | float  # when it ends
    ticks_per_day: float = 1.0  # how much time a day is
    # Probability of taking what is shown and would have been taken later anyway; None for `acceptance`.
    anyway: float | None = None
    # The ids of users and items, for recommenders that know them; None for their codes.
    ids: tuple[Ids, Ids] | None = None
    items: Items | None = None  # the items of a simulated world; None for those of a real log
    joiners: list[Events] | None = None  # for each campaign, what those do by themselves who join because of it
    make_model: Callable[[str], Recommender] = recommender  # makes the recommender of a spec
    # What everyone takes by themselves, those included who joined because of a campaign so far.
    unprompted: Events = field(init=False)
    events: Events = field(init=False)  # what everyone took, recommendations included
    # What was shown, one part for each campaign so far.
    exposures: list[Exposures] = field(init=False, default_factory=list)
    # Items by popularity at the first campaign, by which some are excluded; None before it.
    ranking: Codes | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self.events = self.unprompted = self.organic

    def run(self, campaign: Campaign, tick: int | float) -> None:
        """Show recommendations at a time; people take some of them."""
        number = len(self.exposures)
        rng = np.random.default_rng([self.seed, CAMPAIGN, number])
        progress().stage(f"campaign {number + 1}: recommending by {campaign.recommender}")
        if (self.events.time <= tick).any():
            user, item, position = self._recommend(campaign, rng, tick)
        else:  # nobody is there yet
            user = item = position = np.empty(0, dtype=np.int64)
        time = np.full(len(user), tick, dtype=self.organic.time.dtype)
        numbers = np.full(len(user), number, dtype=np.int64)
        self.exposures.append(Exposures(user, item, time, numbers, position))
        self._accept(campaign, rng, user, item, position, tick)
        if self.joiners is not None:
            self._join(self.joiners[number], rng, item)

    def all_exposures(self) -> Exposures:
        """What was shown by all campaigns so far."""
        return Exposures.concatenate(self.exposures, self.organic.time)

    def mark_exposed(self) -> Mask:
        """Which events are of a pair that had been shown before."""
        return mark_exposed(self.events, self.all_exposures(), self.n_items)

    def organic_view(self) -> Events:
        """What users took without having been shown it before."""
        return self.events.select(~self.mark_exposed())

    def _recommend(
        self, campaign: Campaign, rng: np.random.Generator, tick: int | float
    ) -> tuple[Codes, Codes, Codes]:
        """User, item and place of what a campaign shows, by codes of the service."""
        now = self.events.snapshot(tick)
        users = now.log.users.values.to_numpy()
        reached = rng.random(self.n_users)[users] < campaign.reach
        reached &= ~self.holdout[users] & (now.sizes() > 0)
        named = self._restore_ids(now)
        items = now.log.items.values.to_numpy()[named.log.items.order()]
        now = named.number_by_id()
        model = self.make_model(campaign.recommender)
        fit(model, now)
        allowed = self._find_catalogue(campaign, now, items)
        user, item, place = _make_lists(model, now, np.flatnonzero(reached), allowed[items], campaign.shown)
        user, item = users[user], items[item]
        have = self.events.select(self.events.time <= tick).pair_keys(self.n_items)
        if campaign.explore > 0:
            item = self._explore(campaign, user, item, np.intersect1d(np.flatnonzero(allowed), items), have)
        if campaign.sponsored > 0:
            user, item, place = self._sponsor(campaign, users[reached], user, item, place, have)
        return user, item, place

    def _explore(self, campaign: Campaign, user: Codes, item: Codes, choice: Codes, have: Codes) -> Codes:
        """The same lists, with random items in a share of the places; a place stays if no tried item is new."""
        rng = np.random.default_rng([self.seed, EXPLORE, len(self.exposures)])
        item = item.copy()
        waiting = np.flatnonzero(rng.random(len(user)) < campaign.explore)
        for _ in range(_TRIES if len(choice) else 0):
            drawn = choice[rng.integers(0, len(choice), len(waiting))]
            key = user[waiting] * self.n_items + drawn
            fits = ~np.isin(key, have) & ~np.isin(key, user * self.n_items + item)
            first = np.zeros(len(key), dtype=bool)
            first[np.unique(key, return_index=True)[1]] = True
            fits &= first
            item[waiting[fits]] = drawn[fits]
            waiting = waiting[~fits]
        return item

    def _sponsor(
        self, campaign: Campaign, users: Codes, user: Codes, item: Codes, place: Codes, have: Codes
    ) -> tuple[Codes, Codes, Codes]:
        """The same lists with sponsored items at the top, as long as before or as `shown`."""
        assert self.ranking is not None
        sponsors = self.ranking[_EVERY - 1 :: _EVERY][:_SPONSORS]
        key = np.repeat(users, len(sponsors)) * self.n_items + np.tile(sponsors, len(users))
        key = key[~np.isin(key, have)]
        paid = key // self.n_items
        starts = np.flatnonzero(np.r_[True, paid[1:] != paid[:-1]]) if len(paid) else np.empty(0, dtype=np.int64)
        turn = np.arange(len(key)) - np.repeat(starts, np.diff(np.r_[starts, len(key)]))
        key, turn = key[turn < campaign.sponsored], turn[turn < campaign.sponsored]
        keys = np.concatenate([key, user * self.n_items + item])
        rank = np.concatenate([turn, campaign.sponsored + place])
        _, first = np.unique(keys, return_index=True)  # an item that is on the list anyway comes once, at the top
        keys, rank = keys[first], rank[first]
        order = np.lexsort((rank, keys // self.n_items))
        keys = keys[order]
        owner = keys // self.n_items
        place = np.arange(len(keys)) - np.searchsorted(owner, owner) + 1
        shown = place <= campaign.shown
        return owner[shown], keys[shown] % self.n_items, place[shown]

    def _restore_ids(self, now: Snapshot) -> Snapshot:
        """The profiles as a recommender may know them: by the ids of the log, not by codes."""
        if self.ids is None:
            return now
        users = Ids.of(self.ids[0].take(now.log.users.values))
        items = Ids.of(self.ids[1].take(now.log.items.values))
        return replace(now, log=replace(now.log, users=users, items=items))

    def _find_catalogue(self, campaign: Campaign, now: Snapshot, codes: Codes) -> Mask:
        ranking = codes[np.argsort(-now.counts(), kind="stable")]
        if self.ranking is None:  # what is excluded once stays excluded
            self.ranking = ranking
        most = max(round(campaign.catalogue * self.n_items), 20)
        allowed = np.zeros(self.n_items, dtype=bool)
        allowed[ranking[:most]] = True
        if campaign.excluded:
            allowed[self.ranking[campaign.excluded - 1 :: campaign.excluded]] = False
        return allowed

    def _accept(
        self,
        campaign: Campaign,
        rng: np.random.Generator,
        user: Codes,
        item: Codes,
        position: Codes,
        tick: int | float,
    ) -> None:
        liked = self.tastes.affinity(user, item, tick)
        length = np.bincount(user, minlength=self.n_users)[user]
        usual = np.bincount(user, weights=liked, minlength=self.n_users)[user] / length
        chance = campaign.acceptance * liked / np.where(usual > 0, usual, 1.0)
        if campaign.position_bias > 0:
            seen = position**-campaign.position_bias
            chance *= seen * length / np.bincount(user, weights=seen, minlength=self.n_users)[user]
        if campaign.activity_bias > 0 and len(user):
            sizes = np.bincount(self.events.user[self.events.time <= tick], minlength=self.n_users)
            active = sizes[user].astype(np.float64) ** campaign.activity_bias
            chance *= active / active.mean()
        chance = np.minimum(chance, 1.0)
        key = user * self.n_items + item
        later = np.isin(key, self.unprompted.pair_keys(self.n_items))
        chance[later] = campaign.acceptance if self.anyway is None else self.anyway
        wait = rng.exponential(campaign.delay * self.ticks_per_day, len(user))
        taken = rng.random(len(user)) < chance
        if self.organic.time.dtype.kind == "i":
            wait = np.floor(np.minimum(wait, 2.0**62)).astype(np.int64)  # whole ticks: floats have 53 bits
        taken &= wait <= self.last - tick  # what comes later is not seen any more
        time = (tick + wait[taken]).astype(self.organic.time.dtype)
        more = Events(user[taken], item[taken], time)
        if campaign.substitution > 0:
            self._substitute(campaign, rng, more, new=~later[taken])
        self.events = _merge_earliest(self.events, more, self.n_items)
        if campaign.spill_over > 0:
            self._spill_over(campaign, rng, more)

    def _substitute(self, campaign: Campaign, rng: np.random.Generator, accepted: Events, *, new: Mask) -> None:
        """Remove what users would have interacted with next, had they not accepted something else."""
        chosen = accepted.select(new & (rng.random(len(accepted)) < campaign.substitution))
        keys = self.events.pair_keys(self.n_items)
        replaceable = np.flatnonzero(
            np.isin(self.events.user, chosen.user)
            & np.isin(keys, self.unprompted.pair_keys(self.n_items))
            & ~np.isin(keys, accepted.pair_keys(self.n_items))  # what was only hastened is not replaced
        )
        replaceable = replaceable[np.lexsort((self.events.time[replaceable], self.events.user[replaceable]))]
        removed = np.zeros(len(self.events), dtype=bool)
        place, previous = 0, -1
        for k in np.lexsort((chosen.time, chosen.user)):
            user, time = chosen.user[k], chosen.time[k]
            if user != previous:
                place, previous = int(np.searchsorted(self.events.user[replaceable], user)), user
            while place < len(replaceable) and self.events.user[replaceable[place]] == user:
                place += 1
                if self.events.time[replaceable[place - 1]] > time:
                    removed[replaceable[place - 1]] = True
                    break
        self.events = self.events.select(~removed)

    def _spill_over(self, campaign: Campaign, rng: np.random.Generator, accepted: Events) -> None:
        """Add interactions with other items of the topics of what was accepted."""
        assert self.items is not None
        cause = accepted.select(rng.random(len(accepted)) < campaign.spill_over)
        item = self.items.draw_related(rng, cause.item)
        time = cause.time + np.floor(rng.exponential(campaign.delay, len(cause))).astype(np.int64)
        happens = (time <= self.last) & (self.items.born[item] <= time)
        self.events = _merge_earliest(self.events, Events(cause.user, item, time).select(happens), self.n_items)

    def _join(self, joiners: Events, rng: np.random.Generator, shown: Codes) -> None:
        """Add users who come for an item that the campaign shows, and stay."""
        if len(shown):
            early = joiners.select(np.lexsort((joiners.time, joiners.user)))
            user, first = np.unique(early.user, return_index=True)
            item = shown[rng.integers(0, len(shown), len(user))]
            self.events = _merge_earliest(self.events, Events(user, item, early.time[first]), self.n_items)
        self.events = _merge_earliest(self.events, joiners, self.n_items)
        self.unprompted = _merge_earliest(self.unprompted, joiners, self.n_items)


def mark_exposed(events: Events, shown: Exposures, n_items: int) -> Mask:
    """Which events are of a pair that had been shown at or before their time."""
    if len(shown.user) == 0:
        return np.zeros(len(events), dtype=bool)
    keys = shown.user * n_items + shown.item
    order = np.lexsort((shown.time, keys))
    shown_keys, first = np.unique(keys[order], return_index=True)
    earliest = shown.time[order][first]
    at = find_sorted(shown_keys, events.pair_keys(n_items))
    exposed: Mask = (at >= 0) & (earliest[at] <= events.time)
    return exposed


def _merge_earliest(events: Events, more: Events, n_items: int) -> Events:
    """Both together; a pair that is in both counts once, at its earlier time."""
    user, item = np.concatenate([events.user, more.user]), np.concatenate([events.item, more.item])
    time = np.concatenate([events.time, more.time])
    key = user * n_items + item
    order = np.lexsort((time, key))
    first = np.ones(len(order), dtype=bool)
    first[1:] = key[order][1:] != key[order][:-1]
    kept = np.sort(order[first])
    return Events(user[kept], item[kept], time[kept])


def _make_lists(
    model: Recommender, now: Snapshot, rows: Codes, allowed: Mask, shown: int
) -> tuple[Codes, Codes, Codes]:
    """User, item and place of what is shown: the best of each list that are allowed and that the user lacks."""
    n_items = len(allowed)
    depth = min(shown * _DEEPER, n_items)
    step = max(1, min(_BLOCK, _CELLS // depth))
    parts: list[tuple[Codes, Codes, Codes]] = [(np.empty(0, dtype=np.int64),) * 3]
    for at in range(0, len(rows), step):
        block = rows[at : at + step]
        batch = Batch.of(now, block)
        lists, _ = lists_for(model, now, batch, depth, np.full(len(block), -1, dtype=np.int64))
        good = (lists >= 0) & allowed[lists]
        if traits_of(model).may_recommend_profile:
            held = np.repeat(np.arange(len(block)), np.diff(batch.start)) * n_items + batch.item
            good &= ~np.isin(np.arange(len(block))[:, None] * n_items + lists, held)
        place = np.cumsum(good, axis=1, dtype=np.int64)
        row, column = np.nonzero(good & (place <= shown))
        parts.append((block[row], lists[row, column], place[row, column]))
    user, item, position = (np.concatenate(part) for part in zip(*parts, strict=True))
    return user, item, position
