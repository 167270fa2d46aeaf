"""A Spark session, jobs on its cluster, and what can go wrong with them, each in one line.

Whatever a cluster does wrong becomes an `EngineError`: it does not start, it is lost, it has no worker any more, a
job failed. Spark itself waits for ever where all workers are gone; here a job is given up after `PATIENCE` seconds
without any.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import re
import shutil
import socket
import sys
import tempfile
import uuid
import warnings
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYet
from functools import cache
from pathlib import Path
from time import monotonic
from typing import IO, TYPE_CHECKING, Any, TypeVar

from unskew.errors import EngineError, option

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession


Result = TypeVar("Result")

PATIENCE = 60.0
"""Seconds without any worker after which a job is given up, unless ``spark.unskew.patience`` says otherwise."""

_LOOK = 1.0  # seconds between two looks at the workers
_served: set[str] = set()  # applications that had a worker at some time


def run_job(session: SparkSession, purpose: str, job: Callable[[], Result]) -> Result:
    """Run a job and wait for it as long as the cluster has any worker; `purpose` says what it is for."""
    context = session.sparkContext
    name = f"unskew-{uuid.uuid4().hex[:12]}"
    patience = _read_patience(session)

    def run() -> Result:
        context.setJobGroup(name, f"unskew: {purpose}", interruptOnCancel=False)
        return job()

    with translate_errors(purpose), without_warnings():
        running = _threads().submit(run)
        try:
            return _wait(session, running, patience, purpose)
        except BaseException:
            with contextlib.suppress(Exception):
                context.cancelJobGroup(name)
            raise


def _read_patience(session: SparkSession) -> float:
    text = session.conf.get("spark.unskew.patience", None) or str(PATIENCE)
    if not re.fullmatch(r"[0-9]{1,9}(\.[0-9]*)?", text):
        raise EngineError(f"spark.unskew.patience is {text!r}", remedy="make it a number of seconds, such as 600")
    return float(text)


@cache
def _threads() -> ThreadPoolExecutor:
    """Threads that wait for jobs, kept: each has a connection to Spark."""
    return ThreadPoolExecutor(4, thread_name_prefix="unskew-spark")


def _wait(session: SparkSession, running: Future[Result], patience: float, purpose: str) -> Result:
    application, alive = str(session.sparkContext.applicationId), monotonic()
    while True:
        try:
            result = running.result(timeout=_LOOK)
        except NotYet:
            if running.done():
                raise
        else:
            _served.add(application)
            return result
        if _count_workers(session) > 0:
            alive = monotonic()
            _served.add(application)
        elif monotonic() - alive > patience:
            master = str(session.sparkContext.master)
            with contextlib.suppress(Exception):  # so that no thread waits for ever for a cluster that is gone
                session.sparkContext._jsc.sc().cancelAllJobs()
                session.stop()
            raise _explain_waiting(purpose, master, patience, served=application in _served)


def _count_workers(session: SparkSession) -> int:
    """How many executors there are; in local mode the driver is the one that there is."""
    context = session.sparkContext
    if str(context.master).startswith("local"):
        return 1
    return int(context._jsc.sc().getExecutorMemoryStatus().size()) - 1


@contextlib.contextmanager
def translate_errors(purpose: str) -> Iterator[None]:
    """One `EngineError` in one line for whatever Spark, its gateway or a worker raises."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (Py4JError, PySparkException, ConnectionError) as error:
        raise explain_failure(error, purpose) from error


def explain_failure(error: Exception, purpose: str) -> EngineError:
    """What went wrong, in one line."""
    text = str(error)
    missing = re.search(r"ModuleNotFoundError: No module named '([\w.]+)'", text)
    if missing:
        return EngineError(
            f"{purpose}: the Python of the workers has no module {missing[1]!r}",
            remedy="install unskew on every worker, and let PYSPARK_PYTHON name that Python",
        )
    differs = re.search(r"PYTHON_VERSION_MISMATCH[^\n]*", text)
    if differs:
        return EngineError(
            f"{purpose}: the workers run another version of Python than this one",
            remedy="let PYSPARK_PYTHON name the same version",
        )
    if "TIMESTAMP(NANOS" in text:
        return EngineError(
            f"{purpose}: a column holds timestamps in nanoseconds, which Spark does not read",
            remedy="write them in microseconds",
        )
    gone = ("SparkContext was shut down", "stopped SparkContext", "Connection refused", "Answer from Java side is")
    if isinstance(error, ConnectionError) or any(words in text for words in gone):
        return EngineError(f"{purpose}: the Spark cluster was lost", remedy="start it again, and then this")
    return EngineError(f"{purpose}: Spark failed: {find_reason(text)}", remedy="look into the logs of the cluster")


def find_reason(text: str) -> str:
    """The line of a long message that says most: of the last error that is named, the cause of the others."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    raised = (
        re.match(r"(?:Caused by: |: )?(?:[\w$]+\.)*([\w$]*(?:Error|Exception)\b.*:.*)", line) for line in lines
    )
    reasons = [match[1] for match in raised if match is not None and "py4j" not in match[0].lower()]
    chosen = reasons[-1] if reasons else lines[0] if lines else "?"
    return chosen[:300]


def _explain_waiting(purpose: str, master: str, patience: float, *, served: bool) -> EngineError:
    """Why a job is given up: the workers are gone, or there never was one."""
    if served:
        return EngineError(
            f"{purpose}: the Spark cluster at {master} has no worker any more",
            remedy="start workers, and then this again",
        )
    return EngineError(
        f"{purpose}: the Spark cluster at {master} has given no worker in {patience:g} seconds",
        remedy="has its queue room for what spark.executor.memory asks for? With spark.unskew.patience=600, ten "
        "minutes are waited",
    )


def map_in_arrow(frame: DataFrame, function: Callable[..., Any], schema: str) -> DataFrame:
    """A table that the function makes of another, batch by batch, on the workers."""
    with without_warnings():
        return frame.mapInArrow(function, schema)


def create_table(session: SparkSession, table: pa.Table) -> DataFrame:
    """A table of this machine as one of the cluster."""
    with without_warnings():
        return session.createDataFrame(table)


@contextlib.contextmanager
def without_warnings() -> Iterator[None]:
    """Pandas 3 is more than pyspark says it knows; none of it is used here but its version."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas")
        yield


DEFAULT_MASTER = "local[*]"
_REACH = 5.0  # seconds in which a master must answer
_OURS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.memory": "1g",
    "spark.executor.memory": "1g",
    "spark.sql.shuffle.partitions": "64",  # those of blocks follow from the data
    "spark.driver.maxResultSize": "0",
    "spark.log.level": "ERROR",
}
"""Settings of a session that is started here, where neither the user nor spark-defaults.conf says anything."""


def start_session(master: str | None = None, conf: Mapping[str, str] | None = None) -> SparkSession:
    """The session that is there already, or a new one at a master: ``spark://HOST:PORT``, ``local[2]``, ``yarn``.

    What Spark has to say goes to a file and not to the terminal.
    """
    require_spark()
    with without_warnings():
        from pyspark.sql import SparkSession
    active = SparkSession.getActiveSession()
    if active is not None and not active.sparkContext._jsc.sc().isStopped():
        have = active.sparkContext.master
        if master is not None and master != have:
            raise EngineError(
                f"a Spark session at {have} is running already", remedy=f"stop it, or leave out {option('master')}"
            )
        _change_settings(active, conf or {})
        return active
    wanted = master or DEFAULT_MASTER
    _require_java()
    _require_answer(wanted)
    return _launch(wanted, dict(conf or {}))


def require_spark() -> None:
    """Refuse to go on without pyspark."""
    try:
        with without_warnings():
            import pyspark  # noqa: F401
    except ImportError:
        raise EngineError(
            "the Spark engine needs pyspark", remedy="install it: pip install 'unskew[spark]'"
        ) from None


def _change_settings(active: SparkSession, conf: Mapping[str, str]) -> None:
    """Make settings of a session that runs; most of those that are not about SQL are made before."""
    from pyspark.errors import PySparkException

    for key, value in conf.items():
        if active.conf.get(key, None) == value:
            continue
        try:
            active.conf.set(key, value)
        except PySparkException as error:
            if "CANNOT_MODIFY" not in (error.getCondition() or ""):
                raise EngineError(
                    f"{option('spark_conf', f'{key}={value}')}: {find_reason(str(error))}",
                    remedy="check its name and its value",
                ) from error
            raise EngineError(
                f"{key} cannot be set any more: a Spark session is running already",
                remedy=f"stop it, or leave out {option('spark_conf')}",
            ) from None


def _require_java() -> None:
    home = os.environ.get("JAVA_HOME")
    if shutil.which("java", path=str(Path(home) / "bin") if home else None) is None:
        where = f" in JAVA_HOME, which is {home}" if home else ""
        raise EngineError(
            f"Spark needs Java, and there is none{where}",
            remedy="install Java 17 or newer: apt-get install default-jre-headless",
        )


def _require_answer(master: str) -> None:
    """Refuse a standalone master that does not answer; Spark would try for a minute."""
    if not re.fullmatch(r"(local|spark|yarn|k8s).*", master):
        raise EngineError(
            f"{option('master', master)} is no address of a Spark cluster",
            remedy="write spark://HOST:PORT, local[2], yarn or k8s://...",
        )
    if not master.startswith("spark://"):
        return
    match = re.fullmatch(r"spark://([^:/,]+):([0-9]{1,5})((,[^:/,]+:[0-9]{1,5})*)", master)
    if match is None or int(match[2]) >= 2**16:
        raise EngineError(f"{option('master', master)} is no address", remedy="write spark://HOST:PORT")
    places = [address.rpartition(":") for address in master.removeprefix("spark://").split(",")]
    reasons = []
    for host, _, port in places:
        try:
            socket.create_connection((host, int(port)), timeout=_REACH).close()
        except OSError as error:
            reasons.append(error.strerror or str(error))
        else:
            return
    raise EngineError(
        f"the Spark master at {master} does not answer ({reasons[0]})",
        remedy="is it running, and is this its port?",
    )


def choose_settings(master: str, conf: Mapping[str, str]) -> dict[str, str]:
    """The settings of a new session: those given, and ours for what spark-defaults.conf leaves open."""
    configured = _read_defaults()
    defaults = {key: value for key, value in _OURS.items() if key not in configured}
    return {"spark.app.name": "unskew", **defaults, **conf, "spark.master": master}


def _read_defaults() -> set[str]:
    """The settings that spark-defaults.conf makes, where Spark itself looks for it."""
    from pyspark.find_spark_home import _find_spark_home

    folder = os.environ.get("SPARK_CONF_DIR") or Path(_find_spark_home()) / "conf"
    try:
        lines = (Path(folder) / "spark-defaults.conf").read_text(errors="replace").splitlines()
    except OSError:
        return set()
    matches = (re.match(r"\s*([^\s#!=:]+)", line) for line in lines)
    return {match[1] for match in matches if match is not None}


def _launch(master: str, conf: dict[str, str]) -> SparkSession:
    from py4j.protocol import Py4JError
    from pyspark import SparkConf, SparkContext
    from pyspark.errors import PySparkException
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    settings = choose_settings(master, conf)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    folder = Path(tempfile.mkdtemp(prefix="unskew-spark-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    output = folder / "spark.log"
    with output.open("wb") as log, without_warnings():
        try:
            options: dict[str, IO[bytes]] = {"stdout": log, "stderr": log}
            chosen = SparkConf(loadDefaults=False).setAll(list(settings.items()))
            # a session that has ended leaves its Java behind, which would keep its settings
            gateway = SparkContext._gateway or launch_gateway(chosen, options)  # type: ignore[no-untyped-call]
            context = SparkContext(conf=chosen, gateway=gateway)
        except (Py4JError, PySparkException, OSError) as error:
            raise EngineError(
                f"Spark at {master} did not start: {_read_last(output) or find_reason(str(error))}",
                remedy="check its address, its settings and that Java is installed",
            ) from error
    return SparkSession(context)


def _read_last(output: Path) -> str:
    """The last line that Spark wrote about an error."""
    lines = output.read_text(errors="replace").splitlines()
    errors = [line for line in lines if re.search(r"error|exception", line, re.IGNORECASE) and "\tat " not in line]
    return errors[-1].strip()[:300] if errors else ""
