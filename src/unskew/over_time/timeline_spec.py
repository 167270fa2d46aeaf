"""What a timeline was asked for: checked before the work, and written to its file so that it can be resumed.

A grid of dates goes from one to another in equal steps (`unskew.data.time_steps`); the last date is always part of
it. Scores as logged assume that recommendations caused nothing. The *other end* of the range assumes that they
caused all of the excess, not corrected by a placebo: everything by which interactions since the reference date
agree more with a stand-in for production than interactions before it did. See `unskew.views.scenarios`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
import pyarrow as pa

from unskew.arrays.types import Codes
from unskew.checks import require_one_of, require_whole_number
from unskew.data.held_out import LEAVE_ONE_OUT, HeldOutSplit, SplitRule
from unskew.data.ids import require_codes_of_mapping
from unskew.data.log import Log
from unskew.data.marginal import Marginal
from unskew.data.policy import ItemPrior, UserPrior
from unskew.data.saved_log import fingerprint_log
from unskew.data.slice import Snapshot
from unskew.data.time_steps import Step, label_of
from unskew.data.times import Label, Moment, TimeAxis, refuse_compact_date
from unskew.engines.population import is_at_spark, is_on_spark
from unskew.errors import EmptyError, InputError, PolicyError, TimeError, option, warn
from unskew.evaluation.metric import Metric, UserMetric
from unskew.over_time.timeline_table import BOTH_ENDS, OTHER_VIEW, REFERENCE_MIX, sketch_mix
from unskew.recommend.contract import Recommender, is_valid_at, traits_of
from unskew.storage.files import hash_bytes, hash_files
from unskew.text import count
from unskew.views.knowledge import move_dates
from unskew.views.scenarios import find_excesses
from unskew.weights.alignment import Reference
from unskew.weights.fit_options import SHARED_OPTIONS, SUBSET_SOLVERS, FitKeywords, FitOptions, SharedFitKeywords

MOST = 100_000
"""Dates of a grid: more are taken for a mistake."""


def grid_of(
    log: Log,
    start: Any = None,
    end: Any = None,
    every: Any = None,
    *,
    dates: Iterable[Any] | None = None,
    otherwise: Any = None,
) -> list[Moment]:
    """The dates from `start` to `end`, or those given, in order and each once; none before the log begins.

    - `log`: whose times they are.
    - `start`, `end`: the first and the last date; by default `otherwise` or else the log's first, and its last.
    - `every`: the step: 1 (unit of time, or day) by default.
    - `dates`: the dates themselves, in place of the other three.
    - `otherwise`: the first date where none is given.

    Examples
    --------
    >>> import unskew as us
    >>> log = us.read_log({"user": ["a", "b"], "item": [1, 2], "time": ["2024-01-31", "2024-05-20"]})
    >>> [moment.label for moment in grid_of(log, "2024-01-31", "2024-05-01", "1mo")]
    ['2024-01-31', '2024-02-29', '2024-03-31', '2024-04-30', '2024-05-01']
    """
    if dates is not None:
        if start is not None or end is not None or every is not None:
            steps = f"{option('start')}, {option('end')} and {option('every')}"
            raise PolicyError(f"give {option('dates')}, or {steps}, not both")
        grid = _read_dates(log, dates)
    else:
        begin = next(value for value in (start, otherwise, log.first) if value is not None)
        first, last = log.moment(begin), log.moment(log.last if end is None else end)
        for moment in (first, last):
            refuse_compact_date(log.axis, moment, log.span)
        if start is None and otherwise is not None and first.tick > last.tick:
            end_of = "the end of the log" if end is None else "the last date"
            raise TimeError(
                f"the reference {first.label} is after {end_of}, {last.label}",
                remedy=f"say where to begin with {option('start')}, or give a later {option('end')}",
            )
        grid = _step_through(log.axis, first, last, every)
    _check_range(log, grid)
    return grid


def _step_through(axis: TimeAxis, first: Moment, last: Moment, every: Any) -> list[Moment]:
    if first.tick > last.tick:
        raise TimeError(f"the first date {first.label} is after the last, {last.label}", remedy="swap them")
    every = 1 if every is None else every
    step = Step.of(axis, every)
    about = (last.tick - first.tick) / step.estimate(axis)
    if about > MOST:
        raise TimeError(
            f"there are about {about:.3g} dates from {first.label} to {last.label} in steps of {every}, "
            f"more than {MOST}",
            remedy=f"take larger steps with {option('every')}",
        )
    ticks: list[int | float] = []
    near = 1e-9 * step.ticks if axis.kind == "float" else 0  # rounding must not give the last date twice
    try:
        for tick in step.ticks_from(axis, first):
            if tick >= last.tick - near:
                break
            if not ticks or tick > ticks[-1]:
                ticks.append(tick)
    except (OverflowError, ValueError):  # beyond the last day that the calendar has
        pass
    return [Moment(tick, label_of(axis, tick)) for tick in (*ticks, last.tick)]


def _read_dates(log: Log, dates: Iterable[Any]) -> list[Moment]:
    if isinstance(dates, str) or not isinstance(dates, Iterable):
        raise TimeError(f"{option('dates')}: {dates!r} is not a list of dates", remedy="put it into one")
    ticks = {moment.tick for moment in map(log.moment, dates)}
    if not ticks:
        raise TimeError(f"{option('dates')} is empty", remedy="give at least one date")
    if len(ticks) > MOST:
        raise TimeError(f"{option('dates')} holds {len(ticks)} dates, more than {MOST}", remedy="take fewer")
    return [Moment(tick, label_of(log.axis, tick)) for tick in sorted(ticks)]


def _check_range(log: Log, grid: list[Moment]) -> None:
    begins, ends = log.axis.moment(log.first).tick, log.axis.moment(log.last).tick
    if grid[0].tick < begins:
        raise log.too_early_error(grid[0], remedy="begin later")
    same_day = log.axis.is_calendar and str(log.last).startswith(str(grid[-1].label))
    late = [moment for moment in grid if moment.tick > ends]
    if late and not (same_day and len(late) == 1):
        warn(
            f"the dates from {late[0].label} on ({len(late)} of {len(grid)}) are after the log ends: it runs "
            f"from {log.first} to {log.last}"
        )


@dataclass(frozen=True)
class TimelineSpec:
    """All but the dates."""

    log: Log
    reference: Reference  # where a date was given, the snapshot there
    models: Mapping[str, Recommender]  # the recommenders by the names that they have in the table
    metrics: list[Metric]
    fits: list[FitOptions]  # how weights are fitted: those of all items first, then those of each `top`
    # The items whose probability is recorded.
    items: pa.Array
    codes: Codes
    sample: int | None
    seed: int
    level: float
    p_user: UserPrior
    p_item: ItemPrior
    rule: SplitRule = LEAVE_ONE_OUT  # how items are held out at each date

    def move_to(self, view: Log) -> TimelineSpec:
        """The same about a view of the log, without probabilities of items."""
        reference = move_dates(self.log, view, self.reference)
        return replace(self, log=view, reference=reference, items=self.items[:0], codes=self.codes[:0])

    @property
    def first(self) -> Label:
        """The reference date, which must be one of this log."""
        at: Label | None = getattr(self.reference, "at", None)  # also of another log, or of a saved marginal
        remedy = f"say where the grid begins with {option('start')}"
        if at is None:
            if not isinstance(self.reference, Marginal):
                Marginal.of(self.reference)  # refuses what is no reference
            raise PolicyError("the reference has no date", remedy=remedy)
        span = f"from {self.log.first} to {self.log.last}"
        try:
            before = self.log.axis.moment(at).tick < self.log.axis.moment(self.log.first).tick
        except InputError:
            problem = f"the reference date {at} is not a time of this log, which runs {span}"
            raise PolicyError(problem, remedy=remedy) from None
        if before:
            problem = f"the reference date {at} is before the log begins: it runs {span}"
            raise PolicyError(problem, remedy=remedy)
        return at

    def snapshot(self, moment: Moment) -> Snapshot:
        """The profiles at a date of the grid."""
        if is_on_spark(self.log):
            spark_snapshot: Any = self.log.at(moment, p_user=self.p_user, p_item=self.p_item)
            return cast(Snapshot, spark_snapshot)
        return Snapshot.of(self.log, moment).with_priors(self.p_user, self.p_item)

    def check_dates(self, grid: Sequence[Moment]) -> None:
        """Refuse dates at which the time split, if it is one, has nothing to hold out, at either date."""
        if self.rule.after is None:
            return
        for moment in (grid[0], grid[-1]):
            snapshot = self.snapshot(moment)
            start = self.rule.start(snapshot)
            if start.tick >= moment.tick:
                raise TimeError(
                    f"{option('after', start.label)} is not before {moment.label}, a date of the timeline",
                    remedy=f"begin later with {option('start')}, or choose an earlier {option('after')}",
                )
            if start.tick < self.log.span[0]:
                raise EmptyError(
                    f"at {moment.label} the time split would begin at {start.label}, before the log does: it runs "
                    f"from {self.log.first} to {self.log.last}",
                    remedy=f"begin later with {option('start')}, or choose a later {option('after')}",
                )
            if isinstance(self.reference, Snapshot):
                self.rule.reference_start(self.reference, snapshot)

    def split(self, moment: Moment) -> tuple[HeldOutSplit, Reference]:
        """What is held out at a date of the grid, and what its weights are fitted to."""
        snapshot = self.snapshot(moment)
        before = self.reference
        if isinstance(before, Snapshot):
            before = self.rule.split_reference(before, snapshot).pairs
        if not is_on_spark(self.log):
            return self.rule.split(snapshot), before
        least = self.rule.min_items
        before = before.with_min_items(least) if is_at_spark(before) else before
        return HeldOutSplit.of_profiles(snapshot).with_min_items(least), before

    def models_at(self, moment: Moment) -> dict[str, Recommender]:
        """The recommenders that can be scored at a date: lists external may not be valid yet."""
        return {name: model for name, model in self.models.items() if self._is_valid(model, moment) is not False}

    def _is_valid(self, model: Recommender, moment: Moment) -> bool | None:
        start = moment if self.rule.after is None else self.rule.start(self.snapshot(moment))
        return is_valid_at(model, self.log.axis, start.tick)

    def choose_dates(self, grid: list[Moment]) -> list[Moment]:
        """The dates at which something can be scored; warn of lists that are not valid at some, or do not say."""
        for name, model in self.models.items():
            valid = [self._is_valid(model, moment) for moment in grid]
            if None in valid and len(grid) > 1:
                warn(
                    f"{name} does not say from when its lists are valid: they are scored at every date, those "
                    "before they were made among them; give it a column of dates, or one date (valid_from; in a "
                    "spec ?from=DATE)"
                )
            if False in valid:
                last = grid[max(k for k, is_valid in enumerate(valid) if is_valid is False)]
                dates = f"{valid.count(False)} of {count(len(grid), 'date')}"
                warn(f"no lists of {name} are valid at {dates}, the last {last.label}: no rows of it there")
        chosen = [moment for moment in grid if self.models_at(moment)]
        if not chosen:
            names, dates = ", ".join(self.models), f"{grid[0].label} to {grid[-1].label}"
            raise EmptyError(f"no lists of {names} are valid at any date from {dates}", remedy="take later ones")
        return chosen

    def names(self, view: str, moment: Moment) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
        """What the rows and the probabilities of one date are called, in their order: all before the numbers."""
        weightings = [("raw", None), ("weighted", None), *(("weighted", fit.top) for fit in self.fits[1:])]
        rows = [
            (name, metric.name, view, *weighting)
            for name in self.models_at(moment)
            for metric in self.metrics
            for weighting in weightings[: 1 if isinstance(metric, UserMetric) else None]
        ]
        return rows, [(item, *weighting) for item in self.items.to_pylist() for weighting in weightings]

    @property
    def tops(self) -> list[int | None]:
        """Of each fit, for how many items; None for all."""
        return [fit.top for fit in self.fits]

    def describe(self, moment: Moment) -> dict[str, Any]:
        """Everything that the numbers depend on, ready for JSON; the policy is that at `moment`."""
        policy = self.snapshot(moment).policy
        before = self.reference
        marginal = before.marginal() if isinstance(before, Snapshot) or is_at_spark(before) else before
        marginal = marginal if isinstance(marginal, Marginal) else Marginal.of(marginal)
        return {
            "log": self.log.fingerprint() if is_on_spark(self.log) else fingerprint_log(self.log),
            "view": policy.view,
            "p_user": _describe_prior(self.log, policy.p_user, self.p_user),
            "p_item": policy.p_item,
            "reference": str(self._reference_at()),
            REFERENCE_MIX: sketch_mix(marginal),
            **self.rule.describe(self.log),
            "recommenders": [_describe_model(name, model) for name, model in self.models.items()],
            "metrics": [metric.name for metric in self.metrics],
            "top": self.tops[1:],
            **{name: value for name, value in self.fits[0].to_dict().items() if name in SHARED_OPTIONS},
            "method": self.fits[1].method if len(self.fits) > 1 else None,
            "items": [str(item) for item in self.items.to_pylist()],
            "sample": self.sample,
            "seed": None if self.sample is None else self.seed,
            "level": self.level,
        }

    def _reference_at(self) -> Label | None:
        before = self.reference
        if (isinstance(before, Snapshot) or is_at_spark(before)) and before.log is self.log:
            return label_of(self.log.axis, before.tick)
        return getattr(before, "at", None)


def seed_at(seed: int, moment: Moment) -> int:
    """The seed of the draws of a date: independent of those of other dates, and always the same."""
    tick = moment.tick
    number = int(np.float64(tick).view(np.uint64)) if isinstance(tick, float) else int(tick) % 2**64
    return int(np.random.SeedSequence([seed, number]).generate_state(1, np.uint64)[0])


def list_fits(
    top: int | Iterable[int], options: FitOptions | None, changes: SharedFitKeywords
) -> list[FitOptions]:
    """How weights of all items are fitted, and then those of each number of items alone."""
    if options is not None and options.is_subset:
        raise PolicyError(
            f"{option('options')} is about the weights of some items alone, but a timeline has those of all",
            remedy=f"leave them to {option('top')} of the timeline",
        )
    if options is not None and options.margins:
        raise PolicyError(
            f"a timeline matches the mix of items alone, and takes no {option('margins')}", remedy="leave them out"
        )
    shared: FitKeywords = {**changes, "top": None, "items": None, "method": "scaling", "margins": ()}
    everything = FitOptions.of(options, shared)
    kept = "descent" if options is None or options.method == "scaling" else options.method
    subset = require_one_of(option("method"), changes.get("method", kept), SUBSET_SOLVERS)
    several = top if isinstance(top, Iterable) else [top]
    tops = [require_whole_number(option("top"), number, "how many items to weight") for number in several]
    for number in tops:
        if tops.count(number) > 1:
            raise InputError(f"{option('top', number)} is given twice", remedy="give each once")
    return [everything, *(replace(everything, top=number, method=subset) for number in tops)]


def find_items(log: Log, items: Iterable[Any]) -> Codes:
    if isinstance(items, str | bytes) or not isinstance(items, Iterable):
        raise InputError(f"{option('items')}: {items!r} is not a list of items", remedy="put it into one")
    wanted = items.to_pylist() if isinstance(items, pa.Array) else list(items)
    codes = log.items.codes(wanted)
    for item, code in zip(wanted, codes, strict=True):
        if code < 0:
            raise InputError(
                f"{option('items')}: the log has no item {item!r} (it has {log.items.examples()})",
                remedy="check the ids",
            )
        if np.count_nonzero(codes == code) > 1:
            raise InputError(f"{option('items')}: {item!r} is given twice", remedy="give each once")
    return codes


def _describe_model(name: str, model: Recommender) -> str:
    files = traits_of(model).files
    spec = str(model) + (f" ({hash_files(files)})" if files else "")
    return spec if name == str(model) else f"{name}: {spec}"


def _describe_prior(log: Log, name: str, prior: UserPrior) -> str:
    """P(u) in words; of one that was given by hand, with a check sum of its numbers."""
    if name != "given":
        return name
    if isinstance(prior, Mapping):
        numbers = np.zeros(len(log.users))
        codes, values = require_codes_of_mapping(log.users, prior, option("p_user"))
        numbers[codes[codes >= 0]] = values[codes >= 0]
    else:
        numbers = np.asarray(prior, dtype=np.float64)
    return f"given ({hash_bytes([np.ascontiguousarray(numbers)])})"


@dataclass(frozen=True)
class OtherEnd:
    """The same question as that of a timeline, about the log without the excess."""

    # What is asked for; the probabilities of items are those of the log as it is, and not recorded again.
    spec: TimelineSpec
    since: Label  # the reference date: nothing before it is dropped
    stand_in: str | None  # the stand-in for production that explains most; None if none explains anything
    share: float  # the share of the interactions since the date that it explains

    @classmethod
    def of(cls, spec: TimelineSpec) -> OtherEnd:
        """Drop the excess over the stand-in that explains most, up to the end of the log."""
        log, since = spec.log, check_both_ends(spec)
        excesses = find_excesses(log, since, None, compared=spec.models)
        if excesses.problem:
            raise EmptyError(
                f"the other end of the range cannot be estimated: {excesses.problem}",
                remedy=f"choose a later reference date, or leave out {option(BOTH_ENDS)}",
            )
        if not excesses.thinnings:
            warn(
                f"no stand-in for production explains interactions since {since}: both ends of the range are the "
                "log as it is"
            )
            everything = log.keep_entries(np.ones(len(log), dtype=np.bool_), view=OTHER_VIEW)
            return cls(spec.move_to(everything), since, None, 0.0)
        name = max(excesses.thinnings, key=lambda stand_in: excesses.explained[stand_in])
        most = replace(excesses, thinnings={name: excesses.thinnings[name]})
        [view] = most.list_views(fractions=(1.0,), seed=spec.seed)
        return cls(spec.move_to(view.log), since, name, excesses.explained[name])

    def describe(self) -> dict[str, Any]:
        """What its rows depend on besides the options of the timeline, ready for JSON."""
        return {
            "since": str(self.since),
            "stand_in": self.stand_in,
            "share": round(self.share, 6),
            "hash": fingerprint_log(self.spec.log)["hash"],
        }


def check_both_ends(spec: TimelineSpec) -> Label:
    """The reference date; refuse a timeline that has no other end."""
    name, log = option(BOTH_ENDS), spec.log
    if log.view != "all":
        raise PolicyError(
            f"{name} is for the log as it is, and this is the view {log.view!r} of it",
            remedy=f"leave out {name}, or insist on the whole log with {option('view', 'all')}",
        )
    if not isinstance(spec.reference, Snapshot) or spec.reference.log is not log:
        raise PolicyError(
            f"{name} needs a reference that is a date of the log, since only interactions after it are dropped",
            remedy=f"give a date as {option('reference')}, or leave out {name}",
        )
    return spec.reference.at
