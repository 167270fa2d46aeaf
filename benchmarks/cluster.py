"""What a log takes on a Spark cluster of two workers on this machine: seconds, bytes moved, memory; same bits.

``python -m benchmarks cluster [EVENTS]``. The cluster is a real one, a master and two workers of one core each,
which talk to each other over loopback addresses. What tasks took and moved is read off Spark's own event log;
memory is what the processes of workers have at their peak. Each result is compared with that of one machine, to
the last bit. Up to `MOST_TO_KILL` events a worker is killed in the middle of a further fit and of a further read,
which must not change anything either. What was found goes to ``results/cluster.json``
(`benchmarks.frame.cluster_runs`) and from there to the page.
"""

from __future__ import annotations

import json
import os
import re
import sys
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
from benchmarks.frame.cluster_runs import ClusterRun, Step, keep_run, render_run
from benchmarks.frame.machine import Made, describe
from benchmarks.speed.reading_job import REFERENCE
from benchmarks.speed.text_logs import text_log
from unskew.engines.spark.blocks import BlockTable
from unskew.engines.spark.jobs import start_session
from unskew.text import thousands

EVENTS = 10_000_000
MOST_TO_KILL = 20_000_000
MEMORY = "4g"
"""Of each worker: the heap of its executor. Its Python processes take theirs besides."""


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
        tasks = self._count_tasks() - before
        self.steps.append(
            Step(
                name,
                round(seconds, 1),
                tasks["cpu"] / 1e9,
                tasks["moved"],
                tasks["spilled"],
                peaks.get("java", 0),
                peaks.get("python", 0),
            )
        )

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
    """Measure a log of each size, and fail where bits differ."""
    different = []
    for size in sizes or [EVENTS]:
        found = _run(size, console)
        keep_run(found)
        console.print("\n".join(render_run(found)), markup=False, highlight=False)
        different += [name for name, same in found.same_bits.items() if not same]
    if different:
        console.print(f"other bits than on one machine: {', '.join(different)}")
        sys.exit(1)


def _run(size: int, console: Console) -> ClusterRun:
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
                work = ClusterWork(source.path, Watch(cluster, folder / "events"), session)
                work.measure()
                if size <= MOST_TO_KILL:
                    work.measure_with_kills()
            finally:
                session.stop()
        finally:
            cluster.stop()
        log = _tell_what_workers_did(folder / "Master0.log")
    work.compare_with_one_machine()
    return work.describe(source.events, describe(("pyspark",)), log)


@dataclass
class ClusterWork:
    """What is done on a cluster, and what came of it."""

    path: Path
    watch: Watch
    session: Any
    log: Any = None
    weights: Any = None
    score: Any = None
    same_bits: dict[str, bool] = field(default_factory=dict)

    def measure(self) -> None:
        """Read, compare two dates, fit, score."""
        with self.watch.step("reading"):
            self.log = self._read()
        now, before = self._dates(self.log)
        with self.watch.step("the item mix of two dates"):
            us.drift(now, before)
        with self.watch.step("a fit"):
            self.weights = us.fit_weights(now, before)
        with self.watch.step("`popular` on all pairs, with its interval"):
            self.score = us.evaluate("popular", now, weights=self.weights)

    def measure_with_kills(self) -> None:
        """Fit and read again, each while a worker is killed and another one comes."""
        now, before = self._dates(self.log)
        with self.watch.step("a fit, with a worker killed in its third pass"):
            again = _fit_while_a_worker_is_killed(now, before, self.watch.cluster)
        self.same_bits["weights of a fit in which a worker was killed"] = _is_same(again, self.weights)
        with self.watch.step("reading, with a worker killed in the middle"):
            log = self._read_while_a_worker_is_killed(after=self.watch.steps[0].seconds / 2)
        again = us.fit_weights(*self._dates(log))
        self.same_bits["weights after a read in which a worker was killed"] = _is_same(again, self.weights)

    def compare_with_one_machine(self) -> None:
        here = us.read_log(self.path)
        expected = us.fit_weights(*self._dates(here))
        score = us.evaluate("popular", here.at(here.last), weights=expected)
        self.same_bits["weights with their certificate"] = _is_same(self.weights, expected)
        is_same = (self.score.value, self.score.interval) == (score.value, score.interval)
        self.same_bits["the score of `popular` with its interval"] = is_same

    def describe(self, events: int, made: Made, log: list[str]) -> ClusterRun:
        return ClusterRun(
            events,
            len(self.log),
            len(self.log.items),
            self.log.blocks.blocks,
            self.weights.report.passes,
            self.watch.steps,
            self.same_bits,
            log,
            made,
        )

    def _read(self) -> Any:
        return us.read_log(self.session.read.parquet(str(self.path)))

    def _dates(self, log: Any) -> tuple[Any, Any]:
        return log.at(log.last), log.at(REFERENCE)

    def _read_while_a_worker_is_killed(self, after: float) -> Any:
        killed = threading.Event()

        def replace_worker() -> None:
            _replace_worker(self.watch.cluster)
            killed.set()

        timer = threading.Timer(after, replace_worker)
        timer.start()
        log = self._read()
        assert killed.is_set(), "the read had ended before a worker was killed"
        return log


def _fit_while_a_worker_is_killed(now: Any, before: Any, cluster: Cluster) -> us.ItemWeights:
    """Weights, with one worker gone in the middle of the third pass, and another in its place."""
    passes = 0
    run_pass = BlockTable.map

    def count(self: BlockTable, work: Any, purpose: str) -> list[Any]:
        nonlocal passes
        passes += purpose == "a pass over the profiles"
        if passes == 3:
            threading.Timer(0.3, _replace_worker, [cluster]).start()
        return run_pass(self, work, purpose)

    BlockTable.map = count  # type: ignore[method-assign]
    try:
        return us.fit_weights(now, before)
    finally:
        BlockTable.map = run_pass  # type: ignore[method-assign]


def _replace_worker(cluster: Cluster) -> None:
    kill(next(worker for worker in cluster.workers if worker.poll() is None))
    cluster.add_worker()


def _is_same(one: us.ItemWeights, other: us.ItemWeights) -> bool:
    return bool(np.array_equal(one.log_weights, other.log_weights)) and one.bound == other.bound


def _tell_what_workers_did(log: Path) -> list[str]:
    """The lines in which the master speaks of workers and executors, without the hour and with short names."""
    found = []
    for line in log.read_text().splitlines():
        said = re.search(r"(?:INFO|WARN|ERROR) Master: (.*)", line)
        if said is not None and re.search("worker|executor", said[1], re.IGNORECASE):
            found.append(re.sub(r"(worker|app)-\d+-(?:127\.0\.0\.1-)?(\d+)", r"\1-\2", said[1]))
    return found
