"""What `read_log` makes of rows: folding, nulls, removals, exposures, and the order of all this."""

from __future__ import annotations

import math
import random
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import unskew as us
from tests.tables import LAW, Row, columns_of, held, profiles_at, rows_of
from unskew.errors import ColumnError, EmptyError, InputError, UnskewWarning

TIMES = range(-3, 13)


@LAW
@given(rows_of())
def test_profiles_agree_with_a_dict_of_sets_at_every_time(rows: list[Row]) -> None:
    log = us.read_log(columns_of(rows))
    for time in TIMES:
        assert held(log, time) == profiles_at(rows, time)


@LAW
@given(rows_of(removals=True))
def test_profiles_with_removals_agree_with_a_dict_of_sets_at_every_time(rows: list[Row]) -> None:
    if not any(row.removed is None or row.removed > row.time for row in rows):
        with pytest.raises(EmptyError, match="the moment it was added: is removed='removed' the column of"):
            us.read_log(columns_of(rows), removed="removed")
        return
    log = us.read_log(columns_of(rows), removed="removed")
    for time in TIMES:
        assert held(log, time) == profiles_at(rows, time)


@LAW
@given(rows_of(removals=True))
def test_the_organic_view_is_the_log_of_the_unexposed_rows(rows: list[Row]) -> None:
    organic = [row for row in rows if not row.exposed]
    if not any(row.removed is None or row.removed > row.time for row in rows):
        return
    log = us.read_log(columns_of(rows), removed="removed", exposed="exposed")
    if not any(row.removed is None or row.removed > row.time for row in organic):
        with pytest.raises(EmptyError, match="nothing is left"):
            us.views.organic(log)
        return
    for time in TIMES:
        assert held(us.views.organic(log), time) == profiles_at(organic, time)
    assert us.views.organic(log).view == "organic"


@LAW
@given(rows_of(removals=True), st.randoms(use_true_random=False))
def test_the_order_of_rows_changes_nothing_to_the_last_bit(rows: list[Row], shuffle: random.Random) -> None:
    rows = [*rows, Row("a", 0, 0)]
    other = list(rows)
    shuffle.shuffle(other)
    one, two = (us.read_log(columns_of(r), removed="removed", exposed="exposed") for r in (rows, other))
    assert one.users.to_list() == two.users.to_list()
    assert one.items.to_list() == two.items.to_list()
    assert one.reading == two.reading
    for name in ("start", "item", "time", "removed", "exposed"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name), err_msg=name)


@pytest.mark.parametrize("threads", ["1", "2", "5"])
def test_the_number_of_threads_changes_nothing(threads: str, monkeypatch: pytest.MonkeyPatch) -> None:
    random_ = np.random.default_rng(0)
    n = 60_000
    table = {
        "user": random_.integers(0, 900, n),
        "item": random_.integers(0, 200, n),
        "time": random_.integers(0, 99, n),
    }
    first: dict[tuple[int, int], int] = {}
    for u, i, t in zip(*(table[c].tolist() for c in ("user", "item", "time")), strict=True):
        first[u, i] = min(t, first.get((u, i), t))
    monkeypatch.setenv("UNSKEW_THREADS", threads)
    log = us.read_log(table)
    user = np.repeat(log.users.values.to_numpy(), log.start[1:] - log.start[:-1])
    found = dict(
        zip(zip(user.tolist(), log.items.take(log.item).to_pylist(), strict=True), log.time.tolist(), strict=True)
    )
    assert found == first
    counts = log.at(50).counts()
    expected = np.bincount([i for (_, i), t in first.items() if t <= 50], minlength=200)
    np.testing.assert_array_equal(counts, expected[log.items.values.to_numpy()])


def test_a_repeated_pair_counts_once_at_its_earliest_time_and_is_reported() -> None:
    log = us.read_log({"user": ["a", "a", "a", "b"], "item": [1, 1, 1, 1], "time": [5, 3, 4, 9]})
    assert (len(log), log.first, log.reading.rows, log.reading.folded) == (2, 3, 4, 2)


def test_users_are_numbered_by_size_and_items_by_frequency_and_ties_by_id() -> None:
    log = us.read_log({"user": ["b", "a", "c", "c"], "item": ["y", "z", "x", "z"], "time": [1, 1, 1, 1]})
    assert log.users.to_list() == ["c", "a", "b"]
    assert log.items.to_list() == ["z", "x", "y"]


def test_hundreds_of_ties_are_numbered_by_id_in_any_order_of_rows() -> None:
    shuffled = np.random.default_rng(0).permutation(4000)
    log = us.read_log({"user": shuffled, "item": shuffled, "time": shuffled})
    assert log.users.to_list() == log.items.to_list() == list(range(4000))


def test_stays_that_touch_are_one_stay_since_the_first() -> None:
    log = us.read_log({"user": ["a"] * 2, "item": [1] * 2, "time": [1, 3], "gone": [3, 5]}, removed="gone")
    assert (log.time.tolist(), log.reading.folded) == ([1], 1)
    assert log.removed is not None
    assert log.removed.tolist() == [5]


def test_an_item_may_leave_and_come_back() -> None:
    log = us.read_log(
        {"user": ["a"] * 3, "item": [1] * 3, "time": [1, 2, 8], "gone": [3, 5, None]}, removed="gone"
    )
    assert [time for time in range(1, 10) if held(log, time)] == [1, 2, 3, 4, 8, 9]
    assert log.reading.folded == 1


def test_equal_stays_are_one_stay_and_do_not_lengthen_the_one_before() -> None:
    rows = [Row("a", 1, 0, 2), Row("a", 1, 5, 6), Row("a", 1, 5, 6), Row("a", 1, 5, 6)]
    log = us.read_log(columns_of(rows), removed="removed")
    assert [held(log, t) for t in (1, 3, 5, 6)] == [profiles_at(rows, t) for t in (1, 3, 5, 6)]


def test_whole_numbers_with_gaps_are_floats_in_pandas_and_still_removals() -> None:
    import pandas as pd

    table = pd.DataFrame({"user": [1, 2], "item": [1, 2], "time": [1, 2], "gone": [5, None]})
    log = us.read_log(table, removed="gone")
    assert (held(log, 4), held(log, 5)) == ({1: {1}, 2: {2}}, {2: {2}})


@pytest.mark.parametrize("gone", [[2.5, None], [3, None]])
def test_a_removal_between_two_ticks_takes_effect_at_the_next(gone: list[float | None]) -> None:
    log = us.read_log({"user": [1, 2], "item": [1, 1], "time": [1, 1], "gone": gone}, removed="gone")
    assert (set(held(log, 2)), set(held(log, 3))) == ({1, 2}, {2})


def test_a_removal_before_the_arrival_is_refused_with_user_item_and_times() -> None:
    with pytest.raises(
        ColumnError, match=r"'gone': item 7 left the profile of user 'a' at 3, before it was added at 4"
    ):
        us.read_log({"user": ["a"], "item": [7], "time": [4], "gone": [3]}, removed="gone")


def test_a_column_of_removals_without_any_is_a_log_without_removals() -> None:
    log = us.read_log({"user": [1], "item": [1], "time": [1], "gone": [None]}, removed="gone")
    assert held(log, 2**63 - 1) == {1: {1}}


@pytest.mark.parametrize("marks", [[True, None], [1, 0], ["yes", "no"], ["true", ""], [1.0, math.nan], ["1", "0"]])
def test_exposure_marks_may_be_flags_numbers_or_words(marks: list[Any]) -> None:
    log = us.read_log({"user": ["a", "b"], "item": [1, 2], "time": [1, 2], "seen": marks}, exposed="seen")
    assert held(us.views.organic(log), 2) == {"b": {2}}
    assert log.exposed is not None
    assert log.exposed.tolist() == [True, False]


def test_an_item_taken_when_exposed_and_again_without_stays_at_the_later_time() -> None:
    log = us.read_log({"user": ["a", "a"], "item": [1, 1], "time": [2, 6], "seen": [True, False]}, exposed="seen")
    assert (held(log, 2), held(us.views.organic(log), 5), held(us.views.organic(log), 6)) == (
        {"a": {1}},
        {},
        {"a": {1}},
    )


def test_a_word_that_is_no_exposure_mark_is_refused_by_name() -> None:
    with pytest.raises(ColumnError, match="'seen' holds 'maybe'"):
        us.read_log({"user": [1], "item": [1], "time": [1], "seen": ["maybe"]}, exposed="seen")


def test_a_log_without_marks_has_no_organic_view() -> None:
    with pytest.raises(InputError, match="exposed="):
        us.views.organic(us.read_log({"user": [1], "item": [1], "time": [1]}))


@pytest.mark.parametrize("column", ["user", "item", "time"])
@pytest.mark.parametrize("nothing", [None, math.nan])
def test_a_null_is_refused_with_its_count_and_first_row(column: str, nothing: float | None) -> None:
    table: dict[str, list[Any]] = {c: [1.5, 2.5, 3.5, 4.5] for c in ("user", "item", "time")}
    table[column][1] = table[column][3] = nothing
    with pytest.raises(ColumnError, match=rf"'{column}' has 2 null values, the first in row 2 .* drop_nulls=True"):
        us.read_log(table)


def test_dropped_nulls_are_reported_and_gone() -> None:
    table = {"user": ["a", None, "b", "c"], "item": [1, 1, None, 3], "time": [1, 2, 3, 4]}
    log = us.read_log(table, drop_nulls=True)
    assert (log.reading.rows, log.reading.dropped, log.reading.folded) == (4, 2, 0)
    assert held(log, 4) == {"a": {1}, "c": {3}}


@pytest.mark.parametrize("values", [[None, None], [math.nan, math.nan]])
def test_nothing_but_nulls_is_an_error_either_way(values: list[Any]) -> None:
    table = {"user": [1, 2], "item": [1, 2], "time": values}
    with pytest.raises(ColumnError, match="'time' has 2 null values"):
        us.read_log(table)
    with pytest.raises(EmptyError, match="nothing is left"):
        us.read_log(table, drop_nulls=True)


def test_no_rows_is_an_error() -> None:
    with pytest.raises(EmptyError, match="no rows"):
        us.read_log({"user": [], "item": [], "time": []})


def test_one_user_with_one_item_is_a_log() -> None:
    log = us.read_log({"user": ["a"], "item": ["x"], "time": [1]})
    assert log.at(1).marginal().to_dict() == {"x": 1.0}


@pytest.mark.parametrize("twin", ["ann ", " ann", "ann\u00a0", "ann\t"])
def test_ids_that_differ_only_in_white_space_are_kept_apart_with_a_warning(twin: str) -> None:
    with pytest.warns(UnskewWarning, match="'user'.*white space") as said:
        log = us.read_log({"user": ["ann", twin], "item": [1, 2], "time": [1, 2]})
    assert len(log.users) == 2
    assert said[0].filename == __file__


def test_a_warning_about_white_space_is_not_given_for_different_ids() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        us.read_log({"user": ["ann", "bob "], "item": ["a b", "ab"], "time": [1, 2]})


def test_a_further_column_goes_with_the_earliest_row() -> None:
    table = {"user": ["a", "a", "b"], "item": [1, 1, 1], "time": [5, 3, 4], "stars": [1.0, 2.0, None]}
    stars = us.read_log(table, columns=["stars"]).column("stars")
    assert stars[0] == 2.0
    assert math.isnan(stars[1])
