"""Words in a chart: names at the ends of lines that do not cover one another, and ticks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import numpy as np
from scipy.optimize import isotonic_regression

from unskew.drawing.theme import GREY, inline_data

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
    found: list[float] = places.tolist()
    return found


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
    words, amounts, leaders = [], [], []
    for label, want, place in zip(labels, wanted, places, strict=True):
        row = {"place": span.value(place), "colour": label.colour, "weight": "bold" if label.bold else "normal"}
        words.append(row | {"text": label.text})
        if label.amount:
            amounts.append(row | {"text": label.amount})
        if abs(want - place) > 1.5:
            leaders.append({"y": label.value, "place": span.value(place)})
    left = end + reach + 3
    column = left + SIZE * (0.5 * max(map(len, (label.text for label in labels))) + 1)
    right = column + SIZE * 0.5 * max((len(label.amount) for label in labels), default=0)
    layers = []
    if leaders:
        layers.append(
            alt.Chart(inline_data(leaders))
            .mark_rule(strokeWidth=0.8, opacity=0.7, color=GREY)
            .encode(x=alt.value(end + 2), x2=alt.value(end + reach), y=alt.Y("y:Q"), y2="place:Q")
        )
    for rows, x, align in ((words, left, "left"), (amounts, right, "right")):
        for weight in ("normal", "bold"):
            own = [row for row in rows if row["weight"] == weight]
            if own:
                layers.append(_draw_words(own, x, align, weight))
    return alt.layer(*layers)


def _draw_words(rows: list[dict[str, Any]], x: float, align: Any, weight: Any) -> Any:
    return (
        alt.Chart(inline_data(rows))
        .mark_text(align=align, baseline="middle", fontSize=SIZE, fontWeight=weight)
        .encode(x=alt.value(x), y="place:Q", text="text:N", color=alt.Color("colour:N", scale=None))
    )


def log_ticks(low: float, high: float) -> list[float]:
    """Round numbers for an axis of orders of magnitude: 1, 10, 100, with 2 and 5 between them if there is room."""
    decades = math.log10(high / low)
    steps = (1, 2, 5) if decades < 2.2 else (1,)
    every = 1 if decades < 8 else 2
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks = [float(f"{step}e{k}") for k in powers if k % every == 0 for step in steps]
    return [tick for tick in ticks if low <= tick <= high]
