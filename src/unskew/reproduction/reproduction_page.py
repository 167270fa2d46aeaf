"""The page of the reproduction: the claims and what we found, how it was made, the figures, the other seeds."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from unskew.drawing.page import Section, write_page
from unskew.reproduction.claims import Claim
from unskew.reproduction.figure import Figure
from unskew.reproduction.phrases import format_change

TITLE = "Reducing offline evaluation bias in recommendation systems, reproduced"
IN_PAPER = 6
"""The number of figures in the paper."""


def write_reproduction_page(
    path: Path,
    lead: str,
    figures: Sequence[Figure],
    claims: Sequence[Claim],
    about: Sequence[str],
    changes: pa.Table | None = None,
    *,
    title: str = TITLE,
    rule: str = "",
) -> None:
    """Write the page beside the files of its figures.

    Parameters
    ----------
    path, lead, title
        Of the page; the lead is its first paragraph.
    figures
        In the order in which they are shown; those after the sixth are not in the paper.
    claims
        Rows of the first table.
    about
        Paragraphs on what was chosen and what follows by itself.
    rule
        When a claim holds, in words.
    changes
        Columns seed, algorithm, weighting, change (of the score from the first day to the last, as a part of it).
    """
    sections = [
        Section("What the paper claims, and what we found", rule, None, claims_table(claims), text_columns=5)
    ]
    if about:
        first, *others = about
        sections.append(Section("What was chosen, and what follows by itself", first))
        sections += [Section("", text) for text in others]
    for k, figure in enumerate(figures):
        if k == 0 or (figure.number > IN_PAPER >= figures[k - 1].number):
            sections.append(
                Section("Beyond the paper" if figure.number > IN_PAPER else "The figures of the paper", "")
            )
        sections.append(_make_section(figure))
    if changes is not None:
        text = "Change of the score of each algorithm from the first day to the last, for each seed of the world."
        sections.append(Section("The same for other seeds", text, None, changes_table(changes), text_columns=2))
    write_page(path, title, lead, sections)


def claims_table(claims: Sequence[Claim]) -> list[list[str]]:
    """The claims as cells."""
    rows = [["claim", "paper", "ours", "over the seeds", "holds"]]
    return rows + [[c.claim, c.paper, c.ours, c.spread, "yes" if c.holds else "no"] for c in claims]


def changes_table(changes: pa.Table) -> list[list[str]]:
    """A row for each algorithm and weighting, a column for each seed, and the range over the seeds."""
    found = {(row["algorithm"], row["weighting"], row["seed"]): row["change"] for row in changes.to_pylist()}
    seeds = sorted({seed for _, _, seed in found})
    rows = [["algorithm", "weighting", *(f"seed {seed}" for seed in seeds), "least .. largest"]]
    for algorithm, weighting in dict.fromkeys((a, w) for a, w, _ in found):
        own = [found.get((algorithm, weighting, seed)) for seed in seeds]
        known = [change for change in own if change is not None]
        cells = ["" if change is None else format_change(change) for change in own]
        rows.append([algorithm, weighting, *cells, f"{format_change(min(known))} .. {format_change(max(known))}"])
    return rows


def _make_section(figure: Figure) -> Section:
    links = [
        (word, f"{figure.name}.{kind}") for word, kind in (("PNG", "png"), ("SVG", "svg"), ("data", "parquet"))
    ]
    number = f"Figure {figure.number}."
    return Section("", "", figure.chart, caption=figure.sentence, number=number, links=links)
