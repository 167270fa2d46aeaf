"""The page of a saved timeline: what it holds, with no log beside it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from unskew import __version__
from unskew.data.time_windows import Windows
from unskew.drawing.page import Section
from unskew.evaluation.score_names import name_other_end
from unskew.over_time.timeline_chart import metrics_of, recommenders_of
from unskew.over_time.timeline_table import REFERENCE_MIX, Timeline
from unskew.show.answer_words import WHY_MIX, bias_words, explain_metric
from unskew.show.report_page import ReportPage
from unskew.text import percent, show_name


def make_timeline_page(
    made: Timeline, *, campaigns: Windows = (), names: Mapping[Any, str] | None = None, command: str = ""
) -> ReportPage:
    """The scores over time, and what can be said without the log: no split of changes, and no weights."""
    reference = str(made.options.get("reference", "")).partition(" ")[0]
    metric = metrics_of(made)[0]
    answer = Section(
        "The answer",
        f"{explain_metric(metric)}\n\nThis page is made from a saved timeline. A report on the log itself also "
        "says how sure a change is and what it comes from.",
        anchor="answer",
    )
    cards = [Section(headline, text, tone="answer", level=3) for headline, text in _describe_changes(made, metric)]
    cards.append(Section("What the data cannot tell", "", level=3, notes=_describe_limits(made)))
    options = [
        [name, _write(value)]
        for name, value in made.options.items()
        if name != REFERENCE_MIX and value not in (None, [], "", False)  # the mix is for resuming, not for people
    ]
    rows = [["", ""], ["unskew", __version__], *options]
    text = "This command makes the page again:" if command else ""
    making = Section("How this was made", text, None, rows, text_columns=2, anchor="made", code=command)
    warnings = []
    if not made.complete:
        warnings.append("the timeline is not complete: some of the dates that were asked for are missing")
    if made.unfinished:
        warnings.append(
            f"at {len(made.unfinished)} of {len(made.dates)} dates a fit ran out of passes; the first is "
            f"{made.unfinished[0]}"
        )
    return ReportPage(
        report=None,
        answers=[answer, *cards],
        over_time=made.page_sections(campaigns=campaigns, names=names),
        made=[making],
        warnings=warnings,
        names=names or {},
        title=f"Offline scores over time, compared with {reference}",
    )


def _describe_limits(made: Timeline) -> list[str]:
    """What may still be in the scores; a timeline does not know which of its recommenders are constant lists."""
    learn = [name for name in recommenders_of(made) if not name.startswith("constant:")]
    return [*([bias_words(list(map(show_name, learn)))] if learn else []), WHY_MIX]


def _write(value: Any) -> str:
    """An option as people write it."""
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_write(one)}" for name, one in value.items())
    return ", ".join(map(_write, value)) if isinstance(value, list | tuple) else str(value)


def _describe_changes(timeline: Timeline, metric: str) -> list[tuple[str, str]]:
    """From the first date to the last: how far each recommender's score moved, as logged and re-weighted."""
    view = timeline.options.get("view", "all")
    series: dict[str, dict[str, list[Any]]] = {}
    for row in timeline.rows.to_pylist():
        if row["metric"] == metric and row["top"] is None:
            kind = row["weighting"] if row["view"] == view else f"other {row['weighting']}"
            series.setdefault(row["recommender"], {}).setdefault(kind, []).append(row)
    found = []
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
        found.append((headline, text))
    return found
