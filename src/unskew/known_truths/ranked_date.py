"""The profiles of one date with the held-out ranks of every recommender: each ranked once, whatever weighs it."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from functools import cached_property

from unskew.data.snapshot import Snapshot
from unskew.data.weighting import Weights
from unskew.evaluation.held_out_ranks import HeldOutRanks
from unskew.evaluation.independent_units import Units
from unskew.evaluation.metric import Metric
from unskew.evaluation.pair_selection import PairSelection
from unskew.evaluation.rank_selection import rank_selection
from unskew.evaluation.score import Score
from unskew.recommend.contract import Recommender


class RankedDate:
    """One date of one log.

    A recommender that takes held-out pairs out of what it has learned does so; others are cross-fitted, so that no
    score is flattered by what the model has seen.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        models: Mapping[str, Recommender],
        metrics: Sequence[Metric],
        *,
        folds: int,
        seed: int,
    ) -> None:
        self.snapshot = snapshot
        self.seconds: dict[str, float] = {}
        self._models = models
        self._metrics = metrics
        self._folds = folds
        self._seed = seed
        self._ranks: dict[str, HeldOutRanks] = {}

    @cached_property
    def _exact(self) -> PairSelection:
        return PairSelection.of(self.snapshot)

    @cached_property
    def _folded(self) -> PairSelection:
        return PairSelection.of(self.snapshot, folds=self._folds, seed=self._seed)

    def ranks(self, name: str) -> HeldOutRanks:
        """Those of a recommender."""
        if name not in self._ranks:
            began = time.perf_counter()
            model = self._models[name]
            leaks = self._exact.held_out(model).kind == "profile"
            self._ranks[name] = rank_selection(model, self._folded if leaks else self._exact, self._metrics)
            self.seconds[name] = time.perf_counter() - began
        return self._ranks[name]

    def score(self, name: str, metric: Metric, weights: Weights) -> Score:
        """The score of a recommender."""
        return self.ranks(name).score(metric, weights)

    def units(self, name: str, metric: Metric, weights: Weights) -> Units:
        """The users behind that score."""
        return Units.of(self.ranks(name), metric, weights)
