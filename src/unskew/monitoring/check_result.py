"""What a check found: each figure beside its threshold, and what it means in words."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from typing import Any

from unskew.data.times import Label
from unskew.evaluation.report import Report
from unskew.evaluation.results import Results
from unskew.frames import show_as_table
from unskew.text import to_json_value
from unskew.weights.item_weights import ItemWeights


@dataclass(frozen=True)
class CheckedThreshold:
    """A figure beside its threshold.

    Attributes
    ----------
    threshold
        Which one: a field of `Thresholds`.
    value, limit
        The figure, and how far it may go; of ``fail_if`` 1 for the decision that fails and 0 for others, and 0.
    crossed
        Whether it went further.
    recommender, metric
        Whose change or verdict it is; None for figures that are about the log.
    summary
        The figure and its threshold in a few words.
    decision
        Of ``fail_if``: what the verdict says, else None.
    message
        What the figure means and, where the threshold is crossed, what to do: one line.
    """

    threshold: str
    value: float
    limit: float
    crossed: bool
    recommender: str | None
    metric: str | None
    summary: str
    message: str
    decision: str | None = None

    def __str__(self) -> str:
        return self.message

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON: a row of what ``unskew check --json`` prints."""
        row: dict[str, Any] = to_json_value(asdict(self))
        del row["summary"]
        return row

    def to_row(self) -> dict[str, Any]:
        """The same as columns of a table."""
        return self.to_dict()


@dataclass(frozen=True, repr=False, eq=False)
class Check:
    """What was found. Made by `unskew.check`.

    Attributes
    ----------
    at, reference
        The date, and that of the reference; None if that is not known.
    thresholds
        Each figure beside its threshold; those about scores once for each recommender and metric.
    weights
        The item weights that were fitted.
    report
        The scores, if recommenders were scored, else None.
    """

    at: Label
    reference: Label | None
    thresholds: Results[CheckedThreshold]
    weights: ItemWeights
    report: Report | None = None
    view: dict[str, Any] | None = None

    @property
    def crossed(self) -> Results[CheckedThreshold]:
        """The thresholds that are crossed."""
        return Results([one for one in self.thresholds if one.crossed], self.thresholds.frames)

    @property
    def passed(self) -> bool:
        """Whether none is."""
        return not any(one.crossed for one in self.thresholds)

    @property
    def lines(self) -> list[str]:
        """One line for each threshold that is crossed or undecided, or one that says that none is."""
        if not self.passed:
            return [one.message for one in self.thresholds if one.crossed or one.decision == "undecided"]
        summaries = "; ".join(one.summary for one in self.thresholds)
        return [f"No threshold is crossed at {self._dates}: {summaries}."]

    @property
    def metrics(self) -> dict[str, float]:
        """The figures by names that trackers of experiments take, of a recommender ``max_unexplained/knn/hit_5``.

        >>> import unskew as us
        >>> log = us.read_log({"user": [1, 2, 3], "item": ["a", "b", "a"], "time": [0, 0, 9]})
        >>> us.check(log, at=9, reference=0, thresholds={"min_effective_pairs": 2}).metrics
        {'unskew/min_effective_pairs': 3.0}
        """
        found = {}
        for one in self.thresholds:
            parts = [one.threshold, *(part for part in (one.recommender, one.metric) if part is not None)]
            found["/".join(["unskew", *(re.sub(r"[^\w.-]+", "_", part) for part in parts)])] = one.value
        return found

    @property
    def _dates(self) -> str:
        return f"{self.at}" + ("" if self.reference is None else f" against {self.reference}")

    def __repr__(self) -> str:
        return f"Check(at {self._dates}:\n" + "\n".join(f"  {line}" for line in self.lines) + ")"

    def to_arrow(self) -> Any:
        """One row for each threshold."""
        return self.thresholds.to_arrow()

    _repr_html_ = show_as_table

    def to_frame(self) -> Any:
        """One row for each threshold, in the dataframe library that the log came in."""
        return self.thresholds.to_frame()

    def to_dict(self) -> dict[str, Any]:
        """Everything, ready for JSON: what ``unskew check --json`` prints."""
        return {
            "at": self.at,
            "reference": self.reference,
            "passed": self.passed,
            "thresholds": [one.to_dict() for one in self.thresholds],
            "view": self.view,
        }
