"""Files that are written whole or not at all, and those that cannot be read or written."""

from __future__ import annotations

import csv
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from unskew.errors import FileError
from unskew.storage.files import check_readable, check_writable, replace_file, sweep
from unskew.storage.tables import read_parquet, require_entries, write_parquet, write_table


def names(folder: Path) -> list[str]:
    """What is in a folder, hidden files too."""
    return sorted(path.name for path in folder.iterdir())


def fail_halfway(path: Path, error: BaseException) -> None:
    """A write that stops in the middle."""
    with replace_file(path) as temporary:
        temporary.write_text("half of the n")
        raise error


def test_a_file_appears_only_when_it_is_whole(tmp_path: Path) -> None:
    with replace_file(tmp_path / "out") as temporary:
        temporary.write_text("new")
        assert not (tmp_path / "out").exists()
    assert (tmp_path / "out").read_text() == "new"
    assert names(tmp_path) == ["out"]


@pytest.mark.parametrize("error", [RuntimeError(), KeyboardInterrupt(), OSError(28, "No space left on device")])
def test_a_failure_leaves_the_old_file_and_no_temporary_one(error: BaseException, tmp_path: Path) -> None:
    (tmp_path / "out").write_text("old")
    with pytest.raises(FileError if isinstance(error, OSError) else type(error)):
        fail_halfway(tmp_path / "out", error)
    assert (tmp_path / "out").read_text() == "old"
    assert names(tmp_path) == ["out"]


def test_a_link_stays_a_link_to_the_new_content(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with replace_file(tmp_path / "link") as temporary:
        temporary.write_text("new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"


def test_two_writers_do_not_share_a_temporary_file(tmp_path: Path) -> None:
    with replace_file(tmp_path / "out") as one, replace_file(tmp_path / "out") as two:
        assert one != two
        one.write_text("1")
        two.write_text("2")
    assert names(tmp_path) == ["out"]


def test_a_folder_a_missing_folder_and_a_pipe_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="it is a folder"):
        check_writable(tmp_path)
    with pytest.raises(FileError, match="nowhere does not exist"):
        check_writable(tmp_path / "nowhere" / "out")
    with pytest.raises(FileError, match="File name too long"):
        check_writable(tmp_path / ("x" * 300))
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(FileError, match="not an ordinary file"):
        check_writable(tmp_path / "pipe")


def test_what_may_not_be_written_or_read_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "out").write_text("old")
    monkeypatch.setattr(os, "access", lambda *_: False)  # the user of the tests may be allowed everything
    with pytest.raises(FileError, match=r"cannot write .*out: permission denied"):
        check_writable(tmp_path / "out")
    with pytest.raises(FileError, match=r"cannot read .*out: permission denied"):
        check_readable(tmp_path / "out")


def test_parquet_comes_back_with_what_was_told_about_it(tmp_path: Path) -> None:
    table = pa.table({"item": ["x", "ü"], "n": [1.5, 2.5]})
    write_parquet(tmp_path / "a.parquet", table, "things", {"at": "2013-06-01", "deep": {"n": 1}})
    back, about = read_parquet(tmp_path / "a.parquet")
    assert back.to_pydict() == table.to_pydict()
    assert about == {"kind": "things", "format": 4, "at": "2013-06-01", "deep": {"n": 1}}


def test_parquet_of_others_has_nothing_told_about_it(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1]}), tmp_path / "a.parquet")
    assert read_parquet(tmp_path / "a.parquet")[1] == {}


@pytest.mark.parametrize("content", [b"", b"PAR1", b"not Parquet at all"])
def test_a_file_that_is_no_parquet_is_refused_in_one_line(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_bytes(content)
    with pytest.raises(FileError, match=r"a\.parquet is not a Parquet file") as said:
        read_parquet(tmp_path / "a.parquet")
    assert "\n" not in str(said.value)


def test_a_folder_and_a_missing_file_are_refused(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="is a folder"):
        read_parquet(tmp_path)
    with pytest.raises(FileError, match="there is no file"):
        read_parquet(tmp_path / "missing.parquet")


def test_damaged_words_about_a_file_are_an_error(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1]}).replace_schema_metadata({b"unskew": b"{half"}), tmp_path / "a.parquet")
    with pytest.raises(FileError, match="damaged"):
        read_parquet(tmp_path / "a.parquet")


def test_a_file_that_lacks_what_belongs_to_it_is_damaged(tmp_path: Path) -> None:
    require_entries(tmp_path / "a", {"at": None, "report": {}}, ["at", "report"], "make it again")
    with pytest.raises(FileError, match=r"a is damaged \(it has no report\): make it again"):
        require_entries(tmp_path / "a", {"at": None}, ["at", "report"], "make it again")


def test_a_table_is_csv_if_the_name_says_so(tmp_path: Path) -> None:
    lists = [["a", "b, c"], [], ['"', "é"]]
    table = pa.table(
        {"item": ["x", "y, z", 'q"'], "weight": [0.1, 1 / 3, 1e-300], "top": [5, None, 7], "held": lists}
    )
    write_table(tmp_path / "t.CSV", table, "sample", {})
    with (tmp_path / "t.CSV").open(encoding="utf-8", newline="") as file:
        head, *rows = csv.reader(file)
    assert head == ["item", "weight", "top", "held"]
    assert [row[0] for row in rows] == ["x", "y, z", 'q"']
    assert [float(row[1]) for row in rows] == [0.1, 1 / 3, 1e-300]
    assert [row[2] for row in rows] == ["5", "", "7"]
    assert [json.loads(row[3]) for row in rows] == lists
    with pytest.raises(
        FileError, match=r"t.CSV is CSV, which has no room for how a table was made: write a Parquet file"
    ):
        read_parquet(tmp_path / "t.CSV")


@pytest.mark.parametrize(
    "change",
    [
        lambda table: table.slice(0, 1),
        lambda table: pa.concat_tables([table, table]),
        lambda table: table.set_column(1, "n", pa.array([1.5, 2.25])),
        lambda table: table.set_column(1, "n", pa.array([1, 2])),
        lambda table: table.set_column(0, "item", pa.array(["x", None])),
        lambda table: table.rename_columns(["item", "m"]),
        lambda table: table.select(["n", "item"]),
        lambda table: table.replace_schema_metadata(
            {**table.schema.metadata, b"unskew": table.schema.metadata[b"unskew"].replace(b"2013", b"2014")}
        ),
        lambda table: table.replace_schema_metadata(
            {key: value for key, value in table.schema.metadata.items() if key != b"unskew.checksum"}
        ),
    ],
)
def test_a_table_that_is_not_what_was_written_is_refused(change: Any, tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    write_parquet(path, pa.table({"item": ["x", "ü"], "n": [1.5, 2.5]}), "things", {"at": "2013-06-01"})
    table = pq.read_table(path)
    changed = change(table)
    metadata = changed.schema.metadata or table.schema.metadata
    pq.write_table(changed.replace_schema_metadata(metadata), path)
    with pytest.raises(FileError, match=r"a\.parquet is damaged \(it does not hold what unskew wrote\)"):
        read_parquet(path)


def test_a_table_is_known_again_however_it_was_packed(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    columns = {
        "item": pa.array(["x", "y", None]).dictionary_encode(),
        "n": pa.array([1, None, 3]),
        "profile": pa.array([[1, 2], [], None]),
        "at": pa.array([True, None, False]),
    }
    write_parquet(path, pa.table(columns), "things", {})
    for row_group_size, compression in ((1, "zstd"), (2, "none")):
        pq.write_table(pq.read_table(path), path, row_group_size=row_group_size, compression=compression)
        assert read_parquet(path)[0].to_pydict() == pa.table(columns).to_pydict()


def test_a_small_file_that_unpacks_to_gigabytes_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("unskew.storage.tables._MOST_BYTES", 2**20)
    pq.write_table(pa.table({"item": np.zeros(2_000_000)}), tmp_path / "a.parquet")
    assert (tmp_path / "a.parquet").stat().st_size < 2**17
    with pytest.raises(FileError, match="it unpacks to more than"):
        read_parquet(tmp_path / "a.parquet")


def test_a_file_that_is_replaced_keeps_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    write_parquet(path, pa.table({"a": [1]}), "things", {})
    path.chmod(0o640)
    write_parquet(path, pa.table({"a": [2]}), "things", {})
    assert path.stat().st_mode & 0o777 == 0o640


_HOLDS = """
import sys
from pathlib import Path
from unskew.storage.files import replace_file
with replace_file(Path(sys.argv[1])) as temporary:
    temporary.write_text("new")
    print(temporary.name, flush=True)
    sys.stdin.read()
"""


@pytest.mark.parametrize(
    "namespace", [[], ["unshare", "--pid", "--fork", "--kill-child"]], ids=["here", "container"]
)
def test_what_a_killed_run_left_is_removed_by_the_next_and_what_a_live_one_has_is_not(
    tmp_path: Path, namespace: list[str]
) -> None:
    if namespace and (not shutil.which("unshare") or subprocess.run([*namespace, "true"], check=False).returncode):
        pytest.skip("no namespaces of processes here")
    target = tmp_path / "a.parquet"
    command = [sys.executable, "-c", _HOLDS, str(target)]
    if namespace:  # where the run has a number that no process has here
        number = next(n for n in range(20_000, 30_000) if not Path(f"/proc/{n}").exists())
        shell = f'echo {number - 1} > /proc/sys/kernel/ns_last_pid; "$@"; true'
        command = [*namespace, "sh", "-c", shell, "sh", *command]
    run = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert run.stdout is not None
        held = run.stdout.readline().strip()
        (tmp_path / ".a.parquet.notes.tmp").write_text("of somebody else")
        sweep(target)
        assert names(tmp_path) == sorted([held, ".a.parquet.notes.tmp"])
    finally:
        run.kill()
        run.communicate()
    if namespace:
        return  # its child may live a moment longer
    sweep(target)
    assert names(tmp_path) == [".a.parquet.notes.tmp"]


@pytest.mark.skipif(os.name == "nt", reason="modes of POSIX")
def test_a_temporary_file_is_as_private_as_the_file_that_it_replaces(tmp_path: Path) -> None:
    target = tmp_path / "a.parquet"
    target.write_text("old")
    target.chmod(0o600)
    with replace_file(target) as temporary:
        temporary.write_text("new")
        assert temporary.stat().st_mode & 0o777 == 0o600
    assert (target.read_text(), target.stat().st_mode & 0o777) == ("new", 0o600)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can make links of others")
@pytest.mark.parametrize("name", ["a.parquet", "folder/a.parquet"])
def test_a_link_of_another_user_is_not_written_through(tmp_path: Path, name: str) -> None:
    (tmp_path / "elsewhere" / "folder").mkdir(parents=True)
    (tmp_path / "elsewhere" / "a.parquet").write_text("old")
    link = tmp_path / Path(name).parts[0]
    link.symlink_to(tmp_path / "elsewhere" / link.name)
    check_writable(tmp_path / name)
    os.lchown(link, 12345, 12345)
    with pytest.raises(FileError, match="is a link of another user"):
        check_writable(tmp_path / name)
