"""What a log takes on a Spark cluster of two workers on this machine: seconds, bytes moved, memory; same bits.

``python -m benchmarks cluster [EVENTS]``. The cluster is a real one, a master and two workers of one core each,
which talk to each other over loopback addresses. What tasks took and moved is read off Spark's own event log;
memory is what the processes of workers have at their peak. Each result is compared with that of one machine, to
the last bit. Up to `MOST_TO_KILL` events a worker is killed in the middle of a further fit, which must not change
anything either.
"""

from __future__ import annotations

import json
import os
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from tests.spark_cluster import Cluster, kill

import unskew as us
from benchmarks.speed.reading_job import REFERENCE
from benchmarks.speed.text_logs import text_log
from unskew.engines.block_table import BlockTable
from unskew.engines.spark_session import start_session
from unskew.text import thousands

EVENTS = 10_000_000
MOST_TO_KILL = 20_000_000
MEMORY = "4g"
"""Of each worker: the heap of its executor. Its Python processes take theirs besides."""


@dataclass
class Step:
    """One step, and what it took."""

    name: str
    seconds: float
    tasks: Counter[str]
    peaks: dict[str, float]

    def row(self) -> str:
        moved, spilled = self.tasks["moved"] / 1e6, self.tasks["spilled"] / 1e6
        worker, python = self.peaks.get("java", 0) / 1e9, self.peaks.get("python", 0) / 1e9
        return (
            f"| {self.name} | {self.seconds:.0f} | {self.tasks['run'] / 1e3:.0f} | {self.tasks['cpu'] / 1e9:.0f} "
            f"| {moved:.0f} | {spilled:.0f} | {worker:.1f} | {python:.2f} |"
        )


@dataclass
class Watch:
    """What the steps of a session take: seconds by the clock, tasks from the event log, memory from the system."""

    cluster: Cluster
    events: Path
    steps: list[Step] = field(default_factory=list)

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        before, peaks, done = self._count_tasks(), dict[str, float](), threading.Event()
        sampler = threading.Thread(target=self._sample, args=(peaks, done))
        sampler.start()
        began = time.monotonic()
        try:
            yield
        finally:
            seconds = time.monotonic() - began
            done.set()
            sampler.join()
        self.steps.append(Step(name, seconds, self._count_tasks() - before, peaks))

    def _sample(self, peaks: dict[str, float], done: threading.Event) -> None:
        while not done.wait(2):  # looking costs something too
            found: Counter[str] = Counter()
            for worker in self.cluster.workers:
                found += _measure_worker(worker.pid)
            for kind, size in found.items():
                peaks[kind] = max(peaks.get(kind, 0), size / len(self.cluster.workers))

    def _count_tasks(self) -> Counter[str]:
        time.sleep(1)  # until the last tasks are in the event log
        found: Counter[str] = Counter()
        for path in self.events.rglob("*"):
            hidden = path.name.startswith(".") or not path.is_file()
            for line in () if hidden else path.read_text().splitlines():
                if '"SparkListenerTaskEnd"' in line and line.endswith("}"):
                    metrics = json.loads(line).get("Task Metrics") or {}
                    found["run"] += metrics.get("Executor Run Time", 0)
                    found["cpu"] += metrics.get("Executor CPU Time", 0)
                    found["moved"] += metrics.get("Shuffle Write Metrics", {}).get("Shuffle Bytes Written", 0)
                    found["spilled"] += metrics.get("Disk Bytes Spilled", 0)
        return found


def _measure_worker(session: int) -> Counter[str]:
    """The memory of the processes of a worker, which it leads; what several of them share is counted once."""
    found: Counter[str] = Counter()
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            if os.getsid(int(entry.name)) != session:
                continue
            kind = "java" if (entry / "comm").read_text().startswith("java") else "python"
            lines = (entry / "smaps_rollup").read_text().splitlines()
        except (OSError, ProcessLookupError):
            continue
        found[kind] += sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))
    return found


def run(sizes: list[int], console: Console) -> None:
    """Print what each step takes, for a log of each size."""
    for size in sizes or [EVENTS]:
        _run(size, console)


def _run(size: int, console: Console) -> None:
    source = text_log(size, "parquet")
    console.print(f"{thousands(source.events)} events, {source.path.stat().st_size / 1e6:.0f} MB of Parquet")
    with tempfile.TemporaryDirectory(prefix="unskew-cluster-") as name:
        folder = Path(name)
        (folder / "events").mkdir()
        cluster = Cluster(folder, memory=MEMORY)
        os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
        cluster.start()
        try:
            session = start_session(
                cluster.url,
                {
                    "spark.driver.memory": "2g",
                    "spark.executor.memory": MEMORY,
                    "spark.driver.host": "127.0.0.1",
                    "spark.driver.bindAddress": "127.0.0.1",
                    "spark.eventLog.enabled": "true",
                    "spark.eventLog.dir": (folder / "events").as_uri(),
                    "spark.eventLog.compress": "false",
                },
            )
            try:
                _measure(source.path, Watch(cluster, folder / "events"), console, kills=size <= MOST_TO_KILL)
            finally:
                session.stop()
        finally:
            cluster.stop()


def _measure(path: Path, watch: Watch, console: Console, *, kills: bool) -> None:
    from pyspark.sql import SparkSession

    session = SparkSession.getActiveSession()
    assert session is not None
    with watch.step("reading"):
        log: Any = us.read_log(session.read.parquet(str(path)))
    console.print(f"{thousands(len(log))} pairs, {len(log.items)} items, {log.blocks.blocks} blocks")
    now, before = log.at(log.last), log.at(REFERENCE)
    with watch.step("the item mix of two dates"):
        us.drift(now, before)
    with watch.step("a fit"):
        weights = us.fit_weights(now, before)
    with watch.step("popular on all pairs"):
        score = us.evaluate("popular", now, weights=weights)
    if kills:
        with watch.step("a fit while a worker is killed"):
            again = _fit_while_a_worker_is_killed(now, before, watch.cluster)
        console.print(f"weights with a worker killed: {_compare(again, weights)}")
    console.print("| | seconds | of tasks | of them busy | MB moved | MB spilled | GB Java | GB Python |")
    console.print("|---|---|---|---|---|---|---|---|")
    for step in watch.steps:
        console.print(step.row(), markup=False)
    console.print(f"{weights.report.passes} passes, {weights.status}, bound {weights.bound:.2e}")
    here = us.read_log(path)
    expected = us.fit_weights(here.at(here.last), here.at(REFERENCE))
    same = us.evaluate("popular", here.at(here.last), weights=expected)
    console.print(f"weights, against those of one machine: {_compare(weights, expected)}")
    is_same = (score.value, score.interval) == (same.value, same.interval)
    console.print(f"score of popular, against that of one machine: {'the same bits' if is_same else 'DIFFERS'}")


def _fit_while_a_worker_is_killed(now: Any, before: Any, cluster: Cluster) -> us.ItemWeights:
    """Weights, with one worker gone in the middle of the third pass, and another in its place."""
    passes = 0
    run_pass = BlockTable.map

    def count(self: BlockTable, work: Any, what: str) -> list[Any]:
        nonlocal passes
        passes += what == "a pass over the profiles"
        if passes == 3:
            threading.Timer(0.3, _replace_worker, [cluster]).start()
        return run_pass(self, work, what)

    BlockTable.map = count  # type: ignore[method-assign]
    try:
        return us.fit_weights(now, before)
    finally:
        BlockTable.map = run_pass  # type: ignore[method-assign]


def _replace_worker(cluster: Cluster) -> None:
    kill(cluster.workers[0])
    cluster.add_worker()


def _compare(one: us.ItemWeights, other: us.ItemWeights) -> str:
    same = np.array_equal(one.log_weights, other.log_weights) and one.bound == other.bound
    return "the same bits" if same else "DIFFERENT"
