"""A contrast and the cells of its pairs, by the ranks of a model of production: what pairs are thinned by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unskew.arrays.types import Codes
from unskew.recommend.contract import Recommender, traits_of
from unskew.recommend.specs import recommender
from unskew.views.contrast import Contrast
from unskew.views.item_push import ItemPush, find_edges
from unskew.views.production_ranks import FOLDS, rank_taken, rank_with_quiet
from unskew.views.rates import Rates, find_rates
from unskew.views.strata import BEYOND, RANK_OF, Stratified, stratify
from unskew.views.tally import Tally, deal_blocks, tally

_TASTE = "knn"
"""The second model, of what users like: neighbours by cosine, which say least about popularity."""


@dataclass(frozen=True)
class Ranks:
    """The ranks that production gave to interactions in the windows and in quiet ones; from 1, 0 for none.

    Attributes
    ----------
    production
        The name of the model.
    taken
        Of each pair of the windows.
    quiet
        Of each quiet pair, a row for each model that ranked it; None with a holdout group.
    external
        Whether its lists are external.
    """

    production: str
    taken: Codes
    quiet: Codes | None
    external: bool = False


@dataclass(frozen=True)
class RankedContrast:
    """Who took what in which cell, and the counts of it.

    Attributes
    ----------
    production
        The name of the model of production.
    pairs
        The cells of ``contrast.taken``.
    tally
        Pairs and people, counted by blocks of users.
    notes
        What should be known about the lists of the model.
    """

    contrast: Contrast
    production: str
    pairs: Stratified
    tally: Tally
    notes: tuple[str, ...]

    @property
    def rates(self) -> Rates:
        """Pairs of each cell, and how many are usual."""
        return find_rates(self.tally)


def find_ranks(contrast: Contrast, model: Recommender, *, folds: int = FOLDS) -> Ranks:
    """Ask a model of production for the ranks of all pairs."""
    external = traits_of(model).external
    if contrast.quiet is None:
        return Ranks(str(model), rank_taken(model, contrast.taken), None, external)
    return Ranks(str(model), *rank_with_quiet(model, contrast.taken, contrast.quiet, folds), external)


def combine_ranks(several: Sequence[Ranks]) -> Ranks:
    """The best rank that any of several models gives, as if each of them had made some of the lists."""

    def best(ranks: Sequence[Codes]) -> Codes:
        far = np.iinfo(np.int64).max
        lowest = np.min([np.where(some > 0, some, far) for some in ranks], axis=0)
        return np.where(lowest == far, 0, lowest)

    quiet = [ranks.quiet for ranks in several if ranks.quiet is not None]
    return Ranks(
        " + ".join(ranks.production for ranks in several),
        best([ranks.taken for ranks in several]),
        best(quiet) if quiet else None,
        any(ranks.external for ranks in several),
    )


def count_ranked(contrast: Contrast, ranks: Ranks, *, by_taste: bool = True, seed: int = 0) -> RankedContrast:
    """Find the cells of what was taken, and count.

    With `by_taste` a model of taste is asked too, where a holdout group is compared over the same time: the
    tastes of another time are others.
    """
    taken, quiet = contrast.taken, contrast.quiet
    pushed = ItemPush.measure(taken, contrast.suspect)
    push = pushed.of(taken)
    tastes = np.zeros_like(ranks.taken)
    quiet_pairs: list[Stratified] = []
    if quiet is None or ranks.quiet is None:
        assert contrast.holdout is not None
        edges = find_edges(push[contrast.holdout[taken.user]])
        if by_taste:
            tastes = rank_taken(recommender(_TASTE), taken)
    else:
        quiet_push = pushed.of(quiet)
        edges = find_edges(quiet_push)
        no_taste = np.zeros(len(quiet), dtype=np.int64)
        quiet_pairs = [stratify(quiet, row, no_taste, quiet_push, edges) for row in ranks.quiet]
    pairs = stratify(taken, ranks.taken, tastes, push, edges)
    block = deal_blocks(len(contrast.log.users), contrast.holdout, seed)
    counted = tally(pairs, contrast.suspect, quiet_pairs, contrast.holdout, block)
    return RankedContrast(
        contrast, ranks.production, pairs, counted, _find_missing_lists(contrast, ranks, counted)
    )


def _find_missing_lists(contrast: Contrast, ranks: Ranks, counted: Tally) -> tuple[str, ...]:
    """What is to be said if lists external are missing where nothing was shown."""
    if not ranks.external or counted.quiet_pairs[:, RANK_OF < BEYOND].any():
        return ()
    whom = "in quiet windows" if contrast.holdout is None else "for the holdout group"
    return (
        f"{ranks.production} has no lists {whom}, or no interactions with their items there: all interactions "
        "with items of its lists in the windows count as recommended",
    )
