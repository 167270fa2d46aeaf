"""The errors of all methods at a glance: a cell for each method, recommender and world, coloured by its error."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt

from unskew.drawing.theme import BLUE, INK, PALE, VERMILION, apply_theme, inline_data

Row = dict[str, Any]

_CELL, _LINE = 46, 21  # width and height of a cell
_ACROSS = 700  # width of all cells, in which worlds stand side by side as far as there is room
_NAMES = 230  # width of the names of methods
_WORST = 0.5  # errors beyond it have the same colour


def draw_error_map(summary: Sequence[Row], methods: Sequence[str], title: str, subtitle: str) -> Any:
    """The chart of one metric: a panel for each world, methods down in the order given, recommenders across.

    `summary` are rows with world, method, recommender and error; a cell stays grey where there is no row.
    """
    worlds, recommenders = (list(dict.fromkeys(row[name] for row in summary)) for name in ("world", "recommender"))
    columns = max(1, min(len(worlds), _ACROSS // (_CELL * len(recommenders))))
    panels = [
        _draw_panel(
            [row for row in summary if row["world"] == world], world, methods, recommenders, first=k % columns == 0
        )
        for k, world in enumerate(worlds)
    ]
    rows = [alt.hconcat(*panels[k : k + columns], spacing=16) for k in range(0, len(panels), columns)]
    words = f"Errors of {', '.join(methods)} in the worlds {', '.join(worlds)}; the tables have the numbers"
    return apply_theme(alt.vconcat(*rows, spacing=14), title, subtitle, words)


def _draw_panel(
    rows: Sequence[Row], world: str, methods: Sequence[str], recommenders: Sequence[str], *, first: bool
) -> Any:
    cells = [
        {
            "method": row["method"],
            "recommender": row["recommender"],
            "error": row["error"],
            "shown": format_cell(row["error"]),
            "strong": abs(row["error"]) > 0.7 * _WORST,
        }
        for row in rows
        if row["error"] is not None
    ]
    names = alt.Axis(labelLimit=_NAMES, labels=first, ticks=False)
    x = alt.X("recommender:N", title=None).scale(domain=list(recommenders))
    y = alt.Y("method:N", title=None, axis=names).scale(domain=list(methods))
    base = alt.Chart(inline_data(cells)).encode(
        x=x.axis(orient="top", labelAngle=-40, domain=False, ticks=False), y=y
    )
    scale = alt.Scale(
        domain=[-_WORST, 0, _WORST], range=[BLUE, "#ffffff", VERMILION], clamp=True, interpolate="rgb"
    )
    squares = base.mark_rect(stroke="#ffffff").encode(color=alt.Color("error:Q", legend=None, scale=scale))
    ink = alt.when("datum.strong").then(alt.value("#ffffff")).otherwise(alt.value(INK))
    numbers = base.mark_text(fontSize=10.5).encode(text="shown:N", color=ink)
    head = alt.TitleParams(world, anchor="start", fontSize=13, color=INK, offset=6)
    size = {"width": _CELL * len(recommenders), "height": _LINE * len(methods)}
    return (squares + numbers).properties(title=head, view=alt.ViewBackground(fill=PALE), **size)


def format_cell(error: float) -> str:
    """An error in a cell: +4 %, or +0.4 % where it is small.

    >>> format_cell(0.0312), format_cell(-0.004), format_cell(1.5)
    ('+3 %', '\u22120.4 %', '+150 %')
    """
    shown = 100 * error
    text = f"{shown:+z.1f}" if abs(shown) < 0.95 else f"{shown:+z.0f}"
    return text.replace("-", "\u2212") + " %"
