"""The configuration file: keys reach their options, slips are named, the command line wins, nothing is run."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

from unskew.cli import main
from unskew.cli.configuration import (
    COMMAND_LINE_ONLY,
    SHARED_KEYS,
    SPECS,
    find_configuration,
    own_keys,
    place,
    read_configuration,
    shared_option,
)
from unskew.cli.configured_command import ConfiguredCommand
from unskew.options import OPTIONS

LOG = "user,item,time\n1,a,0\n1,b,0\n2,a,0\n2,c,0\n3,b,0\n1,c,9\n3,c,9\n4,c,9\n4,a,9\n"
BASE = 'log = "log.csv"\nreference = 0\nat = 9\n'
CONFIGURED = {name: command for name, command in main.commands.items() if isinstance(command, ConfiguredCommand)}
Run = Callable[..., Result]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "log.csv").write_text(LOG)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run(folder: Path) -> Run:
    def invoke(*arguments: str, toml: str | None = None, code: int = 0) -> Result:
        if toml is not None:
            (folder / "unskew.toml").write_text(toml)
        done = CliRunner().invoke(main, list(arguments))
        assert done.exit_code == code, done.output
        assert "Traceback" not in done.output
        return done

    return invoke


def params(command: str) -> dict[str, click.Parameter]:
    return {param.name: param for param in CONFIGURED[command].params if param.name}


def received(monkeypatch: pytest.MonkeyPatch, command: str, *arguments: str) -> dict[str, Any]:
    """What a command would run with."""
    seen: dict[str, Any] = {}
    monkeypatch.setattr(main.commands[command], "callback", lambda **given: seen.update(given))
    done = CliRunner().invoke(main, [command, *arguments])
    assert done.exit_code == 0, done.output
    return seen


# ---- the table of keys


def test_every_command_that_reads_a_log_takes_its_options_from_a_file() -> None:
    reading = [name for name, command in main.commands.items() if any(p.name == "log" for p in command.params)]
    assert reading == list(CONFIGURED)


@pytest.mark.parametrize("path", sorted({*SHARED_KEYS} - {"file.query"}))
def test_a_shared_key_is_the_same_option_of_every_command_that_it_claims(path: str) -> None:
    claimed = {name: shared_option(path, name, params(name)) for name in CONFIGURED}
    found = [param for param in claimed.values() if param is not None]
    assert found
    kinds = {(one.type.name.removesuffix(" range"), getattr(one, "multiple", False), one.nargs) for one in found}
    assert len(kinds) == 1
    assert path == "log" or all(name in CONFIGURED for name in OPTIONS[SHARED_KEYS[path]].not_for)
    assert SHARED_KEYS[path] not in COMMAND_LINE_ONLY


@pytest.mark.parametrize("command", CONFIGURED)
def test_every_option_of_a_command_has_a_place(command: str) -> None:
    placed = {param.name for param in own_keys(CONFIGURED[command]).values()} | {*COMMAND_LINE_ONLY, "log"}
    assert {*params(command)} <= placed


def test_options_that_name_recommenders_are_known_as_such() -> None:
    for command in CONFIGURED:
        for name, param in params(command).items():
            if "SPEC" in (param.metavar or "") or "agreement:SPEC" in (getattr(param, "help", "") or ""):
                assert name in SPECS


# ---- values reach options

VALUES = {
    "log": ('"log.csv"', ("log.csv",)),
    "reference": ("2024-03-01", "2024-03-01"),
    "at": ('"last"', "last"),
    "recommenders": ('["popular", "knn"]', ("popular", "knn")),
    "metrics": ('"mrr@10"', ("mrr@10",)),
    "baseline": ('"ease"', "ease"),
    "names": ('"names.csv"', "names.csv"),
    "columns.user": ("2", "2"),
    "columns.item": ('"sku"', "sku"),
    "columns.time": ('"day"', "day"),
    "columns.time-unit": ('"ms"', "ms"),
    "columns.time-format": ('"%d/%m/%Y"', "%d/%m/%Y"),
    "columns.removed": ('"gone"', "gone"),
    "columns.drop-nulls": ("true", True),
    "columns.p-user": ('"importance"', "importance"),
    "columns.p-item": ('"recency:30"', "recency:30"),
    "file.format": ('"csv"', "csv"),
    "file.sep": ('"::"', "::"),
    "file.header": ("false", False),
    "file.columns": ('"user,item,time"', "user,item,time"),
    "file.encoding": ('"latin-1"', "latin-1"),
    "file.quote": ('"none"', "none"),
    "file.table": ('"events"', "events"),
    "known.exposures": ('"shown.csv?user=a"', "shown.csv?user=a"),
    "known.exposed": ('"promoted"', "promoted"),
    "known.within": ('"30d"', "30d"),
    "known.campaigns": ('["1:2", "3:4"]', ("1:2", "3:4")),
    "known.holdout": ('"never.csv"', "never.csv"),
    "known.production": ('"auto"', "auto"),
    "known.induced-share": ("0.3", "0.3"),
    "known.view": ('"outside"', "outside"),
    "fit.new-items": ('"keep"', "keep"),
    "fit.min-items": ("3", 3),
    "fit.users": ('"both"', "both"),
    "protocol.after": ('"-30d"', "-30d"),
    "protocol.leave-last-out": ("true", True),
    "protocol.leave-out": ("2", 2),
    "protocol.folds": ("10", 10),
    "protocol.sample": ("500", 500),
    "protocol.seed": ("4", 4),
    "protocol.draws": ("3", 3),
    "protocol.refit": ("30", 30),
    "protocol.level": ("0.9", 0.9),
    "thresholds.max-drift": ("0.1", 0.1),
    "thresholds.max-bound": ("0", 0.0),
    "thresholds.max-excluded": ("0.2", 0.2),
    "thresholds.max-unexplained": ("0.01", 0.01),
    "thresholds.max-unexplained-relative": ("0.5", 0.5),
    "thresholds.min-effective-pairs": ("100", 100.0),
    "thresholds.fail-if": ('"worse"', "worse"),
}


def write(path: str, value: str) -> str:
    table, _, key = path.rpartition(".")
    return (f"[{table}]\n" if table else "") + f"{key} = {value}\n"


@pytest.mark.parametrize("path", sorted({*SHARED_KEYS} - {"file.query"}))
def test_the_value_of_a_shared_key_reaches_the_option_of_each_command(
    path: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text, wanted = VALUES[path]
    (folder / "unskew.toml").write_text(write(path, text))
    needed = {"log": "log.csv", "--reference": "0", "--at": "9", "-o": "out.parquet", "-r": "popular"}
    option = SHARED_KEYS[path]
    for command in CONFIGURED:
        if shared_option(path, command, params(command)) is None:
            continue
        flags = {flag: param for param in params(command).values() if param.required for flag in param.opts}
        arguments = [
            part
            for flag in needed
            if flag in flags and flags[flag].name != option
            for part in ([needed[flag]] if flag == "log" else [flag, needed[flag]])
        ]
        given = received(monkeypatch, command, *arguments)
        assert given[option] == wanted, command


def test_the_table_of_a_command_has_its_other_options_and_wins_over_what_is_shared(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = '[timeline]\nfrom = 3\nevery = "1w"\noutput = "t.parquet"\ntop = [5, 20]\nmetrics = ["mrr@3"]\n'
    (folder / "unskew.toml").write_text(
        f'{BASE}recommenders = "popular"\nmetrics = "hit@5"\n{own}[drift]\nshow = 3\n'
    )
    given = received(monkeypatch, "timeline")
    assert {name: given[name] for name in ("start", "every", "output", "top", "metrics")} == {
        "start": "3",
        "every": "1w",
        "output": "t.parquet",
        "top": ("5", "20"),
        "metrics": ("mrr@3",),
    }
    assert received(monkeypatch, "drift")["listed"] == 3
    assert received(monkeypatch, "evaluate")["metrics"] == ("hit@5",)


def test_a_table_of_pyproject_is_read_unless_there_is_a_file_of_its_own(run: Run, folder: Path) -> None:
    (folder / "pyproject.toml").write_text('[tool.unskew]\nlog = "log.csv"\nreference = 0\nat = 9\n')
    done = run("drift", "--json")
    assert done.stderr.splitlines()[0] == "options from pyproject.toml"
    assert json.loads(done.stdout)["at"] == 9
    done = run("drift", toml='log = "log.csv"\nreference = 9\nat = 9\n')
    assert done.stderr.splitlines()[0] == "options from unskew.toml"


def test_a_pyproject_without_our_table_is_none_of_ours(run: Run, folder: Path) -> None:
    for text in ("[tool.ruff]\nline-length = 3\n", "broken ["):
        (folder / "pyproject.toml").write_text(text)
        assert find_configuration(Path()) is None
        assert "options from" not in run("drift", "log.csv", "--reference", "0", "--at", "9").stderr
    (folder / "pyproject.toml").write_text("[tool.unskew]\nlog = [\n")
    assert "pyproject.toml is not TOML" in run("drift", code=2).stderr


# ---- commands without options


def test_commands_need_no_options(run: Run) -> None:
    toml = f"""{BASE}recommenders = ["popular"]
[timeline]
every = 3
output = "timeline.parquet"
[weights]
output = "weights.parquet"
[thresholds]
max-drift = 0.9
"""
    run("drift", toml=toml)
    run("weights")
    run("evaluate")
    run("timeline", "--resume")
    assert "nothing was computed" in run("timeline", "--resume").stdout
    assert run("check").stdout.startswith("No threshold is crossed at 9 against 0")
    assert pq.read_table("timeline.parquet").num_rows > 0
    assert pq.read_table("weights.parquet").num_rows == 3


def test_the_file_is_named_once_on_standard_error_and_not_where_it_says_nothing(run: Run) -> None:
    done = run("drift", "--json", toml=BASE)
    assert done.stderr.count("options from unskew.toml") == 1
    assert json.loads(done.stdout)["reference"] == 0
    done = run("drift", "log.csv", "--reference", "0", "--at", "9", toml="[timeline]\nevery = 1\n")
    assert "options from" not in done.stderr


# ---- the command line wins


def test_options_on_the_command_line_win(run: Run, folder: Path) -> None:
    (folder / "other.csv").write_text(LOG + "5,d,5\n")
    told = json.loads(run("drift", "--at", "5", "other.csv", "--json", toml=f"{BASE}[drift]\nshow = 1\n").stdout)
    assert (told["at"], told["items"], len(told["top"])) == (5, 4, 1)
    assert len(json.loads(run("drift", "--show", "2", "--json").stdout)["top"]) == 2


def test_no_config_reads_no_file(run: Run) -> None:
    assert "Missing argument" in run("drift", "--no-config", toml=BASE, code=2).stderr
    run("drift", "log.csv", "--reference", "0", "--at", "9", "--no-config", toml="broken [")
    assert "not both" in run("drift", "--no-config", "--config", "unskew.toml", code=2).stderr


def test_what_is_given_displaces_what_cannot_stand_beside_it(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    run("weights", "-o", "w.parquet", toml=f"{BASE}[weights]\ntol = 1e-3\n")
    run("evaluate", "--weights", "w.parquet", "-r", "popular")
    run("evaluate", "-r", "popular", toml=f'{BASE}[weights]\ntol = 1e-3\n[evaluate]\nweights = "w.parquet"\n')
    run("evaluate", "-r", "popular", "--reference", "0")
    Path("unskew.toml").write_text(f"{BASE}[protocol]\nleave-last-out = true\n")
    given = received(monkeypatch, "weights", "--after", "5")
    assert (given["after"], given["leave_last_out"]) == ("5", False)


def test_help_does_not_read_the_file(run: Run) -> None:
    assert "--reference" in run("drift", "--help", toml="broken [").stdout
    assert "--config FILE" in run("drift", "--help-all", toml="broken [").stdout


# ---- paths


def test_paths_are_relative_to_the_file(run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere = folder / "jobs" / "weekly"
    elsewhere.mkdir(parents=True)
    (folder / "mine.toml").write_text(f'{BASE}[weights]\noutput = "w.parquet"\n')
    monkeypatch.chdir(elsewhere)
    run("weights", "--config", "../../mine.toml")
    assert (folder / "w.parquet").is_file()
    assert not list(elsewhere.iterdir())


def test_each_kind_of_path_is_placed_beside_the_file_and_nothing_else_is(folder: Path) -> None:
    sub = folder / "conf"
    sub.mkdir()
    (sub / "mix.parquet").write_text("")
    (sub / "unskew.toml").write_text(
        """log = ["a.csv", "/data/b.csv", "-", "daily/"]
recommenders = ["popular", "table:lists.csv?user=u", "constant:1,2", "models/mine.py:Model?n=3", "pkg.mod:Model"]
reference = "mix.parquet"
[known]
production = "table:shown.csv"
holdout = "never.csv"
[weights]
margin = ["column:price", "agreement:table:x.csv"]
"""
    )
    found = read_configuration(Path("conf/unskew.toml"), CONFIGURED)
    values = found.values["evaluate"]
    assert values["log"] == [
        "conf/a.csv",
        "/data/b.csv",
        "-",
        "conf/daily/",
    ]
    assert values["recommenders"] == [
        "popular",
        "table:conf/lists.csv?user=u",
        "constant:1,2",
        "conf/models/mine.py:Model?n=3",
        "pkg.mod:Model",
    ]
    assert values["reference"] == "conf/mix.parquet"
    assert (values["production"], values["holdout"]) == ("table:conf/shown.csv", "conf/never.csv")
    assert found.values["weights"]["margins"] == ["column:price", "agreement:table:conf/x.csv"]
    (sub / "unskew.toml").write_text('reference = "2024-03-01"\n')
    assert read_configuration(Path("conf/unskew.toml"), CONFIGURED).values["drift"]["reference"] == "2024-03-01"


def foreign_paths(folder: Path) -> dict[str, str]:
    """Paths that lead out of the folder, each in another way."""
    outside = folder.parent / f"{folder.name}-outside"
    outside.mkdir(exist_ok=True)
    (folder / "link").symlink_to(outside, target_is_directory=True)
    (folder / "leaf.parquet").symlink_to(outside / "leaf.parquet")
    (folder / "loop").symlink_to("loop")
    return {
        "home": "~/x.parquet",
        "absolute": str(outside / "x.parquet"),
        "above": f"../{outside.name}/x.parquet",
        "link": "link/x.parquet",
        "leaf": "leaf.parquet",
        "loop": "loop/x.parquet",
        "address": "s3://bucket/x.parquet",
    }


PATHS = [
    (command, key)
    for command in CONFIGURED
    for key, param in own_keys(CONFIGURED[command]).items()
    if isinstance(param.type, click.Path)
]


@pytest.mark.parametrize("way", ["home", "absolute", "above", "link", "leaf", "loop", "address"])
def test_a_file_that_nobody_named_reaches_nothing_outside_its_folder(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    outside = folder.parent / f"{folder.name}-outside"
    path = foreign_paths(folder)[way]
    monkeypatch.setenv("HOME", str(outside))
    for command, key in PATHS:
        error = run(command, toml=f"[{command}]\n{key} = '{path}'\n", code=2).stderr
        assert error.startswith(f"error: unskew.toml: {command}.{key} is '")
        assert "but must be a relative path below the folder of the file" in error
        assert len(error.splitlines()) == 1
    for key, spec in (("recommenders", "v2=table:{}"), ("baseline", "table:{}"), ("log", "{}")):
        assert "a relative path below" in run("evaluate", toml=f"{key} = '{spec.format(path)}'\n", code=2).stderr
    assert list(outside.iterdir()) == []


@pytest.mark.parametrize(
    "path",
    ["lin*/events.csv", "**/events.csv", "inside", "in*e", "events.csv?item=item", "link?item=item", "again"],
)
def test_no_pattern_folder_or_parameter_hides_a_link_that_leads_out(run: Run, folder: Path, path: str) -> None:
    foreign_paths(folder)
    outside = folder.parent / f"{folder.name}-outside"
    (outside / "events.csv").write_text("user,item,time\n1,1,1\n2,1,2\n")
    (folder / "inside" / "deep").mkdir(parents=True)
    (folder / "inside" / "deep" / "events.csv").symlink_to(outside / "events.csv")
    (folder / "events.csv").symlink_to(outside / "events.csv")
    (folder / "again").mkdir()
    (folder / "again" / "inside").symlink_to("../inside", target_is_directory=True)
    for key, value in (("log", path), ("names", path), ("recommenders", f"table:{path}")):
        toml = f"{'' if key == 'log' else BASE}{key} = '{value}'\n"
        assert "a relative path below the folder of the file" in run("evaluate", toml=toml, code=2).stderr


def test_a_folder_with_a_link_that_leads_out_is_no_output(run: Run, folder: Path) -> None:
    foreign_paths(folder)
    outside = folder.parent / f"{folder.name}-outside"
    (folder / "measured").mkdir()
    (folder / "measured" / "cases").symlink_to(outside, target_is_directory=True)
    toml = f"{BASE}[weights]\noutput = 'measured'\n"
    assert "a relative path below" in run("weights", toml=toml, code=2).stderr


def test_a_file_that_somebody_named_writes_where_it_says(run: Run, folder: Path) -> None:
    path = foreign_paths(folder)["absolute"]
    run("weights", "--config", "unskew.toml", toml=f"{BASE}[weights]\noutput = '{path}'\n")
    assert pq.read_table(path).num_rows == 3


@pytest.mark.parametrize("name", ["notes.parquet", "notes.csv", "notes"])
def test_a_file_that_nobody_named_replaces_only_what_unskew_wrote(run: Run, folder: Path, name: str) -> None:
    toml = f"{BASE}[weights]\noutput = '{name}'\n"
    (folder / name).write_text("my own")
    error = run("weights", toml=toml, code=2).stderr
    assert f"unskew.toml (weights.output) would replace {name}, which does not say that unskew wrote it" in error
    assert (folder / name).read_text() == "my own"
    run("weights", "-o", name)  # who names it may replace it
    assert (folder / name).read_bytes() != b"my own"
    (folder / name).unlink()
    run("weights")
    if not name.endswith(".csv"):  # which has no room to say whose it is
        run("weights")


def test_doctor_names_no_log_to_which_the_file_may_not_lead(run: Run, folder: Path) -> None:
    outside = folder.parent / f"{folder.name}-outside.csv"
    outside.write_text(LOG)
    run("doctor", str(outside), "--write")
    assert "log" not in tomllib.loads((folder / "unskew.toml").read_text())
    run("drift", str(outside), "--reference", "0", "--at", "9")
    run("doctor", str(folder / "log.csv"), "--write")
    run("drift", "--reference", "0", "--at", "9")


# ---- slips


@pytest.mark.parametrize(
    "toml",
    [
        'log = "a\\u0000b"\n',
        'at = "a\\u0000b"\n',
        'baseline = "table:a\\u0000b"\n',
        f"at = 1{'0' * 5000}\n",
        f"at = 0x1{'0' * 5000}\n",
        f"[fit]\ntol = 1{'0' * 400}\n",
        f"[protocol]\nfolds = 1{'0' * 400}\n",
    ],
)
def test_values_that_nothing_can_take_are_refused_in_one_line(run: Run, toml: str) -> None:
    for command in ("drift", "evaluate"):
        error = run(command, "log.csv", toml=toml, code=2).stderr
        assert error.startswith("error: unskew.toml")
        assert len(error.splitlines()) == 1


@pytest.mark.parametrize(
    ("toml", "message"),
    [
        ("refrence = 0\n", "unskew.toml: there is no key 'refrence'; did you mean 'reference'?"),
        ("[colums]\nuser = 'a'\n", "there is no key 'colums'; did you mean 'columns'?"),
        ("[columns]\nusr = 'a'\n", "there is no key 'usr' in [columns]; did you mean 'user'?"),
        ("[columns]\ntime_unit = 's'\n", "did you mean 'time-unit'?"),
        ("user = 'a'\n", "there is no key 'user'; it belongs in [columns]"),
        ("[columns]\nat = 3\n", "there is no key 'at' in [columns]; it belongs at the top of the file"),
        ("[timeline]\nevry = 1\n", "there is no key 'evry' in [timeline]; did you mean 'every'?"),
        ("[drift]\njson = true\n", "there is no key 'json' in [drift]"),
        ("[check]\nallow-code = true\n", "there is no key 'allow-code' in [check]"),
        ("allow-code = true\n", "there is no key 'allow-code'"),
        ("[simulate]\nusers = 3\n", "there is no key 'simulate'"),
        ("columns = 'a'\n", "unskew.toml: columns is 'a', but must be a table: [columns]"),
        ("timeline = 3\n", "timeline is 3, but must be a table: [timeline]"),
        ("log = 3\n", "log is 3, but must be the path of a file, as a text, or a list of such"),
        ("log = []\n", "log is [], but must be at least one value"),
        ("log = ['a', 3]\n", "log is ['a', 3], but must be the path of a file"),
        ("at = true\n", "at is true, but must be a text, a date or a number"),
        ("at = 10:30:00\n", "but must be a text, a date or a number"),
        ("at = ''\n", "at is '', but must be"),
        ("at = {day = 3}\n", "at is {'day': 3}, but must be a text"),
        ("recommenders = [1]\n", "recommenders is [1], but must be a text such as 'popular', or a list of such"),
        ("[weights]\ntol = '0.1'\n", "weights.tol is '0.1', but must be a number"),
        ("[weights]\ntol = nan\n", "weights.tol is nan, but must be a number"),
        ("[weights]\nmax-passes = 1.5\n", "weights.max-passes is 1.5, but must be a whole number"),
        ("[weights]\nmax-passes = true\n", "weights.max-passes is true, but must be a whole number"),
        ("[fit]\nusers = 'some'\n", "fit.users is 'some', but must be one of 'all', 'both'"),
        ("[fit]\nusers = ['all']\n", "fit.users is ['all'], but must be one of"),
        ("[protocol]\nseed = -1\n", "protocol.seed is -1, but must be a whole number of at least 0 (where"),
        ("[columns]\ndrop-nulls = 'yes'\n", "columns.drop-nulls is 'yes', but must be true or false"),
        ("[thresholds]\nmax-drift = '10 %'\n", "thresholds.max-drift is '10 %', but must be a number"),
        ("log = \n", "unskew.toml is not TOML: "),
        ("log = 'a'\nlog = 'b'\n", "unskew.toml is not TOML: "),
    ],
)  # fmt: skip
@pytest.mark.parametrize("command", ["drift", "timeline"])
def test_a_slip_is_named_whichever_command_runs(command: str, toml: str, message: str, run: Run) -> None:
    done = run(command, toml=toml, code=2)
    (line,) = done.stderr.splitlines()
    assert line.startswith("error: unskew.toml")
    assert message in line


def test_a_slip_in_pyproject_is_named_with_its_whole_path(run: Run, folder: Path) -> None:
    (folder / "pyproject.toml").write_text("[tool.unskew.weights]\ntol = 'a'\n")
    assert "pyproject.toml: tool.unskew.weights.tol is 'a', but must be a number" in run("drift", code=2).stderr
    (folder / "pyproject.toml").write_text("[tool.other]\n")
    assert "has no table [tool.unskew]" in run("drift", "--config", "pyproject.toml", code=2).stderr


def test_a_file_that_is_not_there_is_named(run: Run) -> None:
    assert "error: missing.toml cannot be read" in run("drift", "--config", "missing.toml", code=2).stderr


def test_a_number_out_of_its_range_is_refused_with_its_meaning(run: Run) -> None:
    said = run("check", toml=f"{BASE}[thresholds]\nmax-drift = 15\n", code=2).stderr
    assert "thresholds.max-drift is 15, but must be a finite number of at least 0 and at most 1 (how far" in said


def test_a_value_that_only_the_library_can_judge_is_refused_by_it(run: Run) -> None:
    said = run("evaluate", "-r", "popular", toml=f"{BASE}[protocol]\nlevel = 3\n", code=2).stderr
    assert "error: the level of an interval must lie between 0 and 1" in said


# ---- nothing in the file is run

MINE = "import pathlib\npathlib.Path('ran').write_text('')\ndef recommend(profile, k):\n    return []\n"
PLANTED = {
    "recommenders": 'recommenders = ["{}"]\n',
    "baseline": 'recommenders = "popular"\nbaseline = "{}"\n',
    "production": 'recommenders = "popular"\n[known]\ncampaigns = "3:5"\nproduction = "{}"\n',
    "margins": 'recommenders = "popular"\n[weights]\nmargin = ["agreement:{}"]\n',
    "table of the command": 'recommenders = "popular"\n[evaluate]\nrecommenders = ["popular", "{}"]\n',
}


@pytest.mark.parametrize(
    "spec", ["./mine.py:recommend", "mine:recommend", "mine.py:recommend?x=1", " ./mine.py:recommend"]
)
@pytest.mark.parametrize("place", PLANTED)
def test_code_that_the_file_names_is_not_imported(place: str, spec: str, run: Run, folder: Path) -> None:
    (folder / "mine.py").write_text(MINE)
    command = "weights" if place == "margins" else "evaluate"
    done = run(command, toml=BASE + PLANTED[place].format(spec), code=2)
    assert "which runs code that unskew does not ship" in done.stderr
    assert "--allow-code" in done.stderr
    assert not (folder / "ran").exists()


def test_code_that_the_file_names_is_imported_where_the_command_line_allows_it(run: Run, folder: Path) -> None:
    (folder / "mine.py").write_text(MINE)
    run("evaluate", "--allow-code", toml=BASE + PLANTED["recommenders"].format("./mine.py:recommend"))
    assert (folder / "ran").exists()


def test_code_stands_in_nobodys_way_who_does_not_take_it(run: Run, folder: Path) -> None:
    (folder / "mine.py").write_text(MINE)
    run("drift", toml=BASE + PLANTED["recommenders"].format("./mine.py:recommend"))
    run("evaluate", "-r", "popular")
    assert not (folder / "ran").exists()


def test_a_mistyped_recommender_is_no_code(run: Run) -> None:
    done = run("evaluate", toml=f'{BASE}recommenders = "poplar"\n', code=2)
    assert "did you mean 'popular'?" in done.stderr


@pytest.mark.parametrize("module", ["column", "agreement"])
def test_a_module_called_like_a_margin_is_not_imported(module: str, run: Run, folder: Path) -> None:
    (folder / f"{module}.py").write_text(MINE)
    (folder / "popular.py").write_text(MINE)
    for spec in (f"{module}:recommend", f"{module}:popular"):
        done = run("evaluate", toml=BASE + PLANTED["recommenders"].format(spec), code=2)
        assert "which runs code that unskew does not ship" in done.stderr
    assert not (folder / "ran").exists()


def test_a_folder_that_is_called_like_home_is_not_home() -> None:
    assert place("model.py", Path("~")) == "./~/model.py"
    assert place("~/model.py", Path("other")) == str(Path.home() / "model.py")
