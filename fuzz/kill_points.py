"""Kills: a writer is killed before each of its steps on the disk.

What it leaves is the old or the new, never half; and the next run ends well and leaves nothing about. A step is
whatever Python tells its audit hooks of: a file that is opened to be written, renamed or removed, a folder that is
made. The process kills itself just before the n-th, so that every state between two steps is seen.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import unskew as us
from fuzz.child_process import Ending, run_in_child
from fuzz.examinations import YARDSTICK, drop_volatile
from fuzz.random_options import find_leftover
from fuzz.small_log import read_small_log
from fuzz.verdicts import Verdict
from unskew.drawing.page import write_page
from unskew.known_truths import yardstick_page
from unskew.reproduction.experiment import PAGE, WORLD, Reproduction
from unskew.table_files import write_parquet

_STEPS = (
    "os.rename",
    "os.remove",
    "os.rmdir",
    "os.mkdir",
    "os.link",
    "os.symlink",
    "os.truncate",
    "os.chmod",
    "open",
)


@dataclass(frozen=True)
class Writer:
    """Something that writes.

    Attributes
    ----------
    write
        Writes into a folder: one state for each number, of which the first is old and the second is new.
    written
        What it writes there, as a pattern; everything that it matches belongs together.
    """

    name: str
    write: Callable[[Path, int], Any]
    written: str


def list_writers() -> list[Writer]:
    """Whatever unskew writes."""
    return [
        Writer("Log.save", lambda folder, k: _cut_log(k).save(folder / "log.arrow"), "log.arrow"),
        Writer("Marginal.save", lambda folder, k: _at(k).marginal().save(folder / "m.parquet"), "m.parquet"),
        Writer("Marginal.save as CSV", lambda folder, k: _at(k).marginal().save(folder / "m.csv"), "m.csv"),
        Writer("ItemWeights.save", lambda folder, k: _fit(k).save(folder / "w.parquet"), "w.parquet"),
        Writer("TestSet.save", lambda folder, k: _sample(k).save(folder / "s.parquet"), "s.parquet"),
        Writer("Timeline.save", _write_timeline, "t.parquet"),
        Writer("World.save", _write_world, "world"),
        Writer("a yardstick", _write_yardstick, "yardstick"),
        Writer("a reproduction", _write_reproduction, "paper"),
    ]


def run_kills(writer: Writer, work: Path) -> list[Verdict]:
    """Kill a writer before each of its steps; a verdict for each."""
    prepare_writers()
    new, old = (_write_whole(writer, work, k) for k in (1, 0))
    before = work.with_name(f"{work.name}-before")
    shutil.rmtree(before, ignore_errors=True)
    shutil.copytree(work, before, symlinks=True)
    verdicts: list[Verdict] = []
    while True:
        shutil.rmtree(work)
        shutil.copytree(before, work, symlinks=True)
        step = len(verdicts) + 1
        ending = run_in_child(lambda step=step: _write_until(writer, work, step))  # type: ignore[misc]
        if ending.signal != "SIGKILL":
            _require_done(ending, writer)
            return verdicts
        verdicts.append(_judge(writer, work, old, new, step))


def _judge(writer: Writer, work: Path, old: str, new: str, step: int) -> Verdict:
    group, about = "kills", f"{writer.name}, killed before step {step}"
    found = read_state(work / writer.written)
    if found not in (old, new):
        return Verdict(group, "neither old nor new", True, about)
    ending = run_in_child(lambda: writer.write(work, 1))
    if ending.code:
        return Verdict(group, "the next run fails", True, f"{about}: {ending.signal} {ending.err[-2000:]}")
    if read_state(work / writer.written) != new:
        return Verdict(group, "the next run does not write", True, about)
    left = find_leftover(work)
    if left:
        return Verdict(group, "left behind", True, f"{about}: {left}")
    return Verdict(group, "old" if found == old else "new", detail=about)


def _write_whole(writer: Writer, work: Path, number: int) -> str:
    """Write one of the two states into an empty folder; gives what is there then."""
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    _require_done(run_in_child(lambda: writer.write(work, number)), writer)
    return read_state(work / writer.written)


def _require_done(ending: Ending, writer: Writer) -> None:
    if ending.code:
        raise RuntimeError(f"{writer.name} does not write: {ending.signal} {ending.err}")


def _write_until(writer: Writer, work: Path, step: int) -> None:
    kill_before(step, work)
    writer.write(work, 1)


def kill_before(step: int, folder: Path) -> None:
    """Have this process kill itself before its n-th step inside of a folder."""
    count = 0

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal count
        if event not in _STEPS or not _is_inside(arguments, folder):
            return
        if event == "open" and not _writes(arguments):
            return
        count += 1
        if count == step:
            os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(watch)


def _is_inside(arguments: tuple[Any, ...], folder: Path) -> bool:
    return any(isinstance(one, str | bytes | os.PathLike) and str(folder) in os.fsdecode(one) for one in arguments)


def _writes(arguments: tuple[Any, ...]) -> bool:
    flags = arguments[2]
    return isinstance(flags, int) and bool(flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))


def read_state(path: Path) -> str:
    """What a file or a folder holds, without what changes from run to run; ``nothing`` if it is not there.

    Temporary files do not count: nobody reads them.
    """
    if path.is_dir():
        inside = sorted(p for p in path.iterdir() if not p.name.startswith("."))
        return hashlib.sha256("".join(f"{p.name} {read_state(p)}\n" for p in inside).encode()).hexdigest()
    if not path.exists():
        return "nothing"
    if path.suffix == ".parquet":
        try:
            table = pq.ParquetFile(path).read(use_threads=False)
        except (OSError, ValueError) as error:
            return f"damaged: {error}"
        told = {key: value for key, value in table.schema.metadata.items() if key == b"unskew"}
        about = {key: json.dumps(drop_volatile(json.loads(value))) for key, value in told.items()}
        return hashlib.sha256(f"{table.to_pylist()} {about}".encode()).hexdigest()
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _at(k: int) -> us.Snapshot:
    return read_small_log().at((50, 90)[k])


def _cut_log(k: int) -> us.Log:
    log = read_small_log()
    return log if k else us.read_log({"user": [1, 2], "item": [1, 1], "time": [1, 2]})


def _fit(k: int) -> us.ItemWeights:
    return us.fit_weights(read_small_log().at(90), read_small_log().at((40, 60)[k]))


def _sample(k: int) -> us.TestSet:
    return us.sample_pairs(_at(k), sample=20, seed=1)


def _write_timeline(folder: Path, k: int) -> None:
    options: dict[str, Any] = {"reference": 40, "start": 40, "every": 20, "end": (60, 80)[k]}
    us.timeline(read_small_log(), "popular", **options).save(folder / "t.parquet")


@cache
def _simulate(k: int) -> us.World:
    return us.simulate("paper", users=40, items=20, seed=k)


@cache
def _measure(k: int) -> us.Yardstick:
    return us.yardstick(["quiet"], **{**YARDSTICK, "seeds": [k]})


def prepare_writers() -> None:
    """Compute what is written once, for all children."""
    for k in (0, 1):
        _simulate(k)
        _measure(k)


def _write_yardstick(folder: Path, k: int) -> None:
    vars(yardstick_page)["write_yardstick_page"] = lambda path, _: write_page(path, f"page {k}", "", [])
    yardstick_page.save_yardstick(_measure(k), folder / "yardstick")


@dataclass(frozen=True)
class _Undrawn(Reproduction):
    """A reproduction whose figures are not drawn, which would take most of the time."""

    number: int = 0

    def _draw(self, folder: Path) -> None:
        self.world.save(folder / WORLD)
        write_parquet(folder / "claims-by-seed.parquet", pa.table({"seed": [self.number]}), "claims", {})
        (folder / "claims.json").write_text(f"[{self.number}]")
        write_page(folder / PAGE, f"page {self.number}", "", [])


def _write_reproduction(folder: Path, k: int) -> None:
    nothing: Any = [None]
    _Undrawn(_simulate(k), [], nothing, [], number=k).save(folder / "paper")


def _write_world(folder: Path, k: int) -> None:
    _simulate(k).save(folder / "world")
