"""What people take by themselves: who joins when, how much they take, and of what.

An item belongs to one topic and a user likes two. Topics are liked in proportion to the popularity of their
items, so that tastes shape single profiles but not the item mix as a whole.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from unskew.arrays.lookup import find_sorted
from unskew.arrays.types import Codes, Floats, Mask, Times
from unskew.data.snapshot import Snapshot
from unskew.reading.reader import read_log
from unskew.worlds.recipe import Recipe

ORGANIC, HOLDOUT, CAMPAIGN = 0, 1, 2  # streams of random numbers
_MOST_DRAWS = 60  # of an item that the user does not have yet
_LARGEST_SCALE = 1e15  # of profile sizes: beyond it nearly all are the largest


class Tastes(Protocol):
    """How much people like items that they have not taken."""

    def affinity(self, user: Codes, item: Codes) -> Floats:
        """A number between 0 and 1 for each pair."""


@dataclass(frozen=True)
class Events:
    """Who took which item when, as codes and times; each pair comes once."""

    user: Codes
    item: Codes
    time: Times

    def __len__(self) -> int:
        return len(self.user)

    def select(self, keep: Mask) -> Events:
        """Those that the mask keeps."""
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
class Topics:
    """Tastes of simulated people: the topic of each item, and the two topics that each user likes.

    Attributes
    ----------
    of_item
        The topic of each item.
    liked
        The two topics of each user, the one it likes most first.
    likes
        The affinity to items of the first, of the second, and of any other topic.
    """

    of_item: Codes
    liked: Codes
    likes: tuple[float, float, float]

    def affinity(self, user: Codes, item: Codes) -> Floats:
        """1 for the topic liked most, less for the other one, little for the rest."""
        topic = self.of_item[item]
        first, second, rest = self.likes
        affinity: Floats = np.where(
            self.liked[user, 0] == topic, first, np.where(self.liked[user, 1] == topic, second, rest)
        )
        return affinity


def simulate_people(recipe: Recipe, seed: int) -> tuple[Events, Topics]:
    """What everyone takes if nothing is recommended; the same whatever campaigns there are."""
    rng = np.random.default_rng([seed, ORGANIC])
    joined = _draw_joining_days(recipe, rng)
    weight = rng.permutation((np.arange(recipe.items) + recipe.head) ** -recipe.zipf)
    topics = _draw_topics(recipe, rng, weight, joined)
    user, time = _draw_slots(recipe, rng, joined)
    born = np.zeros(recipe.items, dtype=np.int64)
    late = rng.random(recipe.items) < recipe.births
    born[late] = rng.integers(0, recipe.days, int(late.sum()))
    born[np.argmax(weight)] = 0  # there is always something to take
    return _draw_items(recipe, rng, user, time, weight, born, topics), topics


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


def _draw_topics(recipe: Recipe, rng: np.random.Generator, weight: Floats, joined: Codes) -> Topics:
    of_item = np.empty(recipe.items, dtype=np.int64)
    rounds = -(-recipe.items // recipe.topics)  # each topic gets one of the most popular, one of the next, ...
    dealt = rng.permuted(np.tile(np.arange(recipe.topics), (rounds, 1)), axis=1).ravel()
    of_item[np.argsort(-weight, kind="stable")] = dealt[: recipe.items]
    mass = np.bincount(of_item, weights=weight, minlength=recipe.topics)
    slope = rng.permutation(np.linspace(-1, 1, recipe.topics)) if recipe.topics > 1 else np.zeros(1)
    at = rng.random((recipe.users, 2))
    if recipe.trend == 0:
        cumulated = np.cumsum(mass / mass.sum())
        liked = np.minimum(np.searchsorted(cumulated, at, side="right"), recipe.topics - 1)
        return Topics(of_item, liked, recipe.affinity)
    liked = np.empty((recipe.users, 2), dtype=np.int64)
    phase = joined * 20 // recipe.days  # tastes change in twenty steps
    for k in np.unique(phase):
        now = mass * np.exp(recipe.trend * slope * k / 20)
        own = phase == k
        found = np.searchsorted(np.cumsum(now / now.sum()), at[own], side="right")
        liked[own] = np.minimum(found, recipe.topics - 1)
    return Topics(of_item, liked, recipe.affinity)


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


def _draw_items(
    recipe: Recipe,
    rng: np.random.Generator,
    user: Codes,
    time: Codes,
    weight: Floats,
    born: Codes,
    topics: Topics,
) -> Events:
    """Draw an item for each slot; again where the user has it already or it does not exist yet."""
    by_topic = np.argsort(topics.of_item, kind="stable")
    inside = np.concatenate([[0.0], np.cumsum(weight[by_topic])])
    edge = inside[np.searchsorted(topics.of_item[by_topic], np.arange(recipe.topics + 1))]
    item = np.full(len(user), -1, dtype=np.int64)
    have = np.empty(0, dtype=np.int64)
    waiting = np.arange(len(user))
    for _ in range(_MOST_DRAWS):
        n = len(waiting)
        how, at = rng.random(n), rng.random(n)
        topic = topics.liked[user[waiting], np.where(how < recipe.taste * recipe.first, 0, 1)]
        own = how < recipe.taste
        low, high = np.where(own, edge[topic], 0.0), np.where(own, edge[topic + 1], inside[-1])
        place = np.searchsorted(inside, low + at * (high - low), side="right") - 1
        drawn = by_topic[np.minimum(place, recipe.items - 1)]
        key = user[waiting] * recipe.items + drawn
        fits = born[drawn] <= time[waiting]
        first = np.zeros(n, dtype=bool)
        first[np.unique(key, return_index=True)[1]] = True
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
