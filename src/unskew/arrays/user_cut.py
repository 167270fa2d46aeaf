"""Where users are cut into blocks: by how much each holds, and by nothing else.

The cut of a log follows from all of its history and is that of every date and view of it, whether its profiles
are on this machine or on many: sums over blocks, added in the order of the blocks, are then the same to the last
bit.
"""

from __future__ import annotations

import numpy as np

from unskew.arrays.types import Codes

_FEWEST, _MOST = 2, 32
_ENTRIES_AN_ITEM = 8  # of a block: fewer, and adding up the sums of blocks would cost more than making them


def cut_users(sizes: Codes, n_items: int, *, repeated: Codes | None = None, blocks: int | None = None) -> Codes:
    """Where to cut the users into blocks of about equal work (an entry counts 1, a user 1 more).

    Parameters
    ----------
    sizes
        How many entries each user has, in the order of the users.
    n_items
        How many items there are, which decides about the number of blocks.
    repeated
        How many users in a row have each of the `sizes`; None for one each.
    blocks
        Into how many to cut, at most, if not into as many as pay off on one machine.

    Returns
    -------
    Codes
        The first user of each block, and the number of users at the end.

    Examples
    --------
    >>> cut_users(np.array([3, 3, 1, 1, 1, 1]), 1).tolist()
    [0, 1, 6]
    >>> cut_users(np.array([3, 1]), 1, repeated=np.array([2, 4])).tolist()
    [0, 1, 6]
    """
    if len(sizes) == 0:
        return np.zeros(1, dtype=np.int64)
    times = np.ones(len(sizes), dtype=np.int64) if repeated is None else repeated
    work = sizes.astype(np.int64) + 1
    ends, users = np.cumsum(work * times), np.cumsum(times)
    if blocks is None:
        blocks = int(np.clip(ends[-1] // (_ENTRIES_AN_ITEM * max(n_items, 1)), _FEWEST, _MOST))
    wanted = np.arange(1, blocks) * (ends[-1] / blocks)
    group = np.searchsorted(ends, wanted)
    before = ends[group] - work[group] * times[group]
    inside = np.maximum(np.ceil((wanted - before) / work[group]).astype(np.int64) - 1, 0)
    inside += before + (inside + 1) * work[group] < wanted  # where a quotient was rounded down to a whole number
    cuts = users[group] - times[group] + inside
    return np.unique(np.concatenate([[0], cuts, [users[-1]]])).astype(np.int64)
