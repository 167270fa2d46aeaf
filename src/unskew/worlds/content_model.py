"""Content models of a world: recommenders that know about the topics of items, and nothing of other users.

The features of an item are its topic with noise, scaled to length 1::

    f_i = (e_topic(i) + noise * g_i / sqrt(topics)) / |...|        g_i standard normal

and an item's score for a user is the inner product of its features with the mean of those of the user's profile.
Models of the same world differ only in their noise, so that none is better than another in expectation: twins.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from unskew.arrays.types import Codes, Floats
from unskew.checks import require_whole_number
from unskew.data.snapshot import Snapshot
from unskew.recommend.contract import Batch, Recommender, Traits, top_k
from unskew.recommend.specs import recommender
from unskew.worlds.people import FEATURES, draw_items
from unskew.worlds.recipe import CONTENT, Recipe, is_content

_STEPS = 1024.0  # features are whole multiples of 1 / 1024: sums of products are exact, in any order
_MOST_TWINS = 1000


@dataclass(eq=False)
class ContentModel:
    """Recommends the items whose features are closest to those of the profile.

    Attributes
    ----------
    features
        A row for each item of the world, by its id.
    name
        What results call it.
    """

    features: Floats
    name: str
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
    """What makes the lists of a campaign: a content model of the world, or the recommender of a spec."""
    return make_content_model(recipe, seed, CONTENT.index(spec)) if is_content(spec) else recommender(spec)
