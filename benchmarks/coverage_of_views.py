"""``python -m benchmarks.coverage_of_views WORLD... --replicates N``: how often intervals of views hold the truth.

A replicate is a log of other users for the same items. Each view of it is scored with intervals of level 95 %, and
so is the log had nothing been recommended. The truth is the mean of the latter over the replicates. Rows are added
to benchmarks/results/coverage.json, replicates that are there are not made again, and ``python -m tools.evidence
coverage`` prints them as a table.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

import unskew as us
from unskew.errors import UnskewError, UnskewWarning
from unskew.known_truths.case import Case
from unskew.known_truths.case_sources import SimulatedWorlds, find_sources
from unskew.known_truths.method_table import METHODS
from unskew.recommend.specs import name_recommenders

WORLDS = ("steady", "content", "steady-campaigns", "steady-quiet")
VIEWS = ("adjusted", "organic", "thinned by dates", "kept")
MODELS = ["popular", "knn", "ease"]
COLUMNS = ("world", "replicate", "view", "recommender", "value", "low", "high", "truth", "trusted")
SEED = 5000  # of the first replicate; also that of the items
RESULTS = Path(__file__).parent / "results" / "coverage.json"


@click.command(help=__doc__)
@click.argument("worlds", nargs=-1)
@click.option("--replicates", type=int, default=40, show_default=True)
@click.option("--users", type=int, default=800, show_default=True)
@click.option("--items", type=int, default=300, show_default=True)
def main(worlds: tuple[str, ...], replicates: int, users: int, items: int) -> None:
    """Measure the replicates that are missing."""
    rows = json.loads(RESULTS.read_text()) if RESULTS.exists() else []
    known = {(world, replicate) for world, replicate, *_ in rows}
    for replicate in range(replicates):
        for world in worlds or WORLDS:
            if (world, replicate) in known:
                continue
            [source] = find_sources([world], base=None, users=users, items=items)
            assert isinstance(source, SimulatedWorlds)
            recipe = replace(source.recipe, item_seed=SEED)
            case = Case.of(world, us.simulate(recipe, seed=SEED + replicate), source.remembered)
            rows += [[world, replicate, *row] for row in score_views(case)]
            RESULTS.write_text("[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n")


def score_views(case: Case) -> Iterator[list[Any]]:
    """The columns of each view and recommender from the view on; nothing of a view that is refused."""
    models = name_recommenders(MODELS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnskewWarning)
        truths = {s.recommender: s.value for s in us.report(case.truth, models, at=case.now.label).scores}
        for name in VIEWS:
            if not METHODS[name].needs <= case.facts:
                continue
            try:
                draws = METHODS[name].view.make(case, models)
            except UnskewError:
                continue
            for score in us.report(draws, models, at=case.now.label).scores:
                figures = (score.value, score.low, score.high, truths[score.recommender])
                yield [name, score.recommender, *(round(figure, 5) for figure in figures), not score.biased]


if __name__ == "__main__":
    main()
