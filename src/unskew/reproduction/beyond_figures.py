"""Figures beyond the paper: for each its table, its chart and what it says."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

import altair as alt
import pyarrow as pa

from unskew.data.log import Log
from unskew.drawing.theme import (
    BLUE,
    GREEN,
    GREY,
    INK,
    NAVY,
    OCHRE,
    PALE,
    PURPLE,
    Label,
    Span,
    Stroke,
    apply_theme,
    colour_by,
    dash_by,
    end_labels,
    fit_span,
    inline_data,
    log_ticks,
    number_axis,
    percent_axis,
    percent_digits,
    shape_by,
    wrap_lines,
)
from unskew.errors import ConvergenceWarning, warn
from unskew.evaluation.evaluate_one import rank_held_out
from unskew.evaluation.held_out_ranks import HeldOutRanks
from unskew.progress import progress
from unskew.reproduction.figure import (
    METHOD_NAMES,
    RAW_COLOUR,
    Figure,
    format_number,
    format_percent,
)
from unskew.reproduction.study import DRAWS, FIRST, LAST, Study
from unskew.text import enumerate_words
from unskew.views.dropping import organic
from unskew.weights.fit_weights import fit_weights
from unskew.weights.item_weights import ItemWeights

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
    first_fit = fits[0]
    return {
        "p": first_fit.report.fitted,
        "method": method,
        "items": label,
        "passes": first_fit.report.passes,
        "seconds": min(fit.report.seconds for fit in fits),
        "divergence": first_fit.divergence,
        "bound": first_fit.bound,
        "least_bound": first_fit.report.bound_least if p is None else None,
        "status": first_fit.status,
    }


MAIN = "scaling"
FIT_STROKES = {
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

    - `table`: columns p (the number of weights), method (a key of FIT_STROKES), items (p in words), passes,
      seconds, divergence, bound, least_bound (or null).
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
        color=colour_by("method", FIT_STROKES),
    )
    several = [row for row in rows if sum(r["method"] == row["method"] for r in rows) > 1]
    lines = base.properties(data=inline_data(several)).mark_line(strokeWidth=1.8)
    layers = [lines.encode(strokeDash=dash_by("method", FIT_STROKES))]
    for size, main in ((36, False), (170, True)):
        points = base.properties(data=inline_data(row for row in rows if (row["method"] == MAIN) == main))
        layers.append(
            points.mark_point(filled=True, opacity=1, size=size).encode(
                shape=shape_by("method", FIT_STROKES), tooltip=["method:N", "items:N", f"{field}:Q"]
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
    return Label(row[field], text, FIT_STROKES[row["method"]].colour, bold=main)


def cost_sentence(rows: list[dict[str, Any]]) -> str:
    """What p weights cost and reach, and what all items at once do."""
    parts = []
    for method in dict.fromkeys(row["method"] for row in rows):
        fits = sorted((row for row in rows if row["method"] == method), key=lambda row: row["p"])
        first, last, name = fits[0], fits[-1], METHOD_NAMES.get(method, method)
        if len(fits) > 1:
            start, end = _cost_numbers(first), _cost_numbers(last)
            parts.append(
                f"from p = {first['items']} to {last['items']}, {name} goes from {first['passes']} to "
                f"{last['passes']} passes ({start['seconds']} to {end['seconds']} s) and brings D from "
                f"{start['divergence']} to {end['divergence']} nats and the bound from {start['points']} to "
                f"{end['points']} score points"
            )
        else:
            least = last.get("least_bound")
            known = "" if least is None else f", where no weighting can go below {format_number(100 * least)}"
            end = _cost_numbers(last)
            parts.append(
                f"{name} with weights on {last['items']} takes {last['passes']} passes ({end['seconds']} s) to "
                f"D = {end['divergence']} nats and a bound of {end['points']} points{known}"
            )
    text = "; ".join(parts)
    return f"{text[:1].upper()}{text[1:]}."


def _cost_numbers(row: dict[str, Any]) -> dict[str, str]:
    numbers = {"seconds": row["seconds"], "divergence": row["divergence"], "points": 100 * row["bound"]}
    return {name: format_number(number) for name, number in numbers.items()}


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
        ranks = {view: _rank(spec, log, weights[view], seed) for view, log in views.items()}
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
                rows.append(
                    {
                        "recommender": name,
                        "metric": metric,
                        "question": question,
                        "estimate": estimate,
                        "value": score.value,
                        "low": score.low,
                        "high": score.high,
                    }
                )
    return pa.Table.from_pylist(rows)


def _rank(spec: str, log: Log, weights: ItemWeights, seed: int) -> HeldOutRanks:
    return rank_held_out(spec, log.at(LAST), metric=METRICS, weights=[None, weights], sample=DRAWS, seed=seed)


def draw_algorithms(table: pa.Table) -> Figure:
    """Estimates of scores against the truth: a column for each question, a row for each metric.

    - `table`: columns recommender, metric, question, estimate (a key of ESTIMATES, or "truth"), value, low, high.
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


def algorithms_sentence(rows: list[dict[str, Any]]) -> str:
    """How far each estimate is from the truth of each question, over algorithms and metrics."""
    truth = {_truth_key(row): row["value"] for row in rows if row["estimate"] == "truth"}
    parts = []
    for question in dict.fromkeys(row["question"] for row in rows):
        estimates = [row for row in rows if row["question"] == question and row["estimate"] != "truth"]
        errors = []
        for estimate in dict.fromkeys(row["estimate"] for row in estimates):
            known = [row for row in estimates if row["estimate"] == estimate and truth[_truth_key(row)] > 0]
            off = [abs(row["value"] / truth[_truth_key(row)] - 1) for row in known]
            errors += [f"{estimate} by {_describe_range(off)}"] if off else []
        parts.append(f"{question}: {enumerate_words(errors)}")
    text = "; ".join(parts)
    return f"How far the estimates are from the truth, as a part of it. {text[:1].upper()}{text[1:]}."


def _truth_key(row: dict[str, Any]) -> tuple[str, str, str]:
    return row["recommender"], row["metric"], row["question"]


def _describe_range(shares: Sequence[float]) -> str:
    low, high = format_percent(min(shares), 0), format_percent(max(shares), 0)
    return high if low == high else f"{low.removesuffix(' %')} to {high}"
