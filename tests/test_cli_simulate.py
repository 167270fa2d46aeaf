"""``unskew simulate`` as a user meets it: files, JSON, tables, refusals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import unskew as us
from tests.test_cli import answer, refused, run, table
from tests.worlds import check_history

SIZE = ("--users", "200", "--items", "100")
TOLD = {
    "world", "seed", "users", "items", "interactions", "per_user", "truth_interactions", "exposures", "campaigns",
    "holdout_users", "files",
}  # fmt: skip


@pytest.fixture
def base(tmp_path: Path) -> str:
    """A log of its own: who took what on days 0 to 99."""
    path = tmp_path / "base.parquet"
    pq.write_table(table(), path)
    return str(path)


def test_json_is_one_object_and_the_files_are_what_it_tells(tmp_path: Path) -> None:
    folder = tmp_path / "world"
    told = answer("simulate", str(folder), *SIZE, "--seed", "4", "--holdout", "0.2")
    assert set(told) == TOLD
    world = us.worlds.World.load(folder)
    check_history(world)
    assert (told["world"], told["seed"], told["users"]) == ("paper", 4, 200)
    assert told["interactions"] == len(world.tables["log"])
    assert told["truth_interactions"] == len(world.tables["truth"])
    assert told["exposures"] == len(world.exposures)
    assert told["holdout_users"] == len(world.holdout) > 0
    assert told["per_user"] == pytest.approx(len(world.tables["log"]) / 200)
    assert told["campaigns"] == world.campaigns == [330, 430]
    assert {Path(path) for path in told["files"]} == set(folder.iterdir())


def test_the_command_makes_the_world_of_the_library(tmp_path: Path) -> None:
    answer("simulate", str(tmp_path / "w"), *SIZE, "--world", "growth", "--seed", "2")
    made, wanted = us.worlds.World.load(tmp_path / "w"), us.simulate("growth", users=200, items=100, seed=2)
    assert made.tables["log"].equals(wanted.tables["log"])
    assert made.about == wanted.about


def test_people_see_a_table_and_where_it_was_written(tmp_path: Path) -> None:
    done = run("simulate", str(tmp_path / "w"), *SIZE)
    assert done.exit_code == 0
    for part in ("The world 'paper', seed 0", "200", "at 330, 430", "the truth", "log.parquet", "world.json"):
        assert part in done.stdout
    quiet = run("simulate", str(tmp_path / "q"), *SIZE, "--world", "quiet").stdout
    assert "nothing" in quiet
    often = run("simulate", str(tmp_path / "a"), *SIZE, "--world", "always-on").stdout
    assert "18 from 320 to 490" in often


def test_a_closed_loop_tells_what_was_in_production(tmp_path: Path) -> None:
    done = run("simulate", str(tmp_path / "w"), *SIZE, "--world", "closed-loop", "--chosen-by", "weighted")
    assert "In production: list:e, list:a" in done.stdout
    assert "rounds.parquet" in done.stdout
    assert us.worlds.World.load(tmp_path / "w").rounds is not None


def test_campaigns_can_be_said_on_the_command_line(tmp_path: Path) -> None:
    said = (
        "--campaign-at",
        "200",
        "--campaign-at",
        "100",
        "--shown",
        "3",
        "--reach",
        "0.5",
        "--acceptance",
        "0.4",
    )
    told = answer("simulate", str(tmp_path / "w"), *SIZE, *said, "--recommender", "popular")
    assert told["campaigns"] == [100, 200]
    for campaign in us.worlds.World.load(tmp_path / "w").about["parameters"]["campaigns"]:
        assert (campaign["shown"], campaign["reach"], campaign["acceptance"]) == (3, 0.5, 0.4)
        assert campaign["recommender"] == "popular"
    answer("simulate", str(tmp_path / "w"), *SIZE, "--shown", "2")  # those of the world, otherwise
    campaigns = us.worlds.World.load(tmp_path / "w").about["parameters"]["campaigns"]
    assert [(c["day"], c["shown"]) for c in campaigns] == [(330, 2), (430, 2)]


def test_campaigns_are_injected_into_a_base_log(base: str, tmp_path: Path) -> None:
    done = run("simulate", str(tmp_path / "w"), "--base", base, "--json")
    told = json.loads(done.stdout)
    assert "merged" in done.stderr
    assert told["campaigns"] == [65, 85]
    world = us.worlds.World.load(tmp_path / "w")
    check_history(world)
    assert world.about["base"] == base
    assert len(world.tables["truth"]) == len(us.read_log(base))
    answer("simulate", str(tmp_path / "w"), "--base", base, "--campaign-at", "50", "--shown", "2")
    assert us.worlds.World.load(tmp_path / "w").campaigns == [50]


def test_a_base_log_is_read_by_its_columns_and_its_unit(tmp_path: Path) -> None:
    rows = table()
    seconds = [1_704_067_200 + 86_400 * day for day in rows["time"].to_pylist()]
    own = pa.table({"member": rows["user"], "skill": rows["item"], "added": seconds})
    pq.write_table(own, tmp_path / "base.parquet")
    how = ("--user", "member", "--item", "skill", "--time", "added", "--time-unit", "s")
    told = answer(
        "simulate",
        str(tmp_path / "w"),
        "--base",
        str(tmp_path / "base.parquet"),
        *how,
        "--campaign-at",
        "2024-03-01",
    )
    assert told["campaigns"] == ["2024-03-01T23:59:59+00:00"]
    assert us.worlds.World.load(tmp_path / "w").columns == ["member", "skill", "added"]


def test_dates_are_told_as_text(tmp_path: Path) -> None:
    days = pa.array(table()["time"].to_pylist(), type=pa.int32()).cast(pa.date32())
    pq.write_table(table().set_column(2, "time", days), tmp_path / "base.parquet")
    told = answer("simulate", str(tmp_path / "w"), "--base", str(tmp_path / "base.parquet"))
    assert told["campaigns"] == ["1970-03-07", "1970-03-27"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--world", "moon"], "moon"),
        (["--users", "-5"], "users is -5"),
        (["--users", "0"], "users is 0"),
        (["--users", "many"], "--users"),
        (["--items", "1"], "items is 1"),
        (["--seed", "-1"], "--seed"),
        (["--campaign-at", "501"], "day 501"),
        (["--campaign-at", "-1"], "--campaign-at is -1, but must be"),
        (["--campaign-at", "soon"], "--campaign-at 'soon' is not a day of a simulated world"),
        (["--holdout", "2"], "holdout is 2"),
        (["--holdout", "nan"], "holdout is nan"),
        (["--reach", "1.5"], "reach is 1.5"),
        (["--shown", "0"], "shown is 0"),
        (["--acceptance", "-1"], "acceptance is -1"),
        (["--recommender", "moon"], "no recommender 'moon'"),
        (["--chosen-by", "raw"], "--chosen-by is about a closed loop"),
        (["--chosen-by", "luck"], "--chosen-by"),
        (["--world", "closed-loop", "--reach", "0.5"], "decides its campaigns by itself"),
        (["--world", "closed-loop", "--campaign-at", "50"], "decides its campaigns by itself"),
        (["--world", "closed-loop", "--items", "3"], "fixed lists"),
        (["--world", "quiet", "--shown", "3"], "'quiet' has none"),
        (["--user", "member"], "--user describes the log of --base"),
        (["--time-unit", "s"], "--time-unit describes the log of --base"),
        (["--drop-nulls"], "--drop-nulls describes the log of --base"),
        (["--base", "nowhere.parquet"], "nowhere.parquet"),
        (["--base", "BASE", "--users", "5"], "leave out --users and --items"),
        (["--base", "BASE", "--world", "closed-loop"], "give --campaign-at, or another --world"),
        (["--base", "BASE", "--reach", "0.5"], "say with --campaign-at when"),
        (["--base", "BASE", "--campaign-at", "500"], "runs from 0 to 99"),
        (["--base", "BASE", "--campaign-at", "2024-01-01"], "plain numbers"),
        (["--base", "BASE", "--user", "member"], "member"),
    ],
    ids=" ".join,
)
def test_wrong_input_is_one_line_and_makes_no_folder(
    arguments: list[str], said: str, base: str, tmp_path: Path
) -> None:
    folder = tmp_path / "w"
    small: list[Any] = [] if {"--users", "--items", "--base"} & set(arguments) else ["--users", "50"]
    assert said in refused("simulate", str(folder), *small, *(base if a == "BASE" else a for a in arguments))
    assert not folder.exists()


def test_a_folder_that_cannot_be_written_is_refused_before_the_work(base: str, tmp_path: Path) -> None:
    assert "is a file" in refused("simulate", base, "--users", "1000000000")
    assert "is a file" in refused("simulate", f"{base}/below", "--users", "1000000000")
    assert "empty" in refused("simulate", "", "--users", "1000000000")
    Path(base).rename(tmp_path / "log.parquet")
    assert "not of a simulated world" in refused("simulate", str(tmp_path), "--users", "1000000000")
    assert pq.read_table(tmp_path / "log.parquet").equals(table())


def test_a_base_log_is_not_lost_to_its_own_folder(tmp_path: Path) -> None:
    answer("simulate", str(tmp_path / "w"), *SIZE)
    before = (tmp_path / "w" / "log.parquet").read_bytes()
    assert "another folder" in refused(
        "simulate", str(tmp_path / "w"), "--base", str(tmp_path / "w" / "log.parquet")
    )
    assert (tmp_path / "w" / "log.parquet").read_bytes() == before


def test_a_base_named_by_a_wildcard_is_not_written_over(tmp_path: Path) -> None:
    us.simulate(users=100, items=60).save(tmp_path / "a")
    before = (tmp_path / "a" / "log.parquet").read_bytes()
    told = refused("simulate", str(tmp_path / "a"), "--base", str(tmp_path / "*" / "log.parquet"))
    assert "could be lost" in told
    assert (tmp_path / "a" / "log.parquet").read_bytes() == before
