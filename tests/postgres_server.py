"""A real PostgreSQL server on this machine, on a loopback address, in a folder of its own."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.debian import require_program

PASSWORD = "s3cr3t-word"


@dataclass(frozen=True)
class PostgresServer:
    """A running server.

    Attributes
    ----------
    programs
        The folder of its programs.
    """

    programs: Path
    port: int

    @property
    def uri(self) -> str:
        """The address of its only database, with the password."""
        return f"postgresql://shopkeeper:{PASSWORD}@127.0.0.1:{self.port}/postgres"

    def run(self, sql: str) -> str:
        """Run statements, each by itself, and return what is printed."""
        command = [str(self.programs / "psql"), self.uri, "-X", "-q", "-At", "-v", "ON_ERROR_STOP=1", "-f", "-"]
        return subprocess.run(command, input=sql, capture_output=True, text=True, check=True).stdout


@contextlib.contextmanager
def run_postgres() -> Iterator[PostgresServer]:
    """Start a server, with its data in a folder that its user may enter, and stop it in the end."""
    with tempfile.TemporaryDirectory(prefix="unskew-postgres-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield from _run_in(folder)


def _run_in(folder: Path) -> Iterator[PostgresServer]:
    programs = Path(require_program(_find_initdb, "postgresql")).parent
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    prefix = []
    if os.geteuid() == 0:  # which the server refuses to run as
        prefix = ["runuser", "-u", "postgres", "--"]
        shutil.chown(folder, "postgres")
    word = folder / "word"
    word.write_text(PASSWORD)
    word.chmod(0o644)
    data, log = str(folder / "data"), str(folder / "log")

    def run(program: str, *arguments: str) -> None:
        command = [*prefix, str(programs / program), *arguments]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT, cwd="/")

    run("initdb", "-D", data, "-U", "shopkeeper", "-A", "scram-sha-256", f"--pwfile={word}", "-E", "UTF8")
    settings = f"-p {port} -k '' -c listen_addresses=127.0.0.1 -c fsync=off"
    run("pg_ctl", "-D", data, "-l", log, "-o", settings, "-w", "start")
    try:
        yield PostgresServer(programs, port)
    finally:
        run("pg_ctl", "-D", data, "-m", "immediate", "-w", "stop")


def _find_initdb() -> str | None:
    installed = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), reverse=True)
    return str(installed[0]) if installed else shutil.which("initdb")
