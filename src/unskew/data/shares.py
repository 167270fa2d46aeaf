"""How many, and how much of the probability: what reports say about whatever is left out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from unskew.arrays.types import Floats, Mask


@dataclass(frozen=True)
class Share:
    """How many, and how much of the probability."""

    count: int = 0
    mass: float = 0.0

    @classmethod
    def of(cls, mask: Mask, shares: Floats) -> Self:
        """Those that are marked, and what they have of `shares`."""
        return cls(int(mask.sum()), float(shares[mask].sum()))
