"""Who takes part: the users that a policy leaves in, at either date."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from unskew.data.snapshot import Snapshot

Mask = npt.NDArray[np.bool_]


def taking_part(snapshot: Snapshot, keep: Mask, min_items: int, cohort: Mask | None) -> Mask:
    """The users with at least `min_items` items to keep (and P(u) > 0), of the cohort if there is one."""
    part: Mask = snapshot.kept_sizes(keep) >= max(min_items, 1)
    part &= snapshot.shares() > 0
    return part if cohort is None else part & cohort


def cohort_of(before: Snapshot, now: Snapshot, min_items: int) -> Mask:
    """The users of `now` who have at least `min_items` items at `before` as well."""
    enough = (before.sizes() >= max(min_items, 1)) & (before.shares() > 0)
    return users_of(before, enough, now)


def users_of(one: Snapshot, mask: Mask, other: Snapshot) -> Mask:
    """Which users of `other` are in `mask` of `one`; the two may come from different logs."""
    if one.log.users is other.log.users:
        return mask
    codes = one.log.users.codes(other.log.users.values)
    return np.where(codes >= 0, mask[codes], False)
