"""A score as a mean, with the interval that belongs to it: over users, or over draws."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from unskew.evaluation.intervals import Interval, by_draws, by_users, wilson
from unskew.evaluation.quality import Quality
from unskew.recommend.contract import Codes
from unskew.arrays.sweep import Floats


def summed(where: Codes, what: Floats, n: int) -> Floats:
    """The sum of `what` for each of n users, by whose it is."""
    return np.asarray(np.bincount(where, weights=what, minlength=n), dtype=np.float64)


def mean_of_users(wanted: Quality, mass: Floats, total: Floats, level: float) -> tuple[float, Interval]:
    """The score from the mass and the summed quality of each user, and its interval."""
    value = float(total.sum() / mass.sum())
    return value, _within(wanted, by_users(value, mass, total, level))


def mean_of_draws(wanted: Quality, values: Floats, level: float) -> tuple[float, Interval]:
    """The score from the quality of each draw, and its interval."""
    hits = wanted.is_hit
    interval = wilson(float(values.sum()), len(values), level) if hits else by_draws(values, level)
    return float(values.mean()), _within(wanted, interval)


def _within(wanted: Quality, interval: Interval) -> Interval:
    """The part of an interval that holds values which the quality can have."""
    return replace(interval, low=max(interval.low, wanted.lowest), high=min(interval.high, wanted.highest))
