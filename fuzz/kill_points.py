"""Kills: every command that writes is stopped before each system call that writes, and in the middle of it.

What lies on the disk then is what a kill at this moment leaves: it has to be the old or the new, never half of
either. Then the command runs again on what was left: it ends well, writes the same and leaves nothing about.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import unskew as us
from fuzz.child_process import Ending, run_command, run_in_child
from fuzz.examinations import drop_volatile
from fuzz.random_options import find_leftover
from fuzz.small_log import make_small_table, read_small_log
from fuzz.system_calls import Call
from fuzz.verdicts import Verdict
from unskew.drawing import page
from unskew.reproduction.experiment import PAGE, WORLD, Reproduction
from unskew.storage.tables import write_parquet

_LOG = "small-log.parquet"
_COMMANDS = {
    "w.parquet": "weights LOG --reference 40|60 --at 90 -o w.parquet",
    "m.parquet": "marginal LOG --at 50|90 -o m.parquet",
    "m.csv": "marginal LOG --at 50|90 -o m.csv",
    "s.parquet": "sample LOG --at 50|90 -n 20 -o s.parquet",
    "report.html": "report LOG --reference 40|60 --at 90 -r popular -o report.html",
    "timeline": "timeline LOG --reference 40 --from 40 --every 20 --to 60|80 -r popular --follow 1,2"
    " -o timeline/t.parquet --probabilities timeline/p.parquet",
    "bursts.svg": "drift LOG --user user|item --item item|user --detect -o bursts.svg",
    "world": "simulate world --users 40 --items 20 --seed 1|2",
    "yardstick": "yardstick quiet --seeds 1|2 --users 60 --items 30 -r popular --method item~weights"
    " --truth-seeds 1 -o yardstick",
    "unskew.toml": "doctor LOG --user user|item --item item|user --write",
}
"""Every command that writes, by what it writes: once the old with what stands before a bar, then the new."""

_RESUMED = ("timeline", "yardstick")


@dataclass(frozen=True)
class Writer:
    """Something that writes.

    Attributes
    ----------
    write
        Writes into a folder: one state for each number, of which the first is old and the second is new.
    written
        What it writes there: a file, or a folder in which everything belongs together.
    resumes
        Whether it goes on from what it wrote; it may then leave any part of the new that it can go on from.
    """

    name: str
    write: Callable[[Path, int], Any]
    written: str
    resumes: bool = False


def list_writers() -> list[Writer]:
    """Whatever unskew writes."""
    return [
        *(
            Writer(line.split()[0], partial(_run, written), written, written in _RESUMED)
            for written, line in _COMMANDS.items()
        ),
        Writer("Log.save", lambda folder, k: _cut_log(k).save(folder / "log.arrow"), "log.arrow"),
        Writer("reproduce", partial(_write_reproduction, [_simulate(0), _simulate(1)]), "paper"),
    ]


def _run(written: str, folder: Path, k: int) -> None:
    """Run a command; what it refuses is raised, since there may be no room to print it."""
    if not (folder.parent / _LOG).exists():
        pq.write_table(make_small_table(), folder.parent / _LOG)
    if written == "timeline":
        (folder / written).mkdir(exist_ok=True)
    words = [word.replace("~", " ") for word in _COMMANDS[written].replace("LOG", f"../{_LOG}").split()]
    words = [word.split("|")[k] if "|" in word else word for word in words]
    if written in _RESUMED and any((folder / written).glob("*")):
        words.append("--resume")
    vars(page)["_bundle"] = lambda: "library"  # in this process: the library of charts takes seconds to load
    vars(time)["perf_counter"] = lambda: 0.0  # which files say as well
    os.chdir(folder)
    out, err = io.StringIO(), io.StringIO()
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            run_command(words)
    except SystemExit as ended:
        if ended.code:
            raise us.UnskewError(err.getvalue().strip().rpartition("error: ")[2]) from None


def run_kills(writer: Writer, work: Path) -> list[Verdict]:
    """Stop a writer before each of its calls; a verdict for each, and for each of the runs after it."""
    final = _write_whole(writer, work, 1)
    _write_whole(writer, work, 0)
    old = _hide_temporary(_read_files(work))
    moments: list[tuple[str, dict[str, bytes]]] = []

    def look(call: Call) -> None:
        if not call.path.is_relative_to(work):
            return
        files, about = _read_files(work), f"{writer.name}, call {len(moments) + 1}: "
        moments.append((f"{about}{call.name} of {call.path.name}", files))
        if call.half is not None:
            name = str(call.path.relative_to(work))
            before, place = files.get(name, b""), call.place
            whole = before[:place].ljust(place, b"\0") + call.half + before[place + len(call.half) :]
            moments.append((f"{about}half a {call.name} of {call.path.name}", {**files, name: whole}))

    _require_done(run_in_child(lambda: writer.write(work, 1), before=look), writer)
    new = _hide_temporary(_read_files(work))
    verdicts, left = [], dict[str, tuple[str, dict[str, bytes]]]()
    for about, files in moments:
        seen = _hide_temporary(files)
        state = "old" if seen == old else "new" if seen == new else "part" if writer.resumes else ""
        verdicts.append(Verdict("kills", state or "neither old nor new", not state, about))
        if state:
            left.setdefault(repr((sorted(seen.items()), sorted(files))), (about, files))
    return [*verdicts, *(_run_again(writer, work, final, *one) for one in left.values())]


def _run_again(writer: Writer, work: Path, final: str, about: str, files: dict[str, bytes]) -> Verdict:
    """Run a writer on what a kill left; kills that leave the same names and the same whole files are one."""
    shutil.rmtree(work)
    work.mkdir()
    for name, content in sorted(files.items()):
        if name.endswith("/"):
            (work / name).mkdir()
        else:
            (work / name).write_bytes(content)
    group, about = "runs after a kill", f"{about}, then again"
    ending = run_in_child(lambda: writer.write(work, 1))
    if ending.code != 0:
        return Verdict(group, "fails", True, f"{about}: {ending.signal} {ending.err[-2000:]}")
    if read_state(work / writer.written) != final:
        return Verdict(group, "another result", True, about)
    leftover = find_leftover(work)
    return Verdict(group, "left behind" if leftover else "done", bool(leftover), f"{about}: {leftover}")


def _read_files(folder: Path) -> dict[str, bytes]:
    """All files in a folder, and the folders in it, whose names end in a slash."""
    paths = {str(path.relative_to(folder)): path for path in folder.rglob("*")}
    return {f"{name}/" if path.is_dir() else name: _read(path) for name, path in paths.items()}


def _read(path: Path) -> bytes:
    return b"" if path.is_dir() else path.read_bytes()


def _hide_temporary(files: dict[str, bytes]) -> dict[str, bytes]:
    """Without temporary files, which nobody reads."""
    return {name: content for name, content in files.items() if not name.startswith(".") and "/." not in name}


def _write_whole(writer: Writer, work: Path, number: int) -> str:
    """Write one of the two states into an empty folder; gives what is there then."""
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    _require_done(run_in_child(lambda: writer.write(work, number)), writer)
    return read_state(work / writer.written)


def _require_done(ending: Ending, writer: Writer) -> None:
    if ending.code != 0:
        raise RuntimeError(f"{writer.name} does not write: {ending.signal} {ending.err}")


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


def _cut_log(k: int) -> us.Log:
    return read_small_log() if k else us.read_log({"user": [1, 2], "item": [1, 1], "time": [1, 2]})


@dataclass(frozen=True)
class _Undrawn(Reproduction):
    """A reproduction whose figures are neither computed nor drawn, which takes minutes."""

    number: int = 0

    def _draw(self, folder: Path) -> None:
        self.world.save(folder / WORLD)
        write_parquet(folder / "claims-by-seed.parquet", pa.table({"seed": [self.number]}), "claims", {})
        (folder / "claims.json").write_text(f"[{self.number}]")
        page.write_page(folder / PAGE, f"page {self.number}", "", [])


@cache
def _simulate(k: int) -> us.worlds.World:
    return us.simulate("paper", users=40, items=20, seed=k)


def _write_reproduction(worlds: list[us.worlds.World], folder: Path, k: int) -> None:
    nothing: Any = [None]
    _Undrawn(worlds[k], [], nothing, [], number=k).save(folder / "paper")
