"""Small figures that results are made of: how many and how much, and why it cannot be better."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Share:
    """How many, and how much of the probability."""

    count: int = 0
    mass: float = 0.0


@dataclass(frozen=True)
class Certificate:
    """Why no weighting of the profiles can do better than `bound_least`.

    Attributes
    ----------
    items
        Number of items in the set S that proves it.
    target
        Their mass at the reference date, T(S).
    reach
        The share of users (by P(u)) who hold any of them: no weighting gives S more.
    others
        Number of items outside S that have a target.
    """

    items: int = 0
    target: float = 0.0
    reach: float = 1.0
    others: int = 0

    @property
    def explanation(self) -> str:
        """The same in words."""
        return self.explained("had {} of the mass at the reference date")

    def explained(self, had: str) -> str:
        """The same where T is not quite the mix of the reference date; `had` says what T(S) is a part of."""
        if self.target <= self.reach:
            return "nothing found stands in the way of an exact solution"
        few = "this one item" if self.items == 1 else f"these {self.items} items"
        digits = max(1, math.ceil(-math.log10(100 * (self.target - self.reach))) + 1)  # two of their difference

        def percent(share: float) -> str:
            return f"{100 * share:.{digits}f} %"

        target, reach = percent(self.target), percent(self.reach)
        if self.target > 0.5 and 0 < 10 * self.others <= self.items:  # the other side is far smaller: speak of it
            few = "one item that" if self.others == 1 else f"{self.others} items that"
            return (
                f"no weighting of these profiles can do better, because {percent(1 - self.reach)} of the users "
                f"evaluated now hold nothing but {few} {had.format('only ' + percent(1 - self.target))}"
            )
        return (
            f"no weighting of these profiles can do better, because {few} {had.format(target)}, and only {reach} "
            "of the users evaluated now hold any of them"
        )
