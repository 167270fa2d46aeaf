"""Reading: from a file of events to an encoded log without repeats, beside GROUP BY in DuckDB and polars."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Sequence
from typing import Any

import duckdb

from benchmarks.frame.comparison import Comparison
from benchmarks.frame.contenders import Absent, Contender
from benchmarks.frame.workers import Worker, in_fresh_process
from benchmarks.speed.reading_job import fingerprint
from benchmarks.speed.text_logs import FOLDER, FORMATS, TextLog, text_log
from unskew.text import thousands

SIZES = (1_000_000, 20_000_000, 100_000_000)
LIBRARIES = ("polars",)
_EXAMPLE = 150_000  # enough that everything compiled is loaded
_MOST_IN_CSV = 5_000_000
_LONG, _FEW_ROUNDS = 50_000_000, 2  # a log with so many events takes a minute or two each time
_SHORT_WAYS = ("unskew_save",)  # which a long job leaves out
_ALLOWED = 40  # bytes for each event that was asked for, where memory is limited

_JOB = """\
From a file with text ids and timestamps to every user and item once, with the first time. unskew makes a log of
it: ids as codes, sorted by user and time. DuckDB and polars group by user and item, take the least time, and write
that to Parquet. Each trial is a process of its own that has read a small file before. *With a limit* is with
`memory_limit=` at 40 MB for a million events, so 4 GB in the largest job: rows are written to disk then."""
_WAYS = {
    "unskew, read_log": "unskew_read",
    "unskew, read_log with a limit": "unskew_limited",
    "unskew, read_log and save": "unskew_save",
    "unskew, read_log and fit_weights": "unskew_fit",
    "DuckDB": "duckdb_group",
    "polars": "polars_group",
}


def comparisons(sizes: Sequence[int] = SIZES) -> Iterator[Comparison]:
    """One for each size and format."""
    for size in sizes:
        for kind in FORMATS:
            if kind == "csv" and size > _MOST_IN_CSV:
                continue
            log = text_log(size, kind)
            ways = {name: way for name, way in _WAYS.items() if size < _LONG or way not in _SHORT_WAYS}
            yield Comparison(
                f"Reading {thousands(log.events)} events from {kind.upper() if kind == 'csv' else 'Parquet'}",
                _JOB,
                [_contender(name, way, log, kind, _ALLOWED * size) for name, way in ways.items()],
                yardstick="DuckDB",
                agreement="the same pairs with the same first times, all of them",
                differ=_differ,
                events=log.events,
                most_rounds=_FEW_ROUNDS if size >= _LONG else None,
            )


def _contender(name: str, way: str, log: TextLog, kind: str, allowed: int) -> Contender | Absent:
    library = name.split(",", maxsplit=1)[0].lower()
    if importlib.util.find_spec(library) is None:
        return Absent(name, f"{library} is not installed")
    target = FOLDER / f"read-by-{way}.parquet"
    limit = f"{max(allowed, 60_000_000) // 1_000_000}MB"
    request = {"do": way, "source": str(log.path), "target": str(target), "limit": limit}
    example = {**request, "source": str(text_log(_EXAMPLE, kind).path)}

    def tell(worker: Worker) -> Any:
        if library == "unskew":
            return tuple(worker.ask({**request, "do": "tell"}).answer)
        return fingerprint(duckdb.read_parquet(str(target)))

    return in_fresh_process(name, "benchmarks.speed.reading_job", request, tell, prepare=example)


def _differ(ours: Any, theirs: Any) -> str | None:
    if ours[0] != theirs[0]:
        return f"{ours[0]} pairs and {theirs[0]}"
    return None if ours == theirs else "the same number of pairs, but other ids or first times"
