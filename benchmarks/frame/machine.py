"""What a measurement was made with: the machine without its name, versions of libraries, commit and date."""

from __future__ import annotations

import datetime
import os
import platform
import re
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from unskew.arrays.blocks import threads

ROOT = Path(__file__).parents[2]
LIBRARIES = ("numpy", "scipy", "numba", "pyarrow", "duckdb")
"""Those that unskew itself stands on; a benchmark names its own besides."""


@dataclass(frozen=True)
class Made:
    """How a measurement was made.

    Attributes
    ----------
    processor, cores, memory
        The processor by its model, how many cores the process may use, and the memory of the machine.
    versions
        Of Python, unskew and the libraries.
    commit, date
        The commit that was measured, with ``+`` if files differed from it, and the day.
    load
        The load average of the machine in the last quarter of an hour, which tells whether it had other work.
    """

    processor: str
    cores: int
    memory: str
    system: str
    versions: dict[str, str]
    commit: str
    date: str
    load: float | None = None


def describe(libraries: Iterable[str] = (), others: dict[str, str] | None = None) -> Made:
    """What is here now. `others` are versions in environments of their own."""
    versions = {"Python": platform.python_version(), "unskew": metadata.version("unskew")}
    versions |= {name: found for name in (*LIBRARIES, *libraries) if (found := _version(name))}
    return Made(
        _read_field("/proc/cpuinfo", "model name") or platform.machine(),
        threads(),
        f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB",
        platform.system(),
        versions | (others or {}),
        _commit(),
        datetime.datetime.now(datetime.UTC).date().isoformat(),
        round(os.getloadavg()[2], 1),
    )


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _read_field(path: str, name: str) -> str | None:
    try:
        text = Path(path).read_text()
    except OSError:
        return None
    found = re.search(rf"^{name}\s*:\s*(.+)$", text, re.MULTILINE)
    return None if found is None else found[1].strip()


def _commit() -> str:
    def ask(*words: str) -> str:
        return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()

    try:
        changed = ask("status", "--porcelain", "--untracked-files=no", "--", "src", "benchmarks/*.py")
        return ask("rev-parse", "--short", "HEAD") + ("+" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
