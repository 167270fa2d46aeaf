"""``python -m benchmarks quick``: guards that count passes, bytes and batches, and never seconds.

A guard is a number that is the same on every run, and a limit a little above what it is today. Whoever makes it
larger for a good reason raises the limit in the same change, and says why.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from unittest.mock import patch

from rich.console import Console
from rich.table import Table

from benchmarks.counted import (
    count_batches,
    count_descent_passes,
    count_evaluate_peak,
    count_fit_passes,
    count_fit_peak,
    count_log_bytes,
    count_marginal_bytes,
    count_modules,
    count_page_bytes,
    count_reading_peak,
    count_report_passes,
    count_saved_bytes,
    count_snapshot_bytes,
    count_sums_bytes,
    count_timeline_passes,
    count_times_read,
    count_waiting_bytes,
)
from unskew.text import thousands

HELP = "from unskew.cli import main\ntry: main(['--help'])\nexcept SystemExit: pass"


@dataclass(frozen=True)
class Guard:
    """Something that is counted, and how large it may be.

    Attributes
    ----------
    name
        What is counted.
    limit
        The largest number that passes.
    count
        Counts it.
    is_brief
        Whether it takes less than a second or so, and is among the tests.
    """

    name: str
    limit: float
    count: Callable[[], float]
    is_brief: bool = False


@dataclass(frozen=True)
class Count:
    """What a guard found."""

    guard: Guard
    found: float

    @property
    def is_broken(self) -> bool:
        return not self.found <= self.guard.limit

    def __str__(self) -> str:
        return f"{self.guard.name}: {_show(self.found)}, the limit is {_show(self.guard.limit)}"


def _show(number: float) -> str:
    return thousands(round(number)) if number >= 100 else f"{number:.4g}"


def count_all(guards: Iterable[Guard]) -> Iterator[Count]:
    """Count everything, one after the other."""
    with patch.dict(os.environ, {"UNSKEW_THREADS": "1"}):  # so that peaks of memory do not depend on who is first
        for guard in guards:
            yield Count(guard, guard.count())


GUARDS = (
    Guard("passes of a fit, 20 000 pairs", 30, count_fit_passes(20_000, 0.0), True),
    Guard("passes of a fit, 20 000 pairs, users join", 22, count_fit_passes(20_000, 0.3), True),
    Guard("passes of a fit, 163 000 pairs", 27, count_fit_passes(163_000, 0.0)),
    Guard("passes of a fit, 163 000 pairs, users join", 26, count_fit_passes(163_000, 0.3)),
    Guard("passes of a fit, 1 600 000 pairs", 21, count_fit_passes(1_600_000, 0.0)),
    Guard("passes of a fit, 1 600 000 pairs, users join", 18, count_fit_passes(1_600_000, 0.3)),
    Guard("passes of the descent, 20 000 pairs, p = 20", 40, count_descent_passes),
    Guard("passes of a timeline of 20 dates", 200, count_timeline_passes),
    Guard("passes of a report with 50 refits", 1250, count_report_passes),
    Guard("bytes of a saved log, each pair", 17.5, count_saved_bytes, True),
    Guard("bytes of a log in memory, each pair", 12, count_log_bytes, True),
    Guard("bytes of a snapshot beyond its log, each user", 4.5, count_snapshot_bytes, True),
    Guard("bytes of a saved marginal, each item", 17, count_marginal_bytes, True),
    Guard("bytes of the page of a report", 1_250_000, count_page_bytes),
    Guard("bytes at the peak of a fit, each item", 240, count_fit_peak),
    Guard("bytes at the peak of evaluating popular, each pair", 85, count_evaluate_peak),
    Guard("bytes at the peak of reading, each row", 40, count_reading_peak),
    Guard("bytes of a row that is written to disk for want of memory", 16, count_waiting_bytes),
    Guard("bytes that a block on a cluster sends back at a pass, each item", 12.1, count_sums_bytes, True),
    Guard("times that a CSV file is read", 2.2, count_times_read("csv")),
    Guard("times that a Parquet file is read", 2.2, count_times_read("parquet")),
    Guard("batches of lists for 40 000 pairs", 2, count_batches, True),
    Guard("modules after import unskew", 80, count_modules("import unskew"), True),
    Guard("modules after unskew --help", 240, count_modules(HELP)),
)


def run(console: Console, guards: Iterable[Guard] = GUARDS) -> bool:
    """Count everything and show it; one line for each broken guard, and False if there is one."""
    table = Table("what is counted", "found", "limit")
    broken = []
    for count in count_all(guards):
        table.add_row(count.guard.name, _show(count.found), _show(count.guard.limit))
        broken += [count] if count.is_broken else []
    console.print(table)
    for count in broken:
        console.print(f"broken: {count}", highlight=False)
    return not broken
