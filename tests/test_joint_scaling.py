"""Scaling of several margins at once: dense proportional fitting and a convex solve agree, and its bounds hold."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.dense import random_profiles
from tests.margins import fit_in_turn, least_mean_divergence, pair_mass, random_problem
from tests.test_scaling import problem_of
from unskew.arrays.sweep import MarginSweep, Sweep
from unskew.solve.joint_scaling import JointProblem, scale_jointly
from unskew.solve.scaling import scale

seeds = st.integers(0, 2**32 - 1)


@given(seeds, st.booleans())
@settings(max_examples=40, deadline=None)
def test_a_pass_gives_the_weighted_marginals_of_all_margins_and_the_best_score_of_each_row(
    seed: int, priors: bool
) -> None:
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, solvable=False, priors=priors, sizes=(6, 3, 2))
    p, groups = problem.sweep.profiles, problem.sweep.groups
    theta, score = rng.normal(0, 300, 11), rng.normal(0, 1, 11)
    q, highest = problem.sweep.marginals(theta, score)
    expected, best = np.zeros(11), 0.0
    b = np.ones(len(p.item)) if p.b is None else p.b
    for u in range(p.n_users):
        entries = range(int(p.start[u]), int(p.stop[u]))
        logs = np.array([np.log(b[e]) + theta[groups[e]].sum() for e in entries])
        pi = np.exp(logs - logs.max())
        for e, share in zip(entries, p.shares()[u] * pi / pi.sum(), strict=True):
            expected[groups[e]] += share
            assert problem.sweep.pairs[e] == pytest.approx(share, abs=1e-14)
        best += p.shares()[u] * max(score[groups[e]].sum() for e in entries)
    assert q == pytest.approx(expected, abs=1e-12)
    assert highest == pytest.approx(best)


@given(seeds, st.booleans(), st.sampled_from([(6, 3), (6, 3, 2)]))
@settings(max_examples=20, deadline=None)
def test_targets_that_factors_can_reach_are_reached_as_by_fitting_each_margin_in_turn(
    seed: int, priors: bool, sizes: tuple[int, ...]
) -> None:
    problem = random_problem(np.random.default_rng(seed), solvable=True, priors=priors, sizes=sizes)
    found = scale_jointly(problem, tol=1e-6, max_passes=20_000)
    assert found.status == "solved"
    for q, target in zip(found.marginals, problem.targets, strict=True):
        assert q == pytest.approx(target, abs=2e-6)
    assert problem.sweep.pairs == pytest.approx(fit_in_turn(problem), abs=1e-3)


@given(seeds, st.booleans())
@settings(max_examples=40, deadline=None)
def test_where_margins_contradict_each_other_it_is_the_best_of_every_choice_of_conditionals(
    seed: int, priors: bool
) -> None:
    problem = random_problem(np.random.default_rng(seed), solvable=False, priors=priors)
    found = scale_jointly(problem, tol=1e-6, max_passes=20_000)
    least = least_mean_divergence(problem)
    assert found.status != "unfinished"
    assert found.divergence <= 1.0205 * least + 1e-7
    assert found.gap >= found.divergence - least - 1e-8


@given(seeds, st.integers(2, 30))
@settings(max_examples=40, deadline=None)
def test_the_gap_is_never_below_the_true_distance_wherever_the_fit_stops(seed: int, passes: int) -> None:
    problem = random_problem(np.random.default_rng(seed), solvable=False)
    found = scale_jointly(problem, tol=0.0, max_passes=passes)
    assert found.passes <= passes
    assert found.gap >= found.divergence - least_mean_divergence(problem) - 1e-8


@given(seeds)
@settings(max_examples=40, deadline=None)
def test_plain_steps_never_raise_the_mean_divergence(seed: int) -> None:
    problem = random_problem(np.random.default_rng(seed), solvable=False, sizes=(6, 3, 2))
    reached = [scale_jointly(problem, tol=0.0, max_passes=n, depth=0).divergence for n in range(2, 25)]
    assert np.diff(reached).max() <= 1e-15


@pytest.mark.parametrize("seed", range(5))
def test_one_margin_alone_has_the_limit_of_the_scaling_of_items(seed: int) -> None:
    rng = np.random.default_rng(seed)
    profiles = random_profiles(rng, 8, 6, size=1.0, empty=False)
    target = rng.dirichlet(np.ones(6))
    sweep = MarginSweep(profiles, profiles.item[:, None].astype(np.int32), 6)
    joint = scale_jointly(JointProblem(sweep, [target], np.zeros(6), [0.0]), tol=1e-12, max_passes=3000)
    alone = scale(problem_of(profiles, target), tol=1e-10, max_passes=3000)
    assert joint.residuals[0] == pytest.approx(alone.residual, abs=0.01)


def test_two_margins_that_want_opposite_things_meet_in_the_middle() -> None:
    """Pairs of item a are all in group y: .3 for a and .7 for y cannot be had, and .5 is as near to both."""
    profiles = random_profiles(np.random.default_rng(0), 5, 2, size=9.0, priors=False, empty=False)
    groups = np.column_stack([profiles.item, 3 - profiles.item]).astype(np.int32)
    wish = np.array([0.3, 0.7])
    problem = JointProblem(MarginSweep(profiles, groups, 4), [wish, wish], np.zeros(4), [0.0, 0.0])
    found = scale_jointly(problem, tol=1e-6, max_passes=500)
    assert found.status == "certified"
    assert found.marginals[0] == pytest.approx([0.5, 0.5], abs=1e-3)
    assert found.divergence == pytest.approx(0.5 * np.log(0.5 / 0.3) + 0.5 * np.log(0.5 / 0.7), abs=1e-4)


def test_the_result_does_not_depend_on_the_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    profiles = random_profiles(rng, 12_000, 300, size=4.0)
    groups = np.column_stack([profiles.item, 300 + rng.integers(0, 9, len(profiles.item))]).astype(np.int32)
    theta, score = rng.normal(0, 1, 309), rng.normal(0, 1, 309)
    results = []
    for n in ("1", "2", "3"):
        monkeypatch.setenv("UNSKEW_THREADS", n)
        results.append(MarginSweep(profiles, groups, 309).marginals(theta, score))
    for q, highest in results[1:]:
        assert np.array_equal(q, results[0][0])
        assert highest == results[0][1]


def test_a_start_that_is_too_far_out_is_left_for_one_that_is_not() -> None:
    problem = random_problem(np.random.default_rng(1), solvable=True)
    far = replace(problem, start=np.where(np.arange(9) == 0, -1e5, 0.0))
    assert scale_jointly(far, tol=1e-4, max_passes=500).status == "solved"


def test_a_pass_without_weights_is_the_raw_mass() -> None:
    problem = random_problem(np.random.default_rng(2), solvable=False)
    q, highest = problem.sweep.marginals(np.zeros(9))
    assert problem.sweep.pairs == pytest.approx(pair_mass(problem), abs=1e-15)
    assert q[:6] == pytest.approx(Sweep(problem.sweep.profiles).marginal(np.zeros(6)), abs=1e-15)
    assert highest == 0.0
