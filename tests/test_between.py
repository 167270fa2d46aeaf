"""What came between two times: `Log.between` and `Window.of` against dicts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import unskew as us
from tests.dense import Event
from tests.scoring import events_of, items_by_user, log_of, pair_shares, taken
from tests.tables import LAW, Row, columns_of, late, rows_of
from unskew.data import Window
from unskew.data.slice import Slice
from unskew.errors import EmptyError, InputError


def held(part: Slice) -> dict[object, list[object]]:
    return {user: sorted(items) for user, items in items_by_user(part).items()}


@LAW
@given(events=events_of(), start=st.integers(-1, 9), end=st.integers(0, 9))
def test_a_window_holds_what_was_first_taken_in_it(events: list[Event], start: int, end: int) -> None:
    log = log_of(events)
    if not taken(events, end):
        return
    expected = {u: sorted(items) for u, items in taken(events, end, start).items()}
    if not expected:
        with pytest.raises(EmptyError, match=f"there are no interactions after {start} and up to {end}"):
            log.between(start, late(log, end))
        return
    window = log.between(start, late(log, end))
    assert held(window) == expected
    assert len(window) == sum(map(len, expected.values()))
    assert (window.n_users, window.at, window.tick) == (len(expected), end, end)


@LAW
@given(rows=rows_of(removals=True), start=st.integers(-2, 6), end=st.integers(0, 8))
def test_with_removals_a_window_holds_what_came_and_stayed(rows: list[Row], start: int, end: int) -> None:
    once = {(r.user, r.item): r for r in rows if r.removed is None or r.removed > r.time}  # one stay each
    expected: dict[object, list[object]] = {}
    for r in once.values():
        if start < r.time <= end and (r.removed is None or r.removed > end):
            expected.setdefault(r.user, []).append(r.item)
    if not expected:
        return
    log = us.read_log(columns_of(once.values()), removed="removed")
    window = log.between(start, late(log, end))
    assert held(window) == {u: sorted(items, key=str) for u, items in expected.items()}


def test_an_item_that_comes_back_counts_by_its_latest_stay() -> None:
    table = {"user": ["a", "a", "a"], "item": ["x", "x", "y"], "time": [1, 5, 2], "removed": [3, None, None]}
    log = us.read_log(table, removed="removed")
    assert held(log.at(2)) == {"a": ["x", "y"]}
    assert held(log.between(3, 5)) == {"a": ["x"]}
    assert held(log.between(0, 2)) == {"a": ["x", "y"]}
    assert held(log.between(1, 4)) == {"a": ["y"]}


def test_a_window_keeps_the_order_the_priors_and_the_columns() -> None:
    table = {
        "user": ["a", "a", "a", "b", "b"],
        "item": ["x", "y", "z", "x", "z"],
        "time": [1, 2, 3, 1, 3],
        "p": [1.0, 2.0, 6.0, 1.0, 1.0],
    }
    log = us.read_log(table, columns=["p"])
    window = Window.of(log.at(3, p_user={"a": 3, "b": 1}, p_item="p"), log.axis.moment(1))
    assert items_by_user(window)["a"] == ["y", "z"]
    shares = pair_shares(
        {"a": ["y", "z"], "b": ["z"]},
        p_user={"a": 3.0, "b": 1.0}.__getitem__,
        p_item=lambda u, i: {("a", "y"): 2.0, ("a", "z"): 6.0}.get((u, i), 1.0),
    )
    expected = {"y": shares["a", "y"], "z": shares["a", "z"] + shares["b", "z"]}
    assert window.marginal().to_dict() == pytest.approx(expected, abs=1e-12)
    whole = log.at(3, p_user={"a": 3, "b": 1}, p_item="p").policy
    assert (window.policy.held, whole.held) == ("window", "profiles")
    assert replace(window.policy, held="profiles") == whole


def test_weights_of_whole_profiles_are_refused_for_a_window_and_said_to_be_of_another_date_elsewhere() -> None:
    rows = [("a", "x", 1), ("a", "y", 2), ("b", "x", 1), ("b", "y", 3), ("b", "z", 3)]
    log = us.read_log({"user": [r[0] for r in rows], "item": [r[1] for r in rows], "time": [r[2] for r in rows]})
    weights = us.fit_weights(log.at(3), log.at(1), new_items="keep")
    with pytest.raises(us.UnskewError, match="to whole profiles, not to interactions between"):
        log.between(1, 3).marginal(weights)
    with pytest.warns(us.UnskewWarning, match="fitted at 3 and are used at 2"):
        log.at(2).marginal(weights)


def test_a_window_can_be_fitted_to_a_window() -> None:
    rng = np.random.default_rng(0)
    events = [(int(u), int(8 * rng.random() ** 2), int(t)) for u in range(40) for t in rng.integers(0, 10, 4)]
    log = log_of(events)
    weights = us.fit_weights(log.between(5, 9), log.between(0, 4))
    assert weights.report.converged
    assert weights.bound < weights.report.bound_before
    before = pair_shares(taken(events, 4, 0))
    for item, p in zip(weights.items.to_pylist(), weights.p_reference, strict=True):
        assert p == pytest.approx(sum(s for (_, i), s in before.items() if i == item), abs=1e-12)


def test_a_user_who_was_left_out_stays_left_out() -> None:
    log = log_of([("a", 0, 0), ("a", 1, 5), ("b", 0, 0), ("b", 1, 6)])
    only = log.at(6).restrict(np.array([u == "b" for u in log.users]))
    assert held(log.between(2, only)) == {"b": [1]}


def test_dates_and_texts_of_dates_are_read_as_everywhere() -> None:
    table = {"user": ["a", "a"], "item": ["x", "y"], "time": ["2024-01-01", "2024-01-03"]}
    log = us.read_log({**table, "time": np.array(table["time"], dtype="datetime64[s]")})
    assert held(log.between("2024-01-01", "2024-01-03")) == {"a": ["y"]}  # a bare date is the end of its day
    assert held(log.between("2023-12-31", "2024-01-03")) == {"a": ["x", "y"]}


def test_the_snapshot_of_another_log_or_view_is_refused() -> None:
    table = {"user": ["a", "a"], "item": ["x", "y"], "time": [1, 2], "shown": [True, False]}
    log = us.read_log(table, exposed="shown")
    for other in (us.read_log(table).at(2), us.views.organic(log).at(2)):
        with pytest.raises(InputError, match="is of another log or view"):
            log.between(1, other)
    assert held(us.views.organic(log).between(1, 2)) == {"a": ["y"]}
