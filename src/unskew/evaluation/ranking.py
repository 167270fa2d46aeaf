"""Ranking held-out pairs: the recommender is fitted to what it may see, and each pair has its rank.

`unskew.recommend.calls` checks what a recommender gives. Ranks can be kept for a second use: a page scores the
same dates twice, once for its answer and once for its charts.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from unskew.arrays.types import Codes, Floats, Mask
from unskew.data.times import TimeAxis
from unskew.errors import InputError, option, warn
from unskew.evaluation.held_out_ranks import HeldOutRanks
from unskew.evaluation.metric import Metric
from unskew.evaluation.pairs import Folds, HoldOut, PairSelection, check_user_metrics, take_pairs
from unskew.progress import progress
from unskew.recommend.calls import ask_for_ranks, call_model, describe_array, fit, lists_for, to_array
from unskew.recommend.contract import (
    GradesHeldOut,
    HeldOutPairs,
    PreparedLists,
    RanksHeldOut,
    Recommender,
    is_valid_at,
    traits_of,
)
from unskew.recommend.specs import AnyRecommender
from unskew.recommend.specs import recommender as named_recommender

ENTRIES = 400_000  # of profiles in one batch: what is held in memory at a time


class RankedPairs(NamedTuple):
    """What a recommender makes of held-out pairs; arrays have one entry for each pair."""

    ranks: Codes  # from 1; 0 if the item is not among the best
    # Whether the recommender returns nothing for the profile; None if it ranks by itself and does not say.
    empty: Mask | None
    grades: Floats | None = None  # if they are wanted and it gives any


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
        fold_pairs = take_pairs(pairs, places)
        ranks[places], empty[places] = _rank_in_lists(model, held, fold_pairs, depth)
        if grader is not None and grades is not None:
            grades[places] = _ask_for_grades(grader, held, fold_pairs)
    return RankedPairs(ranks, empty, grades)


def rank_pairs(
    model: Recommender, held: HoldOut, pairs: HeldOutPairs, depth: int, *, with_grades: bool = False
) -> RankedPairs:
    """Fit the recommender and rank every pair; with grades if they are wanted and it gives any."""
    snapshot, traits = held.profiles, traits_of(model)
    fit(model, snapshot)
    depth = min(depth, snapshot.profiles.n_items)
    if held.together > 1 and traits.exact:
        warn(
            f"{model} leaves a pair out of its model only when items are held out one at a time: with "
            f"{option('leave_out', held.together)} the items leave the profile but not the model, so scores "
            "are too high"
        )
    alone = held.together == 1 and held.profiles is pairs.snapshot
    progress().begin(f"ranking {model}", len(pairs), "pairs")
    if alone and isinstance(model, RanksHeldOut):
        ranks, empty = ask_for_ranks(model, pairs, depth)
    else:
        ranks, empty = _rank_in_lists(model, held, pairs, depth)
    if traits.external and len(ranks) and not ranks.any():
        warn(
            f"{model} recommends none of the held-out items to anyone, as happens when lists leave out what users "
            "already hold: make them from profiles without the held-out item (column held_out), or use "
            f"{option('after')}"
        )
    if not with_grades or not isinstance(model, GradesHeldOut):
        return RankedPairs(ranks, empty)
    progress().begin(f"grading by {model}", len(pairs), "pairs")
    return RankedPairs(ranks, empty, _ask_for_grades(model, held, pairs))


def _rank_in_lists(model: Recommender, held: HoldOut, pairs: HeldOutPairs, depth: int) -> tuple[Codes, Mask]:
    ranks, empty = np.zeros(len(pairs), dtype=np.int64), np.zeros(len(pairs), dtype=np.bool_)
    for part, batch in held.batches(pairs, ENTRIES):
        lists, ranks[part] = lists_for(model, held.profiles, batch, depth, pairs.item[part])
        empty[part] = (lists < 0).all(axis=1)
        progress().advance(len(batch))
    return ranks, empty


def _ask_for_grades(model: GradesHeldOut, held: HoldOut, pairs: HeldOutPairs) -> Floats:
    grades = np.full(len(pairs), np.nan)
    for part, batch in held.batches(pairs, ENTRIES):
        answer = call_model(model, "grades", model.grades, batch, pairs.item[part])
        values = to_array(model, "grades", answer)
        if values.shape != (len(batch),) or values.dtype.kind not in "iuf":
            raise InputError(
                f"{model}: grades must return one number for each of the {len(batch)} profiles, not "
                f"{describe_array(values)}"
            )
        grades[part] = values
        progress().advance(len(batch))
    return grades


@dataclass
class RankMemory:
    """Ranks by recommender, date and depth; what they are about is kept too, so that no other has its identity.

    Only ranks of every pair of the profiles of a date are kept.
    """

    keeps: bool = True
    kept: dict[tuple[Any, ...], tuple[RankedPairs, Any]] = field(default_factory=dict)


_memory: ContextVar[RankMemory | None] = ContextVar("ranks that may be wanted again", default=None)


@contextlib.contextmanager
def remembering_ranks(memory: RankMemory) -> Iterator[None]:
    """Inside the block ranks are looked for in `memory`, and kept there if it keeps any."""
    token = _memory.set(memory)
    try:
        yield
    finally:
        _memory.reset(token)


def _recall_or_rank(model: Recommender, selection: PairSelection, depth: int, graded: bool) -> RankedPairs:
    held, pairs, folds = selection.held, selection.pairs, selection.folds
    if folds is not None:
        return rank_folds(model, held, pairs, depth, folds, with_grades=graded)
    memory, part = _memory.get(), selection.part
    whole = selection.sample is None and held.together == 1 and selection.split.is_from_profiles
    if memory is None or not whole or isinstance(model, PreparedLists):
        return rank_pairs(model, held, pairs, depth, with_grades=graded)
    key = (id(model), id(part.log), part.tick, part.policy.min_items, depth, graded)
    if key in memory.kept:
        return memory.kept[key][0]
    ranked = rank_pairs(model, held, pairs, depth, with_grades=graded)
    if memory.keeps:
        memory.kept[key] = (ranked, (model, part.log))
    return ranked


def rank_selection(
    recommender: AnyRecommender,
    selection: PairSelection,
    metrics: Sequence[Metric],
    *,
    name: str | None = None,
    tell_missing: Callable[[str], None] | None = None,
) -> HeldOutRanks:
    """Fit a recommender to what it may see and rank the pairs of a selection, as deep as the metrics look.

    `name` is what results call it. `tell_missing` takes the sentence that external lists lack some of the users,
    which is a warning by default.
    """
    check_user_metrics(metrics, selection.sample)
    model = named_recommender(recommender)
    depth = max(metric.depth for metric in metrics)
    ranked = _recall_or_rank(model, selection, depth, any(metric.needs_grades for metric in metrics))
    if isinstance(model, PreparedLists):
        missing, total, noun = model.count_missing(selection.pairs)
        share = f"{missing} of the {total} {noun} scored at {selection.pairs.snapshot.at}"
        if missing:
            (tell_missing or warn)(f"{model} has no recommendation for {share}: they count as misses")
    traits = traits_of(model)
    return HeldOutRanks(
        str(model) if name is None else name,
        selection,
        ranked.ranks,
        ranked.grades,
        depth,
        selection.held_out(model),
        traits.constant,
        empty=ranked.empty,
        personal=traits.personal,
        model=str(model),
    )


def describe_unscored(
    models: Mapping[str, Recommender], axis: TimeAxis, date: Any, *, now: Any = None, undated: bool = False
) -> Iterator[str]:
    """What cannot be scored at a date, and why.

    - `models`: the recommenders by name.
    - `axis`: the times of the log.
    - `date`: what has a label `at` and a `tick`: a snapshot.
    - `now`: if the date is one that scores are compared with: the label of the date of the others.
    - `undated`: whether lists that do not say from when they are count as valid then.
    """
    for name, model in models.items():
        valid = is_valid_at(model, axis, date.tick)
        if valid is False:
            change = "" if now is None else ", and no change since then"
            yield f"no lists of {name} are valid at {date.at}: there is no score of it at that date{change}"
        elif valid is None and now is not None and not undated:
            yield (
                f"{name} does not say from when its lists are valid: it is scored at {now} alone, and there is no "
                f"change since {date.at}. Give it a column of dates, or one date (valid_from; in a spec "
                "?from=DATE)"
            )
