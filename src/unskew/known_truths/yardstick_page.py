"""A yardstick as tables and as a page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import altair as alt

from unskew.drawing.page import Section, write_page
from unskew.drawing.theme import BLUE, INK, PALE, VERMILION, apply_theme, plot
from unskew.known_truths.case_names import CHOOSING, REPORTING, SUMMARIES, TUNING_WORLDS, UNTOUCHED_WORLDS
from unskew.known_truths.estimators import ESTIMATORS
from unskew.known_truths.yardstick_result import MEASURES, PAGE, TABLES, WRITTEN, Row, Yardstick
from unskew.storage.folders import replace_folder
from unskew.storage.tables import write_parquet
from unskew.text import enumerate_words, group_rows

Cells = list[list[str]]


@dataclass(frozen=True)
class WorldTables:
    """The methods in one world, for one metric; cells begin with the head, and rows with two columns of words."""

    world: str
    metric: str
    # The mean error of each recommender, Kendall's tau, the regret, in how many logs the view was trusted, what
    # its placebo found, how many of the true gains were seen and how many that were none, and how often intervals
    # cover.
    errors: Cells
    removed: Cells  # the share of the raw bias removed, of each recommender


def tabulate_worlds(result: Yardstick) -> list[WorldTables]:
    """The tables of each world and metric; every mean with its standard error."""
    summaries = dict(group_rows(result.summary.to_pylist(), ("world", "metric")))
    rankings = group_rows(result.ranking.to_pylist(), ("world", "metric"))
    return [_tabulate(world, metric, summaries[world, metric], rows) for (world, metric), rows in rankings]


def _tabulate(world: str, metric: str, summary: list[Row], ranking: list[Row]) -> WorldTables:
    recommenders = list(dict.fromkeys(row["recommender"] for row in summary))
    by_name = {(row["method"], row["recommender"]): row for row in summary}
    figures = ("tau", "regret", "trusted", "placebo", "gains", "false", "covered")
    errors = [["method", "knows", *recommenders, *figures]]
    shares = [["method", "knows", *recommenders]]
    for row in ranking:
        scores = [by_name[row["method"], recommender] for recommender in recommenders]
        errors.append(
            [
                *(row["method"], row["knows"], *map(_format_error, scores)),
                _format(row, "tau", 1, 2),
                _format(row, "regret_share"),
                _format({**row, "trusted_se": None}, "trusted"),
                _format(row, "placebo"),
                f"{row['gains_seen']} of {row['gains']}",
                str(row["gains_false"]),
                _format(row, "covered"),
            ]
        )
        shares.append([row["method"], row["knows"], *(_format(score, "bias_removed") for score in scores)])
    return WorldTables(world, metric, errors, shares)


def _format_error(row: Row) -> str:
    """An error with its standard error: +4.2 ±0.5 %."""
    return _format(row, "error", 100, 0 if abs(row["error"] or 0.0) >= 0.9995 else 1, "+")


def _format(row: Row, name: str, scale: int = 100, digits: int = 0, sign: str = "") -> str:
    """A figure, in percent unless it has another scale, with its standard error if that is known."""
    if row[name] is None:
        return ""
    error = row[f"{name}_se"]
    spread = "" if error is None else f" ±{scale * error:.{digits}f}"
    return f"{scale * row[name]:{sign}z.{digits}f}{spread}{' %' * (scale == 100)}"


TITLE = "The yardstick: every method against known truths"

_LEAD = (
    "Each method looks at a log that recommendations have shaped, and scores recommenders. What the score would "
    "be had nothing been recommended is known: the worlds are simulated, or the campaigns were injected into a "
    "real log. The error is estimate / truth - 1."
)
_QUESTIONS = (
    "Each score is compared with the truth of its own question. Without weights: the score had nothing been "
    "recommended. With weights: the same, weighted in the same way. A model is fitted to the view of the log that "
    "it is scored on, and never with the pair that it has to find."
)
_ERRORS = (
    "Mean error over seeds ± its standard error. tau: Kendall's, over the pairs of recommenders whose true "
    "difference exceeds its paired interval. regret: the share of the best true score that choosing by the method "
    "loses. gains: how many true improvements since the reference date are seen; false: how many are seen that "
    "are none. covered: how many of the intervals hold the mean truth of other people with the same items."
)
_REMOVED = (
    "Share of the raw bias that is gone, over all seeds; nothing where the raw score may have no bias. Judge it "
    "beside the error: what over-corrects can have a large share and be wrong."
)
_MAP = (
    "Errors of each method (down) for each recommender (across), a panel for each world. Grey: the method needs "
    "to know more than anyone does in that world."
)
_WORLDS = (
    "How realistic the worlds are. Organic interactions a day, had nothing been recommended: until the reference "
    "date t0, in the 60 days before it, and after it. Of the interactions in the campaign windows, the share that "
    "followed an exposure and the share that recommendations caused. Means over seeds ± their standard errors. A "
    "world whose organic activity dies out, or in which nearly everything was exposed, flatters methods that "
    "remove what was recommended."
)
_FILES = [(name, f"{name}.parquet") for name in TABLES]


def write_yardstick_page(path: Path, result: Yardstick) -> None:
    """Write the page; the tables are files beside it."""
    summary = result.summary.to_pylist()
    profiles = tabulate_profiles(result.worlds.to_pylist())
    text = f"{_WORLDS}\n\n{describe_worlds_used(result)}"
    sections = [Section("The worlds", text, None, profiles, text_columns=2)]
    places = {name: place for place, name in enumerate(ESTIMATORS)}
    for (metric,), rows in group_rows(summary, ["metric"]):
        methods = list(dict.fromkeys(row["method"] for row in rows))
        methods.sort(key=lambda name: places.get(name, len(places)))
        chart = draw_error_map(rows, methods, f"Error of {metric}")
        sections.append(Section("", "", chart, caption=_MAP, links=_FILES))
    sections.append(Section("Which truth", _QUESTIONS))
    sections.append(Section("Which seeds", describe_seeds(result.seeds)))
    errors, removed = _ERRORS, _REMOVED
    for tables in tabulate_worlds(result):
        about = SUMMARIES.get(tables.world, "")
        title = f"{tables.world}: {about}" if about else tables.world
        sections.append(Section(f"{title} ({tables.metric})", errors, None, tables.errors, text_columns=2))
        sections.append(Section("", removed, None, tables.removed, text_columns=2))
        errors, removed = "", "Share of the raw bias that is gone:"  # the long texts stand once
    write_page(path, TITLE, _LEAD, sections)


def save_yardstick(result: Yardstick, folder: Path) -> Path:
    """Write the tables and the page into a folder, in one step; returns the path of the page."""
    with replace_folder(folder, owns=WRITTEN.__contains__, last=[PAGE]) as new:
        for name in TABLES:
            write_parquet(new / f"{name}.parquet", getattr(result, name), f"yardstick {name}", {})
        write_yardstick_page(new / PAGE, result)
    return folder / PAGE


def describe_seeds(seeds: list[int]) -> str:
    """Which seeds the worlds had, and what they are for."""
    sentence = f"The seeds of the worlds are {enumerate_words([str(seed) for seed in seeds])}."
    choosing = f"{CHOOSING[0]} to {CHOOSING[-1]}"
    if set(seeds) <= set(REPORTING):
        return f"{sentence} Nothing was chosen on them: methods and parameters are chosen on the seeds {choosing}."
    if set(seeds) & set(CHOOSING):
        return (
            f"{sentence} Methods and parameters are chosen on the seeds {choosing}, so these figures flatter them."
        )
    return sentence


def describe_worlds_used(result: Yardstick) -> str:
    """Which of the worlds methods and parameters may be chosen on."""
    worlds = result.worlds.column("world").to_pylist()
    tuning = [world for world in worlds if world in TUNING_WORLDS]
    untouched = [world for world in worlds if world in UNTOUCHED_WORLDS]
    text = f"Methods and parameters may be chosen on {enumerate_words(list(TUNING_WORLDS))} only"
    if tuning:
        text += f", of which {enumerate_words(tuning)} {'is' if len(tuning) == 1 else 'are'} shown here"
    return text + (f". Nothing was ever chosen on {enumerate_words(untouched)}." if untouched else ".")


def tabulate_profiles(rows: Iterable[Row]) -> list[list[str]]:
    """The table of worlds as cells, the first row its head."""
    cells = [["world", "used for", "organic a day", "60 days to t0", "after t0", "exposed", "induced"]]
    for row in rows:
        figures = [_format(row, name, 100 if name.endswith("share") else 1, 1) for name in MEASURES]
        cells.append([row["world"], row["used_for"], *figures])
    return cells


_CELL, _LINE = 46, 21  # width and height of a cell
_ACROSS = 700  # width of all cells, in which worlds stand side by side as far as there is room
_NAMES = 230  # width of the names of methods
_WORST = 0.5  # errors beyond it have the same colour


def draw_error_map(summary: Sequence[Row], methods: Sequence[str], title: str) -> Any:
    """The chart of one metric: a panel for each world, methods down in the order given, recommenders across.

    `summary` are rows with world, method, recommender and error; a cell stays grey where there is no row.
    """
    worlds, recommenders = (list(dict.fromkeys(row[name] for row in summary)) for name in ("world", "recommender"))
    columns = max(1, min(len(worlds), _ACROSS // (_CELL * len(recommenders))))
    panels = [
        _draw_panel(
            [row for row in summary if row["world"] == world], world, methods, recommenders, first=k % columns == 0
        )
        for k, world in enumerate(worlds)
    ]
    rows = [alt.hconcat(*panels[k : k + columns], spacing=16) for k in range(0, len(panels), columns)]
    words = f"Errors of {', '.join(methods)} in the worlds {', '.join(worlds)}; the tables have the numbers"
    subtitle = "Mean over seeds: red is too high, blue too low"
    return apply_theme(alt.vconcat(*rows, spacing=14), title, subtitle, words)


def _draw_panel(
    rows: Sequence[Row], world: str, methods: Sequence[str], recommenders: Sequence[str], *, first: bool
) -> Any:
    cells = [
        {
            "method": row["method"],
            "recommender": row["recommender"],
            "error": row["error"],
            "shown": format_cell(row["error"]),
            "strong": abs(row["error"]) > 0.7 * _WORST,
        }
        for row in rows
        if row["error"] is not None
    ]
    names = alt.Axis(labelLimit=_NAMES, labels=first, ticks=False)
    x = alt.X("recommender:N", title=None).scale(domain=list(recommenders))
    y = alt.Y("method:N", title=None, axis=names).scale(domain=list(methods))
    base = plot(cells).encode(x=x.axis(orient="top", labelAngle=-40, domain=False, ticks=False), y=y)
    scale = alt.Scale(
        domain=[-_WORST, 0, _WORST], range=[BLUE, "#ffffff", VERMILION], clamp=True, interpolate="rgb"
    )
    squares = base.mark_rect(stroke="#ffffff").encode(color=alt.Color("error:Q", legend=None, scale=scale))
    ink = alt.when("datum.strong").then(alt.value("#ffffff")).otherwise(alt.value(INK))
    numbers = base.mark_text(fontSize=10.5).encode(text="shown:N", color=ink)
    head = alt.TitleParams(world, anchor="start", fontSize=13, color=INK, offset=6)
    size = {"width": _CELL * len(recommenders), "height": _LINE * len(methods)}
    return (squares + numbers).properties(title=head, view=alt.ViewBackground(fill=PALE), **size)


def format_cell(error: float) -> str:
    """An error in a cell: +4 %, or +0.4 % where it is small.

    >>> format_cell(0.0312), format_cell(-0.004), format_cell(1.5)
    ('+3 %', '\u22120.4 %', '+150 %')
    """
    shown = 100 * error
    text = f"{shown:+z.1f}" if abs(shown) < 0.95 else f"{shown:+z.0f}"
    return text.replace("-", "\u2212") + " %"
