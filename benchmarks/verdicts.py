"""Verdicts as decisions, where the truth is known: how often they have the wrong sign, and how often they decide.

``python -m benchmarks.verdicts WORLD... --seed S... -o FILE`` writes a line for each log, protocol, knowledge and
pair; ``--collect FILE...`` counts them in benchmarks/results/verdicts.json, in place of what that has of the same
logs. ``python -m tools.evidence write`` makes the tables of the documentation from it.

The truth is the difference on the log without recommendations, scored in the same way and weighted to the same
date; if production was on before, on the log had it stopped at that date. It is averaged over several populations
of users for the same items, since one sample of users has chance in it.
"""

from __future__ import annotations

import itertools
import json
import math
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click
import numpy as np

import unskew as us
from unskew.evaluation.find_verdicts import VerdictPlan
from unskew.evaluation.verdict import Scenario, decide
from unskew.known_truths.case import Case
from unskew.known_truths.case_names import POPULATION
from unskew.known_truths.case_sources import SimulatedWorlds, find_sources
from unskew.recommend.contract import Batch
from unskew.recommend.table import Table as Lists
from unskew.views.scenarios import Excesses, find_excesses
from unskew.worlds.world_models import ContentModel

MODELS = {
    "popular": "popular",
    "knn": "knn",
    "co-occurrence": "knn?similarity=cooccurrence",
    "ease": "ease",
}
METRICS = ["hit@5", "ndcg@10"]
PROTOCOLS: dict[str, dict[str, Any]] = {"leave-one-out": {}, "time split": {"after": 440}}
_POPULATIONS = 2  # of other people for the same items, over which the truth is averaged too
_LENGTH = 20  # of the lists of the external model
EXTERNAL = "external content"
LARGE = 0.02
"""A true difference that ought to be decided."""

TWINS = ("v1", "v2")
RULES = ("verdict", "up to 100 %", "as logged")
"""The rule of verdicts; the same without more than the full excess; and the difference as logged alone."""
ALONE = {"`adjusted` alone": "the view adjusted", "`organic` alone": "without what was shown"}
"""If exposures are known, the intervals of their views taken as they are, by the names of their scenarios."""

KNOWS = ("nothing", "exposures", "share")
"""What the owner of a log may know; the share is the true one."""

LOG = ("world", "seed", "users", "protocol", "knows")
"""What tells the logs of the results, and what is known about each, apart."""

RESULTS = Path(__file__).parent / "results" / "verdicts.json"


@click.command(help=__doc__)
@click.argument("worlds", nargs=-1)
@click.option("--seed", "seeds", type=int, multiple=True, default=(500,), show_default=True)
@click.option("--users", type=int, default=1000, show_default=True)
@click.option("--items", type=int, default=350, show_default=True)
@click.option("--protocol", "protocols", type=click.Choice(list(PROTOCOLS)), multiple=True)
@click.option("--knows", type=click.Choice(KNOWS), multiple=True, default=KNOWS[:2], show_default=True)
@click.option("-o", "--output", type=click.Path(path_type=Path))
@click.option("--collect", "files", type=click.Path(path_type=Path, exists=True), multiple=True)
def main(
    worlds: tuple[str, ...],
    seeds: tuple[int, ...],
    users: int,
    items: int,
    protocols: tuple[str, ...],
    knows: tuple[str, ...],
    output: Path | None,
    files: tuple[Path, ...],
) -> None:
    """Measure, or count what was measured."""
    if files:
        counts = collect(files)
        counted = {tuple(row[name] for name in LOG) for row in counts}
        others = [r for r in json.loads(RESULTS.read_text()) if tuple(r[name] for name in LOG) not in counted]
        RESULTS.write_text("[\n" + ",\n".join(map(json.dumps, others + counts)) + "\n]\n")
        return
    for world in worlds:
        for seed in seeds:
            [source] = find_sources([world], base=None, users=users, items=items)
            assert isinstance(source, SimulatedWorlds)
            simulated = us.simulate(source.recipe, seed=seed)
            case = Case.of(world, simulated, source.remembered)
            others = [source.make_people(POPULATION * (seed + 1) + k, seed) for k in range(_POPULATIONS)]
            judge = Judge(case, others, simulated.content_model())
            for protocol in protocols or PROTOCOLS:
                for row in judge.list_rows(protocol, knows):
                    line = json.dumps({"world": world, "seed": seed, "users": users, "protocol": protocol, **row})
                    if output is None:
                        click.echo(line)
                    else:
                        with output.open("a") as file:
                            file.write(line + "\n")


@dataclass
class Judge:
    """Verdicts on a case beside the truth: the mean over its users and other people for the same items."""

    case: Case
    others: Sequence[Case]
    content: ContentModel
    excesses: Excesses | None = None

    def list_rows(self, protocol: str, knows: Sequence[str] = KNOWS[:2]) -> Iterator[dict[str, Any]]:
        """A row for each knowledge, pair and metric."""
        case, options = self.case, PROTOCOLS[protocol]
        dates = {"at": case.now.label, "reference": case.before.label}
        shared: dict[str, Any] = {**dates, **options, "metric": METRICS, "refit": 0}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            truths = [
                find_differences(us.report(each.truth, self.list_models(each.log, options), **shared).comparisons)
                for each in (case, *self.others)
            ]
            models = self.list_models(case.log, options)
            plan = us.report(replace(case.log, exposed=None), models, **shared).verdict_plan
            assert isinstance(plan, VerdictPlan)
            if self.excesses is None:
                self.excesses = find_excesses(plan.log, plan.since, plan.until, compared=plan.models)
            plan = replace(plan, pairs=list(itertools.combinations(models, 2)), excesses=self.excesses)
            known = None
            if "exposures" in knows and case.log.exposed is not None and case.log.exposed.any():
                log = replace(case.log, exposed=None)
                knowledge = us.Knowledge(exposures=case.exposures)
                known = us.report(log, models, knowledge=knowledge, **shared).verdict_plan
                assert isinstance(known, VerdictPlan)
                known = replace(known, pairs=plan.pairs)
                by_exposure = {(v.recommender, v.baseline, v.metric): v for v in known.find_each()}
            by_share = {}
            if "share" in knows:
                share = find_true_share(case)
                informed_plan = replace(plan, induced_share=(share, share))
                by_share = {(v.recommender, v.baseline, v.metric): v for v in informed_plan.find_each()}
            for verdict in plan.find_each():
                pair, metric = (verdict.recommender, verdict.baseline), verdict.metric
                differences = [truth[*pair, metric] for truth in truths]
                row = {
                    **{"a": pair[0], "b": pair[1], "metric": metric},
                    **{"truth": float(np.mean(differences)), "same_users": differences[0]},
                }
                yield {**row, "knows": "nothing", **describe(verdict.decision, verdict.scenarios)}
                if known is not None:
                    informed = by_exposure[*pair, metric]
                    yield {**row, "knows": "exposures", **describe(informed.decision, informed.scenarios)}
                if by_share:
                    informed = by_share[*pair, metric]
                    shown = describe(informed.decision, informed.scenarios)
                    yield {**row, "knows": "share", "share": share, "reason": informed.reason, **shown}

    def list_models(self, log: us.Log, options: Mapping[str, Any]) -> dict[str, Any]:
        """The recommenders by name; in a time split also those that leave-one-out gives no verdict on."""
        twins = {name: self.case.models[name] for name in TWINS if name in (self.case.models or {})}
        if "after" not in options:
            return {**MODELS, **twins}
        lists = list_for_users(self.content, log, options["after"])
        return {**MODELS, "als": "als?factors=32", EXTERNAL: lists, **twins}


def find_true_share(case: Case) -> float:
    """The share of the interactions since the reference date that the log has and its truth has not."""
    since, free = (
        {
            (users[user], items[item])
            for user, item, time in zip(log.entry_users(), log.item, log.time, strict=True)
            if first < time <= case.now.tick
        }
        for log, first in ((case.log, case.before.tick), (case.truth, -math.inf))
        for users, items in [(log.users.to_list(), log.items.to_list())]
    )
    return len(since - free) / len(since)


def describe(decision: str, scenarios: Sequence[Scenario]) -> dict[str, Any]:
    """A decision, its range and what that is made of."""
    _, low, high = decide(scenarios, 0.95)
    rows = [[s.name, s.difference.value, s.difference.low, s.difference.high, s.trusted] for s in scenarios]
    return {"decision": decision, "low": low, "high": high, "scenarios": rows}


def list_for_users(content: ContentModel, log: us.Log, until: int) -> Lists:
    """Lists of a content model for what users had by a day, as another team would hand them over."""
    snapshot = log.at(until)
    profiles = Batch.of(snapshot)
    lists = content.fit(snapshot).recommend(profiles, _LENGTH)
    users, items = (np.array(ids.to_list(), dtype=object) for ids in (log.users, log.items))
    rows = {"user": users[profiles.user].tolist(), "items": [items[row[row >= 0]].tolist() for row in lists]}
    return Lists(rows, valid_from=until)


def find_differences(comparisons: Iterable[Any]) -> dict[tuple[str, str, str], float]:
    """Weighted differences by pair and metric, in both orders."""
    differences = {}
    for c in comparisons:
        if c.weighting == "weighted":
            differences[c.a, c.b, c.metric] = c.difference
            differences[c.b, c.a, c.metric] = -c.difference
    return differences


def collect(files: Iterable[Path]) -> list[dict[str, Any]]:
    """Counts for each world, protocol, knowledge and rule: the verdict's own, and two that are less careful."""
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for file in files:
        for line in file.read_text().splitlines():
            row = json.loads(line)
            if not any(map(math.isnan, (row["truth"], *row["scenarios"][0][1:4]))):
                key = tuple(row[name] for name in LOG)
                groups.setdefault(key, []).append(row)
    return [
        {**dict(zip(LOG, key, strict=True)), "rule": rule, **counts}
        for key, rows in groups.items()
        for rule in (*RULES, *(ALONE if key[-1] == "exposures" else ()))
        if (counts := count(rows, rule))
    ]


def count(rows: Sequence[Mapping[str, Any]], rule: str) -> dict[str, float]:
    """How many pairs a rule decides and gets right, and how wide its ranges are together."""
    ranges = np.array([find_range(row, rule) for row in rows])
    truth = np.array([row["truth"] for row in rows])
    sign = (ranges[:, 0] > 0).astype(int) - (ranges[:, 1] < 0).astype(int)
    large = np.abs(truth) > LARGE
    equal = np.array([{row["a"], row["b"]} == set(TWINS) and row["world"] == "twins" for row in rows])
    masks = {
        "pairs": np.ones(len(rows), dtype=bool),
        "covered": (ranges[:, 0] <= truth) & (truth <= ranges[:, 1]),
        "decided": sign != 0,
        "wrong": sign * truth < 0,
        "large": large,
        "large_decided": large & (sign != 0),
        "equal": equal,
        "equal_decided": equal & (sign != 0),
    }
    counts = {name: int(mask.sum()) for name, mask in masks.items()}
    return {**counts, "width": round(float((ranges[:, 1] - ranges[:, 0]).sum()), 5)}


def find_range(row: Mapping[str, Any], rule: str) -> tuple[float, float]:
    """The hull of the scenarios that count under a rule."""
    if rule == "verdict":
        return row["low"], row["high"]
    names = [name for name, *_ in row["scenarios"]]
    if rule in ALONE:  # if nothing could be adjusted, the view is organic, and the last scenario
        _, _, low, high, _ = row["scenarios"][names.index(ALONE[rule]) if ALONE[rule] in names else -1]
        return low, high
    counted = [n for n, name in enumerate(names) if n == 0 or (rule != "as logged" and "125%" not in name)]
    return min(row["scenarios"][n][2] for n in counted), max(row["scenarios"][n][3] for n in counted)


if __name__ == "__main__":
    main()
