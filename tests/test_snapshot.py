"""The profiles at a date: a prefix that shares the memory of its log, and what is computed from it."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import unskew as us
from tests.tables import LAW, Row, columns_of, dense, late, profiles_at, rows_of
from unskew.errors import EmptyError, InputError

TABLE = {"user": ["a", "a", "b", "c", "c"], "item": ["x", "y", "x", "y", "z"], "time": [1, 1, 1, 2, 3]}


def test_two_hundred_snapshots_allocate_only_their_stop_arrays() -> None:
    users, per_user = 2000, 100
    user = np.repeat(np.arange(users), per_user)
    item = np.tile(np.arange(per_user), users)
    log = us.read_log({"user": user, "item": item, "time": (item * 7 + user) % 500})
    log.at(499)  # whatever is compiled or remembered once
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    snapshots = [log.at(time) for time in range(250, 450)]
    used = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    stops = sum(snapshot.profiles.stop.nbytes for snapshot in snapshots)
    assert stops == 200 * users * log.start.itemsize
    assert used < stops + 200 * 4000
    for snapshot in snapshots:
        assert np.shares_memory(snapshot.profiles.item, log.item)
        assert np.shares_memory(snapshot.profiles.start, log.start)
        assert snapshot.profiles.a is None
        assert snapshot.profiles.b is None


@LAW
@given(rows_of(removals=True), st.integers(-2, 9))
def test_sizes_and_counts_are_those_of_the_sets(rows: list[Row], time: int) -> None:
    rows = [*rows, Row("z", 9, -2)]
    log = us.read_log(columns_of(rows), removed="removed")
    snapshot, sets = late(log, time), profiles_at(rows, time)
    assert dict(zip(log.users, snapshot.sizes().tolist(), strict=True)) == {
        u: len(sets.get(u, ())) for u in log.users
    }
    counts = {i: sum(i in held for held in sets.values()) for i in log.items}
    assert dict(zip(log.items, snapshot.counts().tolist(), strict=True)) == counts
    assert snapshot.n_users == len(sets)
    assert snapshot.n_items == len(set().union(*sets.values()))
    assert len(snapshot) == sum(map(len, sets.values()))
    keep = np.array([i % 2 == 0 for i in log.items])
    even = [sum(i % 2 == 0 for i in sets.get(u, ())) for u in log.users]
    assert snapshot.kept_sizes(keep).tolist() == even


@LAW
@given(rows_of(removals=True), st.integers(-2, 9), st.lists(st.floats(0.01, 100), min_size=5, max_size=5))
def test_the_marginal_agrees_with_a_dense_matrix(rows: list[Row], time: int, weights: list[float]) -> None:
    rows = [*rows, *(Row("z", i, -2) for i in range(5))]
    log = us.read_log(columns_of(rows), removed="removed")
    snapshot = late(log, time)
    w = np.array([weights[i] for i in log.items])
    pi = dense(snapshot) * w
    some = pi.sum(axis=1) > 0
    pi[some] /= pi[some].sum(axis=1, keepdims=True)
    a = some / some.sum()
    chosen = dict(enumerate(weights))
    np.testing.assert_allclose(snapshot.probabilities(chosen), a @ pi, atol=1e-14)
    np.testing.assert_allclose(snapshot.shares(), a, atol=1e-15)


def test_the_marginal_counted_by_hand() -> None:
    snapshot = us.read_log(TABLE).at(3)  # a: x y, b: x, c: y z
    assert snapshot.marginal().to_dict() == pytest.approx({"x": 1.5 / 3, "y": 1 / 3, "z": 0.5 / 3})
    doubled = {"x": (2 / 3 + 1) / 3, "y": (1 / 3 + 1 / 2) / 3, "z": 1 / 6}
    assert snapshot.marginal({"x": 2}).to_dict() == pytest.approx(doubled)


def test_an_item_of_weight_zero_takes_users_who_hold_nothing_else_with_it() -> None:
    marginal = us.read_log(TABLE).at(3).marginal({"x": 0})  # a: y, c: y z
    assert marginal.to_dict() == pytest.approx({"y": 0.75, "z": 0.25})


@pytest.mark.parametrize("threads", ["1", "2", "5"])
def test_the_marginal_is_the_same_to_the_last_bit_for_any_number_of_threads(
    threads: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    random_ = np.random.default_rng(1)
    n = 80_000
    table = {
        "user": random_.integers(0, 4000, n),
        "item": random_.integers(0, 50, n),
        "time": random_.integers(0, 9, n),
    }
    monkeypatch.setenv("UNSKEW_THREADS", "3")
    expected = us.read_log(table).at(8).probabilities()
    monkeypatch.setenv("UNSKEW_THREADS", threads)
    np.testing.assert_array_equal(us.read_log(table).at(8).probabilities(), expected)


def test_profiles_are_in_the_order_in_which_items_were_taken() -> None:
    log = us.read_log({"user": ["a"] * 3, "item": ["z", "x", "y"], "time": [1, 2, 3]})
    assert log.at(2).profile("a") == ["z", "x"]
    assert log.at(3).profile("a") == ["z", "x", "y"]


def test_a_snapshot_in_which_everything_has_left_is_an_error_with_the_range() -> None:
    log = us.read_log({"user": [1, 1], "item": [1, 2], "time": [1, 8], "gone": [3, 9]}, removed="gone")
    with pytest.raises(EmptyError, match=r"at 5 is empty.*from 1 to 8"):
        log.at(5)


def test_a_restricted_snapshot_has_only_these_users() -> None:
    snapshot = us.read_log(TABLE).at(3)
    only = snapshot.restrict(np.array([user != "c" for user in snapshot.log.users]))
    assert only.n_users == 2
    assert only.marginal().to_dict() == pytest.approx({"x": 0.75, "y": 0.25})


@pytest.mark.parametrize("user", ["nobody", None, 1, ["a"], 2**80])
def test_a_profile_of_nobody_is_an_error_with_examples(user: Any) -> None:
    with pytest.raises(InputError, match=r"no user .* \(it has 'a', 'c', 'b'\)"):
        us.read_log(TABLE).at(3).profile(user)


@pytest.mark.parametrize(
    "weights",
    [{"x": -1}, {"x": float("nan")}, {"x": float("inf")}, {"x": "heavy"}, {"nothing": 1}, {1: 1}, [1, 2], "x"],
)
def test_weights_that_are_none_are_refused(weights: Any) -> None:
    with pytest.raises(InputError):
        us.read_log(TABLE).at(3).marginal(weights)


def test_weights_that_leave_nothing_are_refused() -> None:
    with pytest.raises(EmptyError, match="nobody holds anything at 3"):
        us.read_log(TABLE).at(3).marginal({"x": 0, "y": 0, "z": 0})
