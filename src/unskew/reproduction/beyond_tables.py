"""The tables behind figures 7 to 10, beyond the paper: what p costs, other algorithms, the closed loop."""

from __future__ import annotations

import warnings
from dataclasses import replace
from importlib.util import find_spec
from typing import Any

import pyarrow as pa

from unskew.data.log import Log
from unskew.errors import ConvergenceWarning, UnskewWarning
from unskew.evaluation.evaluate_one import rank_held_out
from unskew.evaluation.held_out_ranks import HeldOutRanks
from unskew.progress import progress
from unskew.reproduction.study import DRAWS, FIRST, LAST, Study
from unskew.views.organic import organic
from unskew.weights.fit_weights import fit_weights
from unskew.weights.item_weights import ItemWeights
from unskew.worlds.named_worlds import WORLDS
from unskew.worlds.recipe import Loop, Recipe
from unskew.worlds.simulation import simulate

COMPARABLE, FREE = f"comparable with day {FIRST}", "free of the campaigns"
"""The two questions that a score can answer; each has a truth of its own."""

METRICS = ("hit@5", "mrr@10")

ALGORITHMS = {
    "popular": "popular",
    "knn": "knn?neighbours=200&similarity=cooccurrence",
    "als": "als?factors=32&iterations=10",
}
"""The specs of what is scored, by their names in figures."""

LISTS = Loop(tuple(f"list:{letter}" for letter in "abcde"), incumbent="list:e")
"""A race of fixed lists, the weakest in production at first."""

_RACERS = {
    "popular": "popular",
    "knn, co-occurrence": "knn?neighbours=200&similarity=cooccurrence",
    "knn, Jaccard": "knn?similarity=jaccard",
    "fixed list": "list:a",
}
RACE = Loop(
    tuple(_RACERS.values()),
    incumbent=_RACERS["knn, Jaccard"],
    campaign=replace(LISTS.campaign, acceptance=0.12),
)
"""A race of algorithms, the weakest in production at first."""

_REPEATS = 3  # of a fit that is timed; the quickest counts


def cost_table(study: Study) -> pa.Table:
    """Figure 7: what fitting p weights costs on the last day, and what it reaches; all items at once beside it."""
    before, now = study.log.at(FIRST), study.log.at(LAST)
    rows = []
    for method in ("descent", "lbfgs"):
        for p in study.tops:
            progress().note(f"{p} weights by {method}")
            rows.append(_measure_fit(now, before, str(p), p, method))
    rows.append(_measure_fit(now, before, "all items", None, "scaling"))
    return pa.Table.from_pylist(rows)


def _measure_fit(now: Any, before: Any, label: str, p: int | None, method: str) -> dict[str, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # what was reached is what is shown
        fits = [fit_weights(now, before, top=p, method=method) for _ in range(_REPEATS)]
    one = fits[0]
    return {
        "p": one.report.fitted,
        "method": method,
        "items": label,
        "passes": one.report.passes,
        "seconds": min(fit.report.seconds for fit in fits),
        "divergence": one.divergence,
        "bound": one.bound,
        "least_bound": one.report.bound_least if p is None else None,
        "status": one.status,
    }


def algorithms_table(study: Study, seed: int = 0) -> pa.Table:
    """Figure 8: algorithms that are not constant, raw and repaired, beside the truths of the two questions.

    A model is always fitted on the view that it is scored on.
    """
    views = {"all": study.log, "organic": organic(study.log), "truth": study.world.truth}
    weights = {name: fit_weights(log.at(LAST), log.at(FIRST)) for name, log in views.items()}
    rows: list[dict[str, Any]] = []
    for name, spec in ALGORITHMS.items():
        if name == "als" and find_spec("implicit") is None:
            warnings.warn("als is skipped; it needs pip install 'unskew[implicit]'", UnskewWarning, stacklevel=3)
            continue
        ranks = {view: _rank(spec, log, weights[view], seed) for view, log in views.items()}
        for metric in METRICS:
            for question, estimate, view, weighted in (
                (COMPARABLE, "raw", "all", False),
                (COMPARABLE, "item weights", "all", True),
                (COMPARABLE, "organic view + item weights", "organic", True),
                (COMPARABLE, "truth", "truth", True),
                (FREE, "raw", "all", False),
                (FREE, "organic view", "organic", False),
                (FREE, "truth", "truth", False),
            ):
                score = ranks[view].score(metric, weights[view] if weighted else None)
                rows.append(
                    {
                        "recommender": name,
                        "metric": metric,
                        "question": question,
                        "estimate": estimate,
                        "value": score.value,
                        "low": score.low,
                        "high": score.high,
                    }
                )
    return pa.Table.from_pylist(rows)


def _rank(spec: str, log: Log, weights: ItemWeights, seed: int) -> HeldOutRanks:
    return rank_held_out(spec, log.at(LAST), metric=METRICS, weights=[None, weights], sample=DRAWS, seed=seed)


def loop_table(race: Loop, users: int, items: int, seed: int, choices: tuple[str, ...]) -> pa.Table:
    """Figures 9 and 10: the same race, run once for each score that may decide."""
    names = {spec: name for name, spec in _RACERS.items()} if race is RACE else {}
    rows = []
    for chosen_by in choices:
        recipe: Recipe = replace(
            WORLDS["closed-loop"], users=users, items=items, loop=replace(race, chosen_by=chosen_by)
        )
        rounds = simulate(recipe, seed=seed).rounds
        assert rounds is not None  # a closed loop has them
        rows += [
            {
                "chosen_by": f"{chosen_by} score",
                "round": row["round"],
                "at": row["at"],
                "candidate": names.get(row["candidate"], row["candidate"].replace("list:", "list ")),
                "weighting": row["score_of"],
                "score": row["score"],
                "rank": row["rank"],
                "in_production": row["chosen"],
                "truth": row["truth"],
            }
            for row in rounds.to_pylist()
        ]
    return pa.Table.from_pylist(rows)
