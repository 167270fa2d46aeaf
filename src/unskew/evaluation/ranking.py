"""Driving a recommender over held-out pairs, in batches; `unskew.recommend.calls` checks what it gives."""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np

from unskew.arrays.types import Codes, Floats, Mask
from unskew.errors import InputError, UnskewWarning, option
from unskew.evaluation.folds import Folds, take_pairs
from unskew.evaluation.hold_out import HoldOut
from unskew.progress import progress
from unskew.recommend.calls import ask_for_ranks, call_model, describe_array, fit, lists_for, to_array
from unskew.recommend.contract import (
    GradesHeldOut,
    HeldOutPairs,
    PreparedLists,
    RanksHeldOut,
    Recommender,
    traits_of,
)

__all__ = ["RankedPairs", "describe_missing_lists", "fit", "lists_for", "rank_folds", "rank_pairs"]

ENTRIES = 400_000  # of profiles in one batch: what is held in memory at a time


class RankedPairs(NamedTuple):
    """What a recommender makes of held-out pairs; arrays have one entry for each pair.

    Attributes
    ----------
    ranks
        From 1; 0 if the item is not among the best.
    empty
        Whether the recommender returns nothing for the profile; None if it ranks by itself and does not say.
    grades
        If they are wanted and it gives any.
    """

    ranks: Codes
    empty: Mask | None
    grades: Floats | None = None


def rank_folds(
    model: Recommender, held: HoldOut, pairs: HeldOutPairs, depth: int, folds: Folds, *, with_grades: bool = False
) -> RankedPairs:
    """For each fold, fit the recommender without its pairs and rank them; a profile lacks its held-out item."""
    depth = min(depth, held.profiles.profiles.n_items)
    ranks, empty = np.zeros(len(pairs), dtype=np.int64), np.zeros(len(pairs), dtype=np.bool_)
    grader = model if with_grades and isinstance(model, GradesHeldOut) else None
    grades = None if grader is None else np.full(len(pairs), np.nan)
    progress().begin(f"ranking {model}, fitted {folds.number} times", len(pairs), "pairs")
    for k in range(folds.number):
        places = folds.places(pairs, k)
        if len(places) == 0:
            continue
        call_model(model, "fit", model.fit, folds.training(k))
        some = take_pairs(pairs, places)
        ranks[places], empty[places] = _rank_in_lists(model, held, some, depth)
        if grader is not None and grades is not None:
            grades[places] = _ask_for_grades(grader, held, some)
    return RankedPairs(ranks, empty, grades)


def rank_pairs(
    model: Recommender, held: HoldOut, pairs: HeldOutPairs, depth: int, *, with_grades: bool = False
) -> RankedPairs:
    """Fit the recommender and rank every pair; with grades if they are wanted and it gives any."""
    snapshot, traits = held.profiles, traits_of(model)
    fit(model, snapshot)
    depth = min(depth, snapshot.profiles.n_items)
    if held.together > 1 and traits.exact:
        warnings.warn(
            f"{model} leaves a pair out of its model only when items are held out one at a time: with "
            f"{option('leave_out', held.together)} the items leave the profile but not the model, so scores "
            "are too high",
            UnskewWarning,
            stacklevel=4,
        )
    alone = held.together == 1 and held.profiles is pairs.snapshot
    progress().begin(f"ranking {model}", len(pairs), "pairs")
    if alone and isinstance(model, RanksHeldOut):
        ranks, empty = ask_for_ranks(model, pairs, depth)
    else:
        ranks, empty = _rank_in_lists(model, held, pairs, depth)
    if traits.external and len(ranks) and not ranks.any():
        warnings.warn(
            f"{model} recommends none of the held-out items to anyone, as happens when lists leave out what users "
            "already hold: make them from profiles without the held-out item (column held_out), or use "
            f"{option('after')}",
            UnskewWarning,
            stacklevel=4,
        )
    if not with_grades or not isinstance(model, GradesHeldOut):
        return RankedPairs(ranks, empty)
    progress().begin(f"grading by {model}", len(pairs), "pairs")
    return RankedPairs(ranks, empty, _ask_for_grades(model, held, pairs))


def describe_missing_lists(model: Recommender, pairs: HeldOutPairs) -> str | None:
    """For how many of those who are scored a recommender has no list; None if it has them all."""
    if not isinstance(model, PreparedLists):
        return None
    missing, total, what = model.count_missing(pairs)
    return f"{missing} of the {total} {what} scored at {pairs.snapshot.at}" if missing else None


def _rank_in_lists(model: Recommender, held: HoldOut, pairs: HeldOutPairs, depth: int) -> tuple[Codes, Mask]:
    """The rank of each held-out item, and whether its list is empty."""
    ranks, empty = np.zeros(len(pairs), dtype=np.int64), np.zeros(len(pairs), dtype=np.bool_)
    for part, batch in held.batches(pairs, ENTRIES):
        lists, ranks[part] = lists_for(model, held.profiles, batch, depth, pairs.item[part])
        empty[part] = (lists < 0).all(axis=1)
        progress().advance(len(batch))
    return ranks, empty


def _ask_for_grades(model: GradesHeldOut, held: HoldOut, pairs: HeldOutPairs) -> Floats:
    grades = np.full(len(pairs), np.nan)
    for part, batch in held.batches(pairs, ENTRIES):
        given = call_model(model, "grades", model.grades, batch, pairs.item[part])
        found = to_array(model, "grades", given)
        if found.shape != (len(batch),) or found.dtype.kind not in "iuf":
            raise InputError(
                f"{model}: grades must return one number for each of the {len(batch)} profiles, not "
                f"{describe_array(found)}"
            )
        grades[part] = found
        progress().advance(len(batch))
    return grades
