"""Driving a recommender over held-out pairs, in batches, and checking what it gives."""

from __future__ import annotations

from typing import Any

import numpy as np

from unskew import kernels
from unskew.errors import InputError, UnskewError
from unskew.heldout import HoldOut
from unskew.progress import progress
from unskew.recommend.base import Batch, Codes, HeldOutPairs, RanksHeldOut, Recommender
from unskew.sweep import Floats

ENTRIES = 400_000  # of profiles in one batch: what is held in memory at a time
PAIRS = 100_000  # ranked between two reports of progress, where the recommender ranks by itself

_FAULTS = {
    1: "recommends the item code {item}, which does not exist",
    2: "recommends item {item!r} twice",
    3: "recommends item {item!r}, which the profile holds",
}


def rank_pairs(
    model: Recommender, held: HoldOut, pairs: HeldOutPairs, depth: int, *, with_grades: bool = False
) -> tuple[Codes, Floats | None]:
    """Fit the recommender and rank every pair; with grades if they are wanted and it gives any."""
    snapshot = held.profiles
    progress().stage(f"fitting {model}")
    _call(model, "fit", model.fit, snapshot)
    depth = min(depth, snapshot.profiles.n_items)
    alone = held.together == 1 and held.profiles is pairs.snapshot
    progress().begin(f"ranking {model}", len(pairs), "pairs")
    if alone and isinstance(model, RanksHeldOut):
        ranks = _ranked_by_itself(model, pairs, depth)
    else:
        ranks = _ranked_by_lists(model, held, pairs, depth)
    grades = _grades(model, held, pairs) if with_grades and hasattr(model, "grades") else None
    return ranks, grades


def _ranked_by_itself(model: RanksHeldOut, pairs: HeldOutPairs, depth: int) -> Codes:
    ranks = np.empty(len(pairs), dtype=np.int64)
    for at in range(0, len(pairs), PAIRS):
        end = min(at + PAIRS, len(pairs))
        some = HeldOutPairs(pairs.snapshot, pairs.user[at:end], pairs.item[at:end], pairs.entry[at:end])
        found = np.asarray(_call(model, "held_out_ranks", model.held_out_ranks, some, depth))
        if found.shape != (end - at,) or found.dtype.kind not in "iu":
            raise UnskewError(
                f"{model}: held_out_ranks must give one whole number for each of the {end - at} pairs"
            )
        if len(found) and (found.min() < 0 or found.max() > depth):
            raise UnskewError(f"{model}: held_out_ranks must lie between 0 and {depth}, but one is {found.max()}")
        ranks[at:end] = found
        progress().advance(end - at)
    return ranks


def _ranked_by_lists(model: Recommender, held: HoldOut, pairs: HeldOutPairs, depth: int) -> Codes:
    ranks = np.zeros(len(pairs), dtype=np.int64)
    for part, batch in held.batches(pairs, ENTRIES):
        lists = np.asarray(_call(model, "recommend", model.recommend, batch, depth))
        if lists.shape != (len(batch), depth) or lists.dtype.kind not in "iu":
            raise UnskewError(
                f"{model}: recommend must give whole numbers of shape ({len(batch)}, {depth}), not {lists.dtype} "
                f"of shape {lists.shape}"
            )
        fault = np.zeros(3, dtype=np.int64)
        free = bool(getattr(model, "may_recommend_profile", False))
        kernels.list_ranks(
            lists.astype(np.int64),
            pairs.item[part],
            batch.start,
            batch.item,
            batch.n_items,
            free,
            ranks[part],
            fault,
        )
        if fault[0]:
            raise _refused(model, held, batch, fault)
        progress().advance(len(batch))
    return ranks


def _refused(model: Recommender, held: HoldOut, batch: Batch, fault: Codes) -> UnskewError:
    kind, row, code = (int(x) for x in fault)
    log = held.profiles.log
    item = log.items[code] if 0 <= code < len(log.items) else code
    user = log.users[int(batch.user[row])]
    return InputError(f"{model}, for user {user!r}: {_FAULTS[kind].format(item=item)}")


def _grades(model: Any, held: HoldOut, pairs: HeldOutPairs) -> Floats:
    grades = np.full(len(pairs), np.nan)
    for part, batch in held.batches(pairs, ENTRIES):
        found = np.asarray(_call(model, "grades", model.grades, batch, pairs.item[part]), dtype=np.float64)
        if found.shape != (len(batch),):
            raise UnskewError(f"{model}: grades must give one number for each profile")
        grades[part] = found
    return grades


def _call(model: Any, what: str, method: Any, *arguments: Any) -> Any:
    """Call a recommender's method; say whose fault it is if it fails."""
    try:
        return method(*arguments)
    except UnskewError:
        raise
    except Exception as error:
        raise UnskewError(
            f"the recommender {model} failed in {what}(): {type(error).__name__}: {error}"
        ) from error
