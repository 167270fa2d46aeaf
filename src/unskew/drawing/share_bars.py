"""Bars of shares: how much falls into each of a few classes, in their order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from unskew.drawing.theme import BLUE, GREEN, HIDDEN, INK, Stroke, colour_by, inline_data, is_shown, percent_axis

WIDTH, HEIGHT = 640, 190


def draw_shares(rows: Sequence[Mapping[str, Any]], *, title: str, across: str) -> Any:
    """A bar for each class, with its share above it.

    Parameters
    ----------
    rows
        `name` (`|` breaks its line), `share`, `shown` (more in words), and `good`: whether this class is where
        one wants to be.
    title, across
        Of the two axes.
    """
    drawn = [
        {**row, "percent": _write_share(row["share"]), "words": row["name"].replace("|", " ")} for row in rows
    ]
    x = alt.X("name:N", title=across).scale(domain=[row["name"] for row in rows])
    x = x.axis(labelAngle=0, ticks=False, labelOverlap=False, labelLimit=120, labelExpr="split(datum.label, '|')")
    y = alt.Y("share:Q", title=title).scale(domainMin=0, nice=True).axis(percent_axis(0, ticks=4))
    base = alt.Chart(inline_data(drawn)).encode(x=x, y=y)
    colour = alt.when("datum.good").then(alt.value(GREEN)).otherwise(alt.value(BLUE))
    bars = base.mark_bar(opacity=0.85).encode(
        color=colour,
        tooltip=[alt.Tooltip("words:N", title=across), alt.Tooltip("shown:N", title=title)],
    )
    words = base.mark_text(dy=-7, fontSize=11.5, color=INK).encode(text="percent:N")
    return alt.layer(bars, words).properties(width=WIDTH, height=HEIGHT)


def draw_share_groups(
    rows: Sequence[Mapping[str, Any]],
    strokes: Mapping[str, Stroke],
    *,
    title: str,
    across: str,
    legend: bool = True,
) -> Any:
    """Bars side by side in each class, one for each of a few groups, which can be switched off.

    Parameters
    ----------
    rows
        `name` (the class), `group` (a key of `strokes`), `share` and `shown` (more in words).
    strokes
        The colour of each group.
    title, across
        Of the two axes.
    legend
        Whether the chart says which colour is which group.
    """
    names, groups = (list(dict.fromkeys(row[field] for row in rows)) for field in ("name", "group"))
    colour: Any = colour_by("group", dict(strokes))
    if legend:
        colour = colour.legend(title=None)
    x = alt.X("name:N", title=across).scale(domain=names, paddingInner=0.25)
    chart = alt.Chart(inline_data(dict(row) for row in rows)).transform_filter(is_shown("group"))
    chart = chart.encode(
        x=x.axis(labelAngle=0, ticks=False, labelOverlap="greedy"),
        xOffset=alt.XOffset("group:N").scale(domain=groups),
        y=alt.Y("share:Q", title=title).scale(domainMin=0, nice=True).axis(percent_axis(0, ticks=4)),
        color=colour,
        tooltip=[
            alt.Tooltip("group:N", title="date"),
            alt.Tooltip("name:N", title=across),
            alt.Tooltip("shown:N", title=title),
        ],
    )
    bars = alt.layer(chart.mark_bar(opacity=0.9)).add_params(alt.param(name=HIDDEN, value=[]))
    return bars.properties(width=WIDTH, height=HEIGHT)


def _write_share(share: float) -> str:
    """A share that fits above a bar: 12 %, 0.3 %, nothing at all where there is none."""
    if share <= 0:
        return ""
    return f"{100 * share:.0f} %" if share >= 0.095 else f"{100 * share:.2g} %" if share >= 0.0005 else "< 0.1 %"
