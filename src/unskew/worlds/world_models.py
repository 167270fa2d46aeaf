"""Models of a world: productions that know what no log says, or that follow the day.

Content models know about the topics of items, and nothing of other users. The features of an item are its topic
with noise, scaled to length 1::

    f_i = (e_topic(i) + noise * g_i / sqrt(topics)) / |...|        g_i standard normal

and an item's score for a user is the inner product of its features with the mean of those of the user's profile.
Models of the same world differ only in their noise, so that none is better than another in expectation: twins.

Two others resemble none of the stand-ins that unskew has for production: `TrendingModel` shows what was interacted
with most in the last days, and `MakerModel` more of the makers of what a user has. Makers are drawn without regard
to topics and popularity.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from unskew.arrays.types import Codes, Floats
from unskew.checks import require_whole_number
from unskew.data.slice import Snapshot
from unskew.recommend.contract import Batch, Recommender, Traits, top_k
from unskew.recommend.specs import recommender
from unskew.worlds.people import FEATURES, MAKERS, draw_items
from unskew.worlds.recipe import CONTENT, Recipe, is_world_model

_STEPS = 1024.0  # features are whole multiples of 1 / 1024: sums of products are exact, in any order
_MOST_TWINS = 1000
_TREND_DAYS = 14
_EACH = 7  # items of a maker, on average


@dataclass(eq=False)
class ContentModel:
    """Recommends the items whose features are closest to those of the profile."""

    features: Floats  # a row for each item of the world, by its id
    name: str  # what results call it
    traits: ClassVar[Traits] = Traits(learns="nothing")

    def __str__(self) -> str:
        return self.name

    def fit(self, snapshot: Snapshot, /) -> Self:
        """Look up the features of the items of a log; nothing is learned from its interactions."""
        self._rows = self.features[snapshot.log.items.values.to_numpy()]
        self._unknown = snapshot.counts() == 0  # nobody has them yet
        return self

    def recommend(self, profiles: Batch, k: int, /) -> Codes:
        """The items with the largest inner products, without those of the profile."""
        matrix = profiles.matrix().astype(np.float64)
        scores: Floats = (matrix @ self._rows) @ self._rows.T
        scores[matrix.nonzero()] = -np.inf
        scores[:, self._unknown] = -np.inf
        return top_k(scores, k)


@dataclass(eq=False)
class TrendingModel:
    """Recommends to everybody what most users interacted with in the last days."""

    traits: ClassVar[Traits] = Traits(learns="nothing")

    def __str__(self) -> str:
        return "trending"

    def fit(self, snapshot: Snapshot, /) -> Self:
        """Count the interactions of the last days."""
        log = snapshot.log
        recent = (log.time <= snapshot.tick) & (log.time > snapshot.tick - _TREND_DAYS)
        self._counts = np.bincount(log.item[recent], minlength=len(log.items)).astype(np.float64)
        self._counts[self._counts == 0] = -np.inf
        return self

    def recommend(self, profiles: Batch, k: int, /) -> Codes:
        """The items with the largest counts, without those of the profile."""
        scores: Floats = np.tile(self._counts, (len(profiles), 1))
        scores[profiles.matrix().nonzero()] = -np.inf
        return top_k(scores, k)


@dataclass(eq=False)
class MakerModel:
    """Recommends other items of the makers of what a user has, those of the most frequent makers first."""

    maker: Codes  # the maker of each item of the world, by the item's id
    traits: ClassVar[Traits] = Traits(learns="nothing")

    def __str__(self) -> str:
        return "same-maker"

    def fit(self, snapshot: Snapshot, /) -> Self:
        """Look up the makers, and count how many users have each item."""
        maker = self.maker[snapshot.log.items.values.to_numpy()]
        self._makers = np.eye(int(self.maker.max()) + 1)[maker]
        self._counts = snapshot.counts()
        return self

    def recommend(self, profiles: Batch, k: int, /) -> Codes:
        """By the number of items of the same maker in the profile, then by the number of users who have them."""
        matrix = profiles.matrix().astype(np.float64)
        same: Floats = (matrix @ self._makers) @ self._makers.T
        scores: Floats = same + self._counts / (self._counts.max() + 1)
        scores[(same == 0) | (self._counts == 0)] = -np.inf
        scores[matrix.nonzero()] = -np.inf
        return top_k(scores, k)


def make_content_model(recipe: Recipe, seed: int, twin: int = 0) -> ContentModel:
    """The content model of a world, or one of its twins; the same whatever was recommended."""
    twin = require_whole_number("twin", twin, "a number of a content model", 0, _MOST_TWINS)
    topic = draw_items(recipe, seed).topic
    item_seed = seed if recipe.item_seed is None else recipe.item_seed
    noise = np.random.default_rng([item_seed, FEATURES, twin]).standard_normal((recipe.items, recipe.topics))
    features = np.eye(recipe.topics)[topic] + recipe.noise / np.sqrt(recipe.topics) * noise
    length = np.sqrt((features * features).sum(axis=1, keepdims=True))
    features = np.round(_STEPS * features / np.where(length > 0, length, 1.0)) / _STEPS
    return ContentModel(features, CONTENT[twin] if twin < len(CONTENT) else f"{CONTENT[0]}-{twin}")


def make_production(spec: str, recipe: Recipe, seed: int) -> Recommender:
    """What makes the lists of a campaign: a model of the world, or the recommender of a spec."""
    if not is_world_model(spec):
        return recommender(spec)
    if spec in CONTENT:
        return make_content_model(recipe, seed, CONTENT.index(spec))
    if spec == str(TrendingModel()):
        return TrendingModel()
    item_seed = seed if recipe.item_seed is None else recipe.item_seed
    makers = max(recipe.items // _EACH, 1)
    return MakerModel(np.random.default_rng([item_seed, MAKERS]).integers(0, makers, recipe.items))
