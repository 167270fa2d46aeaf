"""A real Spark cluster on this machine: one master and workers from the pip wheel, on loopback addresses."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import pyspark

HOME = Path(pyspark.__file__).parent
QUICK = (  # a JVM that starts soon rather than runs fast
    "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"
)
CONF = {
    "spark.driver.memory": "512m",
    "spark.executor.memory": "480m",
    "spark.driver.extraJavaOptions": QUICK,
    "spark.executor.extraJavaOptions": QUICK,
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",  # compiling takes longer than a few thousand rows do
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.shuffle.io.retryWait": "200ms",  # until somebody is asked again who was killed
    "spark.standalone.executorRemoveDelayOnDisconnection": "200ms",
    "spark.python.unix.domain.socket.enabled": "true",  # 40 ms less for every task
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
}


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@dataclass
class Cluster:
    """A master and its workers, each a process that was started here and is ended by its own handle."""

    folder: Path
    memory: str = "512m"
    port: int = field(default_factory=free_port)
    master: subprocess.Popen[bytes] | None = None
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"spark://127.0.0.1:{self.port}"

    def start(self, workers: int = 2) -> None:
        self.master = self._run("Master", "--port", str(self.port), "--webui-port", str(free_port()))
        self._wait_until_it_listens()
        for _ in range(workers):
            self.add_worker()

    def add_worker(self) -> None:
        place = str(self.folder / f"worker{len(self.workers)}")
        more = ("--cores", "1", "--memory", self.memory, "--webui-port", str(free_port()), "--work-dir", place)
        self.workers.append(self._run("Worker", *more, self.url))

    def stop(self) -> None:
        for process in [*self.workers, *([self.master] if self.master else [])]:
            kill(process)

    def _run(self, what: str, *arguments: str) -> subprocess.Popen[bytes]:
        env = {
            **os.environ,
            "SPARK_HOME": str(HOME),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_DAEMON_MEMORY": "128m",
            "SPARK_DAEMON_JAVA_OPTS": QUICK,
            "SPARK_LOCAL_DIRS": str(self.folder),
            "PYSPARK_PYTHON": sys.executable,
        }
        command = [str(HOME / "bin" / "spark-class"), f"org.apache.spark.deploy.{what.lower()}.{what}"]
        with (self.folder / f"{what}{len(self.workers)}.log").open("wb") as log:
            return subprocess.Popen(
                [*command, "--host", "127.0.0.1", *arguments],
                env=env,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def _wait_until_it_listens(self) -> None:
        """Its port is open a moment before it hears, and who asks in that moment waits for 20 seconds."""
        log = self.folder / "Master0.log"
        for _ in range(600):
            if "I have been elected leader" in log.read_text():
                return
            time.sleep(0.1)
        raise AssertionError(log.read_text())


def kill(process: subprocess.Popen[bytes]) -> None:
    """End a process at once, with the executors that it started, which share its group."""
    if process.poll() is None:
        os.killpg(process.pid, 9)
        process.wait()
