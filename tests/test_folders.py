"""Folders are replaced as a whole: whatever kills the run, and whoever else writes there."""

from __future__ import annotations

import multiprocessing
import os
import stat
from pathlib import Path

import pytest
from click.testing import CliRunner

import unskew as us
from tests.killing import kill_at_each_step
from tests.worlds import small
from unskew.cli import main
from unskew.errors import FileError
from unskew.storage import folders
from unskew.storage.folders import check_folder_writable, replace_folder
from unskew.worlds.world import own_names

pytestmark = pytest.mark.usefixtures("no_waiting")

OWN = {"index.html", "old.txt", "a.txt", "world", "world/log.txt"}


@pytest.fixture
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk need not be waited for where a process is killed and not the machine."""
    monkeypatch.setattr(os, "fsync", lambda handle: None)


def _write(folder: Path, text: str, *more: str) -> None:
    with replace_folder(folder, owns=OWN.__contains__, last=["index.html"]) as new:
        (new / "world").mkdir()
        for name in ("a.txt", "world/log.txt", "index.html", *more):
            (new / name).write_text(text)


def _read(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


FOREIGN = {"notes.txt": "mine", "world/notes.txt": "mine", "deep/er/x": "mine"}


def _add_foreign(folder: Path) -> None:
    for name, text in FOREIGN.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def _content(text: str, *more: str) -> dict[str, str]:
    return dict.fromkeys(("a.txt", "world/log.txt", "index.html", *more), text)


@pytest.mark.parametrize("way", ["beside", "inside", "no exchange"])
def test_what_is_ours_is_replaced_and_what_is_not_stays(
    way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "out"
    _write(folder, "old", "old.txt")
    _add_foreign(folder)
    (folder / "link").symlink_to("nowhere")
    (folder / "a.txt").chmod(0o640)
    folder.chmod(0o750)
    if way == "inside":
        monkeypatch.chdir(folder)
    if way == "no exchange":
        monkeypatch.setattr(folders, "exchange", lambda one, other: False)
    _write(Path() if way == "inside" else folder, "new")
    assert _read(folder) == _content("new") | FOREIGN
    assert (folder / "link").readlink() == Path("nowhere")
    assert [stat.S_IMODE(path.stat().st_mode) for path in (folder, folder / "a.txt")] == [0o750, 0o640]
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert not list(folder.rglob("*.tmp"))


def test_a_kill_at_any_step_leaves_all_of_the_old_or_all_of_the_new(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    _write(folder, "old", "old.txt")
    _add_foreign(folder)
    seen = []
    for _ in kill_at_each_step(lambda: _write(folder, "new")):
        found = _read(folder)
        seen.append(found == _content("new") | FOREIGN)
        assert seen[-1] or found == _content("old", "old.txt") | FOREIGN
        if seen[-1]:
            _write(folder, "old", "old.txt")
    assert len(seen) > 20
    assert any(seen), "a kill after the exchange is among them"
    assert not all(seen)
    assert [path.name for path in tmp_path.iterdir()] == ["out"], "what killed runs left is removed by the next"


def test_a_kill_where_a_folder_has_to_stay_leaves_nothing_that_is_taken_for_a_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _write(tmp_path, "old")
    monkeypatch.chdir(tmp_path)
    for _ in kill_at_each_step(lambda: _write(Path(), "new")):
        found = _read(tmp_path)
        found = {name: text for name, text in found.items() if ".tmp" not in name}
        assert "index.html" not in found or found in (_content("old"), _content("new"))
        _write(Path(), "old")
    assert not list(tmp_path.glob(".*"))


def test_a_kill_at_any_step_leaves_one_whole_world(tmp_path: Path) -> None:
    old, new = small(), small(seed=9)
    folder = tmp_path / "world"
    old.save(folder)
    for _ in kill_at_each_step(lambda: new.save(folder)):
        found = us.worlds.World.load(folder)
        kept = new if found.about == new.about else old
        assert found.about == kept.about
        assert all(found.tables[name].equals(kept.tables[name]) for name in kept.tables)
        if kept is new:
            old.save(folder)
    assert us.worlds.World.load(folder).about == new.about
    assert {path.name for path in folder.iterdir()} <= own_names()
    assert [path.name for path in tmp_path.iterdir()] == ["world"]


def _write_often(folder: Path, text: str) -> None:
    for _ in range(40):
        _write(folder, text)


def test_two_processes_on_one_folder_leave_one_of_both(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    fork = multiprocessing.get_context("fork")
    writers = [fork.Process(target=_write_often, args=(folder, text)) for text in ("one", "two")]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
        assert writer.exitcode == 0
    assert _read(folder) in (_content("one"), _content("two"))
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_failure_leaves_the_old_folder_and_nothing_beside_it(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    _write(folder, "old")

    def fail() -> None:
        with replace_folder(folder, owns=OWN.__contains__, last=["index.html"]) as new:
            (new / "a.txt").write_text("new")
            raise OSError(28, "No space left on device")

    with pytest.raises(FileError, match=r"cannot write to .*out: No space left on device"):
        fail()
    assert _read(folder) == _content("old")
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_links_that_lead_nowhere_or_to_themselves_and_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "gone").symlink_to("nowhere")
    (tmp_path / "file").write_text("mine")
    for name, message in (
        ("loop", "a link that leads to itself"),
        ("loop/deep", "a link that leads to itself"),
        ("gone", "a link to nothing"),
        ("file", "is a file"),
        ("file/deep", "is a file"),
        ("x" * 300, "name too long"),
    ):
        with pytest.raises(FileError, match=f"(?i){message}"):
            check_folder_writable(tmp_path / name)


@pytest.mark.parametrize("command", ["simulate /", "simulate /tmp/..", "reproduce -o /", "yardstick quiet -o /"])
def test_the_root_of_the_disk_is_no_folder_to_replace(command: str) -> None:
    done = CliRunner().invoke(main, [*command.split(), "--users", "60", "--items", "30"])
    assert done.exit_code == 2
    assert done.output.endswith("error: cannot write to /: it is the root of the disk: name a folder in it\n")


def test_a_folder_that_is_a_link_stays_one(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    _write(tmp_path / "link", "new")
    assert (tmp_path / "link").readlink() == Path("real")
    assert _read(tmp_path / "real") == _content("new")
