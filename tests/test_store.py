"""A log on disk: the same log again, and nothing half written."""

from __future__ import annotations

import json
from dataclasses import fields
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given

import unskew as us
from tests.tables import LAW, Row, columns_of, held, rows_of
from unskew.data.saved_log import is_saved_log
from unskew.errors import ColumnError, FileError, InputError

TABLE = {
    "user": ["ann", "ann", "bob"],
    "item": [1, 2, 1],
    "time": [3, 4, 5],
    "gone": [9, None, None],
    "seen": [False, True, False],
    "stars": [1.0, 2.0, None],
}


def full() -> us.Log:
    """A log with everything that a log can have."""
    return us.read_log(TABLE, removed="gone", exposed="seen", columns=["stars"])


def assert_same(one: us.Log, other: us.Log) -> None:
    """Field by field; `frames` is not kept, since a file is of no library."""
    for name in (f.name for f in fields(us.Log)):
        mine, theirs = getattr(one, name), getattr(other, name)
        if isinstance(mine, us.Log):
            assert_same(mine, theirs)
        elif name in ("users", "items"):
            assert (mine.to_list(), mine.type) == (theirs.to_list(), theirs.type)
        elif name == "extra":
            assert mine.keys() == theirs.keys()
            for column in mine:
                np.testing.assert_array_equal(mine[column], theirs[column])
        elif isinstance(mine, np.ndarray):
            np.testing.assert_array_equal(mine, theirs)
            assert mine.dtype == theirs.dtype
        elif name != "frames":
            assert mine == theirs


def test_a_saved_log_is_the_same_log_again(tmp_path: Path) -> None:
    log = full()
    log.save(tmp_path / "log.arrow")
    assert_same(log, us.Log.load(tmp_path / "log.arrow"))
    assert_same(log, us.read_log(tmp_path / "log.arrow"))


@LAW
@given(rows_of(removals=True))
def test_any_log_is_the_same_after_saving(tmp_path_factory: pytest.TempPathFactory, rows: list[Row]) -> None:
    rows = [*rows, Row("z", 9, 1)]
    path = tmp_path_factory.mktemp("saved") / "log"
    log = us.read_log(columns_of(rows), removed="removed", exposed="exposed")
    log.save(path)
    loaded = us.Log.load(path)
    assert_same(log, loaded)
    for time in range(-2, 12):
        assert held(log, time) == held(loaded, time)


@pytest.mark.parametrize(
    "times",
    [
        [1.5, 2.5],
        pa.array([datetime(2013, 6, 1, 23), datetime(2013, 6, 2, 1)], pa.timestamp("us", "America/New_York")),
        pa.array([1, 2], pa.timestamp("ns")),
    ],
    ids=["decimals", "zone", "ns"],
)
def test_the_time_axis_survives_saving(times: Any, tmp_path: Path) -> None:
    log = us.read_log({"user": [1, 2], "item": [1, 2], "time": times})
    log.save(tmp_path / "log")
    loaded = us.Log.load(tmp_path / "log")
    assert (loaded.axis, loaded.first, loaded.last) == (log.axis, log.first, log.last)


def test_loading_copies_nothing_but_the_file(tmp_path: Path) -> None:
    n = 300_000
    random_ = np.random.default_rng(0)
    log = us.read_log({"user": np.arange(n) % 5000, "item": random_.integers(0, 3000, n), "time": np.arange(n)})
    log.save(tmp_path / "log.arrow")
    before = pa.total_allocated_bytes()
    loaded = us.Log.load(tmp_path / "log.arrow")
    assert pa.total_allocated_bytes() - before < 1.1 * (tmp_path / "log.arrow").stat().st_size
    for array in (loaded.start, loaded.item, loaded.time):
        assert not array.flags.owndata
        assert not array.flags.writeable
    assert loaded.at(n - 1).marginal().to_dict() == log.at(n - 1).marginal().to_dict()


def test_a_saved_log_can_be_saved_over_itself(tmp_path: Path) -> None:
    path = tmp_path / "log.arrow"
    full().save(path)
    loaded = us.Log.load(path)
    loaded.save(path)
    assert_same(loaded, us.Log.load(path))


def test_the_file_holds_no_pickle_and_plain_text_about_it(tmp_path: Path) -> None:
    full().save(tmp_path / "log.arrow")
    with pa.memory_map(str(tmp_path / "log.arrow")) as mapped:
        schema = pa.ipc.open_file(mapped).schema
    about = json.loads(schema.metadata[b"unskew.log"])
    assert about["columns"] == {"user": "user", "item": "item", "time": "time"}
    assert not any(isinstance(field.type, pa.ExtensionType) for field in schema)


def test_options_that_a_saved_log_has_settled_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "log.arrow"
    full().save(path)
    with pytest.raises(InputError, match="leave out user, time_unit"):
        us.read_log(path, user="member", time_unit="s")
    with pytest.raises(ColumnError, match="no column 'price' was read with the log"):
        us.read_log(path, columns=["price"])
    assert list(us.read_log(path, columns=["stars"]).extra) == ["stars"]


@pytest.mark.parametrize("kept", [0.0, 0.1, 0.5, 0.95, 0.999])
def test_half_a_saved_log_is_refused_by_its_name(kept: float, tmp_path: Path) -> None:
    full().save(tmp_path / "whole")
    content = (tmp_path / "whole").read_bytes()
    (tmp_path / "half").write_bytes(content[: int(len(content) * kept)])
    with pytest.raises(FileError, match="half is not a saved log"):
        us.Log.load(tmp_path / "half")


@pytest.mark.parametrize("what", ["missing", "folder", "other.arrow", "text"])
def test_what_is_no_saved_log_is_refused_by_its_name(what: str, tmp_path: Path) -> None:
    path = tmp_path / what
    if what == "folder":
        path.mkdir()
    elif what == "text":
        path.write_text("user,item,time\n")
    elif what == "other.arrow":
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, pa.table({"a": [1]}).schema) as writer:
            writer.write_table(pa.table({"a": [1]}))
    assert not is_saved_log(path)
    with pytest.raises(FileError, match=what):
        us.Log.load(path)


def test_a_log_of_another_version_asks_to_be_saved_again(tmp_path: Path) -> None:
    table = pa.table({"users": [1]}).replace_schema_metadata({b"unskew.log": b'{"format": 999}'})
    with pa.OSFile(str(tmp_path / "log"), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    with pytest.raises(FileError, match="log was written by a newer version of unskew: update unskew"):
        us.Log.load(tmp_path / "log")


def test_a_save_that_fails_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "log.arrow"
    full().save(path)
    old = path.read_bytes()

    def full_disk(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full_disk)
    with pytest.raises(FileError, match=r"cannot write .*log\.arrow: No space left"):
        us.read_log({"user": [1], "item": [1], "time": [1]}).save(path)
    assert path.read_bytes() == old
    assert [p.name for p in tmp_path.iterdir()] == ["log.arrow"]
