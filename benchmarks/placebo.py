"""Placebo figures of real logs: what ``unskew excess`` finds since a date, and before it.

Nobody knows what was recommended in these logs. The placebo shows how far drift alone looks like recommendations
there, and so how far views by dates can be trusted.
"""

from __future__ import annotations

import os
import warnings
from pathlib import Path

from rich.console import Console
from rich.table import Table

import unskew as us

LOGS = {
    "movietweetings": "2013-08-01",
    "julia_deps": "2023-07-01",
    "completejourney": "2017-07-01",
}
"""Folders below the one that UNSKEW_DATA names, and the date since which something may have been recommended."""

STAND_INS = ("popular", "knn?similarity=cooccurrence")


def run(console: Console) -> None:
    """Print a row for each log and stand-in for production."""
    table = Table("log", "since", "stand-in", "induced share", "uncorrected", "placebo", "spread", "reach", "test")
    for name, since in LOGS.items():
        path = Path(os.environ.get("UNSKEW_DATA", "")) / name / "log.parquet"
        if not path.exists():
            console.print(f"{path} is missing: set UNSKEW_DATA to the folder of the logs")
            continue
        log = us.read_log(path, time="timestamp", time_unit="s")
        for stand_in in STAND_INS:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", us.UnskewWarning)
                share = us.excess(log, stand_in, campaigns=f"{since}:", repeats=50)
            placebo = share.placebo
            cells = ["none", "", "", "not tested"]
            if placebo is not None:
                spread = "" if placebo.spread is None else f"{100 * placebo.spread:.0f} %"
                passed = "passed" if placebo.is_passed else "not passed"
                cells = [_show(placebo.value, placebo.low, placebo.high), spread, f"{placebo.reach:.1f}", passed]
            corrected = _show(share.value, share.low, share.high)
            table.add_row(name, since, stand_in, corrected, f"{100 * share.uncorrected:.0f} %", *cells)
            console.print(table)


def _show(value: float, low: float, high: float) -> str:
    return f"{100 * value:.0f} % [{100 * low:.0f}, {100 * high:.0f}]"
