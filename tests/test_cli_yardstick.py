"""``unskew yardstick`` as a user meets it: JSON, tables, files, refusals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import unskew as us
from tests.test_cli import answer, refused, run, table
from unskew.known_truths import yardstick
from unskew.known_truths.case_names import INJECTED, SUMMARIES

QUICK = ("--users", "150", "--items", "60", "--truth-seeds", "0", "-r", "popular")
ROW = {
    "world", "seed", "method", "knows", "recommender", "metric", "view", "weighting", "estimate", "raw", "truth",
    "error", "bias_removed", "covered",
}  # fmt: skip


def test_json_is_one_object_of_four_lists(tmp_path: Path) -> None:
    told = answer("yardstick", "paper", "--seed", "1", "--method", "raw", "--method", "organic", *QUICK)
    assert set(told) == {"worlds", "rows", "ranking", "summary"}
    assert [(row["world"], row["used_for"], row["seeds"]) for row in told["worlds"]] == [("paper", "tuning", 1)]
    assert all(set(row) >= ROW for row in told["rows"])
    assert all(set(row) >= {"world", "method", "tau", "regret"} for row in told["ranking"])
    assert [row["method"] for row in told["summary"]] == ["raw", "organic"]
    options: dict[str, Any] = {"users": 150, "items": 60, "truth_seeds": 0}
    wanted = yardstick("paper", seeds=1, methods=["raw", "organic"], recommenders="popular", **options)
    figures = [{name: row[name] for name in row if name != "seconds"} for row in told["rows"]]
    assert figures == [{name: row[name] for name in row if name != "seconds"} for row in wanted.to_dict()["rows"]]


def test_people_see_a_table_the_seeds_and_where_it_was_written(tmp_path: Path) -> None:
    asked = ("yardstick", "paper", "--seeds", "1", "--method", "raw", *QUICK, "-o", str(tmp_path / "y"))
    done = run(*asked)
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith("The worlds: organic interactions a day")
    for part in ("paper, hit@5", "raw", "popular", "tau", "Mean over seeds 200", "index.html (1 case computed)"):
        assert part in done.stdout
    assert "[1/1] paper, seed 200" in done.stderr
    rows = pq.read_table(tmp_path / "y" / "rows.parquet")
    assert rows["seed"].to_pylist() == [200]
    again = run(*asked, "--resume")
    assert "(0 cases computed)" in again.stdout
    assert "[1/1] paper, seed 200, done before" in again.stderr


def test_campaigns_are_injected_into_a_log_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "base.parquet"
    events = us.simulate("quiet", users=200, items=80, seed=2).tables["truth"]
    pq.write_table(events.rename_columns(["member", "skill", "day"]), path)
    columns = ("--user", "member", "--item", "skill", "--time", "day")
    told = answer("yardstick", INJECTED, "--seed", "1", "--base", str(path), *columns, "--method", "raw", *QUICK)
    assert [row["world"] for row in told["rows"]] == [INJECTED]


def test_the_help_names_every_world() -> None:
    text = run("yardstick", "--help").output
    assert all(f"  {name} " in text for name in (*SUMMARIES, INJECTED))


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("papr",), "did you mean 'paper'"),
        (("NOWHERE",), "there is no file"),
        (("QUIET",), "nothing is recommended in the world"),
        (("paper", "--method", "organik"), "did you mean 'organic'"),
        (("paper", "--seed", "1", "--seeds", "2"), "--seed names seeds, and --seeds counts them"),
        (("paper", "--seed", "1", "--seed", "1"), "--seeds has 1 twice"),
        (("injected",), "give that with --base"),
        (("paper", "--user", "member"), "--user describes the log of --base"),
        (("paper", "--resume"), "--resume continues what is in a folder: give it with -o"),
        (("paper", "-o", "FILE"), "is a file"),
        (("paper", "-o", "OTHER"), "holds a file index.html that is not of a yardstick and would be lost"),
        (("paper", "-m", "user-ndcg@5"), "cannot be weighted"),
        (("paper", "-r", "populr"), "did you mean 'popular'"),
        (("paper", "--items", "1"), "--items is 1"),
        (("injected", "--base", "MISSING"), "MISSING"),
    ],
)
def test_wrong_input_is_one_line_and_nothing_is_written(
    tmp_path: Path, arguments: tuple[str, ...], told: str
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "index.html").write_text("mine")
    us.simulate("quiet", users=30, items=20).save(tmp_path / "quiet")
    paths = {"NOWHERE": "folder", "QUIET": "quiet", "FILE": "file", "OTHER": "other", "MISSING": "MISSING.parquet"}
    words = [str(tmp_path / paths[word]) if word in paths else word for word in arguments]
    before = sorted(tmp_path.rglob("*"))
    assert told in refused("yardstick", *words)
    assert sorted(tmp_path.rglob("*")) == before


def test_a_base_of_other_columns_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "base.parquet"
    pq.write_table(table().rename_columns(["a", "b", "c"]), path)
    assert "--user" in refused("yardstick", INJECTED, "--base", str(path))
