"""The page of results, docs/benchmarks.md: made from the JSON files, and from nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.frame.cluster_runs import render_runs
from benchmarks.frame.machine import ROOT
from benchmarks.frame.result_files import FOLDER, Results, Row, Spread, Table
from unskew.storage.files import replace_file
from unskew.text import thousands

PAGE = ROOT / "docs" / "benchmarks.md"

HEAD = """\
# Benchmarks

How long unskew takes beside other ways to do the same, as ratios. `make bench` measures all of this anew and
writes this page; `python -m benchmarks reading --size 20e6` measures one part at another size.

- **A ratio is time divided by the time of the yardstick**, which is in bold; below 1 is faster. Seconds would only
  describe a machine.
- **Contenders take turns**, and a ratio is that of two trials of the same round. Tables show the median of all
  rounds and, in brackets, the quartiles; of fewer than four rounds the least and the largest. *Time* is by the
  clock, *processor time* that of all cores together.
- **Everybody computes the same.** Before anything is measured the answers are compared; where they differ, there
  is no table. What was compared is said below each.
- *A limit* gives no answer: it is work that any answer needs.
- Memory is what a process took at its peak beyond what it had before.

`make bench-quick` has no clock at all: it counts passes, bytes and batches, and fails where one of them has grown.
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
    return "\n".join([HEAD, *sections, *render_runs(folder)]).rstrip() + "\n"


def render_results(results: Results) -> Iterator[str]:
    """A section: what was done, the tables, and what they were made with."""
    yield f"## {HEADINGS[results.benchmark]}\n"
    if results.benchmark in PICTURES:
        yield f"{PICTURES[results.benchmark]}\n"
    said = None
    for table in results.tables:
        if table.job != said:
            yield f"{table.job}\n"
            said = table.job
        yield f"### {table.title}\n"
        yield from render_table(table)
        yield f"\nCompared before measuring: {table.agreement}. Rounds: {table.repeats}.\n"
    yield f"{results.made}\n"


def render_table(table: Table) -> Iterator[str]:
    """One table of ratios."""
    memory = any(row.bytes_an_event is not None for row in table.rows)
    yield "| | time | processor time |" + (" bytes an event |" if memory else "")
    yield "|---|---|---|" + ("---|" if memory else "")
    for row in table.rows:
        cells = _cells(row, row.name == table.yardstick)
        yield "| " + " | ".join([*cells, *([_number(row.bytes_an_event)] if memory else [])]) + " |"


def _cells(row: Row, is_yardstick: bool) -> Sequence[str]:
    name = f"{row.name} ({row.uncompared})" if row.uncompared else row.name
    if row.time is None or row.processor is None:
        return [name, f"not measured: {row.absent}", ""]
    if is_yardstick:
        return [f"**{name}**", "1", "1"]
    return [name, _spread(row.time), _spread(row.processor)]


def _spread(ratio: Spread) -> str:
    return f"{_number(ratio.median)} ({_number(ratio.low)} to {_number(ratio.high)})"


def _number(value: float | None) -> str:
    """Two digits, or all before the point; three between 1 and 2, where a tenth is much."""
    if value is None:
        return ""
    if value >= 10:
        return thousands(round(value))
    if value >= 2:
        return f"{value:.1f}"
    return f"{value:.2f}" if value >= 0.1 else f"{value:.2g}"
