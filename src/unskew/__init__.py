"""Comparable offline scores for recommender systems.

The public names live here; each is imported when it is first used, so that ``import unskew`` and
``unskew --help`` are quick.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unskew.errors import ConvergenceWarning, UnskewError, UnskewWarning
    from unskew.log import Log
    from unskew.marginal import Marginal
    from unskew.priors import Recency
    from unskew.read import read_log
    from unskew.result import ItemWeights
    from unskew.shift import Drift, drift
    from unskew.snapshot import Snapshot
    from unskew.weights import fit_weights

__version__ = "0.1.0"

_HOME = {
    "ConvergenceWarning": "errors",
    "Drift": "shift",
    "ItemWeights": "result",
    "Log": "log",
    "Marginal": "marginal",
    "Recency": "priors",
    "Snapshot": "snapshot",
    "UnskewError": "errors",
    "UnskewWarning": "errors",
    "drift": "shift",
    "fit_weights": "weights",
    "read_log": "read",
}

__all__ = [
    "ConvergenceWarning",
    "Drift",
    "ItemWeights",
    "Log",
    "Marginal",
    "Recency",
    "Snapshot",
    "UnskewError",
    "UnskewWarning",
    "drift",
    "fit_weights",
    "read_log",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(importlib.import_module(f"unskew.{_HOME[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'unskew' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])
