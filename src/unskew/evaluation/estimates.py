"""A score as a mean, with the interval that belongs to it: over users, or over draws."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from unskew.arrays.types import Codes, Floats
from unskew.evaluation.intervals import Interval, measure_units
from unskew.evaluation.metric import Metric
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
    metric: Metric, mass: Floats, total: Floats, level: float, edges: Codes | None = None
) -> Estimate:
    """The score from the mass and the summed metric of each user; `edges` cut users into blocks."""
    return estimate_from_units(metric, ArrayUnits(mass, total, edges), level, "users")


def estimate_from_draws(metric: Metric, values: Floats, level: float) -> Estimate:
    """The score from the metric of each draw."""
    return estimate_from_units(metric, ArrayUnits(np.ones(len(values)), values), level, "draws")


def estimate_from_units(metric: Metric, units: Units, level: float, method: str) -> Estimate:
    """The score from sums over its independent units."""
    return limit_estimate(metric, *measure_units(units, level, metric.bounds, method))


def limit_estimate(metric: Metric, value: float, interval: Interval) -> Estimate:
    """A score and its interval, as far as the metric can reach."""
    # of a metric with one bound only it may reach beyond
    low, high = max(interval.low, metric.lowest), min(interval.high, metric.highest)
    return Estimate(value, replace(interval, low=low, high=high))
