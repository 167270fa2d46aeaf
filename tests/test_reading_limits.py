"""What reading may use: the memory and the disk that a user allows reach DuckDB, wherever a table is read."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import unskew as us
from unskew.cli import main
from unskew.errors import FileError, UnskewError
from unskew.reading.connection import limit_reading, reading_limits, translate_errors


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "log.parquet"
    pq.write_table(pa.table({"user": [1, 1, 2, 2], "item": [1, 2, 1, 3], "time": [1, 2, 3, 4]}), path)
    return path


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What DuckDB says about each connection that was made."""
    found: list[dict[str, Any]] = []
    connect = duckdb.connect

    def watch(**how: Any) -> duckdb.DuckDBPyConnection:
        connection = connect(**how)
        names = "memory_limit", "temp_directory"
        found.append({n: connection.execute(f"SELECT current_setting('{n}')").fetchall()[0][0] for n in names})
        return connection

    monkeypatch.setattr(duckdb, "connect", watch)
    return found


def test_limits_reach_every_table_that_a_command_reads(
    log: Path, asked: list[dict[str, Any]], tmp_path: Path
) -> None:
    pq.write_table(pa.table({"user": [1], "item": [2], "time": [1]}), tmp_path / "shown.parquet")
    (tmp_path / "big").mkdir()
    options = ["--reference", "2", "--at", "4", "--exposures", str(tmp_path / "shown.parquet")]
    limits = ["--memory-limit", "0.5 gib", "--temp-dir", str(tmp_path / "big")]
    done = CliRunner().invoke(main, ["drift", str(log), *options, *limits, "--json"])
    assert done.exit_code == 0, done.output
    assert len(asked) > 1
    assert {one["memory_limit"] for one in asked} == {"256.0 MiB"}, "DuckDB gets half"
    assert {Path(one["temp_directory"]).parent for one in asked} == {tmp_path / "big"}
    assert not list((tmp_path / "big").iterdir()), "nothing is left"


def test_limits_come_from_python_then_from_around_then_from_the_environment(
    log: Path, asked: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UNSKEW_MEMORY_LIMIT", "1GiB")
    us.read_log(log)
    us.read_log(log, memory_limit="2GiB")
    with limit_reading("3GiB"):
        us.read_log(log)
        us.read_log(log, memory_limit="4GiB")
    assert [one["memory_limit"] for one in asked] == ["512.0 MiB", "1.0 GiB", "1.5 GiB", "2.0 GiB"]


@pytest.mark.parametrize("wrong", ["4", "4G", "GB", "-4GB", "4 gigabytes", "10MB", "1e3GB", "", "٣GB", 4])
def test_a_size_that_is_none_is_refused(wrong: Any, log: Path) -> None:
    with pytest.raises(UnskewError, match="memory_limit is"):
        us.read_log(log, memory_limit=wrong)


def test_a_folder_that_is_not_there_is_refused(log: Path, tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"temp_dir is .*nowhere, which does not exist"):
        us.read_log(log, temp_dir=tmp_path / "nowhere")


def test_what_does_not_fit_goes_to_the_folder_and_gives_the_same_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw = np.random.default_rng(0)
    n = 100_000
    users = pa.array([f"user-{k:040d}" for k in draw.integers(0, 40_000, n)])
    pq.write_table(
        pa.table({"user": users, "item": draw.integers(0, 1000, n), "time": draw.integers(0, 10**6, n)}),
        tmp_path / "log.parquet",
    )
    whole = us.read_log(tmp_path / "log.parquet")
    monkeypatch.setenv("UNSKEW_TEMP_DIR", str(tmp_path))
    cut = us.read_log(tmp_path / "log.parquet", memory_limit="50MB")
    assert cut.users.values.equals(whole.users.values)
    for name in ("start", "item", "time"):
        assert np.array_equal(getattr(cut, name), getattr(whole, name))


def test_too_little_memory_is_said_in_one_line() -> None:
    with (
        pytest.raises(FileError, match=r"^cannot read x: .*too little memory.* with memory_limit, .* temp_dir$"),
        translate_errors("x"),
        duckdb.connect(config={"memory_limit": "20MB", "temp_directory": "", "threads": 1}) as connection,
    ):
        connection.execute("SELECT list(range) FROM range(10_000_000)").fetchall()


def test_the_folder_of_a_killed_run_is_removed_by_the_next(tmp_path: Path, log: Path) -> None:
    with reading_limits(None, tmp_path).settings() as settings:
        left = Path(settings["temp_directory"])
        dead = left.with_name(f"{left.name[:-20]}{'0' * 16}.tmp")  # which nobody has locked
        dead.mkdir()
        (dead / "spilled").write_text("x")
        us.read_log(log, temp_dir=tmp_path)
        assert left.exists()
        assert not dead.exists()


_MARGIN = 350  # MB of Python, its libraries and what is taken between two looks, as docs/large-logs.md says
_READ = r"""
import re, sys
import unskew as us
try:
    print(us.read_log(sys.argv[1], memory_limit="200MB"))
except us.UnskewError as error:
    print(error)
print(int(re.search(r"VmHWM:\s+(\d+)", open("/proc/self/status").read())[1]) // 1024)  # not that of the parent
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the system does not say how much memory a process has")
@pytest.mark.parametrize(
    ("rows", "shown"),
    [
        ("SELECT 'a' AS user, 7 AS item, 5 AS time FROM range(14_000_000)", r"Log\(1 users, 1 items, 1 inter"),
        (
            "SELECT range % 300_000 AS user, range % 7919 AS item, range AS time FROM range(1_500_000)",
            r"Log\(300000 users, 7919 items, 1500000 ",
        ),
        (
            "SELECT md5(range::VARCHAR) AS user, hash(range) AS item, 5 AS time FROM range(1_500_000)",
            "cannot read",
        ),
        (
            "SELECT repeat('x', 3_000) AS user, range AS item, 5 AS time FROM range(150_000)",
            r"Log\(1 users, 150|cannot read",  # near the limit, what the system has freed decides
        ),
        ("SELECT repeat('x', 500_000) AS user, range AS item, 5 AS time FROM range(3_000)", "cannot read"),
    ],
    ids=["equal rows", "long", "high cardinality", "wide", "too wide"],
)
def test_the_process_keeps_to_the_limit(rows: str, shown: str, tmp_path: Path) -> None:
    with duckdb.connect() as connection:
        connection.execute(f"COPY ({rows}) TO '{tmp_path}/log.parquet' (FORMAT parquet, COMPRESSION zstd)")
    child = subprocess.run(
        [sys.executable, "-c", _READ, f"{tmp_path}/log.parquet"], capture_output=True, text=True, check=True
    )
    said, peak = child.stdout.splitlines()
    assert re.match(shown, said), said
    assert "cannot" not in said or "too little memory" in said, said
    assert int(peak) <= 200 + _MARGIN
