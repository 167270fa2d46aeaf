"""How long an evaluation will take, said before it begins; and a sample of the pairs where all would take hours.

The estimate comes from counts (`unskew.recommend.cost`) and never from a clock: whether pairs are drawn, and so
every score, is the same on every machine.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from unskew.data.slice import Snapshot
from unskew.errors import CostNotice, option
from unskew.evaluation.metric import Metric, UserMetric
from unskew.evaluation.selection_options import SelectionOptions
from unskew.recommend.cost import Cost, LogSize, estimate_cost
from unskew.text import count, thousands

WORTH_SAYING = 60.0
"""Seconds beyond which the estimate is shown."""

TOO_LONG = 3600.0
"""Seconds of ranking beyond which pairs are drawn by default."""

DRAWN = 20_000
"""How many pairs are drawn then, at each date: what the paper draws."""


@dataclass(frozen=True)
class WorkEstimate:
    """What some recommenders cost at some dates.

    Attributes
    ----------
    cost
        In seconds, over all dates, if every pair is ranked.
    dates, pairs
        How many dates, and held-out pairs at all of them together.
    sample
        How many pairs are drawn at each date; None if all are ranked.
    by_default
        Whether they are drawn because all would take hours, although nobody asked for it.
    """

    cost: Cost
    dates: int
    pairs: int
    sample: int | None = None
    by_default: bool = False

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
        told = [f"{self.describe_sample()}; {option('sample', 'all')} ranks them all"] if self.by_default else []
        if self.seconds > WORTH_SAYING:
            fits = f"{write_duration(self.cost.fit)} of it to fit models at {count(self.dates, 'date')}"
            told.append(f"this takes about {write_duration(self.seconds)} on two cores, {fits} (from counts)")
            if self.cost.fit > TOO_LONG and remedy:
                told[-1] += f": {remedy}"
        for text in told:
            warnings.warn(text, CostNotice, stacklevel=4)


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
