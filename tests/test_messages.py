"""What is said to whom: Python users read names of Python, those of the command line flags and commands."""

from __future__ import annotations

import ast
import inspect
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import fields
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import unskew as us
from unskew.cli import main
from unskew.over_time import Timeline
from unskew.weights import FitOptions

SOURCE = Path(us.__file__).parent
FUNCTIONS = (us.read_log, us.report, us.evaluate, us.timeline, us.simulate, us.fit_weights, us.Log.at)
OPTIONS = {name for made in FUNCTIONS for name in inspect.signature(made).parameters} | {
    field.name for field in fields(FitOptions)
}
"""The names that only Python users know."""

DATED = ["--reference", "49", "--at", "99"]
GRID = ["--reference", "49", "--every", "25", "-r", "popular"]
BAD_COMMANDS = [
    ["marginal", "LOG", "--at", "99", "--min-items", "500", "-o", "out.parquet"],
    ["marginal", "LOG", "--at", "99", "-o", "LOG"],
    ["marginal", "LOG", "--at", "99", "-o", "missing/out.parquet"],
    ["drift", "LOG", "--reference", "small.parquet", "--at", "99"],
    ["weights", "LOG", "--reference", "small.parquet", "--at", "99"],
    ["weights", "LOG", "--reference", "weights.parquet", "--at", "99"],
    ["weights", "LOG", *DATED, "--tol", "-1"],
    ["weights", "LOG", *DATED, "--max-passes", "1"],
    ["weights", "LOG", *DATED, "--top", "0"],
    ["weights", "LOG", *DATED, "--top", "99999"],
    ["weights", "LOG", *DATED, "--top", "3", "--items", "1"],
    ["weights", "LOG", *DATED, "--top", "3", "--method", "scaling"],
    ["weights", "LOG", *DATED, "--items", "99999"],
    ["weights", "LOG", *DATED, "--items", "a"],
    ["weights", "LOG", *DATED, "--items", ","],
    ["weights", "LOG", *DATED, "--min-items", "0"],
    ["weights", "LOG", *DATED, "--min-items", "50", "--users", "both"],
    ["weights", "LOG", "--reference", "mix.parquet", "--at", "99", "--users", "both"],
    ["weights", "LOG", *DATED, "--p-item", "recency:x"],
    ["weights", "LOG", *DATED, "--p-item", "recency:-1"],
    ["weights", "LOG", *DATED, "--p-user", "nowhere"],
    ["weights", "LOG", *DATED, "--time", "nowhere"],
    ["weights", "LOG", *DATED, "--user", "item"],
    ["weights", "LOG", "--reference", "2013-06-01", "--at", "99"],
    ["weights", "LOG", "--reference", "20130601", "--at", "99"],
    ["evaluate", "LOG", "--at", "99", "-r", "popular", "-r", "popular"],
    ["evaluate", "LOG", "--at", "99", "-r", "nothing"],
    ["evaluate", "LOG", "--at", "99", "-r", "knn?neighbours=0"],
    ["evaluate", "LOG", "--at", "99", "-r", "knn?exact=true&similarity=bm25"],
    ["evaluate", "LOG", "--at", "99", "-r", "popular", "-m", "hat@5"],
    ["evaluate", "LOG", "--at", "99", "-r", "popular", "-m", "hit@5", "-m", "hit@5"],
    ["evaluate", "LOG", "--at", "99", "-r", "popular", "--folds", "1"],
    ["evaluate", "LOG", "--at", "99", "-r", "popular", "--folds", "2", "--leave-out", "2"],
    ["evaluate", "LOG", "--at", "99", "-r", "popular", "--folds", "2", "--after", "50"],
    ["evaluate", "LOG", "--at", "99", "-r", "popular", "--leave-out", "0"],
    ["evaluate", "LOG", "--at", "99", "-r", "popular", "--leave-out", "2", "--after", "50"],
    ["evaluate", "LOG", "--at", "50", "-r", "popular", "--after", "51"],
    ["evaluate", "LOG", *DATED, "-r", "popular", "--after", "1"],
    ["evaluate", "LOG", "--at", "99", "-r", "popular", "--sample", "0"],
    ["evaluate", "LOG", "--at", "99", "-r", "popular", "--level", "2"],
    ["evaluate", "LOG", "--at", "99", "-r", "popular", "--refit"],
    ["evaluate", "LOG", *DATED, "-r", "popular", "--refit", "1"],
    ["evaluate", "LOG", *DATED, "-r", "popular", "--refit", "--sample", "9"],
    ["evaluate", "LOG", *DATED, "-r", "popular", "--by", "nowhere"],
    ["evaluate", "LOG", *DATED, "-r", "popular", "--weights", "weights.parquet"],
    ["evaluate", "LOG", "--at", "99", "-r", "popular", "--weights", "mix.parquet"],
    ["evaluate", "LOG", "--at", "99", "-r", "popular", "--weights", "LOG"],
    ["evaluate", "LOG", "--at", "99", "-r", "popular", "--users", "both"],
    ["sample", "LOG", "--at", "99", "-n", "0", "-o", "out.parquet"],
    ["sample", "LOG", "--at", "99", "--weights", "mix.parquet", "-o", "out.parquet"],
    ["timeline", "LOG", *GRID, "--resume"],
    ["timeline", "LOG", *GRID, "-o", "out.csv", "--resume"],
    ["timeline", "LOG", *GRID, "--follow", "1,1"],
    ["timeline", "LOG", *GRID, "--follow", "99999"],
    ["timeline", "LOG", *GRID, "--top", "3", "--top", "3"],
    ["timeline", "LOG", *GRID, "--top", "x"],
    ["timeline", "LOG", *GRID, "--to", "20130601"],
    ["timeline", "LOG", *GRID, "--from", "98", "--to", "60"],
    ["timeline", "LOG", *GRID, "--probabilities", "out.parquet"],
    ["timeline", "LOG", *GRID, "--follow", "1", "--probabilities", "out.parquet"],
    ["timeline", "LOG", *GRID, "--every", "1mo"],
    ["timeline", "LOG", *GRID, "--every", "0"],
    ["timeline", "LOG", *GRID, "-o", "timeline.parquet", "--resume", "--users", "both"],
    ["timeline", "LOG", *GRID, "-o", "timeline.parquet", "--resume", "-r", "knn"],
    ["timeline", "LOG", *GRID, "-o", "timeline.parquet", "--resume", "--top", "3"],
    ["timeline", "LOG", *GRID, "-o", "timeline.parquet", "--resume", "--reference", "60"],
    ["timeline", "LOG", *GRID, "-o", "timeline.parquet", "--resume", "--sample", "50"],
    ["timeline", "LOG", *GRID, "-o", "timeline.parquet", "--resume", "--p-item", "recency:9"],
    ["timeline", "OTHER", *GRID, "-o", "timeline.parquet", "--resume"],
    ["timeline", "LOG", *GRID, "-o", "weights.parquet", "--resume"],
    ["simulate", "world", "--users", "0"],
    ["simulate", "world", "--items", "1"],
    ["simulate", "world", "--reach", "2"],
    ["simulate", "world", "--shown", "0"],
    ["simulate", "world", "--acceptance", "2"],
    ["simulate", "world", "--holdout", "2"],
    ["simulate", "world", "--campaign-at", "-1"],
    ["simulate", "world", "--campaign-at", "x"],
    ["simulate", "world", "--campaign-at", "9999"],
    ["simulate", "world", "--chosen-by", "raw"],
    ["simulate", "world", "--user", "member"],
    ["simulate", "world", "--base", "LOG", "--users", "9"],
    ["simulate", "world", "--base", "LOG", "--world", "closed-loop"],
    ["reproduce", "-o", "page", "--users", "0"],
    ["reproduce", "-o", "page", "--world", "nowhere"],
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two logs, and what was made from the first."""
    place = tmp_path_factory.mktemp("messages")
    for seed, name in ((1, "log"), (2, "other")):
        rng = np.random.default_rng(seed)
        rows = {"user": rng.integers(0, 60, 400), "item": rng.integers(0, 40, 400), "time": np.arange(400) // 4}
        pq.write_table(pa.table(rows), place / f"{name}.parquet")
    log = us.read_log(place / "log.parquet")
    log.at(49).marginal().save(place / "mix.parquet")
    log.at(49).marginal(min_items=2).save(place / "small.parquet")
    us.fit_weights(log.at(99), log.at(49)).save(place / "weights.parquet")
    us.timeline(log, "popular", reference=49, every=25, output=place / "timeline.parquet")
    return place


@pytest.mark.parametrize("command", BAD_COMMANDS, ids=" ".join)
def test_the_command_line_speaks_of_flags_and_commands(
    command: list[str], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    done = CliRunner().invoke(main, [{"LOG": "log.parquet", "OTHER": "other.parquet"}.get(a, a) for a in command])
    assert done.exit_code == 2, done.output
    (said,) = (line for line in done.stderr.splitlines() if line.startswith(("error: ", "Error: ")))
    for name in OPTIONS:
        assert not re.search(rf"(?<![\w-]){name}=", said)
        assert not said.startswith(f"error: {name} is ")
        if "_" in name:
            assert name not in said
    assert not re.search(r"\w\(\)|[\ue000-\ue002]|None|True", said)


def read_messages() -> Iterator[tuple[str, str]]:
    """Every piece of text in what the library raises or warns, but names that are marked as such."""
    for path in sorted(SOURCE.rglob("*.py")):
        if path.relative_to(SOURCE).parts[0] == "cli":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            called = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
            if isinstance(node, ast.Raise) or called.endswith(("Error", "warn", "Interruption")):
                yield from ((path.name, text) for text in read_texts(node))


def read_texts(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Call) and ast.unparse(node.func) in ("option", "function"):
        return
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    for child in ast.iter_child_nodes(node):
        yield from read_texts(child)


def test_the_library_speaks_of_no_flag_and_no_command() -> None:
    found = list(read_messages())
    assert len(found) > 500
    commands = "|".join(main.commands)
    assert [one for one in found if re.search(rf"(^|[ '])--?[a-z]|unskew ({commands})\b", one[1])] == []


def test_the_library_marks_the_options_that_it_names() -> None:
    names = "|".join(name for name in OPTIONS if "_" in name)
    assert [one for one in read_messages() if re.search(rf"\b({names})\b", one[1])] == []


def test_a_warning_about_both_dates_is_given_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    command = ["evaluate", "log.parquet", *DATED, "-r", "popular", "--leave-out", "2"]
    said = CliRunner().invoke(main, command).stderr.splitlines()
    assert (
        len([line for line in said if "with --leave-out 2 the items leave the profile but not the model" in line])
        == 1
    )


@pytest.mark.parametrize(("name", "load"), [("timeline", Timeline.load), ("weights", us.ItemWeights.load)])
@pytest.mark.parametrize(
    ("version", "told"), [(1, "an older version of unskew: make one"), (99, "a newer version of unskew: update")]
)
def test_a_file_of_another_version_is_refused_as_such(
    folder: Path, tmp_path: Path, name: str, load: Callable[[Path], object], version: int, told: str
) -> None:
    table = pq.read_table(folder / f"{name}.parquet")
    about = json.loads(table.schema.metadata[b"unskew"]) | {"format": version}
    metadata = table.schema.metadata | {b"unskew": json.dumps(about).encode()}
    pq.write_table(table.replace_schema_metadata(metadata), tmp_path / "old.parquet")
    with pytest.raises(us.FileError, match=f"old.parquet was written by {told}"):
        load(tmp_path / "old.parquet")


def test_functions_become_commands_and_lists_repeated_flags(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)

    def refuse(*command: str) -> str:
        return CliRunner().invoke(main, command).stderr

    assert "log.parquet is not a file of item weights: make one with 'unskew weights'" in refuse(
        "evaluate", "log.parquet", "--at", "99", "-r", "popular", "--weights", "log.parquet"
    )
    assert "made with -r popular, not -r popular -r knn" in refuse(
        "timeline", "log.parquet", *GRID, "-r", "knn", "-o", "timeline.parquet", "--resume"
    )
    assert "made with --min-items 2, not --min-items 1: make it again" in refuse(
        "drift", "log.parquet", "--reference", "small.parquet", "--at", "99"
    )
