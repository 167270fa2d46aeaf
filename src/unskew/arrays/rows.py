"""Entries of profiles (positions in ``profiles.item``), and whose they are."""

from __future__ import annotations

import numpy as np

from unskew.arrays.profiles import Profiles
from unskew.arrays.types import Codes, Floats, Mask


def all_entries(profiles: Profiles) -> Codes:
    """Every entry, in the order of the users."""
    return entries_of(profiles, np.arange(profiles.n_users))[1]


def all_users(profiles: Profiles) -> Codes:
    """The user of every entry, in the same order."""
    return np.repeat(np.arange(profiles.n_users), profiles.sizes())


def entries_of(profiles: Profiles, users: Codes) -> tuple[Codes, Codes]:
    """Where those of each of the users begin, and their entries one after the other."""
    first = profiles.start[users].astype(np.int64)
    sizes = profiles.stop[users].astype(np.int64) - first
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    return offsets, np.arange(offsets[-1]) + np.repeat(first - offsets[:-1], sizes)


def users_of(profiles: Profiles, entries: Codes) -> Codes:
    """The user of each entry."""
    rows = np.flatnonzero(profiles.stop != profiles.start)
    return rows[np.searchsorted(profiles.start[rows].astype(np.int64), entries, side="right") - 1]


def sum_entries(profiles: Profiles, values: Floats) -> Floats:
    """For each user the sum of a number of each of its entries, which are in the order of `all_entries`."""
    return np.bincount(all_users(profiles), weights=values, minlength=profiles.n_users).astype(np.float64)


def mark_entries(profiles: Profiles) -> Mask:
    """Which places of ``profiles.item`` belong to a profile: those from its `start` up to its `stop`."""
    change = np.zeros(len(profiles.item) + 1, dtype=np.int64)  # +1 where a row begins, -1 where it ends
    np.add.at(change, profiles.start, 1)
    np.add.at(change, profiles.stop, -1)
    inside: Mask = np.cumsum(change[:-1]) > 0
    return inside
