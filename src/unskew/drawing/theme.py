"""One look for every chart: colours, strokes, axes, words at the ends of lines; and how a chart becomes a file."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np
import vl_convert
from scipy.optimize import isotonic_regression

from unskew.storage.files import replace_file

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


def colour_by(field: str, strokes: Mapping[str, Stroke]) -> Any:
    """The colour of each name, without a legend: the names stand at the lines."""
    shown = [stroke.colour for stroke in strokes.values()]
    return alt.Color(f"{field}:N", legend=None).scale(domain=list(strokes), range=shown)


def dash_by(field: str, strokes: Mapping[str, Stroke]) -> Any:
    """The dash of each name."""
    shown = [list(stroke.dash) for stroke in strokes.values()]
    return alt.StrokeDash(f"{field}:N", legend=None).scale(domain=list(strokes), range=shown)


def width_by(field: str, strokes: Mapping[str, Stroke]) -> Any:
    """The width of line of each name."""
    shown = [stroke.width for stroke in strokes.values()]
    return alt.StrokeWidth(f"{field}:O", legend=None, sort=None).scale(domain=list(strokes), range=shown)


def shape_by(field: str, strokes: Mapping[str, Stroke]) -> Any:
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


def inline_data(rows: Iterable[Mapping[str, Any]]) -> Any:
    """Rows inside the chart; seven digits of a number are enough for a picture."""
    return alt.InlineData(
        values=[{k: float(f"{v:.7g}") if isinstance(v, float) else v for k, v in row.items()} for row in rows]
    )


def plot(rows: Iterable[Mapping[str, Any]]) -> Any:
    """A chart of these rows, still without marks."""
    return alt.Chart(inline_data(rows))


def tooltips(**titles: str) -> list[Any]:
    """What a mark says when it is pointed at: fields of its row, and what they are called."""
    return [alt.Tooltip(f"{field}:N", title=title) for field, title in titles.items()]


def keep_numbers_whole(text: str) -> str:
    """The text with spaces that cannot break inside numbers: no line ends within 20 000, 5 %, p = 20 or 1 .. 2."""
    return re.sub(_WITHIN_NUMBERS, "\u00a0", text)


def wrap_lines(text: str, pixels: float) -> list[str]:
    """The text as lines of about this length."""
    return textwrap.wrap(keep_numbers_whole(text), max(20, int(pixels / (LETTER * 12))))


def percent_axis(digits: int = 1, ticks: int = 6, **others: Any) -> Any:
    """An axis of shares, written as in the text: 2.5 %."""
    tick_options: dict[str, Any] = {} if "values" in others else {"tickCount": ticks}
    return alt.Axis(labelExpr=f"format(100 * datum.value, '.{digits}f') + ' %'", **tick_options, **others)


def number_axis(values: Sequence[float] | None = None, ticks: int = 5, **others: Any) -> Any:
    """An axis of numbers, written as in the text: 20 000."""
    tick_options = {"tickCount": ticks} if values is None else {"values": list(values)}
    return alt.Axis(
        labelExpr="replace(format(datum.value, ',~r'), regexp(',', 'g'), ' ')", **tick_options, **others
    )


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


def adapt_chart(chart: Any) -> Any:
    """The chart in the common look, without a title and as wide as the page that it is put on."""
    return chart.properties(width="container", padding=4, background="transparent", config=_CONFIG)


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


SIZE = 11.5


@dataclass(frozen=True)
class Span:
    """An upright axis of known height, so that a place on it can be found without drawing it."""

    low: float
    high: float
    height: float
    log: bool = False

    def pixel(self, value: float) -> float:
        """How far below the top a value is drawn."""
        a, b, c = (math.log(v) if self.log else v for v in (self.low, self.high, value))
        return self.height * (b - c) / (b - a)

    def value(self, pixel: float) -> float:
        """The value that is drawn so far below the top."""
        a, b = (math.log(v) if self.log else v for v in (self.low, self.high))
        c = b - (b - a) * pixel / self.height
        return math.exp(c) if self.log else c

    def scale(self) -> Any:
        """The same for a chart."""
        kind = {"type": "log"} if self.log else {"zero": False}
        return alt.Scale(domain=[self.low, self.high], nice=False, **kind)


def fit_span(values: Sequence[float], height: float, *, zero: bool = False, log: bool = False) -> Span:
    """An axis that holds the values with a little room on both sides."""
    low, high = min(values), max(values)
    if log:
        room = max((high / low) ** 0.06, 1.05)
        return Span(low / room, high * room, height, log=True)
    low = min(low, 0.0) if zero else low
    room = 0.06 * (high - low) or 0.1 * abs(high) or 1.0
    return Span(low if zero and low == 0.0 else low - room, high + room, height)


def spread_labels(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Places for labels, at least `gap` apart and as near as can be to the wanted ones.

    The order is kept; together the labels move by the least sum of squares. They stay between `low` and `high` if
    they fit there, and are set around the middle otherwise.

    Examples
    --------
    >>> spread_labels([10.0, 11.0, 50.0], gap=12, low=0, high=100)
    [4.5, 16.5, 50.0]
    """
    order = np.argsort(wanted, kind="stable")
    gaps = gap * np.arange(len(wanted))
    free = isotonic_regression(np.asarray(wanted, dtype=np.float64)[order] - gaps).x
    last = high - (len(wanted) - 1) * gap
    if last < low:
        low = last = (low + last) / 2
    places = np.empty(len(wanted))
    places[order] = np.clip(free, low, last) + gaps
    result: list[float] = places.tolist()
    return result


@dataclass(frozen=True)
class Label:
    """Words for a value, in a colour; `amount` is set in a column of its own."""

    value: float
    text: str
    colour: str
    bold: bool = False
    amount: str = ""


def end_labels(labels: Sequence[Label], span: Span, end: float, *, gap: float = 14, reach: float = 10) -> Any:
    """Labels to the right of lines that end at the pixel `end`, each joined to its line where it had to move."""
    wanted = [span.pixel(label.value) for label in labels]
    places = spread_labels(wanted, gap, 0, span.height)
    rows = [
        {"y": label.value, "place": span.value(place), "colour": label.colour, "moved": abs(want - place) > 1.5}
        for label, want, place in zip(labels, wanted, places, strict=True)
    ]
    left = end + reach + 3
    column = left + SIZE * (0.5 * max(len(label.text) for label in labels) + 1)
    right = column + SIZE * 0.5 * max(len(label.amount) for label in labels)
    layers = []
    leaders = [{"y": row["y"], "place": row["place"]} for row in rows if row["moved"]]
    if leaders:
        rules = plot(leaders).mark_rule(strokeWidth=0.8, opacity=0.7, color=GREY)
        ends = {"x": alt.value(end + 2), "x2": alt.value(end + reach)}
        layers.append(rules.encode(**ends, y=alt.Y("y:Q"), y2="place:Q"))
    for field, x, align in (("text", left, "left"), ("amount", right, "right")):
        for is_bold, weight in ((False, "normal"), (True, "bold")):
            words = [
                {"place": row["place"], "colour": row["colour"], "text": getattr(label, field)}
                for row, label in zip(rows, labels, strict=True)
                if label.bold == is_bold and getattr(label, field)
            ]
            look: dict[str, Any] = {"align": align, "baseline": "middle", "fontSize": SIZE, "fontWeight": weight}
            if words:
                texts = plot(words).mark_text(**look).encode(x=alt.value(x), y="place:Q", text="text:N")
                layers.append(texts.encode(color=alt.Color("colour:N", scale=None)))
    return alt.layer(*layers)


def log_ticks(low: float, high: float) -> list[float]:
    """Round numbers for an axis of orders of magnitude: 1, 10, 100, with 2 and 5 between them if there is room."""
    decades = math.log10(high / low)
    steps = (1, 2, 5) if decades < 2.2 else (1,)
    every = 1 if decades < 8 else 2
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks = [float(f"{step}e{k}") for k in powers if k % every == 0 for step in steps]
    return [tick for tick in ticks if low <= tick <= high]
