"""Time across a chart: the axis, what happened when, and values over time with their bands."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import altair as alt

from unskew.drawing import theme
from unskew.drawing.theme import Stroke

Time = int | float | str
"""A plain number, or a date or datetime in ISO form."""


def place_time(time: Time) -> int | float:
    """Where a time stands on the axis: the number itself, or the milliseconds of what the clock showed.

    >>> place_time(300), place_time("1970-01-02"), place_time("1970-01-01T00:00:01+05:00")
    (300.0, 86400000, 1000)
    """
    if not isinstance(time, str):
        return float(time)
    return round(1000 * datetime.fromisoformat(time).replace(tzinfo=UTC).timestamp())


def is_dated(times: Iterable[Time]) -> bool:
    """Whether these are dates."""
    return any(isinstance(time, str) for time in times)


def time_axis(times: Sequence[Time], title: str | None = None) -> Any:
    """The axis of the field `at`, which holds what `place_time` gives, from the first of the times to the last."""
    axis = alt.Axis(tickCount=8, labelOverlap="greedy", labelSeparation=6, labelFlush=True)
    if is_dated(times):  # a domain of dates would need an expression that a page's interpreter does not know
        return alt.X("at:T", title=title).scale(type="utc", nice=False).axis(axis)
    places = [place_time(time) for time in times]
    domain = [min(places), max(places)]
    if domain[0] == domain[1]:
        domain = [domain[0] - 1, domain[1] + 1]
    axis.format = "~r"
    return alt.X("at:Q", title=title).scale(domain=domain, nice=False, zero=False).axis(axis)


def mark_events(events: Mapping[float, str]) -> Any:
    """A thin upright rule for each time at which something happened, with its name above the plot."""
    base = theme.plot({"when": time, "label": name} for time, name in events.items()).encode(x=alt.X("when:Q"))
    words = base.mark_text(color=theme.GREY, fontSize=11, baseline="bottom", dy=-4)
    return _draw_rules(base) + words.encode(y=alt.value(0), text="label:N")


def _draw_rules(base: Any) -> Any:
    return base.mark_rule(color=theme.GREY, strokeDash=[2, 3], strokeWidth=1)


def mark_windows(windows: Sequence[Mapping[str, Any]], times: Sequence[Time]) -> Any | None:
    """The windows (`start`, `end` or None, `name`) shaded behind a chart of these times; None if it shows none.

    A window is cut to the times that are shown. Its name stands at its left edge.
    """
    places = [place_time(time) for time in times]
    first, last = min(places), max(places)
    rows = []
    for window in windows:
        start = max(place_time(window["start"]), first)
        end = last if window["end"] is None else min(place_time(window["end"]), last)
        if start <= last and end >= first and start <= end:
            rows.append({"at": start, "end": end, "name": window["name"]})
    if not rows:
        return None
    base = theme.plot(rows).encode(x=time_axis(times))
    shade = base.mark_rect(color=theme.VERMILION, opacity=0.13)
    shade = shade.encode(x2="end", tooltip=alt.Tooltip("name:N", title=" "))
    words = base.mark_text(color=theme.GREY, fontSize=11, baseline="bottom", align="left", dy=-4)
    return alt.layer(shade, _draw_rules(base), words.encode(y=alt.value(0), text="name:N"))


WIDTH, HEIGHT = 640, 320
_FAR = 30.0
"""Shares that span this factor or more are shown on an axis of orders of magnitude."""


def line_layer(
    rows: Sequence[Mapping[str, Any]], strokes: Mapping[str, Stroke], name: str, *, x: Any, y: Any
) -> Any:
    """A line for each value of the field `name`, drawn as its stroke says."""
    dash, width = theme.dash_by(name, strokes), theme.width_by(name, strokes)
    lines = theme.plot(rows).mark_line().encode(x=x, y=y, color=theme.colour_by(name, strokes))
    return lines.encode(strokeDash=dash, strokeWidth=width)


def level_rule(value: float) -> Any:
    """A thin rule at a value to compare with."""
    return theme.plot([{"level": value}]).mark_rule(color=theme.GREY, strokeWidth=0.9).encode(y="level:Q")


def draw_lines_over_time(
    rows: Sequence[Mapping[str, Any]],
    strokes: Mapping[str, Stroke],
    *,
    title: str,
    kinds: Mapping[str, tuple[int, ...]] | None = None,
    windows: Sequence[Mapping[str, Any]] = (),
    percent: bool = True,
    log: bool = False,
    legend: bool,
) -> Any:
    """A chart of values over time, with bands where they are known, and windows shaded.

    - `rows`: `at` (a number or an ISO date), `name` (a key of `strokes`), `kind` (a key of `kinds`, if there are
      any), `value`, `shown` (the value in words), and `low` and `high`, None where they are not known.
    - `strokes`: how the line of each name is drawn.
    - `title`: of the upright axis.
    - `kinds`: the dash of each kind of line; the last is drawn above the others, and thicker.
    - `windows`: `start`, `end` (None: still going on) and `name` of what happened meanwhile.
    - `percent`: whether values are shares, written as percentages.
    - `log`: use an axis of orders of magnitude where the values are far apart.
    - `legend`: whether the chart has a legend, in which lines can be chosen; a page has boxes to tick instead.
    """
    times = list(dict.fromkeys(row["at"] for row in rows))
    drawn = [{**row, "at": place_time(row["at"]), "when": str(row["at"])} for row in rows]
    colour: Any = theme.colour_by("name", strokes)
    params: list[Any] = [alt.param(name=theme.HIDDEN, value=[])]
    fade = {}
    if legend:
        colour = colour.legend(title=None, symbolOpacity=1, labelLimit=220)
        choice_name = re.sub(r"\W", "_", f"chosen {title}")  # two charts beside each other have a choice each
        params.append(alt.selection_point(name=choice_name, fields=["name"], bind="legend"))
        fade = {"opacity": alt.when(params[1]).then(alt.value(1)).otherwise(alt.value(0.12))}
    base = theme.plot(drawn).transform_filter(theme.is_shown("name", "kind"))
    base = base.encode(x=time_axis(times), color=colour, detail=["name:N", "kind:N"])
    lines = base.encode(y=_make_value_axis(drawn, title, percent=percent, log=log), **fade)
    layers = [mark_windows(windows, times)]
    if any(row["low"] is not None for row in drawn):
        layers.append(base.mark_area(opacity=0.14).encode(y=alt.Y("low:Q"), y2="high:Q"))
    layers.append(lines.mark_line().encode(**_encode_kinds(kinds, legend=legend)))
    tooltips = theme.tooltips(when="date", name="name", **({"kind": "kind"} if kinds else {}), shown=title)
    points = lines.mark_point(filled=True, size=42)
    layers.append(points.encode(shape=theme.shape_by("name", strokes), tooltip=tooltips))
    chart = alt.layer(*(layer for layer in layers if layer is not None)).add_params(*params)
    return chart.properties(width=WIDTH, height=HEIGHT)


def _encode_kinds(kinds: Mapping[str, tuple[int, ...]] | None, *, legend: bool) -> dict[str, Any]:
    if not kinds:
        return {"strokeWidth": alt.value(2)}
    names = list(kinds)
    key = alt.Legend(title=None, symbolStrokeColor=theme.GREY, labelLimit=420) if legend else None
    dashes = alt.StrokeDash("kind:N", legend=key).scale(domain=names, range=[list(kinds[n]) for n in names])
    widths = alt.when(f"datum.kind === '{names[-1]}'").then(alt.value(2.8)).otherwise(alt.value(1.7))
    return {"strokeDash": dashes, "strokeWidth": widths}


def _make_value_axis(rows: Sequence[Mapping[str, Any]], title: str, *, percent: bool, log: bool) -> Any:
    values = [row[field] for row in rows for field in ("value", "low", "high") if row[field] is not None]
    low, high = min(values), max(values)
    y = alt.Y("value:Q", title=title)
    if log and low > 0 and high / low >= _FAR:
        ticks = theme.log_ticks(low, high)
        axis = theme.percent_axis(theme.percent_digits(0, min(ticks, default=low), 1), values=ticks)
        y = y.title(f"{title} (log scale)").axis(axis)
        return y.scale(type="log", domain=[low / 1.1, high * 1.1], nice=False)
    near = 0 <= low < 0.3 * (high - low)
    y = y.scale(zero=near, padding=0 if near else 8)
    return y.axis(theme.percent_axis(theme.percent_digits(low, high))) if percent else y
