"""Poisson regression with a logarithmic link, for counts over different stretches of time.

Sums are made in loops of our own: those of NumPy use threads, whose number would change the last bits, and which
wait for each other if the machine is busy.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unskew.arrays.compiling import compiled
from unskew.arrays.types import Floats

_PENALTY = 20.0  # on the squares of standardised coefficients: as much as twenty events say
_ROUNDS = 100
_LARGEST_STEP = 2.0
_LARGEST = 30.0  # logarithm of a rate
_CLOSE = 1e-8


@dataclass(frozen=True)
class PoissonRates:
    """Rates that were learned: ``exp(intercept + features @ coefficients)``, features standardised."""

    # Of each feature.
    mean: Floats
    scale: Floats
    coefficients: Floats  # the intercept first
    covariance: Floats  # of the coefficients, as the curvature of the penalised likelihood has it

    def predict(self, features: Floats) -> Floats:
        """The rate for each row of features."""
        rates: Floats = np.exp(_score(_standardise(features, self.mean, self.scale), self.coefficients))
        return rates

    def find_errors(self, features: Floats) -> Floats:
        """The standard error of the logarithm of the rate for each row of features."""
        rows = _standardise(features, self.mean, self.scale)
        variances = np.einsum("ij,jk,ik->i", rows, self.covariance, rows)
        errors: Floats = np.sqrt(np.where(variances >= 0, variances, np.nan))  # negative if nearly singular
        return errors


def fit_poisson(
    features: Floats, events: Floats, time: Floats, *, start: PoissonRates | None = None
) -> PoissonRates:
    """Find rates by Newton's method, with a small penalty on the coefficients.

    The penalised log likelihood is ``sum(events * log(rate) - time * rate) - 10 * sum(coefficients ** 2)``, the
    intercept free. Without events the rate is 0. `start` are rates of the same features with similar events and
    times, from which it is not far.
    """
    if start is None:
        mean, scale = features.mean(axis=0), features.std(axis=0)
        scale = np.where(scale > 0, scale, 1.0)
    else:
        mean, scale = start.mean, start.scale
    coefficients = np.zeros(1 + features.shape[1])
    total = float(events.sum())
    if total <= 0:
        coefficients[0] = -np.inf
        return PoissonRates(mean, scale, coefficients, np.full((len(coefficients),) * 2, np.inf))
    coefficients[0] = np.log(total / time.sum())
    if start is not None and np.isfinite(start.coefficients[0]):
        coefficients = start.coefficients
    counts = (events != 0) | (time != 0)  # a sample of users has no others: these add nothing to any sum
    rows, events, time = _standardise(features[counts], mean, scale), events[counts], time[counts]
    penalty = np.full(len(coefficients), _PENALTY)
    penalty[0] = 0.0
    for _ in range(_ROUNDS):
        expected = time * np.exp(_score(rows, coefficients))
        gradient, curvature = _sum_derivatives(rows, events - expected, expected)
        gradient -= penalty * coefficients
        curvature += np.diag(penalty)
        step = np.linalg.solve(curvature, gradient)
        largest = float(np.abs(step).max())
        coefficients = coefficients + step * min(1.0, _LARGEST_STEP / max(largest, _CLOSE))
        if largest < _CLOSE:
            break
    covariance: Floats = np.linalg.inv(curvature).astype(np.float64)
    return PoissonRates(mean, scale, coefficients, covariance)


def _standardise(features: Floats, mean: Floats, scale: Floats) -> Floats:
    return np.column_stack([np.ones(len(features)), (features - mean) / scale])


def _score(rows: Floats, coefficients: Floats) -> Floats:
    if np.isneginf(coefficients[0]):
        return np.full(len(rows), -np.inf)
    scores: Floats = np.clip(_multiply(rows, coefficients), -_LARGEST, _LARGEST)
    return scores


@compiled
def _multiply(rows: Floats, coefficients: Floats) -> Floats:
    """``rows @ coefficients``."""
    products = np.zeros(len(rows))
    for n in range(len(rows)):
        for j in range(len(coefficients)):
            products[n] += rows[n, j] * coefficients[j]
    return products


@compiled
def _sum_derivatives(rows: Floats, surplus: Floats, expected: Floats) -> tuple[Floats, Floats]:
    """``rows.T @ surplus`` and ``(rows * expected[:, None]).T @ rows``."""
    size = rows.shape[1]
    gradient, curvature = np.zeros(size), np.zeros((size, size))
    for n in range(len(rows)):
        for j in range(size):
            gradient[j] += rows[n, j] * surplus[n]
            part = rows[n, j] * expected[n]
            for k in range(j + 1):
                curvature[j, k] += part * rows[n, k]
    for j in range(size):
        for k in range(j):
            curvature[k, j] = curvature[j, k]
    return gradient, curvature
