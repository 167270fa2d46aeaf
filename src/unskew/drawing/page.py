"""One page of text, tables and charts that works without a network."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import jinja2
import vl_convert
from markupsafe import Markup, escape

from unskew.drawing.theme import DARK, keep_numbers_whole, save_png, save_svg
from unskew.errors import InputError
from unskew.storage.files import check_writable, replace_file
from unskew.text import to_json_value

TEXT, SHARE, NUMBER = "text", "share", "number"


@dataclass(frozen=True)
class Column:
    """One column."""

    # Its head, and what it means in a few words.
    title: str
    meaning: str
    kind: str  # ``text``, ``share`` (written as a percentage) or ``number``
    values: Sequence[Any]  # one for each row; None where there is none. Shares and numbers are not negative.

    @property
    def text(self) -> bool:
        """Whether it holds words."""
        return self.kind == TEXT


@dataclass(frozen=True)
class Listing:
    """A table of any length."""

    label: str  # what it lists, read to those who cannot see it
    columns: Sequence[Column]  # of the same length; rows are shown in their order until one is chosen to sort by
    # Words before the field to search in, and below the table.
    search: str
    hint: str = ""

    def to_dict(self) -> dict[str, Any]:
        """What the script of the page reads; four digits of a number are enough to be looked at."""
        columns = [
            list(column.values)
            if column.text
            else [None if v is None or math.isnan(v) else float(f"{v:.4g}") for v in column.values]
            for column in self.columns
        ]
        return {"kinds": [column.kind for column in self.columns], "columns": columns}


_MARKS = {"circle": "●", "square": "■", "diamond": "◆", "cross": "✚"}
_MARKS |= {"triangle-up": "▲", "triangle-down": "▼", "triangle-right": "▶", "triangle-left": "◀"}
_UNSAFE = {ord(mark): f"\\u{ord(mark):04x}" for mark in "<>&\u2028\u2029"}


@dataclass(frozen=True)
class Line:
    """A line of a chart that can be switched off: its name there, its colour, its dash and its shape of point."""

    name: str
    colour: str
    dash: str = ""
    shape: str = ""

    @property
    def mark(self) -> str:
        """A sign of the shape of its points."""
        return _MARKS.get(self.shape, "")


@dataclass(frozen=True)
class Toggles:
    """Boxes to tick, one for each of some lines of a chart."""

    title: str
    lines: Sequence[Line]


@dataclass(frozen=True)
class Status:
    """An answer in a word or two, told apart by a sign as well as by its colour."""

    text: str  # the answer
    tone: str  # ``good``, ``bad``, ``even`` or ``open``: its colour and the outline of its sign

    @property
    def sign(self) -> str:
        """A sign for the tone."""
        return SIGNS[self.tone]


@dataclass(frozen=True)
class Fact:
    """A figure with its name, and what it is about in a few words."""

    name: str
    value: str
    about: str = ""


SIGNS = {"good": "▲", "bad": "▼", "even": "=", "open": "?"}
"""The sign of each tone of a status."""

_MARK = b'<meta name="generator" content="unskew">'  # in the head of every page


@dataclass(frozen=True)
class Section:
    """A heading, paragraphs of plain text, and a chart or a table (rows of cells, the first its head)."""

    # Of the section; each may be empty. Paragraphs are parted by empty lines.
    title: str
    text: str
    chart: Any = None  # an altair chart
    table: list[list[str]] | None = None  # rows of cells
    # Stand under the chart.
    caption: str = ""
    number: str = ""
    links: Sequence[tuple[str, str]] = ()  # files beside the page, as words and addresses
    text_columns: int = 1  # how many columns of the table, from the left, hold words rather than numbers
    level: int = 2  # of the heading, 2 to 4
    anchor: str = ""  # by which the contents of the page lead here; without one they do not
    # How it looks: ``answer`` stands out; ``verdict`` comes first on its page, before the contents, and its title
    # is in these alone; ``runner`` stands back.
    tone: str = ""
    notes: Sequence[str] = ()  # points of a list
    toggles: Sequence[Toggles] = ()  # what of the chart can be switched off
    # Whether the chart takes the width of the page and, where that is dark, other colours: it then uses those of
    # the theme alone.
    adapts: bool = False
    listing: Listing | None = None  # a table of any length, sorted and searched
    code: str | Sequence[str] = ""  # something to be copied; several commands stand in a box each
    status: Status | None = None  # the answer that the section gives, above its text
    facts: Sequence[Fact] = ()  # figures that stand beside each other, under the chart
    words: Mapping[str, str] = field(default_factory=dict)  # what words mean
    label: str = ""  # what the chart shows, read to those who cannot see it; by default its caption

    @property
    def commands(self) -> list[str]:
        """What can be copied, one by one."""
        several = [self.code] if isinstance(self.code, str) else list(self.code)
        return [command for command in several if command]


def write_page(path: Path, title: str, lead: str, sections: Sequence[Section]) -> None:
    """Write the page; the chart library is embedded once, whatever the number of charts."""
    html = render_page(title, lead, sections)
    with replace_file(path) as temporary:
        temporary.write_text(html, encoding="utf-8", newline="\n")


def render_page(title: str, lead: str, sections: Sequence[Section]) -> str:
    """The page as text. Words that some section explains lead to it wherever they are used."""
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    for address in (address for section in sections for _, address in section.links):
        if not re.fullmatch(r"[\w-][\w.-]*(/[\w-][\w.-]*)*", address):  # a name in a log must not become a program
            raise InputError(f"a page cannot link to {address!r}", remedy="link to a file beside it")
    words = {word: meaning for s in sections for word, meaning in s.words.items()}
    environment.filters |= {
        "keep_numbers_whole": _keep_numbers_whole,
        "anchor": _name_anchor,
        "as_json": lambda listing: escape_json(listing.to_dict()),
    }
    specs = [None if s.chart is None else escape_json(json.loads(s.chart.to_json(indent=None))) for s in sections]
    bundle = _bundle() if any(specs) else ""
    scripts = [bundle] if bundle else []
    scripts += [_read("page.js")] if bundle or any(s.commands for s in sections) else []
    scripts += [_read("listing.js")] if any(s.listing for s in sections) else []
    return environment.from_string(_read("page.html")).render(
        title=title,
        lead=lead,
        sections=list(zip(sections, specs, strict=True)),
        contents=[(s.anchor, s.title) for s in sections if s.anchor],
        contents_at=_place_contents(sections),
        terms=_Terms(words),
        style=_read("page.css") + _dark_rules(),
        policy=_write_policy(scripts),
        bundle=bundle,
        scripts=scripts,
    )


def _place_contents(sections: Sequence[Section]) -> int:
    """Before which section the contents stand: the one after a verdict, so that nothing is above that; else 0."""
    if not sections or sections[0].tone != "verdict":
        return 0
    return next((k for k, s in enumerate(sections) if k and s.level == 2 and s.title), 0)


def check_page_name(path: Path) -> None:
    """Refuse a name that is not that of a page, and a file that somebody else made."""
    if path.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"a page must be an .html file, not {path}", remedy="give a name that ends in .html")
    check_writable(path)
    if path.exists() and path.stat().st_size and not is_page(path):
        raise InputError(
            f"{path} is there already and was not made by unskew", remedy="choose another name, or remove it first"
        )


def is_page(path: Path) -> bool:
    """Whether a file is a page that `write_page` wrote, and not one of somebody else."""
    try:
        with path.open("rb") as file:
            return _MARK in file.read(2000)
    except OSError:
        return False


def escape_json(value: Any) -> str:
    r"""JSON that cannot end the script element in which it stands, whatever texts are in it.

    >>> escape_json({"name": "</script>"})
    '{"name":"\\u003c/script\\u003e"}'
    """
    text = json.dumps(to_json_value(value), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.translate(_UNSAFE)


def _write_policy(scripts: Sequence[str]) -> str:
    hashes = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts]
    allowed = " ".join(f"'sha256-{digest}'" for digest in hashes) or "'none'"
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
        "form-action 'none'"
    )


@cache
def _bundle() -> str:
    """The chart library, which takes seconds to put together."""
    script: str = vl_convert.javascript_bundle()  # type: ignore[call-arg]
    return script


def _read(name: str) -> str:
    return files("unskew.drawing").joinpath(f"templates/{name}").read_text(encoding="utf-8")


def _dark_rules() -> str:
    """Other colours for charts on a dark page; on paper they stay as they are."""
    rules = [
        f'  .adapts svg [{kind}="{light}"], .swatch [{kind}="{light}"] {{ {kind}: {dark}; }}'
        for light, dark in DARK.items()
        for kind in ("fill", "stroke")
    ]
    return "@media screen and (prefers-color-scheme: dark) {\n" + "\n".join(rules) + "\n}\n"


def _keep_numbers_whole(text: str) -> str:
    """The same for text that is markup already: neither adds any."""
    kept = keep_numbers_whole(text)
    return Markup(kept) if isinstance(text, Markup) else kept


class _Terms:
    """Words that are explained at the end: where one first stands under a heading, it leads there."""

    def __init__(self, meanings: Mapping[str, str]) -> None:
        self._meanings = {str(escape(word)): meaning for word, meaning in meanings.items()}
        self._seen: set[str] = set()

    def begin(self, section: Section) -> str:
        """Under a new heading words may be new to the reader again."""
        if section.title and section.level == 2:
            self._seen.clear()
        return ""

    def explain(self, text: str) -> Markup:
        """The text, escaped, with links; options of commands are kept in one line."""
        escaped = re.sub(r"(?<![\w-])--[a-z][a-z-]*", r'<span class="flag">\g<0></span>', str(escape(text)))
        if self._meanings:
            pattern = "|".join(sorted(map(re.escape, self._meanings), key=len, reverse=True))
            escaped = re.sub(rf"\b(?:{pattern})\b", self._link, escaped)
        return Markup(escaped)

    def _link(self, match: re.Match[str]) -> str:
        word = match[0]
        if word in self._seen:
            return word
        self._seen.add(word)
        return f'<a class="term" href="#{_name_anchor(word)}" title="{escape(self._meanings[word])}">{word}</a>'


def _name_anchor(word: str) -> str:
    return "word-" + re.sub(r"\W+", "-", word)


ENDINGS = (".html", ".svg", ".png")


def check_chart_name(path: Path) -> None:
    """Refuse a name that does not say what kind of file to write."""
    if path.suffix.lower() not in ENDINGS:
        raise InputError(
            f"a chart must be an {', '.join(ENDINGS[:-1])} or {ENDINGS[-1]} file, not {path}",
            remedy="give a name with one of these endings",
        )


def save_chart(chart: Any, path: Path, title: str, lead: str) -> None:
    """Write a chart as its name says; a page has the title and the lead above it."""
    check_chart_name(path)
    ending = path.suffix.lower()
    if ending == ".html":
        write_page(path, title, lead, [Section("", "", chart=chart)])
    else:
        (save_png if ending == ".png" else save_svg)(chart, path)
