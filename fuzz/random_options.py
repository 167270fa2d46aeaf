"""Cases of random command lines: exit code 0 or 2, one line of error, JSON if asked for, nothing left behind."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
from dataclasses import replace
from pathlib import Path
from random import Random

from fuzz.child_process import Ending, run_command, run_in_child
from fuzz.command_lines import draw_command_line
from fuzz.damaged_files import Store
from fuzz.verdicts import Verdict, find_fault

_TAKEN = {
    "log.parquet integers": "events.parquet log.parquet",
    "log.csv integers": "events.csv log.csv",
    "log.jsonl integers": "events.jsonl log.jsonl",
    "log.arrow integers": "events.arrow log.arrow",
    "saved log 1": "saved.arrow saved.arrow",
    "exposures.csv": "exposures.csv exposures.csv",
    "hold-out.csv": "hold-out.csv holdout.csv",
    "names.csv": "names.csv names.csv",
    "lists.parquet": "lists.parquet lists.parquet",
    "weights 0": "weights.parquet weights.parquet",
    "marginal": "marginal.parquet marginal.parquet",
    "world paper": "world world",
}
"""Which files of the specimens lie on the desk, and what they are called there."""

_TEMPORARY = re.compile(r"\..*|.*\.tmp|tmp[a-z0-9_]{8}", re.DOTALL)


def make_desk(store: Store) -> Path:
    """A folder with one file of each kind, in which commands run; made anew for each case."""
    desk, work = store.path / "desk", store.path / "case"
    if not desk.exists():
        desk.mkdir(parents=True)
        for specimen in store.specimens:
            source, _, name = _TAKEN.get(specimen.folder, "").partition(" ")
            if source and not (desk / name).exists():
                _copy(store.open(specimen) / source, desk / name)
        (desk / "empty.csv").touch()
        (desk / "random.parquet").write_bytes(Random(1).randbytes(999))
        (desk / "folder").mkdir()
        (desk / "loop").symlink_to("loop")
    shutil.rmtree(work, ignore_errors=True)
    shutil.copytree(desk, work, symlinks=True)
    return work


def _copy(source: Path, target: Path) -> None:
    if source.is_dir():
        shutil.copytree(source, target)
    else:
        shutil.copy(source, target)


def run_option_case(store: Store, rng: Random) -> Verdict:
    """Run a random command line and judge how it ends."""
    arguments, work = draw_command_line(rng), make_desk(store)

    def run() -> None:
        os.chdir(work)
        run_command(arguments)

    ending = run_in_child(run)
    if arguments[0] == "check" and ending.code == 1 and ending.out and "unexpected" not in ending.err:
        ending = replace(ending, code=0)  # a threshold is crossed, which is what it is there to say
    fault = find_fault(ending) or _find_fault_of_output(arguments, ending) or find_leftover(work)
    group = f"options of {arguments[0]}"
    line = f"unskew {shlex.join(arguments)}".encode(
        errors="backslashreplace"
    ).decode()  # some have what UTF-8 has not
    if fault:
        return Verdict(group, fault, True, f"{line}\n{ending.err[-3000:]}")
    return Verdict(group, "done" if ending.code == 0 else "refused", detail=line)


def _find_fault_of_output(arguments: list[str], ending: Ending) -> str:
    """With --json, one object on standard output and nothing else; with an error nothing, but what doctor sees."""
    if ending.code != 0:
        describes = arguments[0] == "doctor" and "--write" in arguments and "--json" not in arguments
        return "output in spite of an error" if ending.out and not describes else ""
    if "--json" not in arguments:
        return ""
    try:
        found = json.loads(ending.out, parse_constant=_refuse)
    except ValueError as error:
        return f"output is no JSON ({error})"
    return "" if isinstance(found, dict) else "output is no object"


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def find_leftover(folder: Path) -> str:
    """A temporary file that nobody will ever remove."""
    left = [path.name for path in folder.rglob("*") if _TEMPORARY.fullmatch(path.name)]
    return f"{left[0]} was left behind" if left else ""
