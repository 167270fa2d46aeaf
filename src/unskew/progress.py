"""Progress of long work: library code reports, and whoever runs it decides what is shown.

By default nothing is shown but that loops are being compiled, and that only on a terminal. The command line
installs a reporter that shows more, so that library code never asks where it runs.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator

COMPILING = "compiling the loops for this machine, once after installation"


class Progress:
    """A reporter that shows next to nothing; the base of those that show more."""

    def step(self, number: int, total: int, text: str) -> None:
        """A large part of the work begins, of several; stages are parts of it."""

    def stage(self, text: str) -> None:
        """A new piece of work begins."""

    def note(self, text: str) -> None:
        """Something worth knowing about the piece of work under way."""

    def begin(self, text: str, total: int, unit: str) -> None:
        """A new piece of work begins that consists of `total` equal steps."""

    def advance(self, steps: int) -> None:
        """So many of these steps are done."""

    def reached(self) -> str:
        """How far the piece of work under way has come, in words; empty if that is not known."""
        return ""

    def compiling(self) -> None:
        """The first call is going to take some seconds."""
        if sys.stderr is not None and sys.stderr.isatty():
            print(f"unskew: {COMPILING}", file=sys.stderr)

    def close(self) -> None:
        """Nothing more is coming."""


class QuietSteps(Progress):
    """For the work inside one step of a larger piece: that piece alone is shown, and that loops are compiled."""

    def __init__(self, whole: Progress) -> None:
        self._whole = whole

    def compiling(self) -> None:
        self._whole.compiling()

    def close(self) -> None:
        self._whole.close()


_reporters: list[Progress] = [Progress()]  # for all threads: a kernel may be compiled in any of them


def progress() -> Progress:
    """The reporter in force."""
    return _reporters[-1]


@contextlib.contextmanager
def reporting(reporter: Progress) -> Iterator[None]:
    """Report to `reporter` inside the block."""
    _reporters.append(reporter)
    try:
        yield
    finally:
        _reporters.remove(reporter)
