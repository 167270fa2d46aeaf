"""A yardstick as tables and as a page."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unskew.drawing.page import Section, write_page
from unskew.folders import replace_folder
from unskew.known_truths.case_names import CHOOSING, REPORTING, SUMMARIES, TUNING_WORLDS, UNTOUCHED_WORLDS
from unskew.known_truths.method_table import METHODS
from unskew.known_truths.summaries import draw_error_map
from unskew.known_truths.world_profile import tabulate_profiles
from unskew.known_truths.yardstick_result import PAGE, TABLES, WRITTEN, Yardstick
from unskew.table_files import write_parquet
from unskew.text import enumerate_words

Row = dict[str, Any]
Cells = list[list[str]]


@dataclass(frozen=True)
class WorldTables:
    """The methods in one world, for one metric, as cells whose first row is the head and first two columns words.

    Attributes
    ----------
    world, metric
        What they are about.
    errors
        The mean error of each recommender, Kendall's tau, the regret, in how many logs the view was trusted, what
        its placebo found, how many of the true gains were seen and how many that were none, and how often
        intervals cover.
    removed
        The share of the raw bias removed, of each recommender.
    """

    world: str
    metric: str
    errors: Cells
    removed: Cells


def tabulate_worlds(found: Yardstick) -> list[WorldTables]:
    """The tables of each world and metric; every mean with its standard error."""
    summary, ranking = found.summary.to_pylist(), found.ranking.to_pylist()
    names = list(dict.fromkeys((row["world"], row["metric"]) for row in ranking))
    return [_tabulate(name, _select(summary, name), _select(ranking, name)) for name in names]


def _select(rows: Iterable[Row], name: tuple[str, str]) -> list[Row]:
    return [row for row in rows if (row["world"], row["metric"]) == name]


def _tabulate(name: tuple[str, str], summary: list[Row], ranking: list[Row]) -> WorldTables:
    recommenders = list(dict.fromkeys(row["recommender"] for row in summary))
    by_name = {(row["method"], row["recommender"]): row for row in summary}

    def fill(one: Row, show: Callable[[Row], str]) -> list[str]:
        own = [by_name[one["method"], who] for who in recommenders]
        return [one["method"], one["knows"], *map(show, own)]

    errors = [
        ["method", "knows", *recommenders, "tau", "regret", "trusted", "placebo", "gains", "false", "covered"]
    ]
    for one in ranking:
        errors.append(
            [
                *fill(one, lambda row: format_error(row["error"], row["error_se"])),
                _format_tau(one["tau"], one["tau_se"]),
                format_share(one["regret_share"], one["regret_share_se"]),
                format_share(one["trusted"]),
                format_share(one["placebo"], one["placebo_se"]),
                f"{one['gains_seen']} of {one['gains']}",
                str(one["gains_false"]),
                format_share(one["covered"], one["covered_se"]),
            ]
        )
    shares = [fill(one, lambda row: format_share(row["bias_removed"], row["bias_removed_se"])) for one in ranking]
    return WorldTables(*name, errors, [["method", "knows", *recommenders], *shares])


def format_error(error: float | None, spread: float | None) -> str:
    """An error, with its standard error if that is known: +4.2 ±0.5 %."""
    if error is None:
        return ""
    digits = 0 if abs(error) >= 0.9995 else 1
    return f"{100 * error:+z.{digits}f}" + ("" if spread is None else f" ±{100 * spread:.{digits}f}") + " %"


def format_share(share: float | None, spread: float | None = None) -> str:
    """A share in percent, with its standard error if that is known; nothing if there is no share."""
    if share is None:
        return ""
    return f"{100 * share:z.0f}" + ("" if spread is None else f" ±{100 * spread:.0f}") + " %"


def _format_tau(tau: float | None, spread: float | None) -> str:
    if tau is None:
        return ""
    return f"{tau:z.2f}" + ("" if spread is None else f" ±{spread:.2f}")


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


def write_yardstick_page(path: Path, found: Yardstick) -> None:
    """Write the page; the tables are files beside it."""
    summary = found.summary.to_pylist()
    profiles = tabulate_profiles(found.worlds.to_pylist())
    text = f"{_WORLDS}\n\n{describe_worlds_used(found)}"
    sections = [Section("The worlds", text, None, profiles, text_columns=2)]
    for metric in dict.fromkeys(row["metric"] for row in summary):
        cells = [row for row in summary if row["metric"] == metric]
        chart = draw_error_map(
            cells, _order_methods(cells), f"Error of {metric}", "Mean over seeds: red is too high, blue too low"
        )
        sections.append(Section("", "", chart, caption=_MAP, links=_FILES))
    sections.append(Section("Which truth", _QUESTIONS))
    sections.append(Section("Which seeds", describe_seeds(found.seeds)))
    for k, tables in enumerate(tabulate_worlds(found)):
        sections += _make_sections(tables, first=k == 0)
    write_page(path, TITLE, _LEAD, sections)


def save_yardstick(found: Yardstick, folder: Path) -> Path:
    """Write the tables and the page into a folder, in one step; returns the path of the page."""
    with replace_folder(folder, owns=WRITTEN.__contains__, last=[PAGE]) as new:
        for name in TABLES:
            write_parquet(new / f"{name}.parquet", getattr(found, name), f"yardstick {name}", {})
        write_yardstick_page(new / PAGE, found)
    return folder / PAGE


def describe_seeds(seeds: list[int]) -> str:
    """Which seeds the worlds had, and what they are for."""
    told = f"The seeds of the worlds are {enumerate_words([str(seed) for seed in seeds])}."
    choosing = f"{CHOOSING[0]} to {CHOOSING[-1]}"
    if set(seeds) <= set(REPORTING):
        return f"{told} Nothing was chosen on them: methods and parameters are chosen on the seeds {choosing}."
    if set(seeds) & set(CHOOSING):
        return f"{told} Methods and parameters are chosen on the seeds {choosing}, so these figures flatter them."
    return told


def describe_worlds_used(found: Yardstick) -> str:
    """Which of the worlds methods and parameters may be chosen on."""
    worlds = found.worlds.column("world").to_pylist()
    tuning = [world for world in worlds if world in TUNING_WORLDS]
    untouched = [world for world in worlds if world in UNTOUCHED_WORLDS]
    text = f"Methods and parameters may be chosen on {enumerate_words(list(TUNING_WORLDS))} only"
    if tuning:
        text += f", of which {enumerate_words(tuning)} {'is' if len(tuning) == 1 else 'are'} shown here"
    return text + (f". Nothing was ever chosen on {enumerate_words(untouched)}." if untouched else ".")


def _order_methods(rows: Iterable[dict[str, Any]]) -> list[str]:
    """The methods of all worlds, those that are known by name in their usual order."""
    found = list(dict.fromkeys(row["method"] for row in rows))
    order = {name: place for place, name in enumerate(METHODS)}
    return sorted(found, key=lambda name: order.get(name, len(order)))


def _make_sections(tables: WorldTables, *, first: bool) -> list[Section]:
    about = SUMMARIES.get(tables.world, "")
    title = f"{tables.world}: {about}" if about else tables.world
    title += f" ({tables.metric})"
    return [
        Section(title, _ERRORS if first else "", None, tables.errors, text_columns=2),
        Section(
            "", _REMOVED if first else "Share of the raw bias that is gone:", None, tables.removed, text_columns=2
        ),
    ]
