"""``unskew timeline`` as a user meets it: JSON, tables, files, refusals, Ctrl-C and --resume."""

from __future__ import annotations

import io
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rich.console import Console

import unskew as us
from tests.test_cli import answer, refused, run, table
from unskew.cli import terminal as show
from unskew.over_time import Timeline
from unskew.weights import FitOptions

COLUMNS = [
    "at", "recommender", "metric", "view", "weighting", "top", "value", "low", "high", "divergence", "bound",
    "too_few_hits",
    "held_out",
]  # fmt: skip


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("logs") / "log.parquet"
    pq.write_table(table(), path)
    return str(path)


@pytest.fixture
def grid(log: str) -> list[str]:
    return ["timeline", log, "--reference", "50", "--to", "95", "--every", "15", "-r", "constant:1,2,3"]


def test_json_has_the_rows_that_the_library_gives(grid: list[str], log: str) -> None:
    found = answer(
        *grid, "-r", "popular", "-m", "hit@5", "-m", "mrr@3", "--top", "3", "--top", "5", "--follow", "1,2"
    )
    made = us.timeline(
        us.read_log(log),
        ["constant:1,2,3", "popular"],
        reference=50,
        end=95,
        every=15,
        metric=["hit@5", "mrr@3"],
        top=[3, 5],
        items=[1, 2],
    )
    assert found["rows"] == made.rows.to_pylist()
    assert list(found["rows"][0]) == COLUMNS
    assert found["probabilities"] == made.probabilities.to_pylist()
    assert (found["dates"], found["computed"], found["complete"], found["unfinished"]) == (4, 4, True, [])
    assert found["output"] is None
    assert found["options"]["top"] == [3, 5]


def test_the_files_hold_the_same(grid: list[str], tmp_path: Path) -> None:
    output, other = str(tmp_path / "t.parquet"), str(tmp_path / "p.parquet")
    files = ["-o", output, "--probabilities", other]
    found = answer(*grid, "--sample", "50", "--follow", "1", "--follow", "2", *files)
    assert pq.read_table(output).to_pylist() == found["rows"]
    assert pq.read_table(output).column_names == COLUMNS
    assert pq.read_table(other).to_pylist() == found["probabilities"]
    assert found["output"] == output


def test_people_get_first_last_and_range_of_each_series(grid: list[str], tmp_path: Path) -> None:
    output = str(tmp_path / "t.parquet")
    done = run(*grid, "--top", "3", "--follow", "1", "-o", output)
    assert done.exit_code == 0, done.output
    made = Timeline.load(output).rows.to_pylist()
    for weighting, top in (("as logged", None), ("re-weighted", None), ("top 3", 3)):
        values = [
            row["value"]
            for row in made
            if row["top"] == top and (row["weighting"] == "raw") == (weighting == "as logged")
        ]
        (line,) = [text for text in done.stdout.splitlines() if "constant" in text and weighting in text]
        figures = [f"{x:.4f}" for x in (values[0], values[-1], min(values), max(values))]
        assert all(figure in line for figure in figures)
        assert f"{values[-1] - values[0]:+z.4f}" in line
    assert "4 dates" in done.stdout
    assert f"12 rows written to {output} (dates computed: 4)" in done.stdout.replace("\n", "")


def test_a_reference_file_and_priors_are_taken(grid: list[str], log: str, tmp_path: Path) -> None:
    mix = str(tmp_path / "mix.parquet")
    assert run("marginal", log, "--at", "50", "--p-item", "recency:20", "-o", mix).exit_code == 0
    by_file = answer("timeline", log, "--reference", mix, "--from", "80", "--to", "80", "-r", "popular",
                     "--p-item", "recency:20")  # fmt: skip
    by_date = answer("timeline", log, "--reference", "50", "--from", "80", "--to", "80", "-r", "popular",
                     "--p-item", "recency:20")  # fmt: skip
    values = [[row["value"] for row in found["rows"]] for found in (by_file, by_date)]
    assert values[0] == pytest.approx(values[1], abs=1e-12)
    first = answer("timeline", log, "--reference", mix, "--every", "30", "-r", "popular", "--p-item", "recency:20")
    assert [row["at"] for row in first["rows"][::2]] == [50, 80, 99]
    assert "made with --p-item recency:20, not --p-item uniform" in refused(
        "timeline", log, "--reference", mix, "-r", "popular", "--from", "80"
    )


def test_too_few_hits_are_said_in_words(log: str) -> None:
    given = ["timeline", log, "--reference", "49", "--to", "60", "--every", "11", "-r", "constant:25"]
    assert {row["too_few_hits"] for row in answer(*given)["rows"]} == {True}
    said = " ".join(run(*given).stdout.split())
    assert "too few hits at 2 of 2" in said
    assert "fewer than 5 effective hits" in said


def test_calendar_steps(tmp_path: Path) -> None:
    rows = table()
    days = pa.array(rows.column("time").to_numpy() + 19_700, type=pa.int32()).cast(pa.date32())
    path = str(tmp_path / "dated.parquet")
    pq.write_table(rows.set_column(2, "time", days), path)
    found = answer(
        "timeline", path, "--reference", "2024-01-31", "--to", "2024-03-10", "--every", "1mo", "-r", "popular"
    )
    assert [row["at"] for row in found["rows"]][::2] == ["2024-01-31", "2024-02-29", "2024-03-10"]


STOPPING = """
import os
import numpy as np
from unskew.recommend import Traits
class Model:
    traits = Traits(may_recommend_profile=True)
    def __str__(self):
        return "stopping"
    def fit(self, snapshot):
        if snapshot.at == float(os.environ.get("STOP_AT", "nan")):
            raise KeyboardInterrupt
        return self
    def recommend(self, profiles, k):
        return np.tile(np.arange(k), (len(profiles), 1))
"""


def test_an_interrupt_says_what_is_there_and_resume_does_the_rest(
    log: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "stopping_module.py").write_text(STOPPING)
    monkeypatch.syspath_prepend(tmp_path)
    output = str(tmp_path / "t.parquet")
    grid = ["timeline", log, "--reference", "50", "--to", "60", "-r", "stopping_module:Model", "--top", "3"]
    whole = answer(*grid)
    monkeypatch.setenv("STOP_AT", "57")
    for more in ([], ["--resume"]):
        done = run(*grid, "-o", output, *more, "--json")
        assert (done.exit_code, done.stdout) == (130, "")
        *_, line = done.stderr.splitlines()
        assert line == f"interrupted: 7 of 11 dates are in {output}; use --resume to do the rest"
    done = run(*grid)
    assert done.exit_code == 130
    assert done.stderr.splitlines()[-1] == "interrupted while timeline: 7 of 11 dates: nothing was written"
    monkeypatch.delenv("STOP_AT")
    found = answer(*grid, "-o", output, "--resume")
    assert found["rows"] == whole["rows"]
    assert found["computed"] == 4
    done = run(*grid, "-o", output, "--resume")
    assert f"All dates were in {output} already: nothing was computed" in done.stdout.replace("\n", "")


SLOW = """
import os
import time
import numpy as np
from unskew.recommend import Traits
class Model:
    traits = Traits(may_recommend_profile=True)
    def __str__(self):
        return "slow"
    def fit(self, snapshot):
        time.sleep(float(os.environ.get("PAUSE", "0")))
        return self
    def recommend(self, profiles, k):
        return np.tile(np.arange(k), (len(profiles), 1))
"""


def test_a_process_that_is_killed_leaves_a_file_to_go_on_with(
    log: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "slow_module.py").write_text(SLOW)
    monkeypatch.syspath_prepend(tmp_path)
    output = tmp_path / "t.parquet"
    code = "from unskew.over_time import timeline; timeline.EVERY = 0.0; from unskew.cli import main; main()"
    grid = ["timeline", log, "--reference", "40", "--to", "90", "-r", "slow_module:Model"]
    process = subprocess.Popen(
        [sys.executable, "-c", code, *grid, "-o", str(output)],
        stderr=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PAUSE": "0.1"},
    )
    end = time.monotonic() + 300
    while time.monotonic() < end and not (output.exists() and len(Timeline.load(output).dates) >= 3):
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait(timeout=20)
    part = Timeline.load(output)
    assert 3 <= len(part.dates) < 51
    found = answer(*grid, "-o", str(output), "--resume")
    assert found["computed"] == 51 - len(part.dates)
    assert found["rows"] == answer(*grid)["rows"]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--resume"], "--resume continues a file: give it with -o"),
        (["--probabilities", "p.parquet"], "--probabilities needs --follow"),
        (["--probabilities", "p.parquet", "--follow", "1"], "the file of the rows: give that with -o"),
        (["--sample", "99999999999"], "at most 100000000"),
        (["--reference", "10000"], "the reference 10000 is after the last date, 95: say where"),
        (["--follow", "1,999"], "--follow: the log has no item 999"),
        (["--follow", "one"], "--follow is 'one': the items of this log are int64"),
        (["--follow", "1", "--resume", "-o", "t.parquet"], "of their probabilities: give it with --probabilities"),
        (["-o", "no/folder/t.parquet"], "the folder no/folder does not exist"),
        (["--every", "0"], "the step is 0; it must be positive"),
        (["--every", "1w"], "'1w' is a step of the calendar"),
        (["--from", "96"], "the first date 96 is after the last, 95"),
        (["--from", "-1"], "nothing had happened yet at -1"),
        (["--to", "99999999"], "more than 100000: take larger steps"),
        (["--top", "0"], "--top is 0"),
        (["--top", "999"], "at 50: --top is 999, but only"),
        (["-m", "hits"], "there is no metric 'hits'"),
        (["-r", "populer"], "did you mean 'popular'"),
        (["-r", "constant:999"], "the log has no item '999'"),
        (["--sample", "0"], "--sample is 0"),
        (["--min-items", "0"], "--min-items is 0"),
        (["--min-items", "999"], "at 50: no user has at least 999 items at 50: lower --min-items"),
        (["--level", "2"], "level of an interval"),
    ],
)
def test_what_cannot_be_is_refused_with_one_line(
    grid: list[str], more: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    given = [part for part in grid if part not in ("--every", "15")] if more[0] == "--to" else grid
    assert message in refused(*given, *more)
    assert list(tmp_path.iterdir()) == []


def test_options_of_fits_are_taken_as_by_the_other_commands(grid: list[str], log: str) -> None:
    given = ["--min-items", "2", "--users", "both", "--new-items", "keep"]
    found = answer(*grid, *given, "--top", "3")
    made = us.timeline(
        us.read_log(log),
        "constant:1,2,3",
        reference=50,
        end=95,
        every=15,
        top=3,
        options=FitOptions(min_items=2, users="both", new_items="keep"),
    )
    assert found["rows"] == made.rows.to_pylist()
    assert found["rows"] != answer(*grid, "--top", "3")["rows"]
    at = ["--reference", "50", "--at", "95"]
    scores = answer("evaluate", log, *at, "-r", "constant:1,2,3", *given)["scores"]
    [row] = [r for r in found["rows"] if (r["at"], r["weighting"], r["top"]) == (95, "weighted", None)]
    assert row["value"] == pytest.approx(scores[-1]["value"], abs=2e-3)  # it starts elsewhere


def test_resume_with_other_options_names_the_one_that_differs(grid: list[str], tmp_path: Path) -> None:
    output = str(tmp_path / "t.parquet")
    assert run(*grid, "-o", output).exit_code == 0
    before = Path(output).read_bytes()
    told = refused(*grid, "-o", output, "--resume", "--users", "both")
    assert "made with --users all, not --users both" in told
    assert "or write to another file" in told
    assert Path(output).read_bytes() == before


def test_dates_after_the_end_are_told_once(grid: list[str]) -> None:
    done = run(*grid, "--to", "130", "--json")
    assert done.exit_code == 0
    assert done.stderr.count("warning:") == 1
    assert "are after the log ends" in done.stderr


def timed(path: Path) -> str:
    """A log with times to the microsecond."""
    rows = table()
    ticks = rows.column("time").to_numpy() * 86_400_000_000 + 1_375_000_000_123_456
    pq.write_table(rows.set_column(2, "time", pa.array(ticks, pa.timestamp("us", tz="UTC"))), path)
    return str(path)


@pytest.mark.parametrize("width", [80, 60])
def test_numbers_are_whole_in_a_narrow_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    written = io.StringIO()
    monkeypatch.setattr(show, "_console", lambda: Console(file=written, width=width, force_terminal=False))
    grid = ["timeline", timed(tmp_path / "log.parquet"), "--reference", "2013-09-15", "--every", "2w"]
    more = ["-r", "constant:1,2,3,4,5,6,7,8,9", "-m", "hit@5", "-m", "mrr@10", "--top", "3", "--follow", "1"]
    assert run(*grid, *more).exit_code == 0
    lines = [line.rstrip() for line in written.getvalue().splitlines()]
    told = [line for line in lines if line.startswith("constant:")]
    assert len(told) == 2 * 3
    for line in told:
        assert all(re.fullmatch(r"[+-]?\d\.\d{4}", figure) for figure in line.split()[-8:])
    assert width < 80 or max(map(len, lines)) <= width
    assert "from 2013-09-15" in written.getvalue()


def test_where_there_is_no_interval_the_table_is_empty(tmp_path: Path) -> None:
    path = str(tmp_path / "one.parquet")
    pq.write_table(pa.table({"user": [1, 1], "item": [1, 2], "time": [1, 1]}), path)
    done = run("timeline", path, "--reference", "1", "-r", "constant:1", "-m", "hit@1")
    assert done.exit_code == 0, done.output
    assert "nan" not in done.stdout
    assert "1 date." in done.stdout
