"""Contenders: one way to do a job each, with what one trial of it cost and found.

A contender runs in this process (`in_process`) or in another one (`benchmarks.frame.workers`). One whose library
is not there is an `Absent`, which says why.
"""

from __future__ import annotations

import importlib
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

LEAST_SECONDS = 0.05
"""What takes less is called often enough that a trial takes at least so long."""

_MOST_CALLS = 2000


@dataclass(frozen=True)
class Trial:
    """One trial: seconds by the clock and of all processors, bytes at the peak if they are known, and the answer.

    The answer is None unless it was asked for.
    """

    wall: float
    processor: float
    peak: int | None = None
    answer: Any = None

    def scaled(self, factor: float) -> Trial:
        """The same for a job so many times as large, of which only a part was done."""
        return Trial(self.wall * factor, self.processor * factor, self.peak, self.answer)


@dataclass(frozen=True)
class Contender:
    """One way to do the job.

    Attributes
    ----------
    name
        As the table shows it.
    attempt
        Does the job once; with True the answer is told too, outside of what is measured.
    uncompared
        Why its answer is not compared: it is a limit, work that any answer needs, or it answers something else.
    """

    name: str
    attempt: Callable[[bool], Trial]
    uncompared: str | None = None


@dataclass(frozen=True)
class Absent:
    """A contender that cannot take part, and why."""

    name: str
    reason: str


def in_process(
    name: str,
    job: Callable[[], Any],
    *,
    answer: Callable[[Any], Any] | None = None,
    uncompared: str | None = None,
    factor: float = 1.0,
) -> Contender:
    """A contender that runs here.

    `answer` makes what is compared of what `job` returned, outside of the trial. Where only a part of the job is
    done, the whole takes `factor` times as long.
    """
    calls = 1

    def attempt(with_answer: bool) -> Trial:
        nonlocal calls
        used, began = time.process_time(), time.perf_counter()
        for _ in range(calls):
            found = job()
        wall, processor = (time.perf_counter() - began) / calls, (time.process_time() - used) / calls
        calls = max(1, min(_MOST_CALLS, math.ceil(LEAST_SECONDS / max(wall, 1e-9))))
        told = (found if answer is None else answer(found)) if with_answer else None
        return Trial(wall, processor, None, told).scaled(factor)

    return Contender(name, attempt, uncompared)


def with_library(name: str, library: str, make: Callable[[Any], Contender]) -> Contender | Absent:
    """A contender that needs a library; an `Absent` that names it where it cannot be imported."""
    try:
        module = importlib.import_module(library)
    except ImportError as error:
        return Absent(name, f"{library} cannot be imported ({error})")
    return make(module)
