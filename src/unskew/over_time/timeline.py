"""Scores over time: every recommender at every date of a grid, raw and weighted.

At each date the weights start from those of the date before, and models are fitted to the profiles of that date.
What is asked for is in `timeline_spec`, the table and its file in `timeline_table`.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Unpack, cast

import numpy as np
import pyarrow as pa

from unskew.arrays.types import Floats
from unskew.checks import Seed, public, require_instance
from unskew.data.held_out import HeldOutSplit, SplitRule
from unskew.data.log import DatedLog, Log
from unskew.data.policy import ItemPrior, UserPrior, check_level
from unskew.data.slice import Slice, Weighting
from unskew.data.times import Moment
from unskew.engines.population import AppliedWeights, is_at_spark, is_on_spark, refuse_on_spark
from unskew.errors import FileError, Interruption, UnskewError, option, warn
from unskew.evaluation.held_out_ranks import AnyMetric, HeldOutRanks
from unskew.evaluation.metric import distinct_metrics
from unskew.evaluation.pairs import PairSelection, check_user_metrics
from unskew.evaluation.ranking import rank_selection
from unskew.evaluation.selection_options import SelectionOptions, WorkEstimate, must_draw
from unskew.over_time.resume import DoneDate, describe_history, read_done_dates
from unskew.over_time.timeline_spec import (
    OtherEnd,
    TimelineSpec,
    check_both_ends,
    find_items,
    grid_of,
    list_fits,
    seed_at,
)
from unskew.over_time.timeline_table import (
    BOTH_ENDS,
    OTHER_VIEW,
    Starts,
    Timeline,
    TimelineFiles,
    probabilities_table,
    scores_table,
)
from unskew.progress import QuietSteps, progress, reporting
from unskew.recommend.contract import Recommender
from unskew.recommend.specs import AnyRecommenders, name_recommenders
from unskew.storage.tables import is_csv
from unskew.text import count
from unskew.views.knowledge import Knowledge, find_since, move_dates
from unskew.weights.alignment import Alignment, Reference, resolve_reference
from unskew.weights.fit_options import FitOptions, SharedFitKeywords
from unskew.weights.fit_weights import fit_alignment, warn_of_single_items

if TYPE_CHECKING:
    from unskew.engines.spark.evaluation import RankedOnSpark

NEARBY = 5.0
"""How far from their mean, in nats, log-weights of all items may start.

Passes over MovieTweetings monthly, weekly and daily, and over a simulated log daily: 69, 220, 1064 and 972;
without any such bound 114, 316, 1277 and 995; without warm starts 80, 261, 1685 and 2762.
"""


@dataclass(frozen=True)
class DatedWeighting:
    """A weighting of what is held out at one date, and how far its item mix is from that of the reference date."""

    weighting: AppliedWeights  # what scoring sees
    marginal: Floats  # the item mix that it gives, over all items of the log
    # From the reference date: before weighting for the raw one, else after.
    divergence: float
    bound: float
    converged: bool = True

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
    weightings: list[DatedWeighting] = []
    for options in fits:
        drops = options.drops_new
        if drops not in alignments:
            policy = replace(options, new_items="drop" if drops else "keep")
            alignments[drops] = Alignment.of(part, reference, policy)
        alignment = alignments[drops]
        if not weightings:
            distances = (alignment.divergence_before, alignment.bound_before)
            weightings.append(DatedWeighting(part.weigh(), alignment.p_before, *distances))
        fit = fit_alignment(alignment, options, starts.get(options.top))
        q, divergence, status = fit.solution.q, fit.solution.divergence, fit.solution.status
        weightings.append(DatedWeighting(fit.weighting(), q, divergence, fit.bound, status != "unfinished"))
    return weightings


def rank_date(
    split: HeldOutSplit,
    weightings: Sequence[AppliedWeights],
    models: Mapping[str, Recommender],
    spec: TimelineSpec,
    seed: int,
    tell_missing: Callable[[str], None],
) -> Iterator[HeldOutRanks | RankedOnSpark]:
    """The recommenders on what is held out at one date, to be scored under each of the weightings."""
    options = SelectionOptions(sample=spec.sample, seed=seed)
    part: Any = split.pairs
    if is_at_spark(part):
        from unskew.engines.spark.evaluation import rank_all_on_spark

        on_spark = cast(Sequence[Any], weightings)
        ranked, notes = rank_all_on_spark(models, part, on_spark, spec.metrics, options, tell_missing=tell_missing)
        for note in notes:
            warn(note)
        yield from ranked
        return
    selection = PairSelection.of_split(split, cast(Sequence[Weighting], weightings), options)
    for model in models.values():
        yield rank_selection(model, selection, spec.metrics, tell_missing=tell_missing)


EVERY = 5.0  # seconds between two writings of what is done


@public
def timeline(
    log: Log,
    recommenders: AnyRecommenders,
    *,
    reference: Any,
    start: Any = None,
    end: Any = None,
    every: Any = None,
    dates: Iterable[Any] | None = None,
    metric: AnyMetric | Iterable[AnyMetric] = "hit@5",
    top: int | Iterable[int] = (),
    items: Iterable[Any] = (),
    sample: int | Literal["auto", "all"] | None = "auto",
    seed: Seed = 0,
    after: Any = None,
    leave_last_out: bool = False,
    level: float = 0.95,
    p_user: UserPrior = None,
    p_item: ItemPrior = None,
    output: str | Path | None = None,
    probabilities: str | Path | None = None,
    resume: bool = False,
    knowledge: Knowledge | None = None,
    view: str | None = None,
    both_ends: bool = False,
    options: FitOptions | None = None,
    **changes: Unpack[SharedFitKeywords],
) -> Timeline:
    """Scores of recommenders on a grid of dates, raw and weighted to the item mix of one reference date.

    Parameters
    ----------
    log
        All of history.
    recommenders
        One or several, as for `evaluate`, or a mapping from the name that each is to have in the table. Each is
        fitted again at every date; of a `Table`, the lists of that date are taken, and a date before its first
        lists has no row of it.
    reference
        The date to compare with (t0), or whatever else `fit_weights` takes: a snapshot, a `Marginal`, a mapping.
    start, end, every
        The grid: from the date `start` (by default the reference date) to `end` (by default the log's last
        time), in steps of `every`: a number in the log's unit, of days if the log has dates (1 by default), a
        timedelta, or text such as ``"12h"``, ``"7d"``, ``"2w"``, ``"1mo"``. `end` is always part of it, even
        where the steps do not meet it.
    dates
        The dates themselves, in place of these three.
    metric
        One or several, as for `evaluate`. Those of users, such as ``user-recall@10``, have raw rows only.
    top
        For each number p here, also weights of the p items of largest change alone. Rows without weights and with
        weights of all items are always there.
    items
        Ids of items whose probability is to be recorded.
    sample, seed
        Draw this many pairs at each date, anew each time: the draws of a date follow from `seed` and the date, and
        are shared by all recommenders and weightings there. By default every pair is ranked, unless that would
        take more than an hour, by a count of the work: then 20 000 are drawn at each date, which a `CostNotice`
        says. ``"all"`` or None ranks them all, whatever it takes.
    after
        A global time split at each date, as for `evaluate`: a time before all dates, so that more and more is held
        out, or text such as ``"-30d"``, so that each date has a window of that length. Weights are fitted to what
        is held out at the date, and at the reference date in as long a time before it.
    leave_last_out
        Hold out the last item of each profile, as for `evaluate`.
    level
        Of the intervals.
    p_user, p_item
        As for `Log.at`.
    output, probabilities
        Parquet files for the rows and for the probabilities of `items`, written every few seconds and at the end.
    resume
        Go on with what is in `output`: only dates that it lacks are computed. The log may have grown meanwhile, if
        what it held then is unchanged; dates at or after its former end are computed again. A run that was
        interrupted and resumed gives the same numbers, to the last bit, as one that was not. Without it an
        `output` that is there already is replaced, but only once all dates are done.
    knowledge, view
        What you know about the recommendations in the log, as for `report`: all dates are those of the best view
        that it allows up to `end`, or of the one that is insisted on by name.
    both_ends
        Score both ends of the range at each date: the log as it is, and, in rows of the view ``thinned``, the log
        without everything by which interactions since the reference date agree more with a stand-in for
        production than interactions before it did. The stand-in is the one that explains most, of a small family
        and the recommenders compared; the interactions to drop are drawn once, with `seed`. The reference must be
        a date of the log. This takes a search for the stand-in first, and then twice as long.
    options, **changes
        How weights are fitted, as for `fit_weights`; `method` is that of `top`, ``descent`` (the paper's way) by
        default, or ``lbfgs``, which needs fewer passes.

    Examples
    --------
    >>> import unskew as us
    >>> log = us.simulate(users=300, items=60, seed=2).log
    >>> series = us.timeline(log, {"g1": "constant:1,3,5"}, reference=300, end=450, every=60, top=[5])
    >>> series
    Timeline(4 dates from 300 to 450: 12 rows of g1)
    >>> series.rows.column_names[:6]
    ['at', 'recommender', 'metric', 'view', 'weighting', 'top']
    """
    known = Knowledge.of(knowledge, view)
    if known is not None:
        choice: Any = {"since": find_since(log, reference), "until": end, "view": view, "seed": seed}
        [taken] = known.take(log, test=False, **choice)
        reference, log = move_dates(log, taken, reference), taken
    fits = list_fits(top, options, changes)
    rule = SplitRule(after, leave_last_out, fits[0].min_items)
    require_instance(DatedLog, log, "a log", "read one with read_log")
    if is_on_spark(log):
        refuse_on_spark(after=rule.after, leave_last_out=rule.leave_last_out)
    check_level(level)
    selection = SelectionOptions(sample=sample, seed=seed)
    codes = find_items(log, items)
    metrics = distinct_metrics(metric, several=rule.after is not None)
    check_user_metrics(metrics, selection.sample)
    spec = TimelineSpec(
        log=log,
        reference=resolve_reference(log, reference, p_user=p_user, p_item=p_item),
        models=name_recommenders(recommenders),
        metrics=metrics,
        fits=fits,
        items=log.items.take(codes),
        codes=codes,
        sample=None if selection.sample is None else int(selection.sample),
        seed=int(seed),
        level=float(level),
        p_user=p_user,
        p_item=p_item,
        rule=rule,
    )
    begin = spec.first if start is None and dates is None else None
    grid = grid_of(log, start, end, every, dates=dates, otherwise=begin)
    spec.check_dates(grid)
    grid = spec.choose_dates(grid)
    files = TimelineFiles.of(output, probabilities, resume=resume, items=len(spec.codes) > 0)
    if both_ends:
        refuse_on_spark(both_ends=is_on_spark(log))
        check_both_ends(spec)
    spec = _plan_work(spec, grid, selection, files, resume, ends=2 if both_ends else 1)
    result = _Run(spec, OtherEnd.of(spec) if both_ends else None, grid, files, resume).finish()
    if leave_last_out:
        warn_of_single_items()
    if result.unfinished:
        warn(
            f"at {len(result.unfinished)} of {len(result.dates)} dates, the first {result.unfinished[0]}, a fit "
            "ran out of passes before it converged, and the rows hold what it had reached: Python can allow more "
            "passes"
        )
    return result


def _plan_work(
    spec: TimelineSpec,
    grid: list[Moment],
    options: SelectionOptions,
    files: TimelineFiles,
    resume: bool,
    *,
    ends: int,
) -> TimelineSpec:
    """Say what is ahead; draw pairs where that was left open and all would take hours, or where the file did.

    How many ends of the range are scored changes the estimate, and never what is drawn.
    """
    if is_on_spark(spec.log):
        return spec
    rule = SelectionOptions(sample=spec.sample, after=spec.rule.after, leave_last_out=spec.rule.leave_last_out)
    models, snapshots = list(spec.models.values()), [spec.snapshot(moment) for moment in grid]
    work = WorkEstimate.of(models, snapshots, rule)
    if resume and options.may_draw and files.rows is not None and files.rows.exists():
        before = Timeline.load(files.rows).options.get("sample")
        if before is None or type(before) is int:  # anything else is refused when the file is continued
            work = replace(work, sample=before, by_default=before is not None)
    elif must_draw(work, options, spec.metrics):
        work = work.draw()
    if ends > 1:
        twice = WorkEstimate.of(models, snapshots * ends, rule)
        work = replace(twice, sample=work.sample, by_default=work.by_default)
    work.announce(f"fewer dates ({option('every')}) take less, and so does a smaller model (ease?max_items=5000)")
    return replace(spec, sample=work.sample)


class _Work(NamedTuple):
    """The dates that were computed so far, and the weights of the last of them, by view."""

    new: list[DoneDate]
    starts: Mapping[str, Starts]


class _Run:
    """The work on the dates that are missing, from the first to the last, at one end of the range or at both."""

    def __init__(
        self, spec: TimelineSpec, other: OtherEnd | None, grid: list[Moment], files: TimelineFiles, resume: bool
    ) -> None:
        self.spec = spec
        self.ends = [spec] if other is None else [spec, other.spec]
        self.grid = grid
        self.files = files
        self.options = {**spec.describe(grid[0]), BOTH_ENDS: None if other is None else other.describe()}
        self.known: list[DoneDate] = []  # from the file
        self.work = _Work([], {})  # a date is there at once with its weights and both ends, or not at all
        self.missing: list[str] = []  # what is to be said about users without lists
        self.replaces = False  # an older file, which may hold more than this run so far
        if files.rows is not None and files.rows.exists():
            self.replaces = not resume
            if resume:
                self.known, starts = read_done_dates(files, spec, self.options)
                self.work = _Work([], starts)

    @cached_property
    def _history(self) -> dict[str, Any] | None:
        return describe_history(self.spec.log)

    def _list_missing(self) -> list[tuple[Moment, list[TimelineSpec]]]:
        """The dates to compute, each with the ends to score; dates of the file may lack the other end alone."""
        done = {(date.moment.tick, date.view) for date in self.known}
        moments = {moment.tick: moment for moment in [*(date.moment for date in self.known), *self.grid]}
        lacks = [
            (moment, [end for end in self.ends if (tick, end.log.view) not in done])
            for tick, moment in sorted(moments.items())
        ]
        missing = [(moment, ends) for moment, ends in lacks if ends]
        view = self.spec.log.view
        if missing and view not in self.work.starts and all(ends[0] is not self.spec for _, ends in missing):
            last, _ = missing[-1]  # again: of a log that has grown, the file needs weights to start from
            self.known = [date for date in self.known if (date.moment.tick, date.view) != (last.tick, view)]
            missing[-1] = (last, self.ends)
        return missing

    def finish(self) -> Timeline:
        """Do what is missing. What is done is in the file then, whatever stops the rest."""
        missing = self._list_missing()
        if not missing:
            return self._result()
        reporter = progress()
        reporter.begin("timeline", len(missing), "dates")
        written, took = time.monotonic(), 0.0
        try:
            for moment, ends in missing:
                with reporting(QuietSteps(reporter)):
                    scored = {end.log.view: self._compute(moment, end) for end in ends}
                dates = [date for date, _ in scored.values()]
                starts = {view: reached for view, (_, reached) in scored.items()}
                self.work = _Work([*self.work.new, *dates], {**self.work.starts, **starts})
                reporter.advance(1)
                if time.monotonic() - written > max(EVERY, 20 * took):
                    began = time.monotonic()
                    self._write()
                    written = time.monotonic()
                    took = written - began
        except KeyboardInterrupt:
            self._write()
            raise Interruption(*self._describe_files()) from None
        except BaseException:
            with contextlib.suppress(FileError):
                self._write()
            raise
        self._write()
        if self.missing:  # said once: external lists may lack users at every date
            more = len(self.missing) - 1
            others = f" (and the same at {count(more, 'other date')} or of other lists)" if more else ""
            warn(f"{self.missing[0]}{others}")
        return self._result()

    def _compute(self, moment: Moment, spec: TimelineSpec) -> tuple[DoneDate, Starts]:
        """Score at one date and one end; and its weights, for the next date to start from."""
        models, view = spec.models_at(moment), spec.log.view
        try:
            split, reference = spec.split(moment)
            dated = weigh_date(split.pairs, reference, spec.fits, self.work.starts.get(view, {}))
            weightings, seed = [each.weighting for each in dated], seed_at(spec.seed, moment)
            ranked = rank_date(split, weightings, models, spec, seed, self.missing.append)
            scores = [  # of one recommender after the other: the ranks of each are dropped
                (str(ranks.held_out), [ranks.estimates(metric, spec.level) for metric in spec.metrics])
                for ranks in ranked
            ]
        except UnskewError as error:
            raise error.with_context(f"at {moment.label}") from error
        at = moment.label
        rows = [
            (
                *(at, name, metric.name, view, w.name, w.top),
                *(estimate.value, estimate.low, estimate.high),
                *(each.divergence, each.bound, estimate.too_few_hits, held_out),
            )
            for name, (held_out, by_metric) in zip(models, scores, strict=True)
            for metric, estimates in zip(spec.metrics, by_metric, strict=True)
            for each, w, estimate in zip(dated, weightings, estimates, strict=False)  # of users: the raw one alone
        ]
        probabilities = [
            (at, item, each.weighting.name, each.weighting.top, float(each.marginal[code]))
            for item, code in zip(spec.items.to_pylist(), spec.codes, strict=True)
            for each in dated
        ]
        converged = all(each.converged for each in dated)
        reached = {each.weighting.top: each.next_start() for each in dated if each.weighting.name == "weighted"}
        return DoneDate(moment, view, rows, probabilities, converged), reached

    def _result(self) -> Timeline:
        new, starts = self.work
        views = [end.log.view for end in self.ends]
        done = sorted([*self.known, *new], key=lambda date: (date.moment.tick, views.index(date.view)))
        at = {"integer": pa.int64(), "float": pa.float64()}.get(self.spec.log.axis.kind, pa.string())
        return Timeline(
            rows=scores_table([row for date in done for row in date.rows], at),
            probabilities=probabilities_table(
                [row for date in done for row in date.probabilities], at, self.spec.log.items.values.type
            ),
            options=self.options,
            unfinished=tuple(dict.fromkeys(date.moment.label for date in done if not date.converged)),
            complete=self._count_done() == len(self.grid),
            computed=len({date.moment.tick for date in new}),
            starts=starts.get(views[0], {}),
            other_starts=starts.get(OTHER_VIEW, {}) if len(views) > 1 else {},
            history=self._history if self.files.rows is not None else None,
            frames=self.spec.log.frames,
        )

    def _count_done(self) -> int:
        done = {(date.moment.tick, date.view) for date in [*self.known, *self.work.new]}
        return sum(all((moment.tick, end.log.view) in done for end in self.ends) for moment in self.grid)

    def _write(self) -> None:
        if self.files.rows is None or not self.work.new:
            return
        result = self._result()
        if result.complete or not self.replaces:
            result.save(self.files.rows, probabilities=self.files.probabilities)

    def _describe_files(self) -> list[str]:
        """What an interrupted run leaves behind, in words; nothing if there is no file."""
        done = self._count_done()
        if self.files.rows is None or not done:
            return []
        if self.replaces:
            return [
                f"{self.files.rows} was left unchanged, since it is replaced only once all dates are done; use "
                f"{option('resume', True)} to continue it"
            ]
        done_so_far = f"{done} of {count(len(self.grid), 'date')} are in {self.files.rows}"
        if is_csv(self.files.rows):
            return [done_so_far]
        return [f"{done_so_far}; use {option('resume', True)} to do the rest"]
