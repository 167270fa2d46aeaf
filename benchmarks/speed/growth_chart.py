"""The picture of growth: what an event costs in time and in memory, by the size of the log."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import altair as alt

from benchmarks.frame.machine import ROOT
from benchmarks.frame.result_files import FOLDER, Results
from unskew.drawing.theme import (
    GREY,
    Label,
    Span,
    Stroke,
    apply_theme,
    assign_strokes,
    colour_by,
    end_labels,
    fit_span,
    inline_data,
    log_ticks,
    number_axis,
    save_svg,
    shape_by,
)

PICTURE = ROOT / "docs" / "images" / "growth.svg"
_WIDTH, _HEIGHT = 250, 230
_LABELS = 130  # room for names to the right of lines


def write_picture(folder: Path = FOLDER, picture: Path = PICTURE) -> None:
    """Draw what was measured last, if anything was."""
    if (folder / "growth.json").exists():
        save_svg(draw(Results.read(folder / "growth.json")), picture)


def draw(results: Results) -> Any:
    """Two panels side by side: time and memory of an event."""
    rows = [
        {"step": table.title, "events": row.events, "time": row.time.median, "memory": row.bytes_an_event}
        for table in results.tables
        for row in table.rows
        if row.time is not None
    ]
    base = results.tables[0].yardstick
    strokes = assign_strokes(table.title for table in results.tables)
    panels = [
        _panel([{**row, "value": row["time"]} for row in rows], strokes, f"time an event, {base} = 1", 1.0),
        _panel(
            [{**row, "value": row["memory"]} for row in rows if row["memory"]], strokes, "bytes an event", None
        ),
    ]
    title = "What an event costs, by the size of the log"
    said = "Both axes in orders of magnitude. A flat line is a cost that grows no faster than the log."
    chart = alt.hconcat(*panels, spacing=_LABELS)
    return apply_theme(chart, title, said, f"{title}. {said}")


def _panel(rows: list[dict[str, Any]], strokes: dict[str, Stroke], title: str, level: float | None) -> Any:
    span = fit_span([row["value"] for row in rows], _HEIGHT, log=True)
    sizes = sorted({row["events"] for row in rows})
    ticks = log_ticks(sizes[0] / 1.3, sizes[-1] * 1.3)
    x = (
        alt.X("events:Q", title="events in the log")
        .scale(type="log", domain=[sizes[0] / 1.1, sizes[-1]], nice=False)
        .axis(number_axis([tick for tick in ticks if f"{tick:.0e}"[0] == "1"]))
    )
    y = alt.Y("value:Q", title=title).scale(span.scale()).axis(number_axis(log_ticks(span.low, span.high)))
    lines = alt.Chart(inline_data(rows)).encode(x=x, y=y, color=colour_by("step", strokes))
    layers = [
        lines.mark_line(strokeWidth=2),
        lines.mark_point(filled=True, size=55, opacity=1).encode(shape=shape_by("step", strokes)),
    ]
    if level is not None:
        rule = alt.Chart(inline_data([{"value": level}])).mark_rule(color=GREY, strokeWidth=0.9)
        layers.insert(0, rule.encode(y="value:Q"))
    return alt.layer(*layers, _names(rows, strokes, span)).properties(width=_WIDTH, height=_HEIGHT)


def _names(rows: list[dict[str, Any]], strokes: dict[str, Stroke], span: Span) -> Any:
    last = {row["step"]: row["value"] for row in sorted(rows, key=lambda row: row["events"])}
    labels = [Label(value, f"{step}", strokes[step].colour) for step, value in last.items()]
    return end_labels(labels, span, _WIDTH)
