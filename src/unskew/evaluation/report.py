"""What is known about some recommenders at a date, as one object. Made by `evaluate_report`.

Figures of several draws of a view in which chance decides are averaged. A view that drops interactions at random
gives another score at each draw; the estimate is the mean over m draws, and its variance that of multiple
imputation (Rubin 1987)::

    T = W + (1 + 1/m) B

with W the mean of the variances within a draw and B the variance between the draws. B rests on m draws alone, so
that limits have Student's t with Rubin's degrees of freedom::

    (m - 1) (1 + W / ((1 + 1/m) B)) ** 2
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import import_module  # results know how they look by the name of a module alone
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from scipy.special import stdtr

from unskew.data.log import Log
from unskew.data.policy import critical_value
from unskew.data.times import Label
from unskew.data.view_report import ViewReport
from unskew.evaluation.changes import PARTS, Change, Part
from unskew.evaluation.comparison import Comparison, WithProfile, correct_together
from unskew.evaluation.score import Results, Score
from unskew.evaluation.selection_options import WorkEstimate
from unskew.evaluation.verdict import Verdict
from unskew.views.knowledge import Knowledge
from unskew.weights.item_weights import ItemWeights

_MANY = 1e9  # degrees of freedom that are as good as infinitely many


class FindsVerdicts(Protocol):
    """Something that finds verdicts; it takes a while."""

    @property
    def log(self) -> Any:
        """The log as it is."""

    def find(self) -> list[Verdict]:
        """A verdict for each two recommenders and each metric."""


@dataclass(frozen=True, repr=False, eq=False)
class Report:
    """What was found. Made by `unskew.report`.

    Attributes
    ----------
    at, reference
        The date, and that of the reference; None if there is none, or it is not known.
    protocol
        How items were held out: ``leave-one-out``, ``time split`` or ``leave-last-out``.
    after, reference_after
        Of a time split: after which times things were held out, up to `at` and up to `reference`; else None.
    min_items
        All scores are of users with at least so many items, at the date of the score.
    scores
        Of each recommender and metric: at the reference date, raw and weighted; with `by`, of each segment as
        well.
    changes
        Since the reference date, if that is a date whose profiles are known.
    comparisons
        Of the recommenders with each other, if there are several.
    weights
        The item weights, or None.
    bound_holds
        Whether the bound of the weights is about these scores: it is not if they were fitted at another date.
    notes
        What was not scored and why, in sentences: lists external that were not valid at a date, pairs where
        ranking all would take hours. And which comparisons users without a profile may decide.
    work
        About what it took, from counts; None on Spark.
    view_report
        Which view of the log was scored, why, and what it left out; None for a log as it is.
    level
        Of the intervals.
    verdict_plan
        What verdicts are made from; None if nothing is compared.
    log
        What was scored: the log as it is, or the first draw of a view; None on Spark.
    """

    at: Label
    reference: Label | None
    scores: Results[Score]
    changes: Results[Change]
    comparisons: Results[Comparison]
    weights: ItemWeights | None
    bound_holds: bool = True
    protocol: str = "leave-one-out"
    after: Label | None = None
    reference_after: Label | None = None
    notes: tuple[str, ...] = ()
    view_report: ViewReport | None = None
    min_items: int = 1
    work: WorkEstimate | None = None
    level: float = 0.95
    verdict_plan: FindsVerdicts | None = None
    log: Log | None = None

    @cached_property
    def verdicts(self) -> list[Verdict]:
        """Whether each recommender beats the baseline, or the first one; computed when first asked for."""
        return [] if self.verdict_plan is None else self.verdict_plan.find()

    def __repr__(self) -> str:
        lines = [f"Report(at {self.at}" + ("" if self.reference is None else f", compared with {self.reference}")]
        lines += [f"  {score!r}" for score in self.scores]
        lines += [f"  {change}" for change in self.changes]
        lines += [f"  {comparison}" for comparison in self.comparisons]
        lines += [f"  {note}" for note in self.notes]
        return "\n".join(lines) + ")"

    def to_arrow(self) -> pa.Table:
        """The scores, one row each."""
        return self.scores.to_arrow()

    def to_frame(self) -> Any:
        """The scores, one row each, in the dataframe library that the log came in; see also their own `to_frame`,
        and those of `changes` and `comparisons`.
        """
        return self.scores.to_frame()

    def save(
        self,
        path: str | Path,
        *,
        timeline: Any = None,
        campaigns: Any = (),
        names: Mapping[Any, str] | None = None,
    ) -> None:
        """Write the report as one page that opens without a network: words, charts and all items.

        Parameters
        ----------
        path
            An ``.html`` file. One that is there is replaced if it is such a page, and refused otherwise.
        timeline
            A `Timeline` of the same recommenders, to be shown as well.
        campaigns
            When something was recommended, as for `unskew.views.outside`: marked in the charts over time.
        names
            What items are called, where their ids do not say it.
        """
        from unskew.drawing.page import check_page_name  # a drawing library is loaded when it draws

        check_page_name(Path(path))
        over_time = () if timeline is None else timeline.page_sections(campaigns=campaigns, names=names)
        page = import_module("unskew.show.report_page").ReportPage(
            report=self, over_time=over_time, names=names or {}
        )
        page.write(Path(path))

    def _repr_html_(self) -> str:
        """The report in a notebook: the verdicts, what the changes come from, and the scores."""
        html: str = import_module("unskew.show.report_page").render_report(self)
        return html

    def to_dict(self) -> dict[str, Any]:
        """Everything, ready for JSON: what ``unskew evaluate --json`` prints."""
        return {
            "at": self.at,
            "reference": self.reference,
            "bound_holds": self.bound_holds,
            "protocol": self.protocol,
            "after": self.after,
            "reference_after": self.reference_after,
            "min_items": self.min_items,
            "verdicts": [verdict.to_dict() for verdict in self.verdicts],
            "scores": [score.to_dict() for score in self.scores],
            "changes": [change.to_dict() for change in self.changes],
            "comparisons": [comparison.to_dict() for comparison in self.comparisons],
            "weights": None if self.weights is None else self.weights.to_dict(),
            "notes": list(self.notes),
            "view": self._describe_view(),
            "cost": None if self.work is None else self.work.to_dict(),
        }

    def _describe_view(self) -> dict[str, Any] | None:
        view = self.view_report
        if view is None and self.verdict_plan is not None:
            view = Knowledge().take(self.verdict_plan.log, test=False)[0].view_report
        return None if view is None else view.to_dict()


_AVERAGED = ("pairs", "users", "effective_pairs", "largest_item", "empty_profiles")


def average_reports(reports: Sequence[Report]) -> Report:
    """The mean of the reports on several draws of one view; figures about weights are those of the first."""
    first = reports[0]
    if len(reports) == 1:
        return first
    by_key: dict[tuple[Any, ...], list[Score]] = {}  # of segments, some may be empty in some draws
    for score in (score for report in reports for score in report.scores):
        key = (score.recommender, score.metric, score.at, score.weighting, score.top, score.segment)
        by_key.setdefault(key, []).append(score)
    scores = [_average_scores(group) for group in by_key.values() if len(group) == len(reports)]
    comparisons = _average(reports, lambda report: report.comparisons, _average_comparisons)
    largest = max((score.spread for score in scores), default=0.0)
    spread = (
        f"figures are means over {len(reports)} draws of the view; a score of one draw is off by at most "
        f"{100 * largest:.2f} points (standard deviation)"
    )
    return replace(
        first,
        scores=Results(scores, first.scores.frames),
        changes=_average(reports, lambda report: report.changes, _average_changes),
        comparisons=Results(correct_together(comparisons), comparisons.frames),
        notes=(*first.notes, spread),
    )


def _average(
    reports: Sequence[Report], of: Callable[[Report], Results[Any]], average: Callable[[Sequence[Any]], Any]
) -> Results[Any]:
    several = [of(report) for report in reports]
    return Results([average(results) for results in zip(*several, strict=True)], several[0].frames)


def combine(parts: Sequence[Part], level: float) -> Part:
    """The mean of several values, with the interval of multiple imputation.

    >>> combine([Part(0.2, 0.1, 0.3), Part(0.2, 0.1, 0.3)], 0.95)
    Part(value=0.2, low=0.1, high=0.3)
    >>> wide = combine([Part(0.1, 0.0, 0.2), Part(0.3, 0.2, 0.4)], 0.95)
    >>> round(wide.value, 3), wide.high - wide.value > 0.1
    (0.2, True)
    """
    value, low, high = (
        float(np.mean([getattr(part, name) for part in parts])) for name in ("value", "low", "high")
    )
    within, between, degrees = _find_variances(parts, level)
    if not between > 0 or math.isnan(within):
        return Part(value, low, high)
    t = critical_value(level, degrees + 1)
    if within == 0:
        half = t * math.sqrt(between)
        return Part(value, value - half, value + half)
    wider = math.sqrt(1 + between / within) * t / critical_value(level)
    return Part(value, value - (value - low) * wider, value + (high - value) * wider)


def _find_variances(parts: Sequence[Part], level: float) -> tuple[float, float, float]:
    m, widths = len(parts), np.array([part.high - part.low for part in parts])
    between = float(np.var([part.value for part in parts], ddof=1)) * (1 + 1 / m) if m > 1 else 0.0
    within = float(np.mean((widths / (2 * critical_value(level))) ** 2))
    is_known = between > 0 and not math.isnan(within)
    degrees = (m - 1) * (1 + min(within / between, _MANY)) ** 2 if is_known else _MANY
    return within, between, min(degrees, _MANY)


def _average_scores(scores: Sequence[Score]) -> Score:
    first, m = scores[0], len(scores)
    mean = combine([Part(score.value, score.low, score.high) for score in scores], first.level)
    low = max(mean.low, 0.0) if min(score.low for score in scores) >= 0 else mean.low
    high = min(mean.high, 1.0) if max(score.high for score in scores) <= 1 else mean.high
    means: Any = {name: sum(getattr(score, name) for score in scores) / m for name in _AVERAGED}
    means |= {name: round(means[name]) for name in ("pairs", "users")}
    return replace(
        first,
        **means,
        value=mean.value,
        low=low,
        high=high,
        empty_lists=_mean_or_none([score.empty_lists for score in scores]),
        too_few_hits=any(score.too_few_hits for score in scores),
        draws=m,
        spread=float(np.std([score.value for score in scores], ddof=1)),
    )


def _average_changes(changes: Sequence[Change]) -> Change:
    m = len(changes)
    return replace(
        average_parts(changes, PARTS),
        score=sum(change.score for change in changes) / m,
        score_reference=sum(change.score_reference for change in changes) / m,
    )


def average_parts(changes: Sequence[Change], names: Iterable[str]) -> Change:
    """The first of several changes with the means of some parts; where a change lacks a part, it counts as 0."""
    averaged: Any = {}
    for name in names:
        parts = [getattr(change, name) for change in changes]
        if any(part is not None for part in parts):
            averaged[name] = combine([part or Part(0.0, 0.0, 0.0) for part in parts], changes[0].level)
    return replace(changes[0], **averaged)


def _average_comparisons(comparisons: Sequence[Comparison]) -> Comparison:
    first = comparisons[0]
    if not first.comparable:
        return first
    parts = [Part(c.difference, c.low, c.high) for c in comparisons]
    mean = combine(parts, first.level)
    side = mean.value - mean.low if mean.value > 0 else mean.high - mean.value
    degrees = _find_variances(parts, first.level)[2]
    t = abs(mean.value) * critical_value(first.level, degrees + 1) / side if side > 0 else 0.0
    p = 1.0 if mean.value == 0 or not side > 0 else 2 * float(stdtr(degrees, -t))
    empty_a, empty_b = (
        _mean_or_none(shares) for shares in zip(*(c.empty_lists for c in comparisons), strict=True)
    )
    return replace(
        first,
        difference=mean.value,
        low=mean.low,
        high=mean.high,
        p=p,
        empty_profiles=sum(c.empty_profiles for c in comparisons) / len(comparisons),
        empty_lists=(empty_a, empty_b),
        with_profile=_average_with_profile(comparisons),
    )


def _average_with_profile(comparisons: Sequence[Comparison]) -> WithProfile | None:
    others = [c.with_profile for c in comparisons if c.with_profile is not None]
    if len(others) < len(comparisons) or len({each.min_items for each in others}) > 1:
        return None
    mean = combine([Part(each.difference, each.low, each.high) for each in others], comparisons[0].level)
    users = round(sum(each.users for each in others) / len(others))
    return WithProfile(mean.value, mean.low, mean.high, users, others[0].min_items)


def _mean_or_none(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if len(known) == len(values) else None
