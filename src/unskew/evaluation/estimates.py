"""A score as a mean, with the interval that belongs to it: over users, or over draws."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from unskew.arrays.types import Codes, Floats
from unskew.evaluation.intervals import Interval, by_draws, by_users, wilson
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
    value = float(total.sum() / mass.sum())
    return Estimate(value, _clip(quality, by_users(value, mass, total, level)))


def estimate_from_draws(quality: Quality, values: Floats, level: float) -> Estimate:
    """The score from the quality of each draw."""
    hits = quality.is_hit
    interval = wilson(float(values.sum()), len(values), level) if hits else by_draws(values, level)
    return Estimate(float(values.mean()), _clip(quality, interval))


def _clip(quality: Quality, interval: Interval) -> Interval:
    """The part of an interval that holds values which the quality can have."""
    return replace(interval, low=max(interval.low, quality.lowest), high=min(interval.high, quality.highest))
