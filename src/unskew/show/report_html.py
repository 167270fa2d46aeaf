"""Reports and verdicts as they show themselves in a notebook: words, still charts and tables, with no script."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import vl_convert
from markupsafe import escape

from unskew.drawing.charts import TONES
from unskew.show.report_sections import answer_sections, ranking_sections, score_sections, split_sections
from unskew.show.verdict_sections import make_card, verdict_sections
from unskew.show.verdict_words import ask_question

if TYPE_CHECKING:
    from unskew.drawing.page import Section
    from unskew.evaluation.report import Report
    from unskew.evaluation.verdict import Verdict

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
