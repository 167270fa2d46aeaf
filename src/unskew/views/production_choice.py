"""Which model stands for production: the one that is named, or the one that tells best what came from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

from unskew.recommend.specs import AnyRecommender, recommender
from unskew.text import enumerate_words, percent
from unskew.views.contrast import Contrast
from unskew.views.cross_fitted import measure_separation, split_blocks
from unskew.views.ranked_contrast import Ranks, combine_ranks, count_ranked, find_ranks
from unskew.views.tally import Tally

AUTO = "auto"
"""What to write for the model that tells best what came from recommendations."""

CANDIDATES = (
    "popular",
    "knn?similarity=cooccurrence",
    "knn?similarity=cosine",
    "knn?similarity=bm25&exact=false",
    "ease",
    "als",
)
"""The models that compete."""

_MOST_ITEMS_OF_EASE = 8_000  # it needs a dense matrix of items by items
_WORTH = 0.01  # by which two models together must be better than the better one
_WINDOWS = 4  # of each kind are enough to compare models


@dataclass(frozen=True)
class Production:
    """What stands for production.

    Attributes
    ----------
    ranks
        Where it had what was taken.
    candidates
        If several models competed: how well each tells what came from recommendations, from 0 to 1, on the few
        windows on which all of them were tried.
    tallies
        The counts of the best candidates, or of the one model that was named.
    """

    ranks: Ranks
    candidates: Mapping[str, float] = field(default_factory=dict)
    tallies: tuple[Tally, ...] = ()

    def notes(self) -> list[str]:
        """What should be said about it."""
        if not self.candidates:
            return [f"production is taken to be {self.ranks.production}"]
        others = [f"{name} {percent(share, 0)}" for name, share in self.candidates.items()]
        return [
            f"production is taken to be {self.ranks.production}, which tells best what came from recommendations "
            f"(on the first windows tried: {enumerate_words(others)})"
        ]


def is_auto(production: Any) -> bool:
    """Whether the model of production is to be found."""
    return isinstance(production, str) and production.strip() == AUTO


def choose_production(contrast: Contrast, production: AnyRecommender, seed: int = 0) -> Production:
    """Rank what was taken by the model of production, or by the one that tells best what came from it."""
    if not is_auto(production):
        ranks = find_ranks(contrast, recommender(production))
        return Production(ranks, tallies=(_count(contrast, ranks, seed),))
    some = contrast.take_some(_WINDOWS)
    ranked = [find_ranks(some, recommender(spec)) for spec in _list_candidates(contrast)]
    found = _order(_measure(some, ranked, seed))
    ranked.sort(key=lambda ranks: -found[ranks.production])
    both = combine_ranks(ranked[:2])
    together = _measure(some, [both], seed)[both.production]
    finalists = [[ranks.production] for ranks in ranked[:2]]
    if together > found[ranked[0].production] + _WORTH:
        found = _order({**found, both.production: together})
        finalists.insert(0, [ranks.production for ranks in ranked[:2]])
    full = {name: find_ranks(contrast, recommender(name)) for name in (ranks.production for ranks in ranked[:2])}
    last = [combine_ranks([full[name] for name in names]) for names in finalists]
    final = _measure(contrast, last, seed)
    last.sort(key=lambda ranks: -final[ranks.production])
    return Production(last[0], found, tuple(_count(contrast, one, seed) for one in last))


def _measure(contrast: Contrast, several: Sequence[Ranks], seed: int) -> dict[str, float]:
    """How well each model tells what came from recommendations."""
    counted = {ranks.production: _count(contrast, ranks, seed) for ranks in several}
    halves = split_blocks(next(iter(counted.values())).blocks, seed)
    return {name: measure_separation(one, halves) for name, one in counted.items()}


def _order(shares: Mapping[str, float]) -> dict[str, float]:
    """The same, the largest first."""
    return dict(sorted(shares.items(), key=lambda one: -one[1]))


def _count(contrast: Contrast, ranks: Ranks, seed: int) -> Tally:
    return count_ranked(contrast, ranks, by_taste=False, seed=seed).tally


def _list_candidates(contrast: Contrast) -> list[str]:
    """The models that compete: those that are installed, and that the log is not too large for."""
    left_out = []
    if find_spec("implicit") is None:
        left_out.append("als")
    if len(contrast.log.items) > _MOST_ITEMS_OF_EASE:
        left_out.append("ease")
    return [spec for spec in CANDIDATES if spec not in left_out]
