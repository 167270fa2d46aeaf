"""``python -m benchmarks.coverage_of_views WORLD... --replicates N``: how often intervals of views hold the truth.

A replicate is a log of other users for the same items. Each view of it is scored with intervals of level 95 %,
and so is the log had nothing been recommended. The truth is the mean of the latter over the replicates. Rows are
added to benchmarks/results/coverage.json, replicates that are there are not made again, and ``python -m
tools.evidence write`` makes the tables of docs/uncertainty.md from them.
"""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

import unskew as us
from unskew.data.log import Log
from unskew.errors import UnskewError, UnskewWarning
from unskew.evaluation import jackknife
from unskew.known_truths.case import Case
from unskew.known_truths.case_sources import SimulatedWorlds, find_sources
from unskew.recommend.contract import Recommender
from unskew.recommend.specs import name_recommenders
from unskew.views.knowledge import Knowledge

WORLDS = ("steady", "content", "steady-campaigns", "steady-quiet")
"""Nothing is recommended in the last. What trust is worth is measured on larger logs, of other worlds too."""

VIEWS = {
    "adjusted": ("exposures",),
    "organic": ("exposures",),
    "thinned by dates": ("dates", "production"),
    "thinned by dates, auto": ("dates",),
    "kept": ("production", "hold-out", "exposures"),
}
"""The views, and what has to be known for each."""

LOGGED, TRUTH = "as logged", "nothing recommended"
"""The log as it is, and as it would be had nothing been recommended: scored besides the views."""

MODELS = ["popular", "knn", "ease"]
DRAWS = 5  # as for users, who do not ask for another number
QUIET = "steady-quiet"
"""The world in which nothing is recommended."""

COLUMNS = (
    *("world", "users", "replicate", "view", "recommender", "value"),
    *("low", "high", "refitted_low", "refitted_high", "trusted"),
)
"""Of each row. The interval as printed is about the recommender as fitted; the refitted one, of `jackknife`,
includes its fit, and is None where it was not made.
"""

SEED = 5000  # of the first replicate; also that of the items
RESULTS = Path(__file__).parent / "results" / "coverage.json"


@click.command(help=__doc__)
@click.argument("worlds", nargs=-1)
@click.option("--replicates", type=int, default=40, show_default=True)
@click.option("--first", type=int, default=0, show_default=True, help="The first replicate.")
@click.option("--users", type=int, default=800, show_default=True)
@click.option("--items", type=int, default=300, show_default=True)
@click.option("--seed", type=int, default=SEED, show_default=True, help="Another one to choose anything on.")
@click.option("--view", "views", multiple=True, type=click.Choice(list(VIEWS)), help="Some views alone.")
@click.option("--printed", is_flag=True, help="Intervals as printed alone, which is quicker.")
@click.option("--minutes", type=float, default=float("inf"), help="Begin no replicate after so many.")
@click.option("-o", "--output", type=Path, default=RESULTS, show_default=True)
def main(
    worlds: tuple[str, ...],
    replicates: int,
    first: int,
    users: int,
    items: int,
    seed: int,
    views: tuple[str, ...],
    printed: bool,
    minutes: float,
    output: Path,
) -> None:
    """Measure the replicates that are missing."""
    rows = json.loads(output.read_text()) if output.exists() else []
    known = {tuple(row[:4]) for row in rows}
    began = time.monotonic()
    for replicate in range(first, first + replicates):
        for world in worlds or WORLDS:
            # where nothing is recommended, all views are the log itself
            names = [TRUTH] if world == QUIET else [TRUTH, LOGGED, *(views or VIEWS)]
            missing = [name for name in names if (world, users, replicate, name) not in known]
            if not missing:
                continue
            if time.monotonic() - began > 60 * minutes:
                return
            [source] = find_sources([world], base=None, users=users, items=items)
            assert isinstance(source, SimulatedWorlds)
            recipe = replace(source.recipe, item_seed=seed)
            case = Case.of(world, us.simulate(recipe, seed=seed + replicate), source.remembered)
            rows += [[world, users, replicate, *row] for row in score_views(case, missing, refit=not printed)]
            output.write_text("[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n")


def score_views(case: Case, names: Sequence[str], *, refit: bool) -> Iterator[list[Any]]:
    """The columns of each view and recommender from the view on; nothing of a view that is refused."""
    models = name_recommenders(MODELS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnskewWarning)
        for name in names:
            if not set(VIEWS.get(name, ())) <= case.facts:
                continue
            log: Log | list[Log] | None = {TRUTH: case.truth, LOGGED: case.log}.get(name)
            try:
                log = log or take_view(case, name, models)
            except UnskewError:
                continue
            refitted: dict[str, tuple[float, float]] = {}
            if refit and (name in VIEWS or case.label == QUIET):
                again = jackknife(log, models, at=case.now.label)
                refitted = {score.recommender: (score.low, score.high) for score in again}
            for score in us.report(log, models, at=case.now.label).scores:
                limits = refitted.get(score.recommender, (None, None))
                figures = (score.value, score.low, score.high, *limits)
                rounded = [None if figure is None else round(figure, 5) for figure in figures]
                yield [name, score.recommender, *rounded, not score.biased]


def take_view(case: Case, name: str, models: Mapping[str, Recommender]) -> list[Log]:
    """The draws of a view, tested as for a user."""
    needs = VIEWS[name]
    view = name.split(maxsplit=1)[0]
    production = case.require_production() if "production" in needs else None
    known = Knowledge(
        exposures=case.exposures if name == "adjusted" else None,
        campaigns=case.windows if "dates" in needs else (),
        holdout=case.holdout if "hold-out" in needs else None,
        production="auto" if name.endswith("auto") else production,
    )
    return known.take(
        replace(case.log, exposed=None) if view in ("adjusted", "thinned") else case.log,
        draws=DRAWS,
        view=view,
        since=case.before.label,
        until=case.now.label,
        candidates=models,
        seed=case.seed,
    )


if __name__ == "__main__":
    main()
