"""One look for every chart: colours, strokes, axes; and how a chart becomes a file."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import altair as alt
import vl_convert

from unskew.files import replace_file

INK, GREY, PALE = "#222222", "#767676", "#e9e9e9"
BLUE, VERMILION, GREEN, PURPLE, OCHRE, SKY = "#0072b2", "#d55e00", "#00795a", "#a5468b", "#a87400", "#3d8fbf"
NAVY = "#0b2545"
SOLID = (1, 0)
_WITHIN_NUMBERS = r"(?<=\d) (?=[\d%])|(?<=\bp) (?==)|(?<=\bp =) (?=\d)|(?<=\bday) (?=\d)| (?=\.\. )|(?<= \.\.) "

DARK = {
    "white": "#16181c",
    "#ffffff": "#16181c",
    INK: "#ececec",
    GREY: "#a3a8ae",
    PALE: "#33383f",
    BLUE: "#56b4e9",
    VERMILION: "#ff9152",
    GREEN: "#3fcaa1",
    PURPLE: "#e39ccd",
    OCHRE: "#e9b949",
    SKY: "#9ad0ee",
    NAVY: "#a9bfff",
}
"""What each colour becomes on a dark page; words set in it stay readable there."""

FONT = "Helvetica, Arial, sans-serif"
LETTER = 0.49  # the mean width of a letter of this font, as a part of its size

_CONFIG = alt.Config(
    font=FONT,
    background="white",
    aria=False,  # the description says it all; screen readers need not name every point
    view=alt.ViewConfig(stroke=None),
    axis=alt.AxisConfig(
        gridColor=PALE,
        domainColor=GREY,
        tickColor=GREY,
        tickSize=4,
        labelColor=INK,
        labelFontSize=11.5,
        labelPadding=5,
        titleColor=INK,
        titleFontSize=12,
        titleFontWeight="normal",
        titlePadding=9,
    ),
    axisX=alt.AxisConfig(grid=False),
    axisY=alt.AxisConfig(domain=False, ticks=False),
    legend=alt.LegendConfig(orient="top", labelFontSize=12, symbolSize=90),
)


@dataclass(frozen=True)
class Stroke:
    """How a line or a mark is drawn."""

    colour: str
    dash: tuple[int, ...] = SOLID
    width: float = 2.0
    shape: str = "circle"


def colour_by(field: str, strokes: dict[str, Stroke]) -> Any:
    """The colour of each name, without a legend: the names stand at the lines."""
    shown = [stroke.colour for stroke in strokes.values()]
    return alt.Color(f"{field}:N", legend=None).scale(domain=list(strokes), range=shown)


def dash_by(field: str, strokes: dict[str, Stroke]) -> Any:
    """The dash of each name."""
    shown = [list(stroke.dash) for stroke in strokes.values()]
    return alt.StrokeDash(f"{field}:N", legend=None).scale(domain=list(strokes), range=shown)


def width_by(field: str, strokes: dict[str, Stroke]) -> Any:
    """The width of line of each name."""
    shown = [stroke.width for stroke in strokes.values()]
    return alt.StrokeWidth(f"{field}:O", legend=None, sort=None).scale(domain=list(strokes), range=shown)


def shape_by(field: str, strokes: dict[str, Stroke]) -> Any:
    """The shape of point of each name."""
    shown = [stroke.shape for stroke in strokes.values()]
    return alt.Shape(f"{field}:N", legend=None).scale(domain=list(strokes), range=shown)


SERIES = (
    Stroke(BLUE),
    Stroke(VERMILION, shape="square"),
    Stroke(GREEN, shape="triangle-up"),
    Stroke(PURPLE, shape="diamond"),
    Stroke(OCHRE, shape="cross"),
    Stroke(INK, shape="triangle-down"),
    Stroke(SKY, shape="triangle-right"),
    Stroke(GREY, shape="triangle-left"),
)
"""Lines of things that have no order, told apart by colour and by the shape of their points."""


def assign_strokes(names: Iterable[str]) -> dict[str, Stroke]:
    """A line for each name; those beyond the eighth begin again with the first."""
    return {name: SERIES[k % len(SERIES)] for k, name in enumerate(dict.fromkeys(names))}


HIDDEN = "hidden"
"""The parameter of a chart that lists what is switched off; see `is_shown`."""


def is_shown(*fields: str) -> str:
    """Whether none of these fields of a row is switched off, as a chart says it."""
    return " && ".join(f"indexof({HIDDEN}, datum.{field}) < 0" for field in fields)


def inline_data(rows: Iterable[dict[str, Any]]) -> Any:
    """Rows inside the chart; seven digits of a number are enough for a picture."""
    return alt.InlineData(values=[{key: _round(value) for key, value in row.items()} for row in rows])


def keep_numbers_whole(text: str) -> str:
    """The text with spaces that cannot break inside numbers: no line ends within 20 000, 5 %, p = 20 or 1 .. 2."""
    return re.sub(_WITHIN_NUMBERS, "\u00a0", text)


def wrap_lines(text: str, pixels: float, size: float = 12) -> list[str]:
    """The text as lines of about this length."""
    return textwrap.wrap(keep_numbers_whole(text), max(20, int(pixels / (LETTER * size))))


def percent_axis(digits: int = 1, ticks: int = 6, **others: Any) -> Any:
    """An axis of shares, written as in the text: 2.5 %."""
    given: dict[str, Any] = {} if "values" in others else {"tickCount": ticks}
    return alt.Axis(labelExpr=f"format(100 * datum.value, '.{digits}f') + ' %'", **given, **others)


def number_axis(values: Sequence[float] | None = None, ticks: int = 5, **others: Any) -> Any:
    """An axis of numbers, written as in the text: 20 000."""
    given = {"tickCount": ticks} if values is None else {"values": list(values)}
    return alt.Axis(labelExpr="replace(format(datum.value, ',~r'), regexp(',', 'g'), ' ')", **given, **others)


def percent_digits(low: float, high: float, ticks: int = 6) -> int:
    """How many digits after the point a percentage needs so that the ticks of an axis from low to high differ."""
    return max(0, math.ceil(-math.log10(max(100 * (high - low) / ticks, 1e-6))))


def apply_theme(chart: Any, title: str, subtitle: str | Sequence[str], description: str = "") -> Any:
    """The chart with its title, in the common look; `description` is for those who cannot see it."""
    lines = [subtitle] if isinstance(subtitle, str) else list(subtitle)
    head = alt.TitleParams(
        title,
        subtitle=lines,
        anchor="start",
        fontSize=16,
        subtitleFontSize=12,
        subtitleColor="#555555",
        subtitleLineHeight=16,
        subtitlePadding=5,
        offset=18,
        color=INK,
    )
    described = {"description": description} if description else {}
    return chart.properties(title=head, padding=8, config=_CONFIG, **described)


def adapt_chart(chart: Any, description: str = "") -> Any:
    """The chart in the common look, without a title and as wide as the page that it is put on."""
    described = {"description": description} if description else {}
    return chart.properties(width="container", padding=4, background="transparent", config=_CONFIG, **described)


def save_png(chart: Any, path: Path) -> None:
    """Write a chart as a picture, twice the nominal size."""
    with replace_file(path) as temporary:
        chart.save(str(temporary), format="png", scale_factor=2)


def save_svg(chart: Any, path: Path) -> None:
    """Write a chart as a drawing that can be enlarged."""
    with replace_file(path) as temporary:
        chart.save(str(temporary), format="svg")


def convert_svg(svg: Path, png: Path) -> None:
    """Write a drawing as the picture that `save_png` makes of its chart, which takes longer."""
    with replace_file(png) as temporary:
        temporary.write_bytes(vl_convert.svg_to_png(svg.read_text(encoding="utf-8"), scale=2, ppi=72))


def _round(value: Any) -> Any:
    return float(f"{value:.7g}") if isinstance(value, float) else value
