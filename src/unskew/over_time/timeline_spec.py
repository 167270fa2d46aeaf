"""What a timeline was asked for: checked before the work, and written to its file so that it can be resumed."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

import numpy as np
import pyarrow as pa

from unskew.arrays.types import Codes
from unskew.checks import require_instance, require_one_of, require_whole_number
from unskew.data.dated_log import DatedLog
from unskew.data.fingerprint import fingerprint_log
from unskew.data.held_out import LEAVE_ONE_OUT, HeldOutSplit, SplitRule
from unskew.data.ids import require_codes_of_mapping
from unskew.data.log import Log
from unskew.data.marginal import Marginal
from unskew.data.policy import check_level
from unskew.data.priors import ItemPrior, UserPrior
from unskew.data.slice import Snapshot
from unskew.data.time_steps import label_of
from unskew.data.times import Label, Moment
from unskew.engines.population import is_at_spark, is_on_spark, refuse_on_spark
from unskew.errors import EmptyError, InputError, PolicyError, TimeError, UnskewWarning, option
from unskew.evaluation.held_out_ranks import AnyMetric
from unskew.evaluation.metric import Metric, UserMetric, distinct_metrics
from unskew.evaluation.pair_selection import check_user_metrics
from unskew.evaluation.selection_options import SelectionOptions
from unskew.files import hash_bytes, hash_files
from unskew.over_time.timeline_table import REFERENCE_MIX, sketch_mix
from unskew.recommend.contract import Recommender, is_valid_at, traits_of
from unskew.recommend.specs import AnyRecommenders, name_recommenders
from unskew.text import count
from unskew.views.knowledge import move_dates
from unskew.weights.alignment import Reference, resolve_reference
from unskew.weights.fit_options import SHARED_OPTIONS, SUBSET_METHODS, FitKeywords, FitOptions, SharedFitKeywords


@dataclass(frozen=True)
class TimelineSpec:
    """All but the dates.

    Attributes
    ----------
    reference
        Where a date was given, the snapshot there.
    models
        The recommenders by the names that they have in the table.
    fits
        How weights are fitted: those of all items first, then those of each `top`.
    rule
        How items are held out at each date.
    items, codes
        The items whose probability is recorded.
    """

    log: Log
    reference: Reference
    models: Mapping[str, Recommender]
    metrics: list[Metric]
    fits: list[FitOptions]
    items: pa.Array
    codes: Codes
    sample: int | None
    seed: int
    level: float
    p_user: UserPrior
    p_item: ItemPrior
    rule: SplitRule = LEAVE_ONE_OUT

    @classmethod
    def of(
        cls,
        log: Log,
        recommenders: AnyRecommenders,
        *,
        reference: Any,
        metrics: AnyMetric | Iterable[AnyMetric],
        top: int | Iterable[int],
        items: Iterable[Any],
        sample: int | Literal["auto", "all"] | None,
        seed: int,
        level: float,
        p_user: UserPrior,
        p_item: ItemPrior,
        options: FitOptions | None,
        changes: SharedFitKeywords,
        after: Any = None,
        leave_last_out: bool = False,
    ) -> TimelineSpec:
        """Check everything that can be checked before the work."""
        fits = _fits(top, options, changes)
        rule = SplitRule(after, leave_last_out, fits[0].min_items)
        require_instance(DatedLog, log, "a log", "read one with read_log")
        if is_on_spark(log):
            refuse_on_spark(after=rule.after, leave_last_out=rule.leave_last_out)
        check_level(level)
        drawn = SelectionOptions(sample=sample, seed=seed).sample  # refuses what is none
        reference = resolve_reference(log, reference, p_user=p_user, p_item=p_item)
        codes = _codes(log, items)
        wanted = distinct_metrics(metrics, several=rule.after is not None)
        check_user_metrics(wanted, drawn)
        return cls(
            log=log,
            reference=reference,
            models=name_recommenders(recommenders),
            metrics=wanted,
            fits=fits,
            items=log.items.take(codes),
            codes=codes,
            sample=None if drawn is None else int(drawn),
            seed=int(seed),
            level=float(level),
            p_user=p_user,
            p_item=p_item,
            rule=rule,
        )

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
        try:
            before = self.log.axis.moment(at).tick < self.log.axis.moment(self.log.first).tick
        except InputError:
            raise PolicyError(
                f"the reference date {at} is not a time of this log, which runs from {self.log.first} to "
                f"{self.log.last}",
                remedy=remedy,
            ) from None
        if before:
            raise PolicyError(
                f"the reference date {at} is before the log begins: it runs from {self.log.first} to "
                f"{self.log.last}",
                remedy=remedy,
            )
        return at

    def snapshot(self, moment: Moment) -> Snapshot:
        """The profiles at a date of the grid."""
        if is_on_spark(self.log):
            there: Any = self.log.at(moment, p_user=self.p_user, p_item=self.p_item)
            return cast(Snapshot, there)
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
        return {name: one for name, one in self.models.items() if self._is_valid(one, moment) is not False}

    def _is_valid(self, model: Recommender, moment: Moment) -> bool | None:
        """Whether a recommender has lists for the time at which it would be fitted for a date."""
        start = moment if self.rule.after is None else self.rule.start(self.snapshot(moment))
        return is_valid_at(model, self.log.axis, start.tick)

    def choose_dates(self, grid: list[Moment]) -> list[Moment]:
        """The dates at which something can be scored; warn of lists that are not valid at some, or do not say."""
        for name, model in self.models.items():
            valid = [self._is_valid(model, moment) for moment in grid]
            if None in valid and len(grid) > 1:
                self._warn(
                    f"{name} does not say from when its lists are valid: they are scored at every date, those "
                    "before they were made among them; give it a column of dates, or one date (valid_from; in a "
                    "spec ?from=DATE)"
                )
            if False in valid:
                last = grid[max(k for k, one in enumerate(valid) if one is False)]
                dates = f"{valid.count(False)} of {count(len(grid), 'date')}"
                self._warn(f"no lists of {name} are valid at {dates}, the last {last.label}: no rows of it there")
        chosen = [moment for moment in grid if self.models_at(moment)]
        if not chosen:
            names, dates = ", ".join(self.models), f"{grid[0].label} to {grid[-1].label}"
            raise EmptyError(f"no lists of {names} are valid at any date from {dates}", remedy="take later ones")
        return chosen

    @staticmethod
    def _warn(text: str) -> None:
        warnings.warn(text, UnskewWarning, stacklevel=4)

    def seed_at(self, moment: Moment) -> int:
        """The seed of the draws of a date: independent of those of other dates, and always the same."""
        tick = moment.tick
        number = int(np.float64(tick).view(np.uint64)) if isinstance(tick, float) else int(tick) % 2**64
        return int(np.random.SeedSequence([self.seed, number]).generate_state(1, np.uint64)[0])

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
        """The reference date, of this log in the one form that it has on a grid."""
        before = self.reference
        if (isinstance(before, Snapshot) or is_at_spark(before)) and before.log is self.log:
            return label_of(self.log.axis, before.tick)
        return getattr(before, "at", None)


def _fits(top: int | Iterable[int], options: FitOptions | None, changes: SharedFitKeywords) -> list[FitOptions]:
    """How weights of all items are fitted, and then those of each number of items alone."""
    if options is not None and options.is_subset:
        raise PolicyError(
            f"{option('options')} is about the weights of some items alone, but a timeline has those of all",
            remedy=f"leave them to {option('top')} of the timeline",
        )
    if options is not None and options.margins:
        raise PolicyError(f"a timeline matches the mix of items alone, and takes no {option('margins')}")
    shared: FitKeywords = {**changes, "top": None, "items": None, "method": "scaling", "margins": ()}
    everything = FitOptions.of(options, shared)
    kept = "descent" if options is None or options.method == "scaling" else options.method
    subset = require_one_of(option("method"), changes.get("method", kept), SUBSET_METHODS)
    tops = [require_whole_number(option("top"), one, "how many items to weight") for one in _several(top)]
    for one in tops:
        if tops.count(one) > 1:
            raise InputError(f"{option('top', one)} is given twice", remedy="give each once")
    return [everything, *(replace(everything, top=one, method=subset) for one in tops)]


def _several(top: int | Iterable[int]) -> Iterable[int]:
    return top if isinstance(top, Iterable) else [top]


def _codes(log: Log, items: Iterable[Any]) -> Codes:
    if isinstance(items, str | bytes) or not isinstance(items, Iterable):
        raise InputError(f"{option('items')}: {items!r} is not a list of items", remedy="put it into one")
    wanted = items.to_pylist() if isinstance(items, pa.Array) else list(items)
    codes = log.items.codes(wanted)
    for item, code in zip(wanted, codes, strict=True):
        if code < 0:
            raise InputError(f"{option('items')}: the log has no item {item!r} (it has {log.items.examples()})")
        if np.count_nonzero(codes == code) > 1:
            raise InputError(f"{option('items')}: {item!r} is given twice", remedy="give each once")
    return codes


def _describe_model(name: str, model: Recommender) -> str:
    """A recommender in words; one that was read from a file with a check sum of that."""
    files = traits_of(model).files
    spec = str(model) + (f" ({hash_files(files)})" if files else "")
    return spec if name == str(model) else f"{name}: {spec}"


def _describe_prior(log: Log, name: str, prior: UserPrior) -> str:
    """P(u) in words; of one that was given by hand, with a check sum of its numbers."""
    if name != "given":
        return name
    numbers = np.asarray(prior, dtype=np.float64) if not isinstance(prior, Mapping) else np.zeros(len(log.users))
    if isinstance(prior, Mapping):
        codes, values = require_codes_of_mapping(log.users, prior, option("p_user"))
        numbers[codes[codes >= 0]] = values[codes >= 0]
    return f"given ({hash_bytes([np.ascontiguousarray(numbers)])})"
