"""The closed loop: what wins an offline evaluation is put into production, and shapes the log of the next.

Every round scores all candidates on the log as it is, raw and weighted to the item mix of the first round, on
its organic view, and on the log of the same world in which nothing was ever recommended.
"""

from __future__ import annotations

from dataclasses import replace
from string import ascii_lowercase
from typing import Any

import numpy as np
import pyarrow as pa

from unskew.data.slice import Snapshot
from unskew.errors import InputError
from unskew.evaluation.evaluate_one import evaluate, rank_held_out
from unskew.progress import progress
from unskew.weights.fit_weights import fit_weights
from unskew.worlds.campaigns import Service
from unskew.worlds.recipe import Loop, is_list

_LENGTH = 5  # of a fixed list


def run_loop(service: Service, loop: Loop) -> pa.Table:
    """Run the rounds; the service then holds what they led to.

    Columns round, at, candidate, score_of ("raw", "weighted" or "organic"), score, rank (1 is best), chosen (it is
    put into production in this round), truth (its raw score had nothing been recommended).
    """
    if not (service.events.time <= loop.first).any():
        raise InputError(f"no user has an interaction by day {loop.first}", remedy="let the loop begin later")
    reference = service.events.snapshot(loop.first)
    specs = {name: _make_spec(name, reference, loop) for name in loop.candidates}
    rows: list[dict[str, Any]] = []
    for number, day in enumerate(loop.days):
        progress().stage(f"round {number + 1} of {loop.rounds}: scoring {len(specs)} candidates")
        now = service.events.snapshot(day)
        weights = fit_weights(now, reference)
        ranks = {name: rank_held_out(spec, now, metric=loop.metric) for name, spec in specs.items()}
        scores = {
            "raw": {name: r.score(loop.metric).value for name, r in ranks.items()},
            "weighted": {name: r.score(loop.metric, weights).value for name, r in ranks.items()},
            "organic": _score_all(specs, loop.metric, service.organic_view().snapshot(day), reference),
        }
        truth = _score_all(specs, loop.metric, service.organic.snapshot(day), None)
        winner = _rank(scores[loop.chosen_by])[0]
        if number == 0 and loop.incumbent is not None:
            winner = loop.incumbent
        for score_of, found in scores.items():
            ranked = _rank(found)
            rows += [
                {
                    "round": number,
                    "at": day,
                    "candidate": name,
                    "score_of": score_of,
                    "score": found[name],
                    "rank": ranked.index(name) + 1,
                    "chosen": name == winner,
                    "truth": truth[name],
                }
                for name in specs
            ]
        service.run(replace(loop.campaign, day=day, recommender=specs[winner]), day)
    return pa.Table.from_pylist(rows)


def _score_all(specs: dict[str, str], metric: str, now: Snapshot, reference: Snapshot | None) -> dict[str, float]:
    weights = None if reference is None else fit_weights(now, reference)
    return {name: evaluate(spec, now, metric=metric, weights=weights).value for name, spec in specs.items()}


def _rank(scores: dict[str, float]) -> list[str]:
    """The candidates, best first; equals stay in the order in which they were named."""
    return sorted(scores, key=lambda name: -scores[name])


def _make_spec(name: str, reference: Snapshot, loop: Loop) -> str:
    """The spec of a candidate; the fixed lists share out the most popular items, like cards that are dealt."""
    if not is_list(name):
        return name
    lists = sorted(filter(is_list, loop.candidates), key=lambda c: ascii_lowercase.index(c[-1]))
    ids = reference.log.items.values.to_numpy()
    ranking = ids[np.lexsort((ids, -reference.counts()))]
    if len(ranking) < len(lists):
        raise InputError(
            f"{len(lists)} fixed lists need as many items, and on day {loop.first} people hold {len(ranking)}",
            remedy="give more items or users",
        )
    own = ranking[lists.index(name) :: len(lists)][:_LENGTH]
    return "constant:" + ",".join(map(str, own.tolist()))
