"""A timeline as sections of a page: scores over time and shares of items, with lines that can be switched off."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from unskew.data.time_windows import Windows
from unskew.drawing.page import Line, Section, Toggles
from unskew.drawing.theme import GREY, SOLID, adapt_chart, assign_strokes
from unskew.evaluation.score_names import name_other_end
from unskew.over_time.timeline_chart import (
    DASH,
    DOTS,
    RAW,
    draw_item_shares,
    draw_scores,
    label_items,
    list_series,
    metrics_of,
    place_windows,
    recommenders_of,
)
from unskew.text import percent, shorten_spec, show_name, thousands

if TYPE_CHECKING:
    from unskew.over_time.timeline_table import Timeline


_LINES = (
    "dashed lines without item weights, solid lines re-weighted to the item mix of the reference date. Bands are "
    "intervals."
)
_BOX_DASHES = {SOLID: "", DASH: "6 4", DOTS: "2 3"}


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
    view = timeline.options.get("view", "all")
    where = "on the log as it is" if view == "all" else f"on the view “{view}” of the log"
    lines = f"{where}, {_LINES}" if timeline.other_end is None else _describe_ends(timeline.other_end)
    if view in ("adjusted", "thinned", "kept"):  # in which chance decides
        drawn += " These are of one draw of the view; scores elsewhere on this page are means over several."
    span = f"at {thousands(len(dates))} dates from {dates[0]} to {dates[-1]}"
    text = f"The scores {span}: {lines}{shaded}{drawn} Point at a line for its values."
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
    for row in list_series(timeline, metric):
        if row["top"] is None:
            ends.setdefault((show_name(row["recommender"], 28), row["kind"]), []).append(row["value"])
    told = [f"{name}, {kind}: {percent(v[0])} to {percent(v[-1])}" for (name, kind), v in ends.items()]
    return f"{'; '.join(told)}."


def _describe_ends(end: Mapping[str, Any]) -> str:
    """The lines and bands of a timeline of both ends of the range, in sentences."""
    since = end["since"]
    lines = (
        f"solid lines of the log as it is, dashed lines {name_other_end(since)}, both re-weighted to the "
        "item mix of the reference date. Bands reach from the one to the other; the range of the verdict can be "
        "wider, since it has more stand-ins for production."
    )
    if end["stand_in"] is None:
        return f"{lines} No stand-in for production explains interactions since {since}: both ends are equal."
    return (
        f"{lines} The other end drops {percent(end['share'], 0)} of the interactions since {since}: those by "
        f"which they agree more with {show_name(shorten_spec(end['stand_in']))}, a stand-in for production, than "
        "interactions before it did."
    )


def _make_toggles(timeline: Timeline, metric: str) -> Sequence[Toggles]:
    dashes = {row["kind"]: row["dash"] for row in list_series(timeline, metric)}
    return [
        Toggles("Recommenders", _make_lines(recommenders_of(timeline))),
        Toggles("Kinds", [Line(kind, GREY, _BOX_DASHES[dash]) for kind, dash in dashes.items()]),
    ]


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
