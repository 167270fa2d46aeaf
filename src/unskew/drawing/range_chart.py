"""Ranges beside each other with a line at zero: a bar from low to high, and a mark for each case inside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from unskew.drawing.theme import BLUE, GREEN, GREY, INK, OCHRE, VERMILION, inline_data, number_axis

WIDTH, _LINE, _SINGLE = 640, 46, 74
TONES = {"good": GREEN, "bad": VERMILION, "even": BLUE, "open": OCHRE}
"""The colour of a range by its tone; the words beside it say the same."""


def draw_ranges(
    ranges: Sequence[Mapping[str, Any]], cases: Sequence[Mapping[str, Any]], *, title: str, sides: tuple[str, str]
) -> Any:
    """A bar for each range, with its cases as ticks and the first case of each as a diamond.

    Parameters
    ----------
    ranges
        `name`, `low`, `high`, `tone` (a key of `TONES`) and `shown` (the range in words).
    cases
        `name` (of the range), `value`, `low`, `high`, `case` (what it assumes), `counts` (whether the range is
        made of it), `first` (whether it is the one that everybody knows) and `shown`.
    title
        Of the axis: what the values are.
    sides
        What lies left and right of zero.
    """
    names = [row["name"] for row in ranges]
    bars = [{**row, "colour": TONES[row["tone"]]} for row in ranges]
    values = [row[end] for row in (*ranges, *cases) for end in ("low", "high")]
    low, high = min(0.0, *values), max(0.0, *values)
    room = 0.04 * (high - low) or 1.0
    scale = alt.Scale(domain=[low - room, high + room], nice=False, zero=False)
    x = alt.X("low:Q", title=title).scale(scale).axis(number_axis(ticks=6, grid=True))
    axis = None if len(names) == 1 else alt.Axis(labelLimit=150, domain=False, ticks=False)
    y = alt.Y("name:N", title=None, axis=axis).scale(domain=names)
    base = alt.Chart(inline_data(bars)).encode(y=y)
    tooltips = [alt.Tooltip("name:N", title="comparison"), alt.Tooltip("shown:N", title="range")]
    colour = alt.Color("colour:N", scale=None)
    blocks = base.mark_bar(height=20, opacity=0.35).encode(x=x, x2="high:Q", color=colour, tooltip=tooltips)
    ends = [base.mark_tick(thickness=3, size=24, opacity=1).encode(x=f"{end}:Q", color=colour) for end in _ENDS]
    zero = alt.Chart(inline_data([{"zero": 0.0}])).mark_rule(color=INK, strokeWidth=1.6).encode(x="zero:Q")
    marks = alt.Chart(inline_data(dict(row) for row in cases)).encode(
        y=y,
        x="value:Q",
        tooltip=[alt.Tooltip("case:N", title="if"), alt.Tooltip("shown:N", title="difference")],
    )
    counted = marks.transform_filter("datum.counts && !datum.first")
    other = marks.transform_filter("!datum.counts && !datum.first")
    layers = [
        zero,
        blocks,
        *ends,
        counted.mark_tick(thickness=1.6, size=14, color=INK, opacity=0.75),
        other.mark_point(shape="circle", size=20, color=GREY, opacity=0.8, strokeWidth=1.2),
        marks.transform_filter("datum.first").mark_point(
            shape="diamond", filled=True, size=110, color=INK, opacity=1
        ),
    ]
    words = alt.Chart(inline_data([{"left": sides[0], "right": sides[1]}]))
    look: dict[str, Any] = {"baseline": "bottom", "fontSize": 12, "color": INK, "limit": alt.expr("width / 2 - 6")}
    above = alt.value(-6)
    layers.append(words.mark_text(align="left", **look).encode(x=alt.value(0), y=above, text="left:N"))
    layers.append(words.mark_text(align="right", **look).encode(x=alt.value("width"), y=above, text="right:N"))
    height = _SINGLE if len(names) == 1 else _LINE * len(names)
    return alt.layer(*layers).properties(width=WIDTH, height=height)


_ENDS = ("low", "high")
