"""Which model stands for production: the one that is named, or the one that explains most of what was taken."""

from __future__ import annotations

from unskew.recommend.specs import AnyRecommender, recommender
from unskew.views.contrast import Contrast, RankedContrast


def choose_production(contrast: Contrast, production: AnyRecommender) -> tuple[RankedContrast, list[str]]:
    """The contrast ranked by a model of production, and what should be said about it."""
    model = recommender(production)
    return contrast.rank(model), [f"production is taken to be {model}"]
