"""What a command finds around it: output that is closed, full or not UTF-8, a lost directory, no memory."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import unskew as us
from unskew.cli import main
from unskew.errors import InputError

NAMES = ["a", "b→é", "c\U0001f600"]


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("log") / "log.parquet"
    items = [*NAMES[:2], *NAMES[:2], NAMES[2], NAMES[2]]
    pq.write_table(pa.table({"user": [1, 1, 2, 2, 1, 2], "item": items, "time": list(range(6))}), path)
    return path


@dataclass(frozen=True)
class Ends:
    """How a command ended."""

    code: int
    output: bytes
    said: str


Run = Callable[..., Ends]


@pytest.fixture
def drift(log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """The command with any standard output and standard error, by default files of the encoding."""

    def run(*more: str, encoding: str = "utf-8", out: Any = "file", err: Any = "file") -> Ends:
        files = {name: tmp_path / name for name in ("out", "err")}
        with monkeypatch.context() as patch:
            for name, given in (("out", out), ("err", err)):
                path = files[name] if given == "file" else given
                patch.setattr(sys, f"std{name}", path and open(path, "w", encoding=encoding))  # noqa: PTH123, SIM115
            with pytest.raises(SystemExit) as ended:
                main(["drift", str(log), "--reference", "3", "--at", "5", *more], prog_name="unskew")
            for stream in (sys.stdout, sys.stderr):
                with suppress(OSError, AttributeError):  # what could not be written is still there
                    stream.close()
        told = {name: path.read_bytes() if path.exists() else b"" for name, path in files.items()}
        return Ends(int(ended.value.code or 0), told["out"], told["err"].decode(encoding))

    return run


@pytest.mark.parametrize("more", [(), ("--json",), ("--help",), ("--help-all",)])
def test_output_that_cannot_be_written_is_one_line(drift: Run, more: tuple[str, ...]) -> None:
    done = drift(*more, out="/dev/full")
    assert re.fullmatch(
        r"error: cannot write (to standard|the) output: No space left on device[^\n]*\n", done.said
    )
    assert done.code == 2


def test_output_that_is_closed_is_one_line(drift: Run) -> None:
    done = drift(out=None)
    assert done.said == "error: cannot write to standard output: it is closed: send it to a file or to /dev/null\n"
    assert done.code == 2


@pytest.mark.parametrize("err", [None, "/dev/full"])
def test_results_do_not_depend_on_who_reads_what_is_said_besides(drift: Run, err: Any) -> None:
    done = drift("--json", err=err)
    assert done.code == 0
    assert json.loads(done.output)["items"] == 3
    assert drift("--at", "no date", err=err).code == 2


def test_a_process_without_any_open_end_prints_into_no_file(log: Path, tmp_path: Path) -> None:
    command = 'exec "$0" -m unskew marginal "$1" --at 5 -o mix.parquet <&- >&- 2>&-'
    done = subprocess.run(["sh", "-c", command, sys.executable, str(log)], check=False, cwd=tmp_path)
    assert done.returncode == 2, "what it has to say cannot be said"
    assert len(us.Marginal.load(tmp_path / "mix.parquet")) == 3


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252", "utf-8"])
def test_output_in_any_encoding_can_be_read(drift: Run, encoding: str) -> None:
    done = drift(encoding=encoding)
    assert (done.code, done.said) == (0, "")
    table = done.output.decode(encoding)
    assert ("2 → 2" if encoding == "utf-8" else "2 -> 2") in table
    assert {"ascii": r"b->\xe9", "utf-8": "b→é"}.get(encoding, "b->é") in table
    told = json.loads(drift("--json", encoding=encoding).output.decode(encoding))
    assert {row["item"] for row in told["top"]} == set(NAMES)


def test_a_path_that_is_no_text_is_refused_by_its_name(log: Path, tmp_path: Path) -> None:
    path = os.fsdecode(bytes(tmp_path) + b"/mix-\xff.parquet")
    Path(path).write_bytes(log.read_bytes())
    for words in (["marginal", str(log), "--at", "5", "-o", path], ["marginal", path, "--at", "5", "-o", "x.csv"]):
        done = CliRunner().invoke(main, words)
        assert done.exit_code == 2, done.output
        assert re.fullmatch(r"error: the name .*mix-\\udcff.parquet is not in UTF-8: rename it\n", done.output)


def test_a_working_directory_that_is_gone_is_said(
    log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    at = [str(log), "--at", "5"]
    for words in (["marginal", *at, "-o", "x.parquet"], ["simulate", "w"], ["evaluate", *at, "-r", "mine:Model"]):
        done = CliRunner().invoke(main, words)
        assert "the current directory does not exist any more" in done.output, words
        assert done.output.count("\n") == 1
        assert done.exit_code == 2


@pytest.mark.parametrize(
    "error", [MemoryError(), PermissionError(13, "Permission denied", "x\ny"), OSError(5, "I/O")]
)
def test_what_the_system_refuses_is_one_line_and_no_bug(
    error: Exception, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("unskew.reading.reader.read_log", fail)
    done = CliRunner().invoke(main, ["drift", str(log), "--reference", "3", "--at", "5"])
    assert done.exit_code == 2
    assert done.output.startswith("error: ")
    assert done.output.count("\n") == 1


@pytest.mark.parametrize(
    "wish",
    [
        ["evaluate", "LOG", "--reference", "3", "--at", "5", "-r", "popular", "--refit", "9223372036854775807"],
        ["evaluate", "LOG", "--at", "5", "-r", "popular", "--sample", "9223372036854775807"],
        ["simulate", "new", "--items", "10000000000000"],
        ["simulate", "new", "--users", "9223372036854775807"],
    ],
)
def test_a_number_beyond_any_memory_is_refused(wish: list[str], log: Path) -> None:
    done = CliRunner().invoke(main, [str(log) if word == "LOG" else word for word in wish])
    assert done.exit_code == 2
    assert "but must be at most" in done.output
    assert done.output.count("\n") == 1


def test_more_items_than_there_are_is_all_of_them(log: Path) -> None:
    dates = ["--reference", "3", "--at", "5", "--show", str(10**30), "--json"]
    done = CliRunner().invoke(main, ["drift", str(log), *dates])
    assert len(json.loads(done.stdout)["top"]) == 3


def test_an_id_that_looks_like_an_option_of_a_message_is_shown_as_it_is() -> None:
    for text in ("\ue000top\ue001(((\ue002", "\ue000top\ue001x\ue002", "\ue000\ue001\ue002", "\ue000"):
        assert "top" in str(InputError(f"no item top {text}"))


def test_what_a_message_quotes_of_a_long_list_is_short() -> None:
    with pytest.raises(InputError) as caught:
        us.simulate(users=["x"] * 10_000)  # type: ignore[arg-type]
    assert len(str(caught.value)) < 400


def test_json_has_nothing_in_it_that_steers_a_terminal(tmp_path: Path) -> None:
    item = "a\x9b2Jb\u202ec\u2028d\x7f"
    (tmp_path / "log.csv").write_text(f'user,item,time\n1,"{item}",0\n1,b,0\n2,b,9\n', encoding="utf-8")
    command = [sys.executable, "-m", "unskew", "drift", "log.csv", "--reference", "0", "--at", "9", "--json"]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, check=True, env={**os.environ, "PYTHONIOENCODING": "utf-8"}
    )
    text = done.stdout.decode()
    assert item in [row["item"] for row in json.loads(text)["top"]]
    assert not set(item) & set(text) - set("abcd2J")


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_a_run_that_is_terminated_leaves_no_spill_files(tmp_path: Path) -> None:
    rows = "".join(f"{k},{k % 999},{k}\n" for k in range(1_500_000))
    (tmp_path / "log.csv").write_text(f"user,item,time\n{rows}")
    spill = tmp_path / "spill"
    spill.mkdir()
    command = [sys.executable, "-m", "unskew", "drift", "log.csv", "--reference", "9", "--temp-dir", str(spill)]
    run = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not any(spill.iterdir()) and run.poll() is None:
        time.sleep(0.01)
    run.terminate()
    assert run.wait(30) in (130, 143)
    assert not any(spill.iterdir())
