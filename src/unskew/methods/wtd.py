"""WTD and WTD_H: pairs weighted by their user and by their item, each to a target distribution."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from unskew.arrays.profiles import all_entries, all_users
from unskew.arrays.types import Floats
from unskew.checks import require_instance
from unskew.data.slice import Slice, Weighting
from unskew.errors import EmptyError
from unskew.methods.method import Method, find_reference_mix
from unskew.weights.alignment import Reference

_PAPER = (
    "D. Carraro and D. Bridge (2020), Debiased offline evaluation of recommender systems: a weighted-sampling "
    "approach"
)


@dataclass(frozen=True, eq=False)
class WTD(Method):
    """Pairs by ``P(u) P(i|u) w_u w_i`` with ``w_u = P_t0(u) / P_t1(u)`` and ``w_i = P_t0(i) / P_t1(i)``.

    The paper samples held-out ratings by w_u w_i, the ratios of the users' and of the items' shares in ratings
    that are missing at random to those in all ratings. Here the law of held-out pairs is P(u) P(i|u), of which
    both shares are taken, and the reference date stands for what is missing at random. Where the paper's
    programs put 0.0001 for a share of nothing, we leave out: a user or an item that was not there then has
    weight 0.

    Limits: the product of the two weights is right if user and item are independent. They are not, so that neither
    target is met; fitted item weights meet both. Users who came later are left out.

    Attributes
    ----------
    reference
        The profiles at the reference date, a `Snapshot`.
    """

    name: ClassVar[str] = "wtd"
    knows: ClassVar[str] = "reference"
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
        shares = _weigh_both(part, then, find_reference_mix(part, self.reference))
        if not shares.any():
            raise EmptyError(
                f"no user at {part.at} was active at {self.reference.at} and has one of its items",
                remedy="give two dates that are closer together",
            )
        return Weighting.of_pairs(part, shares)


@dataclass(frozen=True, eq=False)
class WTDH(Method):
    """WTD without weights of users: pairs by ``P(u) P(i|u) P_t0(i) / P_t1(i)``.

    WTD_H of the paper hypothesises the targets instead of estimating them. Here users are hypothesised to be
    chosen as they are, by P(u), and items as at the reference date: an item mix is enough. This is importance
    sampling over all pairs at once, where `OneStepRatio` has the same weights user by user.

    Limits: the item mix of the reference date is met to the last digit, and P(u) is given up for it: who holds
    items that lost has more of a say than who holds those that gained. Fitted item weights meet both.

    Attributes
    ----------
    reference
        The date to compare with, as for `fit_weights`: a snapshot or an item mix.
    """

    name: ClassVar[str] = "wtd-h"
    knows: ClassVar[str] = "reference"
    paper: ClassVar[str] = _PAPER

    reference: Reference

    def _weigh(self, part: Slice) -> Weighting:
        shares = _weigh_both(part, part.shares(), find_reference_mix(part, self.reference))
        return Weighting.of_pairs(part, shares, frees_constant_lists=True)


@dataclass(frozen=True, eq=False)
class UniformWTDH(Method):
    """WTD_H with the targets of the paper: every user alike, and every item alike.

    Pairs by ``P(i|u) / P_t1(i)``. The paper has n_u and n_i, the numbers of ratings, in the place of P(u) and
    P_t1(i), since it samples from all ratings alike.

    Limits: the score under equal probabilities for all items is not that of any date, and is mostly about items
    that hardly anyone takes.
    """

    name: ClassVar[str] = "wtd-h-uniform"
    paper: ClassVar[str] = _PAPER

    def _weigh(self, part: Slice) -> Weighting:
        p = part.profiles
        return Weighting.of_pairs(part, _weigh_both(part, np.ones(p.n_users), np.ones(p.n_items)))


def _weigh_both(part: Slice, p_user: Floats, p_item: Floats) -> Floats:
    """``P(u) P(i|u)`` times the targets of the user and of the item over what they have; 0 at places of nobody."""
    p = part.profiles
    entries, shares = all_entries(p), part.weigh().pair_shares.copy()
    for target, present, of_entry in (
        (p_user, part.shares(), all_users(p)),
        (p_item, part.probabilities(), p.item[entries]),
    ):
        ratio = np.divide(target, present, out=np.zeros(len(target)), where=present > 0)
        shares[entries] *= ratio[of_entry]
    return shares
