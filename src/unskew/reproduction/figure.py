"""What a figure is, the strokes of its lines, and phrases that several share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from unskew.drawing.theme import BLUE, NAVY, VERMILION, Stroke, apply_theme, convert_svg, save_svg, wrap_lines
from unskew.storage.tables import write_parquet
from unskew.text import percent, thousands

METHOD_NAMES = {"lbfgs": "L-BFGS"}
"""Methods that a text calls otherwise than a table."""


def format_percent(share: float, digits: int = 1) -> str:
    """A share, such as 12.3 % or −4.0 %; zero has no sign."""
    return _set_sign(percent(share, digits))


def format_change(share: float, digits: int = 1) -> str:
    """A change with its sign, such as +12.3 %; zero has none."""
    return _set_sign(f"{100 * share:+.{digits}f} %")


def _set_sign(text: str) -> str:
    return text.lstrip("+-") if float(text.removesuffix(" %")) == 0 else text.replace("-", "−")


def format_number(number: float) -> str:
    """A number with three digits that count: 0.00123, 12.3, 1 230."""
    if number == 0:
        return "0"
    if abs(number) >= 1000:
        return thousands(round(number))
    text = f"{number:.3g}"
    return text if "e" not in text else f"{number:.1e}"


def describe_change(change: float, digits: int = 1) -> str:
    """A change as a verb: rose by 3.0 %, fell by 2.0 %, changed by less than 0.05 %."""
    if round(100 * abs(change), digits) == 0:
        return f"changed by less than {0.5 * 10**-digits:.{digits + 1}f} %"
    return f"{'rose' if change > 0 else 'fell'} by {format_percent(abs(change), digits)}"


def describe_changes(changes: Sequence[float], digits: int = 0) -> str:
    """The same for several: rose by 3 to 7 %, fell by 2 to 5 %, or changed by −2 % to +3 %."""
    if len({round(100 * c, digits) for c in changes}) == 1:
        return describe_change(changes[0], digits)
    low, high = min(changes), max(changes)
    if low >= 0 or high <= 0:
        least, most = sorted((abs(low), abs(high)))
        return f"{'rose' if high > 0 else 'fell'} by {100 * least:.{digits}f} to {format_percent(most, digits)}"
    return f"changed by {format_change(low, digits)} to {format_change(high, digits)}"


RAW, ALL = "raw", "all items"
"""The names of no weights and of all of them; those between are called by their number p."""

RAW_COLOUR, WEIGHTED_COLOUR = VERMILION, BLUE
_LIGHT, _DARK = (104, 155, 203), (21, 84, 148)  # few weights, many weights


def weighting_name(weighting: str, top: int | None) -> str:
    """What a weighting is called: raw, p = 20, all items."""
    if weighting == RAW:
        return RAW
    return ALL if top is None else f"p = {top}"


def weighting_strokes(names: Iterable[str]) -> dict[str, Stroke]:
    """The line of each weighting: raw dashed, darker the more weights there are, all items thick."""
    between = [name for name in names if name not in (RAW, ALL)]
    strokes = {RAW: Stroke(RAW_COLOUR, (6, 3), 2.2)} if RAW in names else {}
    for k, name in enumerate(between):
        part = k / max(1, len(between) - 1)
        rgb = (round(a + part * (b - a)) for a, b in zip(_LIGHT, _DARK, strict=True))
        strokes[name] = Stroke("#" + "".join(f"{v:02x}" for v in rgb), width=1.7)
    if ALL in names:
        strokes[ALL] = Stroke(NAVY, width=3.2)
    return strokes


_WIDTHS = {2: 520, 7: 830, 8: 860, 9: 860, 10: 860}  # pixels of a subtitle, others 770


@dataclass(frozen=True)
class Figure:
    """A chart, the numbers in it, and a sentence that says what one sees."""

    number: int  # its number on the page; 1 to 6 are those of the paper
    name: str  # the stem of its files, such as "figure-3-g1-raw"
    title: str  # what is shown; the same as in the chart
    chart: Any  # an altair chart
    sentence: str  # what one sees, in plain text made from the numbers
    table: pa.Table  # the numbers

    @classmethod
    def of(
        cls, number: int, name: str, table: pa.Table, chart: Any, title: str, subtitle: str, sentence: str
    ) -> Figure:
        """The chart in the common look, with its title and a subtitle as wide as it is."""
        lines = wrap_lines(subtitle, _WIDTHS.get(number, 770))
        return cls(number, name, title, apply_theme(chart, title, lines, sentence), sentence, table)


def save_figure(figure: Figure, folder: Path) -> list[Path]:
    """Write NAME.png, NAME.svg and NAME.parquet, each whole or not at all; returns their paths."""
    png, svg, data = (folder / f"{figure.name}.{kind}" for kind in ("png", "svg", "parquet"))
    save_svg(figure.chart, svg)
    convert_svg(svg, png)
    about = {"number": figure.number, "title": figure.title, "sentence": figure.sentence}
    write_parquet(data, figure.table, "figure", about)
    return [png, svg, data]
