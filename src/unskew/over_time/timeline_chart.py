"""A timeline as charts: scores over time, as logged and re-weighted, and the shares of items."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from unskew.data.time_windows import Windows, read_windows
from unskew.data.times import Label, TimeAxis
from unskew.drawing.theme import SOLID, apply_theme, assign_strokes
from unskew.drawing.time_charts import draw_lines_over_time
from unskew.errors import InputError, option
from unskew.evaluation.score_names import AS_LOGGED, REWEIGHTED, name_kind, name_other_end
from unskew.text import percent, show_name

if TYPE_CHECKING:
    from unskew.over_time.timeline_table import Timeline

Row = dict[str, Any]

RAW = "raw"
DASH, DOTS = (5, 3), (2, 2)


def plot_timeline(timeline: Timeline, metric: str | None, *, campaigns: Windows, names: Mapping[Any, str]) -> Any:
    """The chart of each metric, or of one; then that of the items, if their shares were recorded."""
    import altair as alt

    metrics = metrics_of(timeline)
    if metric is not None and metric not in metrics:
        raise InputError(f"{option('metric')} is {metric!r}; the timeline has {', '.join(metrics)}")
    windows = place_windows(timeline.dates, campaigns)
    charts = [
        draw_scores(timeline, one, windows).properties(title=one)
        for one in (metrics if metric is None else [metric])
    ]
    if metric is None and len(timeline.probabilities):
        charts.append(draw_item_shares(timeline, windows, names).properties(title="share of the item mix"))
    reference = str(timeline.options.get("reference", "")).partition(" ")[0]
    lines = ["Dashed: no item weights; solid: re-weighted to the item mix of the reference date; bands: intervals"]
    if timeline.other_end is not None:
        lines = ["Re-weighted to the item mix of the reference date; bands: the range from one end to the other"]
    whole = charts[0]
    if len(charts) > 1:
        own: Any = dict.fromkeys(("color", "shape", "strokeDash", "strokeWidth"), "independent")
        whole = alt.vconcat(*charts, spacing=26).resolve_scale(**own)
    return apply_theme(whole, f"Scores over time, compared with {reference}", lines)


def metrics_of(timeline: Timeline) -> list[str]:
    """The metrics that were scored, in their order."""
    found: list[str] = timeline.rows.column("metric").unique().to_pylist()
    return found


def recommenders_of(timeline: Timeline) -> list[str]:
    """The recommenders that were scored, in their order."""
    found: list[str] = timeline.rows.column("recommender").unique().to_pylist()
    return found


def draw_scores(timeline: Timeline, metric: str, windows: Sequence[Row], *, legend: bool = True) -> Any:
    """The scores of one metric: a colour for each recommender, a dash for each kind of score.

    Bands are intervals or, in a timeline of both ends of the range, reach from one end to the other.
    """
    rows = list_series(timeline, metric)
    other = {(row["at"], row["recommender"]): row["value"] for row in rows if row["view"] != "all"}
    share = all(0 <= row["value"] <= 1 for row in rows)  # a metric of one's own may have other limits
    drawn = [
        {
            "at": row["at"],
            "name": show_name(row["recommender"]),
            "kind": row["kind"],
            "value": row["value"],
            **_find_band(row, other if timeline.other_end else None),
            "shown": _write_score(row, share),
        }
        for row in rows
    ]
    dashes = {row["kind"]: row["dash"] for row in rows}
    kinds = dict(sorted(dashes.items(), key=lambda kind: kind[1] == SOLID))  # which is drawn last
    strokes = assign_strokes(show_name(name) for name in recommenders_of(timeline))
    is_weighted = all(row["weighting"] != RAW for row in rows)
    title = f"{REWEIGHTED} score ({metric})" if is_weighted else f"score ({metric})"
    return draw_lines_over_time(
        drawn, strokes, title=title, kinds=kinds, windows=windows, percent=share, legend=legend
    )


def list_series(timeline: Timeline, metric: str) -> list[Row]:
    """The rows of one metric that are drawn, each with the `kind` of its line and its `dash`.

    Of a timeline of both ends of the range these are the scores re-weighted by all items, or the raw ones of a
    metric that has no others.
    """
    rows = [row for row in timeline.rows.to_pylist() if row["metric"] == metric]
    if timeline.other_end is None:
        return [
            {**row, "kind": name_kind(row["weighting"], row["top"], row["view"]), "dash": _find_dash(row)}
            for row in rows
        ]
    weighted = [row for row in rows if row["weighting"] != RAW and row["top"] is None]
    other = {"kind": name_other_end(timeline.other_end["since"]), "dash": DASH}
    logged = {"kind": REWEIGHTED if weighted else AS_LOGGED, "dash": SOLID}
    return [{**row, **(logged if row["view"] == "all" else other)} for row in weighted or rows]


def draw_item_shares(
    timeline: Timeline, windows: Sequence[Row], names: Mapping[Any, str], *, legend: bool = True
) -> Any:
    """The raw share of each recorded item in the item mix."""
    rows = [row for row in timeline.probabilities.to_pylist() if row["weighting"] == RAW]
    labels = label_items(dict.fromkeys(row["item"] for row in rows), names)
    drawn = [
        {
            "at": row["at"],
            "name": labels[row["item"]],
            "kind": RAW,
            "value": row["probability"],
            "low": None,
            "high": None,
            "shown": percent(row["probability"], 3),
        }
        for row in rows
    ]
    strokes = assign_strokes(labels.values())
    return draw_lines_over_time(
        drawn, strokes, title="share of the item mix", windows=windows, log=True, legend=legend
    )


def label_items(items: Mapping[Any, Any], names: Mapping[Any, str]) -> dict[Any, str]:
    """A label for each item: its name, and its id as well where two would have the same."""
    labels = {item: show_name(names.get(item, item), 36) for item in items}
    seen: dict[str, int] = {}
    for label in labels.values():
        seen[label] = seen.get(label, 0) + 1
    return {
        item: label if seen[label] == 1 else f"{label} ({show_name(item, 20)})" for item, label in labels.items()
    }


def place_windows(dates: Sequence[Label], campaigns: Windows) -> list[Row]:
    """Windows of time as charts take them; each is called by its number where there are several."""
    axis = TimeAxis("datetime", "us") if any(isinstance(date, str) for date in dates) else TimeAxis("float")
    found = read_windows(axis, campaigns)
    return [
        {"start": one.first, "end": one.last, "name": "campaign" if len(found) == 1 else f"campaign {k}"}
        for k, one in enumerate(found, start=1)
    ]


def _find_dash(row: Row) -> tuple[int, ...]:
    return DASH if row["weighting"] == RAW else SOLID if row["top"] is None else DOTS


def _find_band(row: Row, other: Mapping[tuple[Label, str], float] | None) -> Row:
    """From where to where the band of a score reaches: its interval or, as logged, to its `other` end."""
    if other is None:
        return {end: None if math.isnan(row[end]) else row[end] for end in ("low", "high")}
    opposite = other.get((row["at"], row["recommender"])) if row["view"] == "all" else None
    return {"low": None if opposite is None else row["value"], "high": opposite}


def _write_score(row: Row, share: bool) -> str:
    if math.isnan(row["low"]):
        return percent(row["value"]) if share else f"{row['value']:.4g}"
    low, high = row["low"], row["high"]
    if share:
        return f"{percent(row['value'])} [{100 * low:.2f}, {100 * high:.2f}]"
    return f"{row['value']:.4g} [{low:.4g}, {high:.4g}]"
