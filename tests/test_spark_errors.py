"""What is said where there is no Spark, Java or master, or where a cluster cannot help; no cluster runs."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import Future
from datetime import date
from pathlib import Path
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

import unskew as us
from tests.spark_cluster import free_port
from unskew.cli import main
from unskew.engines.spark import jobs, tables
from unskew.engines.spark.evaluation import SparkVerdictPlan
from unskew.engines.spark.tables import open_parquet

LOG: dict[str, Any] = {"user": ["a", "a", "b"], "item": ["x", "y", "x"], "time": [1, 2, 3]}
WITHOUT = """
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "pyspark":
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Missing())
sys.path_importer_cache.clear()
from unskew.cli import main
main(sys.argv[1:])
"""


@pytest.fixture
def log(tmp_path: Path) -> str:
    pq.write_table(pa.table(LOG), tmp_path / "log.parquet")
    return str(tmp_path / "log.parquet")


def drift(log: str, *more: str) -> Result:
    return CliRunner().invoke(main, ["drift", log, "--reference", "1", "--at", "3", *more])


def assert_one_line(done: Result, *words: str) -> None:
    assert done.exit_code == 2, done.output
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1, done.stderr
    for word in words:
        assert word in done.stderr


def test_a_master_that_does_not_answer(log: str) -> None:
    url = f"spark://127.0.0.1:{free_port()}"
    assert_one_line(drift(log, "--engine", "spark", "--master", url), url, "does not answer", "is it running")


@pytest.mark.parametrize("url", ["spark://here", "spark://127.0.0.1:99999", "127.0.0.1:7077"])
def test_a_master_that_is_no_address(log: str, url: str) -> None:
    assert_one_line(drift(log, "--engine", "spark", "--master", url), f"--master {url}", "spark://HOST:PORT")


def test_no_java(log: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert_one_line(drift(log, "--engine", "spark"), "Spark needs Java", "apt-get install default-jre-headless")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert_one_line(drift(log, "--engine", "spark"), "JAVA_HOME", str(tmp_path))


def test_no_pyspark(log: str) -> None:
    arguments = ["drift", log, "--reference", "1", "--at", "3", "--engine", "spark"]
    done = subprocess.run([sys.executable, "-c", WITHOUT, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.splitlines() == [
        "error: the Spark engine needs pyspark: install it: pip install 'unskew[spark]'"
    ]


def test_options_of_a_cluster_without_one(log: str) -> None:
    assert_one_line(drift(log, "--master", "local[1]"), "--master", "--engine spark")
    assert_one_line(drift(log, "--spark-conf", "a=b"), "--spark-conf", "--engine spark")
    assert_one_line(drift(log, "--engine", "spark", "--spark-conf", "a"), "--spark-conf is 'a'", "KEY=VALUE")


def test_what_does_not_work_there_is_refused_before_spark_is_started(
    log: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("Spark was started")

    monkeypatch.setattr(jobs, "start_session", refuse)
    assert_one_line(drift(log, "--engine", "spark", "--detect"), "--detect does not work on Spark")
    excess = ["excess", log, "--production", "popular", "--campaign", "1:2", "--engine", "spark"]
    assert_one_line(CliRunner().invoke(main, excess), "'unskew excess' does not work on Spark")


def test_limits_of_reading_here_are_refused_there(log: str, tmp_path: Path) -> None:
    spark = ("--engine", "spark", "--master", f"spark://127.0.0.1:{free_port()}")
    instead = "give --spark-conf spark.executor.memory=8g instead"
    assert_one_line(drift(log, *spark, "--memory-limit", "4GB"), "--memory-limit is about", instead)
    instead = "give --spark-conf spark.local.dir=/scratch instead"
    assert_one_line(drift(log, *spark, "--temp-dir", str(tmp_path)), "--temp-dir is about", instead)
    frame = type("DataFrame", (), {"__module__": "pyspark.sql.classic.dataframe"})()
    with pytest.raises(us.EngineError, match=r"memory_limit is about.*: set spark.executor.memory of its session"):
        us.read_log(frame, memory_limit="4GB")
    with pytest.raises(us.EngineError, match=r"temp_dir is about.*: set spark.local.dir of its session"):
        us.read_log(frame, temp_dir=tmp_path)


@pytest.mark.parametrize("limit", ["4GB", "nonsense"])
def test_limits_of_the_environment_are_for_this_machine_alone(
    log: str, limit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UNSKEW_MEMORY_LIMIT", limit)
    url = f"spark://127.0.0.1:{free_port()}"
    assert_one_line(drift(log, "--engine", "spark", "--master", url), "does not answer")


class _Waiting:
    """A session whose cluster has no worker, as much of it as waiting asks for."""

    master = "yarn"

    def __init__(self, application: str) -> None:
        self.applicationId = application
        self.sparkContext = self._jsc = self

    def sc(self) -> _Waiting:
        return self

    def getExecutorMemoryStatus(self) -> _Executors:  # noqa: N802
        return _Executors(["the driver"])

    def cancelAllJobs(self) -> None: ...  # noqa: N802

    def stop(self) -> None: ...


class _Executors(list[str]):
    def size(self) -> int:
        return len(self)


def test_workers_that_never_came_are_told_apart_from_workers_that_are_gone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(jobs, "_LOOK", 0.01)
    session: Any = _Waiting("one")
    with pytest.raises(us.EngineError) as never:
        jobs._wait(session, Future(), 0.05, "reading")
    assert "the Spark cluster at yarn has given no worker in 0.05 seconds: has its queue room" in str(never.value)
    assert "spark.unskew.patience=600" in str(never.value)
    done = Future[int]()
    done.set_result(3)
    assert jobs._wait(session, done, 0.05, "reading") == 3
    with pytest.raises(us.EngineError, match="at yarn has no worker any more: start workers"):
        jobs._wait(session, Future(), 0.05, "a pass")


def test_settings_of_the_user_and_of_the_site_come_before_ours(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    alone = jobs.choose_settings("yarn", {})
    assert alone["spark.executor.memory"] == "1g"
    (tmp_path / "spark-defaults.conf").write_text(
        "# spark.driver.memory 2g\n spark.executor.memory   16g\nspark.sql.shuffle.partitions=2000\n\n"
    )
    found = jobs.choose_settings("yarn", {"spark.sql.shuffle.partitions": "5000"})
    assert found == {
        **{key: value for key, value in alone.items() if key != "spark.executor.memory"},
        "spark.sql.shuffle.partitions": "5000",
    }


def test_a_reason_is_found_in_what_spark_says() -> None:
    said = "An exception was thrown\n  File x\nValueError: no such thing\nOther text\n\tat org.apache"
    assert "no such thing" in str(jobs.explain_failure(RuntimeError(said), "a pass"))
    missing = RuntimeError("...\nModuleNotFoundError: No module named 'unskew'\n...")
    told = str(jobs.explain_failure(missing, "a pass"))
    assert told.startswith("a pass: the Python of the workers has no module 'unskew'")
    assert "\n" not in told
    lost = str(jobs.explain_failure(ConnectionRefusedError("x"), "a pass"))
    assert lost == "a pass: the Spark cluster was lost: start it again, and then this"


def test_the_cause_is_the_last_error_that_java_names() -> None:
    said = """An error occurred while calling o15.parquet.
: org.apache.spark.SparkException: Job aborted due to stage failure
\tat org.apache.spark.Some.method(Some.scala:1)
Caused by: java.lang.RuntimeException: a.parquet is not a Parquet file
\tat org.apache.parquet.Other.method(Other.java:2)"""
    told = str(jobs.explain_failure(RuntimeError(said), "reading a.parquet"))
    assert told == (
        "reading a.parquet: Spark failed: RuntimeException: a.parquet is not a Parquet file: "
        "look into the logs of the cluster"
    )
    nanos = RuntimeError("[PARQUET_TYPE_ILLEGAL] Illegal Parquet type: INT64 (TIMESTAMP(NANOS,false)).")
    assert "nanoseconds, which Spark does not read" in str(jobs.explain_failure(nanos, "reading"))


@pytest.mark.parametrize("text", ["abc", "-1", "1e9", "inf"])
def test_patience_that_is_no_number_of_seconds(text: str) -> None:
    session: Any = _Waiting("one")
    session.conf = {"spark.unskew.patience": text}
    with pytest.raises(us.EngineError, match=rf"^spark.unskew.patience is '{text}': make it a number of seconds"):
        jobs.run_job(session, "reading", int)


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("_log.parquet", LOG, r"names begin with _ or \., end in .*, such as .*_log.parquet: rename it"),
        ("a:b.parquet", LOG, "or have a colon, such as .*a:b.parquet: rename it"),
        ("log.csv", b"user,item,time\n1,2,3\n", "on Spark only Parquet files are read, not .*log.csv: convert it"),
        ("log.parquet", b"", "log.parquet is empty"),
        ("log.parquet", b"user,item,time\n1,2,3\n", "log.parquet ends in .parquet but is not a Parquet file"),
        (
            "log.parquet",
            LOG | {"seen": np.zeros(3, "datetime64[ns]")},
            "column 'seen' of .*log.parquet holds timestamps in nanoseconds, which Spark does not read",
        ),
    ],
)
def test_files_that_spark_would_not_read(name: str, content: Any, told: str, tmp_path: Path) -> None:
    if isinstance(content, bytes):
        (tmp_path / name).write_bytes(content)
    else:
        pq.write_table(pa.table(content), str(tmp_path / name))
    session: Any = None
    with pytest.raises(us.UnskewError, match=told):
        open_parquet([tmp_path / name], session)


def test_timestamps_as_spark_writes_them_are_no_nanoseconds(tmp_path: Path) -> None:
    table, session = pa.table(LOG | {"seen": np.zeros(3, "datetime64[ns]")}), cast(Any, None)
    pq.write_table(table, tmp_path / "log.parquet", use_deprecated_int96_timestamps=True)
    assert open_parquet([tmp_path / "log.parquet"], session).parts[0].kinds["seen"].startswith("TIMESTAMP")


@pytest.mark.parametrize(
    ("texts", "kind", "expected"),
    [
        (["1", "20"], "BIGINT", [1, 20]),
        (["01", "20"], "VARCHAR", ["01", "20"]),
        (["2024-03-01", "x"], "VARCHAR", ["2024-03-01", "x"]),
        (["01", "-20"], "", [1, -20]),
        (["1.5", "-2."], "", [1.5, -2.0]),
        (["2024-03-01", "2024-03-02"], "", [date(2024, 3, 1), date(2024, 3, 2)]),
        (["true", "False"], "", [True, False]),
    ],
)
def test_what_folders_tell_has_a_type_by_its_role(texts: list[str], kind: str, expected: list[Any]) -> None:
    assert tables._read_folder_names(texts, "name", kind).to_pylist() == expected


def test_times_that_folders_tell_must_be_clear() -> None:
    with pytest.raises(us.EngineError, match=r"whole numbers, decimal numbers or dates, and 'when' is 'May 1'"):
        tables._read_folder_names(["May 1", "May 2"], "when", "")


def test_files_here_and_on_the_cluster_are_not_read_together(log: str) -> None:
    session: Any = None
    with pytest.raises(us.EngineError, match=r"^hdfs://x/a.parquet is on the cluster and .*log.parquet is not"):
        open_parquet([log, "hdfs://x/a.parquet"], session)
    with pytest.raises(us.EngineError, match="only Parquet files are read, not standard input"):
        open_parquet(["-"], session)


def test_an_engine_error_is_an_error_of_unskew() -> None:
    assert issubclass(us.EngineError, us.UnskewError)
    assert issubclass(us.EngineError, RuntimeError)


@pytest.mark.parametrize(
    ("command", "step"),
    [
        (
            "unskew evaluate a.parquet --engine spark --master=yarn --spark-conf a.b=c -r popular",
            "unskew evaluate a.parquet -r popular",
        ),
        (
            "unskew evaluate 'hdfs://x/events/*.parquet' --engine=spark --master spark://h:7077 -r popular",
            "unskew evaluate '*.parquet' -r popular",
        ),
        ("unskew evaluate a.parquet -r popular", "unskew evaluate a.parquet -r popular --engine local"),
    ],
    ids=["options", "files of the cluster", "engine of the configuration"],
)
def test_the_next_step_of_a_verdict_is_the_command_on_one_machine(command: str, step: str) -> None:
    nothing: Any = None
    plan = SparkVerdictPlan(nothing, {}, [], [], nothing, None, None, command=command)
    assert list(plan._list_steps("undecided", [])) == [step]
    assert list(plan._list_steps("better", [])) == []
