"""The side of a worker: takes requests as lines of JSON, and says what each cost and found.

Nothing but the standard library is imported here, so that any environment can run it.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any


def serve(do: Callable[[Any], Any], about: Any = None) -> None:
    """Do one request after another until there are no more; `about` is said first."""
    sys.stdout.flush()
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print is no answer
    _send(answers, about)
    for line in sys.stdin:
        request = json.loads(line)
        before = forget_peak()
        used, began = time.process_time(), time.perf_counter()
        found = do(request)
        wall, processor = time.perf_counter() - began, time.process_time() - used
        _send(answers, {"wall": wall, "processor": processor, "peak": _beyond(before), "answer": found})


def forget_peak() -> int | None:
    """Let the peak of memory begin again from here, and say where that is; None where this is not told."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
    return _read_status("VmRSS")


def _beyond(before: int | None) -> int | None:
    peak = _read_status("VmHWM")
    return None if peak is None or before is None else max(peak - before, 0)


def _read_status(name: str) -> int | None:
    try:
        found = re.search(rf"^{name}:\s+(\d+) kB$", Path("/proc/self/status").read_text(), re.MULTILINE)
    except OSError:
        return None
    return None if found is None else int(found[1]) * 1024


def _send(stream: Any, what: Any) -> None:
    stream.write(json.dumps(what) + "\n")
    stream.flush()
