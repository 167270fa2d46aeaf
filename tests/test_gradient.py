"""The gradient of D in one more pass: against the paper's appendix, and against finite differences."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.dense import Floats, divergence, paper_gradient, profiles_of, random_profiles, table_of
from unskew.arrays.sweep import Sweep
from unskew.solve.fit import Fit
from unskew.solve.problem import Problem

seeds = st.integers(0, 2**32 - 1)


def problem_of(rng: np.random.Generator, priors: bool, users: int = 9, items: int = 6) -> Problem:
    profiles = random_profiles(rng, users, items, priors=priors)
    target = rng.dirichlet(np.ones(items))
    return Problem(Sweep(profiles), target, np.zeros(items), np.arange(items))


def gradient(problem: Problem, theta: Floats) -> Floats:
    fit = Fit(problem)
    return fit.gradient(fit.look(theta))


@given(seeds, st.booleans())
@settings(max_examples=60, deadline=None)
def test_the_gradient_is_that_of_the_papers_appendix(seed: int, priors: bool) -> None:
    rng = np.random.default_rng(seed)
    problem = problem_of(rng, priors)
    theta = rng.normal(0, 1.5, 6)
    by_weight = paper_gradient(table_of(profiles_of(problem)), problem.target, np.exp(theta))
    assert gradient(problem, theta) == pytest.approx(by_weight * np.exp(theta), abs=1e-12)


@given(seeds, st.booleans())
@settings(max_examples=40, deadline=None)
def test_the_gradient_agrees_with_finite_differences_of_the_dense_divergence(seed: int, priors: bool) -> None:
    rng = np.random.default_rng(seed)
    problem = problem_of(rng, priors)
    table = table_of(profiles_of(problem))
    theta = rng.normal(0, 1, 6)
    h = 1e-5
    steps = [
        (
            divergence(problem.target, table.marginal(theta + e))
            - divergence(problem.target, table.marginal(theta - e))
        )
        / (2 * h)
        for e in np.eye(6) * h
    ]
    assert gradient(problem, theta) == pytest.approx(np.array(steps), abs=1e-8)


@given(seeds, st.booleans())
@settings(max_examples=40, deadline=None)
def test_the_divergence_and_the_residual_of_a_look_are_the_dense_ones(seed: int, priors: bool) -> None:
    rng = np.random.default_rng(seed)
    problem = problem_of(rng, priors)
    theta = rng.normal(0, 3, 6)
    point = Fit(problem).look(theta)
    q = table_of(profiles_of(problem)).marginal(theta)
    assert point.divergence == pytest.approx(divergence(problem.target, q), abs=1e-13)
    assert point.residual == pytest.approx(0.5 * np.abs(problem.target - q).sum(), abs=1e-14)
    assert point.f == pytest.approx(np.log(problem.target / q), abs=1e-11)


@given(seeds)
@settings(max_examples=30, deadline=None)
def test_items_without_a_target_that_stay_in_the_profiles_count_in_divergence_and_gradient(seed: int) -> None:
    rng = np.random.default_rng(seed)
    profiles = random_profiles(rng, 9, 6)
    target = np.append(rng.dirichlet(np.ones(4)), [0.0, 0.0])
    theta = np.append(rng.normal(0, 1, 4), [0.0, 0.0])
    fit = Fit(Problem(Sweep(profiles), target, theta, np.arange(4)))
    point = fit.look(theta)
    q = table_of(profiles).marginal(theta)
    assert point.divergence == pytest.approx(divergence(target, q), abs=1e-13)
    assert point.residual == pytest.approx(0.5 * np.abs(target - q).sum(), abs=1e-14)
    by_weight = paper_gradient(table_of(profiles), target, np.exp(theta))
    assert fit.gradient(point) == pytest.approx(by_weight * np.exp(theta), abs=1e-12)


def test_the_whole_gradient_costs_one_pass_more_than_the_divergence() -> None:
    fit = Fit(problem_of(np.random.default_rng(0), True))
    point = fit.look(np.zeros(6))
    assert fit.count == 1
    fit.gradient(point)
    assert fit.count == 2


@pytest.mark.parametrize("x", [1e-4, 1e-6, 1e-8, 1e-9])
def test_divergences_far_below_the_rounding_of_one_are_still_right(x: float) -> None:
    """Near an exact solution D is a square: half the sum of (change of q)^2 / T, whatever its size."""
    rng = np.random.default_rng(1)
    profiles = random_profiles(rng, 40, 8)
    table = table_of(profiles)
    theta, direction = rng.normal(0, 1, 8), rng.normal(0, 1, 8)
    target = table.marginal(theta)
    pi = table.conditionals(theta)
    change = x * (np.diag(target) - (pi * table.a[:, None]).T @ pi) @ direction
    point = Fit(Problem(Sweep(profiles), target, np.zeros(8), np.arange(8))).look(theta + x * direction)
    assert point.divergence == pytest.approx(0.5 * (change**2 / target).sum(), rel=1e-3, abs=0)
