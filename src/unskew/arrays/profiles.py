"""Who holds what, as plain arrays: the form in which loops see profiles."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from unskew.arrays.types import Codes, Floats, Items, Offsets
from unskew.arrays.user_cut import cut_users


class Rows(NamedTuple):
    """Offsets and item codes of profiles as the loops take them; see `Profiles`."""

    start: Offsets
    stop: Offsets
    item: Items


@dataclass(frozen=True)
class Profiles:
    """The arrays of a set of profiles; the profile of u is ``item[start[u]:stop[u]]``.

    Attributes
    ----------
    start, stop, item
        Offsets and item codes. A user whose start equals its stop is left out.
    n_items
        Number of items; every code is below it.
    a
        P(u) of each user, any positive scale; None for uniform.
    b
        P(i|u) of each entry, any positive scale per row; None for uniform.
    cut
        Where the users are cut into blocks; None to cut by what these profiles hold.
    """

    start: Offsets
    stop: Offsets
    item: Items
    n_items: int
    a: Floats | None = None
    b: Floats | None = None
    cut: Codes | None = None

    @property
    def rows(self) -> Rows:
        """The same for the loops."""
        return Rows(self.start, self.stop, self.item)

    @property
    def n_users(self) -> int:
        return len(self.stop)

    def sizes(self) -> Codes:
        """Number of items in each profile."""
        return self.stop.astype(np.int64) - self.start.astype(np.int64)

    def sizes_of(self, users: Codes | Items) -> Codes:
        """The same for some users alone: a batch of pairs must not look at all."""
        return self.stop[users].astype(np.int64) - self.start[users].astype(np.int64)

    def shares(self) -> Floats:
        """P(u) of each user: sums to 1 over the users who hold anything."""
        some = self.stop != self.start
        shares = some.astype(np.float64) if self.a is None else np.where(some, self.a, 0.0)
        total = shares.sum()
        return shares / total if total > 0 else shares

    def edges(self) -> Codes:
        """The cut into blocks of about equal work (an entry counts 1, a row 1 more)."""
        return self._edges

    @cached_property
    def _edges(self) -> Codes:
        return cut_users(self.sizes(), self.n_items) if self.cut is None else self.cut
