"""Time across a chart: dates or plain numbers, and what happened when.

A date is drawn where its clock stood, whatever the zone of the reader: as if all times were in UTC.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import altair as alt

from unskew.drawing.theme import GREY, VERMILION, inline_data

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


def time_axis(times: Sequence[Time], field: str = "at", title: str | None = None, *, ticks: int = 8) -> Any:
    """The axis of `field`, which holds what `place_time` gives, from the first of the times to the last."""
    axis = alt.Axis(tickCount=ticks, labelOverlap="greedy", labelSeparation=6, labelFlush=True)
    if is_dated(times):  # a domain of dates would need an expression that a page's interpreter does not know
        return alt.X(f"{field}:T", title=title).scale(type="utc", nice=False).axis(axis)
    places = [place_time(time) for time in times]
    domain = [min(places), max(places)]
    if domain[0] == domain[1]:
        domain = [domain[0] - 1, domain[1] + 1]
    axis.format = "~r"
    return alt.X(f"{field}:Q", title=title).scale(domain=domain, nice=False, zero=False).axis(axis)


def mark_events(events: Mapping[float, str]) -> Any:
    """A thin upright rule for each time at which something happened, with its name above the plot."""
    rows = [{"when": time, "label": name} for time, name in events.items()]
    base = alt.Chart(inline_data(rows)).encode(x=alt.X("when:Q"))
    rules = base.mark_rule(color=GREY, strokeDash=[2, 3], strokeWidth=1)
    words = base.mark_text(color=GREY, fontSize=11, baseline="bottom", dy=-4).encode(
        y=alt.value(0), text="label:N"
    )
    return rules + words


def mark_windows(windows: Sequence[Mapping[str, Any]], times: Sequence[Time], field: str = "at") -> Any | None:
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
            rows.append({field: start, "end": end, "name": window["name"]})
    if not rows:
        return None
    x = time_axis(times, field)
    base = alt.Chart(inline_data(rows)).encode(x=x)
    shade = base.mark_rect(color=VERMILION, opacity=0.13).encode(
        x2="end", tooltip=alt.Tooltip("name:N", title=" ")
    )
    edges = base.mark_rule(color=GREY, strokeDash=[2, 3], strokeWidth=1)
    words = base.mark_text(color=GREY, fontSize=11, baseline="bottom", align="left", dy=-4).encode(
        y=alt.value(0), text="name:N"
    )
    return alt.layer(shade, edges, words)
