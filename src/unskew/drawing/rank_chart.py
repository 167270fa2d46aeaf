"""Two orders of the same things side by side, with a line from each place in the one to its place in the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from unskew.drawing.theme import Stroke, colour_by, inline_data, shape_by

WIDTH, _LINE = 640, 58


def draw_ranks(rows: Sequence[Mapping[str, Any]], strokes: Mapping[str, Stroke], columns: Sequence[str]) -> Any:
    """The places of each name in two orders.

    Parameters
    ----------
    rows
        `name`, `column` (one of the two), `place` (1 is the best), `shown` above it and `score` below.
    strokes
        How the line of each name is drawn.
    columns
        What the two orders are called.
    """
    places = max(row["place"] for row in rows)
    x = alt.X("column:N", title=None).scale(type="point", domain=list(columns), padding=0.5)
    x = x.axis(orient="top", domain=False, ticks=False, labelFontSize=12.5, labelFontWeight="bold", labelAngle=0)
    y = alt.Y("place:Q", axis=None).scale(domain=[places + 0.6, 0.4], nice=False, zero=False)
    base = alt.Chart(inline_data(dict(row) for row in rows)).encode(
        x=x, y=y, color=colour_by("name", dict(strokes))
    )
    lines = base.mark_line(strokeWidth=2.4).encode(detail="name:N")
    marks = base.mark_point(filled=True, size=90, opacity=1).encode(
        shape=shape_by("name", dict(strokes)),
        tooltip=[
            alt.Tooltip("name:N", title="name"),
            alt.Tooltip("place:Q", title="place"),
            alt.Tooltip("score:N", title="score"),
        ],
    )
    limit = alt.expr("min(230, width / 2 - 8)")  # so that the two columns never meet
    words = base.mark_text(dy=-15, fontSize=12, limit=limit).encode(text="shown:N")
    scores = base.mark_text(dy=17, fontSize=12).encode(text="score:N")
    return alt.layer(lines, marks, words, scores).properties(width=WIDTH, height=_LINE * (places + 0.4))
