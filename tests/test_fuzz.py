"""The campaign against damage: a slice of it, that nothing is missing in it, and that it would notice."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from fuzz.child_process import Ending
from fuzz.command_lines import draw_command_line
from fuzz.confirmations import confirm_holdout, confirm_log, confirm_names
from fuzz.file_formats import WAYS
from fuzz.json_mutations import change_json
from fuzz.kill_points import list_writers
from fuzz.plain_columns import unpack_csv
from fuzz.plain_log import describe_rows, find_difference
from fuzz.random_options import _find_fault_of_output
from fuzz.specimens import list_specimens
from fuzz.table_mutations import convert

import unskew as us
from unskew.cli import main
from unskew.reading.formats import FORMATS
from unskew.storage import tables

ROOT = Path(us.__file__).parents[2]
CASES = 100


def run_python(arguments: list[str], findings: Path) -> subprocess.CompletedProcess[str]:
    """Run the campaign in a process of its own: it forks, which this one with its threads must not."""
    paths = [str(ROOT / "src"), str(ROOT)]
    return subprocess.run(
        [sys.executable, *arguments, "--findings", str(findings)],
        capture_output=True,
        check=False,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
    )


def test_a_slice_of_the_campaign_finds_nothing(tmp_path: Path) -> None:
    arguments = ["--cases", str(CASES), "--seed", "1", "--sweep", "kills", "--sweep", "threads"]
    done = run_python(["-m", "fuzz", *arguments], tmp_path)
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-5000:]
    assert "0 findings" in done.stdout


def test_every_format_and_every_kind_of_file_has_a_specimen() -> None:
    covered = {specimen.covers for specimen in list_specimens()}
    assert {one.name for one in FORMATS} <= covered
    assert set(tables._KINDS) <= covered
    assert {way.format for way in WAYS} <= {one.name for one in FORMATS}


def test_every_command_that_writes_is_killed() -> None:
    writing = {
        name for name, command in main.commands.items() for p in command.params if p.name in ("output", "write")
    }
    assert {*writing, "simulate", "Log.save"} == {writer.name for writer in list_writers()}


def test_every_command_is_drawn() -> None:
    rng = Random(1)
    assert {draw_command_line(rng)[0] for _ in range(300)} == set(main.commands)


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.ending)
def test_the_other_reader_gives_back_what_was_written(way: Any) -> None:
    table = pa.table({"user": ["a", 'b,"c'], "item": ["x", "ÿ\n"]})
    assert way.unpack(way.pack(table), None) == table.to_pydict()


@pytest.mark.parametrize("kind", [pa.time64("us"), pa.timestamp("ns"), pa.string(), pa.int8()], ids=str)
def test_damage_to_a_table_leaves_only_values_that_its_types_can_hold(kind: pa.DataType) -> None:
    for values in ([2**40 * 6, 5], [2**62, "a", None], [b"\xff", 1.5]):
        convert(values, kind).validate(full=True)


def test_a_log_without_a_first_line_for_names_has_a_row_more() -> None:
    rows = {"user": ["a", "b"], "item": ["x", "x"], "time": ["2024-01-01", "2024-01-02"]}
    found = {**describe_rows(rows, "user", "item", "time"), "drift": None, "constant": None}
    assert confirm_log(unpack_csv(b"user,item,time\na,x,2024-01-01\nb,x,2024-01-02\n"), found) == ""
    assert confirm_log(unpack_csv(b"a,x,2024-01-01\nb,x,2024-01-02\n"), found) == ""
    assert confirm_log(unpack_csv(b"a,x,2024-01-01\nb,y,2024-01-02\n"), found)


def test_only_what_doctor_describes_may_precede_an_error() -> None:
    ending = Ending(code=2, signal="", answer="", out="rows  3", err="error: unskew.toml was not written: why")
    assert _find_fault_of_output(["doctor", "log.csv", "--write"], ending) == ""
    for arguments in (["doctor", "log.csv"], ["doctor", "log.csv", "--write", "--json"], ["drift", "--write"]):
        assert _find_fault_of_output(arguments, ending) == "output in spite of an error"


def test_damage_to_json_follows_from_its_seed_alone_and_never_puts_a_value_into_itself() -> None:
    texts = [change_json('{"a": [1, {"b": []}]}', Random(seed)) for seed in range(3000)]
    assert len(set(texts)) > 100
    assert [change_json('{"a": [1, {"b": []}]}', Random(seed)) for seed in range(3000)] == texts


def test_plain_figures_of_a_log_that_anyone_can_check() -> None:
    rows: dict[str, list[Any]] = {"user": ["a", "a", "b", "b"], "item": [1, 2, 2, 2], "time": [1, 3, 2, 1]}
    figures = describe_rows(rows, "user", "item", "time")
    assert (figures["users"], figures["items"], figures["pairs"]) == (2, 2, 3)
    assert figures["now"] == {"1": 0.25, "2": 0.75}
    assert figures["then"] == {"1": 0.5, "2": 0.5}
    found = {**figures, "drift": 0.25, "constant": ["2", 0.75]}
    assert find_difference(found, figures) == ""
    wrong: dict[str, Any] = {"users": 3, "now": {"1": 0.5, "2": 0.5}, "drift": 0.2, "constant": ["2", 0.5]}
    for name, value in wrong.items():
        assert find_difference({**found, name: value}, figures), name


HELD_OUT = "user\n0\n3\n6\n9"
LISTED = [(user, "1", 1) for user in ("0", "3", "6", "9")]


@pytest.mark.parametrize("ending", [",", " ", "\t", ",,", ".0", " ,"])
def test_a_user_is_the_same_whatever_stands_behind_it_in_a_file_of_one_column(ending: str) -> None:
    columns = unpack_csv((HELD_OUT + ending).encode())
    assert confirm_holdout(columns, ["0", "3", "6", "9"], LISTED) == ""
    assert confirm_holdout(columns, ["0", "3", "6"], LISTED)


@pytest.mark.parametrize("ending", [";", "|", "x", "_", "."])
def test_a_user_with_a_mark_behind_it_is_another(ending: str) -> None:
    assert confirm_holdout(unpack_csv((HELD_OUT + ending).encode()), ["0", "3", "6"], LISTED) == ""


@pytest.mark.parametrize(
    ("item", "is_7"),
    [
        ("7", True),
        ("7.0", True),
        (" 7", True),
        ("007", False),
        ("+7", False),
        ("0x7", False),
        ("7.", False),
        ("٧", False),
    ],
)
def test_a_name_belongs_to_the_item_before_it_alone(item: str, is_7: bool) -> None:
    columns = {"item": [item, "a"], "title": ["seven", "another"]}
    assert (confirm_names(columns, {"7": "seven"}, [("0", "7", 1)]) == "") is is_7
    assert (confirm_names(columns, {"7": "7"}, [("0", "7", 1)]) == "") is not is_7


FAULTS = """
import json, os, signal, sys, time
from pathlib import Path
import unskew as us
from fuzz import child_process
from fuzz.kill_points import Writer, run_kills
from fuzz.surroundings import _run_twice
from fuzz.verdicts import find_fault, judge

child_process.CPU_SECONDS = 1

def babble():
    print("error: one", file=sys.stderr)
    raise us.InputError("two")

def refuse():
    raise us.InputError("no good", remedy="bring another")

def shrug():
    raise us.InputError("no good")

def loop():
    while True:
        pass

def write_in_place(folder, k):
    for n in (1, 2):
        with open(folder / "file", "w" if n == 1 else "a") as file:
            file.write(str(k))

def litter(folder, k):
    (folder / f".{os.getpid()}.tmp").write_text(str(k))
    (folder / f".{os.getpid()}.tmp").replace(folder / "file")

def keep(folder, k):
    (folder / "file").mkdir(exist_ok=True)
    (folder / "file" / str(k)).touch()
    time.sleep(0.05 * (1 - k))  # so that the other is done first
    (folder / f".{os.getpid()}.tmp").write_text(str(k))
    (folder / f".{os.getpid()}.tmp").replace(folder / "file" / "page")

ways = {
    "crash": lambda: os.kill(os.getpid(), signal.SIGSEGV),
    "stumble": lambda: {}["nothing"],
    "swallow": lambda: bytearray(4 * 2**30),
    "exit": lambda: sys.exit(1),
    "babble": babble,
    "loop": loop,
    "refuse": refuse,
    "shrug": shrug,
    "answer": lambda: 1,
}
endings = {name: child_process.run_in_child(way) for name, way in ways.items()}
found = {name: find_fault(ending) for name, ending in endings.items()}
found["wrong"] = judge("", endings["answer"], lambda answer: "" if answer == 2 else "not 2", "same").outcome
for writer in (write_in_place, litter):
    verdicts = run_kills(Writer(writer.__name__, writer, "file"), Path(sys.argv[2]).resolve())
    found[writer.__name__] = sorted({verdict.outcome for verdict in verdicts if verdict.is_finding})
work = Path(sys.argv[2]).resolve() / "keep"
work.mkdir()
found["keep"] = _run_twice(Writer("keep", keep, "file", resumes=True), work).outcome
print(json.dumps(found))
"""


def test_the_campaign_would_notice(tmp_path: Path) -> None:
    done = run_python(["-c", FAULTS], tmp_path / "work")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {
        "crash": "SIGSEGV",
        "stumble": "foreign KeyError",
        "swallow": "foreign MemoryError",
        "exit": "exit code 1",
        "babble": "not one line of error",
        "loop": "hang",
        "refuse": "",
        "shrug": "an error without a remedy",
        "answer": "",
        "wrong": "wrong figure",
        "write_in_place": ["neither old nor new"],
        "litter": ["left behind"],
        "keep": "one of them",
    }


PLANTS = """
import json, sys
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from random import Random
from unittest.mock import patch

import numpy as np
from fuzz.child_process import warm_up
from fuzz.damaged_files import Store, run_file_case
from fuzz.kill_points import list_writers, run_kills
from unskew.storage import files, tables
from unskew.data import saved_log
from unskew.reading import columnar_files, loop_encoder, sources

encode, damage_error = loop_encoder.encode_rows, files.damage_error

def drop_a_row(*arguments):
    log = encode(*arguments)
    return replace(log, start=np.minimum(log.start, len(log) - 1), item=log.item[:-1], time=log.time[:-1])

def accept(*_):
    return None

def forget(path, what, remedy):
    return damage_error(path, what, "")

@contextmanager
def write_in_place(path):
    yield path

def damage_files(covers):
    store = Store(work / covers)
    store.specimens = [one for one in store.specimens if covers in (one.covers, one.name)]
    return (run_file_case(store, Random(f"planted {number}"))[0] for number in range(200))

def open_without_folder(source):
    return bool(source)

def kill_marginal():
    (writer,) = [writer for writer in list_writers() if writer.written == "m.parquet"]
    return run_kills(writer, work / "kills")

def find_first(verdicts):
    return next(([n, v.outcome] for n, v in enumerate(verdicts, start=1) if v.is_finding), None)

work = Path(sys.argv[2]).resolve()
warm_up()
plants = {
    "a row is dropped": (loop_encoder, "encode_rows", drop_a_row, lambda: damage_files("Arrow")),
    "the checksum of a table is not verified": (tables, "_verify", accept, lambda: damage_files("timeline")),
    "the checksum of a log is not verified": (saved_log, "_verify", accept, lambda: damage_files("saved log")),
    "a bound is not checked": (saved_log, "_check_rows", accept, lambda: damage_files("saved log")),
    "pages are not checked": (columnar_files, "_read_chunk", accept, lambda: damage_files("log .pq texts")),
    "a count is forged": (columnar_files, "_require_count", accept, lambda: damage_files("log .parquet integers")),
    "a message has no remedy": (files, "damage_error", forget, lambda: damage_files("weights")),
    "a file is written in place": (tables, "replace_file", write_in_place, kill_marginal),
    "a copy stays": (sources, "_is_small_table", open_without_folder, lambda: damage_files("log .csv.bz2 texts")),
}
found = {}
for name, (module, function, bug, run) in plants.items():
    with patch.object(module, function, bug):
        found[name] = find_first(run())
print(json.dumps(found))
"""


def test_the_campaign_finds_each_planted_bug_within_so_many_cases(tmp_path: Path) -> None:
    done = run_python(["-c", PLANTS], tmp_path)
    assert done.returncode == 0, done.stderr
    cases = {
        "a row is dropped": (5, "wrong figure"),
        "the checksum of a table is not verified": (60, "wrong figure"),
        "the checksum of a log is not verified": (60, "wrong figure"),
        "a bound is not checked": (120, "foreign AssertionError"),
        "pages are not checked": (60, "unconfirmed"),
        "a count is forged": (150, "unconfirmed"),
        "a message has no remedy": (20, "an error without a remedy"),
        "a file is written in place": (5, "neither old nor new"),
        "a copy stays": (10, "left behind"),
    }
    found = json.loads(done.stdout)
    assert {name: outcome for name, (_, outcome) in found.items()} == {name: o for name, (_, o) in cases.items()}
    assert all(found[name][0] <= most for name, (most, _) in cases.items()), found
