"""Everything about some recommenders at a date: scores, changes since a reference date, comparisons, the weights.

What ``unskew evaluate`` prints. Each part can be had by itself (`evaluate`, `explain_change`, `compare`,
`fit_weights`); here they are made from ranks that are computed once.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import chain
from typing import TYPE_CHECKING, Any, Unpack

from unskew.checks import public, require_instance
from unskew.data.held_out import HeldOutSplit
from unskew.data.log import DatedLog, Log
from unskew.data.policy import ItemPrior, UserPrior
from unskew.data.slice import Snapshot, Weights
from unskew.data.time_steps import LAST
from unskew.data.times import Moment
from unskew.engines.population import is_on_spark, refuse_on_spark
from unskew.errors import EmptyError, PolicyError, UnskewError, UnskewWarning, option
from unskew.evaluation.bootstrap import Repetitions, bootstrap_if_possible, replace_interval
from unskew.evaluation.changes import CUT_PARTS, CUTS, Change, Split, cut_to_size, explain_split
from unskew.evaluation.comparison import Comparison, compare, share_intervals
from unskew.evaluation.find_verdicts import VerdictPlan
from unskew.evaluation.held_out_ranks import AnyMetric, HeldOutRanks
from unskew.evaluation.interval_formulas import Bounds
from unskew.evaluation.metric import Metric, UserMetric, distinct_metrics
from unskew.evaluation.pairs import PairSelection, check_user_metrics
from unskew.evaluation.ranking import describe_unscored, rank_selection
from unskew.evaluation.report import Report, average_parts, average_reports
from unskew.evaluation.score import Results, Score
from unskew.evaluation.selection_options import (
    ReportKeywords,
    SelectionOptions,
    WorkEstimate,
    check_report_options,
    choose_population,
    must_draw,
    separate_keywords,
)
from unskew.recommend.contract import Recommender, is_valid_at, traits_of
from unskew.recommend.specs import AnyRecommender, AnyRecommenders, name_recommenders, recommender
from unskew.views.knowledge import Knowledge, find_since, read_share
from unskew.views.production import is_auto
from unskew.weights.alignment import Reference, is_date, resolve_reference
from unskew.weights.fit_options import FitOptions
from unskew.weights.fit_weights import fit_weights
from unskew.weights.item_weights import ItemWeights

if TYPE_CHECKING:
    from unskew.engines.spark.evaluation import ScoredOnSpark


@public
def report(
    log: Log | Sequence[Log],
    recommenders: AnyRecommenders,
    *,
    at: Any = None,
    reference: Any = None,
    weights: ItemWeights | None = None,
    baseline: AnyRecommender | Mapping[str, AnyRecommender] | None = None,
    metric: AnyMetric | Iterable[AnyMetric] = "hit@5",
    by: str | None = None,
    refit: int | None = None,
    level: float = 0.95,
    p_user: UserPrior = None,
    p_item: ItemPrior = None,
    knowledge: Knowledge | None = None,
    view: str | None = None,
    draws: int = 5,
    clean_before: Any = None,
    quick: bool = False,
    command: str = "",
    options: FitOptions | None = None,
    **more: Unpack[ReportKeywords],
) -> Report:
    """Score recommenders at a date, raw and weighted to the item mix of a reference date, and split what changed.

    Parameters
    ----------
    log
        All of history, or a view of it; or a list of draws of a view in which chance decides, over which figures
        are averaged.
    recommenders
        One or several, as for `evaluate`, or a mapping from the name that each is to have.
    at
        The date of the profiles, as for `Log.at`; by default the end of the log.
    reference
        A date to compare with, or whatever else `fit_weights` takes: weights are fitted to it, and if it is a date
        the recommenders are scored there as well.
    weights
        Weights that were fitted before, in place of `reference`.
    baseline
        What ran at the reference date, if it was another recommender: it is scored there in place of the others,
        and again now, so that a change is split into what comes from the algorithm as well. A table of lists that
        does not say from when they are counts as valid then, and not now.
    metric
        One or several, as for `evaluate`. Those of users, such as ``user-recall@10``, have raw scores only.
    sample, seed, leave_out, after, leave_last_out, folds, min_items, level
        As for `evaluate`, all but `level` in `more`. `min_items` is that of all scores and of the weights. With
        `after`, what is held out at the reference date is what users interacted with in a time of the same length
        before it. Where `sample` is not given (``"auto"``), every pair is ranked unless that would take more than
        an hour, by a count of the work: then 20 000 are drawn, which a `CostNotice` and the notes of the report
        say. ``"all"`` or None ranks them all, whatever it takes.
    by
        A column read with ``read_log(labels=...)``: each of its values is scored as well.
    refit
        Draw users this many times at both dates together and fit the weights again each time: intervals of
        weighted scores and changes then know that the weights were fitted. Recommenders are not fitted again. By
        default this is done 50 times, for changes alone; 0 takes the weights as given.
    p_user, p_item
        As for `Log.at`.
    knowledge, view, draws
        What you know about the recommendations in the log: the best view that it allows is scored, or the one that
        is insisted on by name, over so many draws if chance decides in it. The log as it is stays among the
        scores.
    clean_before
        Before this nothing was recommended, and you vouch for it: verdicts are not conditional then.
    quick
        Look at one stand-in for production only, so that verdicts are never decided, and do not measure what more
        data adds to a change.
    command
        The command line to which the next steps of verdicts add options.
    options, **more
        How weights are fitted: as for `fit_weights`.

    Examples
    --------
    >>> import unskew as us
    >>> log = us.simulate(users=300, items=60, seed=2).log
    >>> found = us.report(log, ["popular", "constant:1,3,5"], at=480, reference=300)
    >>> [(score.recommender, score.at, score.weighting) for score in found.scores[:3]]
    [('popular', 300, 'raw'), ('popular', 480, 'raw'), ('popular', 480, 'weighted')]
    >>> len(found.changes), len(found.comparisons)
    (2, 2)
    """
    logs: list[Any] = list(log) if isinstance(log, Sequence) and log else [log]
    for each in logs:
        require_instance(DatedLog, each, "a log", "read one with read_log")
    changes, chosen = separate_keywords(more)
    chosen.setdefault("sample", "auto")
    fit, selection = choose_population(FitOptions.of(options, changes), chosen)
    first = next(iter(changes), None) if options is None else "options"
    check_report_options(reference, weights, first, selection, by=by, refit=refit, level=level)
    if weights is not None and not isinstance(weights, ItemWeights):
        raise PolicyError(f"{option('weights')} must be fitted weights, not {weights!r}")
    named = name_recommenders(recommenders)
    wanted = distinct_metrics(metric, several=selection.after is not None)
    check_user_metrics(wanted, selection.sample)
    ran = None if baseline is None else name_baseline(baseline, named)
    at = LAST if at is None else at
    if clean_before is not None:
        logs[0].check_dates(clean_before)
    if is_date(reference):
        logs[0].check_dates(reference, at)
    request = ReportRequest(
        at=at,
        reference=reference,
        weights=weights,
        models=named,
        baseline=ran,
        metrics=wanted,
        selection=selection,
        fit=fit,
        level=level,
        p_user=p_user,
        p_item=p_item,
        knowledge=Knowledge.of(knowledge, view),
        clean_before=clean_before,
        command=command or "unskew evaluate LOG",
        by=by,
        refit=refit,
        quick=quick,
    )
    plain = logs[0]
    if request.knowledge is not None:
        since = find_since(plain, request.target)
        if request.knowledge.induced_share is not None and since is None and clean_before is None:
            raise PolicyError(
                f"{option('induced_share')} is a share of the interactions since a date",
                remedy=f"give {option('reference')} a date of the log, or {option('clean_before')}",
            )
        choice: Any = {
            "view": view,
            "draws": draws,
            "seed": selection.seed,
            "candidates": {**(ran or {}), **named},
        }
        logs = request.knowledge.take(plain, since=since, until=at, **choice)
    if is_on_spark(logs[0]):
        refuse_on_spark(baseline=ran, by=by, refit=refit or None, margins=fit.margins or None)
        scored_report, scored = request.score_on_spark(logs[0])
        return _add_verdicts(scored_report, replace(request, quick=False), plain, scored)
    first_view = request.prepare(logs[0])
    work = first_view.estimate_work()
    request = replace(request, selection=replace(selection, sample=work.sample))
    views = chain([replace(first_view, request=request, work=work)], (request.prepare(x, work) for x in logs[1:]))
    reports = [evaluation.report() for evaluation in views]
    return _add_verdicts(replace(average_reports(reports), log=logs[0]), request, plain)


@dataclass(frozen=True, kw_only=True)
class ReportRequest:
    """What is asked of any view of a log."""

    at: Any
    reference: Any
    weights: ItemWeights | None
    models: dict[str, Recommender]
    baseline: dict[str, Recommender] | None
    metrics: list[Metric]
    selection: SelectionOptions
    fit: FitOptions
    level: float
    p_user: UserPrior
    p_item: ItemPrior
    knowledge: Knowledge | None
    clean_before: Any
    command: str
    by: str | None
    refit: int | None
    quick: bool

    @property
    def target(self) -> Any:
        """What scores are compared with: the weights, or the reference."""
        return self.reference if self.weights is None else self.weights

    @property
    def everything(self) -> dict[str, Recommender]:
        """The recommenders, and the baseline behind them."""
        return {**self.models, **(self.baseline or {})}

    @property
    def pair_metrics(self) -> list[Metric]:
        """Those that take weights."""
        return [metric for metric in self.metrics if not isinstance(metric, UserMetric)]

    def prepare(self, log: Log, work: WorkEstimate | None = None) -> _Evaluation:
        """The steps on one view."""
        target = self.find_reference(log)
        if self.baseline is not None and target is not None and not isinstance(target, Snapshot):
            raise PolicyError(
                f"{option('baseline')} is scored at the reference date, whose profiles are not known",
                remedy=f"give {option('reference')} a date of the log",
            )
        return _Evaluation(self, log.at(self.at, p_user=self.p_user, p_item=self.p_item), target, work)

    def rank(self, log: Log, names: Sequence[str]) -> _Evaluation:
        """Some of the recommenders, the baseline among them, on one view."""
        models = {name: self.everything[name] for name in names}
        return replace(self.adapt(log), models=models, baseline=None).prepare(log)

    def adapt(self, log: Log) -> ReportRequest:
        """The same for another view, which weights or a marginal of this one do not fit: fit to their date."""
        view = getattr(getattr(self.target, "policy", None), "view", log.view)
        if (view, getattr(self.target, "view_details", log.view_details)) != (log.view, log.view_details):
            fit = self.fit if self.weights is None else self.weights.options
            return replace(self, weights=None, reference=find_since(log, self.target), fit=fit)
        return self

    def score_on_spark(self, log: Any) -> tuple[Report, ScoredOnSpark]:
        """The report on a log on a cluster, without verdicts, and the ranks."""
        from unskew.engines.spark.evaluation import report_on_spark

        return report_on_spark(log, self)

    def find_reference(self, log: Any) -> Reference | None:
        """The snapshot at the reference date, or what was given in its place."""
        if self.reference is None:
            return None
        return resolve_reference(log, self.reference, p_user=self.p_user, p_item=self.p_item)


def _add_verdicts(
    report: Report, request: ReportRequest, plain: Log, scored: ScoredOnSpark | None = None
) -> Report:
    """A report with what its verdicts are made from; on a view, with the raw scores of the log as it is too.

    `scored` are the ranks of a report on Spark.
    """
    names, knowledge, view = list(request.models), request.knowledge, report.view_report
    ran = next(iter(request.baseline), None) if request.baseline is not None else names[0]
    if view is not None and view.view != "all" and knowledge is not None:
        adapted = request.adapt(plain)
        if scored is None:
            raw = adapted.prepare(plain).score_raw()
        else:
            logged, scored = adapted.score_on_spark(plain)
            raw = [score for score in logged.scores if score.weighting == "raw"]
        report = replace(report, scores=Results([*report.scores, *raw], report.scores.frames))
    known = Knowledge() if knowledge is None else knowledge
    production = known.production
    is_by_exposure = knowledge is not None and view is not None and view.is_by_exposure
    spark_ranks: Any = scored
    plan = (VerdictPlan if scored is None else scored.plan)(
        log=plain,
        models=request.everything,
        pairs=[(name, ran) for name in names if name != ran and ran is not None],
        metrics=request.metrics,
        rank=request.rank if scored is None else lambda *_: spark_ranks,
        since=find_since(plain, request.target),
        until=request.at,
        clean_before=request.clean_before,
        report=report,
        production=None if production is None or is_auto(production) else recommender(production),
        protocol=report.protocol,
        command=request.command,
        organic=partial(_drop_exposed, known, plain) if is_by_exposure else None,
        induced_share=read_share(known.induced_share),
        quick=request.quick,
        level=request.level,
    )
    return replace(report, level=request.level, verdict_plan=plan)


def _drop_exposed(knowledge: Knowledge, log: Log) -> Log:
    return knowledge.take(log, view="organic", test=False)[0]


@dataclass(frozen=True)
class _Evaluation:
    """The steps on one view; each is computed when it is first asked for."""

    request: ReportRequest
    now: Snapshot
    reference: Reference | None
    work: WorkEstimate | None = None

    def estimate_work(self) -> WorkEstimate:
        """Say what is ahead; where it was left open and all pairs would take hours, some of them are drawn."""
        request = self.request
        dates = [self.now] if not isinstance(self.reference, Snapshot) else [self.reference, self.now]
        work = WorkEstimate.of(list(request.everything.values()), dates, request.selection)
        if must_draw(work, request.selection, request.metrics, needs_all=bool(request.by or request.refit)):
            work = work.draw()
        work.announce("a smaller model, such as ease?max_items=5000, is faster")
        return work

    def report(self) -> Report:
        """Rank, score and compare."""
        request, again = self.request, self._repeat()
        scores: list[Score] = []
        then_by_name = {ranks.recommender: ranks for ranks in self.reference_ranks}
        if request.baseline is not None:
            scores = self._score_raw(self.reference_ranks)
            then_by_name = {}
        for ranks in self.ranks:
            for metric in request.metrics:
                if ranks.recommender in then_by_name:
                    scores.append(then_by_name[ranks.recommender].score(metric, level=request.level))
                now = [ranks.score(metric, w, level=request.level) for w in self._weightings_of(metric)]
                if request.by is not None:
                    now += self._score_segments(ranks, metric, request.by)
                if request.refit and again is not None:
                    now = [_refit_score(score, again, ranks, metric.bounds) for score in now]
                scores += now
        weights, frames, part = self.weights, self.now.log.frames, self.split.pairs
        changes = self._changes(again)
        return Report(
            at=self.now.at,
            reference=None if weights is None else weights.reference,
            scores=Results(scores, frames),
            changes=Results(changes, frames),
            comparisons=Results(share_intervals(self.comparisons, changes), frames),
            weights=weights,
            bound_holds=weights is None or weights.is_fitted_at(self.now),
            protocol=part.policy.protocol,
            min_items=part.policy.min_items,
            after=part.after,
            reference_after=None if weights is None else weights.reference_after,
            notes=(*self._describe_unscored(), *self._describe_empty()),
            work=self.work,
            view_report=self.now.log.view_report,
        )

    def score_raw(self) -> list[Score]:
        """The raw scores of both dates."""
        return self._score_raw([*self.reference_ranks, *self.ranks])

    def _score_raw(self, several: Sequence[HeldOutRanks]) -> list[Score]:
        level = self.request.level
        return [ranks.score(metric, level=level) for ranks in several for metric in self.request.metrics]

    @cached_property
    def split(self) -> HeldOutSplit:
        """What is known and what is held out now."""
        return self.request.selection.rule.split(self.now)

    @cached_property
    def split_before(self) -> HeldOutSplit | None:
        """The same at the reference date, if that is a date whose profiles are known."""
        if not isinstance(self.reference, Snapshot):
            return None
        return self.request.selection.rule.split_reference(self.reference, self.now)

    @cached_property
    def target(self) -> Reference | None:
        """What weights are fitted to: at the reference date, what is held out there."""
        return self.reference if self.split_before is None else self.split_before.pairs

    @cached_property
    def weights(self) -> ItemWeights | None:
        """Those given, or fitted to exactly what is scored."""
        if self.reference is None:
            return self.request.weights
        chosen, fit = self.request.selection, self.request.fit
        return fit_weights(
            self.now, self.reference, after=chosen.after, leave_last_out=chosen.leave_last_out, options=fit
        )

    @property
    def weightings(self) -> list[ItemWeights | None]:
        """None for the raw score, and the weights if there are any."""
        return [None] if self.weights is None else [None, self.weights]

    def _weightings_of(self, metric: Metric) -> list[ItemWeights | None]:
        return [None] if isinstance(metric, UserMetric) else self.weightings

    @cached_property
    def ranks(self) -> list[HeldOutRanks]:
        """Of every recommender now, on the same pairs; then of the baseline, if it can be scored now."""
        valid = {name: m for name, m in self.request.models.items() if _is_valid(m, self.split) is not False}
        if not valid:
            raise EmptyError("there is nothing to score", remedy="; ".join(self._describe_unscored()))
        others = {name: m for name, m in (self.request.baseline or {}).items() if _is_valid(m, self.split)}
        return self._rank({**valid, **others}, self.split, self.weightings)

    @cached_property
    def reference_ranks(self) -> list[HeldOutRanks]:
        """Of what ran at the reference date, if that is a date whose profiles are known and it has lists there.

        A baseline that does not say from when its lists are is taken at its word: it ran then.
        """
        then = self.split_before
        if then is None:
            return []
        valid = {name: m for name, m in self.request.models.items() if _is_valid(m, then)}
        if self.request.baseline is not None:
            valid = {name: m for name, m in self.request.baseline.items() if _is_valid(m, then) is not False}
        return self._rank(valid, then, [None]) if valid else []

    def _describe_unscored(self) -> Iterator[str]:
        if self.work is not None and self.work.by_default:
            yield self.work.describe_sample()
        if self.reference is not None and not self.request.pair_metrics:
            yield "metrics of users have no weighted score, and so no split of a change"
        axis = self.split.known.log.axis
        yield from describe_unscored(self.request.models, axis, self.split.known)
        if self.split_before is not None:
            then, baseline = self.split_before.known, self.request.baseline
            ran, undated = baseline or self.request.models, baseline is not None
            yield from describe_unscored(ran, axis, then, now=self.now.at, undated=undated)

    def _rank(
        self, models: Mapping[str, Recommender], split: HeldOutSplit, weights: Sequence[Weights]
    ) -> list[HeldOutRanks]:
        selection = PairSelection.of_split(split, weights, self.request.selection)
        metrics = self.request.metrics
        return [rank_selection(model, selection, metrics, name=name) for name, model in models.items()]

    def _score_segments(self, ranks: HeldOutRanks, metric: Metric, by: str) -> list[Score]:
        weightings = self._weightings_of(metric)
        segment_scores = [s for w in weightings for s in ranks.by_segment(by, metric, w, level=self.request.level)]
        return [replace(score, segment=f"{by}={score.segment}") for score in segment_scores]

    @cached_property
    def splits(self) -> list[Split]:
        """Whose changes are split: each recommender now, against itself or the baseline then."""
        if self.weights is None or not self.reference_ranks or not self.request.pair_metrics:
            return []
        if self.request.baseline is None:
            now_by_name = {r.recommender: r for r in self.ranks}
            return [Split(now_by_name[then.recommender], then) for then in self.reference_ranks]
        then = self.reference_ranks[0]
        baseline = next((r for r in self.ranks if r.recommender == then.recommender), None)
        return [Split(now, then, baseline) for now in self.ranks if now.recommender in self.request.models]

    def _repeat(self) -> Repetitions | None:
        """Draws of users with weights fitted again, as many as were asked for; by default for changes alone."""
        if (
            self.weights is None
            or not self.request.pair_metrics
            or (self.request.refit is None and not self.splits)
        ):
            return None
        return bootstrap_if_possible(
            self.ranks,
            self.target,
            self.weights,
            self.request.pair_metrics,
            reference_ranks=self.reference_ranks,
            repeats=self.request.refit,
            seed=self.request.selection.seed,
        )

    def _changes(self, again: Repetitions | None) -> list[Change]:
        changes: list[Change] = []
        if self.weights is None:
            return changes
        for split in self.splits:
            reduced = [None] if self.request.quick else self.reduced[split.scored.recommender]
            for metric in self.request.pair_metrics:
                several = [
                    explain_split(replace(split, reduced=each), self.weights, metric, self.request.level, again)
                    for each in reduced
                ]
                changes.append(average_parts(several, CUT_PARTS) if len(several) > 1 else several[0])
        return changes

    @cached_property
    def reduced(self) -> dict[str, Sequence[tuple[HeldOutRanks, ItemWeights] | None]]:
        """Whom changes are about, scored on profiles cut to the size of then; lists, as they are on whole ones."""
        assert self.weights is not None
        assert self.split_before is not None
        scored = {split.scored.recommender: split.scored for split in self.splits}
        models = {name: m for name, m in self.request.everything.items() if name in scored}
        models = {name: m for name, m in models.items() if not (traits_of(m).constant or traits_of(m).external)}
        cut_ranks: list[tuple[HeldOutRanks, ItemWeights]] = []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnskewWarning)  # what is worth a warning is so of whole profiles too
            try:
                for cut in self.cuts if models else ():
                    assert cut.weights is not None
                    weighting = cut.weights.apply(cut.split.pairs, self.split_before.pairs)
                    cut_ranks += [(ranks, cut.weights) for ranks in self._rank(models, cut.split, [weighting])]
            except UnskewError:  # too little is left
                return {
                    name: [None if name in models else (ranks, self.weights)] for name, ranks in scored.items()
                }
        return {
            name: [each for each in cut_ranks if each[0].recommender == name] or [(ranks, self.weights)]
            for name, ranks in scored.items()
        }

    @cached_property
    def cuts(self) -> list[_Evaluation]:
        """The same on profiles cut to the size that they had at the reference date, if they are larger now."""
        assert self.split_before is not None
        both, (p_user, p_item) = self.request.fit.users == "both", (self.request.p_user, self.request.p_item)
        logs = [
            cut_to_size(self.split, self.split_before, seed=(self.request.selection.seed, k), both=both)
            for k in range(CUTS)
        ]
        moment = Moment(self.now.tick, self.now.at)
        return [replace(self, now=log.at(moment, p_user=p_user, p_item=p_item)) for log in logs if log is not None]

    def _describe_empty(self) -> list[str]:
        """Which comparisons with the baseline users without a profile may decide; one sentence for each."""
        ran = next(iter(self.request.baseline or self.request.models))
        pairs: dict[tuple[str, str], Comparison] = {}
        for comparison in self.comparisons:
            if comparison.with_profile is not None and ran in (comparison.a, comparison.b):
                key = (comparison.a, comparison.b)
                if key not in pairs or pairs[key].metric == comparison.metric:  # weighted ones come after raw ones
                    pairs[key] = comparison
        return [comparison.describe_populations() for comparison in pairs.values()]

    @cached_property
    def comparisons(self) -> list[Comparison]:
        """Of the recommenders now, under each metric and weighting."""
        if len(self.ranks) < 2:
            return []
        return [
            comparison
            for metric in self.request.metrics
            for weights in self._weightings_of(metric)
            for comparison in compare(*self.ranks, metric=metric, weights=weights, level=self.request.level)
        ]


def _is_valid(model: Recommender, split: HeldOutSplit) -> bool | None:
    return is_valid_at(model, split.known.log.axis, split.known.tick)


def _refit_score(score: Score, again: Repetitions, ranks: HeldOutRanks, bounds: Bounds) -> Score:
    """The same score with an interval that knows that the weights were fitted."""
    if score.weighting != "weighted" or score.segment is not None:
        return score
    repeats = again.of(ranks, score.metric)["weighted"]
    return replace_interval(score, repeats, target_known=again.target_known, bounds=bounds)


def name_baseline(
    baseline: AnyRecommender | Mapping[str, AnyRecommender], named: Mapping[str, Recommender]
) -> dict[str, Recommender]:
    """The baseline under a name; under that of a recommender that is the same, and under no name of another."""
    alone = name_recommenders(baseline)
    if len(alone) != 1:
        raise PolicyError(f"{option('baseline')} is one recommender, not {len(alone)}", remedy="name one of them")
    [(name, model)] = alone.items()
    if name not in named:
        return alone
    same = str(named[name]) == str(model)
    return {name: named[name]} if same else {f"{name} (baseline)": model}
