"""``NAME=SPEC``: a recommender under a name of one's own, on the command line, in a file and in Python."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

import unskew as us
from tests.test_cli import answer, refused, run, table
from unskew.cli import main
from unskew.cli.configuration import read_configuration
from unskew.cli.configured_command import ConfiguredCommand
from unskew.errors import InputError, PolicyError
from unskew.known_truths.scored_case import find_contestants
from unskew.recommend.parameters import split_name
from unskew.recommend.specs import is_shipped, name_recommenders, recommender, require_allowed

DATES = ("--reference", "49", "--at", "99")
CONFIGURED = {name: command for name, command in main.commands.items() if isinstance(command, ConfiguredCommand)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("names")
    rows = table()
    pq.write_table(rows, path / "log.parquet")
    users = sorted(set(rows.column("user").to_pylist()))
    for k, name in enumerate(("first", "second")):
        lines = [f"{user},{item},{item - k}" for user in users for item in range(1 + k, 6 + k)]
        (path / f"{name}.csv").write_text("\n".join(["user,item,rank", *lines]))
    return path


@pytest.fixture(scope="module")
def log(folder: Path) -> str:
    return str(folder / "log.parquet")


@pytest.mark.parametrize(
    ("text", "name", "spec"),
    [
        ("als=table:lists.csv", "als", "table:lists.csv"),
        ("v2=knn?neighbours=20", "v2", "knn?neighbours=20"),
        (" our model = popular ", "our model", "popular"),
        ("new=constant:a=b", "new", "constant:a=b"),
        ("a=b=popular", "a", "b=popular"),
        ("knn?neighbours=20", None, "knn?neighbours=20"),
        ("table:day=1/lists.csv", None, "table:day=1/lists.csv"),
        ("constant:a=b", None, "constant:a=b"),
    ],
)
def test_an_equals_sign_before_any_colon_or_question_mark_ends_the_name(
    text: str, name: str | None, spec: str
) -> None:
    assert split_name(text) == (name, spec)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("=knn", "'=knn' has no name before the =: write NAME=SPEC"),
        ("als=", "'als=' has no recommender after the ="),
    ],
)
def test_half_a_name_is_refused(text: str, message: str, log: str) -> None:
    with pytest.raises(InputError, match=message.partition(":")[0]):
        recommender(text)
    assert message in refused("evaluate", log, "--at", "99", "-r", text)
    assert message in refused("evaluate", log, "--at", "99", "-r", "popular", "--production", text)


def test_the_name_is_what_results_show(log: str, folder: Path) -> None:
    lists = f"table:{folder / 'first.csv'}"
    found = answer("evaluate", log, *DATES, "-r", f"als={lists}", "-r", "v2=knn?neighbours=20", "-r", "popular")
    assert {score["recommender"] for score in found["scores"]} == {"als", "v2", "popular"}
    plain = answer("evaluate", log, *DATES, "-r", "knn?neighbours=20")
    named = [score["value"] for score in found["scores"] if score["recommender"] == "v2"]
    assert named == [score["value"] for score in plain["scores"]]
    shown = run("evaluate", log, "--at", "99", "-r", "v2=popular").stdout
    assert "v2" in shown
    assert "popular" not in shown


def test_timelines_and_checks_show_the_name(log: str) -> None:
    rows = answer("timeline", log, "--reference", "49", "--every", "25", "-r", "v2=popular")["rows"]
    assert {row["recommender"] for row in rows} == {"v2"}
    done = run("check", log, *DATES, "-r", "v2=popular", "--max-unexplained", "0.9", "--json")
    assert '"recommender": "v2"' in done.stdout


def test_a_name_given_twice_is_refused(log: str) -> None:
    message = refused("evaluate", log, "--at", "99", "-r", "a=popular", "-r", "a=knn")
    assert "recommender 'a' is given twice: give each once, or other names with NAME=SPEC" in message
    with pytest.raises(InputError, match="'a' is given twice"):
        name_recommenders(["a=popular", "a=knn"])


def test_one_recommender_may_come_under_two_names() -> None:
    assert {name: str(model) for name, model in name_recommenders(["popular", "p=popular"]).items()} == {
        "popular": "popular",
        "p": "popular",
    }


def test_a_baseline_of_the_same_name_is_told_apart(log: str, folder: Path) -> None:
    first, second = (f"als=table:{folder / name}?from=0" for name in ("first.csv", "second.csv"))
    found = answer("evaluate", log, *DATES, "-r", first, "--baseline", second)
    assert {score["recommender"] for score in found["scores"]} == {"als", "als (baseline)"}
    found = answer("evaluate", log, *DATES, "-r", first, "--baseline", first)
    assert {score["recommender"] for score in found["scores"]} == {"als"}
    found = answer("evaluate", log, *DATES, "-r", "new=knn", "--baseline", "old=popular")
    assert {(change["recommender"], change["baseline"]) for change in found["changes"]} == {("new", "old")}


def test_production_has_a_name_too(log: str) -> None:
    found = answer("excess", log, "--campaign", "60:70", "--production", "ours=popular")
    assert found["production"] == "ours"


def test_python_takes_the_same_texts() -> None:
    log = us.read_log({"user": [1, 1, 2, 2], "item": ["a", "b", "a", "b"], "time": [1, 2, 1, 2]})
    score = us.evaluate("mine=popular", log.at(2), metric="hit@1")
    assert score.recommender == "mine"
    assert {score.recommender for score in us.report(log, ["one=popular", "two=constant:a"], at=2).scores} == {
        "one",
        "two",
    }
    assert list(find_contestants(["mine=popular", "two=knn"])) == ["mine", "two"]


def test_a_named_spec_of_a_file_is_placed_beside_it(tmp_path: Path) -> None:
    sub = tmp_path / "conf"
    sub.mkdir()
    (sub / "unskew.toml").write_text(
        'recommenders = ["als=table:lists.csv", "v2=knn?neighbours=3", "mine=models/m.py:M?n=3"]\n'
        'baseline = "old=table:old.csv"\n[known]\nproduction = "ours=table:shown.csv"\n'
    )
    values = read_configuration(sub / "unskew.toml", CONFIGURED).values["evaluate"]
    assert values["recommenders"] == [
        f"als=table:{sub}/lists.csv",
        "v2=knn?neighbours=3",
        f"mine={sub}/models/m.py:M?n=3",
    ]
    assert (values["baseline"], values["production"]) == (
        [f"old=table:{sub}/old.csv"],
        f"ours=table:{sub}/shown.csv",
    )
    (sub / "unskew.toml").write_text('recommenders = "=knn"\n')
    with pytest.raises(InputError, match="recommenders is '=knn', but must be a recommender such as 'popular'"):
        read_configuration(sub / "unskew.toml", CONFIGURED)


@pytest.mark.parametrize(
    "spec", ["v2=./mine.py:Model", "table=./mine.py:Model", "knn=mine:Model", "v2=table=x.py:M"]
)
def test_a_name_hides_no_code(spec: str) -> None:
    assert not is_shipped(spec)
    with pytest.raises(PolicyError, match="which runs code that unskew does not ship"):
        require_allowed(spec, allow_code=False, where="unskew.toml")


@pytest.mark.parametrize("spec", ["v2=knn?neighbours=3", "als=table:lists.csv"])
def test_a_named_recommender_of_unskew_is_allowed(spec: str) -> None:
    require_allowed(spec, allow_code=False, where="unskew.toml")


def test_impressions_are_exposures(tmp_path: Path, log: str) -> None:
    rows = table().slice(0, 40)
    pq.write_table(rows, tmp_path / "shown.parquet")
    by_flag = [
        answer("drift", log, *DATES, flag, str(tmp_path / "shown.parquet"))
        for flag in ("--exposures", "--impressions")
    ]
    assert by_flag[0] == by_flag[1]
    assert by_flag[0]["view"]["view"] == "adjusted"
