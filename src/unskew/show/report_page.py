"""A report as a page that a team can read: the verdict first, then charts, what to beware of, and details.

Sections that need more than a report (scores over time, profiles, how it was made) are given. In a notebook a
report or a verdict shows itself as words, still charts and tables, with no script.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import vl_convert
from markupsafe import escape

from unskew.drawing.charts import TONES
from unskew.drawing.page import Section, render_page, write_page
from unskew.show.report_sections import (
    answer_sections,
    list_items,
    made_section,
    ranking_sections,
    score_sections,
    segment_sections,
    split_figures,
    split_sections,
    view_sections,
    weight_sections,
)
from unskew.show.report_words import WORDS, diagnostic_words, explain_metric, limit_words
from unskew.show.verdict_sections import RUNNER, ask_question, detail_sections, make_card, verdict_sections

if TYPE_CHECKING:
    from unskew.drawing.page import Section
    from unskew.evaluation.report import Report
    from unskew.evaluation.verdict import Verdict


@dataclass(frozen=True, kw_only=True)
class ReportPage:
    """What a page shows."""

    report: Report | None  # what was found at a date; None for a page about a timeline alone
    answers: Sequence[Section] = ()  # sections for the top where there is no report
    # Sections about scores over time, items that moved, the sizes of profiles, and how the page was made.
    over_time: Sequence[Section] = ()
    moved: Sequence[Section] = ()
    profiles: Sequence[Section] = ()
    made: Sequence[Section] = ()
    warnings: Sequence[str] = ()  # what was warned of on the way, a sentence each
    names: Mapping[Any, str] = field(default_factory=dict)  # what items are called, where their ids do not say it
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
        place = next((k for k, section in enumerate(self.over_time) if section.anchor == "shares"), None)
        times, shares = self.over_time[:place], [] if place is None else self.over_time[place:]
        if report is None:
            sections = [*self.answers, *times]
        else:
            sections = [
                *(verdict_sections(report) or answer_sections(report)),
                *view_sections(report),
                *times,
                *split_sections(report),
                *ranking_sections(report),
                *segment_sections(report),
            ]
        sections += [*self.moved, *shares]
        if report is not None and report.reference is not None:
            limits = limit_words(report)
            sections.append(Section("What the data cannot tell", "", anchor="limits", notes=limits))
        notes = [f"{text[0].upper()}{text[1:]}." for text in self.warnings]
        notes += [] if report is None else diagnostic_words(report)
        options = [note for note in notes if re.search(r"(?<![\w-])--[a-z]", note)]
        cautions = [note for note in notes if note not in options]
        if cautions:
            sections.append(Section("What to beware of", "", anchor="beware", notes=cautions))
        details = self._list_details()
        if options:
            details.append(Section(RUNNER, "", notes=options, tone="runner"))
        if details:
            text = "Every figure behind this page, for those who check it."
            sections.append(Section("Details", text, anchor="details"))
        sections += [replace(detail, level=min(detail.level + 1, 4), anchor="") for detail in details]
        meaning = "What the words mean here; they are underlined with dots where they first appear."
        making = self.made or ([] if report is None else [made_section(report)])
        return [*sections, *making, Section("Words", meaning, anchor="words", words=WORDS)]

    def _list_details(self) -> list[Section]:
        report = self.report
        if report is None:
            return list(self.profiles)
        weights = report.weights
        items = [] if weights is None else [list_items(weights, self.names), *weight_sections(weights)]
        figures = [*detail_sections(report), *score_sections(report), *split_figures(report)]
        return [*items, *figures, *self.profiles]

    def _title(self) -> str:
        if self.title or self.report is None:
            return self.title or "Scores over time"
        if self.report.verdicts:
            return ask_question(self.report.verdicts)
        since = "" if self.report.reference is None else f", compared with {self.report.reference}"
        return f"Offline scores at {self.report.at}{since}"

    def _lead(self) -> str:
        if self.lead:
            return self.lead
        if self.report is not None and self.report.verdicts:
            return f"Offline, at {self.report.at}. {explain_metric(self.report.verdicts[0].metric)}"
        return "Scores of recommenders on past interactions, made comparable over time."


_WIDTH = 640


def render_report(report: Report) -> str:
    """The verdicts, what each change comes from, and the scores."""
    title = ask_question(report.verdicts) if report.verdicts else ""
    answer = verdict_sections(report) or answer_sections(report)
    return _wrap(title, [*answer, *split_sections(report), *ranking_sections(report), *score_sections(report)])


def render_verdict(verdict: Verdict) -> str:
    """The question, the answer, the range and the reason."""
    return _wrap(ask_question([verdict]), [make_card(verdict)])


def _wrap(title: str, sections: Sequence[Section]) -> str:
    head = f"<h2>{escape(title)}</h2>" if title else ""
    return f'<div class="unskew-report" style="max-width: 50rem">{head}{"".join(map(_render, sections))}</div>'


def _render(section: Section) -> str:
    parts = [f"<h{section.level + 1}>{escape(section.title)}</h{section.level + 1}>"] if section.title else []
    if section.status is not None:
        colour = TONES[section.status.tone]
        words = f"{escape(section.status.sign)} {escape(section.status.text)}"
        parts.append(f'<p style="color: {colour}; font-size: 120%"><strong>{words}</strong></p>')
    parts += [f"<p>{escape(text)}</p>" for text in section.text.split("\n\n") if text]
    if section.notes:
        parts.append(f"<ul>{''.join(f'<li>{escape(note)}</li>' for note in section.notes)}</ul>")
    if section.chart is not None:
        still = section.chart.properties(width=_WIDTH, background="white").to_dict()
        parts.append(f"<div>{vl_convert.vegalite_to_svg(still)}</div>")
        parts += [f"<p><small>{escape(section.caption)}</small></p>"] if section.caption else []
    if section.facts:
        rows = [[fact.name, fact.value, fact.about] for fact in section.facts]
        parts.append(_render_table([["", "", ""], *rows]))
    if section.table is not None:
        parts.append(_render_table(section.table))
    parts += [f"<pre>{escape(command)}</pre>" for command in section.commands]
    return "".join(parts)


def _render_table(table: Sequence[Sequence[str]]) -> str:
    head, *rows = ["".join(f"<td>{escape(cell)}</td>" for cell in row) for row in table]
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    titles = f"<thead><tr>{head.replace('td>', 'th>')}</tr></thead>" if any(table[0]) else ""
    return f"<table>{titles}<tbody>{body}</tbody></table>"
