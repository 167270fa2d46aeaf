"""The demonstration: a small world with two campaigns, what it does to offline scores, and the repair.

``python -m unskew.demo FOLDER`` (what ``make demo`` runs) writes the log, runs the commands that a user
would run on it, and makes one page. Two algorithms that always recommend the same five items are
scored on a grid of days: one agrees with the campaigns, one does not. Neither ever changes; so whatever
moves their scores is the log.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from unskew.cli import main as command_line
from unskew.files import replacing
from unskew.log import Log
from unskew.marginal import Marginal
from unskew.read import read_log
from unskew.report.charts import mix_chart, score_chart
from unskew.report.look import save_png
from unskew.report.page import Section, write_page
from unskew.result import ItemWeights
from unskew.simulate import World, campaign_world
from unskew.snapshot import Snapshot
from unskew.weights import fit_weights

REFERENCE, STEP = 300, 5


@dataclass(frozen=True)
class Findings:
    """What the demonstration found.

    Attributes
    ----------
    scores
        Columns at, algorithm, weighting, score: the change of the score since the reference.
    weights
        The weights of the last day.
    change
        For each algorithm: score then, raw score now, weighted score now.
    """

    scores: pa.Table
    weights: ItemWeights
    change: dict[str, tuple[float, float, float]]


def constant_score(marginal: Marginal, items: Iterable[int]) -> float:
    """Hit rate of an algorithm that recommends these items to everyone: the mass of the items."""
    p = marginal.to_dict()
    return sum(p.get(item, 0.0) for item in items)


def algorithms(world: World, before: Snapshot) -> dict[str, list[int]]:
    """The five items pushed most, and the five most frequent ones that were never pushed."""
    pushed = set(world.pushed)
    p = before.marginal().to_dict()
    never = [item for item in sorted(p, key=lambda i: (-p[i], i)) if item not in pushed]
    return {"recommends what was pushed": world.pushed[:5], "recommends something else": never[:5]}


def investigate(log: Log, world: World) -> Findings:
    """Score both algorithms on a grid of days, raw and weighted to the reference day."""
    before = log.at(REFERENCE)
    lists = algorithms(world, before)
    start = {name: constant_score(before.marginal(), items) for name, items in lists.items()}
    rows = []
    weights = None
    change = {}
    end = int(log.last)
    days = sorted({*range(REFERENCE, end, STEP), end})
    for day in days:
        now = log.at(day)
        weights = fit_weights(now, before, warm_start=weights)
        raw, weighted = now.marginal(), now.marginal(weights)
        for name, items in lists.items():
            change[name] = (start[name], constant_score(raw, items), constant_score(weighted, items))
            for kind, score in zip(("raw", "weighted"), change[name][1:], strict=True):
                rows.append({"at": day, "algorithm": name, "weighting": kind, "score": score / start[name] - 1.0})
    assert weights is not None  # the grid has at least one day
    return Findings(pa.Table.from_pylist(rows), weights, change)


def page(findings: Findings, folder: Path, world: World) -> Path:
    """Write the page and the picture of its first chart."""
    then, raw, weighted = next(iter(findings.change.values()))
    lead = (
        f"The offline score of an algorithm that never changes rose from {then:.2%} to {raw:.2%}: "
        f"{100 * (raw - weighted):+.2f} points come from the item mix that the campaigns changed, "
        f"{100 * (weighted - then):+.2f} are not explained by it."
    )
    chart = score_chart(
        findings.scores,
        world.campaigns,
        "Two algorithms that never change, scored on a log that did",
        "Change of the offline score since day 300; weighted: the item mix held at that of day 300",
    )
    table = [
        [
            "algorithm",
            f"day {REFERENCE}",
            f"day {findings.weights.at}, raw",
            f"day {findings.weights.at}, weighted",
        ]
    ]
    table += [[name, *(f"{score:.3%}" for score in scores)] for name, scores in findings.change.items()]
    weights = findings.weights
    target = folder / "index.html"
    write_page(
        target,
        "Did the algorithm get better, or did the log?",
        lead,
        [
            Section(
                "The same algorithms, other scores",
                "Both always recommend the same five items. The one that agrees with the campaigns seems to "
                "improve, the other to get worse; with weights both stay where they were.",
                chart,
            ),
            Section("In numbers", "Share of held-out items that the five recommended ones contain.", None, table),
            Section(
                "What moved, and what weighting does to it",
                f"Before weighting, a constant algorithm's score could be off by {weights.bound_before:.4f}; "
                f"after, by at most {weights.bound_after:.4f}. {weights.status.capitalize()}: "
                f"{weights.explanation}.",
                mix_chart(weights),
            ),
        ],
    )
    save_png(chart, folder / "scores.png")
    return target


def run(folder: Path, users: int = 34_448, items: int = 35_741, seed: int = 0) -> Path:
    """Make the world, run the commands on it and write the page; returns its path."""
    folder.mkdir(parents=True, exist_ok=True)
    world = campaign_world(users, items, seed=seed)
    path = folder / "log.parquet"
    with replacing(path) as temporary:
        pq.write_table(world.table, temporary)
    log = read_log(path)
    between = ["--reference", str(REFERENCE), "--at", str(log.last)]
    for command in (
        ["drift", str(path), *between, "--top", "10"],
        ["weights", str(path), *between, "--show", "10", "-o", str(folder / "weights.parquet")],
    ):
        print(f"\n$ unskew {' '.join(command)}\n", flush=True)
        command_line(command, standalone_mode=False)
    return page(investigate(log, world), folder, world)


if __name__ == "__main__":
    print(f"\nThe page: {run(Path(sys.argv[1] if len(sys.argv) > 1 else 'demo')).resolve()}")
