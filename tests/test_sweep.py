"""One pass over the profiles: the marginal, for any priors, any spread of weights, any number of threads."""

from __future__ import annotations

import threading
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.dense import Floats, random_profiles, table_of
from unskew.arrays import blocks
from unskew.arrays.blocks import over_blocks, threads
from unskew.arrays.profiles import Profiles
from unskew.arrays.sweep import LEVELS, Sweep, make_weights
from unskew.errors import InputError

seeds = st.integers(0, 2**32 - 1)


def large(rng: np.random.Generator, priors: bool) -> Profiles:
    """More entries than the threshold below which no thread is woken, in several blocks."""
    users, items = 20_000, 400
    size = rng.integers(1, 6, users)
    ends = np.cumsum(size)
    item = np.concatenate([rng.choice(items, n, replace=False) for n in size])
    return Profiles(
        start=(ends - size).astype(np.uint32),
        stop=ends.astype(np.uint32),
        item=item.astype(np.uint32),
        n_items=items,
        a=rng.uniform(0.1, 1.0, users) if priors else None,
        b=rng.uniform(0.1, 1.0, len(item)) if priors else None,
    )


@given(seeds, st.booleans())
@settings(max_examples=60, deadline=None)
def test_the_marginal_is_that_of_the_dense_table(seed: int, priors: bool) -> None:
    rng = np.random.default_rng(seed)
    profiles = random_profiles(rng, 8, 6, priors=priors)
    theta = rng.normal(0, 3, 6)
    assert Sweep(profiles).marginal(theta) == pytest.approx(table_of(profiles).marginal(theta), abs=1e-14)


@given(seeds, st.booleans())
@settings(max_examples=30, deadline=None)
def test_the_marginal_sums_to_one_and_ignores_the_scale_of_weights_and_of_priors(seed: int, priors: bool) -> None:
    rng = np.random.default_rng(seed)
    profiles = random_profiles(rng, 8, 6, priors=priors)
    theta = rng.normal(0, 3, 6)
    q = Sweep(profiles).marginal(theta)
    assert q.sum() == pytest.approx(1, abs=1e-14)
    assert Sweep(profiles).marginal(theta + 1234.5) == pytest.approx(q, abs=1e-12)
    if profiles.a is not None and profiles.b is not None:
        other = replace(profiles, a=profiles.a * 1e-30, b=profiles.b * 1e30)
        assert Sweep(other).marginal(theta) == pytest.approx(q, abs=1e-14)


@pytest.mark.parametrize("priors", [False, True])
@pytest.mark.parametrize("scale", [30.0, 400.0, 800.0, 5000.0])
def test_weights_of_any_spread_agree_with_log_space(priors: bool, scale: float) -> None:
    rng = np.random.default_rng(1)
    for _ in range(20):
        profiles = random_profiles(rng, 12, 7, priors=priors)
        table = table_of(profiles)
        theta = rng.uniform(-scale, scale, 7)
        pass_ = Sweep(profiles)
        assert pass_.marginal(theta) == pytest.approx(table.marginal(theta), rel=1e-9, abs=1e-60)
        ratio = rng.uniform(0, 2, 7)
        pi = table.conditionals(theta)
        assert pass_.ratio_mean(theta, ratio) == pytest.approx((table.a * (pi @ ratio)) @ pi, rel=1e-9, abs=1e-60)


def test_users_far_from_the_largest_weight_keep_their_mass() -> None:
    """Two groups of users with no item in common, one of them with weights e^-1000 of the other's."""
    item = np.array([0, 1, 2, 3], dtype=np.uint32)
    profiles = Profiles(np.array([0, 2], np.uint32), np.array([2, 4], np.uint32), item, 4)
    q = Sweep(profiles).marginal(np.array([0.0, np.log(3.0), -1000.0, np.log(4.0) - 1000.0]))
    assert q == pytest.approx([0.125, 0.375, 0.1, 0.4], abs=1e-12)


@pytest.mark.parametrize("scale", [1e-300, 1e-280, 1e280, 8e307])
def test_conditionals_of_extreme_scale_give_the_same_marginal(scale: float) -> None:
    rng = np.random.default_rng(2)
    profiles = random_profiles(rng, 9, 5)
    assert profiles.b is not None
    theta = rng.normal(0, 0.1, 5)  # so that rows of several items add up to more than there are numbers
    expected = table_of(profiles).marginal(theta)
    extreme = replace(profiles, b=profiles.b * scale)
    assert Sweep(extreme).marginal(theta) == pytest.approx(expected, abs=1e-12)


@given(st.lists(st.floats(-2000, 2000) | st.just(-np.inf), max_size=40))
@settings(max_examples=200, deadline=None)
def test_weights_are_the_exponentials_of_log_weights_down_to_the_least_number(values: list[float]) -> None:
    theta = np.array(values)
    w = np.empty(len(theta))
    make_weights(theta, w)
    shift = theta.max() if len(theta) and theta.max() > -np.inf else 0.0
    expected = np.exp(theta - shift)
    ordinary = expected > 1e-303
    assert np.array_equal(w[ordinary], expected[ordinary])
    assert w == pytest.approx(expected, rel=1e-12, abs=1e-323)
    assert np.array_equal(w == 0, expected == 0)


@pytest.mark.parametrize("threads", ["1", "2", "16"])
def test_weights_of_a_large_catalogue_are_the_same_exponentials_in_all_of_its_parts(
    monkeypatch: pytest.MonkeyPatch, threads: str
) -> None:
    monkeypatch.setenv("UNSKEW_THREADS", threads)
    rng = np.random.default_rng(4)
    theta = rng.uniform(-760, 0, 100_003)
    theta[rng.random(len(theta)) < 0.2] = -np.inf
    w = np.empty(len(theta))
    make_weights(theta, w)
    expected = np.exp(theta - theta.max())
    ordinary = (expected > 1e-303) | (expected == 0)
    assert np.array_equal(w[ordinary], expected[ordinary])
    assert w == pytest.approx(expected, rel=1e-12, abs=1e-323)
    assert np.count_nonzero(~ordinary) > 100  # numbers of few digits, which take another way


def test_items_of_weight_zero_get_nothing() -> None:
    rng = np.random.default_rng(3)
    profiles = random_profiles(rng, 12, 5, size=4.0)
    theta = np.array([0.0, 1.0, -np.inf, 0.5, -np.inf])
    table = table_of(profiles)
    part = (table.held & (theta > -np.inf)).any(axis=1)
    pi = np.zeros_like(table.b)
    pi[part] = table.b[part] * np.exp(theta) / (table.b[part] * np.exp(theta)).sum(axis=1, keepdims=True)
    assert Sweep(profiles).marginal(theta) == pytest.approx(table.a @ pi, abs=1e-14)


@given(seeds, st.booleans())
@settings(max_examples=40, deadline=None)
def test_shares_by_highest_level_are_those_of_a_loop_over_users(seed: int, priors: bool) -> None:
    rng = np.random.default_rng(seed)
    profiles = random_profiles(rng, 10, 6, priors=priors)
    table = table_of(profiles)
    level = rng.integers(0, LEVELS, 6).astype(np.uint16)
    theta = rng.uniform(-900, 900, 6)
    q, users = Sweep(profiles).marginal_and_levels(theta, level)
    expected = np.zeros(LEVELS)
    for share, held in zip(table.a, table.held, strict=True):
        expected[level[held].max()] += share
    assert users == pytest.approx(expected, abs=1e-14)
    assert q == pytest.approx(table.marginal(theta), abs=1e-12)


def test_the_mean_of_the_highest_ratios_is_that_of_the_dense_table_without_empty_rows() -> None:
    rng = np.random.default_rng(4)
    profiles = random_profiles(rng, 10, 6)
    ratio = rng.uniform(0.5, 2.0, 6)
    level = np.arange(1, 7, dtype=np.uint16)
    mean, users = Sweep(profiles).highest(ratio, level)
    table = table_of(profiles)
    assert (profiles.start == profiles.stop).any()
    highest = np.where(table.held, ratio, -np.inf).max(axis=1)
    assert mean == pytest.approx(float(table.a @ highest), abs=1e-14)
    top = np.where(table.held, level, 0).max(axis=1)
    assert users[:7] == pytest.approx(np.bincount(top, weights=table.a, minlength=7), abs=1e-14)


@pytest.mark.parametrize("priors", [False, True])
def test_results_are_the_same_to_the_last_bit_for_any_number_of_threads(
    monkeypatch: pytest.MonkeyPatch, priors: bool
) -> None:
    rng = np.random.default_rng(5)
    profiles = large(rng, priors)
    assert profiles.sizes().sum() > blocks.SMALL
    theta = rng.uniform(-700, 700, profiles.n_items)  # some rows take the shifted path
    level = rng.integers(0, LEVELS, profiles.n_items).astype(np.uint16)
    results: list[list[Floats]] = []
    for n in (1, 2, 3, 7):
        monkeypatch.setenv("UNSKEW_THREADS", str(n))
        work = Sweep(profiles)
        q, users = work.marginal_and_levels(theta, level)
        mean = work.ratio_mean(theta, level.astype(np.float64))
        highest, by_level = work.highest(np.exp(theta), level)
        results.append([q, users, mean, np.array([highest]), by_level])
    for others in results[1:]:
        assert all(np.array_equal(one, other) for one, other in zip(results[0], others, strict=True))


def test_threads_are_really_used_and_every_block_is_done_once(monkeypatch: pytest.MonkeyPatch) -> None:
    profiles = large(np.random.default_rng(6), priors=False)
    edges = profiles.edges
    assert edges[0] == 0
    assert edges[-1] == profiles.n_users
    assert (np.diff(edges) > 0).all()
    monkeypatch.setenv("UNSKEW_THREADS", "3")
    meeting = threading.Barrier(3, timeout=30)  # is passed only if three blocks run at the same time
    seen: list[tuple[int, int, int]] = []

    def work(k: int, lo: int, hi: int) -> int:
        if k < 3:
            meeting.wait()
        seen.append((k, lo, hi))
        return k

    n = len(edges) - 1
    assert n >= 3
    assert over_blocks(edges, int(profiles.sizes().sum()), work) == list(range(n))
    assert sorted(seen) == [(k, int(edges[k]), int(edges[k + 1])) for k in range(n)]


def test_an_error_in_any_block_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNSKEW_THREADS", "2")
    edges = np.arange(5)

    def work(k: int, lo: int, hi: int) -> None:
        if k == 3:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        over_blocks(edges, 10**6, work)


@pytest.mark.parametrize("wish", ["0", "-2", "two", "", "1.5"])
def test_a_wrong_number_of_threads_is_refused_with_what_was_given(
    monkeypatch: pytest.MonkeyPatch, wish: str
) -> None:
    monkeypatch.setenv("UNSKEW_THREADS", wish)
    with pytest.raises(InputError, match=r"UNSKEW_THREADS is .*whole number from 1 to 1024"):
        threads()


def test_the_cut_into_blocks_does_not_depend_on_the_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    profiles = large(np.random.default_rng(7), priors=False)
    cuts = []
    for n in ("1", "2", "16"):
        monkeypatch.setenv("UNSKEW_THREADS", n)
        cuts.append(profiles.edges.tolist())
    assert cuts[0] == cuts[1] == cuts[2]


@pytest.mark.parametrize("spread", [1.0, 900.0])
def test_after_the_second_a_pass_allocates_a_few_arrays_of_items_and_nothing_that_grows_with_users_or_entries(
    spread: float,
) -> None:
    rng = np.random.default_rng(8)
    users, items = 100_000, 1_000
    item = rng.integers(0, items, 2 * users).astype(np.uint32)
    item[1::2] = (item[::2] + 1) % items
    start = np.arange(0, 2 * users, 2).astype(np.uint32)
    work = Sweep(Profiles(start, start + np.uint32(2), item, items, a=rng.uniform(1, 2, users)))
    theta = rng.uniform(-spread, spread, items)
    level = rng.integers(0, LEVELS, items).astype(np.uint16)
    for _ in range(2):
        work.marginal_and_levels(theta, level)
        work.ratio_mean(theta, theta)
    tracemalloc.start()
    try:
        for _ in range(3):
            work.marginal_and_levels(theta, level)
            work.ratio_mean(theta, theta)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 8 * (5 * items + LEVELS) + 20_000 < 8 * users / 8


def test_each_pass_is_counted() -> None:
    profiles = random_profiles(np.random.default_rng(9), 5, 4)
    work = Sweep(profiles)
    theta = np.zeros(4)
    work.marginal(theta)
    work.marginal_and_levels(theta, np.ones(4, dtype=np.uint16))
    work.ratio_mean(theta, np.ones(4))
    work.highest(np.ones(4), np.ones(4, dtype=np.uint16))
    assert work.count == 4


def test_offsets_beyond_four_billion_entries_have_their_own_type_and_give_the_same() -> None:
    profiles = random_profiles(np.random.default_rng(10), 8, 5)
    wide = replace(profiles, start=profiles.start.astype(np.uint64), stop=profiles.stop.astype(np.uint64))
    theta = np.linspace(-1, 1, 5)
    assert np.array_equal(Sweep(wide).marginal(theta), Sweep(profiles).marginal(theta))
