"""What users know, on the command line: every command takes it, says which view it took, and scores that view."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

import unskew as us
from unskew.cli import main
from unskew.reading import mark_exposed

PRODUCTION = "knn?neighbours=20&similarity=cooccurrence&exact=false"
KNOWN = {
    "organic": ["--exposures", "exposures.parquet", "--view", "organic"],
    "adjusted": ["--exposures", "exposures.parquet"],
    "outside": ["--campaign", "330:350", "--campaign", "430:450"],
    "thinned": ["--holdout", "holdout.parquet", "--production", PRODUCTION],
    "kept": ["--exposures", "exposures.parquet", "--holdout", "holdout.parquet", "--production", PRODUCTION],
}
DATED = ["--reference", "300", "--at", "480"]
COMMANDS = {
    "drift": DATED,
    "weights": [*DATED, "-o", "weights.parquet"],
    "evaluate": [*DATED, "-r", "popular", "--draws", "2"],
    "sample": ["--at", "480", "-n", "50", "-o", "sample.parquet"],
    "timeline": ["--reference", "300", "--every", "90", "-r", "popular"],
    "marginal": ["--at", "300", "-o", "mix.parquet"],
}
Run = Callable[..., Result]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("world")
    world = us.simulate("steady", users=300, items=60, seed=11, holdout=0.3)
    world.save(place)
    log = world.tables["log"]
    pq.write_table(log.select(["user", "item", "time"]), place / "plain.parquet")
    shown = world.exposures.select(["user", "item", "time"]).rename_columns(["a", "b", "c"])
    pq.write_table(shown, place / "abc.parquet")
    gap = pa.table({"user": [1], "item": [1], "time": pa.array([None], pa.int64())})
    shown = world.exposures.select(["user", "item", "time"])
    pq.write_table(pa.concat_tables([shown, gap.cast(shown.schema)]), place / "gaps.parquet")
    pq.write_table(pa.table({"user": ["ann", "bob"]}), place / "texts.parquet")
    return place


@pytest.fixture
def run(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(folder)

    def invoke(*arguments: str, fails: bool = False) -> Result:
        result = CliRunner().invoke(main, list(arguments))
        assert result.exit_code == (2 if fails else 0), result.output
        return result

    return invoke


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("view", KNOWN)
def test_every_command_takes_the_view_that_is_possible_and_names_it(run: Run, command: str, view: str) -> None:
    options = KNOWN[view]
    if command == "sample" and view == "thinned":
        options = [*options, "--campaign", "320:"]  # without weights there is no date to begin at
    told = json.loads(run(command, "plain.parquet", *COMMANDS[command], *options, "--json").stdout)
    assert told["view"]["view"] == view
    assert told["view"]["reason"]
    if command not in ("marginal",):
        assert told["view"]["dropped_pairs"] > 0
    if command == "drift" or view == "outside":  # each command and each view once: one function prints the line
        shown = run(command, "plain.parquet", *COMMANDS[command], *options).stdout.replace("\n", " ")
        assert f"View: {view}, since " in shown


def test_scores_are_those_of_the_view(run: Run, folder: Path) -> None:
    told = json.loads(run("evaluate", "plain.parquet", *COMMANDS["evaluate"], *KNOWN["organic"], "--json").stdout)
    log = mark_exposed(us.read_log(folder / "plain.parquet"), folder / "exposures.parquet")
    expected = us.report(us.views.organic(log), "popular", at=480, reference=300)
    plain = us.report(us.read_log(folder / "plain.parquet"), "popular", at=480, reference=300)
    raw = [score for score in plain.scores if score.weighting == "raw"]
    assert [s["value"] for s in told["scores"]] == [s.value for s in (*expected.scores, *raw)]
    assert [s["view"] for s in told["scores"]] == ["organic"] * len(expected.scores) + ["all"] * 2
    assert [(s["at"], s["weighting"]) for s in told["scores"][-2:]] == [(300, "raw"), (480, "raw")]
    assert [c["view"] for c in told["changes"]] == ["organic"]


def test_exposures_and_a_column_of_marks_say_the_same(run: Run) -> None:
    command = ["evaluate", "log.parquet", "--at", "480", "-r", "knn", "--view", "organic", "--json"]
    marks = json.loads(run(*command, "--exposed", "exposed").stdout)
    for name in ("exposures.parquet", "abc.parquet?user=a&item=b&time=c"):
        table = json.loads(run(*command, "--exposures", name).stdout)
        assert marks["scores"] == table["scores"]
        assert marks["view"] == table["view"]


def test_exposures_without_a_time_are_dropped_if_asked_for(run: Run) -> None:
    whole = run("drift", "plain.parquet", *DATED, *KNOWN["adjusted"], "--json").stdout
    gaps = run("drift", "plain.parquet", *DATED, "--exposures", "gaps.parquet", "--drop-nulls", "--json").stdout
    assert gaps == whole


def test_within_ends_what_an_exposure_counts_for(run: Run) -> None:
    command = ["drift", "plain.parquet", *DATED, *KNOWN["organic"], "--json"]
    short, long = (json.loads(run(*command, "--within", t).stdout)["view"] for t in ("2", "1000"))
    assert 0 < short["dropped_pairs"] < long["dropped_pairs"]
    assert long["dropped_pairs"] == json.loads(run(*command).stdout)["view"]["dropped_pairs"]


def test_several_draws_are_averaged_and_their_spread_told(run: Run) -> None:
    command = ["evaluate", "plain.parquet", *DATED, "-r", "knn", *KNOWN["thinned"], "--json"]
    told = json.loads(run(*command, "--draws", "3").stdout)
    now = [s for s in told["scores"] if s["at"] == 480 and s["view"] == "thinned"]
    assert {s["draws"] for s in now} == {3}
    assert all(s["spread"] > 0 for s in now)
    again = json.loads(run(*command, "--draws", "3").stdout)
    assert [told[key] for key in ("scores", "changes", "view")] == [
        again[key] for key in ("scores", "changes", "view")
    ]


def test_weights_of_another_view_are_refused(run: Run, folder: Path) -> None:
    run("weights", "plain.parquet", *DATED, *KNOWN["outside"], "-o", "outside.parquet")
    use = ["evaluate", "plain.parquet", "--at", "480", "-r", "popular", "--weights", "outside.parquet"]
    assert "'outside' view of the log" in run(*use, fails=True).output
    assert "'outside' view" in run(*use, *KNOWN["organic"], fails=True).output
    run(*use, *KNOWN["outside"])


def test_weights_of_the_same_view_made_from_something_else_are_refused(run: Run) -> None:
    run("weights", "plain.parquet", *DATED, "--campaign", "330:350", "-o", "first.parquet")
    use = ["evaluate", "plain.parquet", "--at", "480", "-r", "popular", "--weights", "first.parquet", "--campaign"]
    told = run(*use, "430:450", fails=True).output
    assert "made under another 'outside' view of the log (windows 330:350; not windows 430:450)" in told
    run(*use, "330:350")
    run("weights", "plain.parquet", *DATED, *KNOWN["organic"], "--within", "3", "-o", "first.parquet")
    assert "within 3" in run(*use[:-1], *KNOWN["organic"], fails=True).output


def test_the_date_of_a_saved_reference_is_the_start_of_what_was_recommended(run: Run) -> None:
    run("marginal", "plain.parquet", "--at", "300", *KNOWN["thinned"], "-o", "mix.parquet")
    by_file, by_date = (
        json.loads(
            run("drift", "plain.parquet", "--reference", given, "--at", "480", *KNOWN["thinned"], "--json").stdout
        )
        for given in ("mix.parquet", "300")
    )
    assert by_file["view"] == by_date["view"]
    assert by_file["bound"] == pytest.approx(by_date["bound"])


def test_a_saved_log_takes_exposures_and_campaigns_too(run: Run, folder: Path) -> None:
    us.read_log(folder / "plain.parquet", repeats=True).save(folder / "saved.arrow")
    for view in ("organic", "outside"):
        saved, plain = (
            json.loads(run("drift", source, *DATED, *KNOWN[view], "--json").stdout)
            for source in ("saved.arrow", "plain.parquet")
        )
        assert saved == plain


def test_what_would_improve_a_view_is_said(run: Run) -> None:
    shown = run("drift", "plain.parquet", *DATED, *KNOWN["outside"]).stdout.replace("\n", " ")
    assert "Better: a list of exposures (user, item, time) would keep interactions" in shown


def test_without_knowledge_nothing_is_said_about_views(run: Run) -> None:
    assert "View:" not in run("drift", "plain.parquet", *DATED).stdout


BAD: list[tuple[list[str], str]] = [
    (["--exposures", "nowhere.parquet"], "nowhere.parquet"),
    (["--exposures", "plain.parquet?user=a&thing=b"], "parameter 'thing'"),
    (
        ["--exposures", "abc.parquet"],
        "no column 'user'; it has 'a', 'b', 'c': name its columns as in FILE?user=A&item=B&time=C",
    ),
    (["--exposures", "gaps.parquet"], "drop these rows with --drop-nulls"),
    (
        ["--holdout", "texts.parquet", "--production", "popular"],
        "the users of --holdout are text, those of the log integers: make them the same type",
    ),
    (
        ["--exposures", "abc.parquet?user=a&item=b"],
        "no column 'time'; it has 'a', 'b', 'c': name its columns as in FILE?",
    ),
    (["--exposures", "exposures.parquet", "--exposed", "x"], "give --exposures or --exposed, not both"),
    (["--exposed", "shown"], "no column 'shown'"),
    (["--exposures", "exposures.parquet", "--within", "-3"], "--within: the step is '-3'"),
    (["--within", "3"], "--within is how long an exposure counts: give --exposures"),
    (["--exposures", "exposures.parquet", "--within", "soon"], "'soon' is not a step"),
    (["--campaign", "330"], "--campaign '330' is not a window of time"),
    (["--campaign", "350:330"], "ends at its start or before it"),
    (["--campaign", "0:"], "the log has no quiet time"),
    (["--campaign", "2024-01-01:"], "plain numbers"),
    (["--holdout", "nowhere.parquet"], "nowhere.parquet"),
    (["--holdout", "exposures.parquet", "--production", "nothing"], "nothing"),
    (["--production", "knm"], "knm"),
    (["--view", "organic"], "--view organic needs exposures: give --exposures or --exposed"),
    (["--view", "thinned", "--holdout", "holdout.parquet"], "needs a model of production: give --production"),
    (["--view", "thick"], "thick"),
]


@pytest.mark.parametrize(("options", "message"), BAD, ids=[" ".join(options) for options, _ in BAD])
def test_knowledge_that_cannot_be_used_is_one_clear_line(run: Run, options: list[str], message: str) -> None:
    output: Any = run("drift", "plain.parquet", *DATED, *options, fails=True).output
    assert message in output
    assert "Traceback" not in output


def test_an_output_never_replaces_what_is_known(run: Run, folder: Path) -> None:
    before = (folder / "exposures.parquet").read_bytes()
    command = ["weights", "plain.parquet", *DATED, *KNOWN["organic"], "-o", "exposures.parquet"]
    assert "would be overwritten" in run(*command, fails=True).output
    assert (folder / "exposures.parquet").read_bytes() == before
