"""WTD and WTD_H: pairs weighted by their user and by their item, each to a target distribution."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from unskew.arrays.rows import all_entries, all_users
from unskew.arrays.types import Floats
from unskew.checks import require_instance
from unskew.data.slice import Slice
from unskew.data.weighting import Weighting
from unskew.errors import EmptyError
from unskew.methods.method import Method
from unskew.weights.alignment import Alignment, Reference
from unskew.weights.fit_options import FitOptions

_PAPER = (
    "D. Carraro and D. Bridge (2020), Debiased offline evaluation of recommender systems: a weighted-sampling "
    "approach"
)


@dataclass(frozen=True, eq=False)
class WTD(Method):
    """Pairs by ``w_u w_i`` with ``w_u = P_t0(u) / (n_u / N)`` and ``w_i = P_t0(i) / (n_i / N)``.

    The paper draws a test set from all held-out pairs alike, a user's share of which is n_u / N and an item's
    n_i / N, and has a sample of ratings missing at random for the targets. Here the targets are the users and
    the item mix of the reference date. Where the paper's programs put a probability of 0.0001 for who has none,
    we leave out: a user or an item that was not there then has weight 0.

    Limits: the two weights are each right for pairs whose user and item are independent. They are not, so neither
    target is met; fitted item weights meet both. Users who came later are left out.

    Attributes
    ----------
    reference
        The profiles at the reference date, a `Snapshot`.
    """

    name: ClassVar[str] = "wtd"
    knows: ClassVar[str] = "reference"
    targets_reference: ClassVar[bool] = True
    paper: ClassVar[str] = _PAPER

    reference: Slice

    def __post_init__(self) -> None:
        remedy = "give the profiles at the reference date, log.at(date): an item mix does not say who was there"
        require_instance(Slice, self.reference, "a snapshot", remedy)

    def _weigh(self, part: Slice) -> Weighting:
        then = self.reference.shares()
        if self.reference.log.users is not part.log.users:
            codes = self.reference.log.users.codes(part.log.users.values)
            then = np.where(codes >= 0, then[codes], 0.0)
        return _weigh_both(part, then, _reference_mix(part, self.reference))


@dataclass(frozen=True, eq=False)
class WTDH(Method):
    """WTD without a sample of users: pairs by ``(P(u) / (n_u / N)) (P_t0(i) / (n_i / N))``.

    WTD_H of the paper hypothesises what the targets would be instead of estimating them. Here the users are
    taken as they are meant to be, P(u), and the items as they were at the reference date: an item mix is enough.

    Limits: those of `WTD`, but for the users who came later.

    Attributes
    ----------
    reference
        The date to compare with, as for `fit_weights`: a snapshot or an item mix.
    """

    name: ClassVar[str] = "wtd-h"
    knows: ClassVar[str] = "reference"
    targets_reference: ClassVar[bool] = True
    paper: ClassVar[str] = _PAPER

    reference: Reference

    def _weigh(self, part: Slice) -> Weighting:
        return _weigh_both(part, part.shares(), _reference_mix(part, self.reference))


@dataclass(frozen=True, eq=False)
class UniformWTDH(Method):
    """WTD_H as published: pairs by ``1 / (n_u n_i)``, to a target of users and of items that are all alike.

    Limits: those of `WTD`; and the score under equal probabilities for all items is not that of any date.
    """

    name: ClassVar[str] = "wtd-h-uniform"
    knows: ClassVar[str] = "nothing"
    targets_reference: ClassVar[bool] = False
    paper: ClassVar[str] = _PAPER

    def _weigh(self, part: Slice) -> Weighting:
        return _weigh_both(part, np.ones(part.profiles.n_users), np.ones(part.profiles.n_items))


def _reference_mix(part: Slice, reference: Reference) -> Floats:
    """P_t0 of the items that anyone still holds."""
    return Alignment.of(part, reference, FitOptions(new_items="drop")).target(keep_new=False)


def _weigh_both(part: Slice, p_user: Floats, p_item: Floats) -> Weighting:
    """Pairs by the targets of their user and of their item, each over how many pairs it has."""
    p = part.profiles
    entries = all_entries(p)
    by_user = (p_user / np.maximum(part.sizes(), 1))[all_users(p)]
    by_item = (p_item / np.maximum(part.counts(), 1))[p.item[entries]]
    shares = np.zeros(len(p.item))
    shares[entries] = by_user * by_item
    if not shares.any():
        raise EmptyError(f"no pair at {part.at} is of a user and of an item of the reference date")
    return Weighting.of_pairs(part, shares)
