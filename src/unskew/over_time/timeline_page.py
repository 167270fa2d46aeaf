"""A timeline as sections of a page: scores over time and shares of items, with lines that can be switched off."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from unskew.data.time_windows import Windows
from unskew.drawing.page import Line, Section, Toggles
from unskew.drawing.theme import GREY, adapt_chart, assign_strokes
from unskew.over_time.timeline_chart import (
    RAW,
    draw_item_shares,
    draw_scores,
    label_items,
    metrics_of,
    place_windows,
    recommenders_of,
)
from unskew.show.score_names import name_kind
from unskew.text import percent, show_name, thousands

if TYPE_CHECKING:
    from unskew.over_time.timeline_table import Timeline


def timeline_sections(timeline: Timeline, *, campaigns: Windows, names: Mapping[Any, str]) -> list[Section]:
    """A chart for each metric, then one of the items whose shares were recorded."""
    windows = place_windows(timeline.dates, campaigns)
    shaded = " Shaded: campaigns." if windows else ""
    dates, sample = timeline.dates, timeline.options.get("sample")
    drawn = (
        f" At each date {thousands(sample)} held-out pairs were drawn for these charts alone: a score that stands "
        "elsewhere comes from other draws, and differs by chance, within its interval."
        if sample
        else ""
    )
    views = [view for view in timeline.rows.column("view").unique().to_pylist() if view != "all"]
    where = f"on the view “{views[0]}” of the log" if views else "on the log as it is"
    text = (
        f"The scores {where} at {thousands(len(dates))} dates from {dates[0]} to {dates[-1]}: dashed lines "
        "without item weights, solid lines re-weighted to the item mix of the reference date. Bands are intervals."
        f"{shaded}{drawn} Point at a line for its values."
    )
    found = [Section("Scores over time", text, anchor="time")]
    for metric in metrics_of(timeline):
        chart = adapt_chart(draw_scores(timeline, metric, windows, legend=False))
        caption = describe_series(timeline, metric)
        toggles = _make_toggles(timeline, metric)
        found.append(Section(metric, "", chart, level=3, caption=caption, adapts=True, toggles=toggles))
    if len(timeline.probabilities):
        items = dict.fromkeys(timeline.probabilities.column("item").to_pylist())
        labels = label_items(items, names)
        text = f"The items whose share of the item mix changed most, {where}."
        chart = adapt_chart(draw_item_shares(timeline, windows, names, legend=False))
        found.append(
            Section(
                "Shares of items over time",
                text,
                chart,
                anchor="shares",
                caption=_describe_items(timeline, labels),
                adapts=True,
                toggles=[Toggles("Items", _make_lines(labels.values()))],
            )
        )
    return found


def describe_series(timeline: Timeline, metric: str) -> str:
    """From where to where each line goes, in words."""
    ends: dict[tuple[str, str], list[float]] = {}
    for row in timeline.rows.to_pylist():
        if row["metric"] == metric and row["top"] is None:
            kind = name_kind(row["weighting"], None, row["view"])
            ends.setdefault((show_name(row["recommender"], 28), kind), []).append(row["value"])
    told = [f"{name}, {kind}: {percent(v[0])} to {percent(v[-1])}" for (name, kind), v in ends.items()]
    return f"{'; '.join(told)}."


def _make_toggles(timeline: Timeline, metric: str) -> Sequence[Toggles]:
    rows = timeline.rows.to_pylist()
    kinds = {name_kind(r["weighting"], r["top"], r["view"]): r for r in rows if r["metric"] == metric}
    return [
        Toggles("Recommenders", _make_lines(recommenders_of(timeline))),
        Toggles("Kinds", [Line(kind, GREY, _dash(row)) for kind, row in kinds.items()]),
    ]


def _dash(row: Mapping[str, Any]) -> str:
    return "6 4" if row["weighting"] == RAW else "" if row["top"] is None else "2 3"


def _make_lines(names: Iterable[str]) -> list[Line]:
    strokes = assign_strokes(map(show_name, names))
    return [Line(name, stroke.colour, shape=stroke.shape) for name, stroke in strokes.items()]


def _describe_items(timeline: Timeline, labels: Mapping[Any, str]) -> str:
    ends: dict[Any, list[float]] = {}
    for row in timeline.probabilities.to_pylist():
        if row["weighting"] == RAW:
            ends.setdefault(row["item"], []).append(row["probability"])
    told = [f"{labels[item]}: {percent(v[0], 3)} to {percent(v[-1], 3)}" for item, v in ends.items()]
    return f"{'; '.join(told)}."
