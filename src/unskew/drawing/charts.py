"""Charts of values, ranges, parts, shares and bursts: rows in, a chart out."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import altair as alt

from unskew.drawing import theme
from unskew.drawing.theme import Stroke

_WIDTH = 640
_DOT_LINE = 24


def draw_dots(rows: Sequence[Mapping[str, Any]], strokes: Mapping[str, Stroke], *, title: str) -> Any:
    """A line for each name in the order of the rows, with a dot for each kind; kinds can be switched off.

    - `rows`: `name`, `kind` (a key of `strokes`), `value`, `low` and `high` (None if not known), `words` (above
      the dot) and `shown` (when it is pointed at).
    - `strokes`: the colour and the shape of each kind.
    - `title`: of the axis.
    """
    names, kinds = (list(dict.fromkeys(row[field] for row in rows)) for field in ("name", "kind"))
    values = [row[field] for row in rows for field in ("value", "low", "high") if row[field] is not None]
    low, high = min(values), max(values)
    share = low >= 0 and high <= 1
    axis = theme.percent_axis(theme.percent_digits(low, high), grid=True) if share else alt.Axis(grid=True)
    x = alt.X("value:Q", title=title).scale(zero=False, padding=12, nice=False).axis(axis)
    y = alt.Y("name:N", title=None).scale(domain=names, paddingInner=0.2, paddingOuter=0.1)
    base = (
        theme.plot(rows)
        .transform_filter(theme.is_shown("kind"))
        .encode(
            y=y.axis(labelLimit=170, domain=False, ticks=False),
            yOffset=alt.YOffset("kind:N").scale(domain=kinds, paddingOuter=0.4),
            color=theme.colour_by("kind", strokes),
            tooltip=theme.tooltips(name="name", kind="kind", shown=title),
        )
    )
    known = base.transform_filter("isValid(datum.low)")
    rules = known.mark_rule(strokeWidth=2).encode(x=alt.X("low:Q", title=title), x2="high:Q")
    dots = base.mark_point(filled=True, size=72, opacity=1).encode(x=x, shape=theme.shape_by("kind", strokes))
    words = base.mark_text(dy=-9, fontSize=11).encode(x=x, text="words:N")
    chart = alt.layer(rules, dots, words).add_params(alt.param(name=theme.HIDDEN, value=[]))
    return chart.properties(width=_WIDTH, height=_DOT_LINE * len(names) * max(len(kinds), 1) + 14 * len(names))


_RANGE_LINE, _SINGLE = 46, 74
TONES = {"good": theme.GREEN, "bad": theme.VERMILION, "even": theme.BLUE, "open": theme.OCHRE}
"""The colour of a range by its tone; the words beside it say the same."""


def draw_ranges(
    ranges: Sequence[Mapping[str, Any]], cases: Sequence[Mapping[str, Any]], *, title: str, sides: tuple[str, str]
) -> Any:
    """A bar for each range, with its cases as ticks and the first case of each as a diamond.

    - `ranges`: `name`, `low`, `high`, `tone` (a key of `TONES`) and `shown` (the range in words).
    - `cases`: `name` (of the range), `value`, `low`, `high`, `case` (what it assumes), `counts` (whether the range
      is made of it), `first` (whether it is the one that everybody knows) and `shown`.
    - `title`: of the axis: what the values are.
    - `sides`: what lies left and right of zero.
    """
    names = [row["name"] for row in ranges]
    bars = [{**row, "colour": TONES[row["tone"]]} for row in ranges]
    values = [row[end] for row in (*ranges, *cases) for end in ("low", "high")]
    low, high = min(0.0, *values), max(0.0, *values)
    room = 0.04 * (high - low) or 1.0
    scale = alt.Scale(domain=[low - room, high + room], nice=False, zero=False)
    x = alt.X("low:Q", title=title).scale(scale).axis(theme.number_axis(ticks=6, grid=True))
    axis = None if len(names) == 1 else alt.Axis(labelLimit=150, domain=False, ticks=False)
    y = alt.Y("name:N", title=None, axis=axis).scale(domain=names)
    base = theme.plot(bars).encode(y=y, color=alt.Color("colour:N", scale=None))
    blocks = base.mark_bar(height=20, opacity=0.35).encode(x=x, x2="high:Q")
    ticks = base.mark_tick(thickness=3, size=24, opacity=1)
    zero = theme.plot([{"zero": 0.0}]).mark_rule(color=theme.INK, strokeWidth=1.6).encode(x="zero:Q")
    marks = theme.plot(cases).encode(y=y, x="value:Q", tooltip=theme.tooltips(case="if", shown="difference"))
    counted, other = (
        marks.transform_filter(f"{test} && !datum.first") for test in ("datum.counts", "!datum.counts")
    )
    known = marks.transform_filter("datum.first")
    layers = [
        zero,
        blocks.encode(tooltip=theme.tooltips(name="comparison", shown="range")),
        *(ticks.encode(x=f"{end}:Q") for end in ("low", "high")),
        counted.mark_tick(thickness=1.6, size=14, color=theme.INK, opacity=0.75),
        other.mark_point(shape="circle", size=20, color=theme.GREY, opacity=0.8, strokeWidth=1.2),
        known.mark_point(shape="diamond", filled=True, size=110, color=theme.INK, opacity=1),
    ]
    words = theme.plot([{"left": sides[0], "right": sides[1]}]).encode(y=alt.value(-6))
    look: dict[str, Any] = {"baseline": "bottom", "fontSize": 12, "color": theme.INK}
    look["limit"] = alt.expr("width / 2 - 6")
    layers.append(words.mark_text(align="left", **look).encode(x=alt.value(0), text="left:N"))
    layers.append(words.mark_text(align="right", **look).encode(x=alt.value("width"), text="right:N"))
    height = _SINGLE if len(names) == 1 else _RANGE_LINE * len(names)
    return alt.layer(*layers).properties(width=_WIDTH, height=height)


_SPLIT_LINE = 34
_COLOURS = (theme.GREY, theme.OCHRE, theme.GREEN, theme.PURPLE, theme.BLUE)


def draw_split(
    start: Mapping[str, Any], parts: Sequence[Mapping[str, Any]], end: Mapping[str, Any], *, title: str
) -> Any:
    """A bar for each part, beginning where the one above it ends.

    - `start`, `end`: `name` and `value` of what was, and of what is.
    - `parts`: `name`, `value`, `low`, `high` (NaN where nothing is known of them) and `colour` (the number of one)
      of each part, in this order; they add up.
    - `title`: of the axis: what the values are.
    """
    lines, top = [], start["value"]
    for part in parts:
        begin, top = top, top + part["value"]
        low, high = (part["value"] if math.isnan(part[limit]) else part[limit] for limit in ("low", "high"))
        lines.append(
            {
                "name": part["name"],
                "from": begin,
                "to": top,
                "low": begin + low,
                "high": begin + high,
                "colour": _COLOURS[part["colour"] % len(_COLOURS)],
                "added": f"{part['value']:+z.2f}".replace("-", "−"),
                "shown": f"{part['value']:+z.2f}, between {low:+z.2f} and {high:+z.2f}",
                "edge": max(begin, top, begin + high),
            }
        )
    ends = [
        {"name": total["name"], "value": total["value"], "shown": f"{total['value']:.2f}"}
        for total in (start, end)
    ]
    names = [ends[0]["name"], *(line["name"] for line in lines), ends[1]["name"]]
    y = alt.Y("name:N", title=None).scale(domain=names).axis(labelLimit=170, domain=False, ticks=False)
    x = alt.X("from:Q", title=title).scale(zero=False, padding=46, nice=False).axis(theme.number_axis(grid=True))
    base = theme.plot(lines).encode(y=y)
    bars = base.mark_bar(height=17, opacity=0.85, minBandSize=2).encode(
        x=x,
        x2="to:Q",
        color=alt.Color("colour:N", scale=None),
        tooltip=theme.tooltips(name="part", shown="points"),
    )
    doubt = base.mark_rule(color=theme.INK, strokeWidth=1.4).encode(x="low:Q", x2="high:Q")
    words = base.mark_text(align="left", dx=7, color=theme.INK, fontSize=12).encode(x="edge:Q", text="added:N")
    totals = theme.plot(ends).encode(y=y, x="value:Q")
    marks = totals.mark_point(shape="diamond", filled=True, size=120, color=theme.INK, opacity=1).encode(
        tooltip=theme.tooltips(name=" ", shown="score")
    )
    values = totals.mark_text(align="left", dx=10, color=theme.INK, fontSize=12, fontWeight="bold")
    return alt.layer(bars, doubt, words, marks, values.encode(text="shown:N")).properties(
        width=_WIDTH, height=_SPLIT_LINE * len(names)
    )


_SHARE_HEIGHT = 190


def draw_shares(rows: Sequence[Mapping[str, Any]], *, title: str, across: str) -> Any:
    """A bar for each class, with its share above it.

    - `rows`: `name` (`|` breaks its line), `share`, `shown` (more in words), and `good`: whether this class is
      where one wants to be.
    - `title`, `across`: of the two axes.
    """
    drawn = [
        {**row, "percent": _write_share(row["share"]), "words": row["name"].replace("|", " ")} for row in rows
    ]
    x = alt.X("name:N", title=across).scale(domain=[row["name"] for row in rows])
    x = x.axis(labelAngle=0, ticks=False, labelOverlap=False, labelLimit=120, labelExpr="split(datum.label, '|')")
    y = alt.Y("share:Q", title=title).scale(domainMin=0, nice=True).axis(theme.percent_axis(0, ticks=4))
    base = theme.plot(drawn).encode(x=x, y=y)
    colour = alt.when("datum.good").then(alt.value(theme.GREEN)).otherwise(alt.value(theme.BLUE))
    bars = base.mark_bar(opacity=0.85).encode(color=colour, tooltip=theme.tooltips(words=across, shown=title))
    words = base.mark_text(dy=-7, fontSize=11.5, color=theme.INK).encode(text="percent:N")
    return alt.layer(bars, words).properties(width=_WIDTH, height=_SHARE_HEIGHT)


def draw_share_groups(
    rows: Sequence[Mapping[str, Any]], strokes: Mapping[str, Stroke], *, title: str, across: str
) -> Any:
    """Bars side by side in each class, one for each of a few groups, which can be switched off.

    - `rows`: `name` (the class), `group` (a key of `strokes`), `share` and `shown` (more in words).
    - `strokes`: the colour of each group.
    - `title`, `across`: of the two axes.
    """
    names, groups = (list(dict.fromkeys(row[field] for row in rows)) for field in ("name", "group"))
    x = alt.X("name:N", title=across).scale(domain=names, paddingInner=0.25)
    chart = theme.plot(rows).transform_filter(theme.is_shown("group"))
    chart = chart.encode(
        x=x.axis(labelAngle=0, ticks=False, labelOverlap="greedy"),
        xOffset=alt.XOffset("group:N").scale(domain=groups),
        y=alt.Y("share:Q", title=title).scale(domainMin=0, nice=True).axis(theme.percent_axis(0, ticks=4)),
        color=theme.colour_by("group", strokes),
        tooltip=theme.tooltips(group="date", name=across, shown=title),
    )
    bars = alt.layer(chart.mark_bar(opacity=0.9)).add_params(alt.param(name=theme.HIDDEN, value=[]))
    return bars.properties(width=_WIDTH, height=_SHARE_HEIGHT)


def _write_share(share: float) -> str:
    """A share that fits above a bar: 12 %, 0.3 %, nothing at all where there is none."""
    if share <= 0:
        return ""
    return f"{100 * share:.0f} %" if share >= 0.095 else f"{100 * share:.2g} %" if share >= 0.0005 else "< 0.1 %"


_CHANGE_LINE = 23


def draw_changes(rows: Sequence[Mapping[str, Any]], *, before: str, now: str, title: str) -> Any:
    """One line for each thing, in the order of the rows.

    - `rows`: `name`, `before` and `now`, two shares.
    - `before`, `now`: what the two times are called.
    - `title`: of the axis.
    """
    drawn = [
        {
            **row,
            "key": f"{k}|{row['name']}",  # two things may have one name
            "shown": f"{100 * row['before']:.3f} % to {100 * row['now']:.3f} %",
        }
        for k, row in enumerate(rows)
    ]
    high = max(max(row["before"], row["now"]) for row in rows)
    axis = theme.percent_axis(theme.percent_digits(0, high), grid=True)
    x = alt.X("before:Q", title=title).axis(axis).scale(domainMin=0)
    labels = alt.Axis(
        labelExpr="slice(datum.label, indexof(datum.label, '|') + 1)", labelLimit=230, domain=False, ticks=False
    )
    y = alt.Y("key:N", title=None, axis=labels).scale(domain=[row["key"] for row in drawn])
    base = theme.plot(drawn).encode(y=y, tooltip=theme.tooltips(name="item", shown="share"))
    rose = alt.when("datum.now > datum.before").then(alt.value(theme.VERMILION)).otherwise(alt.value(theme.BLUE))
    joints = base.mark_rule(strokeWidth=2.6).encode(x=x, x2="now:Q", color=rose)
    then = base.mark_point(size=52, strokeWidth=1.8, fill="white", opacity=1, color=theme.GREY).encode(x=x)
    dots = base.mark_point(filled=True, size=70, opacity=1).encode(x="now:Q", color=rose)
    key = theme.plot([{"words": f"ring: {before}; dot: {now}"}])
    key = key.mark_text(align="left", baseline="bottom", fontSize=11.5, color=theme.INK)
    key = key.encode(x=alt.value(0), y=alt.value(-6), text="words:N")
    return alt.layer(joints, then, dots, key).properties(width=_WIDTH, height=_CHANGE_LINE * len(rows))


_BURST_WIDTH, _HEIGHT = 640, 150


def draw_bursts(cells: Sequence[dict[str, Any]], windows: Iterable[dict[str, Any]], *, dates: bool) -> Any:
    """Two panels above each other.

    - `cells`: `start`, `rate`, `usual_rate`, `moved` and `usual_moved` of each cell of time, None where it is not
      known.
    - `windows`: `start` and `end` of each burst; an end of None is that of the time.
    - `dates`: whether times are dates.
    """
    x = alt.X("start:T" if dates else "start:Q").title(None).scale(nice=False)
    last = cells[-1]["start"]
    shades = [{**window, "end": last if window["end"] is None else window["end"]} for window in windows]
    panels = [
        _draw_panel(cells, shades, x, "rate", "interactions per known user", log=True),  # it falls by magnitudes
        _draw_panel(cells, shades, x, "moved", "mix on items that rose", log=False),
    ]
    lines = theme.wrap_lines(
        "Blue: what was seen in each cell of time. Grey: what is usual. Shaded: bursts, where both are above it.",
        _BURST_WIDTH,
    )
    number = len(shades)
    title = "No burst was found" if number == 0 else f"{number} likely campaign{'s' * (number != 1)}"
    both = alt.vconcat(*panels, spacing=22).resolve_scale(x="shared")
    return theme.apply_theme(both, title, lines, f"{title}; {' '.join(lines)}")


def _draw_panel(
    cells: Sequence[dict[str, Any]], shades: list[dict[str, Any]], x: Any, name: str, title: str, *, log: bool
) -> Any:
    known = [cell for cell in cells if cell[name] is not None and (not log or cell[name] > 0)]
    usual = [cell for cell in known if cell[f"usual_{name}"] is not None]
    scale = alt.Scale(type="log", nice=False) if log else alt.Scale(zero=False)
    axis = theme.number_axis(ticks=4) if log else theme.percent_axis(0, ticks=5)
    y = alt.Y(f"{name}:Q").title(title).scale(scale).axis(axis)
    steps: dict[str, Any] = {"interpolate": "step-after"}  # a value is that of the time from its start on
    layers = [
        theme.plot(shades).mark_rect(color=theme.VERMILION, opacity=0.16).encode(x=x, x2="end"),
        theme.plot(usual).mark_line(color=theme.GREY, strokeDash=[4, 3], **steps).encode(x=x, y=f"usual_{name}:Q"),
        theme.plot(known).mark_line(color=theme.BLUE, strokeWidth=1.6, **steps).encode(x=x, y=y),
    ]
    return alt.layer(*layers if shades else layers[1:]).properties(width=_BURST_WIDTH, height=_HEIGHT)
