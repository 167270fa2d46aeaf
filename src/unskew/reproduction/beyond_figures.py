"""Figures 7 and 8, beyond the paper: what weights cost, and algorithms that are not constant."""

from __future__ import annotations

from typing import Any

import altair as alt
import pyarrow as pa

from unskew.drawing.labels import Label, Span, end_labels, fit_span, log_ticks
from unskew.drawing.theme import (
    BLUE,
    GREEN,
    GREY,
    INK,
    NAVY,
    OCHRE,
    PALE,
    PURPLE,
    Stroke,
    apply_theme,
    colour_by,
    dash_by,
    inline_data,
    number_axis,
    percent_axis,
    percent_digits,
    shape_by,
    wrap_lines,
)
from unskew.reproduction.beyond_sentences import algorithms_sentence, cost_sentence
from unskew.reproduction.figure import Figure
from unskew.reproduction.phrases import METHOD_NAMES, format_number
from unskew.reproduction.weighting_strokes import RAW_COLOUR

MAIN = "scaling"
METHODS = {
    "descent": Stroke(OCHRE, (6, 3), shape="square"),
    "lbfgs": Stroke(PURPLE, (2, 2), shape="triangle-up"),
    MAIN: Stroke(NAVY, shape="diamond"),
}
MEASURES = {
    "seconds": ("time (s)", "s"),
    "passes": ("passes over the log", "passes"),
    "divergence": ("D (nats)", "nats"),
    "points": ("bound (score points)", "points"),
}
ROOM = 80
"""Pixels that the name of a method needs inside a panel."""
TRUTH = "truth"
ESTIMATES = {
    "raw": Stroke(RAW_COLOUR, shape="circle"),
    "item weights": Stroke(BLUE, shape="square"),
    "organic view": Stroke(GREEN, shape="triangle-up"),
    "organic view + item weights": Stroke(NAVY, shape="diamond"),
}
FAR = 8.0
"""An axis that spans this factor or more is one of orders of magnitude."""


def draw_cost(table: pa.Table) -> Figure:
    """What more weights cost and what they bring, in four panels over the number of weights.

    Parameters
    ----------
    table
        Columns p (the number of weights), method (a key of METHODS), items (p in words), passes, seconds,
        divergence, bound, least_bound (or null).
    """
    rows = [row | {"points": 100 * row["bound"]} for row in table.to_pylist()]
    panels = [_draw_cost_panel(rows, field) for field in MEASURES]
    grid: Any = alt.concat(*panels, columns=2, spacing=20, align="each")
    title = "What more weights cost, and what they bring"
    subtitle = (
        "Over the number p of items that have a weight (log scale). Above: cost; below: what remains between the "
        "item mixes. Diamond: all items at once, by scaling. Fits end at the default tolerance, 1e-4, or after "
        "2 000 passes"
    )
    sentence = cost_sentence(rows)
    chart = apply_theme(grid, title, wrap_lines(subtitle, 830), sentence)
    return Figure(7, "figure-7-cost", title, chart, sentence, table)


def _draw_cost_panel(rows: list[dict[str, Any]], field: str) -> Any:
    width, height, (title, unit) = 270, 180, MEASURES[field]
    least = [100 * row["least_bound"] for row in rows if field == "points" and row.get("least_bound")]
    values = [row[field] for row in rows] + least
    log = min(values) > 0 and max(values) / min(values) >= FAR
    span = fit_span(values, height, zero=not log, log=log)
    sizes = sorted({row["p"] for row in rows})
    names = {row["p"]: "all" for row in rows if row["items"] == "all items"}
    across = Span(sizes[0] / 1.25, sizes[-1] * 1.25, width, log=True)
    cases = " : ".join(f"datum.value == {p} ? '{name}'" for p, name in names.items())
    ticks = alt.Axis(
        values=sizes,
        labelExpr=f"{cases} : format(datum.value, 'd')" if cases else "format(datum.value, 'd')",
        title="p, number of weights" if field in ("divergence", "points") else None,
        labelOverlap="greedy",
        labelSeparation=4,
        labelFontSize=10.5,
    )
    axis = number_axis(log_ticks(span.low, span.high)) if log else number_axis()
    base = alt.Chart(inline_data(rows)).encode(
        x=alt.X("p:Q").scale(across.scale()).axis(ticks),
        y=alt.Y(f"{field}:Q", title=title + (", log scale" if log else "")).scale(span.scale()).axis(axis),
        color=colour_by("method", METHODS),
    )
    several = [row for row in rows if sum(r["method"] == row["method"] for r in rows) > 1]
    lines = base.properties(data=inline_data(several)).mark_line(strokeWidth=1.8)
    layers = [lines.encode(strokeDash=dash_by("method", METHODS))]
    for size, main in ((36, False), (170, True)):
        own = base.properties(data=inline_data(row for row in rows if (row["method"] == MAIN) == main))
        layers.append(
            own.mark_point(filled=True, opacity=1, size=size).encode(
                shape=shape_by("method", METHODS), tooltip=["method:N", "items:N", f"{field}:Q"]
            )
        )
    last = {row["method"]: row for row in sorted(rows, key=lambda row: row["p"])}
    groups: dict[float, list[Label]] = {}
    for method, row in last.items():
        end = width - across.pixel(row["p"])
        if end >= width - ROOM:  # there is no room before the last size
            end = width - across.pixel(sizes[-1])
        groups.setdefault(end, []).append(_make_cost_label(row, field, unit))
        if method == MAIN:
            groups[end] += [Label(v, f"least possible {format_number(v)}", GREY) for v in least]
    layers += [end_labels(labels, span, end, gap=13, reach=11) for end, labels in groups.items()]
    if least:
        edge = alt.Chart(inline_data({"p": p, "points": v} for v in least for p in names))
        layers.append(
            edge.mark_tick(color=GREY, thickness=2, size=22, orient="horizontal").encode(x="p:Q", y="points:Q")
        )
    return alt.layer(*layers).properties(width=width, height=height)


def _make_cost_label(row: dict[str, Any], field: str, unit: str) -> Label:
    main = row["method"] == MAIN
    text = METHOD_NAMES.get(row["method"], row["method"])
    text = f"{text} {format_number(row[field])} {unit}" if main else text
    return Label(row[field], text, METHODS[row["method"]].colour, bold=main)


def draw_algorithms(table: pa.Table) -> Figure:
    """Estimates of scores against the truth: a column for each question, a row for each metric.

    Parameters
    ----------
    table
        Columns recommender, metric, question, estimate (a key of ESTIMATES, or "truth"), value, low, high.
    """
    rows = table.to_pylist()
    metrics, questions = (list(dict.fromkeys(row[name] for row in rows)) for name in ("metric", "question"))
    places, groups = _place_estimates(rows)
    bands = []
    for metric in metrics:
        metric_rows = [row for row in rows if row["metric"] == metric]
        panels = [
            _draw_estimates(
                [
                    row | {"place": places[row["recommender"], row["estimate"]]}
                    for row in metric_rows
                    if row["question"] == q
                ],
                _make_score_axis(metric_rows, metric),
                places,
                groups,
                names=q == questions[0],
                title=q if metric == metrics[0] else "",
            )
            for q in questions
        ]
        bands.append(alt.hconcat(*panels, spacing=26))
    title = "Algorithms that are not constant: estimates against the truth"
    subtitle = (
        "Upright line: the truth of a simulated world, for each question its own. Shapes: estimates; the grey "
        "line between them is the error that remains. Both are drawn with their 95 % intervals. A row without a "
        "mark is not meant for that question"
    )
    sentence = algorithms_sentence(rows)
    chart: Any = alt.vconcat(*bands, spacing=24)
    chart = apply_theme(chart, title, wrap_lines(subtitle, 860), sentence)
    return Figure(8, "figure-8-algorithms", title, chart, sentence, table)


def _place_estimates(
    rows: list[dict[str, Any]],
) -> tuple[dict[tuple[str, str], float], dict[str, tuple[float, float]]]:
    """How far down each estimate of each algorithm stands; and the first and last place of each algorithm."""
    estimates = [name for name in ESTIMATES if any(row["estimate"] == name for row in rows)]
    places, groups, y = {}, {}, 0.0
    for name in dict.fromkeys(row["recommender"] for row in rows):
        groups[name] = (y + 1, y + len(estimates))
        for k, estimate in enumerate(estimates):
            places[name, estimate] = y + 1 + k
        places[name, TRUTH] = y + (1 + len(estimates)) / 2
        y += len(estimates) + 1.3
    return places, groups


def _make_score_axis(rows: list[dict[str, Any]], metric: str) -> Any:
    values = [row[name] for row in rows for name in ("low", "value", "high")]
    if min(values) > 0 and max(values) / min(values) >= FAR:
        span = fit_span(values, 1, log=True)
        axis = percent_axis(1 if span.low < 0.01 else 0, grid=True, values=log_ticks(span.low, span.high))
        return alt.X("value:Q", title=f"{metric} (log scale)").scale(span.scale()).axis(axis)
    span = fit_span(values, 1, zero=True)
    axis = percent_axis(percent_digits(span.low, span.high), grid=True)
    return alt.X("value:Q", title=metric).scale(span.scale()).axis(axis)


def _draw_estimates(
    rows: list[dict[str, Any]],
    x: Any,
    places: dict[tuple[str, str], float],
    groups: dict[str, tuple[float, float]],
    *,
    names: bool,
    title: str,
) -> Any:
    step, width = 17, 300
    bottom = max(places.values()) + 0.8
    y = alt.Y("place:Q", axis=None).scale(domain=[bottom, 0.2], nice=False, zero=False)
    known = {row["recommender"]: row for row in rows if row["estimate"] == TRUTH}
    truth = {name: row["value"] for name, row in known.items()}
    shown = [row | {"truth": truth.get(row["recommender"])} for row in rows if row["estimate"] != TRUTH]
    base = alt.Chart(inline_data(shown)).encode(y=y)
    colour = colour_by("estimate", ESTIMATES)
    errors = base.mark_rule(color="#b5b5b5", strokeWidth=1.2).encode(x=x, x2="truth:Q")
    intervals = base.mark_rule(strokeWidth=2.4, opacity=0.45).encode(x="low:Q", x2="high:Q", color=colour)
    marks = base.mark_point(filled=True, opacity=1, size=62).encode(
        x=x,
        color=colour,
        shape=shape_by("estimate", ESTIMATES),
        tooltip=["recommender:N", "estimate:N", "value:Q", "truth:Q"],
    )
    edges = [
        {"value": truth[name], "place": a - 0.55, "end": b + 0.55, **{k: known[name][k] for k in ("low", "high")}}
        for name, (a, b) in groups.items()
        if name in truth
    ]
    band = alt.Chart(inline_data(edges)).mark_rect(color=INK, opacity=0.12)
    band = band.encode(x="low:Q", x2="high:Q", y=y, y2="end:Q")
    upright = (
        alt.Chart(inline_data(edges)).mark_rule(color=INK, strokeWidth=2).encode(x="value:Q", y=y, y2="end:Q")
    )
    word = (
        alt.Chart(inline_data(edges[:1]))
        .mark_text(color=INK, fontSize=10.5, baseline="bottom", dy=-1, fontWeight="bold")
        .encode(x="value:Q", y=y, text=alt.value(TRUTH))
    )
    lines = [{"place": place, "name": e, "group": r} for (r, e), place in places.items() if e != TRUTH]
    rails = alt.Chart(inline_data(lines)).mark_rule(color=PALE, strokeWidth=0.8).encode(y=y)
    layers = [rails, band, errors, intervals, upright, marks, word]
    if names:
        layers.append(
            alt.Chart(inline_data(lines))
            .mark_text(align="right", fontSize=11.5)
            .encode(x=alt.value(-10), y=y, text="name:N", color=colour_by("name", ESTIMATES))
        )
        heads = [{"place": a - 0.95, "name": name} for name, (a, _) in groups.items()]
        layers.append(
            alt.Chart(inline_data(heads))
            .mark_text(align="right", fontSize=12.5, fontWeight="bold", color=INK)
            .encode(x=alt.value(-10), y=y, text="name:N")
        )
    if title:
        layers.append(
            alt.Chart(inline_data([{"name": title}]))
            .mark_text(align="left", fontSize=13, fontWeight="bold", color=INK)
            .encode(x=alt.value(0), y=alt.value(-26), text="name:N")
        )
    return alt.layer(*layers).properties(width=width, height=step * (bottom - 0.2))
