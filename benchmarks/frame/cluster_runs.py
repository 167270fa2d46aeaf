"""What runs on a Spark cluster took, as JSON and as a section of the page; see `benchmarks.cluster`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.frame.machine import Made
from benchmarks.frame.result_files import FOLDER
from unskew.storage.files import replace_file
from unskew.text import enumerate_words, thousands

NAME = "cluster.json"

HEAD = """\
## On a Spark cluster

A real cluster of a master and two workers of one core each, all on this machine and over loopback addresses
(`python -m benchmarks cluster 10e6 100e6`), in seconds. *Busy* is the processor time of Java in all tasks, *moved*
what was written for shuffles, memory that of a worker at its peak. `cluster.json` has what the master said.
"""


@dataclass(frozen=True)
class Step:
    """One step, and what it took.

    Attributes
    ----------
    seconds, busy
        By the clock, and processor time of Java.
    moved, spilled
        Bytes written for shuffles, and to the disk for want of memory.
    java, python
        Bytes of a worker at the peak.
    """

    name: str
    seconds: float
    busy: float
    moved: int
    spilled: int
    java: float
    python: float


@dataclass(frozen=True)
class ClusterRun:
    """All steps with one log.

    Attributes
    ----------
    same_bits
        What was compared with one machine, and whether it had the same bits.
    log
        What the master said of workers and executors.
    """

    events: int
    pairs: int
    items: int
    blocks: int
    passes: int
    steps: list[Step]
    same_bits: dict[str, bool]
    log: list[str]
    made: Made

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> ClusterRun:
        steps = [Step(**step) for step in values["steps"]]
        return cls(**{**values, "steps": steps, "made": Made(**values["made"])})


def read_runs(folder: Path = FOLDER) -> list[ClusterRun]:
    """All that were kept, by size."""
    path = folder / NAME
    return [ClusterRun.from_dict(run) for run in json.loads(path.read_text())] if path.exists() else []


def keep_run(run: ClusterRun, folder: Path = FOLDER) -> None:
    """Keep it in place of an earlier one of its size."""
    others = [other for other in read_runs(folder) if other.events != run.events]
    runs = sorted([*others, run], key=lambda one: one.events)
    with replace_file(folder / NAME) as temporary:
        text = json.dumps([asdict(one) for one in runs], indent=1, ensure_ascii=False)
        Path(temporary).write_text(text + "\n")


def render_run(run: ClusterRun) -> Iterator[str]:
    """A table of its steps, and what was compared."""
    yield f"### {thousands(run.events)} events, {thousands(run.pairs)} pairs, {run.blocks} blocks\n"
    yield "| | seconds | busy | moved | Java | Python |"
    yield "|---|---|---|---|---|---|"
    for step in run.steps:
        spilled = f", {step.spilled / 1e6:.0f} MB to the disk" if step.spilled else ""
        yield (
            f"| {step.name} | {thousands(round(step.seconds))} | {thousands(round(step.busy))} "
            f"| {thousands(round(step.moved / 1e6))} MB{spilled} "
            f"| {step.java / 1e9:.1f} GB | {step.python / 1e9:.1f} GB |"
        )
    reading = run.steps[0]
    yield (
        f"\nReading took {reading.busy / run.events * 1e6:.1f} microseconds of Java and moved "
        f"{reading.moved / run.events:.0f} bytes an event. The fit had {run.passes} passes."
    )
    same = [name for name, is_same in run.same_bits.items() if is_same]
    yield f"The same bits as on one machine: {enumerate_words(same)}.\n" if same else ""
    different = [name for name, is_same in run.same_bits.items() if not is_same]
    if different:
        yield f"**Other bits** than on one machine: {enumerate_words(different)}.\n"


def render_runs(folder: Path = FOLDER) -> Iterator[str]:
    """The section of the page; nothing if there is no run."""
    runs = read_runs(folder)
    if not runs:
        return
    yield HEAD
    for run in runs:
        yield from render_run(run)
