"""Ranking a selection of pairs: the recommender is fitted to what it may see, and each pair has its rank."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence

from unskew.errors import UnskewWarning
from unskew.evaluation.held_out_ranks import HeldOutRanks
from unskew.evaluation.metric import Metric
from unskew.evaluation.pair_selection import PairSelection, check_user_metrics
from unskew.evaluation.ranking import describe_missing_lists, rank_folds, rank_pairs
from unskew.evaluation.remembered_ranks import recall_or_rank
from unskew.recommend.contract import traits_of
from unskew.recommend.specs import AnyRecommender
from unskew.recommend.specs import recommender as named_recommender


def rank_selection(
    recommender: AnyRecommender,
    selection: PairSelection,
    metrics: Sequence[Metric],
    *,
    tell_missing: Callable[[str], None] | None = None,
) -> HeldOutRanks:
    """Fit a recommender to what it may see and rank the pairs of a selection, as deep as the metrics look.

    `tell_missing` is told if lists external lack some of the users; by default that is a warning.
    """
    check_user_metrics(metrics, selection.sample)
    model = named_recommender(recommender)
    depth = max(q.depth for q in metrics)
    graded = any(q.needs_grades for q in metrics)
    held, pairs = selection.held, selection.pairs
    if selection.folds is None:
        ranked = recall_or_rank(
            model, selection, depth, graded, lambda: rank_pairs(model, held, pairs, depth, with_grades=graded)
        )
    else:
        ranked = rank_folds(model, held, pairs, depth, selection.folds, with_grades=graded)
    missing = describe_missing_lists(model, pairs)
    if missing is not None:
        (tell_missing or _warn)(f"{model} has no recommendation for {missing}: they count as misses")
    traits = traits_of(model)
    return HeldOutRanks(
        str(model),
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


def _warn(text: str) -> None:
    warnings.warn(text, UnskewWarning, stacklevel=4)
