"""A recommender under the name by which it was asked for, which is not always what it calls itself."""

from __future__ import annotations

from typing import Any, Self

from unskew.arrays.types import Codes
from unskew.data.snapshot import Snapshot
from unskew.recommend.contract import Batch, GradesHeldOut, RanksHeldOut, Recommender, Traits, traits_of


class Named:
    """A recommender under another name; in everything else it is the recommender itself.

    It ranks and grades if the recommender does, and has its traits.
    """

    def __init__(self, recommender: Recommender, name: str) -> None:
        self.recommender = recommender
        self._name = name
        if isinstance(recommender, RanksHeldOut):
            self.held_out_ranks = recommender.held_out_ranks
        if isinstance(recommender, GradesHeldOut):
            self.grades = recommender.grades

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
        """Those of the recommender."""
        return traits_of(self.recommender)

    def fit(self, snapshot: Snapshot, /) -> Self:
        """Learn from the profiles at a date; returns itself."""
        self.recommender.fit(snapshot)
        return self

    def recommend(self, profiles: Batch, k: int, /) -> Codes:
        """The best k items of each profile: shape (len(profiles), k), -1 for none."""
        return self.recommender.recommend(profiles, k)


def with_name(model: Recommender, name: str) -> Recommender:
    """The recommender under this name; itself if that is what it is called."""
    return model if str(model) == name else Named(model, name)
