"""Values as dots with their intervals, a line for each name; kinds of value above each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from unskew.drawing.theme import (
    HIDDEN,
    Stroke,
    colour_by,
    inline_data,
    is_shown,
    percent_axis,
    percent_digits,
    shape_by,
)

WIDTH, _LINE = 640, 24


def draw_dots(rows: Sequence[Mapping[str, Any]], strokes: Mapping[str, Stroke], *, title: str) -> Any:
    """A line for each name in the order of the rows, with a dot for each kind; kinds can be switched off.

    Parameters
    ----------
    rows
        `name`, `kind` (a key of `strokes`), `value`, `low` and `high` (None if not known), `words` (above the dot)
        and `shown` (when it is pointed at).
    strokes
        The colour and the shape of each kind.
    title
        Of the axis.
    """
    names, kinds = (list(dict.fromkeys(row[field] for row in rows)) for field in ("name", "kind"))
    values = [row[field] for row in rows for field in ("value", "low", "high") if row[field] is not None]
    low, high = min(values), max(values)
    share = low >= 0 and high <= 1
    axis = percent_axis(percent_digits(low, high), grid=True) if share else alt.Axis(grid=True)
    x = alt.X("value:Q", title=title).scale(zero=False, padding=12, nice=False).axis(axis)
    y = (
        alt.Y("name:N", title=None)
        .scale(domain=names, paddingInner=0.2, paddingOuter=0.1)
        .axis(labelLimit=170, domain=False, ticks=False)
    )
    base = (
        alt.Chart(inline_data(dict(row) for row in rows))
        .transform_filter(is_shown("kind"))
        .encode(
            y=y,
            yOffset=alt.YOffset("kind:N").scale(domain=kinds, paddingOuter=0.4),
            color=colour_by("kind", dict(strokes)),
            tooltip=[
                alt.Tooltip("name:N", title="name"),
                alt.Tooltip("kind:N", title="kind"),
                alt.Tooltip("shown:N", title=title),
            ],
        )
    )
    known = base.transform_filter("isValid(datum.low)")
    rules = known.mark_rule(strokeWidth=2).encode(x=alt.X("low:Q", title=title), x2="high:Q")
    dots = base.mark_point(filled=True, size=72, opacity=1).encode(x=x, shape=shape_by("kind", dict(strokes)))
    words = base.mark_text(dy=-9, fontSize=11).encode(x=x, text="words:N")
    chart = alt.layer(rules, dots, words).add_params(alt.param(name=HIDDEN, value=[]))
    return chart.properties(width=WIDTH, height=_LINE * len(names) * max(len(kinds), 1) + 14 * len(names))
