"""Jobs on a Spark cluster, and what can go wrong with them, each in one line.

Whatever a cluster does wrong becomes an `EngineError`: it is lost, it has no worker any more, a job failed. Spark
itself waits for ever where all workers are gone; here a job is given up after `PATIENCE` seconds without any.
"""

from __future__ import annotations

import contextlib
import re
import uuid
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYet
from functools import cache
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar

from unskew.errors import EngineError

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

Result = TypeVar("Result")

PATIENCE = 60.0
"""Seconds without any worker after which a job is given up, unless ``spark.unskew.patience`` says otherwise."""

_LOOK = 1.0  # seconds between two looks at the workers
_served: set[str] = set()  # applications that had a worker at some time


def run_job(session: SparkSession, what: str, job: Callable[[], Result]) -> Result:
    """Run a job and wait for it as long as the cluster has any worker; `what` says what it is for."""
    context = session.sparkContext
    name = f"unskew-{uuid.uuid4().hex[:12]}"
    patience = _read_patience(session)

    def run() -> Result:
        context.setJobGroup(name, f"unskew: {what}", interruptOnCancel=False)
        return job()

    with translate_errors(what), without_warnings():
        running = _threads().submit(run)
        try:
            return _wait(session, running, patience, what)
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


def _wait(session: SparkSession, running: Future[Result], patience: float, what: str) -> Result:
    application, alive = str(session.sparkContext.applicationId), monotonic()
    while True:
        try:
            found = running.result(timeout=_LOOK)
        except NotYet:
            if running.done():
                raise
        else:
            _served.add(application)
            return found
        if _count_workers(session) > 0:
            alive = monotonic()
            _served.add(application)
        elif monotonic() - alive > patience:
            master = str(session.sparkContext.master)
            _abandon(session)
            raise _explain_waiting(what, master, patience, served=application in _served)


def _count_workers(session: SparkSession) -> int:
    """How many executors there are; in local mode the driver is the one that there is."""
    context = session.sparkContext
    if str(context.master).startswith("local"):
        return 1
    return int(context._jsc.sc().getExecutorMemoryStatus().size()) - 1


def _abandon(session: SparkSession) -> None:
    """Stop a session whose cluster is gone, so that no thread waits for it for ever."""
    with contextlib.suppress(Exception):
        session.sparkContext._jsc.sc().cancelAllJobs()
        session.stop()


@contextlib.contextmanager
def translate_errors(what: str) -> Iterator[None]:
    """One `EngineError` in one line for whatever Spark, its gateway or a worker raises."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (Py4JError, PySparkException, ConnectionError) as error:
        raise explain_failure(error, what) from error


def explain_failure(error: Exception, what: str) -> EngineError:
    """What went wrong, in one line."""
    text = str(error)
    missing = re.search(r"ModuleNotFoundError: No module named '([\w.]+)'", text)
    if missing:
        return EngineError(
            f"{what}: the Python of the workers has no module {missing[1]!r}",
            remedy="install unskew on every worker, and let PYSPARK_PYTHON name that Python",
        )
    differs = re.search(r"PYTHON_VERSION_MISMATCH[^\n]*", text)
    if differs:
        return EngineError(
            f"{what}: the workers run another version of Python than this one",
            remedy="let PYSPARK_PYTHON name the same version",
        )
    if "TIMESTAMP(NANOS" in text:
        return EngineError(
            f"{what}: a column holds timestamps in nanoseconds, which Spark does not read",
            remedy="write them in microseconds",
        )
    gone = ("SparkContext was shut down", "stopped SparkContext", "Connection refused", "Answer from Java side is")
    if isinstance(error, ConnectionError) or any(words in text for words in gone):
        return EngineError(f"{what}: the Spark cluster was lost", remedy="start it again, and then this")
    return EngineError(f"{what}: Spark failed: {find_reason(text)}")


def find_reason(text: str) -> str:
    """The line of a long message that says most: of the last error that is named, the cause of the others."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    raised = (
        re.match(r"(?:Caused by: |: )?(?:[\w$]+\.)*([\w$]*(?:Error|Exception)\b.*:.*)", line) for line in lines
    )
    told = [found[1] for found in raised if found is not None and "py4j" not in found[0].lower()]
    chosen = told[-1] if told else lines[0] if lines else "?"
    return chosen[:300]


def _explain_waiting(what: str, master: str, patience: float, *, served: bool) -> EngineError:
    """Why a job is given up: the workers are gone, or there never was one."""
    if served:
        return EngineError(
            f"{what}: the Spark cluster at {master} has no worker any more",
            remedy="start workers, and then this again",
        )
    return EngineError(
        f"{what}: the Spark cluster at {master} has given no worker in {patience:g} seconds",
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
