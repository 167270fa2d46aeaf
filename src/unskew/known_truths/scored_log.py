"""A log at the date of the evaluation under any weights, and how its scores changed since the reference date."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from unskew.data.log import Log
from unskew.data.snapshot import Snapshot
from unskew.data.weighting import Weights
from unskew.evaluation.independent_units import Difference, Units, number_users
from unskew.evaluation.metric import Metric
from unskew.known_truths.case import Case
from unskew.known_truths.method_table import PairWeights
from unskew.known_truths.scored_case import RankedDate

LEVEL = 0.95
"""Of every interval."""


@dataclass(frozen=True)
class Finding:
    """A score and its change since the reference date, with intervals; the mean over several draws of a view.

    Attributes
    ----------
    value, low, high
        The score.
    effective_pairs
        How many equally weighted pairs would tell as much.
    change, change_low, change_high
        The score minus that of the reference date; the interval pairs the users of both.
    draws, spread
        How many draws there were, and the standard deviation of the score over them; None of one draw.
    """

    value: float
    low: float
    high: float
    effective_pairs: float
    change: float
    change_low: float
    change_high: float
    draws: int = 1
    spread: float | None = None

    @property
    def is_gain(self) -> bool:
        """Whether the score rose by more than chance would explain."""
        return self.change_low > 0


def average(draws: Sequence[Finding]) -> Finding:
    """The mean of the findings of several draws.

    Limits are averaged too: draws differ in what they leave out, but their users are the same, so that more of
    them do not make a score surer of these.
    """
    if len(draws) == 1:
        return draws[0]
    names = [name for name in Finding.__dataclass_fields__ if name not in ("draws", "spread")]
    means = {name: float(np.mean([getattr(one, name) for one in draws])) for name in names}
    return Finding(**means, draws=len(draws), spread=float(np.std([one.value for one in draws], ddof=1)))


class ScoredLog:
    """A log, or a view of one, at the date of the evaluation.

    `before` is the reference date in the world without recommendations. Since there were none by then, it is the
    same under every view, and ranked once.
    """

    def __init__(self, log: Log, case: Case, now: RankedDate, before: RankedDate, seconds: float = 0.0) -> None:
        self._case = case
        self._now, self._before = now, before
        self._reference = Snapshot.of(log, case.before)
        self._weights: dict[PairWeights, tuple[Weights, Weights]] = {}
        self._found: dict[tuple[str, Metric, PairWeights], Finding] = {}
        self._seconds: dict[Any, float] = {"view": seconds}

    def find(self, name: str, metric: Metric, weights: PairWeights) -> Finding:
        """The score of a recommender; found once."""
        key = (name, metric, weights)
        if key not in self._found:
            self._found[key] = self._find(name, metric, weights)
        return self._found[key]

    def _find(self, name: str, metric: Metric, weights: PairWeights) -> Finding:
        made, then = self._weigh(weights)
        score = self._now.score(name, metric, made)
        places = number_users(self._now.snapshot, self._before.snapshot)
        before = self._before.units(name, metric, then)
        change = Difference.of(self._now.units(name, metric, made), before, places)
        low, high = change.interval(LEVEL)
        return Finding(score.value, score.low, score.high, score.effective_pairs, change.value, low, high)

    def units(self, name: str, metric: Metric, weights: PairWeights) -> Units:
        """The users behind a score."""
        return self._now.units(name, metric, self._weigh(weights)[0])

    def seconds(self, name: str, weights: PairWeights) -> float:
        """How long it took to make the view and the weights, and to rank."""
        return self._seconds["view"] + self._seconds.get(weights, 0.0) + self._now.seconds.get(name, 0.0)

    def _weigh(self, weights: PairWeights) -> tuple[Weights, Weights]:
        """The weights of now and those of the reference date; made once."""
        if weights not in self._weights:
            began = time.perf_counter()
            made = weights.make(self._now.snapshot, self._reference, self._case)
            self._seconds[weights] = time.perf_counter() - began
            self._weights[weights] = (made, weights.make_before(self._before.snapshot, self._case))
        return self._weights[weights]
