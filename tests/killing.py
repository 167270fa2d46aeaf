"""Killing a writer: the same work in a child process again and again, killed at a later step each time."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from typing import Any

STEPS = {"os.rename", "os.remove", "os.mkdir", "os.link", "os.rmdir", "os.chmod"}
"""What changes names on the disk; files that are opened to be written come besides."""


def kill_at_each_step(work: Callable[[], Any]) -> Iterator[int]:
    """Do the work in a child that is killed before its first step, its second, ...; yields after each kill.

    The last child comes to its end; the number of steps is then complete, and nothing is yielded for it.
    """
    for step in range(10_000):
        child = os.fork()
        if child == 0:
            _work_until(work, step)
        _, status = os.waitpid(child, 0)
        if os.WIFEXITED(status):
            assert os.WEXITSTATUS(status) == 0
            return
        assert os.WTERMSIG(status) == signal.SIGKILL
        yield step


def _work_until(work: Callable[[], Any], step: int) -> None:
    left = step

    def count(event: str, arguments: Any) -> None:
        nonlocal left
        writes = event == "open" and isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR)
        if event not in STEPS and not writes:
            return
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        left -= 1

    code = 1
    try:
        sys.addaudithook(count)
        work()
        code = 0
    finally:
        os._exit(code)
