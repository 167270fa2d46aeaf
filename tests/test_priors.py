"""P(u) and P(i|u): uniform, given, by a column, by recency; and the words kept about them."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import unskew as us
from tests.tables import LAW, Row, columns_of, dense, late, rows_of
from unskew.data import Recency
from unskew.data.policy import Policy
from unskew.errors import ColumnError, InputError, PolicyError, TimeError

TABLE = {
    "user": ["a", "a", "b", "c"],
    "item": ["x", "y", "x", "z"],
    "time": [1, 3, 2, 9],
    "worth": [5.0, 5.0, 2.0, 1.0],
    "stars": [1.0, 3.0, 4.0, -1.0],
    "varying": [1.0, 2.0, 3.0, 4.0],
    "gaps": [None, 1.0, 1.0, 1.0],
}


def read() -> us.Log:
    return us.read_log(TABLE, columns=["worth", "stars", "varying", "gaps"])


def by_user(snapshot: us.Snapshot) -> dict[Any, float]:
    """P(u) of those who hold anything."""
    return {u: p for u, p in zip(snapshot.log.users, snapshot.shares().tolist(), strict=True) if p}


def test_p_user_is_uniform_over_those_who_hold_anything() -> None:
    assert by_user(read().at(3)) == {"a": 0.5, "b": 0.5}
    assert by_user(read().at(3, p_user="uniform")) == {"a": 0.5, "b": 0.5}


@pytest.mark.parametrize(
    "given_",
    [
        {"a": 3, "b": 1},
        {"a": 3e300, "b": 1e300, "c": 1e308, "unknown": 7},
        {"a": 3e-300, "b": 1e-300},
        {"a": np.float32(3), "b": True},
    ],
)
def test_p_user_from_a_mapping_has_any_scale(given_: dict[str, float]) -> None:
    snapshot = read().at(3, p_user=given_)
    assert by_user(snapshot) == pytest.approx({"a": 0.75, "b": 0.25})
    assert snapshot.marginal().to_dict() == pytest.approx({"x": 0.75 / 2 + 0.25, "y": 0.75 / 2})
    assert snapshot.policy.p_user == "given"


def test_p_user_from_an_array_is_in_the_order_of_the_users() -> None:
    log = read()
    shares = np.array([{"a": 3.0, "b": 1.0, "c": 4.0}[u] for u in log.users])
    assert by_user(log.at(9, p_user=shares)) == pytest.approx({"a": 3 / 8, "b": 1 / 8, "c": 4 / 8})
    assert by_user(log.at(3, p_user=shares.tolist())) == pytest.approx({"a": 0.75, "b": 0.25})


def test_p_user_from_a_column_is_the_number_of_each_user() -> None:
    snapshot = read().at(9, p_user="worth")
    assert by_user(snapshot) == pytest.approx({"a": 5 / 8, "b": 2 / 8, "c": 1 / 8})
    assert snapshot.policy.p_user == "column worth"


def test_a_column_that_changes_later_is_p_user_as_long_as_it_does_not() -> None:
    assert by_user(read().at(2, p_user="varying")) == pytest.approx({"a": 1 / 4, "b": 3 / 4})
    with pytest.raises(ColumnError, match="same in all rows of a user, but user 'a' has 1 and 2"):
        read().at(3, p_user="varying")


def test_a_user_with_p_zero_takes_no_part() -> None:
    assert read().at(3, p_user={"a": 0, "b": 1}).marginal().to_dict() == {"x": 1.0}


@pytest.mark.parametrize(
    ("given_", "said"),
    [
        ({"a": 1}, "no number for 1 of the users, such as 'b'"),
        ({}, "no number for 2"),
        ({1: 1, 2: 1}, "no number for 2"),
        ({"a": 1, "b": -1}, "user 'b' has -1"),
        ({"a": 1, "b": float("inf")}, "user 'b' has inf"),
        ({"a": 0, "b": 0, "c": 1}, "zero for every user who holds anything at 3"),
        ({"a": 1, "b": "much"}, "map ids to numbers"),
        ({"a": 1, "b": None}, "map ids to numbers"),
        ([0.0, 0.0, 1.0], "zero for every user|not negative"),
        ([1, 2], "has 3 users"),
        ([[1, 2, 3]], "has 3 users"),
        (5, "has 3 users"),
        (["a", "b", "c"], "must be numbers"),
        ([1, None, 1], "user 'b' has nan"),
        ("missing", "no column 'missing' was read"),
        ("gaps", "user 'a' has a row without a number"),
        (pd.Series([1, 2, 3], index=["c", "b", "a"]), "to_dict"),
        (object(), "must be numbers"),
    ],
)
def test_a_p_user_that_is_none_is_refused(given_: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        read().at(3, p_user=given_)


def test_p_item_from_a_column_is_given_per_interaction() -> None:
    snapshot = read().at(3, p_item="stars")
    assert snapshot.marginal().to_dict() == pytest.approx({"x": (1 / 4 + 1) / 2, "y": (3 / 4) / 2})
    assert snapshot.policy.p_item == "column stars"


def test_a_bad_number_after_the_date_does_not_matter_and_within_it_is_refused() -> None:
    with pytest.raises(ColumnError, match=r"'stars'.*1 values are not positive.* -1.0 for item 'z'"):
        read().at(9, p_item="stars")
    with pytest.raises(ColumnError, match=r"'gaps'.*1 values are not positive.* nan for item 'x'"):
        read().at(3, p_item="gaps")
    with pytest.raises(
        ColumnError, match=r"'gaps'.*some values are not positive numbers, such as nan: drop such rows"
    ):
        replace(read(), is_part=True).at(3, p_item="gaps")  # it knows neither all values nor what items are called


def test_numbers_per_interaction_may_be_of_any_size() -> None:
    table = {
        "user": ["a", "a", "b", "b"],
        "item": [1, 2, 1, 2],
        "time": [1] * 4,
        "n": [1e308, 1e308, 1e-308, 3e-308],
    }
    snapshot = us.read_log(table, columns=["n"]).at(1, p_item="n")
    assert snapshot.marginal().to_dict() == pytest.approx({1: 0.375, 2: 0.625})


@LAW
@given(rows_of(removals=True), st.integers(-2, 9), st.floats(0.1, 20))
def test_recency_halves_with_every_half_life_of_age(rows: list[Row], time: int, half_life: float) -> None:
    rows = [*rows, Row("z", 9, -2)]
    log = us.read_log(columns_of(rows), removed="removed")
    snapshot = late(log, time, p_item=Recency(half_life))
    came: dict[tuple[str, int], int] = {}  # when the present stay began: back over all rows that touch it
    for user in log.users:
        for item in snapshot.profile(user):
            mine = [
                r for r in rows if (r.user, r.item) == (user, item) and (r.removed is None or r.removed > r.time)
            ]
            start = min(r.time for r in mine if r.time <= time and (r.removed is None or r.removed > time))
            while earlier := [
                r.time for r in mine if r.time < start and (r.removed is None or r.removed >= start)
            ]:
                start = min(earlier)
            came[user, item] = start
    b = {key: 2.0 ** (-(time - begun) / half_life) for key, begun in came.items()}
    some = snapshot.sizes() > 0
    expected = (some / some.sum()) @ dense(snapshot, b)
    np.testing.assert_allclose(snapshot.probabilities(), expected, atol=1e-12)


def test_recency_is_in_days_on_a_calendar_and_takes_a_timedelta() -> None:
    log = us.read_log({"user": ["a"] * 2, "item": [1, 2], "time": [date(2013, 1, 1), date(2013, 1, 8)]})
    for half_life in (7, 7.0, timedelta(days=7), np.timedelta64(7, "D")):
        snapshot = log.at("2013-01-08", p_item=Recency(half_life))  # type: ignore[arg-type]
        assert snapshot.marginal().to_dict() == pytest.approx({1: 1 / 3, 2: 2 / 3})


def test_what_is_very_old_still_has_a_probability() -> None:
    log = us.read_log({"user": ["a", "a", "b"], "item": [1, 2, 1], "time": [0, 10**9, 0]})
    marginal = log.at(10**9, p_item=Recency(1)).marginal().to_dict()
    assert marginal[1] == pytest.approx(0.5)
    assert (log.at(10**9, p_item=Recency(1)).weigh().pair_shares > 0).all()


@pytest.mark.parametrize("half_life", [0, -1, float("nan"), "week", None, True, timedelta(days=1)])
def test_a_half_life_that_is_none_is_refused(half_life: Any) -> None:
    with pytest.raises(TimeError):
        read().at(3, p_item=Recency(half_life))


@pytest.mark.parametrize("p_item", [3, [1, 2], np.array([1.0, 2.0]), {"a": 1}, Recency])
def test_a_p_item_that_is_none_is_refused(p_item: Any) -> None:
    with pytest.raises(InputError, match="give None, Recency"):
        read().at(3, p_item=p_item)


def test_a_policy_knows_its_own_kind_again() -> None:
    policy = Policy("column worth", "recency:30", 2, "both", "organic")
    assert Policy.from_dict(policy.to_dict()) == policy
    policy.require_same(Policy.from_dict(policy.to_dict()), "the reference")


@pytest.mark.parametrize(
    "other",
    [
        Policy("given"),
        Policy(p_item="recency:7"),
        Policy(min_items=2),
        Policy(users="both"),
        Policy(view="organic"),
    ],
)
def test_another_policy_is_refused_with_what_differs(other: Policy) -> None:
    with pytest.raises(PolicyError, match="the reference") as said:
        Policy().require_same(other, "the reference")
    differing = {str(v) for k, v in other.to_dict().items() if v != Policy().to_dict()[k]}
    assert all(word in str(said.value) for word in differing)


def test_half_lives_that_differ_are_different_policies() -> None:
    one, other = (read().at(3, p_item=Recency(h)).policy for h in (1000000.0, 1000001.0))
    assert one != other
