"""Bursts over time: how much known users took, and how far the item mix had moved, with what is usual."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import altair as alt

from unskew.drawing.theme import (
    BLUE,
    GREY,
    VERMILION,
    apply_theme,
    inline_data,
    number_axis,
    percent_axis,
    wrap_lines,
)

_WIDTH, _HEIGHT = 640, 150


def draw_bursts(cells: Sequence[dict[str, Any]], windows: Iterable[dict[str, Any]], *, dates: bool) -> Any:
    """Two panels above each other.

    Parameters
    ----------
    cells
        `start`, `rate`, `usual_rate`, `moved` and `usual_moved` of each cell of time, None where it is not known.
    windows
        `start` and `end` of each burst; an end of None is that of the time.
    dates
        Whether times are dates.
    """
    kind = "T" if dates else "Q"
    last = cells[-1]["start"]
    shades = [{"start": one["start"], "end": last if one["end"] is None else one["end"]} for one in windows]
    panels = [
        _panel(cells, shades, kind, "rate", "interactions per known user", log=True),  # it falls by magnitudes
        _panel(cells, shades, kind, "moved", "mix on items that rose", log=False),
    ]
    lines = wrap_lines(
        "Blue: what was seen in each cell of time. Grey: what is usual. Shaded: bursts, where both are above it.",
        _WIDTH,
    )
    found = len(shades)
    title = "No burst was found" if found == 0 else f"{found} likely campaign{'s' * (found != 1)}"
    return apply_theme(
        alt.vconcat(*panels, spacing=22).resolve_scale(x="shared"), title, lines, f"{title}; {' '.join(lines)}"
    )


def _panel(
    cells: Sequence[dict[str, Any]], shades: list[dict[str, Any]], kind: str, name: str, title: str, *, log: bool
) -> Any:
    """One measure with what is usual, and the bursts behind it."""
    known = [cell for cell in cells if cell[name] is not None and (not log or cell[name] > 0)]
    usual = [cell for cell in known if cell[f"usual_{name}"] is not None]
    x = alt.X(f"start:{kind}").title(None).scale(nice=False)
    scale = alt.Scale(type="log", nice=False) if log else alt.Scale(zero=False)
    y = (
        alt.Y(f"{name}:Q")
        .title(title)
        .scale(scale)
        .axis(number_axis(ticks=4) if log else percent_axis(0, ticks=5))
    )
    steps: dict[str, Any] = {"interpolate": "step-after"}  # a value is that of the time from its start on
    layers = [
        alt.Chart(inline_data(shades)).mark_rect(color=VERMILION, opacity=0.16).encode(x=x, x2="end"),
        alt.Chart(inline_data(usual))
        .mark_line(color=GREY, strokeDash=[4, 3], **steps)
        .encode(x=x, y=f"usual_{name}:Q"),
        alt.Chart(inline_data(known)).mark_line(color=BLUE, strokeWidth=1.6, **steps).encode(x=x, y=y),
    ]
    return alt.layer(*layers if shades else layers[1:]).properties(width=_WIDTH, height=_HEIGHT)
