"""How far views bring scores to the known truth of simulated worlds, and the excess to what was shown.

Seeds 100 to 104 are for choosing how views are made; report on others.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from rich.console import Console
from rich.table import Table

import unskew as us
from unskew.views.contrast import set_up_contrast
from unskew.views.kept import plan_kept
from unskew.views.thinned import plan_thinned

SEEDS = (200,)
MODELS = ("popular", "knn?similarity=cooccurrence", "knn", "ease", "als")
PRODUCTION = "knn?neighbours=200&similarity=cooccurrence&exact=false"
DATES = ("330:350", "430:450")
AT = 490
DRAWS = 2

Floats = npt.NDArray[np.float64]
Views = Callable[[], Iterator[us.Log]]


@dataclass(frozen=True)
class Case:
    """A world, and the windows in which something was recommended in it."""

    name: str
    world: us.World
    at: Any
    campaigns: Sequence[str]
    models: Sequence[str] = MODELS

    @property
    def windows(self) -> dict[str, Any]:
        return {"campaigns": self.campaigns, "until": self.at}

    @property
    def group(self) -> dict[str, Any]:
        return {"holdout": self.world.holdout} if len(self.world.holdout) else {}


def run(seeds: Sequence[int], console: Console) -> None:
    """Measure worlds of each seed, and print a table of errors and one of the excess."""
    warnings.simplefilter("ignore", us.UnskewWarning)
    errors: dict[tuple[str, str], list[Floats]] = {}
    spreads: dict[tuple[str, str], list[Floats]] = {}
    shares = Table("world", "seed", "compared with", "excess", "interval", "shown", "caused", title="Excess")
    began = time.perf_counter()
    for seed in seeds or SEEDS:
        for case in _make_cases(seed):
            console.print(f"{case.name}, seed {seed} ({time.perf_counter() - began:.0f} s)", style="dim")
            truth = _score(case, case.world.truth)
            for name, views in _list_views(case).items():
                scores = np.array([_score(case, view) for view in views()])
                error = scores.mean(axis=0) / truth - 1
                errors.setdefault((case.name, name), []).append(error)
                console.print(f"  {name:<40}", *(f"{100 * one:+6.1f}" for one in error), style="dim")
                if len(scores) > 1:
                    spreads.setdefault((case.name, name), []).append(scores.std(axis=0, ddof=1) / truth)
            for row in _measure_excess(case):
                shares.add_row(case.name, str(seed), *row)
    console.print(_tabulate(errors, f"Error of hit@5 in %, mean of {len(seeds or SEEDS)} seeds (largest)"))
    console.print(_tabulate(spreads, "Spread of one draw in %, of the truth"))
    console.print(shares)


def _make_cases(seed: int) -> Iterator[Case]:
    size: dict[str, Any] = {"users": 6000, "items": 2000, "seed": seed, "holdout": 0.15}
    yield Case("paper", us.simulate("paper", **size), AT, DATES)
    yield Case("always-on", us.simulate("always-on", **size), AT, ("320:",))
    yield Case("pre-empting", us.simulate("pre-empting", **size), AT, DATES)
    yield Case("quiet", us.simulate("quiet", **size), AT, ("320:",))
    folder = os.environ.get("UNSKEW_DATA")
    if folder is not None:
        log = us.read_log(Path(folder) / "movietweetings" / "log.parquet", time_unit="s")
        days = ("2013-07-01", "2013-09-01")
        campaigns = [us.Campaign(day, acceptance=0.1) for day in days]
        world = us.simulate("paper", base=log, seed=seed, holdout=0.15, campaigns=campaigns)
        windows = ("2013-07-01:2013-07-21", "2013-09-01:2013-09-21")
        yield Case("MovieTweetings", world, "2013-10-31", windows, MODELS[:3])


def _list_views(case: Case) -> dict[str, Views]:
    log, windows = case.world.log, case.windows
    found: dict[str, Views] = {
        "raw": lambda: iter([log]),
        "outside: dates": lambda: iter([us.outside(log, case.campaigns)]),
        "thinned: dates, production": lambda: _draw(plan_thinned(log, PRODUCTION, **windows)),
        "thinned: hold-out, production": lambda: _draw(plan_thinned(log, PRODUCTION, **windows, **case.group)),
        "organic: exposures": lambda: iter([us.organic(log)]),
        "kept: exposures, hold-out, production": lambda: _draw(
            plan_kept(log, PRODUCTION, **windows, **case.group)
        ),
    }
    if not case.world.campaigns:  # nothing is exposed
        found = {name: view for name, view in found.items() if name.startswith(("raw", "thinned"))}
    return found


def _draw(plan: Any) -> Iterator[us.Log]:
    return (plan.draw(draw=draw) for draw in range(DRAWS))


def _score(case: Case, log: us.Log) -> Floats:
    now = log.at(case.at)
    return np.array([us.evaluate(model, now).value for model in case.models])


def _measure_excess(case: Case) -> Iterator[list[str]]:
    """The excess with and without the hold-out group, and the shares that were shown, and caused by it."""
    shown, caused = _find_shares(case)
    for group in ({}, case.group):
        found = us.excess(case.world.log, PRODUCTION, **case.windows, **group)
        limits = f"[{100 * found.low:.1f}, {100 * found.high:.1f}]"
        truth = [f"{100 * share:.1f}" for share in (shown, caused)]
        yield ["hold-out" if group else "quiet windows", f"{100 * found.value:.1f}", limits, *truth]


def _find_shares(case: Case) -> tuple[float, float]:
    """Of what users took in the windows who could be shown something: shown before; not there without it."""
    log, truth = case.world.log, case.world.truth
    contrast = set_up_contrast(log, **case.windows, **case.group, later=False)
    entry = contrast.taken.entry[contrast.suspect & contrast.taken.known]
    size = len(truth.items)
    user, item = log.entry_users()[entry], log.item[entry]
    mine = truth.users.codes(log.users.values)[user] * size + truth.items.codes(log.items.values)[item]
    theirs = (truth.entry_users() * size + truth.item)[contrast.mark_inside(truth.time)]
    assert log.exposed is not None
    return float(log.exposed[entry].mean()), float(1 - np.isin(mine, theirs).mean())


def _tabulate(figures: dict[tuple[str, str], list[Floats]], title: str) -> Table:
    table = Table("world", "view: knows", *(model.replace("knn?similarity=", "") for model in MODELS), title=title)
    for (world, name), found in figures.items():
        mean, most = np.mean(found, axis=0), np.max(np.abs(found), axis=0)
        cells = [f"{100 * m:+.1f} ({100 * w:.1f})" for m, w in zip(mean, most, strict=True)]
        table.add_row(world, name, *cells)
    return table
