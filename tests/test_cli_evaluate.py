"""``unskew evaluate`` and ``unskew sample`` as a user meets them: JSON, tables, refusals, Ctrl-C, progress."""

from __future__ import annotations

import io
import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rich.console import Console

import unskew as us
from tests.test_cli import answer, refused, run, table
from unskew.cli.terminal import CountingProgress, TerminalProgress
from unskew.evaluation import ranking
from unskew.storage.tables import read_parquet

CONTRACT = {
    "recommender", "metric", "view", "weighting", "top", "at", "value", "low", "high", "pairs", "users",
}  # fmt: skip
DIAGNOSTICS = {"effective_pairs", "largest_item", "users_excluded", "level", "method", "too_few_hits"}

SLOW = """
import time
import numpy as np
from unskew.evaluation import ranking
ranking.ENTRIES = 200

class Slow:
    done = 0
    def fit(self, snapshot):
        return self
    def recommend(self, profiles, k):
        time.sleep(0.15 if self.done < 6 else 60)
        self.done += 1
        return np.full((len(profiles), k), -1)
"""


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The log of the other commands, with a column of each kind to split by."""
    rows = table()
    users, items = rows.column("user").to_pylist(), rows.column("item").to_pylist()
    rows = rows.append_column("land", pa.array([["de", "fr", None][u % 3] for u in users]))
    rows = rows.append_column("kind", pa.array([["book", "film"][i % 2] for i in items]))
    rows = rows.append_column("way", pa.array([["web", "app", "shop"][k % 3] for k in range(len(users))]))
    path = tmp_path_factory.mktemp("data") / "log.parquet"
    pq.write_table(rows, path)
    return str(path)


@pytest.fixture(scope="module")
def weights(log: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = str(tmp_path_factory.mktemp("weights") / "w.parquet")
    assert run("weights", log, "--reference", "49", "--at", "99", "-o", path).exit_code == 0
    return path


@pytest.fixture
def spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], str]:
    """Put a module beside the program and give the spec of its class."""

    def make(code: str) -> str:
        name = f"module_of_{tmp_path.name.replace('-', '_')}"
        (tmp_path / f"{name}.py").write_text(code)
        monkeypatch.syspath_prepend(str(tmp_path))
        return f"{name}:Model"

    return make


def by(scores: list[dict[str, Any]], **what: Any) -> dict[str, Any]:
    """The one score that has these values."""
    [found] = [s for s in scores if all(s.get(k) == v for k, v in what.items())]
    return found


def test_the_json_has_the_scores_of_the_contract(log: str) -> None:
    found = answer(
        "evaluate", log, "--at", "99", "-r", "popular", "-r", "constant:1,2", "-m", "hit@5", "-m", "mrr@3"
    )
    assert len(found["scores"]) == 4
    for score in found["scores"]:
        assert set(score) >= CONTRACT | DIAGNOSTICS
        assert (score["view"], score["weighting"], score["top"], score["at"]) == ("all", "raw", None, 99)
        assert score["low"] <= score["value"] <= score["high"]
    told = [(s["recommender"], s["metric"]) for s in found["scores"]]
    assert told == [(r, q) for r in ("popular", "constant:1,2") for q in ("hit@5", "mrr@3")]


def test_the_command_and_the_library_give_the_same_scores(log: str) -> None:
    found = answer("evaluate", log, "--reference", "49", "--at", "99", "-r", "popular", "-m", "ndcg@10")["scores"]
    history = us.read_log(log)
    w = us.fit_weights(history.at(99), history.at(49))
    mine = [
        us.evaluate("popular", history.at(49), metric="ndcg@10"),
        us.evaluate("popular", history.at(99), metric="ndcg@10"),
        us.evaluate("popular", history.at(99), weights=w, metric="ndcg@10"),
    ]
    assert found == [json.loads(json.dumps(s.to_dict())) for s in mine]


def test_a_constant_scores_as_its_items_share_at_both_dates(log: str) -> None:
    found = answer("evaluate", log, "--reference", "49", "--at", "99", "-r", "constant:3,7", "-m", "hit@2")
    history = us.read_log(log)
    for at, weighting, mix in (
        (49, "raw", history.at(49).marginal()),
        (99, "raw", history.at(99).marginal()),
        (99, "weighted", history.at(99).marginal(us.fit_weights(history.at(99), history.at(49)))),
    ):
        expected = mix.to_dict()[3] + mix.to_dict()[7]
        assert by(found["scores"], at=at, weighting=weighting)["value"] == pytest.approx(expected, abs=1e-12)
    [change] = found["changes"]
    assert change["bound_holds"]
    assert abs(change["unexplained"]["value"]) <= change["bound"] + 1e-9
    assert change["bound"] == found["weights"]["bound_after"]


def test_weights_from_a_file_are_those_of_the_reference(log: str, weights: str) -> None:
    by_date = answer("evaluate", log, "--reference", "49", "--at", "99", "-r", "popular")["scores"]
    by_file = answer("evaluate", log, "--weights", weights, "--at", "99", "-r", "popular")["scores"]
    assert by_file == [s for s in by_date if s["at"] == 99]


def test_a_saved_marginal_is_a_reference_without_a_score_of_then(log: str, tmp_path: Path) -> None:
    path = str(tmp_path / "r.parquet")
    answer("marginal", log, "--at", "49", "-o", path)
    found = answer("evaluate", log, "--reference", path, "--at", "99", "-r", "popular")
    by_date = answer("evaluate", log, "--reference", "49", "--at", "99", "-r", "popular")["scores"]
    assert [(s["at"], s["weighting"]) for s in found["scores"]] == [(99, "raw"), (99, "weighted")]
    assert found["changes"] == []
    for score in found["scores"]:
        assert score["value"] == pytest.approx(by(by_date, at=99, weighting=score["weighting"])["value"], abs=1e-9)


def test_top_of_saved_weights_is_told(log: str, tmp_path: Path) -> None:
    path = str(tmp_path / "top.parquet")
    answer("weights", log, "--reference", "49", "--at", "99", "--top", "4", "-o", path)
    found = answer("evaluate", log, "--weights", path, "--at", "99", "-r", "popular")["scores"]
    assert [(s["weighting"], s["top"]) for s in found] == [("raw", None), ("weighted", 4)]
    shown = run("evaluate", log, "--weights", path, "--at", "99", "-r", "popular", "--details").stdout
    assert "top 4" in shown


def test_a_curve_of_ranks_is_several_scores(log: str) -> None:
    found = answer("evaluate", log, "--at", "99", "-r", "popular", "-m", "rank<=1,5,10")["scores"]
    assert [s["metric"] for s in found] == ["hit@1", "hit@5", "hit@10"]
    values = [s["value"] for s in found]
    assert values == sorted(values)
    assert values[0] < values[2]


@pytest.mark.parametrize("column", ["land", "kind", "way", "item"])
def test_scores_by_a_column_recombine_to_the_whole(log: str, column: str) -> None:
    given = ["evaluate", log, "--reference", "49", "--at", "99", "-r", "popular", "-m", "mrr@5", "--by", column]
    found = answer(*given)["scores"]
    history = us.read_log(log, labels=[column])
    now, labels = history.at(99), history.label(column)
    for weighting, w in (("raw", None), ("weighted", us.fit_weights(now, history.at(49)))):
        scores = [s for s in found if s["at"] == 99 and s["weighting"] == weighting]
        mass = np.bincount(labels.codes, weights=now.weigh(w).pair_shares)
        parts = [by(scores, segment=f"{column}={name}") for name in labels.values.to_pylist()]
        [whole] = [s for s in scores if "segment" not in s]
        assert sum(m * s["value"] for m, s in zip(mass, parts, strict=True)) == pytest.approx(
            whole["value"], abs=1e-12
        )
        assert sum(s["pairs"] for s in parts) == whole["pairs"]
    if column == "land":
        assert {s.get("segment") for s in found} == {None, "land=de", "land=fr", "land=(none)"}
        assert "land=(none)" in run(*given).stdout


def test_several_items_can_be_left_out_at_a_time(log: str) -> None:
    found = {
        n: answer("evaluate", log, "--at", "99", "-r", "knn", "--leave-out", n, "--seed", "3")["scores"][0]
        for n in ("1", "3")
    }
    assert found["1"]["pairs"] == found["3"]["pairs"]
    assert found["1"]["value"] != found["3"]["value"]
    history = us.read_log(log)
    with pytest.warns(us.UnskewWarning, match="leave_out=3"):
        assert found["3"]["value"] == us.evaluate("knn", history.at(99), leave_out=3, seed=3).value
    told = run("evaluate", log, "--at", "99", "-r", "knn", "--leave-out", "3").stderr
    assert "one at a time" in told


def test_after_a_time_what_came_later_is_sought_at_both_dates(log: str) -> None:
    given = ["evaluate", log, "--at", "99", "--after", "79", "-r", "popular"]
    history = us.read_log(log)
    alone = answer(*given)["scores"]
    assert [s["value"] for s in alone] == [us.evaluate("popular", history.at(99), after=79).value]
    found = answer(*given, "--reference", "49")
    now, then = (history.between(a, b, known=True) for a, b in ((79, 99), (29, 49)))
    w = us.fit_weights(now, then)
    mine = [
        us.evaluate("popular", history.at(49), after=29),
        us.evaluate("popular", history.at(99), after=79),
        us.evaluate("popular", history.at(99), after=79, weights=w),
    ]
    assert [(s["at"], s["weighting"], s["value"]) for s in found["scores"]] == [
        (s.at, s.weighting, s.value) for s in mine
    ]
    assert found["scores"][0]["users_without_profile"]["count"] == mine[0].users_without_profile.count > 0
    assert found["scores"][2]["users_excluded"] == found["weights"]["users_excluded"]
    assert found["weights"]["bound_after"] == w.bound
    assert len(found["changes"]) == 1


def test_a_time_split_that_does_not_fit_before_the_reference_is_refused(log: str) -> None:
    said = refused("evaluate", log, "--at", "99", "--after", "20", "--reference", "49", "-r", "popular")
    assert "the same length of time before 49 would begin before the log does" in said


def test_a_sample_is_drawn_from_its_seed(log: str, weights: str) -> None:
    given = ["evaluate", log, "--at", "99", "--weights", weights, "-r", "popular", "--sample", "150"]
    first, again, other = answer(*given), answer(*given, "--seed", "0"), answer(*given, "--seed", "1")
    assert first == again != other
    assert {s["pairs"] for s in first["scores"]} == {150}
    assert {s["method"] for s in first["scores"]} == {"draws"}
    history = us.read_log(log)
    mine = us.evaluate("popular", history.at(99), weights=us.ItemWeights.load(weights), sample=150)
    assert by(first["scores"], weighting="weighted")["value"] == mine.value


def test_the_level_is_that_of_the_intervals(log: str) -> None:
    narrow, wide = (
        answer("evaluate", log, "--at", "99", "-r", "popular", "--level", level)["scores"][0]
        for level in ("0.5", "0.99")
    )
    assert wide["low"] < narrow["low"] < narrow["value"] < narrow["high"] < wide["high"]
    assert (narrow["level"], wide["level"]) == (0.5, 0.99)


def test_recommenders_are_compared_and_the_weights_fitted_again(log: str) -> None:
    given = ["--reference", "49", "--at", "99", "-r", "popular", "-r", "knn", "--refit", "4"]
    found = answer("evaluate", log, *given)
    assert {(c["a"], c["b"], c["weighting"]) for c in found["comparisons"]} == {
        ("popular", "knn", "raw"),
        ("popular", "knn", "weighted"),
    }
    assert by(found["scores"], recommender="knn", weighting="weighted")["method"] == "bootstrap"
    assert len(found["changes"]) == 2


def test_too_few_hits_and_models_that_are_not_refitted_are_said_in_words(log: str) -> None:
    given = ["evaluate", log, "--reference", "49", "--at", "99", "--refit", "2", "-r", "popular"]
    found = answer(*given, "-r", "constant:25")["scores"]
    assert {s["recommender"] for s in found if s["too_few_hits"]} == {"constant:25"}
    assert all(0 <= s["low"] < s["value"] < s["high"] for s in found if s["too_few_hits"])
    given.append("--details")
    said = " ".join(run(*given, "-r", "constant:25").stdout.split())
    assert "Too few hits: the score rests on fewer than 5 effective hits" in said
    assert "models not refitted" in said
    assert "oo few hits" not in run(*given).stdout


def test_without_details_the_change_comes_first_then_one_table_of_scores(log: str) -> None:
    given = ["--reference", "49", "--at", "99", "-r", "constant:3,7", "-m", "hit@2"]
    history = us.read_log(log)
    weights = us.fit_weights(history.at(99), history.at(49))
    mixes = [history.at(49).marginal(), history.at(99).marginal(), history.at(99).marginal(weights)]
    then, now, reweighted = (f"{100 * (mix.to_dict()[3] + mix.to_dict()[7]):z.2f} %" for mix in mixes)
    done = run("evaluate", log, *given)
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith("constant:3,7, hit@2: the score ")
    rows = [re.split(r" {2,}", line.strip()) for line in done.stdout.splitlines()]
    table = [row for row in rows if row[0] in ("recommender", "constant:3,7")]
    assert table[0] == ["recommender", "at", "as logged", "95 % interval", "re-weighted", "95 % interval"]
    assert [[row[1], *row[2::2]] for row in table[1:]] == [["49", then], ["99", now, reweighted]]
    assert "effective" not in done.stdout
    assert "unexplained  " not in done.stdout


def test_without_details_segments_and_saved_weights_of_few_items_are_in_the_table(
    log: str, tmp_path: Path
) -> None:
    path = str(tmp_path / "few.parquet")
    answer("weights", log, "--reference", "49", "--at", "99", "--top", "3", "-o", path)
    shown = run("evaluate", log, "--weights", path, "--at", "99", "-r", "popular", "--by", "land").stdout
    head = next(line for line in shown.splitlines() if "recommender" in line)
    assert "segment" in head
    assert "top 3 items re-weighted" in head
    assert all(f"land={name}" in shown for name in ("de", "fr"))
    assert "Not a fixed list: item weights do not remove" in " ".join(shown.split())


def test_the_table_for_people_shows_raw_beside_weighted_with_diagnostics(log: str) -> None:
    given = ["--reference", "49", "--at", "99", "-r", "popular", "-r", "constant:3,7"]
    done = run("evaluate", log, *given, "--details")
    assert done.exit_code == 0, done.output
    head = next(line for line in done.stdout.splitlines() if "scored" in line)
    assert all(word in head for word in ("metric", "scored", "score", "low", "high"))
    behind = next(line for line in done.stdout.splitlines() if "pairs" in line)
    assert all(word in behind for word in ("scored", "effective", "largest item", "users excluded"))
    below = done.stdout.splitlines()[done.stdout.splitlines().index(behind) + 2 :][:3]
    assert [line.split("  ")[:2] for line in map(str.strip, below)] == [
        ["49", " as logged"],
        ["99", " as logged"],
        ["99", " re-weighted"],
    ]
    details = done.stdout.splitlines()[done.stdout.splitlines().index(head) :]
    named = [line.strip() for line in details if line.strip().startswith(("popular  ", "constant"))]
    rows = [re.split(r" {2,}", line) for line in named]
    assert [row[3] for row in rows if row[-1] == "exact"] == ["as logged", "as logged", "re-weighted"] * 2
    parts = [row[2] for row in rows if row[0] == "popular" and row[-1] != "exact"]
    assert parts == ["change", "users excluded", "item mix", "more data", "unexplained"]
    assert "unexplained" in done.stdout
    words = " ".join(done.stdout.split())
    assert "* Not a fixed list: item weights do not remove from such a score" in words
    assert [row[4].endswith("*") for row in rows if row[-1] == "exact"] == [
        False,
        False,
        True,
        False,
        False,
        False,
    ]
    assert words.count("p does not account for bias in the log") == 2


def test_what_ran_then_is_set_against_what_runs_now(log: str) -> None:
    given = ["--reference", "49", "--at", "99", "-r", "knn", "--baseline", "popular", "--refit", "3"]
    found = answer("evaluate", log, *given)
    [change] = found["changes"]
    assert (change["recommender"], change["baseline"], change["from"], change["to"]) == ("knn", "popular", 49, 99)
    value = {(s["recommender"], s["at"], s["weighting"]): s["value"] for s in found["scores"]}
    now = {(name, 99, weighting) for name in ("popular", "knn") for weighting in ("raw", "weighted")}
    assert set(value) == {("popular", 49, "raw")} | now
    names = ("users_excluded", "item_mix", "algorithm", "more_data", "unexplained")
    parts = [change[name]["value"] for name in names]
    assert sum(parts) == pytest.approx(change["change"]["value"], abs=1e-12)
    assert change["change"]["value"] == pytest.approx(value["knn", 99, "raw"] - value["popular", 49, "raw"])
    assert parts[2] == pytest.approx(value["knn", 99, "weighted"] - value["popular", 99, "weighted"], abs=1e-12)
    assert (change["method"], change["repeats"]) == ("bootstrap", 3)


def test_lists_of_then_cannot_be_scored_now_and_the_rest_says_so(log: str, tmp_path: Path) -> None:
    pq.write_table(pa.table({"user": [0], "item": [3], "rank": [1]}), tmp_path / "shown.parquet")
    spec = f"table:{tmp_path / 'shown.parquet'}"
    given = ["evaluate", log, "--reference", "49", "--at", "99", "-r", "popular", "--baseline", spec]
    done = run(*given, "--refit", "0", "--details")
    assert done.exit_code == 0, done.output
    assert "has no lists that are valid now" in " ".join(done.stdout.split())
    [change] = answer(*given)["changes"]
    assert change["algorithm"] is None
    assert change["baseline"] == spec
    parts = [change[name]["value"] for name in ("users_excluded", "item_mix", "more_data", "unexplained")]
    assert sum(parts) == pytest.approx(change["change"]["value"], abs=1e-12)


def test_one_user_has_no_interval_which_is_null(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("user,item,time\nann,x,1\nann,y,2\n")
    [score] = answer("evaluate", str(path), "--at", "2", "-r", "constant:x")["scores"]
    assert (score["value"], score["low"], score["high"]) == (0.5, None, None)
    assert run("evaluate", str(path), "--at", "2", "-r", "constant:x").exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--reference", "49", "--weights", "w.parquet", "-r", "popular"], "--reference or --weights, not both"),
        (["--refit", "-r", "popular"], "--refit fits weights again: it needs --reference"),
        (["--reference", "49", "--refit", "1", "-r", "popular"], "at least 2"),
        (["--reference", "49", "--refit", "--sample", "9", "-r", "popular"], "leave out --sample"),
        (["--users", "both", "-r", "popular"], "--users is about fitting weights: it needs --reference"),
        (["-r", "populer"], "did you mean 'popular'"),
        (["-r", "knn?neighbors=3"], "did you mean 'neighbours'"),
        (["-r", "no.such.module:Class"], "no.such"),
        (["-r", "constant:77777"], "77777"),
        (["-r", "popular", "-m", "hits@5"], "did you mean hit@5"),
        (["-r", "popular", "-m", "hit@0"], "at least 1"),
        (["-r", "popular", "--sample", "0"], "--sample is 0"),
        (["-r", "popular", "--sample", "-4"], "--sample is -4"),
        (["-r", "popular", "--leave-out", "0"], "--leave-out is 0"),
        (["-r", "popular", "--leave-out", "2", "--after", "50"], "--after"),
        (["-r", "popular", "--after", "99"], "--after 99 is not before --at 99"),
        (["-r", "popular", "--after", "-300"], "nothing had happened yet at -201"),
        (["-r", "popular", "--after", "soon"], "'soon'"),
        (["-r", "popular", "--level", "2"], "between 0 and 1"),
        (["-r", "popular", "--level", "0"], "between 0 and 1"),
        (["-r", "popular", "--by", "country"], "no column 'country'"),
        (["-r", "popular", "--by", "land", "--sample", "9"], "--by needs every pair"),
        (["-r", "popular", "--weights", "nowhere.parquet"], "nowhere.parquet"),
        (["-r", "popular", "--reference", "nowhere.parquet"], "nowhere.parquet"),
    ],
)
def test_wrong_input_is_one_line_that_names_it_and_exit_code_2(log: str, arguments: list[str], told: str) -> None:
    assert told in refused("evaluate", log, "--at", "99", *arguments)


@pytest.mark.parametrize(
    "arguments", [["-m", "hits@5", "-r", "popular"], ["-r", "populer"], ["-r", "popular", "--level", "2"]]
)
def test_a_slip_is_found_before_the_log_is_read(arguments: list[str]) -> None:
    assert "nowhere" not in refused("evaluate", "nowhere.parquet", "--at", "99", *arguments)


def test_no_recommender_is_a_usage_error(log: str) -> None:
    done = run("evaluate", log, "--at", "99")
    assert done.exit_code == 2
    assert "--recommender" in done.stderr


@pytest.mark.parametrize("command", [["evaluate", "-r", "popular"], ["sample", "-o", "OUT"]])
def test_weights_made_under_another_policy_are_refused(
    log: str, weights: str, tmp_path: Path, command: list[str]
) -> None:
    output = tmp_path / "t.parquet"
    arguments = [str(output) if a == "OUT" else a for a in command[1:]]
    said = refused(command[0], log, "--at", "99", "--weights", weights, "--p-item", "recency:10", *arguments)
    assert "made with --p-item uniform, not --p-item recency:10" in said
    assert "recency:10" in said
    assert not output.exists()


def test_something_else_than_weights_is_refused(log: str, tmp_path: Path) -> None:
    path = str(tmp_path / "r.parquet")
    answer("marginal", log, "--at", "49", "-o", path)
    assert "holds a marginal, not item weights" in refused(
        "evaluate", log, "--at", "99", "--weights", path, "-r", "popular"
    )


@pytest.mark.parametrize(
    ("lists", "told"),
    [
        ("np.full((len(profiles), k), 10**6)", "recommends the item code 1000000, which does not exist"),
        ("np.zeros((len(profiles), k), dtype=int)", "for user"),
        ("np.zeros((len(profiles), k))", "must return whole numbers"),
        ("[].pop()", "failed in recommend(): IndexError: pop from empty list"),
    ],
)
def test_a_recommender_that_does_wrong_is_one_line_that_names_it(
    log: str, spec: Callable[[str], str], lists: str, told: str
) -> None:
    name = spec(
        "import numpy as np\nclass Model:\n    def fit(self, s):\n        return self\n"
        f"    def recommend(self, profiles, k):\n        return {lists}\n"
    )
    said = refused("evaluate", log, "--at", "99", "-r", name)
    assert told in said
    assert name in said


def test_the_name_of_a_class_of_ones_own_is_its_spec(log: str, spec: Callable[[str], str]) -> None:
    name = spec(
        "import numpy as np\nfrom unskew.recommend import Traits\nclass Model:\n"
        "    def __init__(self, item: int = 0):\n        self.item = item\n"
        "    traits = Traits(may_recommend_profile=True)\n    def fit(self, s):\n"
        "        self.code = s.log.items.codes([self.item])[0]\n        return self\n"
        "    def recommend(self, profiles, k):\n        out = np.full((len(profiles), k), -1)\n"
        "        out[:, 0] = self.code\n        return out\n"
    )
    found = answer("evaluate", log, "--at", "99", "-r", f"{name}?item=3", "-r", "constant:3")["scores"]
    assert found[0]["recommender"] == f"{name}?item=3"
    assert found[0]["value"] == found[1]["value"] > 0


# sample


def test_a_sample_is_a_file_of_the_contract(log: str, weights: str, tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    told = answer("sample", log, "--at", "99", "--weights", weights, "-n", "300", "--seed", "5", "-o", str(path))
    rows, about = read_parquet(path)
    assert rows.column_names == ["user", "item", "probability", "profile"]
    assert len(rows) == 300
    history = us.read_log(log)
    mine = us.sample_pairs(history.at(99), us.ItemWeights.load(weights), sample=300, seed=5)
    assert rows.to_pylist() == mine.to_arrow().to_pylist()
    assert told["users"] == len(set(rows.column("user").to_pylist()))
    assert (told["at"], told["n"], told["seed"], told["reference"], told["output"]) == (99, 300, 5, 49, str(path))
    assert told["users_excluded"] == about["users_excluded"]


def test_a_sample_for_people_is_one_sentence(log: str, tmp_path: Path) -> None:
    done = run("sample", log, "--at", "99", "-n", "30", "-o", str(tmp_path / "t.parquet"))
    assert (done.exit_code, done.stdout.startswith("30 held-out pairs of ")) == (0, True)
    assert "left out" not in done.stdout


def test_a_sample_tells_whom_the_weights_left_out(tmp_path: Path) -> None:
    log, path, output = tmp_path / "log.csv", str(tmp_path / "w.parquet"), str(tmp_path / "t.parquet")
    log.write_text("user,item,time\na,x,1\na,y,1\nb,x,1\nb,y,5\nc,z,5\nd,x,5\n")
    assert run("weights", str(log), "--reference", "1", "--at", "5", "-o", path).exit_code == 0
    done = run("sample", str(log), "--at", "5", "--weights", path, "-n", "9", "-o", output)
    assert "(25.00 % of users excluded by the weights)" in " ".join(done.stdout.split())
    assert "c" not in pq.read_table(output).column("user").to_pylist()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["-n", "0", "-o", "OUT"], "n is 0"),
        (["-o", "no/such/folder/t.parquet"], "no/such/folder"),
        (["--weights", "nowhere.parquet", "-o", "OUT"], "nowhere.parquet"),
    ],
)
def test_a_sample_that_cannot_be_drawn_leaves_no_file(
    log: str, tmp_path: Path, arguments: list[str], told: str
) -> None:
    output = tmp_path / "t.parquet"
    assert told in refused("sample", log, "--at", "99", *[str(output) if a == "OUT" else a for a in arguments])
    assert list(tmp_path.iterdir()) == []


# interruption and progress

STOPPING = """
import numpy as np
class Model:
    calls = 0
    def fit(self, snapshot):
        return self
    def recommend(self, profiles, k):
        Model.calls += 1
        if Model.calls == 4:
            raise KeyboardInterrupt
        return np.full((len(profiles), k), -1)
"""


def test_an_interrupt_tells_how_far_it_came_with_exit_code_130(
    log: str, spec: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ranking, "ENTRIES", 100)
    name = spec(STOPPING)
    done = run("evaluate", log, "--at", "99", "-r", name, "--json")
    assert (done.exit_code, done.stdout) == (130, "")
    *_, line = done.stderr.splitlines()
    total = len(us.read_log(log).at(99))
    start, _, rest = line.partition(": ")
    assert start == f"interrupted while ranking {name}"
    came = int(rest.split()[0])
    assert rest == f"{came} of {total} pairs: nothing was written"
    assert 0 < came < total / 2


def test_an_interrupt_while_writing_leaves_the_old_file(
    log: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = tmp_path / "t.parquet"
    output.write_bytes(b"old")

    def half(_: Any, path: Any) -> None:
        Path(path).write_bytes(b"PAR1 half of it")
        raise KeyboardInterrupt

    monkeypatch.setattr(pq, "write_table", half)
    done = run("sample", log, "--at", "99", "-o", str(output))
    assert (done.exit_code, done.stdout) == (130, "")
    assert "nothing was written" in done.stderr
    assert [(p.name, p.read_bytes()) for p in tmp_path.iterdir()] == [("t.parquet", b"old")]


ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def read_until(terminal: int, wanted: Callable[[str], bool], seconds: float) -> str:
    """What appears on a terminal until `wanted` holds of it, or it closes."""
    seen, end = "", time.monotonic() + seconds
    while not wanted(seen) and time.monotonic() < end:
        if select.select([terminal], [], [], 0.2)[0]:
            try:
                part = os.read(terminal, 65536)
            except OSError:  # the other end has closed
                break
            seen = ANSI.sub("", seen + part.decode(errors="replace"))
    return seen


def test_on_a_terminal_a_bar_shows_rate_and_time_left_until_ctrl_c(log: str, tmp_path: Path) -> None:
    (tmp_path / "slow_module.py").write_text(SLOW)
    terminal, theirs = pty.openpty()
    command = [sys.executable, "-c", "from unskew.cli import main; main()"]
    arguments = ["evaluate", log, "--at", "99", "-r", "slow_module:Slow", "--json"]
    process = subprocess.Popen(
        [*command, *arguments],
        stdout=subprocess.PIPE,
        stderr=theirs,
        cwd=tmp_path,
        env={**os.environ, "COLUMNS": "140", "TERM": "xterm", "PYTHONPATH": str(tmp_path)},
    )
    os.close(theirs)
    try:
        rate_and_rest = re.compile(r"ranking slow_module:Slow.*\d+/\d+ +[\d,]+ pairs/s +0:\d\d:\d\d")
        shown = read_until(terminal, lambda text: rate_and_rest.search(text) is not None, 40)
        assert rate_and_rest.search(shown)
        process.send_signal(signal.SIGINT)
        shown = read_until(terminal, lambda text: "nothing was written" in text, 20)
        output, _ = process.communicate(timeout=20)
    finally:
        process.kill()
        os.close(terminal)
    assert (process.returncode, output) == (130, b"")
    assert "interrupted while ranking slow_module:Slow: " in shown
    assert " pairs: nothing was written" in shown


def terminal_progress() -> tuple[TerminalProgress, io.StringIO]:
    shown = io.StringIO()
    console = Console(file=shown, force_terminal=True, width=120, legacy_windows=False)
    return TerminalProgress(console), shown


def test_a_bar_shows_how_much_is_done_how_fast_and_how_long_it_takes() -> None:
    reporter, shown = terminal_progress()
    reporter.begin("ranking knn[x]", 1000, "pairs")
    for _ in range(5):
        time.sleep(0.03)
        reporter.advance(100)
    reporter._bar.refresh()
    reporter.close()
    text = shown.getvalue()
    assert "ranking knn[x]" in text
    assert " 500/1000" in text
    assert " pairs/s" in text
    assert "0:00:0" in text
    assert reporter.reached() == "ranking knn[x]: 500 of 1000 pairs"


def test_each_piece_of_work_has_a_bar_of_its_own() -> None:
    reporter, _ = terminal_progress()
    for text in ("ranking a", "grading by a"):
        reporter.begin(text, 4, "pairs")
        [task] = reporter._bar.tasks
        assert (task.completed, task.finished, task.speed) == (0, False, None)
        reporter.advance(4)
        assert task.finished
    reporter.stage("fitting b")
    assert reporter._bar.tasks[0].total is None
    assert reporter.reached() == "fitting b"
    reporter.note("pass 3")
    reporter.compiling()
    reporter.close()
    reporter.close()  # a second time does no harm


def test_without_a_terminal_nothing_is_shown_but_counted(capsys: pytest.CaptureFixture[str]) -> None:
    reporter = CountingProgress()
    reporter.begin("ranking a", 10, "pairs")
    reporter.advance(3)
    reporter.advance(4)
    assert reporter.reached() == "ranking a: 7 of 10 pairs"
    reporter.stage("fitting b")
    reporter.compiling()
    assert reporter.reached() == "fitting b"
    assert capsys.readouterr() == ("", "")


def test_a_sample_beyond_memory_is_refused(log: str, tmp_path: Path) -> None:
    many = "99999999999"
    told = "is 99999999999, but must be at most 100000000 (how many pairs to draw)"
    assert f"sample {told}" in refused("evaluate", log, "--at", "99", "-r", "popular", "--sample", many)
    output = str(tmp_path / "s.parquet")
    assert f"n {told}" in refused("sample", log, "--at", "99", "-n", many, "-o", output)


def test_folds_say_what_they_cost_before_the_work(log: str) -> None:
    done = run("evaluate", log, "--at", "99", "-r", "popular", "-r", "knn", "--folds", "3", "--json")
    assert done.exit_code == 0, done.output
    assert "--folds 3: recommenders are fitted 6 times in all" in done.stderr
    assert {s["folds"] for s in json.loads(done.stdout)["scores"]} == {3}


def test_a_baseline_is_given_once_and_needs_profiles_of_then(log: str, tmp_path: Path) -> None:
    given = ["evaluate", log, "--at", "99", "-r", "knn", "--baseline", "popular"]
    assert "--baseline is given 2 times: give it once" in refused(*given, "--reference", "49", "--baseline", "knn")
    path = str(tmp_path / "m.parquet")
    answer("marginal", log, "--at", "49", "-o", path)
    assert "--baseline is scored at the reference date, whose profiles" in refused(*given, "--reference", path)


def test_the_item_mix_of_the_baseline_stands_beside_that_of_the_recommender(log: str) -> None:
    given = ["--reference", "49", "--at", "99", "-r", "knn", "--baseline", "popular", "--refit", "2"]
    done = run("evaluate", log, *given, "--details")
    assert "(item mix, on the baseline)" in done.stdout
    assert "So few draws make rough intervals" in " ".join(done.stdout.split())
