"""Driving a recommender over held-out pairs, in batches, and checking what it gives."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt

from unskew.arrays import list_kernels
from unskew.arrays.types import Codes, Floats
from unskew.data.log import Log
from unskew.data.snapshot import Snapshot
from unskew.errors import InputError, UnskewError, UnskewWarning, option
from unskew.evaluation.folds import Folds, take_pairs
from unskew.evaluation.hold_out import HoldOut
from unskew.progress import progress
from unskew.recommend.contract import (
    Batch,
    GradesHeldOut,
    HeldOutPairs,
    PreparedLists,
    RanksHeldOut,
    Recommender,
    traits_of,
)
from unskew.text import first_line

ENTRIES = 400_000  # of profiles in one batch: what is held in memory at a time
PAIRS = 100_000  # ranked between two reports of progress, where the recommender ranks by itself

_FAULTS = {
    1: "recommends the item code {item}, which does not exist",
    2: "recommends item {item!r} twice",
    3: "recommends item {item!r}, which the profile holds",
}


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
        _call(model, "fit", model.fit, folds.training(k))
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
        ranks = _ask_for_ranks(model, pairs, depth)
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


def _ask_for_ranks(model: RanksHeldOut, pairs: HeldOutPairs, depth: int) -> Codes:
    ranks = np.empty(len(pairs), dtype=np.int64)
    for at in range(0, len(pairs), PAIRS):
        end = min(at + PAIRS, len(pairs))
        some = HeldOutPairs(pairs.snapshot, pairs.user[at:end], pairs.item[at:end], pairs.entry[at:end])
        given = _call(model, "held_out_ranks", model.held_out_ranks, some, depth)
        found = _require_whole_numbers(model, "held_out_ranks", given, (end - at,))
        wrong = (found < 0) | (found > depth)
        if wrong.any():
            k = int(np.argmax(wrong))
            log = pairs.snapshot.log
            user, item = log.users[int(some.user[k])], log.items[int(some.item[k])]
            raise InputError(
                f"{model}, for user {user!r} with item {item!r} held out: held_out_ranks returned {found[k]}, "
                f"which must lie between 0 and {depth}"
            )
        ranks[at:end] = found
        progress().advance(end - at)
    return ranks


def _rank_in_lists(model: Recommender, held: HoldOut, pairs: HeldOutPairs, depth: int) -> Codes:
    ranks = np.zeros(len(pairs), dtype=np.int64)
    for part, batch in held.batches(pairs, ENTRIES):
        _, ranks[part] = lists_for(model, held.profiles, batch, depth, pairs.item[part])
        progress().advance(len(batch))
    return ranks


def fit(model: Recommender, snapshot: Snapshot) -> None:
    """Fit a recommender; say whose fault it is if it fails."""
    progress().stage(f"fitting {model}")
    _call(model, "fit", model.fit, snapshot)


def lists_for(
    model: Recommender, snapshot: Snapshot, batch: Batch, depth: int, wanted: Codes
) -> tuple[Codes, Codes]:
    """The lists that a recommender gives for some profiles, checked, and the rank of a wanted item in each."""
    given = _call(model, "recommend", model.recommend, batch, depth)
    lists = _require_whole_numbers(model, "recommend", given, (len(batch), depth))
    ranks, fault = np.zeros(len(batch), dtype=np.int64), np.zeros(3, dtype=np.int64)
    free = traits_of(model).may_recommend_profile
    list_kernels.rank_in_lists(lists, wanted, batch.start, batch.item, batch.n_items, free, ranks, fault)
    if fault[0]:
        raise _fault_error(model, snapshot.log, batch, fault)
    return lists, ranks


def _fault_error(model: Recommender, log: Log, batch: Batch, fault: Codes) -> UnskewError:
    kind, row, code = (int(x) for x in fault)
    item = log.items[code] if 0 <= code < len(log.items) else code
    user = log.users[int(batch.user[row])]
    return InputError(f"{model}, for user {user!r}: {_FAULTS[kind].format(item=item)}")


def _ask_for_grades(model: GradesHeldOut, held: HoldOut, pairs: HeldOutPairs) -> Floats:
    grades = np.full(len(pairs), np.nan)
    for part, batch in held.batches(pairs, ENTRIES):
        given = _call(model, "grades", model.grades, batch, pairs.item[part])
        found = _to_array(model, "grades", given)
        if found.shape != (len(batch),) or found.dtype.kind not in "iuf":
            raise InputError(
                f"{model}: grades must return one number for each of the {len(batch)} profiles, not "
                f"{_describe_array(found)}"
            )
        grades[part] = found
        progress().advance(len(batch))
    return grades


def _require_whole_numbers(model: Any, what: str, given: Any, shape: tuple[int, ...]) -> Codes:
    found = _to_array(model, what, given)
    if found.shape != shape or found.dtype.kind not in "iu":
        raise InputError(
            f"{model}: {what} must return whole numbers of shape {shape}, not {_describe_array(found)}"
        )
    return np.ascontiguousarray(found, dtype=np.int64)


def _to_array(model: Any, what: str, given: Any) -> npt.NDArray[Any]:
    try:
        return np.asarray(given)
    except (TypeError, ValueError) as error:
        raise InputError(f"{model}: {what} must return an array of numbers: {first_line(error)}") from error


def _describe_array(found: npt.NDArray[Any]) -> str:
    return f"{found.dtype} of shape {found.shape}"


def _call(model: Any, what: str, method: Any, *arguments: Any) -> Any:
    """Call a recommender's method; say whose fault it is if it fails."""
    try:
        return method(*arguments)
    except UnskewError:
        raise
    except Exception as error:
        raise UnskewError(
            f"the recommender {model} failed in {what}(): {type(error).__name__}: {first_line(error)}"
        ) from error
