"""The page of the reproduction: its texts, and how it is put together."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from unskew.drawing.page import Section, write_page
from unskew.reproduction.beyond_figures import LISTS, RACE
from unskew.reproduction.claims import FEW, Changes, Claim
from unskew.reproduction.figure import Figure, format_change, format_percent
from unskew.reproduction.study import FIRST, LAST
from unskew.text import enumerate_words, thousands
from unskew.worlds.named_worlds import PAPER
from unskew.worlds.world import World


def write_lead(changes: Changes) -> str:
    """What happened to the score of g1, and where it comes from."""
    own, before = changes.found["g1"], changes.before["g1"]
    raw, left = before * own["raw"], before * own["all"]
    return (
        f"An algorithm that never changes, g1, always recommends the same five items. From day {FIRST} to day "
        f"{LAST} its offline score went from {format_percent(before, 2)} to {format_percent(before + raw, 2)}, "
        f"{format_change(own['raw'], 0)}: {_format_points(raw - left)} points come from the item mix that two "
        f"campaigns changed, {_format_points(left)} are unexplained by it."
    )


def write_about(world: World, changes: Sequence[Changes]) -> list[str]:
    """What was chosen, what follows, and how it was measured."""
    return [_describe_choices(world), _describe_findings(changes), _describe_measurement()]


def _format_points(change: float) -> str:
    """A change of a score in points."""
    return format_change(change, 2).removesuffix(" %")


def _describe_choices(world: World) -> str:
    recipe = world.recipe
    like = "of their size " if (recipe.users, recipe.items) == (PAPER.users, PAPER.items) else ""
    size = f"{thousands(recipe.users)} users, {thousands(recipe.items)} items, {len(recipe.campaigns)} campaigns"
    excluded = enumerate_words([f"one in {c.excluded}" for c in recipe.campaigns if c.excluded])
    spaced = (
        f"The campaigns skip {excluded} of the popular items, so that there is a g2; these were spaced so "
        f"widely because with more of them, in some worlds, one of g2's items is among the {FEW} that moved most, "
        f"and p = {FEW} repairs a good part of g2. "
    )
    share, more = (format_percent(race.campaign.acceptance, 0) for race in (LISTS, RACE))
    return (
        "The paper's data, the skills of a professional network, are not public. This is a simulated network "
        f"{like}({size}); all its parameters are in world/world.json. Some of these were chosen so that, with the "
        "default sizes, the raw scores move by about as much as in the paper: how much of a list people take, how "
        "much they like what is outside their topics, and how much they take by themselves. "
        f"{spaced if excluded else ''}In the closed loops of figures 9 and 10 people take {share} and {more} of a "
        f"list, so that {LISTS.rounds} rounds are enough to see where they lead."
    )


def _describe_findings(changes: Sequence[Changes]) -> str:
    """The other claims, as numbers: true of these worlds whatever they are."""
    worlds = "In this world" if len(changes) == 1 else f"In these {len(changes)} worlds"
    parts = []
    keys = [key for key in changes[0].found["g2"] if key.isdigit()]
    if str(FEW) in keys:
        g1 = max(abs(one.remaining("g1", str(FEW))) for one in changes)
        g2 = min(one.remaining("g2", key) for one in changes for key in keys if int(key) <= FEW)
        most = max(keys, key=int)
        late = max(abs(one.remaining("g2", most)) for one in changes)
        parts = [
            f"the weights of the {FEW} items that moved most leave at most {format_percent(g1, 0)} of g1's change",
            f"with p ≤ {FEW}, at least {format_percent(g2, 0)} of g2's change is left (with the spacing above)",
            f"with p = {most}, at most {format_percent(late, 0)} of it",
        ]
    worst = max(abs(one.found[name]["all"]) for one in changes for name in one.found)
    parts.append(
        f"with the weights of all items, no score differs from that of day {FIRST} by more than "
        f"{format_percent(worst, 2)} of it"
    )
    return (
        f"What follows was not chosen. {worlds}: {'; '.join(parts)}. What becomes of algorithms that are not "
        "constant (figure 8), and of the closed loops once people accept enough (figures 9 and 10), is seen "
        "there."
    )


def _describe_measurement() -> str:
    return (
        "The claims use every pair of the last day and, for p weights, the paper's gradient descent. The curves "
        "use L-BFGS, each day from the weights of the day before; both stop at a tolerance, so that the two may "
        "differ by some tenths of a percent. Seconds in figure 7 are measured on the machine that made this page; "
        "everything else is the same wherever it is made."
    )


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
