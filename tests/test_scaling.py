"""Matrix scaling: D never rises, the limit is the best of all P(i|u), and an independent code agrees."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import ot
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.dense import (
    Floats,
    Table,
    divergence,
    least_divergence,
    least_total_variation,
    profiles_of,
    random_profiles,
    scaled,
    table_of,
    total_variation,
)
from unskew.arrays.profiles import Profiles
from unskew.arrays.sweep import Sweep
from unskew.solve.problem import Problem
from unskew.solve.scaling import scale

seeds = st.integers(0, 2**32 - 1)


def problem_of(profiles: Profiles, target: Floats) -> Problem:
    wanted = target > 0
    return Problem(Sweep(profiles), target, np.where(wanted, 0.0, -np.inf), np.flatnonzero(wanted))


def solvable(rng: np.random.Generator, priors: bool, users: int = 12, items: int = 7) -> Problem:
    """A target that some weights reach: the marginal under random weights."""
    profiles = random_profiles(rng, users, items, priors=priors)
    return problem_of(profiles, table_of(profiles).marginal(rng.normal(0, 1, items)))


def arbitrary(rng: np.random.Generator, priors: bool, users: int = 8, items: int = 6) -> Problem:
    """A target drawn at random: seldom within reach."""
    return problem_of(random_profiles(rng, users, items, size=1.0, priors=priors), rng.dirichlet(np.ones(items)))


def full_table(rng: np.random.Generator, users: int, items: int) -> Profiles:
    """Everyone holds everything, with random P(i|u): a dense matrix."""
    return Profiles(
        start=np.arange(0, users * items, items).astype(np.uint32),
        stop=np.arange(items, (users + 1) * items, items).astype(np.uint32),
        item=np.tile(np.arange(items), users).astype(np.uint32),
        n_items=items,
        a=rng.uniform(0.5, 2.0, users),
        b=rng.uniform(0.05, 1.0, users * items),
    )


@given(seeds, st.booleans())
@settings(max_examples=40, deadline=None)
def test_plain_scaling_follows_the_dense_loop_and_its_divergence_never_rises(seed: int, priors: bool) -> None:
    problem = arbitrary(np.random.default_rng(seed), priors)
    table = table_of(profiles_of(problem))
    steps = scaled(table, problem.target, 11)
    expected = [divergence(problem.target, table.marginal(theta)) for theta in steps]
    found = scale(problem, tol=0.0, max_passes=12, depth=0)
    assert len(found.history) <= 11
    assert np.diff(found.history).max(initial=-1.0) <= 0
    assert found.history == pytest.approx(expected[: len(found.history)], abs=1e-12)
    if len(found.history) == 11:  # every pass but that of the certificate was a step down
        assert found.q == pytest.approx(table.marginal(steps[10]), abs=1e-12)


@given(seeds, st.booleans())
@settings(max_examples=60, deadline=None)
def test_accelerated_scaling_never_raises_the_divergence(seed: int, priors: bool) -> None:
    found = scale(arbitrary(np.random.default_rng(seed), priors), tol=0.0, max_passes=150)
    assert np.diff(found.history).max(initial=-1.0) <= 0
    assert found.history[-1] == found.divergence


@given(seeds, st.booleans())
@settings(max_examples=60, deadline=None)
def test_a_target_that_weights_can_reach_is_reached(seed: int, priors: bool) -> None:
    problem = solvable(np.random.default_rng(seed), priors)
    found = scale(problem, tol=1e-9, max_passes=2000)
    assert found.status == "solved"
    assert table_of(profiles_of(problem)).marginal(found.theta) == pytest.approx(problem.target, abs=1e-9)


@given(seeds, st.booleans())
@settings(max_examples=40, deadline=None)
def test_without_an_exact_solution_it_is_the_best_of_every_choice_of_conditionals(seed: int, priors: bool) -> None:
    problem = arbitrary(np.random.default_rng(seed), priors)
    table = table_of(profiles_of(problem))
    found = scale(problem, tol=3e-8, max_passes=10_000)
    assert found.status != "unfinished"
    least = least_divergence(table, problem.target)
    assert abs(found.divergence - least) <= 1e-6
    assert found.gap >= found.divergence - least - 1e-9
    assert found.residual == pytest.approx(least_total_variation(table, problem.target), abs=1e-7)


@given(seeds, st.booleans(), st.integers(2, 30))
@settings(max_examples=40, deadline=None)
def test_the_gap_is_never_below_the_true_distance_wherever_the_fit_stops(
    seed: int, priors: bool, passes: int
) -> None:
    problem = arbitrary(np.random.default_rng(seed), priors)
    found = scale(problem, tol=0.0, max_passes=passes)
    least = least_divergence(table_of(profiles_of(problem)), problem.target)
    assert found.gap >= found.divergence - least - 1e-8


def test_some_random_problems_have_an_exact_solution_and_some_have_none() -> None:
    rng = np.random.default_rng(0)
    problems = [arbitrary(rng, True) for _ in range(60)]
    least = np.array([least_total_variation(table_of(profiles_of(p)), p.target) for p in problems])
    assert (least > 0.01).sum() > 10
    assert (least < 1e-9).sum() >= 3


@pytest.mark.parametrize("seed", range(5))
def test_it_agrees_with_the_sinkhorn_of_pot(seed: int) -> None:
    rng = np.random.default_rng(seed)
    profiles = full_table(rng, 15, 10)
    table = table_of(profiles)
    target = rng.dirichlet(np.ones(10))
    plan = ot.sinkhorn(table.a, target, -np.log(table.b), reg=1.0, stopThr=1e-14, numItermax=100_000)
    found = scale(problem_of(profiles, target), tol=1e-12, max_passes=500)
    assert found.status == "solved"
    assert found.q == pytest.approx(plan.sum(axis=0), abs=1e-10)
    pi = table.conditionals(found.theta)
    assert table.a[:, None] * pi == pytest.approx(plan, abs=1e-10)


@pytest.mark.parametrize("priors", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_it_agrees_with_a_dense_scaling_loop_where_no_exact_solution_exists(seed: int, priors: bool) -> None:
    """Three items; half of the users hold the first alone, which is to have a fifth of the mass."""
    rng = np.random.default_rng(seed)
    rows = [[0]] * 10 + [[0, 1, 2]] * 6 + [[1, 2]] * 4
    ends = np.cumsum([len(row) for row in rows])
    profiles = Profiles(
        (ends - [len(row) for row in rows]).astype(np.uint32),
        ends.astype(np.uint32),
        np.concatenate(rows).astype(np.uint32),
        3,
        a=rng.uniform(0.9, 1.1, 20) if priors else None,
        b=rng.uniform(0.5, 1.0, int(ends[-1])) if priors else None,
    )
    target = np.array([0.2, 0.3, 0.5])
    expected = table_of(profiles).marginal(scaled(table_of(profiles), target, 400)[-1])
    found = scale(problem_of(profiles, target), tol=0.0, max_passes=300)
    assert found.q == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize("priors", [False, True])
@pytest.mark.parametrize("depth", [0, 8])
def test_a_thousand_passes_overflow_nothing(priors: bool, depth: int) -> None:
    rng = np.random.default_rng(11)
    for _ in range(8):
        problem = arbitrary(rng, priors)
        found = scale(problem, tol=0.0, max_passes=1000, depth=depth)
        assert np.isfinite(found.theta).all()
        assert np.isfinite(found.q).all()
        assert np.isfinite(found.history).all()
        assert found.q.sum() == pytest.approx(1, abs=1e-12)
        assert found.divergence == pytest.approx(
            divergence(problem.target, table_of(profiles_of(problem)).marginal(found.theta)), abs=1e-9
        )
        assert found.passes <= 1000


def test_weights_run_far_beyond_floating_point_range_and_the_marginal_stays_right() -> None:
    """Two users, the one with item a alone: a's mass cannot fall below 1/2, and its weight falls for ever."""
    profiles = Profiles(
        np.array([0, 1], np.uint32), np.array([1, 3], np.uint32), np.array([0, 0, 1], np.uint32), n_items=2
    )
    start = replace(problem_of(profiles, np.array([0.1, 0.9])), theta=np.array([-800.0, 800.0]))
    found = scale(start, tol=0.0, max_passes=1000)
    assert found.theta[1] - found.theta[0] >= 1600
    assert found.q == pytest.approx([0.5, 0.5], abs=1e-15)
    assert found.divergence == pytest.approx(0.1 * np.log(0.2) + 0.9 * np.log(1.8), abs=1e-15)


def test_acceleration_needs_far_fewer_passes_than_plain_scaling() -> None:
    rng = np.random.default_rng(12)
    profiles = random_profiles(rng, 400, 60, size=3.0)
    problem = problem_of(profiles, table_of(profiles).marginal(rng.normal(0, 1.5, 60)))
    plain = scale(problem, tol=1e-6, max_passes=5000, depth=0)
    fast = scale(problem, tol=1e-6, max_passes=5000)
    assert plain.status == fast.status == "solved"
    assert fast.passes < plain.passes / 2


def test_an_extrapolation_that_shoots_far_out_does_not_strand_the_fit() -> None:
    """Here a step of unlimited length leaves for log-weights of 1e18, from which no plain step returns."""
    rows = [[0, 1, 2], [1], [2], [2, 5], [4, 5], [1, 2, 4, 5], [1, 2], [2], [3]]
    target = np.array([0.177379, 0.18150631, 0.05021462, 0.13391459, 0.43355632, 0.02342916])
    target /= target.sum()
    size = np.array([len(row) for row in rows])
    ends = np.cumsum(size)
    profiles = Profiles(
        (ends - size).astype(np.uint32), ends.astype(np.uint32), np.concatenate(rows).astype(np.uint32), 6
    )
    found = scale(problem_of(profiles, target), tol=1e-8, max_passes=500)
    assert found.status == "certified"
    assert np.abs(found.theta).max() < 1e6
    assert found.divergence == pytest.approx(least_divergence(table_of(profiles), target), abs=1e-6)


def test_it_stops_at_max_passes_and_says_unfinished() -> None:
    problem = solvable(np.random.default_rng(13), True, users=60, items=30)
    for limit in (2, 3, 5, 8):
        found = scale(problem, tol=1e-13, max_passes=limit)
        assert found.passes <= limit
        assert found.status == "unfinished"
        assert found.residual > 1e-13


def test_a_start_close_to_the_answer_is_used_and_one_out_of_range_is_not() -> None:
    rng = np.random.default_rng(14)
    problem = solvable(rng, True, users=60, items=30)
    cold = scale(problem, tol=1e-6, max_passes=500)
    warm = scale(replace(problem, theta=cold.theta), tol=1e-6, max_passes=500)
    assert warm.passes == 2  # one look, one certificate
    far = replace(problem, theta=rng.uniform(-1e6, 1e6, 30))
    assert scale(far, tol=1e-6, max_passes=500).status == "solved"


def test_a_checkerboard_has_the_answer_that_anyone_can_see() -> None:
    """Users hold {a, b} or {c, d}: weights move mass within a pair, never between the pairs."""
    item = np.array([0, 1, 2, 3], dtype=np.uint32)
    profiles = Profiles(np.array([0, 2], np.uint32), np.array([2, 4], np.uint32), item, 4)
    inside = scale(problem_of(profiles, np.array([0.1, 0.4, 0.2, 0.3])), tol=1e-12, max_passes=50)
    assert inside.status == "solved"
    assert inside.theta[1] - inside.theta[0] == pytest.approx(np.log(4), abs=1e-9)
    assert inside.theta[3] - inside.theta[2] == pytest.approx(np.log(1.5), abs=1e-9)
    between = scale(problem_of(profiles, np.array([0.12, 0.48, 0.16, 0.24])), tol=1e-12, max_passes=50)
    assert between.status == "certified"
    assert between.q == pytest.approx([0.1, 0.4, 0.2, 0.3], abs=1e-9)
    assert between.bound_least == pytest.approx(0.1, abs=1e-12)
    assert total_variation(between.q, np.array([0.12, 0.48, 0.16, 0.24])) == pytest.approx(0.1, abs=1e-9)


def test_items_without_a_target_stay_dropped() -> None:
    rng = np.random.default_rng(15)
    profiles = full_table(rng, 6, 4)
    target = np.array([0.5, 0.0, 0.3, 0.2])
    found = scale(problem_of(profiles, target), tol=1e-10, max_passes=200)
    assert found.q[1] == 0
    assert np.isneginf(found.theta[1])
    table = table_of(profiles)
    kept = Table(table.a, table.b[:, target > 0])
    assert kept.marginal(found.theta[target > 0]) == pytest.approx(target[target > 0], abs=1e-10)
