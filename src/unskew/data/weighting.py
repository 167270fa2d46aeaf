"""Weights as scoring sees them: who is evaluated, and the probability of each of its pairs.

Whatever weights are (none, a mapping, fitted ones, another method), `Slice.weigh` turns them into this one
thing. Those of items are log-weights on the P(u) and P(i|u) of the slice. Pair probabilities that no item
weights give become P(u) and P(i|u) of their own, under item weights of 1: so whatever works with the ones works
with the others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from unskew.arrays import kernels
from unskew.arrays.blocks import over_blocks
from unskew.arrays.profiles import Profiles
from unskew.arrays.rows import all_entries, sum_entries
from unskew.arrays.sweep import Sweep
from unskew.arrays.types import Floats
from unskew.errors import EmptyError, InputError

if TYPE_CHECKING:
    from unskew.data.slice import Slice


@dataclass(frozen=True, eq=False)
class Weighting:
    """Item weights or pair probabilities on one slice of a log.

    Attributes
    ----------
    part
        The slice with the users who are evaluated, and the P(u) and P(i|u) that the log-weights apply to.
    log_weights
        Of each item of the log; -inf for one that is dropped.
    name
        ``raw`` where every weight is 1, else ``weighted``.
    top
        How many items have a fitted weight; None where all have, or none.
    frees_constant_lists
        Whether the score of a constant list is free of what recommendations and promotions did to the log.
    """

    part: Slice
    log_weights: Floats
    name: str = "raw"
    top: int | None = None
    frees_constant_lists: bool = False

    @classmethod
    def of_pairs(cls, part: Slice, probabilities: Floats, *, frees_constant_lists: bool = False) -> Weighting:
        """Given pair probabilities: a number for each place of ``part.profiles.item``, on any positive scale.

        Numbers at places of nobody are not looked at. Who has none is not evaluated.

        >>> import unskew as us
        >>> log = us.read_log({"user": ["a", "a", "b"], "item": ["x", "y", "x"], "time": [1, 1, 1]})
        >>> us.Weighting.of_pairs(log.at(1), [1, 2, 1]).pair_shares.tolist()
        [0.25, 0.5, 0.25]
        """
        p = part.profiles
        entries = all_entries(p)
        given = np.asarray(probabilities, dtype=np.float64)
        if given.shape != p.item.shape:
            raise InputError(
                f"pair probabilities have shape {given.shape}", remedy=f"give one for each of {len(p.item)} places"
            )
        shares = np.zeros(len(p.item))
        shares[entries] = given[entries]
        bad = ~(np.isfinite(shares) & (shares >= 0))
        if bad.any():
            raise InputError(
                f"the probability of the pair at place {int(np.argmax(bad))} is {shares[bad][0]}, but must be a "
                "number of at least 0"
            )
        mass = sum_entries(p, shares[entries])
        if not mass.any():
            raise EmptyError(f"no pair at {part.at} has any probability: nobody would be evaluated")
        held = part.restrict(mass > 0)
        own = replace(held, profiles=replace(held.profiles, a=mass, b=shares))
        return cls(own, np.zeros(p.n_items), "weighted", frees_constant_lists=frees_constant_lists)

    def marginal(self) -> Floats:
        """The weighted item marginal ``q_i = sum_u P(u) P(i|u,w)``, over the items of the log."""
        return Sweep(self.part.profiles).marginal(self.log_weights)

    @cached_property
    def pair_shares(self) -> Floats:
        """``P(u) P(i|u,w)`` of every place of ``profiles.item``: 0 where nobody is evaluated; sums to 1."""
        p = self.part.profiles
        return find_pair_shares(p, p.shares(), self.log_weights)

    @cached_property
    def user_mass(self) -> Floats:
        """The sum of `pair_shares` over the entries of each user of the log."""
        p = self.part.profiles
        return sum_entries(p, self.pair_shares[all_entries(p)])


def find_pair_shares(profiles: Profiles, shares: Floats, log_weights: Floats) -> Floats:
    """``P(u) P(i|u,w)`` of every place of ``profiles.item``; `shares` are P(u)."""
    out, rows = np.zeros(len(profiles.item)), profiles.rows
    over_blocks(
        profiles.edges(),
        len(profiles.item),
        lambda k, lo, hi: kernels.fill_pair_shares(lo, hi, rows, shares, profiles.b, log_weights, out),
    )
    return out


@runtime_checkable
class AppliesToSlice(Protocol):
    """Fitted weights or another method, as far as a slice needs to know them."""

    def apply(self, part: Slice, /) -> Weighting:
        """The weights on this slice."""


Weights = Weighting | AppliesToSlice | Mapping[Any, float] | None
"""Whatever can be weights."""
