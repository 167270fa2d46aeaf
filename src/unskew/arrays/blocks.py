"""How a pass is cut into blocks for threads, and reading ahead of them."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import numpy as np

from unskew.arrays.types import Codes
from unskew.errors import InputError

_MOST_THREADS = 1024
SMALL = 30_000  # entries below which waking a thread costs more than it saves


def threads() -> int:
    """How many threads a pass uses: ``UNSKEW_THREADS``, else the cores this process may use."""
    return _threads(os.environ.get("UNSKEW_THREADS"))


@cache
def _threads(wish: str | None) -> int:
    if wish is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if not re.fullmatch("[0-9]{1,4}", wish) or not 1 <= int(wish) <= _MOST_THREADS:
        raise InputError(
            f"UNSKEW_THREADS is {wish[:40]!r}",
            remedy=f"make it a whole number from 1 to {_MOST_THREADS}, or unset it",
        )
    return int(wish)


@cache
def _pool(n: int, process: int) -> ThreadPoolExecutor:
    """Worker threads, kept for the life of the process (a forked child makes its own)."""
    return ThreadPoolExecutor(n, thread_name_prefix="unskew")


def over_blocks(edges: Codes, entries: int, work: Callable[[int, int, int], Any]) -> list[Any]:
    """Call ``work(k, lo, hi)`` for every block k and return the results in the order of the blocks."""
    n = len(edges) - 1
    results: list[Any] = [None] * n

    def run(first: int, step: int) -> None:
        for k in range(first, n, step):
            results[k] = work(k, int(edges[k]), int(edges[k + 1]))

    workers = min(threads(), n)
    if workers <= 1 or entries < SMALL:
        run(0, 1)
        return results
    pool = _pool(threads(), os.getpid())
    others = [pool.submit(run, k, workers) for k in range(1, workers)]
    try:
        run(0, workers)
    finally:
        for other in others:
            other.result()
    return results


def over_items(n: int, work: Callable[[int, int, int], Any]) -> list[Any]:
    """The same over a cut of n items into even parts, for the arithmetic between two passes."""
    return over_blocks(_even(n), n, work)


@cache
def _even(n: int) -> Codes:
    """Where to cut n items: parts of about 16 000, at most 16."""
    return np.linspace(0, n, max(1, min(16, n // 16_384)) + 1).astype(np.int64)
