"""The command line as a user meets it: output, exit codes, messages, files."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result
from rich.console import Console

import unskew as us
from unskew.cli import main
from unskew.cli import terminal as show

CONTRACT = {
    "reference", "at", "method", "top", "items", "status", "converged", "divergence_before", "divergence_after",
    "bound_before", "bound_after", "bound_least", "residual", "worst_at_5", "gap", "weight_range", "passes",
    "seconds", "new_items", "vanished_items", "users_excluded",
}  # fmt: skip


def table(n: int = 400, seed: int = 5) -> pa.Table:
    """Random interactions on days 0 to 99; from day 50 on, items below 10 are taken more often."""
    rng = np.random.default_rng(seed)
    day = rng.integers(0, 100, n)
    item = np.where((day >= 50) & (rng.random(n) < 0.5), rng.integers(0, 10, n), rng.integers(0, 40, n))
    return pa.table({"user": rng.integers(0, 60, n), "item": item, "time": day})


@pytest.fixture
def log(tmp_path: Path) -> str:
    path = tmp_path / "log.parquet"
    pq.write_table(table(), path)
    return str(path)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments))


def answer(*arguments: str) -> Any:
    """The JSON that a command printed, and that nothing else was printed."""
    done = run(*arguments, "--json")
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def refused(*arguments: str) -> str:
    """The one line with which a command refused."""
    done = run(*arguments)
    assert done.exit_code == 2, done.output
    assert done.stdout == ""
    lines = [line for line in done.stderr.splitlines() if line.startswith(("error:", "Error:"))]
    assert len(lines) == 1
    assert "Traceback" not in done.output
    return lines[0]


def test_weights_prints_the_contract_as_json(log: str) -> None:
    found = answer("weights", log, "--reference", "49", "--at", "99")
    assert set(found) >= CONTRACT
    assert (found["reference"], found["at"], found["method"], found["top"]) == (49, 99, "scaling", None)
    assert found["status"] in ("solved", "certified")
    assert found["converged"] is True
    assert found["bound_after"] < found["bound_before"]
    assert set(found["new_items"]) == {"count", "mass"}


def test_weights_and_the_library_give_the_same_figures(log: str, tmp_path: Path) -> None:
    output = str(tmp_path / "w.parquet")
    found = answer("weights", log, "--reference", "49", "--at", "99", "-o", output)
    history = us.read_log(log)
    mine = us.fit_weights(history.at(99), history.at(49))
    assert found["divergence_after"] == mine.divergence
    assert found["bound_after"] == mine.bound
    kept = pq.read_table(output)
    assert kept.column_names == ["item", "weight", "log_weight", "p_reference", "p_before", "p_after"]
    np.testing.assert_array_equal(kept.column("log_weight").to_numpy(), mine.log_weights)


def test_a_saved_marginal_gives_the_same_weights_as_the_date(log: str, tmp_path: Path) -> None:
    reference = str(tmp_path / "r.parquet")
    made = answer("marginal", log, "--at", "49", "-o", reference)
    assert made["items"] == len(pq.read_table(reference)) > 0
    by_file = answer("weights", log, "--reference", reference, "--at", "99")
    by_date = answer("weights", log, "--reference", "49", "--at", "99")
    for name in CONTRACT - {"seconds"}:
        assert by_file[name] == by_date[name]


def test_a_marginal_made_under_another_policy_is_refused(log: str, tmp_path: Path) -> None:
    reference = str(tmp_path / "r.parquet")
    run("marginal", log, "--at", "49", "-o", reference, "--p-item", "recency:10")
    said = refused("weights", log, "--reference", reference, "--at", "99")
    assert "recency:10" in said
    assert answer("weights", log, "--reference", reference, "--at", "99", "--p-item", "recency:10")["converged"]


def test_min_items_of_a_marginal_must_be_asked_for_again(log: str, tmp_path: Path) -> None:
    reference = str(tmp_path / "r.parquet")
    run("marginal", log, "--at", "49", "-o", reference, "--min-items", "3")
    assert "made with --min-items 3, not --min-items 1" in refused(
        "weights", log, "--reference", reference, "--at", "99"
    )
    by_file = answer("weights", log, "--reference", reference, "--at", "99", "--min-items", "3")
    by_date = answer("weights", log, "--reference", "49", "--at", "99", "--min-items", "3")
    assert by_file["residual"] == by_date["residual"]


def test_top_fits_so_many_items_by_descent(log: str) -> None:
    found = answer("weights", log, "--reference", "49", "--at", "99", "--top", "5")
    assert (found["top"], found["items"], found["method"]) == (5, 5, "descent")


def test_scaling_with_top_is_refused_with_the_reason(log: str) -> None:
    said = refused("weights", log, "--reference", "49", "--at", "99", "--top", "5", "--method", "scaling")
    assert "would not minimise D" in said


def test_items_are_read_in_the_type_of_the_log(log: str) -> None:
    assert answer("weights", log, "--reference", "49", "--at", "99", "--items", "3,7")["items"] == 2
    assert "int64" in refused("weights", log, "--reference", "49", "--at", "99", "--items", "three")


def test_drift_lists_the_items_of_largest_change(log: str) -> None:
    found = answer("drift", log, "--reference", "49", "--at", "99", "--show", "4")
    history = us.read_log(log)
    p, q = history.at(49).marginal().to_dict(), history.at(99).marginal().to_dict()
    change = {i: q.get(i, 0.0) - p.get(i, 0.0) for i in p | q}
    largest = sorted(map(abs, change.values()), reverse=True)[:4]
    assert [abs(row["change"]) for row in found["top"]] == pytest.approx(largest, abs=1e-15)
    assert found["bound"] == pytest.approx(sum(map(abs, change.values())) / 2, abs=1e-12)


def test_drift_says_first_whether_the_mix_drifted_by_more_than_chance(log: str, tmp_path: Path) -> None:
    dates = ("--reference", "49", "--at", "99")
    found = answer("drift", log, *dates)
    history = us.read_log(log)
    moved = us.drift(history.at(99), history.at(49))
    assert moved.chance is not None
    assert found["drifted"] == (found["bound"] > found["chance"]["high"]) == moved.drifted
    assert (found["chance"]["low"], found["chance"]["value"]) == (moved.chance.low, moved.chance.value)
    printed = " ".join(run("drift", log, *dates).stdout.split())
    assert printed.startswith(moved.conclusion)
    mix = str(tmp_path / "mix.parquet")
    assert run("marginal", log, "--at", "49", "-o", mix).exit_code == 0
    saved = answer("drift", log, "--reference", mix, "--at", "99")
    assert (saved["chance"], saved["drifted"], saved["bound"]) == (None, None, pytest.approx(found["bound"]))
    printed = run("drift", log, "--reference", mix, "--at", "99").stdout
    assert printed.startswith(
        "The data cannot show whether the item mix drifted by more than chance from 49 to 99"
    )


def test_names_of_items_are_shown_beside_their_ids(log: str, tmp_path: Path) -> None:
    names = tmp_path / "names.csv"
    names.write_text("item,title\n" + "".join(f"{i},Item number {i}\n" for i in range(40)))
    done = run("drift", log, "--reference", "49", "--at", "99", "--names", str(names))
    assert done.exit_code == 0, done.output
    assert "Item number 3" in done.stdout
    done = run("weights", log, "--reference", "49", "--at", "99", "--names", str(names))
    assert "Item number 3" in done.stdout


@pytest.mark.parametrize("command", ["drift", "weights"])
def test_tables_for_people_name_both_dates_and_the_bound(log: str, command: str) -> None:
    done = run(command, log, "--reference", "49", "--at", "99")
    assert done.exit_code == 0, done.output
    assert "99" in done.stdout.splitlines()[0]
    assert "49" in done.stdout.splitlines()[0]
    assert "worst@5" in done.stdout


def test_a_date_after_the_log_ends_is_a_warning_on_standard_error(log: str) -> None:
    done = run("drift", log, "--reference", "49", "--at", "1000", "--json")
    assert done.exit_code == 0
    assert "warning: 1000 is after the log ends" in done.stderr
    assert json.loads(done.stdout)["at"] == 1000


def test_too_few_passes_are_a_warning_and_still_a_result(log: str) -> None:
    done = run("weights", log, "--reference", "49", "--at", "99", "--tol", "0", "--max-passes", "3", "--json")
    assert done.exit_code == 0
    assert "warning:" in done.stderr
    assert json.loads(done.stdout)["status"] == "unfinished"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--reference", "49", "--at", "99", "--item", "product"], "'item'"),
        (["--reference", "-5", "--at", "99"], "-5"),
        (["--reference", "2013-01-01", "--at", "99"], "--time-unit"),
        (["--reference", "49", "--at", "soon"], "'soon'"),
        (["--reference", "49", "--at", "99", "--top", "10000", "--method", "descent"], "10000"),
        (["--reference", "49", "--at", "99", "--p-item", "recency:soon"], "recency:30"),
        (["--reference", "49", "--at", "99", "--p-user", "wealth"], "wealth"),
        (
            ["--reference", "49", "--at", "99", "--min-items", "1000"],
            "no user has at least 1000 items at the reference date 49: lower --min-items",
        ),
        (["--reference", "nowhere.parquet", "--at", "99"], "nowhere.parquet"),
        (["--reference", "49", "--at", "99", "-o", "no/such/folder/w.parquet"], "no/such/folder"),
        (["--reference", "49", "--at", "99", "--tol", "-1"], "tol"),
    ],
)
def test_wrong_input_is_one_line_that_names_it_and_exit_code_2(log: str, arguments: list[str], told: str) -> None:
    assert told in refused("weights", log, *arguments)


def test_a_reference_that_shares_no_item_shows_three_ids_of_each_side(log: str, tmp_path: Path) -> None:
    reference = tmp_path / "r.parquet"
    pq.write_table(pa.table({"item": ["a", "b", "c", "d"], "probability": [0.25] * 4}), reference)
    said = refused("weights", log, "--reference", str(reference), "--at", "99")
    assert "'a', 'b', 'c'" in said
    assert "text" in said
    assert "integers" in said


def test_a_failed_run_leaves_the_old_file_as_it_was(log: str, tmp_path: Path) -> None:
    output = tmp_path / "w.parquet"
    output.write_bytes(b"old")
    refused("weights", log, "--reference", "49", "--at", "99", "--top", "10000", "-o", str(output))
    assert output.read_bytes() == b"old"
    assert {p.name for p in tmp_path.iterdir()} == {"log.parquet", "w.parquet"}


def test_a_bug_is_one_line_and_exit_code_1_with_a_traceback_only_on_request(
    log: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise ZeroDivisionError("of all things")

    monkeypatch.setattr("unskew.weights.drift.drift", broken)
    arguments = ["drift", log, "--reference", "49", "--at", "99"]
    done = run(*arguments)
    assert done.exit_code == 1
    assert "of all things" in done.stderr
    assert "Traceback" not in done.output
    monkeypatch.setattr(sys, "argv", ["unskew", *arguments, "--debug"])
    assert "Traceback" in run(*arguments, "--debug").output


def test_json_is_the_only_thing_on_standard_output_of_the_real_program(log: str) -> None:
    command = [sys.executable, "-c", "from unskew.cli import main; main()"]
    arguments = ["weights", log, "--reference", "49", "--at", "99", "--json"]
    done = subprocess.run([*command, *arguments], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["converged"] is True
    assert done.stdout.count("\n") == 1


def test_every_command_has_help_with_an_example() -> None:
    for name in main.commands:
        done = run(name, "--help")
        assert done.exit_code == 0
        assert f"unskew {name} " in done.stdout
    assert "drift" in run("--help").stdout


def test_a_log_of_text_and_dates_works_on_the_command_line(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    rows = [
        "ann,sql,2013-02-01",
        "ann,go,2013-02-02",
        "bob,sql,2013-02-03",
        "bob,go,2013-05-01",
        "ann,r,2013-06-01",
    ]
    path.write_text("member,skill,added_at\n" + "\n".join(rows) + "\n")
    columns = ["--user", "member", "--item", "skill", "--time", "added_at"]
    found = answer("drift", str(path), *columns, "--reference", "2013-03-01", "--at", "2013-06-01")
    assert (found["reference"], found["at"]) == ("2013-03-01", "2013-06-01")
    assert {row["item"] for row in found["top"]} == {"sql", "go", "r"}


def test_a_table_fits_80_columns_with_dates_and_numbers_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    written = io.StringIO()
    monkeypatch.setattr(show, "_console", lambda: Console(file=written, width=80, force_terminal=False))
    head = ["recommender", "metric", "at", "weighting", "score", "low", "high"]
    rows = [["constant:" + "12345," * 9, "ndcg@100", "2013-11-06", "weighted", "0.1234", "0.1200", "0.1300"]] * 2
    show.print_table(head, rows, left=4)
    lines = [line.rstrip() for line in written.getvalue().splitlines()]
    assert max(map(len, lines)) <= 80
    told = [line.split() for line in lines if "constant" in line]
    assert [row[1:] for row in told] == [rows[0][1:]] * 2


WRITING = {
    "weights": ["--reference", "49", "--at", "99"],
    "marginal": ["--at", "99"],
    "sample": ["--at", "99"],
    "timeline": ["--reference", "49", "--every", "50", "-r", "popular"],
}


@pytest.mark.parametrize("command", WRITING)
def test_an_output_never_replaces_a_file_that_is_read(command: str, log: str, tmp_path: Path) -> None:
    other = tmp_path / "more" / "other.parquet"
    other.parent.mkdir()
    pq.write_table(table(seed=6), other)
    link = tmp_path / "link.parquet"
    link.symlink_to(log)
    kept = {path: path.read_bytes() for path in (Path(log), other)}
    more = str(other.parent)
    for source, output in ((log, log), (log, str(link)), (more, str(other)), (f"{more}/*.parquet", str(other))):
        told = refused(command, source, *WRITING[command], "-o", output)
        assert f"{output} is an input of this command and would be overwritten: choose another output file" in told
    assert {path: path.read_bytes() for path in kept} == kept
    assert sorted(path.name for path in tmp_path.rglob("*.parquet")) == [
        "link.parquet", "log.parquet", "other.parquet",
    ]  # fmt: skip


def test_nor_a_reference_or_weights_or_a_table_nor_is_one_file_written_twice(log: str, tmp_path: Path) -> None:
    mix, fitted, lists = (str(tmp_path / name) for name in ("mix.parquet", "w.parquet", "lists.parquet"))
    assert run("marginal", log, "--at", "49", "-o", mix).exit_code == 0
    assert run("weights", log, "--reference", mix, "--at", "99", "-o", fitted).exit_code == 0
    pq.write_table(pa.table({"user": [1], "items": [[1, 2]]}), lists)
    lost = "is an input of this command and would be overwritten: choose another output file"
    assert f"{mix} {lost}" in refused("weights", log, "--reference", mix, "--at", "99", "-o", mix)
    assert f"{fitted} {lost}" in refused("sample", log, "--at", "99", "--weights", fitted, "-o", fitted)
    given = ["timeline", log, "--reference", "49", "--follow", "1", "-r"]
    assert f"{lists} {lost}" in refused(*given, f"table:{lists}", "-o", lists)
    new = str(tmp_path / "new.parquet")
    assert f"cannot both be written to {new}" in refused(*given, "popular", "-o", new, "--probabilities", new)
    assert f"{log} {lost}" in refused(*given, "popular", "-o", new, "--probabilities", log)


def test_every_table_can_be_written_as_csv(log: str, tmp_path: Path) -> None:
    columns = {
        "marginal": ["item", "probability"],
        "weights": ["item", "weight", "log_weight", "p_reference", "p_before", "p_after"],
        "sample": ["user", "item", "probability", "profile"],
    }
    for command, names in columns.items():
        output, twin = tmp_path / f"{command}.csv", tmp_path / f"{command}.parquet"
        for path in (output, twin):
            assert run(command, log, *WRITING[command], "-o", str(path)).exit_code == 0
        with output.open(newline="") as file:
            head, *rows = csv.reader(file)
        expected = pq.read_table(twin)
        assert head == names == expected.column_names
        for name, values in zip(names[:3], zip(*rows, strict=True), strict=False):
            assert [float(value) for value in values] == expected.column(name).to_pylist()
    told = refused("evaluate", log, "--at", "99", "-r", "popular", "--weights", str(tmp_path / "weights.csv"))
    assert "is CSV, which has no room for how a table was made" in told
