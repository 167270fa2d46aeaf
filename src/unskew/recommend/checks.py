"""Checks that the recommenders share: that they have been fitted, and where."""

from __future__ import annotations

from typing import Any, TypeVar

from unskew.data.slice import Slice
from unskew.errors import PolicyError, UnskewError

Model = TypeVar("Model")

LEAVE_OUT = ("exact", "profile")


def fitted(model: Model | None, recommender: Any) -> Model:
    """What `fit` has left behind, or an error that asks for it."""
    if model is None:
        raise UnskewError(f"{recommender!r} has not been fitted: call fit(snapshot) first")
    return model


def require_same_date(recommender: Any, tick: int | float, snapshot: Slice) -> None:
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
