"""Sections of a page that a report alone gives: what changed and why, recommenders, segments, scores, items."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from unskew import __version__
from unskew.drawing.charts import draw_dots, draw_split
from unskew.drawing.page import SHARE, TEXT, Column, Line, Listing, Section, Toggles
from unskew.drawing.theme import BLUE, GREY, INK, Stroke, adapt_chart
from unskew.evaluation.score import AS_LOGGED, name_kind
from unskew.show.report_words import (
    certainty_words,
    explain_metric,
    headline_change,
    percent_or_dash,
    places_words,
    points,
    split_words,
)
from unskew.text import escape_controls, percent, show_name, thousands
from unskew.weights.mix_charts import draw_drift, draw_match

if TYPE_CHECKING:
    from unskew.evaluation.changes import Change
    from unskew.evaluation.report import Report
    from unskew.evaluation.score import Score
    from unskew.weights.drift import Drift
    from unskew.weights.item_weights import ItemWeights


_PART_COLOURS = {
    "users excluded": 0,
    "item mix": 1,
    "more data": 4,
    "algorithm": 2,
    "unexplained": 3,
    "algorithm and unexplained": 3,
}
_PLAIN, _WEIGHTED = Stroke(GREY, shape="circle"), Stroke(BLUE, shape="square")


def answer_sections(report: Report) -> list[Section]:
    """The answer if nothing is compared: the scores, and what they say about a change."""
    metric = report.scores[0].metric
    changes = [change for change in report.changes if change.metric == metric]
    text = (
        f"{explain_metric(metric)} There is no verdict, since nothing is compared: a baseline or a second "
        "recommender gives one."
    )
    if not changes:
        scores = [score for score in report.scores if score.segment is None]
        lines = [
            f"{show_name(s.recommender)}, {s.metric}: {percent(s.value)} {_kind(s)} at {s.at}." for s in scores
        ]
        text += "\n\nThere is no other date whose profiles are known, so nothing is said about a change."
        return [Section("The scores", text, anchor="answer", tone="answer", notes=lines)]
    sentences = [f"{headline_change(change)} {split_words(change)}" for change in changes]
    return [Section("The scores", "\n\n".join([*sentences, text]), anchor="answer", tone="answer")]


def view_sections(report: Report) -> list[Section]:
    """What was removed from the log before it was scored, if anything was."""
    view = report.view_report
    if view is None or view.view == "all":
        return []
    share = percent(view.dropped_pairs / max(view.pairs, 1))
    text = (
        f"The view “{view.view}” drops {share} of the interactions, since {view.reason}. Scores over time and the "
        "parts of the change are those of this view; scores “as logged” are those of the log as it is."
    )
    return [Section("What was removed from the log", text, level=3)]


def split_sections(report: Report) -> list[Section]:
    """For each change a bar for each part of it, with what it means."""
    changes = [change for change in report.changes if change.comparable]
    if not changes:
        return []
    text = (
        "From the score then to the score now, part by part: each bar begins where the one above it ends. The "
        "thin line across a bar is its interval."
    )
    sections = [Section("What the change comes from", text, anchor="split")]
    verdicts = {(v.recommender, v.baseline, v.metric): v for v in report.verdicts}
    for change in changes:
        words = split_words(change, verdicts.get((change.recommender, change.baseline or "", change.metric)))
        text = "\n\n".join(filter(None, (headline_change(change), words, certainty_words(change))))
        title = f"{show_name(change.recommender)}, {change.metric}"
        chart = adapt_chart(_draw_change(change))
        sections.append(Section(title, text, chart, level=3, label=f"{title}: {words}", adapts=True))
    return sections


def split_figures(report: Report) -> list[Section]:
    """The parts of all changes as a table."""
    table = [["recommender", "metric", "part", "points", "low", "high"]]
    for change in (change for change in report.changes if change.comparable):
        for name, part in change.parts().items():
            figures = map(points, (part.value, part.low, part.high))
            table.append([show_name(change.recommender), change.metric, _name_part(name), *figures])
    title = "The parts of the change in figures"
    return [Section(title, "", None, table, text_columns=3)] if len(table) > 1 else []


def _name_part(name: str) -> str:
    return "algorithm and all else" if name == "algorithm and unexplained" else name


def _draw_change(change: Change) -> Any:
    parts = []
    for name, part in change.parts().items():
        if name != "change" and (name not in ("users excluded", "more data") or abs(part.value) >= 5e-5):
            figures = {"value": 100 * part.value, "low": 100 * part.low, "high": 100 * part.high}
            parts.append({"name": _name_part(name), "colour": _PART_COLOURS[name], **figures})
    start = {"name": f"score on {change.reference}", "value": 100 * change.score_reference}
    end = {"name": f"score on {change.at}", "value": 100 * change.score}
    return draw_split(start, parts, end, title=f"score ({change.metric}), in percent")


def ranking_sections(report: Report) -> list[Section]:
    """The recommenders at the later date as dots with their intervals."""
    now = [s for s in report.scores if s.at == report.at and s.segment is None and s.top is None]
    sections = []
    for metric in dict.fromkeys(s.metric for s in now):
        scores = [s for s in now if s.metric == metric]
        if len({s.recommender for s in scores}) < 2:
            continue
        text = _describe_places(scores)
        chart, toggles = _draw_scores(scores, [show_name(s.recommender, 28) for s in scores], metric)
        caption = "Dots are scores and lines their intervals. Whether one is better, the verdict says."
        sections.append(
            Section(metric, text, chart, level=3, caption=caption, label=text, adapts=True, toggles=toggles)
        )
    return [Section("The recommenders", "", anchor="ranking"), *sections] if sections else []


def _describe_places(scores: Sequence[Score]) -> str:
    orders = [
        [s.recommender for s in sorted(scores, key=lambda s: -s.value) if s.weighting == kind and s.view == view]
        for view in list(dict.fromkeys(s.view for s in scores))[:1]
        for kind in ("raw", "weighted")
    ]
    if len(orders[1]) < 2 or set(orders[0]) != set(orders[1]):
        return ""
    return places_words(*([show_name(name) for name in order] for order in orders))


def segment_sections(report: Report) -> list[Section]:
    """The scores of each segment, if there are any: a chart for each recommender and metric."""
    split = [s for s in report.scores if s.at == report.at and s.top is None]
    keys = dict.fromkeys((s.recommender, s.metric) for s in split if s.segment is not None)
    sections = []
    for recommender, metric in keys:
        scores = [s for s in split if (s.recommender, s.metric) == (recommender, metric)]
        scores = [s for s in scores if s.view == next(x.view for x in scores if x.segment is not None)]
        names = ["all" if s.segment is None else show_name(s.segment, 28) for s in scores]
        chart, toggles = _draw_scores(scores, names, metric)
        title = f"{show_name(recommender)}, {metric}"
        label = "; ".join(f"{name}, {_kind(s)}: {percent(s.value)}" for name, s in zip(names, scores, strict=True))
        sections.append(Section(title, "", chart, level=3, label=label, adapts=True, toggles=toggles))
    text = "The scores of parts of the users or items, beside the score of all."
    return [Section("Segments", text, anchor="segments"), *sections] if sections else []


def _draw_scores(scores: Sequence[Score], names: Sequence[str], metric: str) -> tuple[Any, list[Toggles]]:
    """Scores as dots, a line for each name, and the boxes that switch kinds off."""
    kinds = {_kind(s): _PLAIN if s.weighting == "raw" else _WEIGHTED for s in scores}
    if sum(stroke is _PLAIN for stroke in kinds.values()) > 1:  # the log as it is beside a view
        kinds = {kind: Stroke(INK, shape="diamond") if kind == AS_LOGGED else s for kind, s in kinds.items()}
    rows = []
    for name, s in zip(names, scores, strict=True):
        value, low, high = map(percent_or_dash, (s.value, s.low, s.high))
        limits = {"low": None if math.isnan(s.low) else s.low, "high": None if math.isnan(s.high) else s.high}
        row = {"name": name, "kind": _kind(s), "value": s.value, **limits}
        rows.append({**row, "words": value, "shown": f"{value} ({low} to {high})"})
    toggles = [Toggles("Kinds", [Line(kind, stroke.colour, shape=stroke.shape) for kind, stroke in kinds.items()])]
    return adapt_chart(draw_dots(rows, kinds, title=f"score ({metric})")), toggles


def score_sections(report: Report) -> list[Section]:
    """All scores as a table."""
    rows = [
        [show_name(s.recommender), s.metric, str(s.at), s.segment or "all", _kind(s)]
        + [percent_or_dash(value) for value in (s.value, s.low, s.high)]
        for s in report.scores
    ]
    head = ["recommender", "metric", "date", "part", "kind", "score", "low", "high"]
    if all(row[3] == "all" for row in rows):
        head, rows = head[:3] + head[4:], [row[:3] + row[4:] for row in rows]
    return [Section("All scores", "", None, [head, *rows], text_columns=len(head) - 3, anchor="scores")]


def _kind(score: Score) -> str:
    return name_kind(score.weighting, score.top, score.view)


def made_section(report: Report, more: Sequence[tuple[str, str]] = (), code: str = "") -> Section:
    """How the page was made: with what version, options and data, and the command that makes it again."""
    rows = [("dates", f"{report.reference} and {report.at}"), ("held out", report.protocol), *more]
    if report.weights is not None:
        options = report.weights.options.to_dict()
        settings = [f"{name} {value}" for name, value in options.items() if value not in (None, [], (), {})]
        policy = [f"{name} {value}" for name, value in report.weights.policy.to_dict().items()]
        rows += [("weights", ", ".join(settings)), ("policy", ", ".join(policy))]
    return describe_making(rows, code)


def describe_making(rows: Sequence[tuple[str, str]], code: str) -> Section:
    """The version, these figures about how the page was made, and the command that makes it again."""
    table = [["", ""], ["unskew", __version__], *([name, value] for name, value in rows)]
    text = "This command makes the page again:" if code else ""
    return Section("How this was made", text, None, table, text_columns=2, anchor="made", code=code)


_MOVED = 8


def moved_section(drift: Drift, names: Mapping[Any, str]) -> Section:
    """The items whose share changed most, on the log as it is."""
    rows = drift.to_arrow().slice(0, _MOVED).to_pylist()
    text = (
        f"On the log as it is, {percent(drift.bound)} of the item mix moved to other items between "
        f"{drift.reference} and {drift.at}. Recommendations move it, and so do seasons, news and new users."
    )
    moves = []
    for row in rows:
        name = show_name(names.get(row["item"], row["item"]), 36)
        moves.append(f"{name}: {percent(row['p_reference'])} to {percent(row['p_now'])}")
    label = f"{text} {'; '.join(moves)}."
    chart = adapt_chart(draw_drift(drift, _MOVED, names))
    return Section("Items that moved most", text, chart, anchor="moved", label=label, adapts=True)


def list_items(weights: ItemWeights, names: Mapping[Any, str]) -> Section:
    """All items of now: their share now, their target and their share after weighting; largest change first."""
    order = np.argsort(-np.abs(weights.p_before - weights.p_reference), kind="stable")
    ids = weights.items.take(order).to_pylist()
    columns = [Column("item", "The item", TEXT, [escape_controls(str(names.get(item, item))) for item in ids])]
    if names:
        columns.append(Column("id", "Its id in the log", TEXT, [escape_controls(str(item)) for item in ids]))
    before, target, after = (
        shares[order].tolist() for shares in (weights.p_before, weights.p_reference, weights.p_after)
    )
    columns += [
        Column("share before", f"Of the item mix on {weights.at}, before re-weighting", SHARE, before),
        Column("target", f"Its share of the item mix on {weights.reference}", SHARE, target),
        Column("share after", f"Of the item mix on {weights.at}, re-weighted", SHARE, after),
    ]
    gone = weights.report.vanished_items
    text = (
        f"{thousands(len(ids))} items, those whose share changed most first. Re-weighting brings the share of "
        f"each item on {weights.at} as near to its share on {weights.reference}, the target, as the profiles of "
        "the users allow. An item that nobody had then has the target 0."
    )
    if gone.count:
        text += (
            f" {thousands(gone.count)} items that nobody has any more, with {percent(gone.mass)} of the item "
            "mix then, have no line."
        )
    hint = "Click on a head to sort; scroll with the arrow keys once the table has the focus."
    listing = Listing("All items with their shares before and after", columns, "Search items:", hint)
    return Section("All items", text, anchor="items", listing=listing)


def weight_sections(weights: ItemWeights) -> list[Section]:
    """How closely the re-weighted item mix meets that of the reference date, and why no closer."""
    r = weights.report
    explanation = weights.explanation
    text = (
        f"Before re-weighting, {percent(r.bound_before)} of the item mix was on other items than on "
        f"{weights.reference}; after it {percent(r.bound)} is. That is the bound: the re-weighted score of a list "
        "that is the same for everybody is at most that far from its score then."
        f"\n\n{explanation[0].upper()}{explanation[1:]}."
    )
    match = (
        "How much of the item mix of the reference date is met: in the green bar, items get what they had to "
        "within 5 %."
    )
    return [
        Section("How closely the item mix is met", text, anchor="weights"),
        Section("", "", adapt_chart(draw_match(weights)), caption=match, adapts=True),
    ]
