"""How long a call takes."""

from __future__ import annotations

import time

import numpy as np


def seconds(work: object, repeats: int) -> float:
    """The median time of a call."""
    assert callable(work)
    work()
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return float(np.median(times))
