"""The page of the reproduction: what was claimed and what we found, the figures, and how it was made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from unskew.drawing.page import Section, write_page
from unskew.reproduction.figure import Figure
from unskew.reproduction.words import signed

TITLE = "Reducing offline evaluation bias in recommendation systems, reproduced"
PAPER = 6
"""The number of figures in the paper."""


@dataclass(frozen=True)
class Claim:
    """A claim of the paper, and what we found.

    Attributes
    ----------
    claim, paper
        What is claimed, and the number given for it.
    ours, spread
        Our number in the world shown, and the least and the largest over all worlds.
    holds
        Whether the claim holds.
    """

    claim: str
    paper: str
    ours: str
    spread: str
    holds: bool


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
    sections = [Section("What the paper claims, and what we found", rule, None, claims_table(claims), worded=5)]
    if about:
        first, *others = about
        sections.append(Section("What was chosen, and what follows by itself", first))
        sections += [Section("", text) for text in others]
    for k, figure in enumerate(figures):
        if k == 0 or (figure.number > PAPER >= figures[k - 1].number):
            sections.append(
                Section("Beyond the paper" if figure.number > PAPER else "The figures of the paper", "")
            )
        sections.append(_shown(figure))
    if changes is not None:
        text = "Change of the score of each algorithm from the first day to the last, for each seed of the world."
        sections.append(Section("The same for other seeds", text, None, changes_table(changes), worded=2))
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
        cells = ["" if change is None else signed(change) for change in own]
        rows.append([algorithm, weighting, *cells, f"{signed(min(known))} .. {signed(max(known))}"])
    return rows


def _shown(figure: Figure) -> Section:
    links = [
        (word, f"{figure.name}.{kind}") for word, kind in (("PNG", "png"), ("SVG", "svg"), ("data", "parquet"))
    ]
    number = f"Figure {figure.number}."
    return Section("", "", figure.chart, caption=figure.sentence, number=number, links=links)
