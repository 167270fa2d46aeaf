"""What the margin of agreement with production removes, and what it takes away with it, in worlds whose truth is
known.

In the world of the paper, hit@5 at day 500 against the truth of the question that weights answer: the log
without campaigns, weighted to day 300 by item weights. In the quiet world nothing was recommended, so that
whatever a score has gained since day 300 is a true gain: how much of it is left?
"""

from __future__ import annotations

import numpy as np
from rich.console import Console
from rich.table import Table

import unskew as us
from unskew.weights import Agreement

MODELS = {
    "popular": "popular",
    "co-occurrence": "knn?neighbours=200&similarity=cooccurrence",
    "cosine": "knn?neighbours=50",
    "ease": "ease?l2=500",
}
PRODUCTION = MODELS["co-occurrence"]
"""What makes the lists of the campaigns."""

SEEDS = range(200, 205)
USERS, ITEMS = 6000, 2500
THEN, NOW = 300, 500
_METRIC = "hit@5"


def run(console: Console, seeds: range = SEEDS) -> None:
    """Print both tables."""
    rows = [_estimate(us.simulate(users=USERS, items=ITEMS, seed=seed)) for seed in seeds]
    _show(console, f"paper: error of {_METRIC} against the truth, mean of {len(rows)} seeds", rows)
    quiet = [us.simulate("quiet", users=USERS, items=ITEMS, seed=seed).log for seed in seeds]
    kept = [_keep(log) for log in quiet]
    _show(console, f"quiet: change of {_METRIC} since day {THEN}, mean of {len(kept)} seeds", kept)


def _weigh(log: us.Log) -> dict[str, us.ItemWeights | None]:
    now, then = log.at(NOW), log.at(THEN)
    return {
        "raw": None,
        "item weights": us.fit_weights(now, then),
        "items and agreement": us.fit_weights(now, then, margins=[Agreement(PRODUCTION)]),
    }


def _score(log: us.Log, weights: us.ItemWeights | None, spec: str) -> float:
    return us.evaluate(spec, log.at(NOW), weights=weights, metric=_METRIC).value


def _estimate(world: us.worlds.World) -> dict[tuple[str, str], float]:
    """Relative errors by way and model."""
    truth = us.fit_weights(world.truth.at(NOW), world.truth.at(THEN))
    wanted = {name: _score(world.truth, truth, spec) for name, spec in MODELS.items()}
    return {
        (way, name): _score(world.log, weights, spec) / wanted[name] - 1
        for way, weights in _weigh(world.log).items()
        for name, spec in MODELS.items()
    }


def _keep(log: us.Log) -> dict[tuple[str, str], float]:
    """Relative changes since the reference date by way and model."""
    then = {name: us.evaluate(spec, log.at(THEN), metric=_METRIC).value for name, spec in MODELS.items()}
    return {
        (way, name): _score(log, weights, spec) / then[name] - 1
        for way, weights in _weigh(log).items()
        for name, spec in MODELS.items()
    }


def _show(console: Console, title: str, rows: list[dict[tuple[str, str], float]]) -> None:
    table = Table("", *MODELS, title=title)
    for way in dict.fromkeys(way for way, _ in rows[0]):
        found = [[row[way, name] for row in rows] for name in MODELS]
        table.add_row(way, *(f"{100 * np.mean(one):+.1f} % ± {100 * np.std(one):.1f}" for one in found))
    console.print(table)


if __name__ == "__main__":
    run(Console(width=130))
