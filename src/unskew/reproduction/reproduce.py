"""The paper, reproduced: a world, its figures, its claims, one page.

``unskew reproduce`` and ``make demo`` run this.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

import pyarrow as pa

from unskew.errors import FileError, InputError
from unskew.files import replacing, write_parquet
from unskew.progress import progress
from unskew.reproduction import beyond
from unskew.reproduction.claims import RULE, Changes, claims
from unskew.reproduction.claims import table as changes_of
from unskew.reproduction.figure_loop import figure_loop
from unskew.reproduction.figures import Figure, save_figure
from unskew.reproduction.figures_beyond import figure_algorithms, figure_cost
from unskew.reproduction.figures_paper import figure_1, figure_2, figure_score, figure_weighted
from unskew.reproduction.page import Claim, write_reproduction_page
from unskew.reproduction.study import DRAWS, FIRST, LAST, Study, probabilities, scores
from unskew.reproduction.words import counted, percent, signed
from unskew.worlds.simulation import simulate
from unskew.worlds.world import World

Made = TypeVar("Made")

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
        """Write figures, data, claims and the page into a folder; returns the path of the page."""
        total = _steps(len(self.changes))
        progress().step(total, total, "drawing the figures")
        try:
            return self._save(folder)
        except KeyboardInterrupt:
            raise KeyboardInterrupt(f"some of the figures are in {folder}, the page is not made anew") from None

    def _save(self, folder: Path) -> Path:
        for figure in self.figures:
            save_figure(figure, folder)
        with replacing(folder / "claims.json") as temporary:
            temporary.write_text(json.dumps(self.changes[0].to_json(), indent=2) + "\n", encoding="utf-8")
        table = changes_of(self.changes)
        write_parquet(folder / "claims-by-seed.parquet", table, "claims", {})
        page = folder / "index.html"
        bound = f"{100 * max(one.bound for one in self.changes):.3f}"
        write_reproduction_page(
            page,
            _lead(self.changes[0]),
            self.figures,
            self.claims,
            _about(self),
            table,
            rule=RULE.format(first=FIRST, last=LAST, bound=f"at most {bound}"),
        )
        return page


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
    if "base" in world.about:
        raise InputError("this world was injected into a log: the reproduction needs one that was simulated")
    seed = int(world.about["seed"])
    told = world.about["parameters"]
    size = (min(races[0], told["users"]), min(races[1], told["items"]))
    steps = _Steps(_steps(seeds))
    study = steps.do("reading the world", lambda: Study.of(world))
    groups = study.groups()
    made = steps.do("scoring day by day", lambda: study.daily(every, groups))
    changes = [steps.do("the claims", lambda: Changes.of(study))]
    for other in range(seed + 1, seed + seeds):
        changes.append(steps.do(f"the claims with seed {other}", partial(_changes, world, other)))
    costs = steps.do("what p costs", lambda: beyond.cost(study))
    others = steps.do("popular, knn and als", lambda: beyond.algorithms(study, seed))
    lists = steps.do("a closed loop of lists", lambda: beyond.loop(beyond.LISTS, *size, seed, ("raw", "weighted")))
    ways = ("raw", "weighted", "organic")
    race = steps.do("a closed loop of algorithms", lambda: beyond.loop(beyond.RACE, *size, seed, ways))
    days = study.campaigns
    by_name = {name: scores(made, study, name) for name in ("g1", "g2")}
    raw = {name: _only_raw(table) for name, table in by_name.items()}
    figures = [
        figure_1(probabilities(made, groups), days),
        figure_2(study.sizes()),
        figure_score(raw["g1"], days, number=3, algorithm="g1", draws=DRAWS),
        figure_score(raw["g2"], days, number=4, algorithm="g2", draws=DRAWS),
        figure_weighted(by_name["g1"], days, number=5, algorithm="g1", draws=DRAWS),
        figure_weighted(by_name["g2"], days, number=6, algorithm="g2", draws=DRAWS),
        figure_cost(costs),
        figure_algorithms(others),
        figure_loop(lists),
        figure_loop(race, number=10, name="figure-10-race", title="The closed loop with algorithms that learn"),
    ]
    return Reproduction(world, figures, changes, claims(changes))


def prepare(folder: Path) -> None:
    """Make the folder before the work, or say why it cannot be."""
    if folder.exists() and not folder.is_dir():
        raise FileError(f"cannot write to {folder}: it is a file; give the name of a folder")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"cannot make the folder {folder}: {error.strerror or error}") from None


def _steps(seeds: int) -> int:
    """How many large steps there are, the drawing included."""
    return 7 + seeds


class _Steps:
    """Tells which of the pieces of work is under way."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._done = 0

    def do(self, text: str, work: Callable[[], Made]) -> Made:
        self._done += 1
        progress().step(self._done, self._total, text)
        return work()


def _changes(world: World, seed: int) -> Changes:
    from unskew.worlds.recipe import Recipe

    return Changes.of(Study.of(simulate(Recipe.from_dict(world.about["parameters"]), seed=seed)))


def _only_raw(table: pa.Table) -> pa.Table:
    rows = [row for row in table.to_pylist() if row["weighting"] == "raw"]
    return pa.Table.from_pylist([{k: v for k, v in row.items() if k != "weighting"} for row in rows])


def _lead(changes: Changes) -> str:
    own, before = changes.found["g1"], changes.before["g1"]
    raw, left = before * own["raw"], before * own["all"]
    return (
        f"An algorithm that never changes, g1, always recommends the same five items. From day {FIRST} to day "
        f"{LAST} its offline score went from {percent(before, 2)} to {percent(before + raw, 2)}, "
        f"{signed(own['raw'], 0)}: {_points(raw - left)} points come from the item mix that two campaigns "
        f"changed, {_points(left)} are not explained by it."
    )


def _points(change: float) -> str:
    """A change of a score in points."""
    return signed(change, 2).removesuffix(" %")


def _about(made: Reproduction) -> Sequence[str]:
    told = made.world.about["parameters"]
    size = f"{counted(told['users'])} users, {counted(told['items'])} items, {len(told['campaigns'])} campaigns"
    share, more = (percent(race.campaign.acceptance, 0) for race in (beyond.LISTS, beyond.RACE))
    return (
        "The paper's data, the skills of a professional network, are not public. This is a simulated network of "
        f"their size ({size}); all its parameters are in world/world.json. Some of these were chosen so that the "
        "raw scores move by about as much as in the paper: how much of a list people take, how much they like "
        "what is outside their topics, and how much they take by themselves. The campaigns leave out one in "
        f"{told['campaigns'][-1]['excluded']} popular items, so that there is a g2; these were spaced so widely "
        "because with more of them, in some worlds, one of g2's items is among the 20 that moved most, and p = 20 "
        "repairs a good part of g2. In the closed loops people take "
        f"{share} of a list, in figure 10 {more}, so that eight rounds are enough to see where they lead.",
        "The rest follows by itself: that g1 is repaired by the weights of the 20 items that moved most; that g2, "
        "which loses because hundreds of other items gain a little, is not, and needs hundreds of weights; that "
        "the weights of all items at once bring both scores back to within the bound, in fewer passes; and that "
        "personalised algorithms are not repaired by item weights alone.",
    )
