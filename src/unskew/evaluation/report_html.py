"""A report as it shows itself in a notebook: words, still charts and a table, with no script in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import vl_convert
from markupsafe import escape

from unskew.evaluation.report_sections import answer_sections, ranking_sections, split_sections

if TYPE_CHECKING:
    from unskew.drawing.page import Section
    from unskew.evaluation.report import Report

_WIDTH = 640


def render_report(report: Report) -> str:
    """The answer, what each change comes from, and the scores."""
    sections = [*answer_sections(report), *split_sections(report), *ranking_sections(report)]
    return f'<div class="unskew-report" style="max-width: 50rem">{"".join(map(_render, sections))}</div>'


def _render(section: Section) -> str:
    parts = [f"<h{section.level + 1}>{escape(section.title)}</h{section.level + 1}>"] if section.title else []
    parts += [f"<p>{escape(text)}</p>" for text in section.text.split("\n\n") if text]
    if section.notes:
        parts.append(f"<ul>{''.join(f'<li>{escape(note)}</li>' for note in section.notes)}</ul>")
    if section.chart is not None:
        still = section.chart.properties(width=_WIDTH, background="white").to_dict()
        parts.append(f"<div>{vl_convert.vegalite_to_svg(still)}</div>")
    if section.table is not None:
        head, *rows = ["".join(f"<td>{escape(cell)}</td>" for cell in row) for row in section.table]
        body = "".join(f"<tr>{row}</tr>" for row in rows)
        parts.append(f"<table><thead><tr>{head.replace('td>', 'th>')}</tr></thead><tbody>{body}</tbody></table>")
    return "".join(parts)
