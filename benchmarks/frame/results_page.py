"""The page of results, docs/benchmarks.md: made from the JSON files, and from nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.frame.cluster_runs import read_runs, render_runs
from benchmarks.frame.machine import ROOT, Made
from benchmarks.frame.result_files import FOLDER, Results, Row, Spread, Table
from unskew.storage.files import replace_file
from unskew.text import thousands

PAGE = ROOT / "docs" / "benchmarks.md"

HEAD = """\
# Benchmarks

How long unskew takes beside other ways to do the same, as ratios. `make bench` measures everything anew and writes
this page; `benchmarks/results/` has processor times and versions as well.

A cell is time by the clock, divided by that of the **yardstick**; below 1 is faster. It is the median over rounds
in which contenders take turns, with quartiles in brackets (of fewer than four, the extremes). Before anything
is measured, answers are compared; where they differ there is no table. *A limit* is work that any answer needs.
Bytes are the peak of the process, divided by the events. `make bench-quick` counts passes and bytes without a
clock, and fails if one has grown.
"""

HEADINGS = {
    "reading": "Reading a log",
    "pass": "A pass over the profiles",
    "fit": "Fitting weights",
    "ranking": "Ranking held-out items",
    "metrics": "Metrics of ranks",
    "timeline": "Scores over time",
    "growth": "How cost grows with the log",
}
"""Benchmarks in the order of the page."""


PICTURES = {
    "growth": "![Two charts by the size of the log: the time that an event takes, relative to a log of a million "
    "events, and the memory that it takes, for reading, opening, fitting and evaluating](images/growth.svg)"
}


def write_page(folder: Path = FOLDER, page: Path = PAGE) -> None:
    """Make the page of all results that are there."""
    with replace_file(page) as temporary:
        Path(temporary).write_text(render_page(folder))


def render_page(folder: Path = FOLDER) -> str:
    """The page as Markdown."""
    found = [Results.read(path) for name in HEADINGS if (path := folder / f"{name}.json").exists()]
    sections = [line for results in found for line in render_results(results)]
    origins = merge_origins([*(results.made for results in found), *(run.made for run in read_runs(folder))])
    return "\n".join([HEAD, *sections, *render_runs(folder), *origins]).rstrip() + "\n"


def render_results(results: Results) -> Iterator[str]:
    """A section: what was done, and the tables."""
    yield f"## {HEADINGS[results.benchmark]}\n"
    if results.benchmark in PICTURES:
        yield f"{PICTURES[results.benchmark]}\n"
    for job in dict.fromkeys(table.job for table in results.tables):
        tables = [table for table in results.tables if table.job == job]
        yield f"{job}\n"
        yield from render_tables(tables)
        compared = "; ".join(dict.fromkeys(table.agreement for table in tables))
        rounds = " to ".join(map(str, sorted({table.repeats for table in tables})))
        yield f"\nCompared before measuring: {compared}. Rounds: {rounds}.\n"


def merge_origins(origins: Iterable[Made]) -> Iterator[str]:
    """What everything was measured with: a sentence for each machine, commit and day, with all versions."""
    merged: dict[tuple[object, ...], Made] = {}
    for made in origins:
        key = (made.processor, made.cores, made.memory, made.system, made.commit, made.date)
        before = merged.get(key, made)
        others = [one for one in (before.others, made.others) if one is not None]
        merged[key] = replace(made, versions=before.versions | made.versions, others=max(others, default=None))
    yield from map(str, merged.values())


def render_tables(tables: Sequence[Table]) -> Iterator[str]:
    """Comparisons by contenders: ratios of time, and bytes an event if they were measured."""
    names = list(dict.fromkeys(row.name for table in tables for row in table.rows))
    notes = {row.name: f" ({row.uncompared})" for table in tables for row in table.rows if row.uncompared}
    yardsticks = {table.yardstick for table in tables}
    heads = [f"**{name}**" if name in yardsticks else name for name in names]
    shown = [head + notes.get(name, "") for head, name in zip(heads, names, strict=True)]
    yield f"| | {' | '.join(shown)} |"
    yield f"|---|{'---|' * len(names)}"
    for table in tables:
        rows = {row.name: row for row in table.rows}
        cells = [_cell(rows[name], name == table.yardstick) if name in rows else "" for name in names]
        title = re.sub(r"(?<=\d) (?=\d{3}\b)", "\u202f", table.title)  # numbers are not broken
        yield f"| {title} | {' | '.join(cells)} |"


def _cell(row: Row, is_yardstick: bool) -> str:
    if row.time is None:
        return f"not measured: {row.absent}"
    memory = f", {_number(row.bytes_an_event)}\u202fB" if row.bytes_an_event is not None else ""
    return ("1" if is_yardstick else _spread(row.time)) + memory


def _spread(ratio: Spread) -> str:
    return f"{_number(ratio.median)} ({_number(ratio.low)}–{_number(ratio.high)})"


def _number(value: float | None) -> str:
    """Two digits, or all before the point; three between 1 and 2, where a tenth is much."""
    if value is None:
        return ""
    if value >= 10:
        return thousands(round(value))
    if value >= 2:
        return f"{value:.1f}"
    return f"{value:.2f}" if value >= 0.1 else f"{value:.2g}"
