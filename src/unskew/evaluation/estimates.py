"""A score as a mean, with the interval that belongs to it: over users, or over draws."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from unskew.arrays.types import Codes, Floats
from unskew.evaluation.intervals import Interval, measure_units
from unskew.evaluation.quality import Quality
from unskew.evaluation.unit_sums import ArrayUnits, Units


@dataclass(frozen=True)
class Estimate:
    """A value and its interval."""

    value: float
    interval: Interval


def sum_by_user(user: Codes, values: Floats, n: int) -> Floats:
    """The sum of the values for each of n users, by whose they are."""
    return np.asarray(np.bincount(user, weights=values, minlength=n), dtype=np.float64)


def estimate_from_users(
    quality: Quality, mass: Floats, total: Floats, level: float, edges: Codes | None = None
) -> Estimate:
    """The score from the mass and the summed quality of each user; `edges` cut users into blocks."""
    return estimate_from_units(quality, ArrayUnits(mass, total, edges), level, "users")


def estimate_from_draws(quality: Quality, values: Floats, level: float) -> Estimate:
    """The score from the quality of each draw."""
    return estimate_from_units(quality, ArrayUnits(np.ones(len(values)), values), level, "draws")


def estimate_from_units(quality: Quality, units: Units, level: float, method: str) -> Estimate:
    """The score from sums over its independent units."""
    return limit_estimate(quality, *measure_units(units, level, quality.bounds, method))


def limit_estimate(quality: Quality, value: float, interval: Interval) -> Estimate:
    """A score and its interval, as far as the quality can reach."""
    # of a quality with one bound only it may reach beyond
    low, high = max(interval.low, quality.lowest), min(interval.high, quality.highest)
    return Estimate(value, replace(interval, low=low, high=high))
