"""The command line: ``unskew``, or ``python -m unskew`` where the script is not on the path."""

from __future__ import annotations

import contextlib
import gc
import os
import sys
from typing import NoReturn

_COLLECT_AFTER = 100_000  # new objects; imports make many that stay, and searching them costs an eighth
_LEAST_ADDRESSES = 2 * 10**9  # bytes that libraries map at least; with less some of them hang


def run() -> None:
    """Import the command line and run it; an interrupt of the imports is told in one line."""
    gc.set_threshold(_COLLECT_AFTER)
    try:
        _require_addresses()
        from unskew.cli import main
    except KeyboardInterrupt:
        _end("interrupted: nothing was written", 130)
    try:
        main(prog_name="unskew")
    except SystemExit as ending:
        _end_if_busy(ending.code)
        raise


def _end_if_busy(code: object) -> None:
    """End at once if a library goes on after an interrupt: Python would wait for it, or crash."""
    connection = sys.modules.get("unskew.reading.connection")
    if connection is not None and connection.is_busy():
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError, AttributeError):
                stream.flush()
        os._exit(code if isinstance(code, int) else 1)


def _require_addresses() -> None:
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit != resource.RLIM_INFINITY and limit < _LEAST_ADDRESSES:
        _end(
            f"error: the address space is limited to {limit // 10**6} MB, and libraries need 2000: raise "
            "ulimit -v, and limit memory with --memory-limit",
            2,
        )


def _end(message: str, code: int) -> NoReturn:
    print(message, file=sys.stderr)
    raise SystemExit(code)


if __name__ == "__main__":
    run()
