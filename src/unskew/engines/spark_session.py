"""A Spark session of one's own or started here: its settings, and in one line what keeps one from starting."""

from __future__ import annotations

import atexit
import os
import re
import shutil
import socket
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING

from unskew.engines.spark_jobs import find_reason, without_warnings
from unskew.errors import EngineError, option

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

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
        _require_same_master(active, master)
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


def _require_same_master(active: SparkSession, master: str | None) -> None:
    have = active.sparkContext.master
    if master is not None and master != have:
        raise EngineError(
            f"a Spark session at {have} is running already", remedy=f"stop it, or leave out {option('master')}"
        )


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
                    f"{option('spark_conf', f'{key}={value}')}: {find_reason(str(error))}"
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
    found = re.fullmatch(r"spark://([^:/,]+):([0-9]{1,5})((,[^:/,]+:[0-9]{1,5})*)", master)
    if found is None or int(found[2]) >= 2**16:
        raise EngineError(f"{option('master', master)} is no address", remedy="write spark://HOST:PORT")
    places = [one.rpartition(":") for one in master.removeprefix("spark://").split(",")]
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
    theirs = _read_defaults()
    ours = {key: value for key, value in _OURS.items() if key not in theirs}
    return {"spark.app.name": "unskew", **ours, **conf, "spark.master": master}


def _read_defaults() -> set[str]:
    """The settings that spark-defaults.conf makes, where Spark itself looks for it."""
    from pyspark.find_spark_home import _find_spark_home

    folder = os.environ.get("SPARK_CONF_DIR") or Path(_find_spark_home()) / "conf"
    try:
        lines = (Path(folder) / "spark-defaults.conf").read_text(errors="replace").splitlines()
    except OSError:
        return set()
    found = (re.match(r"\s*([^\s#!=:]+)", line) for line in lines)
    return {one[1] for one in found if one is not None}


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
    said = folder / "spark.log"
    with said.open("wb") as log, without_warnings():
        try:
            options: dict[str, IO[bytes]] = {"stdout": log, "stderr": log}
            chosen = SparkConf(loadDefaults=False).setAll(list(settings.items()))
            # a session that has ended leaves its Java behind, which would keep its settings
            gateway = SparkContext._gateway or launch_gateway(chosen, options)  # type: ignore[no-untyped-call]
            context = SparkContext(conf=chosen, gateway=gateway)
        except (Py4JError, PySparkException, OSError) as error:
            raise EngineError(
                f"Spark at {master} did not start: {_read_last(said) or find_reason(str(error))}"
            ) from error
    return SparkSession(context)


def _read_last(said: Path) -> str:
    """The last line that Spark wrote about an error."""
    lines = said.read_text(errors="replace").splitlines()
    told = [line for line in lines if re.search(r"error|exception", line, re.IGNORECASE) and "\tat " not in line]
    return told[-1].strip()[:300] if told else ""
