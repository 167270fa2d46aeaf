"""What of a held-out pair was left out of the model that had to find it; only scores of one kind are compared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from unskew.recommend.contract import RanksHeldOut, Recommender, traits_of

Kind = Literal["exact", "folds", "profile", "time", "external"]

MEANINGS: dict[str, str] = {
    "exact": "the model does not contain the pair",
    "folds": "the model was fitted without the fold of the pair",
    "profile": "the profile does not contain the pair, but the model does",
    "time": "the model was fitted before the pair existed",
    "external": "nobody here knows what the model has seen",
}
"""What each kind means, in words."""


@dataclass(frozen=True)
class HeldOut:
    """What was left out.

    Attributes
    ----------
    kind
        ``exact``: the pair left the model too, or there is no model; ``folds``: the model was fitted without the
        pairs of its fold; ``profile``: it left the profile alone; ``time``: the model is older than the pair;
        ``external``: lists, or what made them, came from elsewhere.
    folds
        The number of folds.
    """

    kind: Kind = "profile"
    folds: int | None = None

    @classmethod
    def of(
        cls,
        model: Recommender,
        *,
        alone: bool,
        by_time: bool,
        folds: int | None,
        last: bool = False,
        dated: bool = False,
    ) -> HeldOut:
        """What is left out of a recommender.

        `alone` says that pairs are held out one at a time, `last` that it was fitted without any of them, and
        `dated` that its lists, though external, are known to be older than what is held out by time.
        """
        traits = traits_of(model)
        if traits.learns == "external" and not (by_time and dated):
            return cls("external")
        if by_time:
            return cls("time")
        if folds is not None:
            return cls("folds", folds)
        exact = last or (traits.exact and alone and isinstance(model, RanksHeldOut))
        return cls("exact" if exact or traits.learns == "nothing" else "profile")

    @property
    def exact(self) -> bool | None:
        """Whether what was learned is free of the pair; None if nobody knows."""
        return None if self.kind == "external" else self.kind != "profile"

    def __str__(self) -> str:
        return f"{self.folds} folds" if self.kind == "folds" else self.kind
