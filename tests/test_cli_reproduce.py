"""``unskew reproduce`` as a user runs it, on a small network."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

import unskew as us
from unskew.cli import main
from unskew.reproduction.experiment import check_target

SMALL = ["--users", "500", "--items", "400", "--seeds", "1", "--every", "125"]


def _run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["reproduce", *arguments])


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Result]:
    folder = tmp_path_factory.mktemp("paper") / "new" / "folder"
    return folder, _run("-o", str(folder), "--seed", "2", *SMALL)


def test_it_ends_with_the_path_of_the_page(made: tuple[Path, Result]) -> None:
    folder, done = made
    assert done.exit_code == 0, done.stderr
    page = Path("".join(done.stdout[done.stdout.index("The page: ") :].split("\n")).removeprefix("The page: "))
    assert page == (folder / "index.html").resolve()
    assert page.exists()


def test_it_tells_its_steps_on_standard_error(made: tuple[Path, Result]) -> None:
    steps = re.findall(r"^\[(\d+)/(\d+)\]", made[1].stderr, flags=re.MULTILINE)
    assert [int(k) for k, _ in steps] == list(range(1, len(steps) + 1))
    assert {int(n) for _, n in steps} == {len(steps)}


def test_the_world_is_kept_and_gives_the_same_claims_and_figures_when_given_back(
    made: tuple[Path, Result], tmp_path: Path
) -> None:
    folder, _ = made
    assert us.worlds.World.load(folder / "world").about["seed"] == 2
    done = _run("-o", str(tmp_path), "--world", str(folder / "world"), *SMALL[4:], "--json")
    assert done.exit_code == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["claims"] == json.loads((folder / "claims.json").read_text())
    assert told["page"] == str((tmp_path / "index.html").resolve())
    tables = sorted(path.name for path in folder.glob("*.parquet"))
    assert len(tables) > 10
    for name in tables:
        one, other = (pq.read_table(place / name) for place in (folder, tmp_path))
        measured = ["seconds"] if "seconds" in one.column_names else []
        assert one.drop_columns(measured).equals(other.drop_columns(measured)), name


def test_claims_have_the_form_that_is_documented(made: tuple[Path, Result]) -> None:
    told = json.loads((made[0] / "claims.json").read_text())
    for name in ("g1", "g2"):
        assert set(told[name]) == {"raw", "top", "all"}
        assert {"5", "20", "100"} <= set(told[name]["top"])
        assert all(
            isinstance(x, float) for x in (told[name]["raw"], told[name]["all"], *told[name]["top"].values())
        )


def test_a_page_of_somebody_else_in_a_folder_of_ours_is_not_lost(
    made: tuple[Path, Result], tmp_path: Path
) -> None:
    folder = tmp_path / "paper"
    shutil.copytree(made[0], folder)
    check_target(folder)
    (folder / "index.html").write_text("mine")
    with pytest.raises(us.FileError, match=r"index\.html that is not of a reproduction"):
        check_target(folder)
    shutil.copy(made[0] / "index.html", folder / "index.html")
    (folder / "claims-by-seed.parquet").unlink()
    with pytest.raises(us.FileError, match=r"claims\.json that is not of a reproduction"):
        check_target(folder)


@pytest.mark.parametrize("seeds", ["1", "2"])
def test_a_world_cannot_name_a_program_to_run(seeds: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    us.simulate(users=100, items=60).save(tmp_path / "world")
    path = tmp_path / "world" / "world.json"
    told = json.loads(path.read_text())
    told["parameters"]["campaigns"][0]["recommender"] = "subprocess:Popen?args=touch created"
    path.write_text(json.dumps(told))
    done = _run("-o", "new", "--world", "world", "--seeds", seeds)
    assert done.exit_code == 2
    assert done.stderr.startswith("error: world/world.json: ")
    assert "'subprocess:Popen?args=touch created' is not one" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["world"]


def test_debug_shows_where_an_error_comes_from(tmp_path: Path) -> None:
    done = _run("-o", str(tmp_path / "new"), "--world", str(tmp_path / "nowhere"), "--debug")
    assert done.exit_code == 2
    assert "Traceback" in done.stderr
    assert done.stderr.splitlines()[-1].startswith("error: there is no file")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-o", "taken"], "taken is a file"),
        (["-o", "new", "--world", "nowhere"], "there is no file"),
        (["-o", "new", "--world", "nowhere", "--users", "10"], "leave out --users"),
        (["-o", "new", "--users", "0"], "users is 0"),
        (["-o", "new", "--users", "60", "--items", "12"], "give more users or items"),
        (["-o", "new", "--world", "quiet"], "in this one nothing was recommended"),
        (["-o", "new", "--world", "quiet", "--seed", "3"], "the world of --world has its own seed"),
        (["-o", "other"], "that is not of a simulated world"),
        (["-o", "site"], "site holds a file index.html that is not of a reproduction and would be lost"),
    ],
)
def test_bad_input_gets_one_line_and_code_2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "taken").write_text("mine")
    (tmp_path / "other" / "world").mkdir(parents=True)
    (tmp_path / "other" / "world" / "log.parquet").write_text("mine")
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "index.html").write_text("mine")
    us.simulate("quiet", users=100, items=50).save(tmp_path / "quiet")
    done = _run(*arguments)
    assert done.exit_code == 2, done.stderr
    assert not (tmp_path / "new").exists()
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("error: ")
    assert message in last
    assert (tmp_path / "taken").read_text() == (tmp_path / "site" / "index.html").read_text() == "mine"
    assert (tmp_path / "other" / "world" / "log.parquet").read_text() == "mine"
