"""Figures beyond the paper: for each its table, its chart and what it says."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from importlib.util import find_spec
from operator import itemgetter
from typing import Any

import altair as alt
import pyarrow as pa

from unskew.drawing import theme
from unskew.drawing.theme import Label, Span, Stroke
from unskew.errors import ConvergenceWarning, warn
from unskew.evaluation.evaluate_one import rank_held_out
from unskew.progress import progress
from unskew.reproduction.figure import METHOD_NAMES, RAW_COLOUR, Figure, format_number, format_percent
from unskew.reproduction.study import DRAWS, FIRST, LAST, Study
from unskew.text import enumerate_words
from unskew.views.dropping import organic
from unskew.weights.fit_weights import fit_weights

COMPARABLE, FREE = f"comparable with day {FIRST}", "free of the campaigns"
"""The two questions that a score can answer; each has a truth of its own."""

METRICS = ("hit@5", "mrr@10")

ALGORITHMS = {
    "popular": "popular",
    "knn": "knn?neighbours=200&similarity=cooccurrence",
    "als": "als?factors=32&iterations=10",
}
"""The specs of what is scored, by their names in figures."""

_REPEATS = 3  # of a fit that is timed; the quickest counts


def cost_table(study: Study) -> pa.Table:
    """Figure 7: what fitting p weights costs on the last day, and what it reaches; all items at once beside it."""
    before, now = study.log.at(FIRST), study.log.at(LAST)
    rows = []
    for method in ("descent", "lbfgs"):
        for p in study.tops:
            progress().note(f"{p} weights by {method}")
            rows.append(_measure_fit(now, before, str(p), p, method))
    rows.append(_measure_fit(now, before, "all items", None, "scaling"))
    return pa.Table.from_pylist(rows)


def _measure_fit(now: Any, before: Any, label: str, p: int | None, method: str) -> dict[str, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # what was reached is what is shown
        fits = [fit_weights(now, before, top=p, method=method) for _ in range(_REPEATS)]
    fit, report = fits[0], fits[0].report
    return {
        "p": report.fitted,
        "method": method,
        "items": label,
        "passes": report.passes,
        "seconds": min(fit.report.seconds for fit in fits),
        "divergence": fit.divergence,
        "bound": fit.bound,
        "least_bound": report.bound_least if p is None else None,
        "status": fit.status,
    }


MAIN = "scaling"
FIT_STROKES = {
    "descent": Stroke(theme.OCHRE, (6, 3), shape="square"),
    "lbfgs": Stroke(theme.PURPLE, (2, 2), shape="triangle-up"),
    MAIN: Stroke(theme.NAVY, shape="diamond"),
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
    "item weights": Stroke(theme.BLUE, shape="square"),
    "organic view": Stroke(theme.GREEN, shape="triangle-up"),
    "organic view + item weights": Stroke(theme.NAVY, shape="diamond"),
}
FAR = 8.0
"""An axis that spans this factor or more is one of orders of magnitude."""


def draw_cost(table: pa.Table) -> Figure:
    """What more weights cost and what they bring, in four panels over the number of weights.

    - `table`: columns p (the number of weights), method (a key of FIT_STROKES), items (p in words), passes,
      seconds, divergence, bound, least_bound (or null).
    """
    rows = [row | {"points": 100 * row["bound"]} for row in table.to_pylist()]
    panels = [_draw_cost_panel(rows, field) for field in MEASURES]
    grid = alt.concat(*panels, columns=2, spacing=20, align="each")
    title = "What more weights cost, and what they bring"
    subtitle = (
        "Over the number p of items that have a weight (log scale). Above: cost; below: what remains between the "
        "item mixes. Diamond: all items at once, by scaling. Fits end at the default tolerance, 1e-4, or after "
        "2 000 passes"
    )
    return Figure.of(7, "figure-7-cost", table, grid, title, subtitle, cost_sentence(rows))


def _draw_cost_panel(rows: list[dict[str, Any]], field: str) -> Any:
    width, height, (title, unit) = 270, 180, MEASURES[field]
    least = [100 * row["least_bound"] for row in rows if field == "points" and row.get("least_bound")]
    values = [row[field] for row in rows] + least
    log = min(values) > 0 and max(values) / min(values) >= FAR
    span = theme.fit_span(values, height, zero=not log, log=log)
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
    axis = theme.number_axis(theme.log_ticks(span.low, span.high)) if log else theme.number_axis()
    base = theme.plot(rows).encode(
        x=alt.X("p:Q").scale(across.scale()).axis(ticks),
        y=alt.Y(f"{field}:Q", title=title + (", log scale" if log else "")).scale(span.scale()).axis(axis),
        color=theme.colour_by("method", FIT_STROKES),
    )
    several = [row for row in rows if sum(r["method"] == row["method"] for r in rows) > 1]
    lines = base.properties(data=theme.inline_data(several)).mark_line(strokeWidth=1.8)
    layers = [lines.encode(strokeDash=theme.dash_by("method", FIT_STROKES))]
    marked = base.encode(
        shape=theme.shape_by("method", FIT_STROKES), tooltip=["method:N", "items:N", f"{field}:Q"]
    )
    for size, main in ((36, False), (170, True)):
        points = marked.properties(data=theme.inline_data(row for row in rows if (row["method"] == MAIN) == main))
        layers.append(points.mark_point(filled=True, opacity=1, size=size))
    last = {row["method"]: row for row in sorted(rows, key=lambda row: row["p"])}
    groups: dict[float, list[Label]] = {}
    for method, row in last.items():
        end = width - across.pixel(row["p"])
        if end >= width - ROOM:  # there is no room before the last size
            end = width - across.pixel(sizes[-1])
        groups.setdefault(end, []).append(_make_cost_label(row, field, unit))
        if method == MAIN:
            groups[end] += [Label(v, f"least possible {format_number(v)}", theme.GREY) for v in least]
    layers += [theme.end_labels(labels, span, end, gap=13, reach=11) for end, labels in groups.items()]
    if least:
        edge = theme.plot({"p": p, "points": v} for v in least for p in names).encode(x="p:Q", y="points:Q")
        layers.append(edge.mark_tick(color=theme.GREY, thickness=2, size=22, orient="horizontal"))
    return alt.layer(*layers).properties(width=width, height=height)


def _make_cost_label(row: dict[str, Any], field: str, unit: str) -> Label:
    main = row["method"] == MAIN
    text = METHOD_NAMES.get(row["method"], row["method"])
    text = f"{text} {format_number(row[field])} {unit}" if main else text
    return Label(row[field], text, FIT_STROKES[row["method"]].colour, bold=main)


def cost_sentence(rows: list[dict[str, Any]]) -> str:
    """What p weights cost and reach, and what all items at once do."""
    parts = []
    for method in dict.fromkeys(row["method"] for row in rows):
        fits = sorted((row for row in rows if row["method"] == method), key=lambda row: row["p"])
        first, last, name = fits[0], fits[-1], METHOD_NAMES.get(method, method)
        before, after = (
            {key: format_number(row[key]) for key in ("seconds", "divergence", "points")} for row in (first, last)
        )
        if len(fits) > 1:
            parts.append(
                f"from p = {first['items']} to {last['items']}, {name} goes from {first['passes']} to "
                f"{last['passes']} passes ({before['seconds']} to {after['seconds']} s) and brings D from "
                f"{before['divergence']} to {after['divergence']} nats and the bound from {before['points']} to "
                f"{after['points']} score points"
            )
        else:
            least = last.get("least_bound")
            limit = "" if least is None else f", where no weighting can go below {format_number(100 * least)}"
            parts.append(
                f"{name} with weights on {last['items']} takes {last['passes']} passes ({after['seconds']} s) to "
                f"D = {after['divergence']} nats and a bound of {after['points']} points{limit}"
            )
    text = "; ".join(parts)
    return f"{text[:1].upper()}{text[1:]}."


def algorithms_table(study: Study, seed: int = 0) -> pa.Table:
    """Figure 8: algorithms that are not constant, raw and repaired, beside the truths of the two questions.

    A model is always fitted on the view that it is scored on.
    """
    views = {"all": study.log, "organic": organic(study.log), "truth": study.world.truth}
    weights = {name: fit_weights(log.at(LAST), log.at(FIRST)) for name, log in views.items()}
    rows: list[dict[str, Any]] = []
    for name, spec in ALGORITHMS.items():
        if name == "als" and find_spec("implicit") is None:
            warn("als is skipped; it needs pip install 'unskew[implicit]'")
            continue
        options: dict[str, Any] = {"metric": METRICS, "sample": DRAWS, "seed": seed}
        ranks = {
            view: rank_held_out(spec, log.at(LAST), weights=[None, weights[view]], **options)
            for view, log in views.items()
        }
        for metric in METRICS:
            for question, estimate, view, weighted in (
                (COMPARABLE, "raw", "all", False),
                (COMPARABLE, "item weights", "all", True),
                (COMPARABLE, "organic view + item weights", "organic", True),
                (COMPARABLE, "truth", "truth", True),
                (FREE, "raw", "all", False),
                (FREE, "organic view", "organic", False),
                (FREE, "truth", "truth", False),
            ):
                score = ranks[view].score(metric, weights[view] if weighted else None)
                row = {"recommender": name, "metric": metric, "question": question, "estimate": estimate}
                rows.append(row | {"value": score.value, "low": score.low, "high": score.high})
    return pa.Table.from_pylist(rows)


def draw_algorithms(table: pa.Table) -> Figure:
    """Estimates of scores against the truth: a column for each question, a row for each metric.

    - `table`: columns recommender, metric, question, estimate (a key of ESTIMATES, or "truth"), value, low, high.
    """
    rows = table.to_pylist()
    metrics, questions = (list(dict.fromkeys(row[name] for row in rows)) for name in ("metric", "question"))
    places, groups = _place_estimates(rows)
    rows = [row | {"place": places[row["recommender"], row["estimate"]]} for row in rows]
    bands = []
    for metric in metrics:
        metric_rows = [row for row in rows if row["metric"] == metric]
        axis = _make_score_axis(metric_rows, metric)
        panels = []
        for question in questions:
            shown = [row for row in metric_rows if row["question"] == question]
            title = question if metric == metrics[0] else ""
            panels.append(
                _draw_estimates(shown, axis, places, groups, names=question == questions[0], title=title)
            )
        bands.append(alt.hconcat(*panels, spacing=26))
    title = "Algorithms that are not constant: estimates against the truth"
    subtitle = (
        "Upright line: the truth of a simulated world, for each question its own. Shapes: estimates; the grey "
        "line between them is the error that remains. Both are drawn with their 95 % intervals. A row without a "
        "mark is not meant for that question"
    )
    chart = alt.vconcat(*bands, spacing=24)
    return Figure.of(8, "figure-8-algorithms", table, chart, title, subtitle, algorithms_sentence(rows))


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
    log = min(values) > 0 and max(values) / min(values) >= FAR
    span = theme.fit_span(values, 1, zero=not log, log=log)
    if log:
        metric = f"{metric} (log scale)"
        ticks = theme.log_ticks(span.low, span.high)
        axis = theme.percent_axis(1 if span.low < 0.01 else 0, grid=True, values=ticks)
    else:
        axis = theme.percent_axis(theme.percent_digits(span.low, span.high), grid=True)
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
    truths = {row["recommender"]: row for row in rows if row["estimate"] == TRUTH}
    estimates = [
        row | {"truth": truths.get(row["recommender"], {}).get("value")}
        for row in rows
        if row["estimate"] != TRUTH
    ]
    base = theme.plot(estimates).encode(y=y)
    colour = theme.colour_by("estimate", ESTIMATES)
    errors = base.mark_rule(color="#b5b5b5", strokeWidth=1.2).encode(x=x, x2="truth:Q")
    intervals = base.mark_rule(strokeWidth=2.4, opacity=0.45).encode(x="low:Q", x2="high:Q", color=colour)
    marks = base.mark_point(filled=True, opacity=1, size=62)
    marks = marks.encode(x=x, color=colour, shape=theme.shape_by("estimate", ESTIMATES))
    marks = marks.encode(tooltip=["recommender:N", "estimate:N", "value:Q", "truth:Q"])
    edges = [
        truths[name] | {"place": a - 0.55, "end": b + 0.55} for name, (a, b) in groups.items() if name in truths
    ]
    band = theme.plot(edges).mark_rect(color=theme.INK, opacity=0.12)
    band = band.encode(x="low:Q", x2="high:Q", y=y, y2="end:Q")
    upright = theme.plot(edges).mark_rule(color=theme.INK, strokeWidth=2).encode(x="value:Q", y=y, y2="end:Q")

    def write(rows: list[dict[str, Any]], x: Any, align: Any, size: float, **look: Any) -> Any:
        words = theme.plot(rows).mark_text(align=align, fontSize=size, **look)
        return words.encode(x=x, y=y, text="name:N")

    bold: dict[str, Any] = {"fontWeight": "bold", "color": theme.INK}
    word = write(edges[:1], "value:Q", "center", 10.5, baseline="bottom", dy=-1, **bold)
    lines = [{"place": place, "name": e, "group": r} for (r, e), place in places.items() if e != TRUTH]
    rails = theme.plot(lines).mark_rule(color=theme.PALE, strokeWidth=0.8).encode(y=y)
    layers = [rails, band, errors, intervals, upright, marks, word.encode(text=alt.value(TRUTH))]
    if names:
        colours = theme.colour_by("name", ESTIMATES)
        layers.append(write(lines, alt.value(-10), "right", 11.5).encode(color=colours))
        heads = [{"place": a - 0.95, "name": name} for name, (a, _) in groups.items()]
        layers.append(write(heads, alt.value(-10), "right", 12.5, **bold))
    if title:
        head = write([{"name": title}], alt.value(0), "left", 13, **bold)
        layers.append(head.encode(y=alt.value(-26)))
    return alt.layer(*layers).properties(width=width, height=step * (bottom - 0.2))


def algorithms_sentence(rows: list[dict[str, Any]]) -> str:
    """How far each estimate is from the truth of each question, over algorithms and metrics."""
    key = itemgetter("recommender", "metric", "question")
    truth = {key(row): row["value"] for row in rows if row["estimate"] == TRUTH}
    parts = []
    for question in dict.fromkeys(row["question"] for row in rows):
        errors: dict[str, list[float]] = {}
        for row in rows:
            if row["question"] == question and row["estimate"] != TRUTH and truth[key(row)] > 0:
                errors.setdefault(row["estimate"], []).append(abs(row["value"] / truth[key(row)] - 1))
        words = [f"{estimate} by {_describe_range(shares)}" for estimate, shares in errors.items()]
        parts.append(f"{question}: {enumerate_words(words)}")
    text = "; ".join(parts)
    return f"How far the estimates are from the truth, as a part of it. {text[:1].upper()}{text[1:]}."


def _describe_range(shares: Sequence[float]) -> str:
    low, high = format_percent(min(shares), 0), format_percent(max(shares), 0)
    return high if low == high else f"{low.removesuffix(' %')} to {high}"
