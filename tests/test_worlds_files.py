"""A world and its folder: nothing is lost on the way, and nothing of others; the same bits every time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import unskew as us
from tests.worlds import small
from unskew.errors import FileError, InputError, UnskewError
from unskew.worlds import world as files
from unskew.worlds.recipe import Loop, Recipe

TABLES = ("log", "exposures", "truth", "holdout")
NAMES = {*(f"{name}.parquet" for name in TABLES), "world.json"}
LOOPING = Recipe(users=60, items=60, topics=3, loop=Loop(("list:a", "popular"), rounds=2))

BITS = """
import hashlib, unskew as us
from unskew.worlds.recipe import Loop, Recipe
looping = Recipe(users=300, items=100, topics=5, loop=Loop(("list:a", "popular"), rounds=2))
base = us.simulate("quiet", users=400, items=100, seed=2).tables["truth"]
told = hashlib.sha256()
for world in (us.simulate(users=1500, items=300, seed=1), us.simulate(looping), us.simulate(base=base)):
    for table in (world.tables["log"], world.tables["truth"], world.exposures, world.rounds):
        for column in [] if table is None else table.columns:
            told.update(repr(column.to_pylist()).encode())
print(told.hexdigest())
"""


@pytest.fixture(scope="module")
def looping() -> us.worlds.World:
    """A world with rounds."""
    return us.simulate(LOOPING)


def assert_same(one: us.worlds.World, other: us.worlds.World) -> None:
    for name in TABLES:
        assert one.tables[name].equals(other.tables[name], check_metadata=True)
    assert one.about == other.about
    assert (one.rounds is None) == (other.rounds is None)
    if one.rounds is not None:
        assert one.rounds.equals(other.rounds, check_metadata=True)


@pytest.mark.parametrize("world", ["paper", "quiet", LOOPING], ids=["paper", "quiet", "loop"])
def test_a_world_is_loaded_as_it_was_saved(world: str | Recipe, tmp_path: Path) -> None:
    made = us.simulate(world, users=80, items=70, seed=3, holdout=0.2)
    folder = tmp_path / "deep" / "down"
    written = made.save(folder)
    extra = {"rounds.parquet"} if made.rounds is not None else set()
    assert {path.name for path in written} == {path.name for path in folder.iterdir()} == NAMES | extra
    assert_same(us.worlds.World.load(folder), made)


def test_world_json_tells_how_the_world_was_made(tmp_path: Path) -> None:
    us.simulate("growth", users=70, items=50, seed=9).save(tmp_path)
    told = json.loads((tmp_path / "world.json").read_text())
    assert (told["world"], told["seed"], told["version"]) == ("growth", 9, us.__version__)
    assert told["parameters"].keys() == Recipe().to_dict().keys()
    assert (told["parameters"]["users"], told["parameters"]["late"]) == (70, 0.5)


def test_the_logs_of_a_world_are_read_when_they_are_first_asked_for_and_only_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made, asked = us.simulate(users=80, items=70, seed=3), []

    def reading(table: pa.Table, *columns: str, **how: object) -> us.Log:
        asked.append(how["exposed"])
        return us.read_log(table, *columns, **how)  # type: ignore[arg-type]

    monkeypatch.setattr("unskew.worlds.world.read_log", reading)
    assert "interactions" in repr(made)
    assert made.campaigns == [330, 430]
    assert asked == []
    assert made.log is made.log
    assert made.truth is made.truth
    assert asked == ["exposed", None]


def test_the_logs_of_a_world_are_its_tables(looping: us.worlds.World, tmp_path: Path) -> None:
    looping.save(tmp_path)
    for world in (looping, us.worlds.World.load(tmp_path)):
        for log, table in ((world.log, world.tables["log"]), (world.truth, world.tables["truth"])):
            assert isinstance(log, us.Log)
            now = log.at(log.last)
            found = sorted((user, item) for user in log.users for item in now.profile(user))
            assert found == sorted(zip(table["user"].to_pylist(), table["item"].to_pylist(), strict=True))
        assert len(us.views.organic(world.log)) == world.tables["log"]["exposed"].to_pylist().count(False)


def test_files_of_a_world_are_read_by_the_other_commands(tmp_path: Path) -> None:
    made = small()
    made.save(tmp_path)
    assert len(us.read_log(tmp_path / "log.parquet", exposed="exposed")) == len(made.tables["log"])
    assert len(us.read_log(str(tmp_path / "truth.parquet"))) == len(made.tables["truth"])


def test_a_second_world_replaces_the_first_and_its_rounds(looping: us.worlds.World, tmp_path: Path) -> None:
    looping.save(tmp_path)
    (tmp_path / "notes.txt").write_text("mine")
    second = small()
    second.save(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == NAMES | {"notes.txt"}
    assert_same(us.worlds.World.load(tmp_path), second)


@pytest.mark.parametrize("name", [*TABLES, "rounds"])
@pytest.mark.parametrize("beside", [False, True], ids=["alone", "beside a world"])
def test_a_file_of_somebody_else_is_not_overwritten(
    name: str, beside: bool, looping: us.worlds.World, tmp_path: Path
) -> None:
    if beside:
        small().save(tmp_path)
    path = tmp_path / f"{name}.parquet"
    pq.write_table(pa.table({"mine": [1, 2, 3]}), path)
    before = {p.name: p.read_bytes() for p in tmp_path.iterdir()}
    with pytest.raises(FileError, match=path.name):
        looping.save(tmp_path)
    with pytest.raises(FileError, match="not of a simulated world"):
        files.check_folder(tmp_path)
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == before


@pytest.mark.parametrize("content", ["{}", "not json", '["world"]', '{"world": 1, "seed": 1, "parameters": 1}'])
def test_a_world_json_of_somebody_else_is_not_overwritten(content: str, tmp_path: Path) -> None:
    (tmp_path / "world.json").write_text(content)
    with pytest.raises(UnskewError, match=r"world\.json"):
        small().save(tmp_path)
    assert [path.read_text() for path in tmp_path.iterdir()] == [content]


def test_a_folder_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    for folder in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(FileError, match="is a file"):
            small().save(folder)
    assert (tmp_path / "file").read_text() == "mine"


def test_to_check_a_folder_does_not_make_it(tmp_path: Path) -> None:
    files.check_folder(tmp_path / "new" / "deep")
    assert list(tmp_path.iterdir()) == []


def test_a_save_that_fails_leaves_the_old_world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = small()
    first.save(tmp_path)

    def full(path: Path, table: pa.Table, kind: str, about: dict[str, object]) -> None:
        if kind == "world holdout":
            raise OSError(28, "No space left on device")
        pq.write_table(table, path)

    with monkeypatch.context() as patch:
        patch.setattr(files, "write_parquet", full)
        with pytest.raises(FileError, match="No space left"):
            small(seed=9).save(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == NAMES
    assert_same(us.worlds.World.load(tmp_path), first)


def test_a_world_that_names_a_recommender_of_somebody_else_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    small().save("world")
    told = json.loads(Path("world/world.json").read_text())
    told["parameters"]["campaigns"][1]["recommender"] = "subprocess:Popen?args=touch created"
    Path("world/world.json").write_text(json.dumps(told))
    with pytest.raises(InputError, match=r"world\.json: .*'subprocess:Popen.*' is not one"):
        us.worlds.World.load("world")
    assert [path.name for path in tmp_path.iterdir()] == ["world"]
    small().save("world")  # it can be replaced
    us.worlds.World.load("world")


def test_an_injected_world_has_no_recipe() -> None:
    injected = us.simulate(base=small().truth)
    with pytest.raises(InputError, match="injected into the table"):
        _ = injected.recipe


def test_what_is_missing_or_broken_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"world\.json"):
        us.worlds.World.load(tmp_path / "nowhere")
    small().save(tmp_path)
    (tmp_path / "truth.parquet").write_bytes(b"PAR1 no")
    with pytest.raises(FileError, match=r"truth\.parquet"):
        us.worlds.World.load(tmp_path)
    (tmp_path / "truth.parquet").unlink()
    with pytest.raises(FileError, match=r"truth\.parquet"):
        us.worlds.World.load(tmp_path)


def test_an_entry_of_world_json_that_no_world_has_is_refused(tmp_path: Path) -> None:
    small().save(tmp_path)
    path = tmp_path / "world.json"
    path.write_text(path.read_text().replace('"checksums"', '"checksumTs"'))  # so that nothing would be verified
    with pytest.raises(InputError, match=r"world\.json: it has 'checksumTs', which no world has"):
        us.worlds.World.load(tmp_path)


def test_the_same_bits_whatever_the_number_of_threads() -> None:
    told = {
        subprocess.run(
            [sys.executable, "-c", BITS],
            env={**os.environ, "UNSKEW_THREADS": threads, "OPENBLAS_NUM_THREADS": threads},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for threads in ("1", "2")
    }
    assert len(told) == 1
    assert len(told.pop().strip()) == 64
