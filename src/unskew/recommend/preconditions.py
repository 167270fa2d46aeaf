"""What recommenders check before they answer: that they were fitted, where, and how long a list is wanted."""

from __future__ import annotations

from typing import Any, TypeVar

from unskew.checks import require_whole_number
from unskew.data.slice import Slice
from unskew.errors import PolicyError, UnskewError

Learned = TypeVar("Learned")


def require_fitted(learned: Learned | None, recommender: Any) -> Learned:
    """What `fit` has left behind, or an error that asks for it."""
    if learned is None:
        raise UnskewError(f"{recommender} has not been fitted", remedy="call fit(snapshot) first")
    return learned


def require_length(k: int) -> int:
    """The length of a list as an integer of at least 1."""
    return require_whole_number("k", k, "the length of a list")


def require_same_date(recommender: Any, tick: int | float, snapshot: Slice) -> None:
    """Refuse pairs of another date than that of the fit: what was not counted cannot leave the counts."""
    if snapshot.tick != tick:
        raise PolicyError(
            f"{recommender} was fitted at another date than {snapshot.at}, from which the held-out pairs are",
            remedy="fit it there, or take them out of the profile alone with exact=False",
        )
