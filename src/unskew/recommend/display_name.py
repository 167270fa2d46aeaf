"""A recommender under the name by which it was asked for, which is not always what it calls itself."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from unskew.arrays.types import Codes
from unskew.data.slice import Snapshot
from unskew.recommend.contract import (
    Batch,
    GradesHeldOut,
    KnowsEmptyLists,
    PreparedLists,
    RanksHeldOut,
    Recommender,
    Traits,
    traits_of,
)
from unskew.recommend.cost import EstimatesCost


class Named:
    """A recommender under another name; in everything else it is the recommender itself.

    It ranks and grades if the recommender does, and has its traits; `files` are what it was read from besides.
    """

    def __init__(self, recommender: Recommender, name: str, files: tuple[Path, ...] = ()) -> None:
        self.recommender = recommender
        self._name = name
        self._files = files
        if isinstance(recommender, RanksHeldOut):
            self.held_out_ranks = recommender.held_out_ranks
        if isinstance(recommender, KnowsEmptyLists):
            self.empty_lists = recommender.empty_lists
        if isinstance(recommender, GradesHeldOut):
            self.grades = recommender.grades
        if isinstance(recommender, EstimatesCost):
            self.estimate_cost = recommender.estimate_cost
        if isinstance(recommender, PreparedLists):
            self.is_valid_at = recommender.is_valid_at
            self.count_missing = recommender.count_missing

    def __str__(self) -> str:
        return self._name

    def __repr__(self) -> str:
        return f"Named({self.recommender!r}, {self._name!r})"

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("__") or attribute == "recommender":
            raise AttributeError(attribute)
        return getattr(self.recommender, attribute)

    @property
    def traits(self) -> Traits:
        """Those of the recommender, and the files that it was read from."""
        own = traits_of(self.recommender)
        return replace(own, files=(*own.files, *self._files))

    def fit(self, snapshot: Snapshot, /) -> Self:
        """Learn from the profiles at a date; returns itself."""
        self.recommender.fit(snapshot)
        return self

    def recommend(self, profiles: Batch, k: int, /) -> Codes:
        """The best k items of each profile: shape (len(profiles), k), -1 for none."""
        return self.recommender.recommend(profiles, k)


class Prefitted(Named):
    """A recommender that has learned what it needs to know already, elsewhere; it is not fitted again."""

    def fit(self, snapshot: Snapshot, /) -> Self:
        """Learn nothing more."""
        return self


def with_name(model: Recommender, name: str, *, files: tuple[Path, ...] = ()) -> Recommender:
    """The recommender under this name, and read from these files; itself if there is nothing to add."""
    return model if str(model) == name and not files else Named(model, name, files)


def is_nameless(model: Any) -> bool:
    """Whether an object leaves it to Python to say what it is."""
    kind: Any = type(model)
    return kind.__str__ is object.__str__ and kind.__repr__ is object.__repr__
