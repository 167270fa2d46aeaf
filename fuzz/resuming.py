"""Resuming: long work is killed before random system calls, again and again, and goes on each time.

In the end it holds the same bytes as if nothing had happened.
"""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pyarrow.parquet as pq

import unskew as us
from fuzz.child_process import run_in_child
from fuzz.examinations import YARDSTICK
from fuzz.random_options import find_leftover
from fuzz.small_log import read_small_log
from fuzz.system_calls import Before, Call
from fuzz.verdicts import Verdict
from unskew.known_truths import Yardstick, yardstick, yardstick_run

_MOST_KILLS = 4


def run_resume_case(work: Path, rng: Random) -> Verdict:
    """Kill a timeline or a yardstick a few times and let it go on."""
    name = rng.choice(("timeline", "timeline", "timeline", "yardstick"))
    write, compare = _WORK[name]
    folders = [work / "whole", work / "killed"]
    shutil.rmtree(work, ignore_errors=True)
    for folder in folders:
        folder.mkdir(parents=True)
    whole = run_in_child(lambda: write(folders[0]))
    if whole.code:
        raise RuntimeError(f"the {name} does not run: {whole.signal} {whole.err}")
    steps = [rng.randint(1, 200) for _ in range(rng.randint(1, _MOST_KILLS))]
    about = f"{name}, killed before calls {steps}"
    for step in steps:
        ending = run_in_child(lambda: write(folders[1]), before=_kill_before(step, folders[1]))
        if ending.code not in (None, 0) or ending.signal not in ("", "SIGKILL"):
            return Verdict("resume", "does not go on", True, f"{about}: {ending.signal} {ending.err[-2000:]}")
    last = run_in_child(lambda: write(folders[1]))
    if last.code:
        return Verdict("resume", "does not end", True, f"{about}: {last.signal} {last.err[-2000:]}")
    difference = compare(*folders) or find_leftover(folders[1])
    return Verdict(
        "resume", "another result" if difference else "same", bool(difference), f"{about}: {difference}"
    )


def _kill_before(step: int, folder: Path) -> Before:
    """Kill a process before its n-th call that writes inside of a folder."""
    count = 0

    def look(call: Call) -> None:
        nonlocal count
        count += call.path.is_relative_to(folder)
        if count == step:
            os.kill(call.process, signal.SIGKILL)

    return look


def _write_timeline(folder: Path) -> None:
    files: dict[str, Any] = {"output": folder / "t.parquet", "probabilities": folder / "p.parquet"}
    options: dict[str, Any] = {"reference": 40, "start": 40, "end": 90, "every": 10, "items": [1, 2], "top": 2}
    us.timeline(read_small_log(), "popular", **options, **files, resume=files["output"].exists())


def _compare_bytes(one: Path, other: Path) -> str:
    files = [sorted(path.name for path in folder.iterdir()) for folder in (one, other)]
    if files[0] != files[1]:
        return f"there are {files[1]} in place of {files[0]}"
    different = [name for name in files[0] if (one / name).read_bytes() != (other / name).read_bytes()]
    return f"{', '.join(different)} differs" if different else ""


def _write_yardstick(folder: Path) -> None:
    vars(yardstick_run)["save_yardstick"] = _save_tables  # in this process; the page takes seconds to draw
    output = folder / "yardstick"
    yardstick(["quiet", "paper"], **YARDSTICK, output=output, resume=output.exists())


def _save_tables(found: Yardstick, folder: Path) -> None:
    pq.write_table(found.rows.drop_columns(["seconds"]), folder / "rows.parquet")
    pq.write_table(found.ranking, folder / "ranking.parquet")


def _compare_tables(one: Path, other: Path) -> str:
    """The tables byte for byte, without how long it took."""
    folders = [folder / "yardstick" for folder in (one, other)]
    cases = [sorted(path.name for path in (folder / "cases").iterdir()) for folder in folders]
    if cases[0] != cases[1]:
        return f"there are {cases[1]} in place of {cases[0]}"
    names = ("rows.parquet", "ranking.parquet")
    different = [name for name in names if (folders[0] / name).read_bytes() != (folders[1] / name).read_bytes()]
    return f"{', '.join(different)} differs" if different else ""


_WORK: dict[str, tuple[Callable[[Path], None], Callable[[Path, Path], str]]] = {
    "timeline": (_write_timeline, _compare_bytes),
    "yardstick": (_write_yardstick, _compare_tables),
}
