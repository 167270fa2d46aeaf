"""Gradient descent and L-BFGS on the weights of chosen items: the paper's way."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

import unskew as us
from tests.dense import (
    Floats,
    columns,
    divergence,
    item_mix,
    paper_gradient,
    profiles_at,
    profiles_of,
    random_events,
    random_profiles,
    table_of,
)
from unskew.arrays.sweep import Sweep
from unskew.errors import InputError, PolicyError
from unskew.solve.descent import descend, lbfgs
from unskew.solve.problem import Problem
from unskew.solve.scaling import scale

seeds = st.integers(0, 2**32 - 1)
METHODS = ["descent", "lbfgs"]
SOLVERS = {"descent": descend, "lbfgs": lbfgs}


def restricted(seed: int, priors: bool) -> Problem:
    """Six items with a target, of which three are free; a seventh is new and keeps weight 1."""
    rng = np.random.default_rng(seed)
    profiles = random_profiles(rng, 14, 7, priors=priors)
    target = np.append(rng.dirichlet(np.ones(6) * 5), 0.0)
    return Problem(Sweep(profiles), target, np.zeros(7), np.array([0, 2, 5]))


def best_of_scipy(problem: Problem) -> float:
    """The smallest D near the start, by another optimiser that is not told the gradient."""
    table = table_of(profiles_of(problem))

    def objective(x: Floats) -> float:
        theta = problem.theta.copy()
        theta[problem.free] = x
        return divergence(problem.target, table.marginal(theta))

    found = minimize(
        objective,
        np.zeros(len(problem.free)),
        method="Nelder-Mead",
        options={"xatol": 1e-9, "fatol": 1e-13, "maxiter": 5000, "maxfev": 5000},
    )
    return float(found.fun)


@pytest.mark.parametrize("method", METHODS)
@given(seeds, st.booleans())
@settings(max_examples=20, deadline=None)
def test_the_gradient_of_the_free_weights_vanishes_where_it_stops(method: str, seed: int, priors: bool) -> None:
    problem = restricted(seed, priors)
    tol = {"descent": 1e-4, "lbfgs": 1e-6}[method]  # plain descent creeps where a weight runs off
    found = SOLVERS[method](problem, tol=tol, max_passes=5000)
    assert found.status == "solved"
    w = np.exp(found.theta)
    slope = paper_gradient(table_of(profiles_of(problem)), problem.target, w) * w
    assert 0.5 * np.abs(slope[problem.free]).sum() <= tol + 1e-12
    others = np.setdiff1d(np.arange(7), problem.free)
    assert np.array_equal(found.theta[others], problem.theta[others])


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("priors", [False, True])
def test_it_ends_no_higher_than_a_derivative_free_optimiser(method: str, priors: bool) -> None:
    for seed in range(5):
        problem = restricted(seed, priors)
        found = SOLVERS[method](problem, tol=1e-5, max_passes=2000)
        assert found.divergence <= best_of_scipy(problem) + 1e-4
        assert found.q == pytest.approx(table_of(profiles_of(problem)).marginal(found.theta), abs=1e-12)


@pytest.mark.parametrize("method", METHODS)
@given(seeds, st.booleans())
@settings(max_examples=20, deadline=None)
def test_the_history_never_rises_and_ends_with_what_is_returned(method: str, seed: int, priors: bool) -> None:
    problem = restricted(seed, priors)
    found = SOLVERS[method](problem, tol=1e-9, max_passes=60)
    assert np.diff(found.history).max(initial=-1.0) <= 0
    assert found.history[-1] == found.divergence
    assert found.passes <= 60


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("limit", [2, 3, 4, 5, 10])
def test_it_keeps_to_max_passes_and_says_unfinished(method: str, limit: int) -> None:
    found = SOLVERS[method](restricted(1, True), tol=1e-12, max_passes=limit)
    assert found.passes <= limit
    assert found.status == "unfinished"


@pytest.mark.parametrize("method", METHODS)
def test_with_all_items_free_it_reaches_the_target_as_scaling_does(method: str) -> None:
    rng = np.random.default_rng(3)
    profiles = random_profiles(rng, 30, 6)
    target = table_of(profiles).marginal(rng.normal(0, 1, 6))
    problem = Problem(Sweep(profiles), target, np.zeros(6), np.arange(6))
    found = SOLVERS[method](problem, tol=1e-6, max_passes=20_000)
    assert found.status == "solved"
    assert found.residual <= 1e-6
    assert found.q == pytest.approx(scale(problem, tol=1e-6, max_passes=500).q, abs=3e-6)


@pytest.mark.parametrize("method", METHODS)
def test_a_start_that_is_good_enough_is_returned_as_it_is(method: str) -> None:
    profiles = random_profiles(np.random.default_rng(4), 10, 5)
    problem = Problem(Sweep(profiles), table_of(profiles).marginal(np.zeros(5)), np.zeros(5), np.array([1, 2]))
    found = SOLVERS[method](problem, tol=1e-6, max_passes=2)
    assert found.status == "solved"
    assert np.array_equal(found.theta, np.zeros(5))


@pytest.mark.parametrize("method", METHODS)
@given(seeds, st.integers(1, 4))
@settings(max_examples=15, deadline=None)
def test_top_fits_the_items_of_largest_change_among_those_of_both_dates(method: str, seed: int, p: int) -> None:
    events = random_events(np.random.default_rng(seed), users=15)
    before, now = item_mix(profiles_at(events, 3)), item_mix(profiles_at(events, 9))
    change = {i: abs(before[i] - now[i]) for i in before if i in now}
    log = us.read_log(columns(events))
    if p > len(change):
        with pytest.raises(
            InputError, match=f"top is {p}, but only {len(change)} items exist at both dates"
        ) as raised:
            us.fit_weights(log.at(9), log.at(3), top=p, method=method)
        assert raised.value.remedy == f"give at most {len(change)}"
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", us.ConvergenceWarning)  # which items are fitted does not hang on how well
        result = us.fit_weights(log.at(9), log.at(3), top=p, method=method, max_passes=50)
    assert result.report.fitted == p
    moved = {i for i, w in zip(result.items.to_pylist(), result.log_weights, strict=True) if w != 0}
    least = sorted(change.values(), reverse=True)[p - 1]
    assert all(change[i] >= least - 1e-12 for i in moved)
    above = [c for c in change.values() if c > least + 1e-12]
    assert len(above) < p  # they are all among the fitted


@pytest.mark.parametrize("method", METHODS)
def test_items_gives_the_set_and_all_others_keep_weight_one(method: str) -> None:
    events = random_events(np.random.default_rng(6), users=40)
    log = us.read_log(columns(events))
    result = us.fit_weights(log.at(9), log.at(3), items=["i0", "i2"], method=method)
    weights = dict(zip(result.items.to_pylist(), result.log_weights.tolist(), strict=True))
    assert {i for i, w in weights.items() if w != 0} == {"i0", "i2"}
    assert result.report.fitted == 2
    assert result.p_after == pytest.approx(
        [item_mix(profiles_at(events, 9), log_weight=weights)[i] for i in weights], abs=1e-12
    )


@pytest.mark.parametrize("method", METHODS)
def test_new_items_keep_weight_one_under_top_unless_they_are_to_be_dropped(method: str) -> None:
    table = {"user": [1, 1, 2, 2, 1, 2], "item": ["a", "b", "a", "c", "new", "b"], "time": [0, 0, 0, 0, 9, 9]}
    log = us.read_log(table)
    kept = us.fit_weights(log.at(9), log.at(0), top=1, method=method)
    dropped = us.fit_weights(log.at(9), log.at(0), top=1, method=method, new_items="drop")
    where = kept.items.to_pylist().index("new")
    assert kept.weights[where] == 1
    assert kept.p_after[where] > 0
    assert dropped.weights[where] == 0
    assert dropped.p_after[where] == 0
    assert kept.options.new_items == "keep"
    assert dropped.options.new_items == "drop"


def test_more_free_items_never_end_with_a_larger_divergence_than_scaling_of_all() -> None:
    events = random_events(np.random.default_rng(7), users=60)
    log = us.read_log(columns(events))
    everything = us.fit_weights(log.at(9), log.at(2), tol=1e-6, max_passes=5000)
    some = us.fit_weights(log.at(9), log.at(2), top=2, method="lbfgs", new_items="drop")
    assert everything.divergence < some.divergence
    assert some.report.gap >= some.divergence - everything.divergence - 1e-9


@pytest.mark.parametrize("options", [{"top": 3}, {"items": ["i0"]}])
def test_scaling_on_a_subset_is_an_error_that_says_why(options: dict[str, object]) -> None:
    log = us.read_log(columns(random_events(np.random.default_rng(8))))
    with pytest.raises(PolicyError, match=r"would not minimise D.*method='descent' or method='lbfgs'"):
        us.fit_weights(log.at(9), log.at(3), **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"top": 2, "items": ["i0"]}, "top or items, not both"),
        ({"top": 0}, "top is 0, but must be a whole number of at least 1 \\(how many items to weight\\)"),
        ({"top": 2.5}, "top is 2.5, but must be a whole number of at least 1 \\(how many items to weight\\)"),
        ({"items": []}, "items is empty"),
        ({"items": "i0"}, "give a list of item ids"),
        ({"items": ["nowhere"]}, "the log has no item 'nowhere'"),
    ],
)
def test_a_wrong_choice_of_items_is_refused_in_plain_words(options: dict[str, object], message: str) -> None:
    log = us.read_log(columns(random_events(np.random.default_rng(8))))
    with pytest.raises(InputError, match=message):
        us.fit_weights(log.at(9), log.at(3), method="descent", **options)  # type: ignore[arg-type]


def test_an_item_of_one_date_only_cannot_be_fitted() -> None:
    log = us.read_log({"user": [1, 2, 1], "item": ["a", "b", "new"], "time": [0, 0, 9]})
    with pytest.raises(InputError, match="item 'new' cannot be fitted: it does not exist at both dates"):
        us.fit_weights(log.at(9), log.at(0), items=["new"], method="descent")
