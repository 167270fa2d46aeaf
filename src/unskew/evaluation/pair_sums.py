"""What the held-out pairs of a score have in common: how many they are, how uneven, and whose item weighs most."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from unskew.arrays.types import Floats


@dataclass(frozen=True, eq=False)
class PairSums:
    """Sums over pairs, each of which has a share of the probability.

    Attributes
    ----------
    pairs
        How many have any.
    total, squares
        The sum of the shares, and of their squares.
    by_item
        The sum of the shares of each item.
    """

    pairs: int
    total: float
    squares: float
    by_item: Floats

    @classmethod
    def of(cls, items: npt.NDArray[Any], shares: Floats, n_items: int) -> PairSums:
        """Of some pairs, by the items and the shares of each."""
        by_item = np.bincount(items, weights=shares, minlength=n_items).astype(np.float64)
        return cls(int(np.count_nonzero(shares)), float(shares.sum()), float((shares * shares).sum()), by_item)

    @classmethod
    def add(cls, parts: Sequence[PairSums]) -> PairSums:
        """Those of blocks, added in their order."""
        by_item = parts[0].by_item.copy()
        for part in parts[1:]:
            by_item += part.by_item
        pairs, total, squares = (sum(getattr(p, name) for p in parts) for name in ("pairs", "total", "squares"))
        return cls(pairs, total, squares, by_item)

    @property
    def effective_pairs(self) -> float:
        """How many pairs of equal share would tell as much: ``(sum p)^2 / sum p^2``."""
        return self.total**2 / self.squares if self.squares > 0 else math.nan

    @property
    def largest_item(self) -> float:
        """The largest share of one item."""
        return float(self.by_item.max() / self.total)
