"""What is said where there is no Spark, Java or master, or where a cluster cannot help; no cluster runs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import unskew as us
from tests.spark_cluster import free_port
from unskew.cli import main
from unskew.engines import spark_session

LOG = {"user": ["a", "a", "b"], "item": ["x", "y", "x"], "time": [1, 2, 3]}
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
    import pyarrow as pa
    import pyarrow.parquet as pq

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

    monkeypatch.setattr(spark_session, "start_session", refuse)
    assert_one_line(drift(log, "--engine", "spark", "--detect"), "--detect does not work on Spark")
    excess = ["excess", log, "--production", "popular", "--campaign", "1:2", "--engine", "spark"]
    assert_one_line(CliRunner().invoke(main, excess), "'unskew excess' does not work on Spark")


def test_a_reason_is_found_in_what_spark_says() -> None:
    said = "An exception was thrown\n  File x\nValueError: no such thing\nOther text\n\tat org.apache"
    assert "no such thing" in str(spark_session.explain_failure(RuntimeError(said), "a pass"))
    missing = RuntimeError("...\nModuleNotFoundError: No module named 'unskew'\n...")
    told = str(spark_session.explain_failure(missing, "a pass"))
    assert told.startswith("a pass: the Python of the workers has no module 'unskew'")
    assert "\n" not in told
    lost = str(spark_session.explain_failure(ConnectionRefusedError("x"), "a pass"))
    assert lost == "a pass: the Spark cluster was lost: start it again, and then this"


def test_an_engine_error_is_an_error_of_unskew() -> None:
    assert issubclass(us.EngineError, us.UnskewError)
    assert issubclass(us.EngineError, RuntimeError)
