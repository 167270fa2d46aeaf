"""A score as a mean, with the interval that belongs to it: over users, or over draws."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from unskew.arrays.types import Codes, Floats
from unskew.evaluation.intervals import Interval, interval_from_units
from unskew.evaluation.quality import Quality


@dataclass(frozen=True)
class Estimate:
    """A value and its interval."""

    value: float
    interval: Interval


def sum_by_user(user: Codes, values: Floats, n: int) -> Floats:
    """The sum of the values for each of n users, by whose they are."""
    return np.asarray(np.bincount(user, weights=values, minlength=n), dtype=np.float64)


def estimate_from_users(quality: Quality, mass: Floats, total: Floats, level: float) -> Estimate:
    """The score from the mass and the summed quality of each user."""
    return _estimate(quality, mass, total, level, "users")


def estimate_from_draws(quality: Quality, values: Floats, level: float) -> Estimate:
    """The score from the quality of each draw."""
    return _estimate(quality, np.ones(len(values)), values, level, "draws")


def _estimate(quality: Quality, mass: Floats, total: Floats, level: float, method: str) -> Estimate:
    value = float(total.sum() / mass.sum())
    interval = interval_from_units(mass, total, level, quality.bounds, method)
    # of a quality with one bound only it may reach beyond
    low, high = max(interval.low, quality.lowest), min(interval.high, quality.highest)
    return Estimate(value, replace(interval, low=low, high=high))
