"""One date of a timeline: the reference mix, and the scores."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from unskew.arrays.types import Floats
from unskew.data.held_out import HeldOutSplit
from unskew.data.slice import Slice
from unskew.data.weighting import Weighting
from unskew.engines.population import AppliedWeights, is_at_spark
from unskew.errors import UnskewWarning
from unskew.evaluation.estimates import Estimate
from unskew.evaluation.held_out import HeldOut
from unskew.evaluation.metric import Metric, UserMetric
from unskew.evaluation.pair_selection import PairSelection
from unskew.evaluation.rank_selection import rank_selection
from unskew.evaluation.selection_options import SelectionOptions
from unskew.over_time.timeline_table import Starts
from unskew.recommend.contract import Recommender
from unskew.weights.alignment import Alignment, Reference
from unskew.weights.fit_options import FitOptions
from unskew.weights.fit_weights import AlignedFit, fit_alignment

"""What the options in the file of a timeline call it."""


NEARBY = 5.0
"""How far from their mean, in nats, log-weights of all items may start.

Passes over MovieTweetings monthly, weekly and daily, and over a simulated log daily: 69, 220, 1064 and 972;
without any such bound 114, 316, 1277 and 995; without warm starts 80, 261, 1685 and 2762.
"""


@dataclass(frozen=True)
class DatedWeighting:
    """A weighting of what is held out at one date, and how far its item mix is from that of the reference date.

    Attributes
    ----------
    weighting
        What scoring sees.
    marginal
        The item mix that it gives, over all items of the log.
    divergence, bound
        From the reference date: before weighting for the raw one, else after.
    """

    weighting: AppliedWeights
    marginal: Floats
    divergence: float
    bound: float
    converged: bool = True

    @classmethod
    def raw(cls, part: Slice, alignment: Alignment) -> DatedWeighting:
        """No weights."""
        before, bound = alignment.divergence_before, alignment.bound_before
        return cls(part.weigh(), alignment.p_before, before, bound)

    @classmethod
    def fitted(cls, fit: AlignedFit) -> DatedWeighting:
        """Where a fit ended."""
        reached = fit.solution
        return cls(fit.weighting(), reached.q, reached.divergence, fit.bound, reached.status != "unfinished")

    def next_start(self) -> Floats:
        """Its log-weights as a start for the next date; an item that it drops starts at weight 1.

        Where no exact solution exists those of all items run off, further at every date, and from far out there is
        hardly a way back: they start from nearer by.
        """
        theta = self.weighting.log_weights
        theta = np.where(np.isfinite(theta), theta, 0.0)
        return np.clip(theta, -NEARBY, NEARBY) if self.weighting.top is None else theta


def weigh_date(
    part: Slice, reference: Reference, fits: Sequence[FitOptions], starts: Starts
) -> list[DatedWeighting]:
    """No weights, then the weights of each of the `fits`; those with the same policy share an alignment."""
    alignments: dict[bool, Alignment] = {}
    found: list[DatedWeighting] = []
    for options in fits:
        drops = options.drops_new
        if drops not in alignments:
            alignments[drops] = Alignment.of(part, reference, replace(options, new_items=_new_items(options)))
        if not found:
            found.append(DatedWeighting.raw(part, alignments[drops]))
        fit = fit_alignment(alignments[drops], options, starts.get(options.top))
        found.append(DatedWeighting.fitted(fit))
    return found


def _new_items(options: FitOptions) -> str:
    return "drop" if options.drops_new else "keep"


def score_date(
    split: HeldOutSplit,
    weightings: Sequence[AppliedWeights],
    models: Sequence[Recommender],
    metrics: Sequence[Metric],
    *,
    level: float,
    sample: int | None = None,
    seed: int = 0,
    tell_missing: Callable[[str], None] | None = None,
) -> tuple[list[list[list[Estimate]]], list[HeldOut]]:
    """The score of each recommender and metric under each weighting, and what of a pair was left out of each.

    The first weighting is the raw one, and the only one for a metric of users.
    """
    options = SelectionOptions(sample=sample, seed=seed)
    there: Any = split.pairs
    if is_at_spark(there):
        from unskew.engines.spark.evaluation import rank_there

        named, on_spark = {str(model): model for model in models}, cast(Sequence[Any], weightings)
        ranked, notes = rank_there(named, there, on_spark, metrics, options, tell_missing=tell_missing)
        for note in notes:
            warnings.warn(note, UnskewWarning, stacklevel=2)
        return [[one.estimates(q, level) for q in metrics] for one in ranked], [one.held_out for one in ranked]
    selection = PairSelection.of_split(split, cast(Sequence[Weighting], weightings), options)
    found, kinds = [], []
    for model in models:
        ranks = rank_selection(model, selection, metrics, tell_missing=tell_missing)
        found.append([ranks.estimate(q, _weightings_of(q, selection), level=level) for q in metrics])
        kinds.append(ranks.held_out)
    return found, kinds


def _weightings_of(metric: Metric, selection: PairSelection) -> Sequence[Weighting]:
    return selection.weightings[:1] if isinstance(metric, UserMetric) else selection.weightings
