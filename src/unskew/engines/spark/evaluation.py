"""Evaluating recommenders on a Spark cluster: on all pairs where that is possible, else on drawn ones.

Lists external are held against the log first: each worker knows some of the users, and all of them together
whether the log has one.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, ClassVar
from weakref import WeakKeyDictionary, WeakSet

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from unskew.data.slice import Weighting
from unskew.engines.population import is_at_spark
from unskew.engines.spark.blocks import LogRule, Record
from unskew.engines.spark.log import SparkLog, SparkSnapshot
from unskew.engines.spark.population import SparkWeighting
from unskew.engines.spark.sample import FIT_USERS, SampledSelection
from unskew.engines.spark.scores import SparkRanks, can_rank_all, fit_on_spark, rank_on_spark
from unskew.errors import EmptyError, EngineError, option, warn
from unskew.evaluation.comparison import Comparison, compare, correct_together
from unskew.evaluation.find_verdicts import VerdictPlan
from unskew.evaluation.held_out_ranks import HeldOutRanks
from unskew.evaluation.intervals import Estimate
from unskew.evaluation.metric import Metric, UserMetric
from unskew.evaluation.pairs import HeldOut, require_same_min_items
from unskew.evaluation.ranking import describe_unscored, rank_selection
from unskew.evaluation.report import Report
from unskew.evaluation.score import Results, Score
from unskew.evaluation.selection_options import SelectionOptions
from unskew.evaluation.verdict import Decision
from unskew.recommend.contract import Recommender, is_valid_at
from unskew.recommend.table import Table
from unskew.recommend.table_rows import find_codes
from unskew.views.scenarios import Excesses
from unskew.weights.fit_weights import fit_weights
from unskew.weights.item_weights import ItemWeights

if TYPE_CHECKING:
    from unskew.evaluation.evaluate_report import ReportRequest

_held: WeakKeyDictionary[SparkLog, WeakSet[Table]] = WeakKeyDictionary()  # so that each is held against a log once


def hold_lists_against(log: SparkLog, model: Recommender) -> None:
    """Warn of what a log does not have of lists, and refuse them if it has nothing of them; of others nothing."""
    table: Any = getattr(model, "recommender", model)
    if not isinstance(table, Table) or table in _held.setdefault(log, WeakSet()):
        return

    def find_users(values: pa.Array, is_text: bool, where: str) -> npt.NDArray[np.bool_]:
        each = values.unique()
        marks = log.blocks.map(
            partial(_find_users, log.rule, each, is_text, where), "looking for the users of lists"
        )
        known = np.bitwise_or.reduce(marks)
        has = np.unpackbits(known, count=len(each)).astype(np.bool_)
        place = pc.index_in(values, each).to_numpy(zero_copy_only=False)
        return np.asarray(has[place], dtype=np.bool_)

    table.hold_against(log.items, log.view, find_users)
    _held[log].add(table)  # which is not refused


def _find_users(
    rule: LogRule, values: pa.Array, is_text: bool, where: str, record: Record
) -> npt.NDArray[np.uint8]:
    """Which of these users a block has, in bits."""
    return np.packbits(find_codes(values, rule.log(record).users, is_text, where) >= 0)


@dataclass(frozen=True)
class RankedOnSpark:
    """A recommender that was ranked, on the cluster or on pairs that were drawn there."""

    ranks: SparkRanks | HeldOutRanks
    weightings: Sequence[SparkWeighting] | Sequence[Weighting]
    level: float = 0.95

    @property
    def recommender(self) -> str:
        return self.ranks.recommender

    @property
    def constant(self) -> bool:
        return self.ranks.constant

    @property
    def held_out(self) -> HeldOut:
        return self.ranks.held_out

    def estimates(self, metric: Metric, level: float) -> list[Estimate]:
        """The value and the interval under each weighting; of a metric of users the raw one alone."""
        if isinstance(self.ranks, HeldOutRanks):
            return self.ranks.estimates(metric, level)
        return [self.ranks.estimate(metric, weighting, level) for weighting in self._weightings_of(metric)]

    def scores(self, metric: Metric, level: float) -> list[Score]:
        """The score under each weighting."""
        return [self.ranks.score(metric, weighting, level=level) for weighting in self._weightings_of(metric)]

    def score(self, metric: Metric, weights: ItemWeights | None = None) -> Score:
        """The raw score, or the one under the weights."""
        return self.scores(metric, self.level)[0 if weights is None else -1]

    def compare(self, baseline: RankedOnSpark, metric: Metric) -> list[Comparison]:
        """The baseline minus this, under each weighting."""
        ranks, other, weightings = self.ranks, baseline.ranks, self._weightings_of(metric)
        if isinstance(ranks, HeldOutRanks) and isinstance(other, HeldOutRanks):
            return [compare(other, ranks, metric=metric, weights=w, level=self.level)[0] for w in weightings]
        assert isinstance(ranks, SparkRanks)
        assert isinstance(other, SparkRanks)
        return [ranks.compare(other, metric, weighting, self.level) for weighting in weightings]

    def _weightings_of(self, metric: Metric) -> Sequence[Any]:
        return self.weightings[:1] if isinstance(metric, UserMetric) else self.weightings


def rank_all_on_spark(
    models: Mapping[str, Recommender],
    snapshot: SparkSnapshot,
    weightings: Sequence[SparkWeighting],
    metrics: Sequence[Metric],
    options: SelectionOptions,
    *,
    baseline: Recommender | None = None,
    tell_missing: Callable[[str], None] | None = None,
) -> tuple[list[RankedOnSpark], list[str]]:
    """Rank each of the recommenders, and say of whom a model was fitted to some of the users.

    `snapshot` has the users who are scored; models are fitted to all. The others are to be compared with a
    `baseline`, one of them.
    """
    refuse_protocols(options)
    everyone = snapshot.with_min_items(1)
    ranked: list[RankedOnSpark] = []
    if options.sample is None:
        for name, model in models.items():
            hold_lists_against(snapshot.log, model)
            ranks = rank_on_spark(
                model,
                snapshot,
                metrics,
                weightings,
                everyone=everyone,
                name=name,
                baseline=None if model is baseline else baseline,
                tell_missing=tell_missing,
            )
            ranked.append(RankedOnSpark(ranks, weightings))
        return ranked, []
    learning = [name for name, model in models.items() if not can_rank_all(model)]
    selection, sample, _ = SampledSelection.draw(
        everyone, weightings, options.sample, options.seed, others=FIT_USERS if learning else 0
    )
    for name, model in models.items():
        hold_lists_against(snapshot.log, model)
        fitted = fit_on_spark(model, everyone)
        ranks_of_draws = rank_selection(fitted, selection, metrics, name=name, tell_missing=tell_missing)
        ranked.append(RankedOnSpark(ranks_of_draws, selection.weightings))
    description = sample.describe()
    return ranked, [] if description is None else [f"{name} was fitted to {description}" for name in learning]


def score_on_spark(
    models: Mapping[str, Recommender],
    snapshot: SparkSnapshot,
    weights: Sequence[Any],
    metrics: Sequence[Metric],
    level: float,
    options: SelectionOptions,
) -> list[Score]:
    """Of each recommender the scores of all metrics under all weights."""
    part = snapshot.with_min_items(options.min_items)
    weightings = [weigh_on_spark(part, weighting) for weighting in weights]
    ranked, notes = rank_all_on_spark(models, part, weightings, metrics, options)
    for note in notes:
        warn(note)
    return [score for ranks in ranked for metric in metrics for score in ranks.scores(metric, level)]


def weigh_on_spark(snapshot: SparkSnapshot, weights: Any) -> SparkWeighting:
    """The weights on a snapshot; refuses those that were fitted to other users."""
    require_same_min_items(weights, snapshot.policy.min_items)
    return snapshot.weigh(weights)


def refuse_protocols(options: SelectionOptions) -> None:
    """Refuse whatever is not leave-one-out."""
    for name in ("after", "leave_last_out", "folds", "leave_out"):
        if getattr(options, name) not in (None, False, 1):
            raise EngineError(
                "on Spark the items of a profile are held out one by one", remedy=f"leave out {option(name)}"
            )


@dataclass(frozen=True)
class SparkVerdictPlan(VerdictPlan):
    """Verdicts on a log on a cluster: as logged and on the view of the user's knowledge, without other scenarios.

    Fixed lists are decided as on one machine; anything else is undecided.
    """

    @property
    def _knows_ends(self) -> bool:
        return False  # a cluster does not test whether the exposure log is complete

    def _compare(self, ranks: Any, baseline: Any, metric: Metric, weights: ItemWeights | None) -> list[Comparison]:
        comparisons: list[Comparison] = ranks.compare(baseline, metric)
        return comparisons

    def _find_excesses(self, scored: Any) -> Excesses:
        return Excesses(
            {},
            {},
            "Spark does not thin the log by stand-ins for production. Run the command on one machine, with all "
            "users or a sample of them; until then the range is the difference as logged, as if they had caused "
            "nothing",
        )

    def _list_steps(self, decision: Decision, ranks: Any) -> Iterator[str]:
        """The same command on one machine; files of a cluster are to be copied there, or some of their users."""
        if decision != "undecided":
            return
        words, is_named = shlex.split(self.command), False
        kept: list[str] = []
        while words:
            word = words.pop(0)
            name, sign, _ = word.partition("=")
            if name in ("--engine", "--master", "--spark-conf"):
                is_named |= name == "--engine"
                del words[: 0 if sign else 1]
            else:
                kept.append(PurePosixPath(word).name if "://" in word else word)
        yield shlex.join([*kept, *([] if is_named else ["--engine", "local"])])

    def _count_since(self, until: Any) -> int:
        log: Any = self.log
        return len(log.at(until)) - (0 if self.start is None else len(log.at(self.start)))


@dataclass(frozen=True)
class ScoredOnSpark:
    """Recommenders that were ranked on a log or a view of it; see `unskew.evaluation.find_verdicts.Scored`."""

    ranks: list[RankedOnSpark]
    weights: ItemWeights | None
    plan: ClassVar[type[SparkVerdictPlan]] = SparkVerdictPlan


def report_on_spark(log: SparkLog, request: ReportRequest) -> tuple[Report, ScoredOnSpark]:
    """What `unskew.report` gives, as far as a cluster tells it: scores at both dates, no split of the change, and
    comparisons with the first recommender alone; and the ranks.
    """
    models, metrics, options, level = request.models, request.metrics, request.selection, request.level
    whole, reference = log.at(request.at, p_item=request.p_item), request.find_reference(log)
    now = whole.with_min_items(options.min_items)
    fitted = request.weights if reference is None else fit_weights(whole, reference, options=request.fit)
    weightings = [weigh_on_spark(now, each) for each in ([None] if fitted is None else [None, fitted])]
    notes = list(describe_unscored(models, log.axis, now))
    valid = {name: model for name, model in models.items() if is_valid_at(model, log.axis, now.tick) is not False}
    if not valid:
        raise EmptyError("there is nothing to score", remedy="; ".join(notes))
    first = next(iter(models))
    ranked, sample_notes = rank_all_on_spark(valid, now, weightings, metrics, options, baseline=valid.get(first))
    ranked = [replace(ranks, level=level) for ranks in ranked]
    others = ranked[1:] if first in valid else []
    by_weighting = [zip(*(each.compare(ranked[0], metric) for each in others), strict=True) for metric in metrics]
    comparisons = [each for weightings in by_weighting for several in weightings for each in several]
    then: dict[str, RankedOnSpark] = {}
    if is_at_spark(reference):
        dated = {name: model for name, model in valid.items() if is_valid_at(model, log.axis, reference.tick)}
        part = reference.with_min_items(options.min_items)
        before = rank_all_on_spark(dated, part, [part.weigh()], metrics, options)[0] if dated else []
        then = dict(zip(dated, before, strict=True))
        notes += describe_unscored(models, log.axis, reference, now=now.at)
        sample_notes.append(
            "on Spark the change of a score is not split into parts: the scores of both dates stand beside each "
            "other"
        )
    scores = []
    for name, ranks in zip(valid, ranked, strict=True):
        for metric in metrics:
            scores += then[name].scores(metric, level) if name in then else []
            scores += ranks.scores(metric, level)
    report = Report(
        at=now.at,
        reference=None if fitted is None else fitted.reference,
        scores=Results(scores, log.frames),
        changes=Results([], log.frames),
        comparisons=Results(correct_together(comparisons), log.frames),
        weights=fitted,
        bound_holds=fitted is None or fitted.is_fitted_at(now),
        protocol=now.policy.protocol,
        min_items=options.min_items,
        after=None,
        reference_after=None,
        notes=(*sample_notes, *notes),
        view_report=log.view_report,
        level=level,
    )
    return report, ScoredOnSpark(ranked, fitted)
