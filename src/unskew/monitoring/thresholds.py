"""How far the figures of a check may go, and what it found: each figure beside its threshold, in words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from unskew.data.times import Label
from unskew.errors import InputError, PolicyError, option
from unskew.evaluation.report import Report
from unskew.evaluation.score import Results
from unskew.frames import show_as_table
from unskew.options import check_options
from unskew.text import did_you_mean, one_line, to_json_value
from unskew.weights.item_weights import ItemWeights


@dataclass(frozen=True, kw_only=True)
class Thresholds:
    """What a check watches; None where it does not. A figure that equals its threshold is still well.

    Attributes
    ----------
    max_drift
        The most that the item mix may have moved since the reference date, before any weighting: total variation,
        from 0 to 1. No raw score in [0, 1] of a constant algorithm can have moved by more.
    max_bound
        The most by which the weighted score of a constant algorithm may still be off, from 0 to 1.
    max_excluded
        The largest share of users whom the weights may leave out, at either date, from 0 to 1.
    max_unexplained
        The most that a score may have changed for reasons that neither the item mix nor another algorithm
        explains, in units of the score: 0.01 is one point. What counts is the part of the change that is sure,
        which is how far its interval is from 0; so 0 asks for an interval that contains 0.
    max_unexplained_relative
        The same as a share of the score at the reference date: 0.1 is a tenth of it.
    min_effective_pairs
        The least number of held-out pairs that must stand behind weighted scores: so many pairs of equal weight
        would tell as much.
    fail_if
        ``"worse"``: no verdict on a recommender, against the baseline or the first one, may be this decision. A
        verdict that is undecided passes, and is shown as such.

    Examples
    --------
    >>> import unskew as us
    >>> Thresholds(max_drift=0.1).given
    {'max_drift': 0.1}
    """

    max_drift: float | None = None
    max_bound: float | None = None
    max_excluded: float | None = None
    max_unexplained: float | None = None
    max_unexplained_relative: float | None = None
    min_effective_pairs: float | None = None
    fail_if: str | None = None

    def __post_init__(self) -> None:
        check_options(self, *self.given)

    @property
    def given(self) -> dict[str, float | str]:
        """Those that are watched, by name."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    @property
    def need_scores(self) -> bool:
        """Whether recommenders have to be scored for them."""
        return not _ABOUT_SCORES.isdisjoint(self.given)

    def require_recommenders(self, recommenders: Any, baseline: Any = None) -> None:
        """Refuse thresholds about scores without recommenders, and those about verdicts without two of them."""
        if self.need_scores and not recommenders:
            name = next(name for name in self.given if name in _ABOUT_SCORES)
            raise PolicyError(
                f"{option(name)} is about the scores of recommenders", remedy=f"give {option('recommenders')}"
            )
        if self.fail_if is not None and len(recommenders) < 2 and baseline is None:
            raise PolicyError(
                f"{option('fail_if')} compares two recommenders",
                remedy=f"give {option('baseline')}, or {option('recommenders')} twice",
            )

    @classmethod
    def of(cls, thresholds: Thresholds | Mapping[str, Any]) -> Thresholds:
        """The same, from a mapping of names too; at least one must be given."""
        if isinstance(thresholds, Mapping):
            known = [field.name for field in fields(cls)]
            for name in thresholds:
                if name not in known:
                    meant = did_you_mean(str(name), known)
                    raise InputError(f"there is no threshold {name!r}{meant or '.'} There are {', '.join(known)}")
            thresholds = cls(**thresholds)
        if not isinstance(thresholds, cls):
            raise InputError(
                f"{one_line(thresholds)} (of type {type(thresholds).__name__}) is no set of thresholds",
                remedy="give a mapping such as {'max_drift': 0.1}, or unskew.monitoring.Thresholds(max_drift=0.1)",
            )
        if not thresholds.given:
            raise PolicyError(
                "no threshold is given, so there is nothing to check",
                remedy=f"give at least one, such as {option('max_drift', 0.1)}",
            )
        return thresholds


_ABOUT_SCORES = {"max_unexplained", "max_unexplained_relative", "fail_if"}


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
        return Results([each for each in self.thresholds if each.crossed], self.thresholds.frames)

    @property
    def passed(self) -> bool:
        """Whether none is."""
        return not any(each.crossed for each in self.thresholds)

    @property
    def lines(self) -> list[str]:
        """One line for each threshold that is crossed or undecided, or one that says that none is."""
        if not self.passed:
            return [each.message for each in self.thresholds if each.crossed or each.decision == "undecided"]
        summaries = "; ".join(each.summary for each in self.thresholds)
        return [f"No threshold is crossed at {self._dates}: {summaries}."]

    @property
    def metrics(self) -> dict[str, float]:
        """The figures by names that trackers of experiments take, of a recommender ``max_unexplained/knn/hit_5``.

        >>> import unskew as us
        >>> log = us.read_log({"user": [1, 2, 3], "item": ["a", "b", "a"], "time": [0, 0, 9]})
        >>> us.check(log, at=9, reference=0, thresholds={"min_effective_pairs": 2}).metrics
        {'unskew/min_effective_pairs': 3.0}
        """
        figures = {}
        for each in self.thresholds:
            parts = [each.threshold, *(part for part in (each.recommender, each.metric) if part is not None)]
            figures["/".join(["unskew", *(re.sub(r"[^\w.-]+", "_", part) for part in parts)])] = each.value
        return figures

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
            "thresholds": [each.to_dict() for each in self.thresholds],
            "view": self.view,
        }
