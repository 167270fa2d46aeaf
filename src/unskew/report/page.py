"""One self-contained page: text, tables and charts, readable without a network."""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import jinja2
import vl_convert

from unskew.files import replacing


@dataclass(frozen=True)
class Section:
    """A heading, a paragraph of plain text, and a chart or a table (rows of cells, the first its head)."""

    title: str
    text: str
    chart: Any = None
    table: list[list[str]] | None = None


def write_page(path: Path, title: str, lead: str, sections: list[Section]) -> None:
    """Write the page; the chart library is embedded once, whatever the number of charts."""
    source = files("unskew.report").joinpath("templates/page.html").read_text(encoding="utf-8")
    template = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined).from_string(source)
    specs = [_embeddable(s.chart.to_json(indent=None)) if s.chart is not None else None for s in sections]
    bundle = vl_convert.javascript_bundle() if any(specs) else ""  # type: ignore[call-arg]
    html = template.render(title=title, lead=lead, sections=list(zip(sections, specs, strict=True)), bundle=bundle)
    with replacing(path) as temporary:
        temporary.write_text(html, encoding="utf-8")


def _embeddable(spec: str) -> str:
    """JSON that is safe inside a script element."""
    return json.dumps(json.loads(spec)).replace("<", "\\u003c")
