"""Contenders in another process: a fresh one for each trial, so that its memory can be told, or one that stays.

What stays may belong to another environment, for a library that does not go together with ours. The other side is
`benchmarks.frame.worker_side`.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Any, Self

from benchmarks.frame.contenders import Contender, Trial
from benchmarks.frame.machine import ROOT


class WorkerFailed(Exception):
    """The other process ended, or gave no answer."""


class Worker:
    """A process that does what it is asked for, one request after another."""

    def __init__(self, module: str, arguments: Sequence[str] = (), *, python: str = sys.executable) -> None:
        self._command = [python, "-m", module, *arguments]
        self._process = subprocess.Popen(
            self._command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.about: Any = self._receive()

    def ask(self, request: Any) -> Trial:
        """Have one request done."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        return Trial(**self._receive())

    def close(self) -> None:
        """End the process."""
        self._process.communicate()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.close()

    def _receive(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            self.close()
            code = self._process.returncode
            raise WorkerFailed(f"{' '.join(self._command[1:])} ended with exit code {code}")
        return json.loads(line)


def in_worker(
    name: str, worker: Worker, request: Any, tell: Callable[[Worker], Any], *, factor: float = 1.0
) -> Contender:
    """A contender in a process that stays; `tell` asks it afterwards what it found. `factor`: see `in_process`."""

    def attempt(with_answer: bool) -> Trial:
        trial = worker.ask(request).scaled(factor)
        return replace(trial, answer=tell(worker) if with_answer else None)

    return Contender(name, attempt)


def in_fresh_process(
    name: str, module: str, request: Any, tell: Callable[[Worker], Any], prepare: Any = None
) -> Contender:
    """A contender that has a process of its own in each trial; starting it, and what it imports, is not counted.

    `prepare` is a request that comes first, to import and to load what was compiled; `tell` asks the process, once
    its work is done, what it found.
    """

    def attempt(with_answer: bool) -> Trial:
        with Worker(module) as worker:
            if prepare is not None:
                worker.ask(prepare)
            trial = worker.ask(request)
            return replace(trial, answer=tell(worker) if with_answer else None)

    return Contender(name, attempt)
