"""Bursts as likely campaigns: how many are found, how many are none, and whether a view without them helps.

*Recall* is the share of what followed a recommendation that lies in the windows found; *precision* the share of
the time of these windows that lies within five mean delays of a campaign; *without* how many are found in the same
world without campaigns, where there are none; *excess* what the windows hold above the usual, over what truly
followed a recommendation. Errors are those of hit@5 of the models, with what was taken inside the windows left out
of the log, against the log without campaigns: the truth of the question that views answer.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import unskew as us
from unskew.data.times import TimeWindow, mark_inside
from unskew.weights import Bursts, find_bursts

SEEDS = range(200, 205)
USERS, ITEMS = 6000, 2500
MODELS = {"co-occurrence": "knn?neighbours=200&similarity=cooccurrence", "cosine": "knn?neighbours=50"}
_DELAYS = 5


def run(console: Console, seeds: Iterable[int] = SEEDS, names: Iterable[str] = ()) -> None:
    """Print one row a world."""
    head = [
        "windows",
        "true",
        "without",
        "recall",
        "precision",
        "excess",
        "raw",
        "found left out",
        "true left out",
    ]
    table = Table("world", *head)
    rows: dict[str, list[dict[str, Any]]] = {}
    for seed in seeds:
        for name, world, campaigns in _worlds(seed, set(names)):
            rows.setdefault(name, []).append(_judge(world, campaigns))
    for name, found in rows.items():
        table.add_row(name, *(_mean(found, key) for key in found[0]))
    console.print(table)


def _worlds(seed: int, names: set[str]) -> Iterator[tuple[str, us.worlds.World, list[Any]]]:
    for name in ("paper", "always-on", "growth", "pre-empting", "long-campaigns", "quiet"):
        if not names or name in names:
            world = us.simulate(name, users=USERS, items=ITEMS, seed=seed)
            yield name, world, world.about["parameters"]["campaigns"]
    if not names or "off the grid" in names:
        rng = np.random.default_rng(seed)
        days = [int(rng.integers(250, 300)), int(rng.integers(340, 460))]
        for reach in (0.5, 0.1):
            campaigns = [us.worlds.Campaign(day, reach=reach, shown=5) for day in days]
            world = us.simulate(users=USERS, items=ITEMS, seed=seed, campaigns=campaigns)
            yield f"any day, reach {reach}", world, world.about["parameters"]["campaigns"]
    path = Path(os.environ.get("UNSKEW_DATA", "")) / "movietweetings" / "log.parquet"
    if path.exists() and (not names or "injected" in names):
        log = us.read_log(path, time="timestamp", time_unit="s")
        world = us.simulate(base=log, seed=seed)
        yield "MovieTweetings, injected", world, world.about["parameters"]["campaigns"]


def _judge(world: us.worlds.World, campaigns: list[Any]) -> dict[str, Any]:
    log = world.log
    found = find_bursts(log)
    windows, true = found.windows, _true_windows(log, campaigns)
    return {
        "windows": len(windows),
        "true": len(true),
        "without": len(find_bursts(world.truth)),
        "recall": _recall(log, windows) if true else None,
        "precision": _precision(log, windows, true) if windows else None,
        "excess": _compare_excess(log, found) if windows else None,
        "raw": _errors(log, world.truth),
        "found": _errors(us.views.outside(log, windows) if windows else log, world.truth),
        "known": _errors(us.views.outside(log, true) if true else log, world.truth),
    }


def _true_windows(log: us.Log, campaigns: list[Any]) -> list[TimeWindow]:
    """Five mean delays from each campaign; those that touch are one."""
    found: list[TimeWindow] = []
    for campaign in campaigns:
        begin = log.axis.begin(campaign["day"])
        end = begin.tick + _DELAYS * campaign["delay"] * log.axis.duration(1)
        if found and begin.tick <= found[-1].end:
            found[-1] = TimeWindow(found[-1].start, end, found[-1].first)
        else:
            found.append(TimeWindow(begin.tick, end, begin.label))
    return found


def _recall(log: us.Log, windows: Iterable[TimeWindow]) -> float:
    assert log.exposed is not None
    return float(mark_inside(windows, log.time[log.exposed]).mean())


def _precision(log: us.Log, windows: Iterable[TimeWindow], true: Iterable[TimeWindow]) -> float:
    grid = np.linspace(*log.span, 20_001)
    return float(mark_inside(true, grid[mark_inside(windows, grid)]).mean())


def _compare_excess(log: us.Log, found: Bursts) -> float:
    """The share above usual over the share that truly followed a recommendation, on average over the windows."""
    assert log.exposed is not None
    true = [float(log.exposed[window.contains(log.time)].mean()) for window in found.windows]
    return float(
        np.mean([burst.excess / max(share, 0.01) for burst, share in zip(found.bursts, true, strict=True)])
    )


def _errors(log: us.Log, truth: us.Log) -> list[float]:
    def score(some: us.Log, spec: str) -> float:
        return us.evaluate(spec, some.at(truth.last), metric="hit@5").value

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", us.UnskewWarning)  # a view may end before the log does
        return [score(log, spec) / score(truth, spec) - 1 for spec in MODELS.values()]


def _mean(found: list[dict[str, Any]], key: str) -> str:
    values = [row[key] for row in found if row[key] is not None]
    if not values:
        return ""
    if isinstance(values[0], list):
        return ", ".join(f"{100 * mean:+.0f} %" for mean in np.mean(values, axis=0))
    return f"{np.mean(values):.2f}" if key not in ("windows", "true", "without") else " ".join(map(str, values))


if __name__ == "__main__":
    run(Console(width=150))
