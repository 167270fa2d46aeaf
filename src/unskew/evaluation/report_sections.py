"""The sections of a page that a report alone gives: the answer, the splits, the order, all items, the weights."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from unskew import __version__
from unskew.drawing.listing import NUMBER, SHARE, TEXT, Column, Listing
from unskew.drawing.page import Section
from unskew.drawing.rank_chart import draw_ranks
from unskew.drawing.split_chart import draw_split
from unskew.drawing.theme import adapt_chart, assign_strokes
from unskew.evaluation.answer_words import (
    certainty_words,
    comparison_words,
    explain_metric,
    headline_change,
    limit_words,
    places_words,
    split_words,
)
from unskew.text import escape_controls, percent, show_name, thousands
from unskew.weights.fit_explanation import explain_range
from unskew.weights.mix_charts import draw_match, draw_weight_sizes

if TYPE_CHECKING:
    from unskew.evaluation.changes import Change
    from unskew.evaluation.report import Report
    from unskew.evaluation.score import Score
    from unskew.weights.item_weights import ItemWeights

RAW, DEBIASED = "raw", "debiased"
_PART_NAMES = {
    "users excluded": ("users excluded", 0),
    "item mix": ("item mix", 1),
    "algorithm": ("algorithm", 2),
    "unexplained": ("unexplained", 3),
    "algorithm and unexplained": ("algorithm and all else", 3),
}


def answer_sections(report: Report) -> list[Section]:
    """The answer at the top: what changed, how much of it is what, how sure that is, what the data cannot tell."""
    first = report.scores[0].metric
    changes = [change for change in report.changes if change.metric == first]
    found = [Section("The answer", explain_metric(first), anchor="answer")]
    if not changes:
        scores = [s for s in report.scores if s.segment is None]
        lines = [f"{s.recommender}, {s.metric}: {percent(s.value)} {_kind(s)} at {s.at}." for s in scores]
        text = "There is no other date whose profiles are known, so nothing is said about a change."
        found.append(Section("", text, tone="answer", notes=lines))
    for change in changes:
        text = "\n\n".join(filter(None, (split_words(change), certainty_words(change))))
        found.append(Section(headline_change(change), text, tone="answer", level=3))
    if report.reference is not None:
        found.append(Section("What the data cannot tell", "", level=3, notes=limit_words(report)))
    view = report.view_report
    if view is not None and view.view != "all":
        share = percent(view.dropped_pairs / max(view.pairs, 1))
        text = (
            f"Of what was taken, {share} is left out, since {view.reason} (the view “{view.view}”): what "
            "recommendations brought should not decide about recommendations."
        )
        found.append(Section("What was taken out of the log first", text, level=3))
    return found


def split_sections(report: Report) -> list[Section]:
    """For each change a bar for each part of it, and then the figures."""
    changes = [change for change in report.changes if change.comparable]
    if not changes:
        return []
    text = (
        "From the score then to the score now, part by part: each bar begins where the one above it ends. The "
        "thin line across a bar is its interval."
    )
    found = [Section("What each change comes from", text, anchor="split")]
    for change in changes:
        title = f"{show_name(change.recommender)}, {change.metric}"
        chart = adapt_chart(_draw_change(change))
        told = headline_change(change)
        label = f"{told} {split_words(change)}"
        found.append(Section(title, "", chart, level=3, caption=told, label=label, adapts=True))
    rows = [
        [show_name(c.recommender), c.metric, _PART_NAMES.get(name, (name, 0))[0], *_figures(part)]
        for c in changes
        for name, part in c.parts().items()
    ]
    head = ["recommender", "metric", "part", "points", "low", "high"]
    found.append(Section("The same in figures", "", None, [head, *rows], text_columns=3, level=3))
    return found


def _draw_change(change: Change) -> Any:
    parts = [
        {
            "name": _PART_NAMES[name][0],
            "colour": _PART_NAMES[name][1],
            "value": 100 * part.value,
            "low": 100 * part.low,
            "high": 100 * part.high,
        }
        for name, part in change.parts().items()
        if name != "change" and (name != "users excluded" or abs(part.value) >= 5e-5)
    ]
    start = {"name": f"score on {change.reference}", "value": 100 * change.score_reference}
    end = {"name": f"score on {change.at}", "value": 100 * change.score}
    return draw_split(start, parts, end, title=f"score ({change.metric}), in percent")


def _figures(part: Any) -> list[str]:
    values = (part.value, part.low, part.high)
    return ["–" if math.isnan(value) else f"{100 * value:+z.2f}".replace("-", "−") for value in values]


def ranking_sections(report: Report) -> list[Section]:
    """The order of the recommenders raw and debiased, and all scores."""
    now = [s for s in report.scores if s.at == report.at and s.segment is None]
    metrics = list(dict.fromkeys(s.metric for s in now))
    found = [Section("Which recommender is best", "", anchor="ranking")]
    for metric in metrics:
        own = [s for s in now if s.metric == metric and s.top is None]
        orders = {
            kind: sorted((s for s in own if s.weighting == weighting), key=lambda s: -s.value)
            for kind, weighting in ((RAW, "raw"), (DEBIASED, "weighted"))
        }
        if len(orders[RAW]) < 2 or len(orders[DEBIASED]) < 2:
            continue
        text = places_words(*([show_name(s.recommender) for s in orders[kind]] for kind in (RAW, DEBIASED)))
        chart = adapt_chart(_draw_orders(orders))
        notes = _compare_neighbours(report, metric, [s.recommender for s in orders[DEBIASED]])
        found.append(Section(metric, text, chart, level=3, label=text, adapts=True, notes=notes))
    rows = [
        [show_name(s.recommender), s.metric, str(s.at), s.segment or "all", _kind(s)]
        + [_percent(value) for value in (s.value, s.low, s.high)]
        for s in report.scores
    ]
    head = ["recommender", "metric", "date", "part", "kind", "score", "low", "high"]
    if all(row[3] == "all" for row in rows):
        head, rows = head[:3] + head[4:], [row[:3] + row[4:] for row in rows]
    words = len(head) - 3
    found.append(Section("All scores", "", None, [head, *rows], text_columns=words, level=3))
    return found


def _compare_neighbours(report: Report, metric: str, order: Sequence[str]) -> list[str]:
    """Whether each recommender is clearly better than the next, debiased."""
    found = {
        frozenset((c.a, c.b)): c for c in report.comparisons if (c.metric, c.weighting) == (metric, "weighted")
    }
    pairs = [frozenset(pair) for pair in pairwise(order)]
    return [comparison_words(found[pair]) for pair in pairs if pair in found]


def _draw_orders(orders: Mapping[str, Sequence[Score]]) -> Any:
    rows = [
        {
            "name": show_name(s.recommender),
            "column": kind,
            "place": place,
            "shown": f"{place}. {show_name(s.recommender, 22)}",
            "score": percent(s.value),
        }
        for kind, scores in orders.items()
        for place, s in enumerate(scores, start=1)
    ]
    return draw_ranks(rows, assign_strokes(str(row["name"]) for row in rows), list(orders))


def list_items(weights: ItemWeights, names: Mapping[Any, str]) -> Section:
    """All items of now: their shares then and now, and their weights; largest change first."""
    order = np.argsort(-np.abs(weights.p_before - weights.p_reference), kind="stable")
    ids = weights.items.take(order).to_pylist()
    columns = [Column("item", "The item", TEXT, [escape_controls(str(names.get(item, item))) for item in ids])]
    if names:
        columns.append(Column("id", "Its id in the log", TEXT, [escape_controls(str(item)) for item in ids]))
    then, now = weights.p_reference[order].tolist(), weights.p_before[order].tolist()
    columns += [
        Column("share then", f"Of the item mix on {weights.reference}", SHARE, then),
        Column("share now", f"Of the item mix on {weights.at}", SHARE, now),
        Column("weight", "How often it is held out, compared with 1", NUMBER, weights.weights[order].tolist()),
    ]
    gone = weights.report.vanished_items
    text = (
        f"{thousands(len(ids))} items, those whose share changed most first. A weight of 0.5 means that the item "
        "is held out half as often as it would be, and 0 that it is left out, since nobody had it then."
    )
    if gone.count:
        text += (
            f" {thousands(gone.count)} items that nobody has any more, with {percent(gone.mass)} of the item "
            "mix then, have no line."
        )
    hint = "Click on a head to sort; scroll with the arrow keys once the table has the focus."
    listing = Listing("All items with their shares and weights", columns, "Search items:", hint)
    return Section("All items", text, anchor="items", listing=listing)


def weight_sections(weights: ItemWeights) -> list[Section]:
    """How large the weights are, how closely they match, and why no better."""
    r = weights.report
    some = weights.weights[weights.log_weights > -math.inf]
    text = (
        f"Before weighting, {percent(r.bound_before)} of the item mix stood on other items than on "
        f"{weights.reference}; after it {percent(r.bound)} do. That is the bound: the debiased score of a list "
        "that is the same for everybody is at most so far from its score then."
        f"\n\n{_sentence(weights.explanation)} Weights: {explain_range(some)}."
    )
    sizes = "How much of the item mix now has which weight. Far from 1, a few users decide for many."
    match = (
        "How much of the item mix of the reference date the weighted one meets: in the green bar, items get what "
        "they had to within 5 %."
    )
    return [
        Section("How the item mix was undone", text, anchor="weights"),
        Section("", "", adapt_chart(draw_weight_sizes(weights)), caption=sizes, adapts=True),
        Section("", "", adapt_chart(draw_match(weights)), caption=match, adapts=True),
    ]


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def _kind(score: Score) -> str:
    if score.weighting == "raw":
        return RAW
    return DEBIASED if score.top is None else f"{DEBIASED}, {score.top} items"


def _percent(value: float) -> str:
    return "–" if math.isnan(value) else percent(value)


def made_section(report: Report, more: Sequence[tuple[str, str]] = (), code: str = "") -> Section:
    """How the page was made: with what version, options and data, and the command that makes it again."""
    rows = [["", ""], ["unskew", __version__], ["dates", f"{report.reference} and {report.at}"]]
    rows.append(["held out", report.protocol])
    rows += [[name, value] for name, value in more]
    if report.weights is not None:
        options = report.weights.options.to_dict()
        told = [f"{name} {value}" for name, value in options.items() if value not in (None, [], (), {})]
        rows.append(["weights", ", ".join(told)])
        policy = report.weights.policy.to_dict()
        rows.append(["policy", ", ".join(f"{name} {value}" for name, value in policy.items())])
    text = "This command makes the page again:" if code else ""
    return Section("How this was made", text, None, rows, text_columns=2, anchor="made", code=code)
