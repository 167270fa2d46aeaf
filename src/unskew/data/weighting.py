"""Weights as scoring sees them: who is evaluated, and a log-weight for each item of the log.

Whatever weights are (none, a mapping, fitted ones), `Slice.weigh` turns them into this one thing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from unskew.arrays import kernels
from unskew.arrays.blocks import over_blocks
from unskew.arrays.rows import all_entries, all_users
from unskew.arrays.sweep import Sweep
from unskew.arrays.types import Floats

if TYPE_CHECKING:
    from unskew.data.slice import Slice


@dataclass(frozen=True, eq=False)
class Weighting:
    """Item weights on one slice of a log.

    Attributes
    ----------
    part
        The slice with the users who are evaluated.
    log_weights
        Of each item of the log; -inf for one that is dropped.
    name
        ``raw`` where every weight is 1, else ``weighted``.
    top
        How many items have a fitted weight; None where all have, or none.
    """

    part: Slice
    log_weights: Floats
    name: str = "raw"
    top: int | None = None

    def marginal(self) -> Floats:
        """The weighted item marginal ``q_i = sum_u P(u) P(i|u,w)``, over the items of the log."""
        return Sweep(self.part.profiles).marginal(self.log_weights)

    @cached_property
    def pair_shares(self) -> Floats:
        """``P(u) P(i|u,w)`` of every place of ``profiles.item``: 0 where nobody is evaluated; sums to 1."""
        p = self.part.profiles
        out = np.zeros(len(p.item))
        rows, shares = p.rows, p.shares()
        over_blocks(
            p.edges(),
            len(p.item),
            lambda k, lo, hi: kernels.fill_pair_shares(lo, hi, rows, shares, p.b, self.log_weights, out),
        )
        return out

    @cached_property
    def user_mass(self) -> Floats:
        """The sum of `pair_shares` over the entries of each user of the log."""
        p = self.part.profiles
        shares = self.pair_shares[all_entries(p)]
        return np.asarray(np.bincount(all_users(p), weights=shares, minlength=p.n_users), dtype=np.float64)


@runtime_checkable
class AppliesToSlice(Protocol):
    """Fitted weights, as far as a slice needs to know them."""

    def apply(self, part: Slice, /) -> Weighting:
        """The weights on this slice."""


Weights = Weighting | AppliesToSlice | Mapping[Any, float] | None
"""Whatever can be weights."""


def name_weights(weights: Weights) -> str:
    """What results call these weights: ``raw`` or ``weighted``."""
    if isinstance(weights, Weighting):
        return weights.name
    return "raw" if weights is None else "weighted"
