"""What people take by themselves: who joins when, how much they take, and of what.

An item belongs to one topic and a user likes two. Topics are liked in proportion to the popularity of their
items, so that tastes shape single profiles but not the item mix as a whole.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from unskew.arrays.profiles import find_sorted
from unskew.arrays.types import Codes, Floats, Mask, Times
from unskew.data.slice import Snapshot
from unskew.reading.reader import read_log
from unskew.worlds.recipe import Campaign, Recipe

ORGANIC, HOLDOUT, CAMPAIGN, DEMAND, MOVES, EXPLORE, JOINERS, SEASONS, FEATURES, MAKERS = range(
    10
)  # streams of random numbers
_PHASES = 20  # tastes change in so many steps
_PEAKING = 5  # one in so many topics has the peak of demand
_MOST_DRAWS = 60  # of an item that the user does not have yet
_MORE_DRAWS = 5  # times as many if demand varies, since draws of what is less in demand are rejected
_LARGEST_SCALE = 1e15  # of profile sizes: beyond it nearly all are the largest


class Tastes(Protocol):
    """How much people like items that they have not taken."""

    def affinity(self, user: Codes, item: Codes, tick: int | float = 0) -> Floats:
        """A number between 0 and 1 for each pair, at a time."""


@dataclass(frozen=True)
class Events:
    """Who took which item when, as codes and times; each pair comes once."""

    user: Codes
    item: Codes
    time: Times

    def __len__(self) -> int:
        return len(self.user)

    def select(self, keep: Mask | Codes) -> Events:
        """Those that a mask keeps, or those at some places."""
        return Events(self.user[keep], self.item[keep], self.time[keep])

    def snapshot(self, tick: int | float) -> Snapshot:
        """The profiles at a time, which must not be before the first event; ids are the codes."""
        so_far = self.select(self.time <= tick)
        log = read_log(pa.table({"user": so_far.user, "item": so_far.item, "time": so_far.time}))
        return log.at(log.last)

    def pair_keys(self, n_items: int) -> Codes:
        """One number for each pair of a user and an item."""
        return self.user * n_items + self.item


@dataclass(frozen=True)
class Items:
    """The items of a world: everything about them that is random."""

    weight: Floats  # how popular each item is
    topic: Codes  # the topic of each item
    slope: Floats  # how the demand of new users for each topic moves, between -1 and 1
    born: Codes  # the day on which each item appears
    phase: Floats  # where each topic is in its season on day 0, between 0 and 1
    peaking: Mask  # the topics whose demand has a peak

    @cached_property
    def by_topic(self) -> tuple[Codes, Floats, Floats]:
        """The items in the order of their topics, their weights summed up, and the sums at which topics begin."""
        order = np.argsort(self.topic, kind="stable")
        inside = np.concatenate([[0.0], np.cumsum(self.weight[order])])
        return order, inside, inside[np.searchsorted(self.topic[order], np.arange(len(self.slope) + 1))]

    def draw_related(self, rng: np.random.Generator, item: Codes) -> Codes:
        """An item of the same topic for each of these, by popularity."""
        by_topic, inside, edge = self.by_topic
        low, high = edge[self.topic[item]], edge[self.topic[item] + 1]
        place = np.searchsorted(inside, low + rng.random(len(item)) * (high - low), side="right") - 1
        related: Codes = by_topic[np.minimum(place, len(by_topic) - 1)]
        return related

    def demand(self, recipe: Recipe, item: Codes, day: Codes) -> Floats:
        """How much items are in demand on a day, as a share of the largest possible demand of that day."""
        novelty = np.where(
            self.born[item] > 0, recipe.novelty * np.exp(-np.maximum(day - self.born[item], 0) / recipe.fade), 0.0
        )
        topic = self.topic[item]
        wave = np.sin(2 * np.pi * (day / recipe.period + self.phase[topic]))
        start, end = recipe.peak_days
        outdone = ~self.peaking[topic] & (day >= start) & (day < end)
        shares: Floats = (
            (1 + novelty) / (1 + recipe.novelty) * np.exp(recipe.season * (wave - 1) - recipe.peak * outdone)
        )
        return shares


@dataclass(frozen=True)
class Topics:
    """Tastes of simulated people: the topic of each item, and the two topics that each user likes."""

    of_item: Codes  # the topic of each item
    # The two topics of each user, the one it likes most first; one such table, or one for each step of time if
    # tastes move.
    liked: Codes
    likes: tuple[float, float, float]  # the affinity to items of the first, of the second, and of any other topic
    days: int = 1  # how long the time is

    def liked_at(self, user: Codes, day: int | float | Codes) -> Codes:
        """The two topics that users like on a day."""
        if self.liked.ndim == 2:
            return self.liked[user]
        step = np.asarray(day, dtype=np.int64) * len(self.liked) // self.days
        liked: Codes = self.liked[np.clip(step, 0, len(self.liked) - 1), user]
        return liked

    def affinity(self, user: Codes, item: Codes, tick: int | float = 0) -> Floats:
        """1 for the topic liked most, less for the other one, little for the rest."""
        topic = self.of_item[item]
        first, second, rest = self.likes
        liked = self.liked_at(user, tick)
        affinity: Floats = np.where(liked[:, 0] == topic, first, np.where(liked[:, 1] == topic, second, rest))
        return affinity

    def add(self, liked: Codes) -> Topics:
        """The same with more users, who like these topics."""
        return replace(self, liked=np.concatenate([self.liked, liked], axis=-2))


@dataclass(frozen=True)
class _People:
    """What is random about people, whatever the items are."""

    joined: Codes
    at: Floats  # which topics they like, as quantiles
    user: Codes
    time: Codes


def simulate_people(recipe: Recipe, seed: int) -> tuple[Events, Topics]:
    """What everyone takes if nothing is recommended; the same whatever campaigns there are."""
    rng, people, items = _draw_people(recipe, seed)
    if recipe.item_seed not in (None, seed):
        items = draw_items(recipe, seed)
    topics = _draw_topics(recipe, seed, items, people)
    return _draw_events(recipe, rng, seed, people, items, topics), topics


def draw_items(recipe: Recipe, seed: int) -> Items:
    """The items of a world, without its people."""
    return _draw_people(recipe, seed if recipe.item_seed is None else recipe.item_seed)[2]


def _draw_people(recipe: Recipe, seed: int) -> tuple[np.random.Generator, _People, Items]:
    """People and items, drawn from one stream, and the stream itself for what they do."""
    rng = np.random.default_rng([seed, ORGANIC])
    joined = _draw_joining_days(recipe, rng)
    weight = rng.permutation((np.arange(recipe.items) + recipe.head) ** -recipe.zipf)
    topic = np.empty(recipe.items, dtype=np.int64)
    rounds = -(-recipe.items // recipe.topics)  # each topic gets one of the most popular, one of the next, ...
    dealt = rng.permuted(np.tile(np.arange(recipe.topics), (rounds, 1)), axis=1).ravel()
    topic[np.argsort(-weight, kind="stable")] = dealt[: recipe.items]
    slope = rng.permutation(np.linspace(-1, 1, recipe.topics)) if recipe.topics > 1 else np.zeros(1)
    at = rng.random((recipe.users, 2))
    user, time = _draw_slots(recipe, rng, joined)
    born = np.zeros(recipe.items, dtype=np.int64)
    late = rng.random(recipe.items) < recipe.births
    born[late] = rng.integers(0, recipe.days, int(late.sum()))
    born = born // recipe.birth_every * recipe.birth_every
    born[np.argmax(weight)] = 0  # there is always something to take
    seasons = np.random.default_rng([seed, SEASONS])
    phase = seasons.random(recipe.topics)
    peaking = seasons.permutation(recipe.topics) < -(-recipe.topics // _PEAKING)
    return rng, _People(joined, at, user, time), Items(weight, topic, slope, born, phase, peaking)


def simulate_joiners(recipe: Recipe, seed: int, campaigns: list[Campaign]) -> tuple[list[Events], Codes] | None:
    """What those do by themselves who join because of each campaign, and the topics they like; None for nobody.

    Their codes follow those of everybody else.
    """
    sizes = [round(campaign.joiners * recipe.users) for campaign in campaigns]
    if not sum(sizes):
        return None
    rng = np.random.default_rng([seed, JOINERS])
    wait = np.floor(rng.exponential(np.repeat([campaign.delay for campaign in campaigns], sizes)))
    days = np.repeat([int(campaign.day) for campaign in campaigns], sizes)  # type: ignore[arg-type]
    joined = np.minimum(days + wait.astype(np.int64), recipe.days - 1)
    joiner_recipe = replace(recipe, users=sum(sizes))
    people = _People(joined, rng.random((joiner_recipe.users, 2)), *_draw_slots(joiner_recipe, rng, joined))
    items = draw_items(recipe, seed)
    topics = _draw_topics(joiner_recipe, seed, items, people)
    events = _draw_events(joiner_recipe, rng, seed, people, items, topics)
    number = np.repeat(np.arange(len(sizes)), sizes)[events.user]
    events = replace(events, user=events.user + recipe.users)
    return [events.select(number == k) for k in range(len(sizes))], topics.liked


def _draw_joining_days(recipe: Recipe, rng: np.random.Generator) -> Codes:
    """The day on which each user joins, before the last."""
    last = recipe.days - 1
    early = _truncated_exponential(rng.random(recipe.users), recipe.adoption, last)
    evenly = rng.random(recipe.users) * last
    late = rng.random(recipe.users) < recipe.late
    return np.floor(np.where(late, evenly, early)).astype(np.int64)


def _truncated_exponential(at: Floats, scale: float, length: npt.ArrayLike) -> Floats:
    """Waiting times in [0, length): the quantiles `at` of an exponential distribution that ends there."""
    if scale <= 0:
        return np.zeros_like(at)
    waits: Floats = -scale * np.log1p(-at * -np.expm1(-np.asarray(length, dtype=np.float64) / scale))
    return waits


def _draw_topics(recipe: Recipe, seed: int, items: Items, people: _People) -> Topics:
    """The topics that each user likes, by the mass of topics when it joins, and later if tastes move."""
    mass: Floats = np.bincount(items.topic, weights=items.weight, minlength=recipe.topics).astype(np.float64)
    phase = people.joined * _PHASES // recipe.days
    liked = np.empty((recipe.users, 2), dtype=np.int64)
    for k in np.unique(phase) if recipe.trend != 0 else [0]:
        chosen = phase == k if recipe.trend != 0 else np.ones(recipe.users, dtype=bool)
        liked[chosen] = _choose_topics(recipe, mass, items, people.at[chosen], int(k))
    if recipe.restless == 0:
        return Topics(items.topic, liked, recipe.affinity, recipe.days)
    rng = np.random.default_rng([seed, MOVES])
    steps = [liked]
    for k in range(1, _PHASES):
        moves = (rng.random(recipe.users) < recipe.restless) & (k > phase)
        renewed = _choose_topics(recipe, mass, items, rng.random((recipe.users, 2)), k)
        steps.append(np.where(moves[:, None], renewed, steps[-1]))
    return Topics(items.topic, np.stack(steps), recipe.affinity, recipe.days)


def _choose_topics(recipe: Recipe, mass: Floats, items: Items, at: Floats, phase: int) -> Codes:
    """The topics at quantiles of what is liked in one of the steps of time."""
    now = mass * np.exp(recipe.trend * items.slope * phase / _PHASES) if recipe.trend != 0 else mass
    topics: Codes = np.minimum(np.searchsorted(np.cumsum(now / now.sum()), at, side="right"), recipe.topics - 1)
    return topics


def _draw_slots(recipe: Recipe, rng: np.random.Generator, joined: Codes) -> tuple[Codes, Codes]:
    """A user and a day for each item that somebody takes; everyone takes the first on the day of joining."""
    most = max(1, min(recipe.largest, recipe.items // 4))
    sizes = profile_sizes(rng.random(recipe.users), recipe.organic, recipe.tail, most)
    user = np.repeat(np.arange(recipe.users), sizes)
    room = recipe.days - joined[user]
    soon = _truncated_exponential(rng.random(len(user)), recipe.pace, room)
    wait = np.where(rng.random(len(user)) < recipe.trickle, rng.random(len(user)) * room, soon)
    wait[np.cumsum(sizes) - sizes] = 0.0
    time = joined[user] + np.minimum(np.floor(wait).astype(np.int64), room - 1)
    return user, time


def profile_sizes(at: Floats, mean: float, tail: float, most: int) -> Codes:
    """Sizes of at least 1 and at most `most` whose tail falls like ``n ** -tail``, with (nearly) the given mean.

    `at` are uniform numbers; the scale is found by halving.
    """
    shape = np.maximum(1.0 - at, 1e-12) ** (-1.0 / tail) - 1.0

    def sizes(scale: float) -> Floats:
        return np.minimum(1.0 + np.floor(scale * shape), most)

    low, high = 0.0, float(max(most, 1)) * 4
    while sizes(high).mean() < min(mean, most) and high < _LARGEST_SCALE:
        high *= 2
    for _ in range(60):
        scale = (low + high) / 2
        if sizes(scale).mean() < mean:
            low = scale
        else:
            high = scale
    return sizes(high).astype(np.int64)


def _draw_events(
    recipe: Recipe, rng: np.random.Generator, seed: int, people: _People, items: Items, topics: Topics
) -> Events:
    """Draw an item for each slot; again if the user has it already, it does not exist yet, or demand is low."""
    user, time, weight = people.user, people.time, items.weight
    varies = recipe.novelty > 0 or recipe.season > 0 or recipe.peak > 0
    demand = np.random.default_rng([seed, DEMAND])
    by_topic, inside, edge = items.by_topic
    item = np.full(len(user), -1, dtype=np.int64)
    have = np.empty(0, dtype=np.int64)
    waiting = np.arange(len(user))
    for _ in range(_MOST_DRAWS * (_MORE_DRAWS if varies else 1)):
        n = len(waiting)
        choice, at = rng.random(n), rng.random(n)
        liked = topics.liked_at(user[waiting], time[waiting])
        topic = np.where(choice < recipe.taste * recipe.first, liked[:, 0], liked[:, 1])
        by_taste = choice < recipe.taste
        low, high = np.where(by_taste, edge[topic], 0.0), np.where(by_taste, edge[topic + 1], inside[-1])
        place = np.searchsorted(inside, low + at * (high - low), side="right") - 1
        drawn = by_topic[np.minimum(place, recipe.items - 1)]
        key = user[waiting] * recipe.items + drawn
        fits = items.born[drawn] <= time[waiting]
        if varies:
            fits &= demand.random(n) < items.demand(recipe, drawn, time[waiting])
        first = np.zeros(n, dtype=bool)
        first[np.unique(np.where(fits, key, -1 - np.arange(n)) if varies else key, return_index=True)[1]] = True
        fits &= first & (find_sorted(have, key) < 0)
        item[waiting[fits]] = drawn[fits]
        have = np.union1d(have, key[fits])
        waiting = waiting[~fits]
        if len(waiting) == 0:
            break
    nothing = np.bincount(user[item >= 0], minlength=recipe.users) == 0
    slot = np.searchsorted(user, np.flatnonzero(nothing))  # whoever joins has something
    item[slot] = np.argmax(weight)
    kept = item >= 0
    return Events(user[kept], item[kept], time[kept])
