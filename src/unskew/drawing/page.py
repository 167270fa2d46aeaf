"""One self-contained page: text, tables and charts, readable without a network."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import jinja2
import vl_convert

from unskew.drawing.theme import keep_numbers_whole
from unskew.errors import InputError
from unskew.files import replace_file

_MARK = b'<meta name="generator" content="unskew">'  # in the head of every page


@dataclass(frozen=True)
class Section:
    """A heading, a paragraph of plain text, and a chart or a table (rows of cells, the first its head).

    Attributes
    ----------
    title, text
        Of the section; each may be empty.
    chart
        An altair chart.
    table
        Rows of cells.
    caption, number
        Stand under the chart; the caption is read to those who cannot see it.
    links
        Files beside the page, as words and addresses.
    text_columns
        How many columns of the table, from the left, hold words rather than numbers.
    """

    title: str
    text: str
    chart: Any = None
    table: list[list[str]] | None = None
    caption: str = ""
    number: str = ""
    links: Sequence[tuple[str, str]] = ()
    text_columns: int = 1


def write_page(path: Path, title: str, lead: str, sections: Sequence[Section]) -> None:
    """Write the page; the chart library is embedded once, whatever the number of charts."""
    source = files("unskew.drawing").joinpath("templates/page.html").read_text(encoding="utf-8")
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["keep_numbers_whole"] = keep_numbers_whole
    specs = [_escape_script(s.chart.to_json(indent=None)) if s.chart is not None else None for s in sections]
    bundle = vl_convert.javascript_bundle() if any(specs) else ""  # type: ignore[call-arg]
    pairs = list(zip(sections, specs, strict=True))
    for section in sections:
        for _, address in section.links:
            _require_local(address)
    html = environment.from_string(source).render(title=title, lead=lead, sections=pairs, bundle=bundle)
    with replace_file(path) as temporary:
        temporary.write_text(html, encoding="utf-8")


def is_page(path: Path) -> bool:
    """Whether a file is a page that `write_page` wrote, and not one of somebody else."""
    try:
        with path.open("rb") as file:
            return _MARK in file.read(2000)
    except OSError:
        return False


def _require_local(address: str) -> None:
    """Refuse a link to anything but a file beside the page: a name in a log must not become a program."""
    if not re.fullmatch(r"[\w-][\w.-]*(/[\w-][\w.-]*)*", address):
        raise InputError(f"a page cannot link to {address!r}", remedy="link to a file beside it")


def _escape_script(spec: str) -> str:
    """JSON that cannot end the script element in which it stands."""
    return json.dumps(json.loads(spec)).replace("<", "\\u003c")
