"""The frame of benchmarks: contenders take turns and agree, who is missing is named, the page comes from JSON."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest
from benchmarks.frame.cluster_runs import ClusterRun, Step, keep_run, read_runs, render_run
from benchmarks.frame.comparison import Comparison, Disagreement
from benchmarks.frame.contenders import Absent, Contender, Trial, in_process, with_library
from benchmarks.frame.machine import Bystanders, Made, _seconds_of_others
from benchmarks.frame.result_files import FOLDER, Results, Row, Spread, Table
from benchmarks.frame.results_page import PAGE, render_page, render_tables
from benchmarks.frame.workers import Worker, WorkerFailed
from benchmarks.speed import fits, growth, metrics, passes, ranking, text_logs, timelines
from benchmarks.speed.growth_chart import write_picture
from benchmarks.speed.other_fits import SparseProblem
from benchmarks.speed.reading_job import WAYS, do, fingerprint
from benchmarks.speed.text_logs import FORMATS, text_log

MADE = Made("a processor", 2, "4 GiB", "Linux", {"Python": "3.11"}, "abc", "2026-01-01")


def contender(name: str, times: list[float], answer: object = 1, calls: list[str] | None = None) -> Contender:
    """One whose trials take these times, after a first one that is not counted."""
    left = [100.0, *times]

    def attempt(with_answer: bool) -> Trial:
        if calls is not None:
            calls.append(name)
        took = left.pop(0)
        return Trial(took, 2 * took, int(1000 * took), answer if with_answer else None)

    return Contender(name, attempt)


def compare(contenders: list[Contender | Absent], yardstick: str = "b", events: int | None = None) -> Comparison:
    def differ(ours: object, theirs: object) -> str | None:
        return None if ours == theirs else f"{ours} is not {theirs}"

    return Comparison("a job", "It is done.", contenders, yardstick, "the same number", differ, events)


def test_contenders_take_turns() -> None:
    calls: list[str] = []
    three: list[Contender | Absent] = [contender(name, [1.0, 1.0], calls=calls) for name in "abc"]
    compare(three).run(2)
    assert "".join(calls) == "abc" + "abcabc"


def test_a_ratio_is_that_of_two_trials_of_one_round() -> None:
    table = compare([contender("a", [2.0, 40.0, 9.0]), contender("b", [1.0, 10.0, 3.0])], events=100).run(3)
    first, second = table.rows
    assert first.time == Spread(3.0, 2.0, 4.0)  # of 2, 4 and 3; not 9 / 3 by accident of medians alone
    assert first.processor == first.time
    assert first.bytes_an_event == 90.0
    assert second.time == Spread(1.0, 1.0, 1.0)


def test_sizes_make_it_a_ratio_of_the_cost_of_an_event() -> None:
    comparison = replace(compare([contender("a", [5.0]), contender("b", [1.0])]), sizes={"a": 1000, "b": 100})
    row = comparison.run(1).rows[0]
    assert row.time == Spread(0.5, 0.5, 0.5)
    assert row.events == 1000


def test_contenders_that_disagree_are_not_measured() -> None:
    calls: list[str] = []
    wrong = contender("b", [1.0], answer=2, calls=calls)
    with pytest.raises(Disagreement, match="a job: a and b disagree: 1 is not 2"):
        compare([contender("a", [1.0]), wrong]).run(1)
    assert calls == ["b"]


def test_a_limit_need_not_agree_and_is_marked() -> None:
    limit = replace(contender("b", [1.0], answer=None), uncompared="a limit")
    table = compare([contender("a", [1.0]), limit]).run(1)
    assert table.rows[1].uncompared == "a limit"
    assert any("| **b** (a limit) |" in line for line in render_tables([table]))


def test_a_missing_library_is_named_and_left_out() -> None:
    absent = with_library("c", "no_such_library", lambda module: contender("c", []))
    table = compare([contender("a", [1.0]), contender("b", [1.0]), absent]).run(1)
    head, _, line = render_tables([table])
    assert head.split(" | ").index("c |") == 3
    assert line.startswith("| a job |")
    assert "not measured: no_such_library cannot be imported" in line


def test_a_missing_yardstick_is_an_error_that_says_why() -> None:
    with pytest.raises(LookupError, match="the yardstick b is missing: it rained"):
        compare([contender("a", [1.0]), Absent("b", "it rained")]).run(1)


def test_what_takes_no_time_is_called_more_often() -> None:
    calls: list[int] = []
    quick = in_process("quick", lambda: calls.append(1), answer=lambda _: len(calls))
    assert quick.attempt(True).answer == 1
    quick.attempt(False)
    assert len(calls) > 2


def test_results_survive_their_file(tmp_path: Path) -> None:
    rows = [Row("a", Spread(2.0, 1.0, 3.0), Spread(2.0, 1.0, 3.0), 12.5), Row("b", absent="not there")]
    results = Results("reading", MADE, [Table("a job", "It is done.", "a", "the same", 3, rows)])
    assert Results.read(results.write(tmp_path)) == results


def test_the_page_says_what_the_json_says(tmp_path: Path) -> None:
    row = Row("fast", Spread(2.345, 1.234, 30.4), Spread(0.04567, 0.5, 1234.0), 12.5)
    results = Results("reading", MADE, [Table("a job", "It is done.", "slow", "the same sums", 3, [row])])
    path = results.write(tmp_path)
    assert "| a job | 2.3 (1.23–30), 12\u202fB |" in render_page(tmp_path)
    values = json.loads(path.read_text())
    values["tables"][0]["rows"][0]["time"]["median"] = 7.7
    path.write_text(json.dumps(values))
    text = render_page(tmp_path)
    assert "| a job | 7.7 (" in text
    assert "the same sums. Rounds: 3." in text
    assert "commit abc on 2 cores (a processor), 4 GiB, Linux: Python 3.11." in text


def test_the_page_in_the_documentation_is_that_of_the_results() -> None:
    assert PAGE.read_text() == render_page()


def test_results_say_nothing_about_the_host() -> None:
    for path in FOLDER.glob("*.json"):
        text = path.read_text()
        assert "/home" not in text
        assert "/work" not in text


def test_work_of_other_programs_is_seen() -> None:
    other = subprocess.Popen([sys.executable, "-c", "print(flush=True)\nwhile True: pass"], stdout=subprocess.PIPE)
    try:
        assert other.stdout is not None
        other.stdout.readline()
        bystanders = Bystanders()
        time.sleep(1.0)
        others = bystanders.busy_cores()
    finally:
        other.kill()
        other.communicate()
    assert others is not None
    assert others > 0.1  # this one at least, which nobody has waited for yet


def test_our_own_work_is_not_that_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "read_text", lambda _: "cpu 700 100 100 77777 5555 40 30 30 0 0\ncpu0 1 2 3 4")
    monkeypatch.setattr(os, "sysconf", lambda _: 100)
    monkeypatch.setattr(os, "times", lambda: (4.0, 1.0, 0.5, 0.5, 99.0))
    assert _seconds_of_others() == pytest.approx(4.0)  # of 10 s, 6 are ours


CLUSTER_RUN = ClusterRun(
    *(2_000_000, 1_500_000, 1000, 8, 12),
    [
        Step("reading", 60.2, 14.0, 96_000_000, 0, 2.5e9, 0.3e9),
        Step("a fit, a worker killed", 5, 2, 0, 7_000_000, 0, 0),
    ],
    {"weights": True, "scores": True},
    ["Removing worker-1"],
    MADE,
)


def test_a_run_on_a_cluster_survives_its_file_and_replaces_one_of_its_size(tmp_path: Path) -> None:
    keep_run(replace(CLUSTER_RUN, passes=1), tmp_path)
    keep_run(replace(CLUSTER_RUN, events=10), tmp_path)
    keep_run(CLUSTER_RUN, tmp_path)
    assert read_runs(tmp_path) == [replace(CLUSTER_RUN, events=10), CLUSTER_RUN]
    assert "| reading | 60 | 14 | 96 MB | 2.5 GB | 0.3 GB |" in render_page(tmp_path)


def test_the_page_of_a_cluster_says_what_an_event_took_and_which_bits_differ() -> None:
    text = "\n".join(render_run(CLUSTER_RUN))
    assert "7.0 microseconds of Java and moved 48 bytes an event" in text
    assert "The same bits as on one machine: weights and scores." in text
    assert "0 MB, 7 MB to the disk" in text
    text = "\n".join(render_run(replace(CLUSTER_RUN, same_bits={"weights": True, "scores": False})))
    assert "**Other bits** than on one machine: scores." in text


def test_a_worker_that_ends_is_an_error() -> None:
    with pytest.raises(WorkerFailed, match="no_such_module ended with exit code 1"):
        Worker("benchmarks.no_such_module")


@pytest.mark.parametrize("kind", FORMATS)
def test_all_readings_give_the_same_pairs_and_first_times(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_logs, "FOLDER", tmp_path)
    log = text_log(3000, kind)
    found = set()
    target = tmp_path / "found.parquet"
    for way in (*(way.__name__ for way in WAYS), "unskew_limited"):
        request = {"do": way, "source": str(log.path), "target": str(target), "limit": "60MB"}
        do(request)
        if way.startswith("unskew"):
            found.add(do({**request, "do": "tell"}))
        else:
            found.add(fingerprint(duckdb.read_parquet(str(target))))
            target.unlink()
    assert len(found) == 1
    assert found.pop()[0] < log.events


def test_passes_agree_with_scipy_and_sql(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passes, "LARGE", None)
    (comparison,) = passes.comparisons([5000])
    assert [row.uncompared for row in comparison.run(1).rows] == [None, None, "a limit", None, None]


def test_fits_agree_with_plain_scaling_and_transport(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(fits, "DENSE", (300, 60))
    monkeypatch.setattr(fits, "BALANCE", tmp_path / "missing")
    (comparison,) = fits.comparisons([])
    reasons = [row.absent for row in comparison.run(1).rows]
    assert reasons == [None, None, None, None, "make .venv-bench/balance/installed"]


def test_a_fit_that_stops_too_early_is_told_apart(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(fits, "DENSE", (300, 60))
    monkeypatch.setattr(fits, "BALANCE", tmp_path / "missing")
    monkeypatch.setattr(SparseProblem, "count_passes", lambda *_: 2)
    (comparison,) = fits.comparisons([])
    with pytest.raises(Disagreement, match="POT, sinkhorn_knopp disagree: theirs leaves the item mix"):
        comparison.run(1)


def test_ranks_agree_with_implicit(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(ranking, "LENSKIT", tmp_path / "missing")
    monkeypatch.delenv("UNSKEW_DATA", raising=False)
    cases = ranking.comparisons([3000])
    als, ease = next(cases), next(cases)
    assert [row.uncompared for row in als.run(1).rows] == [None, "a limit", None]
    assert [c for c in ease.contenders if isinstance(c, Absent)] == [
        Absent("LensKit, recommend", "make .venv-recipes/lenskit/installed")
    ]


def test_metrics_agree_with_trec_eval(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ranx", None)  # it compiles for half a minute
    (comparison,) = metrics.comparisons([500])
    rows = comparison.run(1).rows
    assert [row.name for row in rows if row.absent is None] == ["unskew", "numpy", "pytrec_eval"]


def test_a_timeline_agrees_with_one_date_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timelines, "EVERY", 50)
    (comparison,) = timelines.comparisons([300])
    assert len(comparison.run(1).rows) == 2


def test_a_fingerprint_sees_another_time_and_no_other_order(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = pa.table({"user": ["a", "b"], "item": ["x", "x"], "time": pa.array([1, 2], pa.timestamp("us"))})
    later = rows.set_column(2, "time", pa.array([1, 3], pa.timestamp("us")))
    found = []
    for name, table in (("rows", rows), ("turned", rows.take([1, 0])), ("later", later)):
        pq.write_table(table, tmp_path / name)
        found.append(fingerprint(duckdb.read_parquet(str(tmp_path / name))))
    assert found[0] == found[1] != found[2]


def test_growth_is_the_cost_of_an_event_and_checked_by_another_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_logs, "FOLDER", tmp_path)
    monkeypatch.setattr(growth, "FOLDER", tmp_path)
    monkeypatch.setattr(growth, "BASE", 4000)
    monkeypatch.setattr(growth, "_EXAMPLE", 4000)
    monkeypatch.setattr(growth, "STEPS", {"fit": "Fitting weights"})
    (comparison,) = growth.comparisons([2000])
    table = comparison.run(1)
    assert [row.events == comparison.sizes[row.name] for row in table.rows] == [True, True]
    svg = tmp_path / "growth.svg"
    Results("growth", MADE, [table]).write(tmp_path)
    write_picture(tmp_path, svg)
    assert svg.read_text().count("Fitting weights") >= 1
    assert "](images/growth.svg)" in render_page(tmp_path)
