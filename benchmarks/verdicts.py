"""Verdicts as decisions, where the truth is known: how often they have the wrong sign, and how often they decide.

``python -m benchmarks.verdicts WORLD... --seed S... -o FILE`` writes a line for each log, protocol and pair;
``--show FILE...`` adds the lines up. The truth is the difference on the log without recommendations, scored in the
same way and weighted to the same date; if production was on before, on the log had it stopped at that date.
"""

from __future__ import annotations

import itertools
import json
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.console import Console
from rich.table import Table

import unskew as us
from unskew.evaluation.find_verdicts import VerdictPlan
from unskew.known_truths.case import Case
from unskew.known_truths.case_sources import SimulatedWorlds, find_sources
from unskew.recommend.contract import Batch
from unskew.recommend.table import Table as Lists

MODELS = {
    "popular": "popular",
    "knn": "knn",
    "co-occurrence": "knn?similarity=cooccurrence",
    "ease": "ease",
}
METRICS = ["hit@5", "ndcg@10"]
PROTOCOLS: dict[str, dict[str, Any]] = {"leave-one-out": {}, "time split": {"after": 440}}
_LENGTH = 20  # of the lists of the external model
EXTERNAL = "external content"
LARGE = 0.02
"""A true difference that ought to be decided."""

TWINS = ("v1", "v2")
UNCLEAN = ("on-before", "replaced")
"""Worlds in which something was recommended before the reference date, which verdicts exclude by assumption."""


@click.command(help=__doc__)
@click.argument("worlds", nargs=-1)
@click.option("--seed", "seeds", type=int, multiple=True, default=(500,), show_default=True)
@click.option("--users", type=int, default=1500, show_default=True)
@click.option("--items", type=int, default=500, show_default=True)
@click.option("--protocol", "protocols", type=click.Choice(list(PROTOCOLS)), multiple=True)
@click.option("-o", "--output", type=click.Path(path_type=Path))
@click.option("--known", is_flag=True, help="With exposures and a holdout group, instead of with nothing known.")
@click.option("--show", type=click.Path(path_type=Path, exists=True), multiple=True)
def main(
    worlds: tuple[str, ...],
    seeds: tuple[int, ...],
    users: int,
    items: int,
    protocols: tuple[str, ...],
    output: Path | None,
    known: bool,
    show: tuple[Path, ...],
) -> None:
    """Measure, or show what was measured."""
    if show:
        Console(width=150).print(
            add_up(json.loads(line) for file in show for line in file.read_text().splitlines())
        )
        return
    for world in worlds:
        for seed in seeds:
            [source] = find_sources([world], base=None, users=users, items=items)
            assert isinstance(source, SimulatedWorlds)
            made = us.simulate(source.recipe, seed=seed)
            case = Case.of(world, made, source.remembered)
            for protocol in protocols or PROTOCOLS:
                for row in judge_case(case, made, protocol, known=known):
                    line = json.dumps({"world": world, "seed": seed, "protocol": protocol, **row})
                    if output is None:
                        click.echo(line)
                    else:
                        with output.open("a") as file:
                            file.write(line + "\n")


def judge_case(case: Case, world: us.World, protocol: str, *, known: bool) -> Iterator[dict[str, Any]]:
    """A row for each pair and metric."""
    options = PROTOCOLS[protocol]
    models: dict[str, Any] = dict(MODELS)
    if "after" in options:
        models |= {"als": "als?factors=32", EXTERNAL: list_for_users(world, options["after"])}
    models |= {name: case.models[name] for name in TWINS if name in (case.models or {})}
    log, knowledge = replace(case.log, exposed=None), None
    if known:
        if case.log.exposed is None or not case.holdout:
            return
        log = case.log
        knowledge = us.Knowledge(exposed="exposed", holdout=list(case.holdout), production="auto")
    dates = {"at": case.now.label, "reference": case.before.label}
    shared: dict[str, Any] = {**dates, **options, "metric": METRICS, "refit": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        truths = find_differences(us.report(case.truth, models, **shared).comparisons)
        plan = us.report(log, models, knowledge=knowledge, **shared).verdict_plan
        assert isinstance(plan, VerdictPlan)
        for verdict in replace(plan, pairs=list(itertools.combinations(models, 2))).find_each():
            truth, low, high = truths[verdict.recommender, verdict.baseline, verdict.metric]
            yield {
                "knows": "exposures and a holdout group" if known else "nothing",
                **{"a": verdict.recommender, "b": verdict.baseline, "metric": verdict.metric},
                **{"decision": verdict.decision, "low": verdict.low, "high": verdict.high},
                **{"truth": truth, "truth_low": low, "truth_high": high},
                "scenarios": [
                    [s.name, s.difference.value, s.difference.low, s.difference.high, s.trusted]
                    for s in verdict.scenarios
                ],
                "reason": verdict.reason,
            }


def list_for_users(world: us.World, until: int) -> Lists:
    """Lists of a content model for what users had by a day, as another team would hand them over."""
    snapshot = world.log.at(until)
    profiles = Batch.of(snapshot)
    lists = world.content_model().fit(snapshot).recommend(profiles, _LENGTH)
    users, items = (np.array(ids.to_list(), dtype=object) for ids in (world.log.users, world.log.items))
    rows = {"user": users[profiles.user].tolist(), "items": [items[row[row >= 0]].tolist() for row in lists]}
    return Lists(rows, valid_from=until)


def find_differences(comparisons: Iterable[Any]) -> dict[tuple[str, str, str], tuple[float, float, float]]:
    """Weighted differences by pair and metric, in both orders."""
    differences = {}
    for c in comparisons:
        if c.weighting == "weighted":
            differences[c.a, c.b, c.metric] = (c.difference, c.low, c.high)
            differences[c.b, c.a, c.metric] = (-c.difference, -c.high, -c.low)
    return differences


def add_up(lines: Iterable[Mapping[str, Any]]) -> Table:
    """The decision table: a row for each kind of world, protocol and knowledge, beside today's default."""
    groups: dict[tuple[str, str, str], list[Mapping[str, Any]]] = {}
    for line in lines:
        kind = "on before t0" if line["world"] in UNCLEAN else "clean before t0"
        groups.setdefault((kind, line["protocol"], line["knows"]), []).append(line)
    columns = ("worlds", "protocol", "knows", "pairs", "range has truth", "decided", "wrong sign")
    more = ("large decided", "equal decided", "as logged: decided", "wrong sign", "large decided")
    table = Table(*columns, *more)
    for (kind, protocol, knows), rows in sorted(groups.items()):
        truth, low, high = (
            np.array([row[name] for row in rows], dtype=float) for name in ("truth", "low", "high")
        )
        sign = np.array([{"better": 1, "worse": -1}.get(row["decision"], 0) for row in rows])
        logged = np.array([row["scenarios"][0][1:4] for row in rows], dtype=float)
        logged_sign = (logged[:, 1] > 0).astype(int) - (logged[:, 2] < 0).astype(int)
        large = np.abs(truth) > LARGE
        equal = np.array([{row["a"], row["b"]} == set(TWINS) and row["world"] == "twins" for row in rows])
        table.add_row(
            *(kind, protocol, knows, str(len(rows))),
            _share((low <= truth) & (truth <= high)),
            _share(sign != 0),
            _share((sign * truth < 0)[sign != 0]),
            _share((sign != 0)[large]),
            _share((sign != 0)[equal]),
            _share(logged_sign != 0),
            _share((logged_sign * truth < 0)[logged_sign != 0]),
            _share((logged_sign != 0)[large]),
        )
    return table


def _share(which: Any) -> str:
    return "" if len(which) == 0 else f"{100 * np.mean(which):.1f} % of {len(which)}"


if __name__ == "__main__":
    main()
