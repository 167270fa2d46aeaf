"""The log that ships with unskew: the same as its recipe makes, found by name, and shaped as it is described."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from tools.make_example import FOLDER, TRUTH, add_dates, make_tables, make_world

import unskew as us
from unskew.cli import main


@pytest.fixture(scope="module")
def world() -> us.worlds.World:
    return make_world()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_files_are_what_the_recipe_makes_and_are_small(world: us.worlds.World) -> None:
    tables = make_tables(world)
    assert set(tables) == {"example", "example-exposures"}
    for name, table in tables.items():
        path = FOLDER / f"{name}.parquet"
        assert pq.read_table(path).equals(table)
        assert path.stat().st_size < 200_000


def test_every_way_to_name_it_gives_the_same_log(folder: Path) -> None:
    log = us.example_log()
    again = us.read_log("example", repeats=True)
    for name in ("start", "item", "time"):
        assert np.array_equal(getattr(log, name), getattr(again, name))
    assert (str(log.first), str(log.last), log.source) == ("2023-04-16", "2024-08-28", "example")
    drift = ["drift", "example", "--reference", "2024-02-29", "--json"]
    done = CliRunner().invoke(main, drift)
    assert json.loads(done.stdout)["drifted"] is us.drift(log.at("last"), log.at("2024-02-29")).drifted is True


def test_exposures_have_a_name_too(folder: Path) -> None:
    marked = us.reading.mark_exposed(us.example_log(), "example-exposures")
    exposed = marked.time[marked.exposed]
    assert str(marked.axis.show(exposed.min())) == "2024-03-01"
    assert 0.1 < len(exposed) / len(marked) < 0.3


def test_a_file_or_folder_of_that_name_is_read_instead(folder: Path) -> None:
    (folder / "example").write_text("user,item,time\n1,a,2020-01-01\n2,b,2020-01-02\n")
    assert len(us.read_log("example")) == 2
    assert len(us.example_log().users) == 4000
    (folder / "example").unlink()
    (folder / "example").mkdir()
    shutil.copy(FOLDER / "example-exposures.parquet", folder / "example" / "shown.parquet")
    assert str(us.read_log("example").first) == "2024-03-01"


def test_it_is_never_written_over(folder: Path) -> None:
    done = CliRunner().invoke(main, ["marginal", "example", "-o", str(FOLDER / "example.parquet")])
    assert done.exit_code == 2
    assert "is an input of this command and would be overwritten" in done.stderr


def test_the_truth_is_what_the_same_people_would_have_done(world: us.worlds.World) -> None:
    truth = us.read_log(add_dates(world.tables["truth"]))
    now = truth.at("2024-08-28")
    weights = us.fit_weights(now, reference=truth.at("2024-02-29"))
    scores = {model: us.evaluate(model, now, weights=weights).value for model in ("popular", *TRUTH)}
    for model, difference in TRUTH.items():
        assert scores[model] - scores["popular"] == pytest.approx(difference, abs=5e-5)
