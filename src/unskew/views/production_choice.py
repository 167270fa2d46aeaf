"""Which model stands for production: the one that is named, or the stand-in that explains most of the windows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

import numpy as np

from unskew.data.log import Log
from unskew.errors import UnskewError
from unskew.recommend.calls import LogSize, estimate_cost
from unskew.recommend.contract import Recommender, traits_of
from unskew.recommend.specs import AnyRecommender, recommender
from unskew.text import enumerate_words, percent, shorten_spec
from unskew.views.contrast import Contrast
from unskew.views.cross_fitted import measure_separation, split_blocks
from unskew.views.production_ranks import FOLDS
from unskew.views.ranked_contrast import Ranks, combine_ranks, count_ranked, find_ranks
from unskew.views.tally import Tally

AUTO = "auto"
"""What to write for the stand-in that explains most."""

CANDIDATES = (
    "popular",
    "knn?similarity=cooccurrence",
    "knn?similarity=cosine",
    "knn?similarity=bm25&exact=false",
    "ease?exact=false",
    "als",
)
"""The models that compete, besides those that are compared."""

_MOST_SECONDS = 3.0  # for one fit, of which there is one for each window and fold
_WORTH = 0.01  # by which two models together must be better than the better one

FEW_WINDOWS = 4
"""Windows of each kind that are enough to compare models, or to test one."""

FEW_FOLDS = 2
"""Folds of users that are enough to compare models, or to test one."""


@dataclass(frozen=True)
class Production:
    """What stands for production.

    Attributes
    ----------
    models
        The model, or the two whose best rank counts.
    ranks
        Their ranks of the pairs of a contrast.
    explains
        How much of the interactions in the windows their strata tell apart, from 0 to 1; 0 or less if nothing.
    candidates
        If several models competed: the same for each, on the few windows on which all of them were tried.
    tallies
        The counts of the best candidates, or of the one model that was named.
    folds
        Into how many folds users are dealt if models are cross-fitted.
    """

    models: tuple[Recommender, ...]
    ranks: Ranks
    explains: float
    candidates: Mapping[str, float] = field(default_factory=dict)
    tallies: tuple[Tally, ...] = ()
    folds: int = FOLDS

    @property
    def is_silent(self) -> bool:
        """Whether no candidate explains anything."""
        return self.explains <= 0 and all(share <= 0 for share in self.candidates.values())

    def notes(self) -> list[str]:
        """What should be said about it."""
        if self.is_silent:
            return [f"no sign of recommendations: {self._explain_nothing()} of the interactions in the windows"]
        production = shorten_spec(self.ranks.production)
        share = f"explains {percent(self.explains, 0)} of the interactions in the windows"
        if not self.candidates:
            return [f"production is modelled by {production}, which {share}"]
        others = [f"{shorten_spec(name)} {percent(max(share, 0.0), 0)}" for name, share in self.candidates.items()]
        return [
            f"the stand-in for production is {production}, which {share} "
            f"(tried on a few windows: {enumerate_words(others)}); if you know what ran, give that"
        ]

    def _explain_nothing(self) -> str:
        number = len(self.candidates)
        return f"none of {number} stand-ins explains any" if number else f"{self.ranks.production} explains none"

    def count(self, contrast: Contrast, seed: int = 0) -> Tally:
        """The counts of another contrast, ranked by the same models."""
        ranks = [find_ranks(contrast, model, folds=self.folds) for model in self.models]
        return _count(contrast, combine_ranks(ranks), seed)


def is_auto(production: Any) -> bool:
    """Whether a stand-in for production is to be chosen."""
    return isinstance(production, str) and production.strip() == AUTO


def choose_production(
    contrast: Contrast,
    production: AnyRecommender,
    candidates: Iterable[AnyRecommender] = (),
    seed: int = 0,
    *,
    family: Sequence[str] = CANDIDATES,
) -> Production:
    """Rank all pairs by the model of production, or by the stand-in that explains most.

    `candidates` are models that compete besides the `family` of unskew: the ones that are compared.
    """
    if not is_auto(production):
        return take_for_production(contrast, recommender(production), seed=seed)
    some = contrast.take_some(FEW_WINDOWS)
    models = _list_candidates(contrast, family, candidates)
    ranked: dict[str, Ranks] = {}
    for name, model in list(models.items()):
        try:
            ranked[name] = find_ranks(some, model, folds=FEW_FOLDS)
        except UnskewError:  # a model that is compared need not know users to whom it was not fitted
            if name in map(str, map(recommender, family)):
                raise
            del models[name]
    shares = {name: _explain(_count(some, ranks, seed), seed) for name, ranks in ranked.items()}
    best = sorted(shares, key=lambda name: -shares[name])[:2]
    finalists: list[tuple[str, ...]] = [(name,) for name in best]
    both = combine_ranks([ranked[name] for name in best])
    together = _explain(_count(some, both, seed), seed)
    if together > shares[best[0]] + _WORTH:
        shares[both.production] = together
        finalists.insert(0, tuple(best))
    full = {name: find_ranks(contrast, models[name]) for name in best}
    last = [(names, combine_ranks([full[name] for name in names])) for names in finalists]
    counted = [(_count(contrast, ranks, seed), names, ranks) for names, ranks in last]
    counted.sort(key=lambda row: -_explain(row[0], seed))
    tally, names, ranks = counted[0]
    return Production(
        tuple(models[name] for name in names),
        ranks,
        _explain(tally, seed),
        dict(sorted(shares.items(), key=lambda row: -row[1])),
        tuple(row[0] for row in counted),
    )


def take_for_production(
    contrast: Contrast, model: Recommender, *, folds: int = FOLDS, seed: int = 0
) -> Production:
    """One model that stands for production."""
    ranks = find_ranks(contrast, model, folds=folds)
    counted = _count(contrast, ranks, seed)
    return Production((model,), ranks, _explain(counted, seed), tallies=(counted,), folds=folds)


def is_cheap(model: Recommender, log: Log) -> bool:
    """Whether a model can be fitted once for each window and fold, by a count of the work."""
    size = LogSize(len(log.items), len(log), float((np.diff(log.start.astype(np.int64)).astype(float) ** 2).sum()))
    return estimate_cost([model], size).fit <= _MOST_SECONDS


def _explain(counted: Tally, seed: int) -> float:
    """How much of the interactions in the windows the strata of a model tell apart."""
    return measure_separation(counted, split_blocks(counted.blocks, seed))


def _count(contrast: Contrast, ranks: Ranks, seed: int) -> Tally:
    return count_ranked(contrast, ranks, by_taste=False, seed=seed).tally


def _list_candidates(
    contrast: Contrast, family: Sequence[str], compared: Iterable[AnyRecommender]
) -> dict[str, Recommender]:
    """The models that compete, by name: those that are installed and that the log is not too large for.

    Models that are compared compete as well, unless everybody gets the same list from them or their lists are
    external and may lack the dates of the windows.
    """
    models = list_family(contrast.log, family)
    for model in map(recommender, compared):
        traits = traits_of(model)
        if not traits.external and not traits.constant and not is_alike(model, models.values()):
            models[str(model)] = model
    return {name: model for name, model in models.items() if is_cheap(model, contrast.log)}


def list_family(log: Log, family: Sequence[str] = CANDIDATES) -> dict[str, Recommender]:
    """The models of unskew that may stand for production, by name: installed, and not too slow for the log."""
    specs = [spec for spec in family if spec != "als" or find_spec("implicit") is not None]
    models = {str(model): model for model in map(recommender, specs)}
    return {name: model for name, model in models.items() if is_cheap(model, log)}


def is_alike(model: Recommender, others: Iterable[Recommender]) -> bool:
    """Whether a model is among others, whatever its name; how it removes a held-out pair makes no difference.

    >>> is_alike(recommender("knn"), [recommender("knn?similarity=cosine&exact=false")])
    True
    >>> is_alike(recommender("knn?neighbours=20"), [recommender("knn")])
    False
    """
    return _identify(model) in map(_identify, others)


def _identify(model: Recommender) -> tuple[type, str]:
    """The kind of a model and all its parameters, those that have their defaults included."""
    unnamed = getattr(model, "recommender", model)
    return type(unnamed), re.sub("[?&]exact=false", "", str(unnamed))
