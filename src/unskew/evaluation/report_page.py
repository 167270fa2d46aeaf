"""A report as a page that a team can read: the answer in words, then charts, tables, and what to beware of.

Sections that need more than a report (scores over time, profiles, how it was made) are external and given.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unskew.drawing.page import Section, render_page, write_page
from unskew.evaluation.answer_words import (
    diagnostic_words,
)
from unskew.evaluation.glossary import WORDS
from unskew.evaluation.report_sections import (
    answer_sections,
    list_items,
    made_section,
    ranking_sections,
    split_sections,
    weight_sections,
)

if TYPE_CHECKING:
    from unskew.evaluation.report import Report


@dataclass(frozen=True, kw_only=True)
class ReportPage:
    """What a page shows.

    Attributes
    ----------
    report
        What was found at a date; None for a page about a timeline alone.
    answers
        Sections for the top where there is no report.
    over_time, profiles, made
        Sections about scores over time, the sizes of profiles, and how the page was made.
    warnings
        What was warned of on the way, a sentence each.
    names
        What items are called, where their ids do not say it.
    """

    report: Report | None
    answers: Sequence[Section] = ()
    over_time: Sequence[Section] = ()
    profiles: Sequence[Section] = ()
    made: Sequence[Section] = ()
    warnings: Sequence[str] = ()
    names: Mapping[Any, str] = field(default_factory=dict)
    title: str = ""
    lead: str = ""

    def write(self, path: Path) -> None:
        """Write the page."""
        write_page(path, self._title(), self._lead(), self.sections())

    def render(self) -> str:
        """The page as text."""
        return render_page(self._title(), self._lead(), self.sections())

    def sections(self) -> list[Section]:
        """All of it, in the order of the page."""
        report = self.report
        if report is None:
            found = [*self.answers, *self.over_time]
        else:
            found = [*answer_sections(report), *self.over_time]
            if report.weights is not None:
                found.append(list_items(report.weights, self.names))
            found += split_sections(report) + ranking_sections(report)
            if report.weights is not None:
                found += weight_sections(report.weights)
        found += self.profiles
        notes = [*(f"{text[0].upper()}{text[1:]}." for text in self.warnings)]
        notes += diagnostic_words(report) if report is not None else []
        if notes:
            found.append(Section("What to beware of", "", anchor="beware", notes=notes))
        meaning = "What the words mean here; they are underlined with dots where they first stand."
        made = self.made or ([] if report is None else [made_section(report)])
        return [*found, *made, Section("Words", meaning, anchor="words", words=WORDS)]

    def _title(self) -> str:
        if self.title or self.report is None:
            return self.title or "Scores over time"
        since = "" if self.report.reference is None else f", compared with {self.report.reference}"
        return f"Offline scores at {self.report.at}{since}"

    def _lead(self) -> str:
        return self.lead or (
            "Is the algorithm better, or did other items have to be found? Scores of recommenders, made "
            "comparable over time."
        )
