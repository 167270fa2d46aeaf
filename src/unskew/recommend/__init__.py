"""Recommenders: the interface, those that ship with unskew, and how to bring others.

Each name is imported when it is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unskew.recommend.contract import Batch, HeldOutPairs, Recommender
    from unskew.recommend.constant import Constant
    from unskew.recommend.ease import EASE
    from unskew.recommend.function import FunctionRecommender
    from unskew.recommend.implicit_models import ImplicitModel
    from unskew.recommend.knn import ItemKNN
    from unskew.recommend.popular import Popular
    from unskew.recommend.specs import recommender
    from unskew.recommend.table import Table

_HOME = {
    "Batch": "base",
    "Constant": "constant",
    "EASE": "ease",
    "FunctionRecommender": "function",
    "HeldOutPairs": "base",
    "ImplicitModel": "implicit_models",
    "ItemKNN": "knn",
    "Popular": "popular",
    "Recommender": "base",
    "Table": "table",
    "recommender": "specs",
}

__all__ = [
    "EASE",
    "Batch",
    "Constant",
    "FunctionRecommender",
    "HeldOutPairs",
    "ImplicitModel",
    "ItemKNN",
    "Popular",
    "Recommender",
    "Table",
    "recommender",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(importlib.import_module(f"unskew.recommend.{_HOME[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'unskew.recommend' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])
