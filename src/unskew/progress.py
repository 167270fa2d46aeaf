"""Progress of long work: library code reports, and whoever runs it decides what is shown.

By default nothing is shown. The command line installs a reporter that writes to the terminal; so
library code never asks where it runs.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar


class Progress:
    """A reporter that shows nothing; the base of those that do."""

    def stage(self, text: str) -> None:
        """A new piece of work begins."""

    def note(self, text: str) -> None:
        """Something worth knowing about the piece of work under way."""


_current: ContextVar[Progress] = ContextVar("progress", default=Progress())  # noqa: B039 (has no state)


def progress() -> Progress:
    """The reporter in force."""
    return _current.get()


@contextlib.contextmanager
def reporting(reporter: Progress) -> Iterator[None]:
    """Report to `reporter` inside the block."""
    token = _current.set(reporter)
    try:
        yield
    finally:
        _current.reset(token)
