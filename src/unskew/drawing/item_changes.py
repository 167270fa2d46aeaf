"""How far some things moved between two times: a mark for each time, and a line between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from unskew.drawing.theme import BLUE, GREY, INK, VERMILION, inline_data, percent_axis, percent_digits

WIDTH, _LINE = 640, 23


def draw_changes(rows: Sequence[Mapping[str, Any]], *, before: str, now: str, title: str) -> Any:
    """One line for each thing, in the order of the rows.

    Parameters
    ----------
    rows
        `name`, `before` and `now`, two shares.
    before, now
        What the two times are called.
    title
        Of the axis.
    """
    keys = [f"{k}|{row['name']}" for k, row in enumerate(rows)]  # two things may have one name
    drawn = [
        {
            "key": key,
            "name": row["name"],
            "before": row["before"],
            "now": row["now"],
            "told": f"{100 * row['before']:.3f} % to {100 * row['now']:.3f} %",
        }
        for key, row in zip(keys, rows, strict=True)
    ]
    high = max(max(row["before"], row["now"]) for row in rows)
    axis = percent_axis(percent_digits(0, high), grid=True)
    x = alt.X("before:Q", title=title).axis(axis).scale(domainMin=0)
    labels = alt.Axis(
        labelExpr="slice(datum.label, indexof(datum.label, '|') + 1)", labelLimit=230, domain=False, ticks=False
    )
    y = alt.Y("key:N", title=None, axis=labels).scale(domain=keys)
    told = [alt.Tooltip("name:N", title="item"), alt.Tooltip("told:N", title="share")]
    base = alt.Chart(inline_data(drawn)).encode(y=y, tooltip=told)
    rose = alt.when("datum.now > datum.before").then(alt.value(VERMILION)).otherwise(alt.value(BLUE))
    joints = base.mark_rule(strokeWidth=2.6).encode(x=x, x2="now:Q", color=rose)
    then = base.mark_point(size=52, strokeWidth=1.8, fill="white", opacity=1, color=GREY).encode(x=x)
    dots = base.mark_point(filled=True, size=70, opacity=1).encode(x="now:Q", color=rose)
    key = alt.Chart(inline_data([{"words": f"ring: {before}; dot: {now}"}])).mark_text(
        align="left", baseline="bottom", fontSize=11.5, color=INK
    )
    words = key.encode(x=alt.value(0), y=alt.value(-6), text="words:N")
    return alt.layer(joints, then, dots, words).properties(width=WIDTH, height=_LINE * len(rows))
