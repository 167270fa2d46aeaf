"""The arrays of the item neighbours as their loops take them: grouped by what they are for."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from unskew.arrays.types import Codes, Floats, Items, Mask


class Neighbours(NamedTuple):
    """The items most alike to each: row j is from ``start[j]`` to ``cut[j]``, best first, with one spare.

    The spare, from ``cut[j]`` to ``stop[j]``, moves up when a held-out item leaves the row. There is room for a
    row up to ``start[j + 1]``.
    """

    start: npt.NDArray[np.uint64]
    cut: npt.NDArray[np.uint64]
    stop: npt.NDArray[np.uint64]
    item: Items
    score: Floats


class Counts(NamedTuple):
    """What similarities are made from: which it is, what it is rounded to, and how many users hold each item."""

    kind: int
    unit: float
    held_by: Codes


class RowScratch(NamedTuple):
    """As long as there are items: how often each is held together with one item, and which are at all."""

    sums: npt.NDArray[Any]
    touched: Items

    @classmethod
    def of(cls, n_items: int, dtype: npt.DTypeLike) -> RowScratch:
        return cls(np.zeros(n_items, dtype=dtype), np.empty(n_items, dtype=np.uint32))


class ListScratch(NamedTuple):
    """As long as there are items: sums of rows, what the profile holds, and which sums are not 0."""

    totals: Floats
    mine: Mask
    touched: Items

    @classmethod
    def of(cls, n_items: int) -> ListScratch:
        return cls(np.zeros(n_items), np.zeros(n_items, dtype=np.bool_), np.empty(n_items, dtype=np.uint32))


class RankScratch(NamedTuple):
    """The same, and what ranking needs besides: the best candidates, and what changes when an item is held out.

    ``raised[i]`` is what item i gains, `moved` which items gain. `step` holds the places of profile items in rows
    of profile items: of each the row that it is in, where, and the next place of the same item; ``head[i]`` is the
    first, counted from 1.
    """

    lists: ListScratch
    best_score: Floats
    best_item: Items
    raised: Floats
    moved: Items
    head: Codes
    step: npt.NDArray[np.int64]

    @classmethod
    def of(cls, n_items: int, most: int, steps: int) -> RankScratch:
        """For `most` candidates and so many `steps`."""
        return cls(
            ListScratch.of(n_items),
            np.empty(most),
            np.empty(most, dtype=np.uint32),
            np.zeros(n_items),
            np.empty(n_items, dtype=np.uint32),
            np.zeros(n_items, dtype=np.int64),
            np.empty((steps, 3), dtype=np.int64),
        )
