"""The certificate: a lower bound on what any weighting can reach, and the items that prove it."""

from __future__ import annotations

import itertools

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import unskew as us
from tests.dense import (
    Floats,
    Table,
    least_divergence,
    least_total_variation,
    profiles_of,
    random_profiles,
    table_of,
)
from unskew.arrays import item_kernels
from unskew.arrays.sweep import LEVELS, Sweep
from unskew.solve.certificate import RunningBound, levels
from unskew.solve.problem import Problem
from unskew.solve.scaling import scale
from unskew.weights.fit_report import Certificate, explain_certificate

seeds = st.integers(0, 2**32 - 1)


def excess(table: Table, target: Floats, chosen: npt.NDArray[np.bool_]) -> float:
    """T(S) - P(u holds any of S)."""
    return float(target[chosen].sum() - table.a[table.held[:, chosen].any(axis=1)].sum())


def arbitrary(seed: int, priors: bool) -> Problem:
    rng = np.random.default_rng(seed)
    profiles = random_profiles(rng, 8, 6, size=1.0, priors=priors)
    return Problem(Sweep(profiles), rng.dirichlet(np.ones(6)), np.zeros(6), np.arange(6))


@given(seeds, st.booleans())
@settings(max_examples=40, deadline=None)
def test_the_bound_is_the_linear_programs_at_convergence(seed: int, priors: bool) -> None:
    problem = arbitrary(seed, priors)
    found = scale(problem, tol=1e-6, max_passes=3000)
    least = least_total_variation(table_of(profiles_of(problem)), problem.target)
    assert found.status != "unfinished"
    assert found.bound_least <= least + 1e-12
    assert found.bound_least == pytest.approx(least, abs=1e-6)
    assert found.residual == pytest.approx(least, abs=1e-6)


@given(seeds, st.booleans(), st.integers(2, 20))
@settings(max_examples=60, deadline=None)
def test_the_bound_is_never_above_the_linear_program_wherever_the_fit_stops(
    seed: int, priors: bool, passes: int
) -> None:
    problem = arbitrary(seed, priors)
    found = scale(problem, tol=0.0, max_passes=passes)
    assert found.bound_least <= least_total_variation(table_of(profiles_of(problem)), problem.target) + 1e-12


@given(seeds, st.booleans(), st.integers(2, 30))
@settings(max_examples=60, deadline=None)
def test_the_items_named_prove_the_bound(seed: int, priors: bool, passes: int) -> None:
    problem = arbitrary(seed, priors)
    found = scale(problem, tol=1e-5, max_passes=passes)
    if found.bound_least > 1e-12:
        proof = excess(table_of(profiles_of(problem)), problem.target, found.trapped)
        assert proof == pytest.approx(found.bound_least, abs=1e-12)


@given(seeds, st.booleans())
@settings(max_examples=60, deadline=None)
def test_the_bound_of_a_point_is_the_best_over_thresholds_and_its_gap_the_mean_of_row_maxima(
    seed: int, priors: bool
) -> None:
    rng = np.random.default_rng(seed)
    profiles = random_profiles(rng, 8, 6, priors=priors)
    ratio = rng.permutation([0.3, 0.7, 0.98, 1.02, 1.4, 3.0])  # far enough apart to be told apart by levels
    q = rng.dirichlet(np.ones(6))
    target = ratio * q / (ratio * q).sum()
    table = table_of(profiles)
    bound = RunningBound(target)
    gap = bound.close(Sweep(profiles), np.log(target / q))
    every = [excess(table, target, target / q >= c) for c in target / q]
    assert bound.best == pytest.approx(max(0.0, *every), abs=1e-12)
    if bound.best > 0:
        assert excess(table, target, bound.trapped) == pytest.approx(bound.best, abs=1e-12)
    highest = np.where(table.held, target / q, -np.inf).max(axis=1)
    assert gap == pytest.approx(max(0.0, table.a @ highest - 1), abs=1e-12)


@given(seeds)
@settings(max_examples=30, deadline=None)
def test_equal_ratios_are_taken_together(seed: int) -> None:
    rng = np.random.default_rng(seed)
    profiles = random_profiles(rng, 8, 6, size=1.0, priors=False)
    q = rng.dirichlet(np.ones(6))
    ratio = rng.choice([0.5, 1.0, 2.0], 6)
    target = ratio * q / (ratio * q).sum()
    table = table_of(profiles)
    bound = RunningBound(target)
    bound.close(Sweep(profiles), np.log(ratio / (ratio * q).sum()))
    every = [excess(table, target, ratio >= c) for c in (0.5, 1.0, 2.0)]
    assert bound.best == pytest.approx(max(0.0, *every), abs=1e-12)
    assert bound.best == 0 or excess(table, target, bound.trapped) == pytest.approx(bound.best, abs=1e-12)


def test_at_the_optimum_the_bound_is_the_best_of_all_sets_of_items() -> None:
    for seed in range(25):
        problem = arbitrary(seed, seed % 2 == 0)
        table = table_of(profiles_of(problem))
        sets = [np.array(s) for s in itertools.product([False, True], repeat=6)]
        best = max(excess(table, problem.target, s) for s in sets)
        found = scale(problem, tol=1e-7, max_passes=5000)
        assert found.bound_least == pytest.approx(best, abs=1e-7)


@given(st.lists(st.floats(-100, 100), min_size=1, max_size=30))
@settings(max_examples=100, deadline=None)
def test_levels_keep_the_order_of_the_ratios_and_fit_their_type(values: list[float]) -> None:
    f = np.array(values)
    level = levels(f, np.ones(len(f))).astype(np.int64)
    order = np.argsort(f)
    assert (np.diff(level[order]) >= 0).all()
    assert level.min() >= 1


@given(st.lists(st.floats(allow_nan=False, width=32), min_size=1), st.integers(0, 2**32 - 1))
@settings(max_examples=100, deadline=None)
def test_levels_and_their_targets_are_those_of_numpy(values: list[float], seed: int) -> None:
    f = np.array(values)
    target = np.random.default_rng(seed).choice([0.0, 0.1, 0.7], len(f))
    exponents = (np.abs(f.astype(np.float32)).view(np.int32) >> 18) - (np.float32(2.0**-26).view(np.int32) >> 18)
    steps = np.clip(exponents, 0, LEVELS // 2 - 1)
    expected = np.where(target > 0, LEVELS // 2 + np.where(f < 0, -steps, steps), 0)
    level = levels(f, target)
    assert np.array_equal(level, expected)
    sums = np.zeros(LEVELS)
    item_kernels.sum_by_level(level, target, sums)
    assert np.array_equal(sums, np.bincount(level, weights=target, minlength=LEVELS))


def test_levels_are_zero_for_items_without_a_target_and_survive_infinite_ratios() -> None:
    level = levels(np.array([np.inf, 0.0, -np.inf, 5.0]), np.array([0.5, 0.3, 0.2, 0.0])).astype(int)
    assert level[0] > level[1] > level[2] > level[3] == 0


def test_the_running_bound_keeps_the_best_it_has_seen() -> None:
    bound = RunningBound(np.array([0.75, 0.25]))
    shares = np.zeros(LEVELS)
    shares[[10, 20]] = [0.55, 0.45]  # of the first item, T is 0.75, and 0.45 of the users hold it
    bound.update(np.array([20, 10], dtype=np.uint16), shares)
    assert bound.best == pytest.approx(0.3)
    assert bound.trapped.tolist() == [True, False]
    shares[[10, 20]] = [0.9, 0.1]  # of the second item, T is 0.25, and 0.1 of the users hold it
    bound.update(np.array([10, 20], dtype=np.uint16), shares)
    assert bound.best == pytest.approx(0.3)
    assert bound.trapped.tolist() == [True, False]


def test_a_certified_fit_is_near_the_least_divergence_and_not_only_the_least_variation() -> None:
    """TV is least as soon as the mass that items lack is trapped; how they share the lack is up to D."""
    for seed in range(30):
        problem = arbitrary(seed, seed % 2 == 0)
        found = scale(problem, tol=1e-5, max_passes=5000)
        assert found.status != "unfinished"
        assert (
            found.divergence - least_divergence(table_of(profiles_of(problem)), problem.target) < 30 * 1e-5 + 1e-8
        )


def test_a_fit_with_trapped_mass_is_certified_in_few_passes() -> None:
    """What a user waits for: the bound is looked for on the way, and not when the passes have run out."""
    passes = []
    for seed in range(4):
        for holders in (60, 100, 140):  # of 300 users, who alone hold any of items that had 60 % of the mass
            rng = np.random.default_rng(seed)
            pools = [np.arange(40) if user < holders else np.arange(10, 40) for user in range(300)]
            items = np.concatenate([rng.choice(pool, 6, replace=False) for pool in pools])
            log = us.read_log({"user": np.repeat(np.arange(300), 6), "item": items, "time": np.ones(1800, int)})
            p = rng.gamma(1.0, size=40)
            p[:10] *= 0.6 / p[:10].sum()
            p[10:] *= 0.4 / p[10:].sum()
            found = us.fit_weights(log.at(1), dict(enumerate(p.tolist())))
            assert found.status == "certified"
            assert found.report.bound_least > 0.1
            passes.append(found.report.passes)
    assert max(passes) <= 40
    assert sum(passes) <= 22 * len(passes)


@pytest.mark.parametrize(
    ("certificate", "words"),
    [
        (Certificate(3, 0.31, 0.27), ["these 3 items had 31.0 % of the mass", "only 27.0 % of the users"]),
        (Certificate(1, 0.5, 0.25), ["this one item had 50.0 % of the mass", "only 25.0 % of the users"]),
        (Certificate(40, 0.43215, 0.43191), ["43.215 %", "43.191 %"]),
        (
            Certificate(100, 0.96, 0.93, 10),
            ["7.0 % of the users", "nothing but 10 items that had only 4.0 % of the mass"],
        ),
        (Certificate(10, 0.96, 0.93, 1), ["nothing but one item that had only 4.0 %"]),
        (Certificate(9, 0.96, 0.93, 1), ["these 9 items had 96.0 % of the mass", "only 93.0 % of the users"]),
    ],
)
def test_the_explanation_shows_both_figures_with_digits_enough_to_differ(
    certificate: Certificate, words: list[str]
) -> None:
    for word in words:
        assert word in explain_certificate(certificate)


def test_without_a_proof_the_explanation_claims_nothing() -> None:
    assert "nothing found stands in the way" in explain_certificate(Certificate())
