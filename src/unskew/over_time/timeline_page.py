"""A timeline as charts and as a page: scores over time, as logged and re-weighted, and the shares of items.

Lines can be switched off on the page. The page of a saved timeline has no log beside it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from unskew.data.times import Label, TimeAxis, Windows, read_windows
from unskew.drawing.page import Line, Section, Toggles
from unskew.drawing.theme import GREY, SOLID, adapt_chart, apply_theme, assign_strokes
from unskew.drawing.time_charts import draw_lines_over_time
from unskew.errors import InputError, option
from unskew.evaluation.score import AS_LOGGED, REWEIGHTED, name_kind, name_other_end
from unskew.show.report_page import ReportPage
from unskew.show.report_sections import describe_making
from unskew.show.report_words import WHY_MIX, bias_words, explain_metric
from unskew.text import group_rows, percent, shorten_spec, show_name, thousands

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
        raise InputError(
            f"{option('metric')} is {metric!r}; the timeline has {', '.join(metrics)}",
            remedy="choose one of these",
        )
    windows = place_windows(timeline.dates, campaigns)
    charts = [
        draw_scores(timeline, name, windows).properties(title=name)
        for name in (metrics if metric is None else [metric])
    ]
    if metric is None and len(timeline.probabilities):
        charts.append(draw_item_shares(timeline, windows, names).properties(title="share of the item mix"))
    lines = ["Dashed: no item weights; solid: re-weighted to the item mix of the reference date; bands: intervals"]
    if timeline.other_end is not None:
        lines = ["Re-weighted to the item mix of the reference date; bands: the range from one end to the other"]
    whole = charts[0]
    if len(charts) > 1:
        scales: Any = dict.fromkeys(("color", "shape", "strokeDash", "strokeWidth"), "independent")
        whole = alt.vconcat(*charts, spacing=26).resolve_scale(**scales)
    return apply_theme(whole, f"Scores over time, compared with {_name_reference(timeline)}", lines)


def _name_reference(timeline: Timeline) -> str:
    return str(timeline.options.get("reference", "")).partition(" ")[0]


def metrics_of(timeline: Timeline) -> list[str]:
    """The metrics that were scored, in their order."""
    names: list[str] = timeline.rows.column("metric").unique().to_pylist()
    return names


def recommenders_of(timeline: Timeline) -> list[str]:
    """The recommenders that were scored, in their order."""
    names: list[str] = timeline.rows.column("recommender").unique().to_pylist()
    return names


def draw_scores(timeline: Timeline, metric: str, windows: Sequence[Row], *, legend: bool = True) -> Any:
    """The scores of one metric: a colour for each recommender, a dash for each kind of score.

    Bands are intervals or, in a timeline of both ends of the range, reach from one end to the other.
    """
    rows = list_series(timeline, metric)
    other = {(row["at"], row["recommender"]): row["value"] for row in rows if row["view"] != "all"}
    share = all(0 <= row["value"] <= 1 for row in rows)  # a metric of one's own may have other limits
    drawn = []
    for row in rows:
        figures = {"value": row["value"], **_find_band(row, other if timeline.other_end else None)}
        names = {"at": row["at"], "name": show_name(row["recommender"]), "kind": row["kind"]}
        drawn.append({**names, **figures, "shown": _write_score(row, share)})
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
        for row in rows:
            row["kind"] = name_kind(row["weighting"], row["top"], row["view"])
            row["dash"] = DASH if row["weighting"] == RAW else SOLID if row["top"] is None else DOTS
        return rows
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
    drawn = []
    for row in rows:
        figures = {"value": row["probability"], "low": None, "high": None}
        words = {"name": labels[row["item"]], "kind": RAW, "shown": percent(row["probability"], 3)}
        drawn.append({"at": row["at"], **figures, **words})
    strokes = assign_strokes(labels.values())
    return draw_lines_over_time(
        drawn, strokes, title="share of the item mix", windows=windows, log=True, legend=legend
    )


def label_items(items: Mapping[Any, Any], names: Mapping[Any, str]) -> dict[Any, str]:
    """A label for each item: its name, and its id as well where two would have the same."""
    labels = {item: show_name(names.get(item, item), 36) for item in items}
    uses = Counter(labels.values())
    return {
        item: label if uses[label] == 1 else f"{label} ({show_name(item, 20)})" for item, label in labels.items()
    }


def place_windows(dates: Sequence[Label], campaigns: Windows) -> list[Row]:
    """Windows of time as charts take them; each is called by its number where there are several."""
    axis = TimeAxis("datetime", "us") if any(isinstance(date, str) for date in dates) else TimeAxis("float")
    windows = read_windows(axis, campaigns)
    return [
        {"start": window.first, "end": window.last, "name": "campaign" if len(windows) == 1 else f"campaign {k}"}
        for k, window in enumerate(windows, start=1)
    ]


def _find_band(row: Row, other: Mapping[tuple[Label, str], float] | None) -> Row:
    """From where to where the band of a score reaches: its interval or, as logged, to its `other` end."""
    if other is None:
        return {end: None if math.isnan(row[end]) else row[end] for end in ("low", "high")}
    opposite = other.get((row["at"], row["recommender"])) if row["view"] == "all" else None
    return {"low": None if opposite is None else row["value"], "high": opposite}


def _write_score(row: Row, share: bool) -> str:
    text = percent(row["value"]) if share else f"{row['value']:.4g}"
    limits = (f"{100 * row[end]:.2f}" if share else f"{row[end]:.4g}" for end in ("low", "high"))
    return text if math.isnan(row["low"]) else f"{text} [{', '.join(limits)}]"


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
    sections = [Section("Scores over time", text, anchor="time")]
    for metric in metrics_of(timeline):
        chart = adapt_chart(draw_scores(timeline, metric, windows, legend=False))
        caption = describe_series(timeline, metric)
        dashes = {row["kind"]: row["dash"] for row in list_series(timeline, metric)}
        kinds = [Line(kind, GREY, _BOX_DASHES[dash]) for kind, dash in dashes.items()]
        toggles = [Toggles("Recommenders", _make_lines(recommenders_of(timeline))), Toggles("Kinds", kinds)]
        sections.append(Section(metric, "", chart, level=3, caption=caption, adapts=True, toggles=toggles))
    if len(timeline.probabilities):
        items = dict.fromkeys(timeline.probabilities.column("item").to_pylist())
        labels = label_items(items, names)
        text = f"The items whose share of the item mix changed most, {where}."
        chart = adapt_chart(draw_item_shares(timeline, windows, names, legend=False))
        caption, toggles = _describe_items(timeline, labels), [Toggles("Items", _make_lines(labels.values()))]
        look: Any = {"anchor": "shares", "caption": caption, "toggles": toggles, "adapts": True}
        sections.append(Section("Shares of items over time", text, chart, **look))
    return sections


def describe_series(timeline: Timeline, metric: str) -> str:
    """From where to where each line goes, in words."""
    rows = [row for row in list_series(timeline, metric) if row["top"] is None]
    spans = [
        f"{show_name(name, 28)}, {kind}: {percent(line[0]['value'])} to {percent(line[-1]['value'])}"
        for (name, kind), line in group_rows(rows, ("recommender", "kind"))
    ]
    return f"{'; '.join(spans)}."


def _describe_ends(end: Mapping[str, Any]) -> str:
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


def _make_lines(names: Iterable[str]) -> list[Line]:
    strokes = assign_strokes(map(show_name, names))
    return [Line(name, stroke.colour, shape=stroke.shape) for name, stroke in strokes.items()]


def _describe_items(timeline: Timeline, labels: Mapping[Any, str]) -> str:
    rows = [row for row in timeline.probabilities.to_pylist() if row["weighting"] == RAW]
    spans = [
        f"{labels[item]}: {percent(line[0]['probability'], 3)} to {percent(line[-1]['probability'], 3)}"
        for (item,), line in group_rows(rows, ["item"])
    ]
    return f"{'; '.join(spans)}."


def make_timeline_page(
    timeline: Timeline, *, campaigns: Windows = (), names: Mapping[Any, str] | None = None, command: str = ""
) -> ReportPage:
    """The scores over time, and what can be said without the log: no split of changes, and no weights."""
    metric = metrics_of(timeline)[0]
    answer = Section(
        "The answer",
        f"{explain_metric(metric)}\n\nThis page is made from a saved timeline. A report on the log itself also "
        "says how sure a change is and what it comes from.",
        anchor="answer",
    )
    cards = [
        Section(headline, text, tone="answer", level=3) for headline, text in _describe_changes(timeline, metric)
    ]
    cards.append(Section("What the data cannot tell", "", level=3, notes=_describe_limits(timeline)))
    options = [
        (name, _write(value)) for name, value in timeline.settings.items() if value not in (None, [], "", False)
    ]
    warnings = []
    if not timeline.complete:
        warnings.append("the timeline is not complete: some of the dates that were asked for are missing")
    if timeline.unfinished:
        warnings.append(
            f"at {len(timeline.unfinished)} of {len(timeline.dates)} dates a fit ran out of passes; the first is "
            f"{timeline.unfinished[0]}"
        )
    return ReportPage(
        report=None,
        answers=[answer, *cards],
        over_time=timeline.page_sections(campaigns=campaigns, names=names),
        made=[describe_making(options, command)],
        warnings=warnings,
        names=names or {},
        title=f"Offline scores over time, compared with {_name_reference(timeline)}",
    )


def _describe_limits(timeline: Timeline) -> list[str]:
    """What may still be in the scores; a timeline does not know which of its recommenders are constant lists."""
    learn = [name for name in recommenders_of(timeline) if not name.startswith("constant:")]
    return [*([bias_words(list(map(show_name, learn)))] if learn else []), WHY_MIX]


def _write(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_write(part)}" for name, part in value.items())
    return ", ".join(map(_write, value)) if isinstance(value, list | tuple) else str(value)


def _describe_changes(timeline: Timeline, metric: str) -> list[tuple[str, str]]:
    """From the first date to the last: how far each recommender's score moved, as logged and re-weighted."""
    view = timeline.options.get("view", "all")
    series: dict[str, dict[str, list[Any]]] = {}
    for row in timeline.rows.to_pylist():
        if row["metric"] == metric and row["top"] is None:
            kind = row["weighting"] if row["view"] == view else f"other {row['weighting']}"
            series.setdefault(row["recommender"], {}).setdefault(kind, []).append(row)
    changes = []
    for name, by_weighting in series.items():
        raw, weighted = by_weighting["raw"], by_weighting.get("weighted", [])
        moved = raw[-1]["value"] - raw[0]["value"]
        more = "more" if moved > 0 else "less"
        headline = (
            f"{show_name(name)} scores {100 * abs(moved):.2f} points {more} at {raw[-1]['at']} than at "
            f"{raw[0]['at']}: {percent(raw[0]['value'])} then, {percent(raw[-1]['value'])} now."
        )
        text = ""
        if weighted:
            left = weighted[-1]["value"] - weighted[0]["value"]
            text = (
                f"Re-weighted to the item mix of the reference date, the change is {100 * left:+z.2f} points: "
                f"{percent(weighted[0]['value'])} then, {percent(weighted[-1]['value'])} now. The difference "
                "comes from the item mix, and from users and items that can be compared at one date only."
            )
        other = by_weighting.get("other weighted")
        if timeline.other_end is not None and other:
            left, now = other[-1]["value"] - other[0]["value"], percent(other[-1]["value"])
            end = name_other_end(timeline.other_end["since"])
            text += f"\n\nOn the log {end}, it is {100 * left:+z.2f} points, and {now} now."
        changes.append((headline, text))
    return changes
