"""What is known about some recommenders at a date, as one object. Made by `evaluate_report`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from unskew.data.log import Log
from unskew.data.times import Label
from unskew.data.view_report import ViewReport
from unskew.evaluation.changes import Change
from unskew.evaluation.comparison import Comparison
from unskew.evaluation.results import Results
from unskew.evaluation.score import Score
from unskew.evaluation.verdict import Verdict
from unskew.evaluation.work_estimate import WorkEstimate
from unskew.presenting import find_presenter
from unskew.weights.item_weights import ItemWeights


class FindsVerdicts(Protocol):
    """Something that finds verdicts; it takes a while."""

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
            When something was recommended, as for `unskew.outside`: marked in the charts over time.
        names
            What items are called, where their ids do not say it.
        """
        from unskew.drawing.page import check_page_name  # a drawing library is loaded when it draws

        check_page_name(Path(path))
        over_time = () if timeline is None else timeline.page_sections(campaigns=campaigns, names=names)
        page = find_presenter("report_page", "ReportPage")(report=self, over_time=over_time, names=names or {})
        page.write(Path(path))

    def _repr_html_(self) -> str:
        """The report in a notebook: the verdicts, what the changes come from, and the scores."""
        html: str = find_presenter("report_html", "render_report")(self)
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
            "view": None if self.view_report is None else self.view_report.to_dict(),
            "cost": None if self.work is None else self.work.to_dict(),
        }
