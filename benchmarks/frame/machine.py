"""What a measurement was made with: the machine without its name, versions of libraries, commit and date."""

from __future__ import annotations

import datetime
import os
import platform
import re
import subprocess
import time
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from unskew.arrays.blocks import threads
from unskew.text import enumerate_words

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
    others
        How many cores other programs kept busy meanwhile, on average; None where that cannot be told.
    """

    processor: str
    cores: int
    memory: str
    system: str
    versions: dict[str, str]
    commit: str
    date: str
    others: float | None = None

    def __str__(self) -> str:
        versions = enumerate_words([f"{name} {version}" for name, version in self.versions.items()])
        others = "" if self.others is None else f", of which other programs kept {self.others:g} busy"
        return (
            f"Measured on {self.date} at commit {self.commit} on {self.cores} cores ({self.processor}){others}, "
            f"{self.memory}, {self.system}: {versions}."
        )


class Bystanders:
    """What other programs do on this machine from now on: work that a measurement does not see."""

    def __init__(self) -> None:
        self._began, self._before = time.monotonic(), _seconds_of_others()

    def busy_cores(self) -> float | None:
        """How many cores they have kept busy, on average."""
        now = _seconds_of_others()
        if now is None or self._before is None:
            return None
        return round(max(now - self._before, 0.0) / max(time.monotonic() - self._began, 1e-9), 2)


def _seconds_of_others() -> float | None:
    """Processor time of the machine since it started, without this process and the children that it waited for."""
    try:
        user, nice, system, _, _, *others = Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]
    except (OSError, ValueError):
        return None
    busy = sum(int(ticks) for ticks in (user, nice, system, *others))
    return busy / os.sysconf("SC_CLK_TCK") - sum(os.times()[:4])


def describe(
    libraries: Iterable[str] = (), elsewhere: dict[str, str] | None = None, bystanders: Bystanders | None = None
) -> Made:
    """What is here now. `external` has versions in environments of their own."""
    versions = {"Python": platform.python_version(), "unskew": metadata.version("unskew")}
    versions |= {name: found for name in (*LIBRARIES, *libraries) if (found := _version(name))}
    return Made(
        _read_field("/proc/cpuinfo", "model name") or platform.machine(),
        threads(),
        f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB",
        platform.system(),
        versions | (elsewhere or {}),
        _commit(),
        datetime.datetime.now(datetime.UTC).date().isoformat(),
        None if bystanders is None else bystanders.busy_cores(),
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
