"""What a recommender costs, from counts alone: so that long work can be announced, or cut, before it begins.

Seconds are those of two cores of an ordinary server; they are never measured, so that the same log and options
always give the same answer. A recommender of one's own may say what it costs, in a method
``estimate_cost(size)``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from unskew.data.slice import Snapshot
from unskew.recommend.contract import traits_of

_LISTED = 2e-7
"""Seconds to find a held-out item in a list that is there already."""

_ASKED = 2e-4
"""Seconds for a list of a recommender of which nothing is known: a call of Python for each."""


class LogSize(NamedTuple):
    """What costs follow from: how many items there are, how many pairs, and the sum of squared profile sizes."""

    items: int
    pairs: int
    squares: float

    @classmethod
    def of(cls, snapshot: Snapshot, items: int | None = None) -> LogSize:
        """The size of the profiles at a date; `items` spares counting them."""
        sizes = snapshot.sizes().astype(np.float64)
        n = int(np.count_nonzero(snapshot.counts())) if items is None else items
        return cls(n, int(sizes.sum()), float(sizes @ sizes))


@dataclass(frozen=True)
class Cost:
    """About how many seconds it takes to fit a recommender, and to rank every held-out pair."""

    fit: float
    rank: float

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.fit + other.fit, self.rank + other.rank)


@runtime_checkable
class EstimatesCost(Protocol):
    """A recommender that knows what it costs."""

    def estimate_cost(self, size: LogSize, /) -> Cost:
        """What it costs at one date."""


def estimate_cost(models: Sequence[Any], size: LogSize) -> Cost:
    """What some recommenders cost at one date; of one that does not tell, only the lists, at a guess.

    >>> from unskew.recommend import EASE, ItemKNN
    >>> twenty_million = LogSize(items=27_000, pairs=20_000_000, squares=1e10)
    >>> knn = estimate_cost([ItemKNN(50)], twenty_million)
    >>> f"{knn.fit:.0f} s, {knn.rank:.0f} s"
    '80 s, 15 s'
    >>> f"{estimate_cost([EASE()], twenty_million).fit:.0f} s"
    '394 s'
    """
    total = Cost(0.0, 0.0)
    for model in models:
        traits = traits_of(model)
        if isinstance(model, EstimatesCost):
            total += model.estimate_cost(size)
        elif traits.constant or traits.external:
            total += Cost(0.0, size.pairs * _LISTED)
        else:
            total += Cost(0.0, size.pairs * _ASKED)
    return total
