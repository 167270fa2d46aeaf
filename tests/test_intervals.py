"""Intervals and tests against scipy, brute force and simulation."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from tests.tables import LAW
from unskew.arrays.types import Floats
from unskew.data.policy import critical_value
from unskew.errors import InputError
from unskew.evaluation.interval_formulas import UNIT, Bounds
from unskew.evaluation.intervals import (
    Difference,
    Estimate,
    Units,
    effective_number,
    holm,
    influences,
    measure_difference,
    p_value,
    standard_error,
    sum_for,
)

ANY = Bounds(-math.inf, math.inf)
P_VALUES = st.lists(st.floats(0, 1), max_size=12)


def estimate(mass: Floats, total: Floats, level: float, bounds: Bounds = UNIT, method: str = "users") -> Estimate:
    return Units(mass, total, np.arange(len(mass)), method, bounds).estimate(level)


@pytest.mark.parametrize("level", [0.5, 0.8, 0.95, 0.999])
@pytest.mark.parametrize("n", [2, 3, 10, 400, 10**6])
def test_the_critical_value_is_that_of_student_or_of_the_normal_law(level: float, n: int) -> None:
    assert critical_value(level) == pytest.approx(stats.norm.ppf(0.5 + level / 2), rel=1e-9)
    assert critical_value(level, n) == pytest.approx(stats.t.ppf(0.5 + level / 2, n - 1), rel=1e-9)


@pytest.mark.parametrize("level", [0, 1, -0.5, 95, math.nan])
def test_a_level_that_is_no_probability_is_refused(level: float) -> None:
    with pytest.raises(InputError, match="between 0 and 1"):
        critical_value(level)


@pytest.mark.parametrize("level", [0.8, 0.95])
def test_a_metric_without_bounds_has_the_t_interval_of_its_mean(level: float) -> None:
    values = np.random.default_rng(1).gamma(2.0, size=17)
    theirs = stats.ttest_1samp(values, 0.0).confidence_interval(level)
    for mass in (1.0, 1 / 17):
        found = estimate(np.full(17, mass), mass * values, level, ANY, "draws")
        assert found.interval == pytest.approx((theirs.low, theirs.high), rel=1e-12)
        assert (found.level, found.method, found.too_few_hits) == (level, "draws", False)


def test_bounds_scale_the_interval() -> None:
    mass, value = np.random.default_rng(2).random((2, 30))
    low, high = estimate(mass, mass * value, 0.9).interval
    for bounds in (Bounds(0, 1), Bounds(-1, 1), Bounds(2, 12)):
        scaled = bounds.lowest + bounds.width * value
        found = estimate(mass, mass * scaled, 0.9, bounds)
        assert found.interval == pytest.approx([bounds.lowest + bounds.width * x for x in (low, high)])


@pytest.mark.parametrize(("hits", "few"), [(0, True), (4, True), (5, False), (300, False)])
def test_fewer_than_five_hits_are_too_few(hits: int, few: bool) -> None:
    found = estimate(np.ones(400), (np.arange(400) < hits).astype(float), 0.95)
    assert found.hits == pytest.approx(hits)
    assert found.too_few_hits == few


def test_no_hits_give_no_point() -> None:
    low, high = estimate(np.ones(400), np.zeros(400), 0.95).interval
    assert low == 0
    assert high == pytest.approx(stats.binomtest(0, 400).proportion_ci(0.95, method="wilson").high, rel=0.01)


def test_the_error_by_users_is_that_of_the_jackknife() -> None:
    rng = np.random.default_rng(3)
    n = 400
    mass = rng.gamma(2.0, size=n)
    total = mass * rng.random(n)
    without = np.array([np.delete(total, u).sum() / np.delete(mass, u).sum() for u in range(n)])
    jackknife = math.sqrt((n - 1) / n * ((without - without.mean()) ** 2).sum())
    assert standard_error(influences(mass, total), n) == pytest.approx(jackknife, rel=0.01)


def test_the_error_by_users_is_the_spread_of_the_score_over_samples_of_users() -> None:
    rng = np.random.default_rng(4)
    n, samples = 200, 4000
    mass = rng.gamma(2.0, size=(samples, n))
    metric = (rng.random((samples, n)) < 0.2 + 0.1 * (mass > 2)).astype(float)  # large users do better
    scores = (mass * metric).sum(axis=1) / mass.sum(axis=1)
    errors = [standard_error(influences(m, m * x), n) for m, x in zip(mass, metric, strict=True)]
    assert np.mean(errors) == pytest.approx(scores.std(), rel=0.04)


def test_influences_sum_to_0_and_do_not_depend_on_the_scale_of_the_mass() -> None:
    rng = np.random.default_rng(5)
    mass, metric = rng.random(9), rng.random(9)
    found = influences(mass, mass * metric)
    assert found.sum() == pytest.approx(0, abs=1e-15)
    assert influences(7 * mass, 7 * mass * metric) == pytest.approx(found)
    assert influences(np.zeros(3), np.zeros(3)).tolist() == [0, 0, 0]


def test_an_influence_is_what_the_score_gains_when_the_mass_of_a_user_grows_a_little() -> None:
    rng = np.random.default_rng(6)
    mass, metric = rng.random(8), rng.random(8)
    step = 1e-7
    for u in range(8):
        more = mass.copy()
        more[u] *= 1 + step
        slope = ((more * metric).sum() / more.sum() - (mass * metric).sum() / mass.sum()) / step
        assert influences(mass, mass * metric)[u] == pytest.approx(slope, abs=1e-6)


@LAW
@given(st.lists(st.floats(0.01, 100), min_size=2, max_size=20), st.integers(2, 6))
def test_the_effective_number_is_at_most_the_number_and_equal_masses_reach_it(
    mass: list[float], times: int
) -> None:
    masses = np.array(mass)
    assert 2 <= effective_number(masses) <= len(mass) + 1e-9
    assert effective_number(np.full(len(mass), mass[0])) == pytest.approx(len(mass))
    assert effective_number(np.append(3 * masses, 0.0)) == pytest.approx(effective_number(masses))
    once = masses.sum() ** 2 / (masses**2).sum()
    assert effective_number(np.tile(masses, times)) == pytest.approx(max(times * once, 2))


def test_the_effective_number_of_nobody_and_of_one() -> None:
    assert effective_number(np.zeros(3)) == 0
    assert effective_number(np.array([0.0, 0.4])) == 1


@pytest.mark.parametrize("bounds", [ANY, Bounds()])
def test_where_a_few_users_have_most_of_the_mass_the_interval_rests_on_those(bounds: Bounds) -> None:
    """With shares of a gamma law of shape 0.5, 60 users are worth about 21; n = 60 would cover 91.7 %."""
    rng = np.random.default_rng(13)
    found = []
    for _ in range(2000):
        mass, metric = rng.gamma(0.5, size=60), rng.random(60)
        low, high = estimate(mass, mass * metric, 0.95, bounds).interval
        found.append(low <= 0.5 <= high)
    assert 0.93 - 0.011 <= np.mean(found) <= 0.96


def test_users_who_are_exactly_average_count_as_taking_part() -> None:
    mass = np.full(4, 0.25)
    metric = np.array([0.0, 1.0, 0.5, 0.5])
    theirs = stats.sem(metric)
    assert standard_error(influences(mass, mass * metric), 4) == pytest.approx(theirs)
    low, high = estimate(mass, mass * metric, 0.95, ANY).interval
    assert high - low == pytest.approx(2 * theirs * stats.t.ppf(0.975, 3))


@pytest.mark.parametrize("bounds", [ANY, Bounds()])
def test_users_without_mass_do_not_count(bounds: Bounds) -> None:
    mass, metric = np.array([0.2, 0.5, 0.3]), np.array([1.0, 0.0, 0.4])
    padded = np.array([0.2, 0.0, 0.5, 0.3, 0.0])
    more = np.array([1.0, 0.9, 0.0, 0.4, 0.1])
    found = estimate(mass, mass * metric, 0.9, bounds)
    assert found.interval == pytest.approx(estimate(padded, padded * more, 0.9, bounds).interval)


@pytest.mark.parametrize("n", [0, 1])
@pytest.mark.parametrize("bounds", [ANY, Bounds()])
def test_of_fewer_than_two_there_is_no_interval(n: int, bounds: Bounds) -> None:
    assert math.isnan(standard_error(np.zeros(n), n))
    found = estimate(np.ones(n), np.full(n, 0.5), 0.95, bounds)
    assert math.isnan(found.low)
    assert math.isnan(found.high)


@pytest.mark.parametrize("bounds", [ANY, Bounds()])
def test_where_all_users_are_alike_the_interval_is_a_point(bounds: Bounds) -> None:
    found = estimate(np.ones(3), np.full(3, 0.25), 0.95, bounds)
    assert found.interval == pytest.approx((0.25, 0.25), abs=1e-12)


def test_a_bootstrap_interval_is_centred_at_the_score_and_as_wide_as_the_repetitions_say() -> None:
    repeats = np.random.default_rng(8).normal(0.5, 0.02, 200)
    found = Estimate.from_repeats(0.5, repeats, 0.95)
    half = stats.t.ppf(0.975, 200) * math.sqrt(sum((r - 0.5) ** 2 for r in repeats) / 200)
    assert found.interval == pytest.approx((0.5 - half, 0.5 + half))
    assert found.method == "bootstrap"


def test_a_bootstrap_interval_of_a_score_stays_within_its_bounds_and_is_that_of_as_many_draws() -> None:
    repeats = np.random.default_rng(8).normal(0.02, 0.01, 400)
    low, high = Estimate.from_repeats(0.02, repeats, 0.95, Bounds()).interval
    n = 0.02 * 0.98 / np.mean((repeats - 0.02) ** 2)
    q = stats.t.ppf(0.975, 400) ** 2 / n
    half = math.sqrt(q * 0.02 * 0.98 + q * q / 4)
    assert high == pytest.approx((0.02 + q / 2 + half) / (1 + q))
    assert low == pytest.approx(stats.beta.ppf(0.025, 0.02 * n, 0.98 * n + 1))  # fewer than ten hits
    assert Estimate.from_repeats(2 * 0.02 - 1, 2 * repeats - 1, 0.95, Bounds(-1, 1)).interval == pytest.approx(
        (2 * low - 1, 2 * high - 1)
    )


def test_a_bias_that_the_repetitions_show_makes_the_bootstrap_interval_wider() -> None:
    repeats = np.random.default_rng(8).normal(0.5, 0.02, 200)
    plain, biased = Estimate.from_repeats(0.5, repeats, 0.95), Estimate.from_repeats(0.5, repeats + 0.02, 0.95)
    assert biased.high - biased.low == pytest.approx(math.sqrt(2) * (plain.high - plain.low), rel=0.1)


def test_a_bootstrap_interval_covers_with_few_repetitions_too() -> None:
    rng = np.random.default_rng(9)
    score = rng.normal(size=20_000)
    repeats = rng.normal(score[:, None], size=(20_000, 5))
    found = [Estimate.from_repeats(value, some, 0.95) for value, some in zip(score, repeats, strict=True)]
    assert np.mean([i.low <= 0 <= i.high for i in found]) == pytest.approx(0.95, abs=0.005)


def test_two_repeats_are_enough_for_an_interval() -> None:
    low, high = Estimate.from_repeats(0.5, np.array([0.48, 0.53]), 0.95).interval
    half = stats.t.ppf(0.975, 2) * math.sqrt((0.02**2 + 0.03**2) / 2)
    assert (low, high) == pytest.approx((0.5 - half, 0.5 + half))


@pytest.mark.parametrize("n", [0, 1])
def test_a_bootstrap_of_one_is_refused(n: int) -> None:
    with pytest.raises(InputError, match="at least 2"):
        Estimate.from_repeats(0.5, np.ones(n), 0.95)


def test_the_p_value_is_that_of_the_paired_t_test() -> None:
    rng = np.random.default_rng(10)
    a, b = rng.random(12), rng.random(12) + 0.2
    error = standard_error(influences(np.ones(12), a - b), 12)
    assert p_value(float((a - b).mean()), error, 12) == pytest.approx(stats.ttest_rel(a, b).pvalue)


@LAW
@given(st.floats(-3, 3), st.floats(0.01, 2), st.integers(2, 60), st.floats(0.5, 0.999))
def test_the_p_value_is_small_exactly_where_the_interval_leaves_out_0(
    difference: float, error: float, n: int, level: float
) -> None:
    low, high = Estimate.around(difference, error, n, level).interval
    p = p_value(difference, error, n)
    assert (low <= 0 <= high) == (p >= 1 - level) or p == pytest.approx(1 - level, rel=1e-9)


def test_p_values_at_the_edges() -> None:
    assert p_value(0.0, 0.0, 5) == 1
    assert p_value(0.3, 0.0, 5) == 0
    assert p_value(0.0, 0.1, 5) == 1
    assert math.isnan(p_value(0.3, math.nan, 1))


def test_p_values_are_uniform_where_nothing_differs() -> None:
    rng = np.random.default_rng(11)
    n = 200
    found = []
    for _ in range(3000):
        mass = rng.gamma(2.0, size=n)
        total = mass * (rng.random(n) - rng.random(n))
        size = effective_number(mass)
        found.append(p_value(total.sum() / mass.sum(), standard_error(influences(mass, total), size), size))
    assert stats.kstest(found, "uniform").pvalue > 0.001
    assert np.mean(np.array(found) < 0.05) == pytest.approx(0.05, abs=0.012)


def test_holm_by_hand() -> None:
    # sorted 0.01, 0.02, 0.03, 0.5 times 4, 3, 2, 1 is 0.04, 0.06, 0.06, 0.5
    assert holm([0.03, 0.5, 0.01, 0.02]) == pytest.approx([0.06, 0.5, 0.04, 0.06])
    assert holm([0.6, 0.7]) == pytest.approx([1.0, 1.0])
    assert holm([]).tolist() == []


def test_holm_leaves_a_missing_test_missing_and_counts_it() -> None:
    found = holm([math.nan, 0.01])
    assert math.isnan(found[0])
    assert found[1] == pytest.approx(0.02)


@LAW
@given(P_VALUES)
def test_holm_is_the_step_down_rule(p: list[float]) -> None:
    """Rejected at 0.05: the smallest ones, as long as each is within 0.05 over the number that is left."""
    rejected = set()
    for k, (value, place) in enumerate(sorted((value, place) for place, value in enumerate(p))):
        if value * (len(p) - k) > 0.05:
            break
        rejected.add(place)
    assert set(np.flatnonzero(holm(p) <= 0.05)) == rejected


@LAW
@given(P_VALUES)
def test_holm_keeps_the_order_never_lowers_and_does_not_depend_on_the_order_given(p: list[float]) -> None:
    corrected = holm(p)
    assert (corrected >= np.array(p)).all()
    assert (corrected <= 1).all()
    order = np.argsort(p, kind="stable")
    assert all(a <= b for a, b in pairwise(corrected[order]))
    assert holm(p[::-1]) == pytest.approx(corrected[::-1])


def test_holm_keeps_the_chance_of_any_false_alarm_within_the_level() -> None:
    rng = np.random.default_rng(12)
    alarms = [holm(rng.random(6)).min() < 0.05 for _ in range(4000)]
    assert np.mean(alarms) == pytest.approx(0.05, abs=0.012)


@pytest.mark.parametrize("bounds", [UNIT, Bounds(-1.0, 3.0), ANY], ids=["unit", "wide", "unbounded"])
def test_a_difference_from_sums_over_blocks_is_that_of_paired_units(bounds: Bounds) -> None:
    rng = np.random.default_rng(6)
    mass = np.where(rng.random(300) < 0.1, 0.0, rng.random(300))
    values = (rng.random((2, 300)) < 0.3) * rng.random(300)
    scores = [Units(mass, mass * value, np.arange(300), "users", bounds) for value in values]
    expected = Difference.of(scores[0], scores[1])
    gained = scores[0].total - scores[1].total
    blocks = Units(mass, gained, np.arange(300), edges=np.array([0, 100, 180, 300]))
    difference = sum_for(measure_difference(bounds), blocks.add)
    assert difference.estimate(0.9).interval == pytest.approx(expected.estimate(0.9).interval, rel=1e-9)
    for name in ("value", "error", "n"):
        assert getattr(difference, name) == pytest.approx(getattr(expected, name), rel=1e-9)
    assert difference.p_value() == pytest.approx(expected.p_value(), rel=1e-9)


def test_a_difference_of_one_user_has_no_interval() -> None:
    units = Units(np.array([1.0, 0.0]), np.array([0.5, 0.0]), np.arange(2))
    difference = sum_for(measure_difference(UNIT), units.add)
    assert difference.value == 0.5
    assert np.isnan(difference.estimate(0.95).low)
