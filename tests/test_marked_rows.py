"""The copy of the profiles that later passes use gives what the first pass gives, to the last bit."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.dense import Floats, table_of
from unskew.arrays import blocks, kernels, sweep
from unskew.arrays.marked_rows import add_marked, is_worth_marking, mark_block
from unskew.arrays.profiles import Profiles
from unskew.arrays.sweep import LEVELS, Sweep
from unskew.arrays.types import Codes, Levels


@st.composite
def profiles_with_gaps(draw: st.DrawFn) -> Profiles:
    """Rows of 0 to 40 items, many of them empty or of one item, with entries between them that nobody holds."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    users, items = draw(st.integers(1, 60)), draw(st.integers(1, 50))
    longest = min(items, draw(st.sampled_from([1, 2, 5, 40])))
    sizes = rng.integers(0, longest + 1, users)
    sizes[rng.integers(users)] = 1
    gaps = rng.integers(0, 3, users) if draw(st.booleans()) else np.zeros(users, dtype=np.int64)
    start = np.cumsum(np.concatenate([[0], (sizes + gaps)[:-1]])) + gaps // 2
    item = rng.integers(0, items, int((sizes + gaps).sum()))
    for first, size in zip(start, sizes, strict=True):
        item[first : first + size] = rng.choice(items, size, replace=False)
    return Profiles(
        start.astype(np.uint32),
        (start + sizes).astype(np.uint32),
        item.astype(np.uint32),
        items,
        a=rng.uniform(0.1, 3.0, users) if draw(st.booleans()) else None,
        cut=np.unique([0, *rng.integers(0, users, draw(st.integers(0, 4))), users]).astype(np.int64),
    )


@st.composite
def log_weights(draw: st.DrawFn, items: int) -> Floats:
    """Some of any spread: rows underflow at 700 nats. Some items have no weight at all."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    theta = rng.normal(0, draw(st.sampled_from([0.0, 1.0, 300.0, 3000.0])), items)
    theta[rng.random(items) < draw(st.sampled_from([0.0, 0.3, 1.0]))] = -np.inf
    return theta


def draw_levels(items: int) -> Levels:
    return np.random.default_rng(0).integers(0, LEVELS, items).astype(np.uint16)


@given(profiles_with_gaps(), st.data(), st.booleans(), st.sampled_from([None, 1, 64]))
@settings(max_examples=150, deadline=None)
def test_a_marked_block_adds_what_add_block_adds(
    profiles: Profiles, data: st.DataObject, with_levels: bool, ahead: int | None
) -> None:
    theta = data.draw(log_weights(profiles.n_items))
    level = draw_levels(profiles.n_items) if with_levels else None
    w = np.exp(theta - (theta.max() if np.isfinite(theta.max()) else 0.0))
    for lo, hi in zip(profiles.edges[:-1], profiles.edges[1:], strict=True):
        ours, theirs = (tuple(np.full(n, np.nan) for n in (len(w), len(w), LEVELS)) for _ in range(2))
        block, rows = mark_block(profiles, int(lo), int(hi)), profiles.rows
        found = add_marked(block, rows, profiles.a, w, theta, level, *ours)
        expected = kernels.add_block(lo, hi, rows, profiles.a, None, w, theta, None, level, *theirs, ahead)
        assert found == expected
        for one, other in zip(ours, theirs, strict=True):
            assert np.array_equal(one, other, equal_nan=True)


@given(profiles_with_gaps(), st.data(), st.booleans(), st.booleans())
@settings(max_examples=80, deadline=None)
def test_asking_ahead_changes_no_bit(profiles: Profiles, data: st.DataObject, given: bool, gradient: bool) -> None:
    theta = data.draw(log_weights(profiles.n_items))
    rng = np.random.default_rng(5)
    b = rng.uniform(0.1, 2.0, len(profiles.item)) if given else None
    ratio = rng.uniform(0.5, 2.0, profiles.n_items) if gradient else None
    w = np.exp(theta - (theta.max() if np.isfinite(theta.max()) else 0.0))
    level = draw_levels(profiles.n_items)
    found = []
    for ahead in (None, 1, 64):
        out = tuple(np.zeros(n) for n in (len(w), len(w), LEVELS))
        rows, users = profiles.rows, profiles.n_users
        kernels.add_block(0, users, rows, profiles.a, b, w, theta, ratio, level, *out, ahead)
        found.append(out)
    for other in found[1:]:
        for one, same in zip(found[0], other, strict=True):
            assert np.array_equal(one, same)


@pytest.mark.parametrize("threads", ["1", "2", "16"])
@given(profiles=profiles_with_gaps(), data=st.data())
@settings(max_examples=40, deadline=None)
def test_later_passes_give_the_bits_of_the_first(threads: str, profiles: Profiles, data: st.DataObject) -> None:
    theta = data.draw(log_weights(profiles.n_items))
    level = draw_levels(profiles.n_items)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("UNSKEW_THREADS", threads)
        patch.setattr(blocks, "SMALL", 0)  # so that threads are woken
        patch.setattr(sweep, "is_worth_marking", lambda profiles: True)
        work = Sweep(profiles)
        first, *later = (work.marginal_and_levels(theta, level) for _ in range(3))
        assert np.array_equal(Sweep(profiles).marginal(theta), first[0])
        assert np.array_equal(work.marginal(theta), first[0])
        for q, users in later:
            assert np.array_equal(q, first[0])
            assert np.array_equal(users, first[1])


@given(profiles_with_gaps(), st.integers(0, 2**32 - 1), st.sampled_from([1.0, 500.0]))
@settings(max_examples=60, deadline=None)
def test_later_passes_agree_with_the_dense_table(profiles: Profiles, seed: int, spread: float) -> None:
    theta = np.random.default_rng(seed).normal(0, spread, profiles.n_items)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sweep, "is_worth_marking", lambda profiles: True)
        work = Sweep(profiles)
        work.marginal(theta)
        found = work.marginal(theta)
    assert found == pytest.approx(table_of(profiles).marginal(theta), abs=1e-12)


def make_rows(sizes: Codes, b: bool = False) -> Profiles:
    """Users with so many of the first items each."""
    ends = np.cumsum(sizes)
    item = np.concatenate([np.arange(n) for n in sizes]).astype(np.uint32)
    start = (ends - sizes).astype(np.uint32)
    return Profiles(start, ends.astype(np.uint32), item, int(sizes.max()), b=np.ones(len(item)) if b else None)


def test_the_copy_is_made_for_many_users_whose_sizes_are_in_no_order_and_uniform_conditionals() -> None:
    sizes = np.random.default_rng(1).integers(1, 5, 60_000)
    assert is_worth_marking(make_rows(sizes))
    assert not is_worth_marking(make_rows(np.sort(sizes)))
    assert not is_worth_marking(make_rows(sizes[:1000]))
    assert not is_worth_marking(make_rows(sizes, b=True))


def test_with_the_copy_the_gradient_is_that_of_the_dense_table() -> None:
    rng = np.random.default_rng(2)
    profiles = make_rows(rng.integers(1, 5, 60_000))
    theta, ratio = rng.normal(size=4), rng.uniform(1, 2, 4)
    work = Sweep(profiles)
    before = work.ratio_mean(theta, ratio)
    work.marginal(theta)
    assert np.array_equal(work.ratio_mean(theta, ratio), before)
    table = table_of(profiles)
    pi = table.conditionals(theta)
    assert before == pytest.approx((table.a * (pi @ ratio)) @ pi, abs=1e-12)


def test_the_copy_takes_four_bytes_an_entry_and_fourteen_a_user() -> None:
    profiles = make_rows(np.random.default_rng(3).integers(1, 9, 60_000))
    theta = np.zeros(profiles.n_items)
    for _ in range(2):  # the first time loads what was compiled
        work = Sweep(profiles)
        work.marginal(theta)
        tracemalloc.start()
        work.marginal(theta)
        kept = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
    size = 4 * len(profiles.item) + 14 * profiles.n_users
    assert size <= kept <= 1.1 * size
