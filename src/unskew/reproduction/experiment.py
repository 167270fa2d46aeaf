"""The paper, reproduced: a world, its figures, its claims, one page.

``unskew reproduce`` and ``make demo`` run this.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count, groupby
from pathlib import Path

import pyarrow as pa

from unskew.drawing.page import Section, is_page, write_page
from unskew.errors import FileError
from unskew.progress import progress
from unskew.reproduction.beyond_figures import algorithms_table, cost_table, draw_algorithms, draw_cost
from unskew.reproduction.figure import Figure, format_change, format_percent, save_figure
from unskew.reproduction.loop_figure import LISTS, RACE, draw_loop, loop_table
from unskew.reproduction.paper_figures import (
    draw_items,
    draw_score,
    draw_sizes,
    draw_weighted_score,
    items_table,
    raw_table,
    sizes_table,
    weighted_table,
)
from unskew.reproduction.study import FEW, FIRST, LAST, RULE, Changes, Claim, Study, collect_changes, judge_claims
from unskew.storage.files import replace_file
from unskew.storage.folders import check_folder_writable, replace_folder
from unskew.storage.tables import write_parquet
from unskew.text import enumerate_words, thousands
from unskew.worlds.named_worlds import PAPER
from unskew.worlds.simulation import simulate
from unskew.worlds.world import ABOUT, World, check_folder, own_names

PAGE, WORLD = "index.html", "world"
_CLAIMS, _TABLE = "claims.json", "claims-by-seed.parquet"
_FIGURE = re.compile(r"figure-\d+-[\w-]+\.(png|svg|parquet)")
RACES = (4000, 2000)
"""Users and items of a closed loop: small, since every candidate is fitted again in every round."""

_FIXED_STEPS = 7  # and one for each seed

SEEDS = 5
"""Worlds in which the claims are checked, the one shown included."""


@dataclass(frozen=True)
class Reproduction:
    """What was found."""

    world: World
    figures: list[Figure]  # in order
    changes: list[Changes]  # of the world shown, then of the others
    claims: list[Claim]  # those of the paper beside ours

    def save(self, folder: Path) -> Path:
        """Write figures, data, claims, the world and the page into a folder; returns the path of the page.

        Everything is made beside the folder first and takes its place in one step, so that it never holds figures
        of one world and the page of another.
        """
        total = _FIXED_STEPS + len(self.changes)
        progress().step(total, total, "drawing the figures")
        check_target(folder)
        with replace_folder(folder, owns=_owns, last=[f"{WORLD}/{ABOUT}", PAGE]) as new:
            self._draw(new)
        return folder / PAGE

    def _draw(self, new: Path) -> None:
        for figure in self.figures:
            save_figure(figure, new)
        self.world.save(new / WORLD)
        with replace_file(new / _CLAIMS) as temporary:
            temporary.write_text(json.dumps(self.changes[0].to_json(), indent=2) + "\n", encoding="utf-8")
        table = collect_changes(self.changes)
        write_parquet(new / _TABLE, table, "claims", {})
        bound = f"at most {100 * max(change.bound for change in self.changes):.3f}"
        rule = RULE.format(first=FIRST, last=LAST, bound=bound)
        lead, about = write_lead(self.changes[0]), write_about(self.world, self.changes)
        write_reproduction_page(new / PAGE, lead, self.figures, self.claims, about, table, rule=rule)


def reproduce(world: World, *, seeds: int = SEEDS, every: int = 1, races: tuple[int, int] = RACES) -> Reproduction:
    """Measure everything that the figures show.

    Parameters
    ----------
    world
        Made by `simulate`; the paper's or one like it.
    seeds
        In how many worlds the claims are checked: the one given, and the same made with the next seeds.
    every
        Days between two points of a curve.
    races
        The most users and items that a closed loop has.
    """
    steps = count(1)

    def begin(text: str) -> None:
        progress().step(next(steps), _FIXED_STEPS + seeds, text)

    begin("reading the world")
    study = Study.of(world)
    seed, recipe = int(world.about["seed"]), world.recipe
    size = (min(races[0], recipe.users), min(races[1], recipe.items))
    groups = study.group_items()
    begin("scoring day by day")
    timeline = study.score_daily(every, groups)
    begin("the claims")
    changes = [Changes.of(study)]
    for other in range(seed + 1, seed + seeds):
        begin(f"the claims with seed {other}")
        changes.append(Changes.of(Study.of(simulate(recipe, seed=other))))
    begin("what p costs")
    costs = cost_table(study)
    begin("popular, knn and als")
    others = algorithms_table(study, seed)
    begin("a closed loop of lists")
    lists = loop_table(LISTS, *size, seed, ("raw", "weighted"))
    begin("a closed loop of algorithms")
    race = loop_table(RACE, *size, seed, ("raw", "weighted", "organic"))
    days = study.campaigns
    weighted = {name: weighted_table(timeline, study, name) for name in ("g1", "g2")}
    figures = [
        draw_items(items_table(timeline, groups), days),
        draw_sizes(sizes_table(study)),
        draw_score(raw_table(weighted["g1"]), days),
        draw_score(raw_table(weighted["g2"]), days, number=4, algorithm="g2"),
        draw_weighted_score(weighted["g1"], days),
        draw_weighted_score(weighted["g2"], days, number=6, algorithm="g2"),
        draw_cost(costs),
        draw_algorithms(others),
        draw_loop(lists),
        draw_loop(race, number=10, name="figure-10-race", title="The closed loop with algorithms that learn"),
    ]
    return Reproduction(world, figures, changes, judge_claims(changes))


def check_target(folder: Path) -> None:
    """Refuse a folder that cannot be written to, or where files of somebody else would be lost."""
    check_folder_writable(folder)
    check_folder(folder / WORLD)
    names = sorted(path.name for path in folder.iterdir() if _owns(path.name)) if folder.is_dir() else []
    foreign = [name for name in names if name not in (WORLD, _TABLE)] if _TABLE not in names else []
    if PAGE in names and not is_page(folder / PAGE):
        foreign = [PAGE]
    if foreign:
        raise FileError(
            f"{folder} holds a file {foreign[0]} that is not of a reproduction and would be lost",
            remedy="give another folder",
        )


def _owns(path: str) -> bool:
    inside = path.removeprefix(f"{WORLD}/")
    if inside != path:
        return inside in own_names()
    return path in (PAGE, _CLAIMS, _TABLE, WORLD) or _FIGURE.fullmatch(path) is not None


def write_lead(changes: Changes) -> str:
    """What happened to the score of g1, and where it comes from."""
    shares, before = changes.found["g1"], changes.before["g1"]
    raw, left = before * shares["raw"], before * shares["all"]
    return (
        f"An algorithm that never changes, g1, always recommends the same five items. From day {FIRST} to day "
        f"{LAST} its offline score went from {format_percent(before, 2)} to {format_percent(before + raw, 2)}, "
        f"{format_change(shares['raw'], 0)}: {_format_points(raw - left)} points come from the item mix that two "
        f"campaigns changed, {_format_points(left)} are unexplained by it."
    )


def write_about(world: World, changes: Sequence[Changes]) -> list[str]:
    """What was chosen, what follows, and how it was measured."""
    return [_describe_choices(world), _describe_findings(changes), _MEASUREMENT]


def _format_points(change: float) -> str:
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
    worlds = "In this world" if len(changes) == 1 else f"In these {len(changes)} worlds"
    parts = []
    keys = [key for key in changes[0].found["g2"] if key.isdigit()]
    if str(FEW) in keys:
        g1 = max(abs(change.remaining("g1", str(FEW))) for change in changes)
        g2 = min(change.remaining("g2", key) for change in changes for key in keys if int(key) <= FEW)
        most = max(keys, key=int)
        late = max(abs(change.remaining("g2", most)) for change in changes)
        parts = [
            f"the weights of the {FEW} items that moved most leave at most {format_percent(g1, 0)} of g1's change",
            f"with p ≤ {FEW}, at least {format_percent(g2, 0)} of g2's change is left (with the spacing above)",
            f"with p = {most}, at most {format_percent(late, 0)} of it",
        ]
    worst = max(abs(change.found[name]["all"]) for change in changes for name in change.found)
    parts.append(
        f"with the weights of all items, no score differs from that of day {FIRST} by more than "
        f"{format_percent(worst, 2)} of it"
    )
    return (
        f"What follows was not chosen. {worlds}: {'; '.join(parts)}. What becomes of algorithms that are not "
        "constant (figure 8), and of the closed loops once people accept enough (figures 9 and 10), is seen "
        "there."
    )


_MEASUREMENT = (
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
    rule: str = "",
) -> None:
    """Write the page beside the files of its figures.

    - `path`, `lead`: of the page; the lead is its first paragraph.
    - `figures`: in the order in which they are shown; those after the sixth are not in the paper.
    - `claims`: rows of the first table.
    - `about`: paragraphs on what was chosen and what follows by itself.
    - `rule`: when a claim holds, in words.
    - `changes`: columns seed, algorithm, weighting, change (of the score from the first day to the last, as a part
      of it).
    """
    sections = [
        Section("What the paper claims, and what we found", rule, None, claims_table(claims), text_columns=5)
    ]
    if about:
        first, *others = about
        sections.append(Section("What was chosen, and what follows by itself", first))
        sections += [Section("", text) for text in others]
    for is_beyond, several in groupby(figures, key=lambda figure: figure.number > IN_PAPER):
        sections.append(Section("Beyond the paper" if is_beyond else "The figures of the paper", ""))
        sections += map(_make_section, several)
    if changes is not None:
        text = "Change of the score of each algorithm from the first day to the last, for each seed of the world."
        sections.append(Section("The same for other seeds", text, None, changes_table(changes), text_columns=2))
    write_page(path, TITLE, lead, sections)


def claims_table(claims: Sequence[Claim]) -> list[list[str]]:
    """The claims as cells."""
    rows = [["claim", "paper", "ours", "over the seeds", "holds"]]
    return rows + [[c.claim, c.paper, c.ours, c.spread, "yes" if c.holds else "no"] for c in claims]


def changes_table(changes: pa.Table) -> list[list[str]]:
    """A row for each algorithm and weighting, a column for each seed, and the range over the seeds."""
    by_name = {(row["algorithm"], row["weighting"], row["seed"]): row["change"] for row in changes.to_pylist()}
    seeds = sorted({seed for _, _, seed in by_name})
    rows = [["algorithm", "weighting", *(f"seed {seed}" for seed in seeds), "least .. largest"]]
    for algorithm, weighting in dict.fromkeys((a, w) for a, w, _ in by_name):
        row_changes = [by_name.get((algorithm, weighting, seed)) for seed in seeds]
        known = [change for change in row_changes if change is not None]
        cells = ["" if change is None else format_change(change) for change in row_changes]
        rows.append([algorithm, weighting, *cells, f"{format_change(min(known))} .. {format_change(max(known))}"])
    return rows


def _make_section(figure: Figure) -> Section:
    links = [
        (word, f"{figure.name}.{kind}") for word, kind in (("PNG", "png"), ("SVG", "svg"), ("data", "parquet"))
    ]
    number = f"Figure {figure.number}."
    return Section("", "", figure.chart, caption=figure.sentence, number=number, links=links)
