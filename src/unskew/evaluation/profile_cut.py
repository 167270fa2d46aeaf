"""A log cut to the size that it had at another date, to see what more data adds to a score."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from unskew.arrays.rows import all_entries, all_users
from unskew.data.held_out import HeldOutSplit
from unskew.data.log import Log
from unskew.data.policy import find_users

CUTS = 3
"""How often profiles are cut at random: the mean is taken, and how far the cuts differ widens its interval."""


def cut_to_size(now: HeldOutSplit, then: HeldOutSplit, *, seed: Sequence[int], both: bool = False) -> Log | None:
    """The log of `now` with no more users and no longer profiles than there were `then`; None if it has no more.

    As many users as had a profile then are drawn (with `both`, those who had one first), and of their profiles the
    k-th largest is cut to the size of the k-th largest then, its items drawn at random. Only what a recommender
    may see is cut: items that are held out by time, or as the last, all stay.
    """
    known, rng = now.known, np.random.default_rng(seed)
    sizes, sizes_then = known.sizes(), np.sort(then.known.sizes())[::-1]
    turn = rng.permutation(len(sizes)) + len(sizes) * (sizes == 0)
    if both:
        turn[find_users(then.known, then.known.sizes() > 0, known) & (sizes > 0)] -= len(sizes)
    drawn = np.sort(np.argsort(turn)[: min(np.count_nonzero(sizes), np.count_nonzero(sizes_then))])
    drawn = drawn[np.argsort(-sizes[drawn], kind="stable")]
    limits = np.zeros_like(sizes)
    limits[drawn] = np.minimum(sizes[drawn], sizes_then[: len(drawn)])
    if np.array_equal(limits, sizes):
        return None
    entries, users = all_entries(known.profiles), all_users(known.profiles)
    shuffled = np.lexsort((rng.random(len(entries)), users))  # each user's entries stay in a row
    place = np.arange(len(entries)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    keep = limits[known.log.entry_users()] > 0
    keep[known.per_entry(np.arange(len(known.log)))[entries[shuffled[place >= limits[users]]]]] = False
    return known.log.keep_entries(keep)
