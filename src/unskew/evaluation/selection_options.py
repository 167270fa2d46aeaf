"""Which pairs are held out and how: one set of options, checked once; and how long ranking them will take.

The estimate comes from counts (`unskew.recommend.calls`) and never from a clock: whether pairs are drawn, and so
every score, is the same on every machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypedDict

from unskew.checks import Seed, require_repeats, require_sample_size
from unskew.data.held_out import SplitRule
from unskew.data.policy import check_level
from unskew.data.slice import Snapshot
from unskew.errors import CostNotice, PolicyError, option, warn
from unskew.evaluation.metric import Metric, UserMetric
from unskew.options import check_options
from unskew.recommend.calls import Cost, LogSize, estimate_cost
from unskew.text import count, thousands
from unskew.weights.fit_options import FitKeywords, FitOptions


class SelectionKeywords(TypedDict, total=False):
    """The options by name, as functions take them; see `SelectionOptions`."""

    sample: int | Literal["auto", "all"] | None
    seed: Seed
    leave_out: int
    after: Any
    leave_last_out: bool
    folds: int | None
    min_items: int


@dataclass(frozen=True, kw_only=True)
class SelectionOptions:
    """Which pairs are held out."""

    # How many pairs are drawn, and where the draws begin. None or ``"all"`` for every pair; ``"auto"`` for every
    # pair unless that would take hours, where whoever runs the evaluation can tell.
    sample: Any = None
    seed: int = 0
    leave_out: int = 1  # how many items of a profile are held out at a time
    after: Any = None  # a time, or how long before the date it is: later interactions are held out
    leave_last_out: bool = False  # whether the last item of each profile is held out
    folds: int | None = None  # into how many folds pairs are dealt for cross-fitting; None for none
    # Only users with at least this many items in what items are held out from are scored; see `SplitRule`.
    min_items: int = 1
    may_draw: bool = field(init=False, default=False)  # whether it was left open how many pairs are drawn

    def __post_init__(self) -> None:
        object.__setattr__(self, "may_draw", isinstance(self.sample, str) and self.sample == "auto")
        if isinstance(self.sample, str) and self.sample in ("auto", "all"):
            object.__setattr__(self, "sample", None)
        if self.sample is not None:
            require_sample_size(option("sample"), self.sample)
        check_options(self, "seed", "leave_out")
        split = bool(self.rule)
        if self.folds is not None:
            check_options(self, "folds")
            if split or self.leave_out > 1:
                raise PolicyError(
                    f"{option('folds')} holds out pairs one at a time from the profiles of one date",
                    remedy=f"leave out {option(self._protocol if split else 'leave_out')}",
                )
        if split and self.leave_out > 1:
            raise PolicyError(
                f"{option('leave_out')} holds out several items of a profile at a time, but "
                f"{option(self._protocol)} does not hold out from profiles",
                remedy="give one of the two",
            )

    @property
    def rule(self) -> SplitRule:
        """How profiles are split into what is known and what is held out."""
        return SplitRule(self.after, self.leave_last_out, self.min_items)

    @property
    def _protocol(self) -> str:
        return "after" if self.after is not None else "leave_last_out"


class ReportKeywords(FitKeywords, SelectionKeywords, total=False):
    """How weights are fitted and which pairs are held out, by name; see `FitOptions` and `SelectionOptions`."""


def choose_population(fit: FitOptions, chosen: SelectionKeywords) -> tuple[FitOptions, SelectionOptions]:
    """How weights are fitted and pairs are chosen, of the same users: with the `min_items` of either."""
    keywords: SelectionKeywords = {"min_items": fit.min_items, **chosen}
    selection = SelectionOptions(**keywords)
    return replace(fit, min_items=selection.min_items), selection


def separate_keywords(more: ReportKeywords) -> tuple[FitKeywords, SelectionKeywords]:
    """What is about fitting, and what is about the pairs."""
    about_pairs = SelectionKeywords.__annotations__
    changes: Any = {name: value for name, value in more.items() if name not in about_pairs}
    chosen: Any = {name: value for name, value in more.items() if name in about_pairs}
    return changes, chosen


def check_report_options(
    reference: Any,
    weights: Any,
    fit_option: str | None,
    selection: SelectionOptions,
    *,
    by: str | None,
    refit: int | None,
    level: float,
) -> None:
    """Refuse options that contradict each other; `fit_option` names one about fitting, if any is given."""
    check_level(level)
    sample = selection.sample
    if reference is not None and weights is not None:
        raise PolicyError(f"give {option('reference')} or {option('weights')}, not both")
    if refit is not None:
        require_repeats(option("refit"), refit)
        if reference is None:
            raise PolicyError(f"{option('refit')} fits weights again: it needs {option('reference')}")
        if sample is not None and refit:
            raise PolicyError(f"{option('refit')} needs every pair", remedy=f"leave out {option('sample')}")
    if by is not None and sample is not None:
        raise PolicyError(f"{option('by')} needs every pair", remedy=f"leave out {option('sample')}")
    if fit_option is not None and reference is None:
        raise PolicyError(f"{option(fit_option)} is about fitting weights: it needs {option('reference')}")


WORTH_SAYING = 60.0
"""Seconds beyond which the estimate is shown."""

TOO_LONG = 3600.0
"""Seconds of ranking beyond which pairs are drawn by default."""

DRAWN = 20_000
"""How many pairs are drawn then, at each date: what the paper draws."""


@dataclass(frozen=True)
class WorkEstimate:
    """What some recommenders cost at some dates."""

    cost: Cost  # in seconds, over all dates, if every pair is ranked
    # How many dates, and held-out pairs at all of them together.
    dates: int
    pairs: int
    sample: int | None = None  # how many pairs are drawn at each date; None if all are ranked
    by_default: bool = False  # whether they are drawn because all would take hours, although nobody asked for it

    @classmethod
    def of(cls, models: Sequence[Any], snapshots: Sequence[Snapshot], options: SelectionOptions) -> WorkEstimate:
        """What it will cost; the items of the last date, which are the most, are counted for all."""
        largest = LogSize.of(snapshots[-1])
        total, pairs = Cost(0.0, 0.0), 0
        for snapshot in snapshots:
            size = LogSize.of(snapshot, largest.items)
            cost = estimate_cost(models, size)
            held = size.pairs
            if options.rule:  # one list for each user
                held = min(snapshot.n_users, held)
                cost = Cost(cost.fit, cost.rank * held / max(size.pairs, 1))
            total += Cost(cost.fit * (options.folds or 1), cost.rank)
            pairs += held
        return cls(total, len(snapshots), pairs, options.sample)

    @property
    def seconds(self) -> float:
        """With the pairs that are ranked."""
        ranked = self.pairs if self.sample is None else min(self.pairs, self.sample * self.dates)
        return self.cost.fit + self.cost.rank * ranked / max(self.pairs, 1)

    def describe_sample(self) -> str:
        """That pairs are drawn although nobody asked for it."""
        assert self.sample is not None
        return (
            f"ranking all {thousands(self.pairs)} held-out pairs would take about "
            f"{write_duration(self.cost.rank)} on two cores, so {thousands(self.sample)} are drawn at each date"
        )

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON; seconds in whole numbers, since it is an estimate."""
        return {
            "seconds": round(self.seconds),
            "fit_seconds": round(self.cost.fit),
            "rank_seconds": round(self.cost.rank),
            "pairs": self.pairs,
            "dates": self.dates,
            "sample": self.sample,
        }

    def draw(self) -> WorkEstimate:
        """The same with some pairs drawn."""
        return replace(self, sample=DRAWN, by_default=True)

    def announce(self, remedy: str = "") -> None:
        """Say what is ahead, if it is worth it; and if fits take hours, a `remedy`."""
        sentences = []
        if self.by_default:
            sentences.append(f"{self.describe_sample()}; {option('sample', 'all')} ranks them all")
        if self.seconds > WORTH_SAYING:
            fits = f"{write_duration(self.cost.fit)} of it to fit models at {count(self.dates, 'date')}"
            sentences.append(f"this takes about {write_duration(self.seconds)} on two cores, {fits} (from counts)")
            if self.cost.fit > TOO_LONG and remedy:
                sentences[-1] += f": {remedy}"
        for text in sentences:
            warn(text, CostNotice)


def must_draw(
    estimate: WorkEstimate, options: SelectionOptions, metrics: Sequence[Metric], *, needs_all: bool = False
) -> bool:
    """Whether pairs are to be drawn where that was left open: if ranking all of them would take hours.

    Nothing is drawn for metrics of users, nor if another option needs every pair.
    """
    needs_all = needs_all or any(isinstance(metric, UserMetric) for metric in metrics)
    return options.may_draw and not needs_all and estimate.cost.rank > TOO_LONG


def write_duration(seconds: float) -> str:
    """About how long, as people say it.

    >>> [write_duration(x) for x in (0.2, 40, 100, 5_000, 90_000)]
    ['1 s', '40 s', '2 min', '1.4 h', '25 h']
    """
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    if seconds < 3600:
        return f"{round(seconds / 60)} min"
    hours = seconds / 3600
    return f"{hours:.1f} h" if hours < 10 else f"{round(hours)} h"
