"""Who is eligible: the users of a slice that a policy leaves in."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from unskew.arrays.types import Mask

if TYPE_CHECKING:
    from unskew.data.slice import Slice


def eligible_users(part: Slice, keep: Mask | None, min_items: int, cohort: Mask | None = None) -> Mask:
    """The users with P(u) > 0, `min_items` items and one item to keep (None for all); of the cohort, if any.

    Items that are not kept count for `min_items`: raw and weighted scores rest on the same users, but for those
    who have no item to keep.
    """
    eligible: Mask = part.sizes() >= max(min_items, 1)
    if keep is not None:
        eligible &= part.kept_sizes(keep) > 0
    eligible &= part.shares() > 0
    return eligible if cohort is None else eligible & cohort


def find_users(one: Slice, mask: Mask, other: Slice) -> Mask:
    """Which users of `other` are in the `mask` of `one`; the two may come from different logs."""
    if one.log.users is other.log.users:
        return mask
    codes = one.log.users.codes(other.log.users.values)
    return np.where(codes >= 0, mask[codes], False)
