"""Item first: draw an item as at the reference date, then one of its holders."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from unskew.arrays.profiles import all_entries, all_users
from unskew.data.slice import Slice, Weighting
from unskew.methods.method import Method, find_reference_mix, sum_over_holders
from unskew.weights.alignment import Reference


@dataclass(frozen=True, eq=False)
class ItemFirst(Method):
    """Pairs by ``P_t0(i) pi(u|i)`` with ``pi(u|i) = P(u) / sum_v P(v)`` over the holders v of the item.

    The scheme that the paper describes and sets aside. It leaves pi(u|i) open; here a holder is chosen by P(u),
    which is uniformly where P(u) is uniform. Items that nobody holds any more are taken out of P_t0, and the
    rest is renormalised. With ``pi(u|i) ~ P(u) P(i|u)`` it would be `WTDH`.

    Limits: the item mix of the reference date is met to the last digit, and P(u) is given up for it: the users who
    hold the items that lost most have most of the say. To find the pi(u|i) that keeps P(u) is to fit item weights.

    Attributes
    ----------
    reference
        The date to compare with, as for `fit_weights`: a snapshot or an item mix.
    """

    name: ClassVar[str] = "item-first"
    knows: ClassVar[str] = "reference"
    paper: ClassVar[str] = (
        "A. de Myttenaere, B. Golden, B. Le Grand and F. Rossi (2014), Reducing Offline Evaluation Bias in "
        "Recommendation Systems, section 3.1"
    )

    reference: Reference

    def _weigh(self, part: Slice) -> Weighting:
        target, p_user = find_reference_mix(part, self.reference), part.shares()
        holders = sum_over_holders(part, p_user)
        ratio = np.zeros(len(target))
        np.divide(target, holders, out=ratio, where=target > 0)
        by_user = np.zeros(len(part.profiles.item))
        by_user[all_entries(part.profiles)] = p_user[all_users(part.profiles)]
        return Weighting.of_pairs(part, ratio[part.profiles.item] * by_user, frees_constant_lists=True)
