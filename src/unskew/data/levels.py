"""The level of an interval, and how many standard errors it has on each side."""

from __future__ import annotations

from numbers import Real
from typing import Any

from scipy.special import ndtri, stdtrit

from unskew.errors import InputError


def check_level(level: float) -> None:
    """Refuse a level that is no probability."""
    known: Any = level
    if not isinstance(known, Real) or not 0 < level < 1:
        raise InputError(f"the level of an interval must lie between 0 and 1, not {level!r}")


def critical_value(level: float, n: float | None = None) -> float:
    """How many standard errors an interval has on each side; `n` units gave the error, None if it is known.

    >>> [round(critical_value(0.95, n), 3) for n in (None, 1000, 10)]
    [1.96, 1.962, 2.262]
    """
    check_level(level)
    upper = 0.5 + level / 2
    return float(ndtri(upper) if n is None else stdtrit(n - 1, upper))
