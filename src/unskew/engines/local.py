"""The engine of this machine: profiles in memory, passes on threads."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from unskew.arrays.sweep import Sweep
from unskew.arrays.types import Floats, Mask
from unskew.data.ids import Ids
from unskew.data.policy import Policy, Share, eligible_users, find_users
from unskew.data.slice import Slice
from unskew.data.times import Label
from unskew.data.weighting import Weighting


@dataclass(frozen=True, eq=False)
class LocalPopulation:
    """Users of a slice of a log; see `unskew.engines.population.Population`.

    Attributes
    ----------
    whole
        The slice with all users.
    users
        Which of them are meant; None for all who hold anything.
    """

    whole: Slice
    users: Mask | None = None

    @property
    def at(self) -> Label:
        return self.whole.at

    @property
    def policy(self) -> Policy:
        return self.whole.policy

    @property
    def items(self) -> Ids:
        return self.whole.log.items

    def marginal(self) -> Floats:
        return self.part.probabilities()

    def held_items(self) -> Mask:
        held: Mask = self.part.counts() > 0
        return held

    def eligible(self, keep: Mask | None, min_items: int, among: LocalPopulation | None = None) -> LocalPopulation:
        cohort = None if among is None else among._mask
        return LocalPopulation(self.whole, eligible_users(self.whole, keep, min_items, cohort))

    def also_in(self, other: LocalPopulation) -> LocalPopulation:
        return LocalPopulation(self.whole, self._mask & find_users(other.whole, other._mask, self.whole))

    def is_empty(self) -> bool:
        return not self._mask.any()

    def is_same(self, other: LocalPopulation) -> bool:
        return bool((self._mask == other._mask).all())

    def excluded(self) -> Share:
        out = (self.whole.sizes() > 0) & ~self._mask
        return self.whole.share_of(out)

    def passes(self) -> Sweep:
        return Sweep(self.part.profiles)

    def weigh(self, log_weights: Floats, top: int | None) -> Weighting:
        return Weighting(self.part, log_weights, "weighted", top, frees_constant_lists=True)

    def collect(self) -> Slice:
        return self.part

    @cached_property
    def part(self) -> Slice:
        """The slice with these users alone."""
        if self.users is None or bool((self.users == (self.whole.sizes() > 0)).all()):
            return self.whole
        return self.whole.restrict(self.users)

    @cached_property
    def _mask(self) -> Mask:
        return np.asarray(self.whole.sizes() > 0) if self.users is None else self.users
