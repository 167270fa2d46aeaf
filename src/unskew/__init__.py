"""Comparable offline scores for recommender systems.

The public names live here; each is imported when it is first used, so that ``import unskew`` and
``unskew --help`` are quick.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unskew.evaluation.comparison import Change, Comparison, change, compare
    from unskew.errors import ConvergenceWarning, UnskewError, UnskewWarning
    from unskew.evaluation.evaluate import HeldOutRanks, evaluate, rank_held_out
    from unskew.data.log import Log
    from unskew.data.marginal import Marginal
    from unskew.over_time.timeline import timeline
    from unskew.data.priors import Recency
    from unskew.evaluation.quality import Quality
    from unskew.reading.reader import read_log
    from unskew.recommend.constant import Constant
    from unskew.recommend.ease import EASE
    from unskew.recommend.implicit_models import ImplicitModel
    from unskew.recommend.knn import ItemKNN
    from unskew.recommend.popular import Popular
    from unskew.recommend.table import Table
    from unskew.weights.item_weights import ItemWeights
    from unskew.evaluation.sampling import sample_pairs
    from unskew.evaluation.score import Score
    from unskew.weights.drift import Drift, drift
    from unskew.data.snapshot import Snapshot
    from unskew.over_time.timeline_table import Timeline
    from unskew.weights.fitting import fit_weights
    from unskew.worlds.recipe import Campaign, Recipe
    from unskew.worlds.simulation import simulate
    from unskew.worlds.world import World

__version__ = "0.1.0"

_HOME = {
    "Campaign": "worlds.recipe",
    "Change": "comparison",
    "Comparison": "comparison",
    "Constant": "recommend.constant",
    "ConvergenceWarning": "errors",
    "Drift": "shift",
    "EASE": "recommend.ease",
    "HeldOutRanks": "evaluation",
    "ImplicitModel": "recommend.implicit_models",
    "ItemKNN": "recommend.knn",
    "ItemWeights": "result",
    "Log": "log",
    "Marginal": "marginal",
    "Popular": "recommend.popular",
    "Quality": "quality",
    "Recency": "priors",
    "Recipe": "worlds.recipe",
    "Score": "score",
    "Snapshot": "snapshot",
    "Table": "recommend.table",
    "Timeline": "timeline_result",
    "UnskewError": "errors",
    "UnskewWarning": "errors",
    "World": "worlds.world",
    "change": "comparison",
    "compare": "comparison",
    "drift": "shift",
    "evaluate": "evaluation",
    "fit_weights": "weights",
    "rank_held_out": "evaluation",
    "read_log": "read",
    "sample_pairs": "sampling",
    "timeline": "over_time",
    "simulate": "worlds.simulation",
}

__all__ = [
    "EASE",
    "Campaign",
    "Change",
    "Comparison",
    "Constant",
    "ConvergenceWarning",
    "Drift",
    "HeldOutRanks",
    "ImplicitModel",
    "ItemKNN",
    "ItemWeights",
    "Log",
    "Marginal",
    "Popular",
    "Quality",
    "Recency",
    "Recipe",
    "Score",
    "Snapshot",
    "Table",
    "Timeline",
    "UnskewError",
    "UnskewWarning",
    "World",
    "change",
    "compare",
    "drift",
    "evaluate",
    "fit_weights",
    "rank_held_out",
    "read_log",
    "sample_pairs",
    "simulate",
    "timeline",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(importlib.import_module(f"unskew.{_HOME[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'unskew' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])
