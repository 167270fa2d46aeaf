"""From one value to another, part by part: what each part adds, with how sure that is."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from unskew.drawing.theme import BLUE, GREEN, GREY, INK, OCHRE, PURPLE, inline_data, number_axis

WIDTH, _LINE = 640, 34
_COLOURS = (GREY, OCHRE, GREEN, PURPLE, BLUE)


def draw_split(
    start: Mapping[str, Any], parts: Sequence[Mapping[str, Any]], end: Mapping[str, Any], *, title: str
) -> Any:
    """A bar for each part, beginning where the one above it ends.

    Parameters
    ----------
    start, end
        `name` and `value` of what was, and of what is.
    parts
        `name`, `value`, `low`, `high` (NaN where nothing is known of them) and `colour` (the number of one) of
        each part, in this order; they add up.
    title
        Of the axis: what the values are.
    """
    lines, reached = [], start["value"]
    for part in parts:
        begin, reached = reached, reached + part["value"]
        low, high = (part["value"] if math.isnan(part[end]) else part[end] for end in ("low", "high"))
        lines.append(
            {
                "name": part["name"],
                "from": begin,
                "to": reached,
                "low": begin + low,
                "high": begin + high,
                "colour": _COLOURS[part["colour"] % len(_COLOURS)],
                "added": f"{part['value']:+z.2f}".replace("-", "−"),
                "shown": f"{part['value']:+z.2f}, between {low:+z.2f} and {high:+z.2f}",
                "edge": max(begin, reached, begin + high),
            }
        )
    ends = [{"name": one["name"], "value": one["value"], "shown": f"{one['value']:.2f}"} for one in (start, end)]
    names = [ends[0]["name"], *(line["name"] for line in lines), ends[1]["name"]]
    y = alt.Y("name:N", title=None).scale(domain=names).axis(labelLimit=170, domain=False, ticks=False)
    x = alt.X("from:Q", title=title).scale(zero=False, padding=46, nice=False).axis(number_axis(grid=True))
    base = alt.Chart(inline_data(lines)).encode(y=y)
    told = [alt.Tooltip("name:N", title="part"), alt.Tooltip("shown:N", title="points")]
    bars = base.mark_bar(height=17, opacity=0.85, minBandSize=2).encode(
        x=x, x2="to:Q", color=alt.Color("colour:N", scale=None), tooltip=told
    )
    doubt = base.mark_rule(color=INK, strokeWidth=1.4).encode(x="low:Q", x2="high:Q")
    words = base.mark_text(align="left", dx=7, color=INK, fontSize=12).encode(x="edge:Q", text="added:N")
    totals = alt.Chart(inline_data(ends)).encode(y=y, x="value:Q")
    marks = totals.mark_point(shape="diamond", filled=True, size=120, color=INK, opacity=1).encode(
        tooltip=[alt.Tooltip("name:N", title=" "), alt.Tooltip("shown:N", title="score")]
    )
    values = totals.mark_text(align="left", dx=10, color=INK, fontSize=12, fontWeight="bold").encode(
        text="shown:N"
    )
    return alt.layer(bars, doubt, words, marks, values).properties(width=WIDTH, height=_LINE * len(names))
