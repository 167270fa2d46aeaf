"""The first picture of the documentation: one list that never changes, scored raw and debiased.

    python -m tools.draw_two_lines docs/images/two-lines.png

The world is that of the reproduction (`unskew simulate`, seed 0), the list is its g1: the five items that the
campaigns recommended most often from day 320 to day 480.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import Any

import altair as alt

import unskew as us
from unskew.drawing.theme import BLUE, GREY, VERMILION, apply_theme, inline_data, percent_axis, save_png

REFERENCE, LAST = 300, 500
NAMES = {"raw": "raw score", "weighted": "with unskew"}


def score_daily() -> tuple[list[dict[str, Any]], list[int]]:
    """The score of g1 on every other day, raw and weighted, and the days of the campaigns."""
    world = us.simulate(seed=0)
    shown = world.exposures.to_pydict()
    times = Counter(item for item, day in zip(shown["item"], shown["time"], strict=True) if 320 <= day <= 480)
    most = [item for item, _ in times.most_common(5)]
    table = us.timeline(world.log, us.Constant(most), reference=REFERENCE, end=LAST, every=2)
    return table.rows.select(["at", "weighting", "value"]).to_pylist(), list(world.campaigns)


def draw(rows: list[dict[str, Any]], campaigns: list[int]) -> Any:
    """Two lines, named at their ends, and the two campaigns."""
    ends = {row["weighting"]: row["value"] for row in rows if row["at"] == LAST}
    start = next(row["value"] for row in rows if row["at"] == REFERENCE)
    colour = alt.Color("weighting:N", legend=None).scale(domain=list(NAMES), range=[VERMILION, BLUE])
    x = (
        alt.X("at:Q", title="day")
        .scale(domain=[REFERENCE, LAST], nice=False)
        .axis(values=list(range(300, 501, 50)))
    )
    y = alt.Y("value:Q", title="hit rate").scale(domain=[0.045, 0.075]).axis(percent_axis(1, 4))
    lines = alt.Chart(inline_data(rows)).mark_line(strokeWidth=3).encode(x=x, y=y, color=colour)
    words = [
        {"at": LAST, "weighting": name, "value": value, "label": _label(name, value, start)}
        for name, value in ends.items()
    ]
    names = alt.Chart(inline_data(words)).mark_text(align="left", dx=8, fontSize=14, fontWeight="bold")
    days = [{"at": day, "label": f"campaign, day {day}"} for day in campaigns]
    rules = alt.Chart(inline_data(days)).mark_rule(color=GREY, strokeDash=[3, 3]).encode(x=x)
    said = alt.Chart(inline_data(days)).mark_text(align="left", dx=5, dy=6, y=0, color=GREY, fontSize=12)
    chart: Any = alt.layer(
        rules, said.encode(x=x, text="label:N"), lines, names.encode(x=x, y=y, color=colour, text="label:N")
    )
    title = "One list of five items, the same for everybody, on every day"
    return apply_theme(
        chart.properties(width=560, height=250),
        title,
        "Its offline score as the log changes. The axis does not start at zero.",
        title,
    )


def _label(name: str, value: float, start: float) -> str:
    return f"{NAMES[name]} {value / start - 1:+z.1%}".replace("%", " %").replace("+0.0", "0.0").replace("-", "−")


if __name__ == "__main__":
    save_png(draw(*score_daily()), Path(sys.argv[1]))
