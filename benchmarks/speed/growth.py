"""Growth: what an event costs in logs of different sizes, in time and in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import duckdb

from benchmarks.frame.comparison import Comparison
from benchmarks.frame.contenders import Contender
from benchmarks.frame.workers import Worker, in_fresh_process
from benchmarks.speed.text_logs import FOLDER, TextLog, text_log
from unskew.text import thousands

SIZES = (100_000, 1_000_000, 10_000_000, 100_000_000)
LIBRARIES = ()
BASE = 1_000_000
STEPS = {
    "read": "Reading a Parquet file",
    "open": "Opening a saved log",
    "fit": "Fitting weights",
    "evaluate": "Evaluating popular",
}

_EXAMPLE = 150_000
_JOB = """\
One step at several sizes of a log with text ids, each in a process of its own that has done the same on a small
log before. Ratios are of the cost of *an event*: 1 at every size is a cost that grows with the events and no
faster. Small logs pay for what does not grow at all, and may need no memory beyond what the small log left. The
catalogue grows with the square root of the events, up to 100 000 items. Reading is from Parquet; the other steps
start from the saved log."""


def comparisons(sizes: Sequence[int] = SIZES) -> Iterator[Comparison]:
    """One for each step."""
    logs = {_name(size): text_log(size, "parquet") for size in sorted({*sizes, BASE})}
    for log in (*logs.values(), text_log(_EXAMPLE, "parquet")):
        if not _saved(log).exists():
            with Worker("benchmarks.speed.growth_job") as worker:
                worker.ask({"do": "save", "step": "", "source": str(log.path), "saved": str(_saved(log))})
    wanted = {name: _count_pairs(log.path) for name, log in logs.items()}
    for step, title in STEPS.items():
        yield Comparison(
            title,
            _JOB,
            [_contender(name, step, log, wanted[name]) for name, log in logs.items()],
            _name(BASE),
            "the log holds as many pairs as DuckDB counts, and weights are solved or certified",
            _differ,
            sizes={name: log.events for name, log in logs.items()},
        )


def _name(size: int) -> str:
    return f"{thousands(size)} events"


def _saved(log: TextLog) -> Path:
    return FOLDER / f"{log.path.stem}.arrow"


def _contender(name: str, step: str, log: TextLog, wanted: int) -> Contender:
    example = text_log(_EXAMPLE, "parquet")
    request = {"do": "take", "step": step, "source": str(log.path), "saved": str(_saved(log))}
    prepare = {**request, "do": "prepare", "example": str(example.path), "saved_example": str(_saved(example))}

    def tell(worker: Worker) -> dict[str, Any]:
        return {**worker.ask({**request, "do": "tell"}).answer, "wanted": wanted}

    return in_fresh_process(name, "benchmarks.speed.growth_job", request, tell, prepare)


def _count_pairs(path: Path) -> int:
    query = f"SELECT count(*) FROM (SELECT DISTINCT \"user\", item FROM read_parquet('{path}'))"
    found: Any = duckdb.connect().execute(query).fetchall()
    return int(found[0][0])


def _differ(ours: Any, theirs: Any) -> str | None:
    for found in (ours, theirs):
        if found["pairs"] != found["wanted"]:
            return f"{found['pairs']} pairs, where DuckDB counts {found['wanted']}"
        if not found["fitted"]:
            return "weights were not fitted to the end"
    return None
