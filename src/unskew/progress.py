"""Progress of long work: library code reports, and whoever runs it decides what is shown.

By default it goes to the logger ``unskew``, and nothing is shown but that loops are being compiled, on a terminal.
The command line installs a reporter that shows more, and `show_progress` one for Python users: library code never
asks where it runs.
"""

from __future__ import annotations

import contextlib
import logging
import sys
from collections.abc import Callable, Iterator
from typing import Any

from unskew.checks import public

LOGGER = logging.getLogger("unskew")

COMPILING = "compiling the loops for this machine, once after installation"


class Progress:
    """A reporter that logs and shows next to nothing; the base of those that show more."""

    def step(self, number: int, total: int, text: str) -> None:
        """A large part of the work begins, of several; stages are parts of it."""
        LOGGER.info("[%d/%d] %s", number, total, text)

    def stage(self, text: str) -> None:
        """A new piece of work begins."""
        LOGGER.info("%s", text)

    def note(self, text: str) -> None:
        """Something worth knowing about the piece of work under way."""
        LOGGER.debug("%s", text)

    def begin(self, text: str, total: int, unit: str) -> None:
        """A new piece of work begins that consists of `total` equal steps."""
        LOGGER.info("%s: %d %s", text, total, unit)

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


class CalledProgress(Progress):
    """Calls a function of a text, the steps done and their number, which is None where it is not known."""

    def __init__(self, show: Callable[[str, int, int | None], Any]) -> None:
        self._show = show
        self._text, self._done, self._total = "", 0, 0

    def step(self, number: int, total: int, text: str) -> None:
        super().step(number, total, text)
        self._show(f"[{number}/{total}] {text}", 0, None)

    def stage(self, text: str) -> None:
        super().stage(text)
        self._show(text, 0, None)

    def begin(self, text: str, total: int, unit: str) -> None:
        super().begin(text, total, unit)
        self._text, self._done, self._total = text, 0, total
        self._show(text, 0, total)

    def advance(self, steps: int) -> None:
        self._done += steps
        self._show(self._text, self._done, self._total)


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


@public
@contextlib.contextmanager
def show_progress(to: Callable[..., Any]) -> Iterator[None]:
    """Show the progress of what runs inside the block.

    Parameters
    ----------
    to
        ``tqdm.tqdm`` or another class of bars with ``update`` and ``close``; or a function that is called with a
        text, how many steps are done, and how many there are (None if that is not known).

    Examples
    --------
    >>> import unskew as us
    >>> log = us.read_log({"user": [1, 1, 2], "item": [1, 2, 1], "time": [1, 2, 3]})
    >>> with us.show_progress(lambda text, done, total: print(text, done, total)):
    ...     score = us.evaluate("popular", log.at(3))
    fitting popular 0 None
    ranking popular 0 3
    ranking popular 3 3
    """
    with contextlib.ExitStack() as bars:
        show = _Bars(to, bars) if hasattr(getattr(to, "func", to), "update") else to
        with reporting(CalledProgress(show)):
            yield


class _Bars:
    """A bar for each piece of work whose steps are known."""

    def __init__(self, make: Callable[..., Any], bars: contextlib.ExitStack) -> None:
        self._make, self._bars = make, bars
        self._bar: Any = None
        self._done = 0

    def __call__(self, text: str, done: int, total: int | None) -> None:
        if done == 0:
            self._bars.close()
            if total:
                self._bar = self._make(desc=text, total=total)
                self._bars.callback(self._bar.close)
        elif self._bar is not None:
            self._bar.update(done - self._done)
        self._done = done
