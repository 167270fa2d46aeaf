"""What the held-out pairs of a score have in common: how many they are, how uneven, and whose item weighs most."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from unskew.arrays.types import Floats, Mask


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
    on_empty_profiles, on_empty_lists
        The sum of the shares of pairs that leave an empty profile, and of those for which nothing is recommended;
        NaN if that is not known.
    """

    pairs: int
    total: float
    squares: float
    by_item: Floats
    on_empty_profiles: float = 0.0
    on_empty_lists: float = 0.0

    @classmethod
    def of(
        cls,
        items: npt.NDArray[Any],
        shares: Floats,
        n_items: int,
        empty_profiles: Mask,
        empty_lists: Mask | None,
    ) -> PairSums:
        """Of some pairs: the item and the share of each, and which profiles and lists are empty."""
        by_item = np.bincount(items, weights=shares, minlength=n_items).astype(np.float64)
        return cls(
            int(np.count_nonzero(shares)),
            float(shares.sum()),
            float((shares * shares).sum()),
            by_item,
            float(shares[empty_profiles].sum()),
            math.nan if empty_lists is None else float(shares[empty_lists].sum()),
        )

    @classmethod
    def add(cls, parts: Sequence[PairSums]) -> PairSums:
        """Those of blocks, added in their order."""
        by_item = parts[0].by_item.copy()
        for part in parts[1:]:
            by_item += part.by_item
        names = ("pairs", "total", "squares", "on_empty_profiles", "on_empty_lists")
        pairs, *sums = (sum(getattr(part, name) for part in parts) for name in names)
        return cls(pairs, sums[0], sums[1], by_item, *sums[2:])

    @property
    def effective_pairs(self) -> float:
        """How many pairs of equal share would tell as much: ``(sum p)^2 / sum p^2``."""
        return self.total**2 / self.squares if self.squares > 0 else math.nan

    @property
    def largest_item(self) -> float:
        """The largest share of one item."""
        return float(self.by_item.max() / self.total)

    @property
    def empty_profiles(self) -> float:
        """The share of pairs that leave an empty profile."""
        return self.on_empty_profiles / self.total

    @property
    def empty_lists(self) -> float | None:
        """The share of pairs for which nothing is recommended; None if that is not known."""
        return None if math.isnan(self.on_empty_lists) else self.on_empty_lists / self.total
