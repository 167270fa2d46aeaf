"""Checks that the recommenders share: their options, and that they have been fitted."""

from __future__ import annotations

import math
from collections.abc import Collection
from numbers import Integral, Real
from typing import Any, TypeVar

from unskew.errors import PolicyError, UnskewError
from unskew.data.snapshot import Snapshot

Model = TypeVar("Model")

LEAVE_OUT = ("exact", "profile")


def whole_number(name: str, value: Any, what: str, least: int = 1) -> int:
    """`value` as an integer of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise PolicyError(f"{name} is {value!r}; {what}: give a whole number of at least {least}")
    return int(value)


def number(name: str, value: Any, what: str, low: float, high: float = math.inf) -> float:
    """`value` as a finite number between `low` and `high`."""
    known = isinstance(value, Real) and not isinstance(value, bool)
    if not known or not math.isfinite(value) or not low <= value <= high:
        upper = "" if high == math.inf else f" and at most {high:g}"
        raise PolicyError(f"{name} is {value!r}; {what}: give a finite number of at least {low:g}{upper}")
    return float(value)


def one_of(name: str, value: Any, known: Collection[str]) -> str:
    """`value`, which must be one of the `known` names."""
    if not isinstance(value, str) or value not in known:
        raise PolicyError(f"{name} is {value!r}; it must be one of {', '.join(known)}")
    return value


def fitted(model: Model | None, recommender: Any) -> Model:
    """What `fit` has left behind, or an error that asks for it."""
    if model is None:
        raise UnskewError(f"{recommender!r} has not been fitted: call fit(snapshot) first")
    return model


def require_same_date(recommender: Any, tick: int | float, snapshot: Snapshot) -> None:
    """Exact leave-one-out takes a pair out of the counts, so it must have been counted."""
    if snapshot.tick != tick:
        raise PolicyError(
            f"{recommender!r} was fitted at another date than {snapshot.at}, from which the held-out pairs are: "
            "fit it there, or take them out of the profile alone with leave_out='profile'"
        )


def spec(name: str, **options: Any) -> str:
    """A recommender as it is written on the command line: ``name?option=value&...``."""
    given = [
        f"{key}={value:g}" if isinstance(value, float) else f"{key}={value}" for key, value in options.items()
    ]
    return name + ("?" + "&".join(given) if given else "")
