"""The two pictures at the top of the README: scores over time of a list that never changes, and of a model.

    python -m tools.draw_two_lines docs/images

The list is g1 of the reproduction (`unskew simulate`, seed 0): the five items that the campaigns recommended most
often from day 320 to day 480. The model is kNN on the built-in log, whose truth is known (`tools.make_example`).
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import altair as alt

import unskew as us
from tools.make_example import add_dates, make_world
from unskew.drawing.theme import (
    BLUE,
    GREEN,
    GREY,
    INK,
    VERMILION,
    apply_theme,
    inline_data,
    percent_axis,
    save_png,
    spread_labels,
)

LIST_FROM, LIST_TO = 300, 500
BEFORE, SWITCHED_ON = "2024-02-29", "2024-03-01"
DATES = [f"2024-{month:02}-{day}" for month in range(2, 9) for day in (10, 20, 28)][1:]
DRAWS = 3
WIDTH, HEIGHT = 560, 250

Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Picture:
    """What one picture shows: rows of `at`, `line` and `value`; the name and colour of each line; words above.

    The ends of lines have their change since the beginning, or their value.
    """

    rows: Rows
    lines: Mapping[str, tuple[str, str]]
    events: Mapping[Any, str]
    title: str
    subtitle: str
    span: tuple[float, float]
    shows_change: bool = False


def picture_list() -> Picture:
    """The score of g1 on every other day, raw and weighted, and the days of the campaigns."""
    world = us.simulate(seed=0)
    shown = world.exposures.to_pydict()
    times = Counter(item for item, day in zip(shown["item"], shown["time"], strict=True) if 320 <= day <= 480)
    most = [item for item, _ in times.most_common(5)]
    table = us.timeline(world.log, us.Constant(most), reference=LIST_FROM, end=LIST_TO, every=2)
    rows = [
        {**row, "line": row["weighting"]} for row in table.rows.select(["at", "weighting", "value"]).to_pylist()
    ]
    return Picture(
        rows,
        {"raw": ("raw score", VERMILION), "weighted": ("with unskew", BLUE)},
        {day: f"campaign, day {day}" for day in world.campaigns},
        "One list of five items, the same for everybody, on every day",
        "Its offline hit rate as the log changes. The axis does not start at zero.",
        (0.045, 0.075),
        shows_change=True,
    )


def picture_model() -> Picture:
    """The score of kNN over time: as logged, re-weighted, on the view that exposures allow, and in truth."""
    log = us.example_log()
    truth = us.read_log(add_dates(make_world().tables["truth"]))
    known = us.Knowledge(exposures="example-exposures")
    views = known.take(log, since=BEFORE, until=DATES[-1], view="adjusted", draws=DRAWS, test=False)
    logged = score(log)
    draws = [score(view)["weighted"] for view in views]
    lines = {
        "logged": logged["raw"],
        "weighted": logged["weighted"],
        "adjusted": {at: fmean(draw[at] for draw in draws) for at in DATES},
        "truth": score(truth)["weighted"],
    }
    return Picture(
        [
            {"at": at, "line": line, "value": value}
            for line, values in lines.items()
            for at, value in values.items()
        ],
        {
            "logged": ("as logged", VERMILION),
            "weighted": ("re-weighted", BLUE),
            "adjusted": ("with exposure log", GREEN),
            "truth": ("truth", INK),
        },
        {SWITCHED_ON: "recommender switched on"},
        "A personalised model (kNN) on the built-in log",
        "Its offline hit rate. Truth: the same people, had nothing been recommended.",
        (0.0, 0.16),
    )


def score(log: us.Log) -> dict[str, dict[str, float]]:
    """Hit rates of kNN at the dates, raw and weighted to the day before production began."""
    rows = us.timeline(log, "knn", reference=BEFORE, dates=DATES).rows
    columns = rows.select(["at", "weighting", "value"]).to_pylist()
    return {
        weighting: {str(row["at"]): row["value"] for row in columns if row["weighting"] == weighting}
        for weighting in ("raw", "weighted")
    }


def draw(picture: Picture) -> Any:
    """Lines that are named at their ends, and what happened when."""
    kind = "T" if isinstance(picture.rows[0]["at"], str) else "Q"
    names, colours = list(picture.lines), [colour for _, colour in picture.lines.values()]
    colour = alt.Color("line:N", legend=None).scale(domain=names, range=colours)
    x: Any = alt.X(f"at:{kind}", title="day" if kind == "Q" else None)
    x = x.scale(nice=False, **({"domain": [LIST_FROM, LIST_TO]} if kind == "Q" else {}))
    x = x.axis(values=list(range(300, 501, 50))) if kind == "Q" else x.axis(format="%B", tickCount="month")
    low, high = picture.span
    y = alt.Y("value:Q", title="hit rate").scale(domain=[low, high]).axis(percent_axis(1 if low else 0, 4))
    lines = alt.Chart(inline_data(picture.rows)).mark_line(strokeWidth=3).encode(x=x, y=y, color=colour)
    words = alt.Chart(inline_data(name_ends(picture))).mark_text(
        align="left", dx=8, fontSize=14, fontWeight="bold"
    )
    days = [{"at": day, "label": label} for day, label in picture.events.items()]
    rules = alt.Chart(inline_data(days)).mark_rule(color=GREY, strokeDash=[3, 3]).encode(x=x)
    labels = alt.Chart(inline_data(days)).mark_text(align="left", dx=5, dy=6, y=0, color=GREY, fontSize=12)
    chart: Any = alt.layer(
        rules,
        labels.encode(x=x, text="label:N"),
        lines,
        words.encode(x=x, y=y, color=colour, text="label:N"),
    )
    return apply_theme(
        chart.properties(width=WIDTH, height=HEIGHT), picture.title, picture.subtitle, picture.title
    )


def name_ends(picture: Picture) -> Rows:
    """The name of each line where it ends, with its change since it began; names do not overlap."""
    low, high = picture.span
    first, last = ({row["line"]: row for row in rows} for rows in (picture.rows[::-1], picture.rows))
    heights = [last[line]["value"] for line in picture.lines]
    spread = spread_labels(heights, 16 * (high - low) / HEIGHT, low, high)
    return [
        {
            "at": last[line]["at"],
            "line": line,
            "value": height,
            "label": f"{name} {show_end(picture, first[line]['value'], last[line]['value'])}",
        }
        for (line, (name, _)), height in zip(picture.lines.items(), spread, strict=True)
    ]


def show_end(picture: Picture, first: float, last: float) -> str:
    """How far a line has come, or where it is, as people write it: +32.5 %, 4.6 %."""
    text = f"{last / first - 1:+z.1%}".replace("+0.0", "0.0") if picture.shows_change else f"{last:.1%}"
    return text.replace("%", " %").replace("-", "−")


def save(folder: Path, pictures: Sequence[str]) -> None:
    """Draw some of the pictures into a folder."""
    makers = {"two-lines": picture_list, "personalised": picture_model}
    for name in pictures or makers:
        save_png(draw(makers[name]()), folder / f"{name}.png")


if __name__ == "__main__":
    save(Path(sys.argv[1]), sys.argv[2:])
