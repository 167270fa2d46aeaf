"""How many, and how much of the probability: what reports say about whatever is left out."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Share:
    """How many, and how much of the probability."""

    count: int = 0
    mass: float = 0.0
