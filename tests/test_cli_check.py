"""``unskew check``: exit codes, one line for each threshold, JSON, and the recipes of the documentation."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import unskew as us
from unskew.cli import main
from unskew.cli.configuration import SHARED_KEYS, read_configuration
from unskew.cli.configured_command import ConfiguredCommand

ROOT = Path(us.__file__).parents[2]
PAGE = (ROOT / "docs" / "monitoring.md").read_text()
CONFIGURATION = (ROOT / "docs" / "commands.md").read_text()
LOG = "user,item,time\na,x,0\na,y,0\nb,x,0\nb,y,9\nc,z,9\n"
"""As in test_check: drift 5/12, a third of the users excluded."""

DATES = ["--reference", "0", "--at", "9"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "log.csv").write_text(LOG)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def check(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["check", "log.csv", *DATES, *arguments])


def test_all_well_is_one_line_and_code_0() -> None:
    done = check("--max-drift", "0.5", "--max-excluded", "0.5", "--max-bound", "0.01")
    assert done.exit_code == 0
    (line,) = done.stdout.splitlines()
    assert line == (
        "No threshold is crossed at 9 against 0: drift of the item mix 0.4167 (limit 0.5); bound after weighting "
        "0.0000 (limit 0.01); users excluded 33.33 % (limit 50.00 %)."
    )


def test_each_threshold_that_is_crossed_is_one_line_and_code_1() -> None:
    done = check(
        "--max-drift", "0.4", "--max-excluded", "0.3", "--max-bound", "0.01", "--min-effective-pairs", "4"
    )
    assert done.exit_code == 1
    assert [re.split(r" \d", line)[0] for line in done.stdout.splitlines()] == [
        "Drift of the item mix",
        "Users excluded",
        "Effective pairs",
    ]
    assert done.stderr == ""


@pytest.mark.parametrize(("limit", "code"), [("0.4", 1), ("0.5", 0)])
def test_json_is_one_object_whatever_the_exit_code(limit: str, code: int) -> None:
    done = check("--max-drift", limit, "--json")
    assert done.exit_code == code
    told = json.loads(done.stdout)
    assert told["passed"] is (code == 0)
    (one,) = told["thresholds"]
    assert (one["threshold"], one["limit"], one["crossed"]) == ("max_drift", float(limit), code == 1)
    assert one["value"] == pytest.approx(5 / 12)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "no threshold is given, so there is nothing to check: give at least one, such as --max-drift 0.1"),
        (["--max-drift", "15"], "--max-drift is 15.0, but must be a finite number of at least 0 and at most 1"),
        (
            ["--max-unexplained", "0.1"],
            "--max-unexplained is about the scores of recommenders: give -r",
        ),
        (["--max-unexplained", "0.1", "-r", "poplar"], "did you mean 'popular'?"),
        (["--max-unexplained", "0.1", "-r", "popular", "-m", "user-recall@5"], "there is no change of popular"),
        (["--max-drift", "0.1", "--at", "nonsense"], "nonsense"),
        (
            ["--fail-if", "worse", "-r", "popular"],
            "--fail-if compares two recommenders: give --baseline, or -r twice",
        ),
        (["--fail-if", "worse"], "--fail-if is about the scores of recommenders: give -r"),
        (["--fail-if", "better", "-r", "popular"], "'better' is not 'worse'"),
        (["--max-drift", "0.1", "--level", "2"], "the level of an interval must lie between 0 and 1"),
    ],
)
def test_wrong_input_is_one_line_and_code_2(arguments: list[str], message: str) -> None:
    done = check(*arguments)
    assert done.exit_code == 2, done.output
    assert done.stdout == ""
    assert message in done.stderr.splitlines()[-1]


def test_a_slip_is_found_before_the_log_is_read() -> None:
    done = CliRunner().invoke(main, ["check", "missing.csv", *DATES, "--max-unexplained", "0.1"])
    assert "give -r" in done.stderr
    assert "missing.csv" not in done.stderr


def test_scores_of_the_best_view_are_checked(folder: Path) -> None:
    world = us.simulate(users=600, items=100, seed=5)
    world.save(folder)
    arguments = [
        "check",
        "log.parquet",
        "--reference",
        "300",
        "--at",
        "480",
        "-r",
        "knn",
        "--max-unexplained",
        "0.02",
    ]
    assert CliRunner().invoke(main, arguments).exit_code == 1  # the campaigns, which item weights do not undo
    done = CliRunner().invoke(main, [*arguments, "--exposures", "exposures.parquet", "--json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["view"]["view"] == "organic"


LISTS = ["-r", "constant:x", "--baseline", "constant:q"]


@pytest.fixture
def many_users(folder: Path) -> None:
    """Twenty users who have x and one who has q: a list of x is better than one of q."""
    rows = [f"{n},{item},{time}" for n in range(40) for item, time in (("x", 0), ("y", n % 2 * 9), ("z", 9))]
    (folder / "log.csv").write_text("\n".join(["user,item,time", *rows, "40,q,0", "40,x,9"]) + "\n")


@pytest.mark.usefixtures("many_users")
@pytest.mark.parametrize(("worse", "code"), [(False, 0), (True, 1)])
def test_a_verdict_of_worse_is_one_line_and_code_1(worse: bool, code: int) -> None:
    names = [*LISTS[:1], LISTS[3], LISTS[2], LISTS[1]] if worse else LISTS
    done = check(*names, "--fail-if", "worse")
    assert done.exit_code == code, done.output
    (line,) = done.stdout.splitlines()
    assert ("worse (fails if worse)" if worse else "better (fails if worse)") in line


@pytest.mark.usefixtures("many_users")
def test_a_configuration_file_can_ask_for_verdicts(folder: Path) -> None:
    (folder / "unskew.toml").write_text(
        'log = "log.csv"\nreference = 0\nat = 9\nrecommenders = ["constant:q"]\nbaseline = "constant:x"\n'
        '[thresholds]\nfail-if = "worse"\n'
    )
    done = CliRunner().invoke(main, ["check", "--json"])
    assert done.exit_code == 1, done.output
    (row,) = json.loads(done.stdout)["thresholds"]
    assert (row["threshold"], row["decision"]) == ("fail_if", "worse")
    (folder / "unskew.toml").write_text('log = "log.csv"\nreference = 0\n[thresholds]\nfail-if = "better"\n')
    assert CliRunner().invoke(main, ["check"]).exit_code == 2


# ---- what the documentation says


def blocks(kind: str) -> list[str]:
    return re.findall(rf"```{kind}\n(.*?)```", PAGE, re.DOTALL)


def test_the_files_on_the_page_are_read_as_they_are(folder: Path) -> None:
    configured = {name: one for name, one in main.commands.items() if isinstance(one, ConfiguredCommand)}
    assert blocks("toml")
    for k, text in enumerate(blocks("toml")):
        (folder / f"{k}.toml").write_text(text)
        assert read_configuration(folder / f"{k}.toml", configured).values


def test_the_page_has_every_shared_key_in_its_table() -> None:
    for path in SHARED_KEYS:
        table, _, key = path.rpartition(".")
        name = f"`.{table}.`" if table else "at the top"
        (row,) = re.findall(rf"^\| {name} \| (.*) \|$", CONFIGURATION, re.MULTILINE)
        assert f"`{key}`" in row


@pytest.mark.parametrize(("limit", "mailed"), [("0.4", "Drift of the item mix"), ("0.5", ""), ("'a'", "error: ")])
def test_the_lines_for_cron_print_something_only_where_something_is_wrong(
    limit: str, mailed: str, folder: Path
) -> None:
    (folder / "unskew.toml").write_text(
        f'log = "log.csv"\nreference = 0\nat = 9\n[thresholds]\nmax-drift = {limit}\n'
    )
    (folder / "unskew").write_text(f'#!/bin/sh\nexec {sys.executable} -m unskew "$@"\n')
    (folder / "unskew").chmod(0o755)
    (line,) = [line for line in blocks("cron")[0].splitlines() if "unskew check" in line]
    command = " ".join(line.split()[5:]).replace("/srv/shop", str(folder))
    path = {"PATH": f"{folder}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["sh", "-c", command], env=os.environ | path, capture_output=True, text=True, check=False
    )
    assert mailed in done.stdout
    assert bool(done.stdout) is bool(mailed)
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("name", "file"), [("airflow", "airflow_dag.py"), ("mlflow", "with_mlflow.py"), ("wandb", "with_wandb.py")]
)
def test_the_lines_for_other_tools_are_those_that_make_recipes_runs(name: str, file: str) -> None:
    (lines,) = [text for text in blocks("python") if f"import {name}" in text or f"from {name}" in text]
    script = (ROOT / "recipes" / file).read_text()
    assert all(part.strip() in script for part in lines.split("\n\n"))
