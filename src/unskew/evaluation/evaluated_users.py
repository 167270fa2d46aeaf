"""Whom weights leave in an evaluation, at either date."""

from __future__ import annotations

from unskew.arrays.types import Mask
from unskew.data.policy import eligible_users, find_users
from unskew.data.slice import Slice
from unskew.data.weighting import Weighting
from unskew.weights.item_weights import ItemWeights


def find_evaluated_users(
    weights: ItemWeights, weighting: Weighting, now: Slice, reference: Slice
) -> tuple[Mask, Mask]:
    """Whom the weights (`weighting` on `now`) evaluate, and whose mix then they were fitted to."""
    here = weighting.part.sizes() > 0
    there = eligible_users(reference, None, weights.policy.min_items)
    if weights.policy.users == "both":
        there = there & find_users(now, here, reference)
    return here, there
