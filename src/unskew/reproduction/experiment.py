"""The paper, reproduced: a world, its figures, its claims, one page.

``unskew reproduce`` and ``make demo`` run this.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

from unskew.drawing.page import is_page
from unskew.errors import FileError
from unskew.files import replace_file
from unskew.folders import check_folder_writable, replace_folder
from unskew.progress import progress
from unskew.reproduction.beyond_figures import (
    LISTS,
    RACE,
    algorithms_table,
    cost_table,
    draw_algorithms,
    draw_cost,
    loop_table,
)
from unskew.reproduction.claims import RULE, Changes, Claim, collect_changes, judge_claims
from unskew.reproduction.figure import Figure, save_figure
from unskew.reproduction.loop_figure import draw_loop
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
from unskew.reproduction.reproduction_page import write_about, write_lead, write_reproduction_page
from unskew.reproduction.study import DRAWS, FIRST, LAST, Study
from unskew.table_files import write_parquet
from unskew.worlds.recipe import Recipe
from unskew.worlds.simulation import simulate
from unskew.worlds.world import ABOUT, World, check_folder, own_names

Result = TypeVar("Result")

PAGE, WORLD = "index.html", "world"
_CLAIMS, _TABLE = "claims.json", "claims-by-seed.parquet"
_FIGURE = re.compile(r"figure-\d+-[\w-]+\.(png|svg|parquet)")
RACES = (4000, 2000)
"""Users and items of a closed loop: small, since every candidate is fitted again in every round."""

SEEDS = 5
"""Worlds in which the claims are checked, the one shown included."""


@dataclass(frozen=True)
class Reproduction:
    """What was found.

    Attributes
    ----------
    figures
        In order.
    changes
        Of the world shown, then of the others.
    claims
        Those of the paper beside ours.
    """

    world: World
    figures: list[Figure]
    changes: list[Changes]
    claims: list[Claim]

    def save(self, folder: Path) -> Path:
        """Write figures, data, claims, the world and the page into a folder; returns the path of the page.

        Everything is made beside the folder first and takes its place in one step, so that it never holds figures
        of one world and the page of another.
        """
        total = _count_steps(len(self.changes))
        progress().step(total, total, "drawing the figures")
        check_target(folder)
        with replace_folder(folder, owns=_owns, last=[f"{WORLD}/{ABOUT}", PAGE]) as new:
            self._draw(new)
        return folder / PAGE

    def _draw(self, folder: Path) -> None:
        for figure in self.figures:
            save_figure(figure, folder)
        self.world.save(folder / WORLD)
        with replace_file(folder / _CLAIMS) as temporary:
            temporary.write_text(json.dumps(self.changes[0].to_json(), indent=2) + "\n", encoding="utf-8")
        table = collect_changes(self.changes)
        write_parquet(folder / _TABLE, table, "claims", {})
        bound = f"at most {100 * max(one.bound for one in self.changes):.3f}"
        write_reproduction_page(
            folder / PAGE,
            write_lead(self.changes[0]),
            self.figures,
            self.claims,
            write_about(self.world, self.changes),
            table,
            rule=RULE.format(first=FIRST, last=LAST, bound=bound),
        )


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
    steps = _Steps(_count_steps(seeds))
    study = steps.do("reading the world", lambda: Study.of(world))
    seed, recipe = int(world.about["seed"]), world.recipe
    size = (min(races[0], recipe.users), min(races[1], recipe.items))
    groups = study.group_items()
    timeline = steps.do("scoring day by day", lambda: study.score_daily(every, groups))
    changes = [steps.do("the claims", lambda: Changes.of(study))]
    for other in range(seed + 1, seed + seeds):
        changes.append(steps.do(f"the claims with seed {other}", partial(_repeat, recipe, other)))
    costs = steps.do("what p costs", lambda: cost_table(study))
    others = steps.do("popular, knn and als", lambda: algorithms_table(study, seed))
    lists = steps.do("a closed loop of lists", lambda: loop_table(LISTS, *size, seed, ("raw", "weighted")))
    choices = ("raw", "weighted", "organic")
    race = steps.do("a closed loop of algorithms", lambda: loop_table(RACE, *size, seed, choices))
    days = study.campaigns
    weighted = {name: weighted_table(timeline, study, name) for name in ("g1", "g2")}
    raw = {name: raw_table(table) for name, table in weighted.items()}
    figures = [
        draw_items(items_table(timeline, groups), days),
        draw_sizes(sizes_table(study)),
        draw_score(raw["g1"], days, number=3, algorithm="g1", draws=DRAWS),
        draw_score(raw["g2"], days, number=4, algorithm="g2", draws=DRAWS),
        draw_weighted_score(weighted["g1"], days, number=5, algorithm="g1", draws=DRAWS),
        draw_weighted_score(weighted["g2"], days, number=6, algorithm="g2", draws=DRAWS),
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
    found = sorted(path.name for path in folder.iterdir() if _owns(path.name)) if folder.is_dir() else []
    foreign = [name for name in found if name not in (WORLD, _TABLE)] if _TABLE not in found else []
    if PAGE in found and not is_page(folder / PAGE):
        foreign = [PAGE]
    if foreign:
        raise FileError(
            f"{folder} holds a file {foreign[0]} that is not of a reproduction and would be lost",
            remedy="give another folder",
        )


def _owns(path: str) -> bool:
    """Whether a path in the folder is of the reproduction."""
    inside = path.removeprefix(f"{WORLD}/")
    if inside != path:
        return inside in own_names()
    return path in (PAGE, _CLAIMS, _TABLE, WORLD) or _FIGURE.fullmatch(path) is not None


def _count_steps(seeds: int) -> int:
    """How many large steps there are, the drawing included."""
    return 7 + seeds


class _Steps:
    """Reports which of the large steps is under way."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._done = 0

    def do(self, text: str, work: Callable[[], Result]) -> Result:
        self._done += 1
        progress().step(self._done, self._total, text)
        return work()


def _repeat(recipe: Recipe, seed: int) -> Changes:
    return Changes.of(Study.of(simulate(recipe, seed=seed)))
