"""Figures 1 to 6, those of the paper: what campaigns do to the item mix, to scores, and to weighted scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np
import pyarrow as pa

from unskew.drawing.labels import Label, Span, end_labels, fit_span, log_ticks
from unskew.drawing.theme import (
    BLUE,
    GREEN,
    GREY,
    INK,
    PURPLE,
    Stroke,
    apply_theme,
    colour_by,
    dash_by,
    inline_data,
    number_axis,
    percent_axis,
    percent_digits,
    width_by,
    wrap_lines,
)
from unskew.drawing.time_charts import level_rule, line_layer, mark_events, time_axis
from unskew.reproduction.figure import Figure
from unskew.reproduction.paper_sentences import items_sentence, score_sentence, sizes_sentence, weighted_sentence
from unskew.reproduction.phrases import format_change, format_percent
from unskew.reproduction.power_law import bin_users, fit_power_law
from unskew.reproduction.study import BOTH, NEVER, SECOND
from unskew.reproduction.weighting_strokes import ALL, RAW, RAW_COLOUR, weighting_strokes
from unskew.text import thousands

WIDTH, HEIGHT = 640, 330
SCORE = "score (hit@5): held-out items that are recommended"
GROUPS = {
    BOTH: Stroke(GREEN, width=2.2),
    SECOND: Stroke(PURPLE, (7, 3), 2.4),
    NEVER: Stroke(GREY, (2, 2), 1.8),
}
DESCRIPTIONS = {
    "g1": "g1 gives everyone the five items that the campaigns recommended most",
    "g2": "g2 gives everyone the five most frequent of the items that were never recommended",
}


def draw_items(table: pa.Table, campaigns: Sequence[int]) -> Figure:
    """P_t(i) over time, one line for each item.

    Parameters
    ----------
    table
        Columns at, item, group (a key of GROUPS), probability.
    campaigns
        The days on which they began.
    """
    rows = sorted(table.to_pylist(), key=lambda row: (row["item"], row["at"]))
    span = fit_span([row["probability"] for row in rows], HEIGHT, log=True)
    shares = percent_axis(2, values=log_ticks(span.low, span.high))
    y = alt.Y("probability:Q", title="P(i), share of the item mix (log scale)").scale(span.scale()).axis(shares)
    lines = line_layer(rows, GROUPS, "group", x=_make_day_axis(rows), y=y).encode(detail="item:N")
    first, last = _find_ends(rows)
    ends = [row for row in rows if row["at"] == last]
    labels = [Label(row["probability"], f"item {row['item']}", GROUPS[row["group"]].colour) for row in ends]
    title = "Item probabilities before and after the campaigns"
    chart: Any = alt.layer(_mark_campaigns(campaigns), lines, end_labels(labels, span, WIDTH))
    sentence = items_sentence(rows, first, last, campaigns)
    present = {group: stroke for group, stroke in GROUPS.items() if any(row["group"] == group for row in rows)}
    chart = alt.vconcat(_draw_key(present), chart.properties(width=WIDTH, height=HEIGHT), spacing=22)
    chart = apply_theme(chart, title, "P(i): the chance that item i is the one held out", sentence)
    return Figure(1, "figure-1-item-mix", title, chart, sentence, table)


def draw_sizes(table: pa.Table) -> Figure:
    """How many items the profiles hold, and the power law that their tail follows.

    Parameters
    ----------
    table
        Columns items (the size of a profile), users (how many have it).
    """
    sizes, users = (table.column(name).to_numpy() for name in ("items", "users"))
    law = fit_power_law(sizes, users)
    middle, mean_users = bin_users(sizes, users)
    ends = np.array([law.start, sizes.max()])
    expected = law.expected_users(ends, int(users[sizes >= law.start].sum()))
    low, high = 0.5 * min([1.0, *mean_users, *expected]), 2.0 * max(users.max(), expected.max())
    numbers = number_axis([10.0**k for k in range(-6, 9)], grid=True)
    x = alt.X("items:Q", title="items in the profile (log scale)").axis(numbers)
    x = x.scale(type="log", domain=[0.85, 1.3 * sizes.max()], nice=False)
    y = alt.Y("users:Q", title="users (log scale)").axis(numbers).scale(type="log", domain=[low, high], nice=False)
    points = (
        alt.Chart(inline_data(table.to_pylist()))
        .mark_point(filled=True, size=22, color=INK, opacity=0.6)
        .encode(x=x, y=y, tooltip=["items:Q", "users:Q"])
    )
    means = [{"items": float(a), "users": float(b)} for a, b in zip(middle, mean_users, strict=True)]
    bins = (
        alt.Chart(inline_data(means))
        .mark_point(size=75, color=BLUE, strokeWidth=1.8, fill="white")
        .encode(x="items:Q", y="users:Q")
    )
    guide = [{"items": float(a), "users": float(b)} for a, b in zip(ends, expected, strict=True)]
    line = alt.Chart(inline_data(guide)).mark_line(color=RAW_COLOUR, strokeWidth=1.6, strokeDash=[6, 3])
    there = {"items": float(ends[0] ** 0.1 * ends[1] ** 0.9), "label": f"slope −{law.exponent:.2f}"}
    there["users"] = float(expected[0] ** 0.1 * expected[1] ** 0.9)
    word = alt.Chart(inline_data([there])).mark_text(
        align="right", dx=-14, dy=10, color=RAW_COLOUR, fontSize=12.5, fontWeight="bold"
    )
    title = "Items per user"
    sentence = sizes_sentence(sizes, users, law)
    chart: Any = alt.layer(
        points,
        line.encode(x="items:Q", y="users:Q"),
        bins,
        word.encode(x="items:Q", y="users:Q", text="label:N"),
    ).properties(width=460, height=380)
    subtitle = (
        "Dots: sizes of profiles; rings: means over ranges of sizes; dashed: the likeliest power law of the tail"
    )
    chart = apply_theme(chart, title, wrap_lines(subtitle, 520), sentence)
    return Figure(2, "figure-2-items-per-user", title, chart, sentence, table)


def draw_score(
    table: pa.Table, campaigns: Sequence[int], *, number: int = 3, algorithm: str = "g1", draws: int = 20_000
) -> Figure:
    """The raw score of a constant algorithm over time.

    Parameters
    ----------
    table
        Columns at; value, low, high (of the users drawn on that day); exact (of all pairs).
    campaigns
        The days on which they began.
    number, algorithm, draws
        Of the figure; a key of DESCRIPTIONS; how many users were drawn each day.
    """
    rows = sorted(table.to_pylist(), key=lambda row: row["at"])
    span = fit_span([row[name] for row in rows for name in ("low", "high", "exact")], HEIGHT)
    base = alt.Chart(inline_data(rows)).encode(x=_make_day_axis(rows))
    score = alt.Y("value:Q", title=SCORE).scale(span.scale()).axis(_make_score_axis(span))
    band = base.mark_area(color=RAW_COLOUR, opacity=0.13).encode(y="low:Q", y2="high:Q")
    dots = base.mark_point(filled=True, size=13, color=RAW_COLOUR, opacity=0.55).encode(y=score)
    line = base.mark_line(color=RAW_COLOUR, strokeWidth=2.4, strokeDash=[6, 3]).encode(y="exact:Q")
    start, end = rows[0], rows[-1]
    change = end["exact"] / start["exact"] - 1
    level = level_rule(start["exact"])
    labels = [
        Label(end["exact"], f"raw {format_change(change)}", RAW_COLOUR, bold=True),
        Label(start["exact"], f"day {start['at']}: {format_percent(start['exact'], 2)}", GREY),
    ]
    chart: Any = alt.layer(_mark_campaigns(campaigns), band, level, dots, line, end_labels(labels, span, WIDTH))
    title = f"The raw score of {algorithm}, an algorithm that never changes"
    subtitle = (
        f"{DESCRIPTIONS.get(algorithm, algorithm)}. Line: all pairs; dots: {thousands(draws)} users drawn each "
        f"day, with their 95 % intervals. {_mention_zero(span)}"
    )
    sentence = score_sentence(algorithm, rows, campaigns)
    chart = chart.properties(width=WIDTH, height=HEIGHT)
    chart = apply_theme(chart, title, wrap_lines(subtitle, WIDTH + 130), sentence)
    return Figure(number, f"figure-{number}-{algorithm}-raw", title, chart, sentence, table)


def draw_weighted_score(
    table: pa.Table,
    campaigns: Sequence[int],
    *,
    number: int = 5,
    algorithm: str = "g1",
    draws: int = 20_000,
    within: float = 0.05,
) -> Figure:
    """The score of a constant algorithm over time under several weightings.

    Parameters
    ----------
    table
        Columns at; weighting ("raw", "p = 5", ..., "all items", in this order); value, low, high; exact.
    campaigns
        The days on which they began.
    number, algorithm, draws
        Of the figure; a key of DESCRIPTIONS; how many users were drawn each day.
    within
        What counts as stable: no day further from the first than this part of its score.
    """
    rows = table.to_pylist()
    names = list(dict.fromkeys(row["weighting"] for row in rows))
    strokes = weighting_strokes(names)
    span = fit_span([row[name] for row in rows for name in ("value", "exact")], HEIGHT + 40)
    across = _make_day_axis(rows)
    score = alt.Y("exact:Q", title=SCORE).scale(span.scale()).axis(_make_score_axis(span))
    lines = line_layer(rows, strokes, "weighting", x=across, y=score)
    base = alt.Chart(inline_data(rows)).encode(x=across, color=colour_by("weighting", strokes))
    dots = base.mark_point(filled=True, size=8, opacity=0.22).encode(y="value:Q")
    by_name = {name: sorted((r for r in rows if r["weighting"] == name), key=lambda r: r["at"]) for name in names}
    change = {name: own[-1]["exact"] / own[0]["exact"] - 1 for name, own in by_name.items()}
    first = by_name[RAW][0]
    labels = [
        Label(own[-1]["exact"], name, strokes[name].colour, name in (RAW, ALL), format_change(change[name]))
        for name, own in by_name.items()
    ]
    parts = (_mark_campaigns(campaigns), dots, level_rule(first["exact"]), lines, end_labels(labels, span, WIDTH))
    title = f"The score of {algorithm}, weighted"
    subtitle = (
        f"{DESCRIPTIONS.get(algorithm, algorithm)}. Lines: all pairs; dots: {thousands(draws)} users drawn each "
        f"day. p: the number of items that have a weight. Right: change since day {first['at']}. "
        f"{_mention_zero(span)}"
    )
    sentence = weighted_sentence(algorithm, by_name, within)
    chart: Any = alt.layer(*parts).properties(width=WIDTH, height=span.height)
    chart = apply_theme(chart, title, wrap_lines(subtitle, WIDTH + 130), sentence)
    return Figure(number, f"figure-{number}-{algorithm}-weighted", title, chart, sentence, table)


def _make_score_axis(span: Span) -> Any:
    return percent_axis(percent_digits(span.low, span.high))


def _find_ends(rows: list[dict[str, Any]]) -> tuple[int, int]:
    return min(row["at"] for row in rows), max(row["at"] for row in rows)


def _make_day_axis(rows: list[dict[str, Any]]) -> Any:
    return time_axis([row["at"] for row in rows], title="day")


def _mark_campaigns(campaigns: Sequence[int]) -> Any:
    return mark_events({day: f"campaign, day {day}" for day in campaigns})


def _mention_zero(span: Span) -> str:
    return "" if span.low <= 0 else "The axis does not start at zero."


def _draw_key(strokes: dict[str, Stroke]) -> Any:
    """The key of the lines, in one row: each with its name."""
    rows, x = [], 0.0
    for name, stroke in strokes.items():
        rows.append({"x": x, "end": x + 30, "name": name, "colour": stroke.colour})
        x += 30 + 8 + 6.3 * len(name) + 26
    base = alt.Chart(inline_data(rows)).encode(
        x=alt.X("x:Q", axis=None).scale(domain=[0, WIDTH], nice=False),
        y=alt.value(6),
    )
    lines = base.mark_rule().encode(
        x2="end:Q",
        color=colour_by("name", strokes),
        strokeDash=dash_by("name", strokes),
        strokeWidth=width_by("name", strokes),
    )
    words = base.mark_text(align="left", dx=38, fontSize=12, baseline="middle").encode(
        text="name:N", color=colour_by("name", strokes)
    )
    return alt.layer(lines, words).properties(width=WIDTH, height=12)
