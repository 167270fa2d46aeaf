"""Driving a recommender over held-out pairs, in batches; `unskew.recommend.calls` checks what it gives."""

from __future__ import annotations

import warnings

import numpy as np

from unskew.arrays.types import Codes, Floats
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

__all__ = ["describe_missing_lists", "fit", "lists_for", "rank_folds", "rank_pairs"]

ENTRIES = 400_000  # of profiles in one batch: what is held in memory at a time


def rank_folds(
    model: Recommender, held: HoldOut, pairs: HeldOutPairs, depth: int, folds: Folds, *, with_grades: bool = False
) -> tuple[Codes, Floats | None]:
    """For each fold, fit the recommender without its pairs and rank them; a profile lacks its held-out item."""
    depth = min(depth, held.profiles.profiles.n_items)
    ranks = np.zeros(len(pairs), dtype=np.int64)
    grader = model if with_grades and isinstance(model, GradesHeldOut) else None
    grades = None if grader is None else np.full(len(pairs), np.nan)
    progress().begin(f"ranking {model}, fitted {folds.number} times", len(pairs), "pairs")
    for k in range(folds.number):
        places = folds.places(pairs, k)
        if len(places) == 0:
            continue
        call_model(model, "fit", model.fit, folds.training(k))
        some = take_pairs(pairs, places)
        ranks[places] = _rank_in_lists(model, held, some, depth)
        if grader is not None and grades is not None:
            grades[places] = _ask_for_grades(grader, held, some)
    return ranks, grades


def rank_pairs(
    model: Recommender, held: HoldOut, pairs: HeldOutPairs, depth: int, *, with_grades: bool = False
) -> tuple[Codes, Floats | None]:
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
        ranks = ask_for_ranks(model, pairs, depth)
    else:
        ranks = _rank_in_lists(model, held, pairs, depth)
    if traits.made_elsewhere and len(ranks) and not ranks.any():
        warnings.warn(
            f"{model} recommends none of the held-out items to anyone, as happens when lists leave out what users "
            "already hold: make them from profiles without the held-out item (column held_out), or use "
            f"{option('after')}",
            UnskewWarning,
            stacklevel=4,
        )
    if not with_grades or not isinstance(model, GradesHeldOut):
        return ranks, None
    progress().begin(f"grading by {model}", len(pairs), "pairs")
    return ranks, _ask_for_grades(model, held, pairs)


def describe_missing_lists(model: Recommender, pairs: HeldOutPairs) -> str | None:
    """For how many of those who are scored a recommender has no list; None if it has them all."""
    if not isinstance(model, PreparedLists):
        return None
    missing, total, what = model.count_missing(pairs)
    return f"{missing} of the {total} {what} scored at {pairs.snapshot.at}" if missing else None


def _rank_in_lists(model: Recommender, held: HoldOut, pairs: HeldOutPairs, depth: int) -> Codes:
    ranks = np.zeros(len(pairs), dtype=np.int64)
    for part, batch in held.batches(pairs, ENTRIES):
        _, ranks[part] = lists_for(model, held.profiles, batch, depth, pairs.item[part])
        progress().advance(len(batch))
    return ranks


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
