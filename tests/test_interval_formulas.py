"""Limits of rare and unevenly weighted means against scipy, closed forms, laws and simulation."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pytest
from benchmarks.coverage import Cell, Design, study_differences, study_scores
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from tests.tables import LAW
from unskew.evaluation.interval_formulas import (
    RARE,
    Bounds,
    Evidence,
    count_units,
    find_difference_limits,
    find_limits,
    find_p_value,
    weigh_difference,
    weigh_evidence,
)

Floats = npt.NDArray[np.float64]
LEVELS = [0.8, 0.95, 0.99]
VALUES = st.lists(
    st.tuples(st.floats(0.01, 100), st.integers(0, 1000).map(lambda k: k / 1000)), min_size=2, max_size=15
)


def limits(mass: Floats, value: Floats, level: float = 0.95) -> tuple[float, float]:
    share = mass / mass.sum()
    low, high = find_limits(weigh_evidence(share, share * value), 0.5 - level / 2)
    return float(low), float(high)


def difference(mass: Floats, one: Floats, other: Floats, level: float = 0.95) -> tuple[float, float]:
    share = mass / mass.sum()
    known = weigh_difference(share, share * one, share, share * other)
    low, high = find_difference_limits(known, 0.5 - level / 2)
    return float(low), float(high)


def first(k: int, n: int) -> Floats:
    return (np.arange(n) < k).astype(float)


def students_level(level: float, n: float) -> float:
    """The level whose normal quantile is that of Student's t at `level`."""
    return float(2 * stats.norm.cdf(stats.t.ppf(0.5 + level / 2, n - 1)) - 1)


def wilson(hits: int, n: int, level: float) -> tuple[float, float]:
    found = stats.binomtest(hits, n).proportion_ci(students_level(level, n), method="wilson")
    return float(found.low), float(found.high)


@pytest.mark.parametrize(("hits", "n"), [(10, 20), (10, 400), (60, 400), (390, 400), (1000, 20_000)])
@pytest.mark.parametrize("level", LEVELS)
def test_hits_of_equal_users_have_wilsons_limits_with_students_quantile(hits: int, n: int, level: float) -> None:
    assert limits(np.ones(n), first(hits, n), level) == pytest.approx(wilson(hits, n, level), abs=1e-12)


@pytest.mark.parametrize(("hits", "n"), [(0, 12), (0, 400), (1, 30), (3, 400), (9, 20_000)])
@pytest.mark.parametrize("level", LEVELS)
def test_where_hits_are_rare_the_lower_limit_is_the_exact_one_and_misses_are_their_mirror(
    hits: int, n: int, level: float
) -> None:
    exact = stats.binomtest(hits, n).proportion_ci(level, method="exact").low
    low, high = limits(np.ones(n), first(hits, n), level)
    theirs = wilson(hits, n, level)
    assert low == pytest.approx(min(exact, theirs[0]), abs=1e-12)
    if n - hits >= RARE:
        assert high == pytest.approx(theirs[1], abs=1e-12)
    mirrored = limits(np.ones(n), 1 - first(hits, n), level)
    assert mirrored == pytest.approx((1 - high, 1 - low), abs=1e-12)


def test_no_hits_leave_room_for_some_and_no_misses_for_some() -> None:
    quantile = stats.t.ppf(0.975, 399)
    room = quantile**2 / (400 + quantile**2)
    assert limits(np.ones(400), np.zeros(400)) == pytest.approx((0, room))
    assert limits(np.ones(400), np.ones(400)) == pytest.approx((1 - room, 1))
    assert difference(np.ones(400), first(40, 400), first(40, 400)) == pytest.approx((-room, room))


def test_hits_of_uneven_users_have_wilsons_limits_of_the_effective_number() -> None:
    """Where those who were found have the squared shares that one expects of them."""
    mass = np.tile([1.0, 2.0, 5.0], 200)
    n = mass.sum() ** 2 / (mass**2).sum()
    value = np.repeat(np.tile([1.0, 0.0, 0.0, 0.0], 50), 3)
    q = stats.t.ppf(0.975, n - 1) ** 2 / n
    half = math.sqrt(q * 0.25 * 0.75 + q * q / 4)
    assert limits(mass, value) == pytest.approx(((0.25 + q / 2 - half) / (1 + q), (0.25 + q / 2 + half) / (1 + q)))


def test_graded_values_of_many_equal_users_have_students_interval() -> None:
    value = np.random.default_rng(1).beta(2, 5, 4000)
    theirs = stats.ttest_1samp(value, 0.0).confidence_interval(0.95)
    assert limits(np.ones(4000), value) == pytest.approx((theirs.low, theirs.high), abs=5e-5)


def test_values_that_hardly_differ_have_students_interval_with_few_users_too() -> None:
    value = 0.35 + 0.001 * np.random.default_rng(2).standard_normal(6)
    theirs = stats.ttest_1samp(value, 0.0).confidence_interval(0.95)
    assert limits(np.ones(6), value) == pytest.approx((theirs.low, theirs.high), abs=2e-6)


@pytest.mark.parametrize(("up", "down"), [(12, 30), (15, 15), (40, 11), (60, 0)])
def test_a_difference_of_hits_is_as_far_away_as_the_score_test_by_brute_force_says(up: int, down: int) -> None:
    """Rare ups a = b + d and downs b: the likeliest for a difference d, found on a grid."""
    n = 3000
    one, other = first(up, n), np.roll(first(down, n), -down)
    found = difference(np.ones(n), one, other)
    quantile = stats.t.ppf(0.975, n - 1)
    for true in (*(x * 0.999 + (up - down) / n * 0.001 for x in found), *found):
        b = np.linspace(max(-true, 0.0), max(-true, 0.0) + 2 * (up + down) / n, 400_001)[1:]
        likely = up * np.log(b + true) + down * np.log(b) - n * (2 * b + true)
        b_best = float(b[np.argmax(likely)])
        error = math.sqrt((2 * b_best + true - true**2) / n)
        assert abs((up - down) / n - true) / error == pytest.approx(quantile, rel=2e-3)


@pytest.mark.parametrize(("up", "down"), [(12, 30), (15, 15), (7, 1), (1, 0), (0, 0)])
def test_the_p_value_of_no_difference_of_hits_is_mcnemars(up: int, down: int) -> None:
    n = 300
    share = np.full(n, 1 / n)
    known = weigh_difference(share, share * first(up, n), share, share * np.roll(first(down, n), -down))
    score = abs(up - down) / math.sqrt(max(up + down, 1))
    assert find_p_value(known) == pytest.approx(2 * stats.t.sf(score, n - 1), rel=1e-9)


@LAW
@given(VALUES, st.floats(0.5, 0.99))
def test_the_p_value_is_small_exactly_where_the_limits_leave_out_0(
    units: list[tuple[float, float]], level: float
) -> None:
    mass, value = np.array(units).T
    share = mass / mass.sum()
    known = weigh_difference(share, share * value, share, share * value[::-1])
    quantile_limits = find_difference_limits(known, 0.5 - level / 2)
    p = float(find_p_value(known))
    if p < (1 - level) * (1 - 1e-6) and float(known.units * (known.up + known.down)) > 2 * RARE:
        assert not quantile_limits[0] <= 0 <= quantile_limits[1]
    if p > (1 - level) * (1 + 1e-6):
        assert quantile_limits[0] <= 1e-12
        assert quantile_limits[1] >= -1e-12


def test_a_difference_of_graded_values_of_many_users_has_the_interval_of_the_paired_t_test() -> None:
    rng = np.random.default_rng(3)
    one = rng.random(4000)
    other = np.clip(one + 0.3 * rng.standard_normal(4000), 0, 1)
    theirs = stats.ttest_rel(one, other).confidence_interval(0.95)
    assert difference(np.ones(4000), one, other) == pytest.approx((theirs.low, theirs.high), abs=1e-4)


def test_scores_of_other_people_differ_by_what_both_are_uncertain_about() -> None:
    """Nobody is shared: with many of them, the limits are those of two independent proportions."""
    rng = np.random.default_rng(5)
    n, m = 20_000, 30_000
    value, other = (rng.random(n) < 0.2).astype(float), (rng.random(m) < 0.3).astype(float)
    share, other_share = np.append(np.full(n, 1 / n), np.zeros(m)), np.append(np.zeros(n), np.full(m, 1 / m))
    known = weigh_difference(
        share, share * np.append(value, np.zeros(m)), other_share, other_share * np.append(np.zeros(n), other)
    )
    theirs = stats.ttest_ind(value, other, equal_var=False).confidence_interval(0.95)
    low, high = find_difference_limits(known, 0.025)
    assert (low, high) == pytest.approx((theirs.low, theirs.high), abs=0.01 * (theirs.high - theirs.low))


@pytest.mark.parametrize("n", [12, 60, 400])
def test_limits_rise_with_every_further_hit(n: int) -> None:
    found = np.array([limits(np.ones(n), first(k, n)) for k in range(n + 1)])
    steps = np.diff(found, axis=0)
    assert (steps[1:-1] > 0).all()
    assert (steps >= 0).all()


@LAW
@given(VALUES, st.floats(0.5, 0.99))
def test_limits_lie_around_the_mean_and_between_the_bounds(units: list[tuple[float, float]], level: float) -> None:
    mass, value = np.array(units).T
    mean = mass @ value / mass.sum()
    low, high = limits(mass, value, level)
    assert 0 <= low <= mean + 1e-9
    assert mean - 1e-9 <= high <= 1
    below, above = difference(mass, value, value[::-1], level)
    gap = mass @ (value - value[::-1]) / mass.sum()
    assert -1 <= below <= gap + 1e-9
    assert gap - 1e-9 <= above <= 1


@LAW
@given(VALUES, st.floats(0.5, 0.98))
def test_a_higher_level_has_wider_limits(units: list[tuple[float, float]], level: float) -> None:
    mass, value = np.array(units).T
    for found in (limits, lambda m, v, lv: difference(m, v, v[::-1], lv)):
        low, high = found(mass, value, level)
        wider_low, wider_high = found(mass, value, level + 0.01)
        assert wider_low <= low + 1e-12
        assert high <= wider_high + 1e-12


@LAW
@given(VALUES, st.floats(1e-3, 1e3), st.randoms(use_true_random=False))
def test_limits_depend_neither_on_the_scale_of_the_masses_nor_on_who_is_who(
    units: list[tuple[float, float]], scale: float, random: object
) -> None:
    mass, value = np.array(units).T
    order = np.random.default_rng(len(units)).permutation(len(units))
    assert limits(scale * mass[order], value[order]) == pytest.approx(limits(mass, value), abs=1e-9)
    other = value[::-1]
    shuffled = difference(scale * mass[order], value[order], other[order])
    assert shuffled == pytest.approx(difference(mass, value, other), abs=1e-9)


@LAW
@given(VALUES)
def test_misses_mirror_hits_and_a_difference_turned_round_changes_its_sign(
    units: list[tuple[float, float]],
) -> None:
    mass, value = np.array(units).T
    low, high = limits(mass, value)
    assert limits(mass, 1 - value) == pytest.approx((1 - high, 1 - low), abs=1e-6)
    low, high = difference(mass, value, value[::-1])
    assert difference(mass, value[::-1], value) == pytest.approx((-high, -low), abs=1e-9)


def test_users_without_mass_do_not_count() -> None:
    mass, value = np.array([0.2, 0.5, 0.3, 0.1]), np.array([1.0, 0.0, 0.4, 0.0])
    padded, more = np.insert(mass, 1, 0.0), np.insert(value, 1, 0.9)
    assert limits(padded, more) == pytest.approx(limits(mass, value), abs=1e-15)


def test_a_hit_that_hardly_counts_is_as_good_as_none() -> None:
    for size in (1e-20, 1e-200, 5e-324):
        low, high = limits(np.ones(400), size * first(1, 400))
        assert low <= size
        assert high == pytest.approx(limits(np.ones(400), np.zeros(400))[1], rel=0.1)


def test_hits_are_counted_in_hits_of_equal_size() -> None:
    """Seven users who were found count seven, with one pair each or with one of ten found."""
    share = np.full(500, 1 / 500)
    assert weigh_evidence(share, share * first(7, 500)).hits == pytest.approx(7)
    found = weigh_evidence(share, share * 0.1 * first(7, 500))
    assert found.hits == pytest.approx(7, rel=0.02)
    assert found.mean == pytest.approx(0.0014)
    assert weigh_evidence(share, np.zeros(500)).hits == 0


def test_many_samples_are_looked_at_together() -> None:
    rng = np.random.default_rng(4)
    share = rng.gamma(1.0, size=(6, 40))
    share /= share.sum(-1, keepdims=True)
    total = share * (rng.random((6, 40)) < 0.2)
    together = weigh_evidence(share, total)
    for k in range(6):
        alone = weigh_evidence(share[k], total[k])
        assert tuple(map(float, alone)) == pytest.approx([float(part[k]) for part in together], rel=1e-12)
    assert isinstance(together, Evidence)
    assert count_units(share) == pytest.approx(1 / (share**2).sum(-1))


def test_bounds_scale_values_to_0_and_1() -> None:
    mass, value = np.array([1.0, 3.0]), np.array([-1.0, 2.0])
    share, total = Bounds(-1, 3).share(mass, mass * value)
    assert share == pytest.approx([0.25, 0.75])
    assert total / share == pytest.approx([0.0, 0.75])
    assert Bounds().known
    assert not any(Bounds(*b).known for b in ((0, math.inf), (-math.inf, 1), (1, 1)))


HARD: list[tuple[Design, tuple[float, ...]]] = [
    (Design(400, 0), (0.005, 0.03)),
    (Design(400, 2), (0.05, 0.3)),
    (Design(2000, 2), (0.01, 0.05)),
    (Design(200, 1, 5, 2), (0.02, 0.1)),
    (Design(400, 1, graded=True), (0.01, 0.1)),
]
SAMPLES = 1500


def assert_covered(cell: Cell) -> None:
    """At least 93 %, or 95 % where too few hits are expected, but for three Monte Carlo errors."""
    least = 0.93 if cell.enough else 0.95
    assert cell.held >= least - 3 * math.sqrt(least * (1 - least) / SAMPLES), cell
    assert cell.held <= 0.985 or not cell.enough, cell


@pytest.mark.parametrize(("design", "rates"), HARD)
def test_rare_and_uneven_scores_are_covered(design: Design, rates: tuple[float, ...]) -> None:
    for cell in study_scores(design, SAMPLES, 77, rates):
        assert_covered(cell)


@pytest.mark.parametrize("design", [Design(400, 0), Design(400, 2), Design(200, 1, 5, 1)])
def test_rare_and_uneven_differences_are_covered(design: Design) -> None:
    for cell in study_differences(design, SAMPLES, 78, (0.01, 0.1), (0.5, 1.0)):
        assert_covered(cell)


def test_the_grid_can_tell_an_interval_that_does_not_cover() -> None:
    """Student's at .5 % hits of 400 users, and at 5 % with P(u) lognormal: what made these limits necessary."""
    [rare] = study_scores(Design(400, 0), SAMPLES, 79, (0.005,))
    [uneven] = study_scores(Design(400, 2), SAMPLES, 79, (0.05,))
    assert rare.student < 0.9
    assert uneven.student < 0.8


def test_a_difference_that_is_the_same_for_every_user_has_limits_that_hold_it() -> None:
    low, high = difference(np.array([3.0, 2.0]), np.full(2, 0.4), np.full(2, 0.6))
    assert low - 1e-12 <= -0.2 <= high + 1e-12
