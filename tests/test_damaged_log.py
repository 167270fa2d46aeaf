"""A saved log with a changed byte: refused, or the same log in spite of it; never another or a crash."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import unskew as us
from unskew.errors import FileError

ROWS = {"user": ["ann", "ann", "bob", "bob", "cid"], "item": [7, 8, 7, 9, 9]}
FLIPS = """
import json, sys, warnings
import unskew as us

def content(log):
    arrays = (log.start, log.item, log.time, log.removed)
    return repr((log.users, log.items, log.axis, log.view, [a if a is None else a.tobytes() for a in arrays]))

warnings.simplefilter("ignore")
whole, path = open(sys.argv[1], "rb").read(), sys.argv[2]
with open(path, "wb") as file:
    file.write(whole)
original = content(us.Log.load(path))
found = {"refused": 0, "same": 0, "other": [], "unexpected": []}
for place in range(len(whole)):
    for change in (0x01, 0x80):
        damaged = bytearray(whole)
        damaged[place] ^= change
        with open(path, "wb") as file:
            file.write(damaged)
        try:
            log = us.Log.load(path)
            if content(log) == original:  # a byte that nothing depends on
                found["same"] += 1
            else:
                found["other"].append([place, change])
        except (us.UnskewError, OSError):
            found["refused"] += 1
        except Exception as error:
            found["unexpected"].append([place, change, repr(error)])
print(json.dumps(found))
"""


def plain() -> us.Log:
    return us.read_log({**ROWS, "time": [1, 2, 1, 3, 3]})


def dated() -> us.Log:
    """Of the calendar, with an item that left its profile."""
    times, gone = [datetime(2024, 1, day) for day in (1, 2, 1, 3, 3)], [datetime(2024, 1, 2), *[None] * 4]
    return us.read_log({**ROWS, "time": times, "gone": gone}, removed="gone")


def damage(path: Path, array: np.ndarray[Any, Any], place: int, value: int) -> None:
    """Change one number of an array of the saved log, where it is in the file."""
    content, changed = path.read_bytes(), array.copy()
    changed[place] = value
    assert content.count(array.tobytes()) == 1
    path.write_bytes(content.replace(array.tobytes(), changed.tobytes()))


def save_wrong(log: us.Log, path: Path, name: str, place: int, value: int) -> None:
    """Save a log of which one number is wrong, with checksums that fit: only its content tells."""
    changed = getattr(log, name).copy()
    changed[place] = value
    replace(log, **{name: changed}).save(path)


@pytest.mark.parametrize("make", [plain, dated])
def test_no_changed_byte_ends_the_process_or_raises_what_is_not_ours(
    make: Callable[[], us.Log], tmp_path: Path
) -> None:
    make().save(tmp_path / "log.arrow")
    done = subprocess.run(
        [sys.executable, "-c", FLIPS, str(tmp_path / "log.arrow"), str(tmp_path / "damaged.arrow")],
        capture_output=True,
        check=False,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["unexpected"], found["other"]) == ([], [])
    assert found["refused"] > 500


@pytest.mark.parametrize(
    ("name", "place", "value", "message"),
    [
        ("start", 0, 1, "the offsets of users do not fit"),
        ("start", 1, 2**32 - 1, "the offsets of users do not fit"),
        ("start", 2, 1, "the offsets of users do not fit"),
        ("start", -1, 6, "the offsets of users do not fit"),
        ("start", -1, 2**31, "the offsets of users do not fit"),
        ("item", 2, 3, "an item code is beyond the number of items"),
        ("item", -1, 2**32 - 1, "an item code is beyond the number of items"),
    ],
)
def test_an_offset_or_a_code_beyond_its_range_is_refused_by_the_name_of_the_file(
    name: str, place: int, value: int, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "log.arrow"
    save_wrong(plain(), path, name, place, value)
    for load in (us.Log.load, us.read_log):
        with pytest.raises(FileError, match=rf"log\.arrow is damaged \({message}\): save the log again"):
            load(path)


def test_a_user_who_holds_an_item_twice_is_refused(tmp_path: Path) -> None:
    """Loops have room for each item once in a profile."""
    path = tmp_path / "log.arrow"
    log = plain()
    save_wrong(log, path, "item", 1, int(log.item[0]))
    with pytest.raises(FileError, match="a user holds an item twice"):
        us.Log.load(path)


def test_an_item_may_come_back_after_it_has_left_and_not_before(tmp_path: Path) -> None:
    path = tmp_path / "log.arrow"
    table = {"user": ["ann", "ann", "ann"], "item": [1, 2, 1], "time": [10, 11, 20], "gone": [15, None, None]}
    log = us.read_log(table, removed="gone")
    log.save(path)
    assert us.Log.load(path).at(20).profile("ann") == log.at(20).profile("ann") == [2, 1]
    assert log.removed is not None
    save_wrong(log, path, "removed", 0, 20)
    assert us.Log.load(path).at(20).profile("ann") == [2, 1]
    save_wrong(log, path, "removed", 0, 21)
    with pytest.raises(FileError, match="a user holds an item twice"):
        us.Log.load(path)


@pytest.mark.parametrize(("old", "new"), [(b'"kind": "datetime"', b'"kind": "dateline"'), (b'"us"', b'"xs"')])
def test_times_of_an_unknown_kind_or_unit_are_refused(old: bytes, new: bytes, tmp_path: Path) -> None:
    path = tmp_path / "log.arrow"
    dated().save(path)
    content = path.read_bytes()
    assert old in content
    path.write_bytes(content.replace(old, new))
    with pytest.raises(FileError, match=r"log\.arrow is damaged"):
        us.Log.load(path)


def test_times_beyond_the_calendar_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "log.arrow"
    save_wrong(dated(), path, "time", -1, 2**62)
    with pytest.raises(FileError, match=r"log\.arrow is damaged"):
        us.Log.load(path)


@pytest.mark.parametrize("name", ["start", "item", "time"])
def test_a_low_bit_of_an_array_is_told_by_its_checksum(name: str, tmp_path: Path) -> None:
    path = tmp_path / "log.arrow"
    log = plain()
    log.save(path)
    array = getattr(log, name)
    damage(path, array, 1, int(array[1]) ^ 1)
    with pytest.raises(FileError, match=rf"log\.arrow is damaged \(the checksum of {name} does not fit\)"):
        us.Log.load(path)


def test_times_of_a_user_that_are_not_in_order_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "log.arrow"
    save_wrong(plain(), path, "time", 0, 9)
    with pytest.raises(FileError, match="the times of a user are not in order"):
        us.Log.load(path)


def test_a_log_that_is_cut_short_while_it_is_open_stays_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "log.arrow"
    log = plain()
    log.save(path)
    loaded = us.Log.load(path)
    os.truncate(path, 100)
    assert loaded.at(3).marginal().to_dict() == log.at(3).marginal().to_dict()


def test_a_log_saved_by_an_older_version_is_refused_with_what_to_do() -> None:
    with pytest.raises(FileError, match="was written by an older version of unskew: save the log again"):
        us.Log.load(Path(__file__).parent / "old_files" / "log-format-1.arrow")


def test_a_saved_log_whose_batch_is_broken_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "log.arrow"
    plain().save(path)
    whole = path.read_bytes()
    with pa.OSFile(str(path)) as file:
        schema = pa.ipc.open_file(file).schema.serialize().size
    begin = whole.index(b"\xff\xff\xff\xff", 8 + schema - 16)  # of the message of the batch
    for broken in (b"\0" * 8, b"\xff\xff\xff\xff\xff\xff\xff\x7f", b"\xff\xff\xff\xff\x08\0\0\0"):
        path.write_bytes(whole[:begin] + broken + whole[begin + 8 :])
        with pytest.raises(FileError, match=r"log\.arrow (cannot be read|is damaged)"):
            us.Log.load(path)


def test_a_saved_log_without_a_batch_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "log.arrow"
    plain().save(path)
    with pa.OSFile(str(path)) as file:
        schema = pa.ipc.open_file(file).schema
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, schema):
        pass
    with pytest.raises(FileError, match=r"log\.arrow cannot be read"):
        us.Log.load(path)


def test_a_marginal_and_weights_of_an_older_format_are_refused_with_what_to_do() -> None:
    folder = Path(__file__).parent / "old_files"
    with pytest.raises(FileError, match=r"older version of unskew: make one with fit_weights"):
        us.ItemWeights.load(folder / "weights-format-2.parquet")
    with pytest.raises(FileError, match=r"older version of unskew: make one with Snapshot.marginal"):
        us.Marginal.load(folder / "marginal-format-2.parquet")
