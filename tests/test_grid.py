"""The grid of dates: laws for plain numbers, and the calendar day by day."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import unskew as us
from tests.scoring import log_of
from unskew.over_time.timeline_spec import MOST, grid_of


def log_from(first: Any, last: Any) -> us.Log:
    """A log with two interactions, at these times."""
    return us.read_log(pa.table({"user": [1, 2], "item": ["x", "y"], "time": [first, last]}))


def labels(log: us.Log, *given: Any, **named: Any) -> list[Any]:
    return [moment.label for moment in grid_of(log, *given, **named)]


numbers = log_of([("a", 1, -50), ("b", 2, 2000)])
dated = log_from(date(2023, 1, 1), date(2026, 12, 31))
decimal = log_from(0.0, 10.0)
timed = log_from(datetime(2023, 1, 1), datetime(2026, 12, 31))


@given(st.integers(-50, 1000), st.integers(0, 1000), st.integers(1, 300))
def test_a_grid_begins_and_ends_where_it_should_and_keeps_its_step(start: int, span: int, step: int) -> None:
    found = labels(numbers, start, start + span, step)
    assert (found[0], found[-1]) == (start, start + span)
    gaps = [b - a for a, b in pairwise(found)]
    assert all(gap == step for gap in gaps[:-1])
    assert not gaps or 0 < gaps[-1] <= step


@given(st.floats(0, 1), st.floats(0.1, 9), st.floats(0.01, 3))
def test_a_grid_of_decimal_numbers_rises_and_has_no_date_twice(start: float, span: float, step: float) -> None:
    found = labels(decimal, start, min(start + span, 10.0), step)
    gaps = [b - a for a, b in pairwise(found)]
    assert (found[0], found[-1]) == (start, min(start + span, 10.0))
    assert all(1e-10 * step < gap <= step * (1 + 1e-8) for gap in gaps)


@settings(deadline=None)
@given(st.dates(date(2023, 1, 1), date(2024, 12, 31)), st.integers(0, 700), st.integers(1, 60))
def test_days_lead_from_date_to_date_with_or_without_a_clock(start: date, span: int, step: int) -> None:
    end = start + timedelta(days=span)
    expected = [start + timedelta(days=k) for k in range(0, span, step)] + [end]
    for log in (dated, timed):
        for every in (step, f"{step}d", timedelta(days=step), float(step)):
            assert labels(log, start, end, every) == [day.isoformat() for day in expected]


def test_a_grid_of_bare_dates_has_the_end_of_each_day() -> None:
    for moment in grid_of(timed, "2024-01-30", "2024-02-02"):
        assert moment.tick == timed.at(moment.label).tick


@pytest.mark.parametrize(
    ("start", "end", "every", "expected"),
    [
        ("2024-01-31", "2024-04-30", "1mo", ["2024-01-31", "2024-02-29", "2024-03-31", "2024-04-30"]),
        (
            "2023-11-30",
            "2024-03-01",
            "1MO",
            ["2023-11-30", "2023-12-30", "2024-01-30", "2024-02-29", "2024-03-01"],
        ),
        ("2024-02-29", "2026-02-28", "1y", ["2024-02-29", "2025-02-28", "2026-02-28"]),
        ("2024-01-01", "2024-01-20", "1w", ["2024-01-01", "2024-01-08", "2024-01-15", "2024-01-20"]),
        ("2024-01-01", "2024-01-01", "1w", ["2024-01-01"]),
    ],
)
def test_steps_of_the_calendar(start: str, end: str, every: str, expected: list[str]) -> None:
    assert labels(dated, start, end, every) == expected
    assert labels(timed, start, end, every) == expected


def test_hours_and_times_of_day_are_told_with_the_clock() -> None:
    half_days = labels(timed, "2024-01-01T06:00", "2024-01-02T12:00", "12h")
    assert half_days == [
        "2024-01-01T06:00:00",
        "2024-01-01T18:00:00",
        "2024-01-02T06:00:00",
        "2024-01-02T12:00:00",
    ]
    assert labels(timed, "2024-01-01T06:00", "2024-01-02T12:00", 0.5) == half_days
    assert labels(timed, "2024-01-01T06:00", "2024-01-02T12:00", "720min") == half_days


def test_the_same_time_of_day_stays_the_same_when_the_clocks_change() -> None:
    utc = pa.array([datetime(2024, 3, 1), datetime(2024, 4, 30)], type=pa.timestamp("s", tz="Europe/Paris"))
    log = us.read_log(pa.table({"user": [1, 2], "item": [1, 2], "time": utc}))
    found = labels(log, "2024-03-30T12:00", "2024-04-01T12:00", "1d")
    assert found == ["2024-03-30T12:00:00+01:00", "2024-03-31T12:00:00+02:00", "2024-04-01T12:00:00+02:00"]
    days = grid_of(log, "2024-03-30", "2024-04-01")
    assert [b.tick - a.tick for a, b in pairwise(days)] == [23 * 3600 * 10**6, 24 * 3600 * 10**6]


def test_dates_may_be_given_and_come_in_order_each_once() -> None:
    assert labels(numbers, dates=[30, 7, 30, "12"]) == [7, 12, 30]
    assert labels(timed, dates=["2024-02-01", "2024-01-01"]) == ["2024-01-01", "2024-02-01"]


def test_without_dates_it_is_the_whole_log_day_by_day() -> None:
    log = log_from(date(2024, 1, 1), date(2024, 1, 4))
    assert labels(log) == ["2024-01-01", "2024-01-02", "2024-01-03", "2024-01-04"]
    assert labels(log, otherwise="2024-01-03") == ["2024-01-03", "2024-01-04"]


@pytest.mark.parametrize(
    ("log", "given_", "message"),
    [
        (numbers, (5, 1), "the first date 5 is after the last, 1"),
        (numbers, (1, 9, 0), "the step is 0; it must be positive"),
        (numbers, (1, 9, "-3"), "the step is '-3'; it must be positive"),
        (numbers, (1, 9, float("nan")), "it must be positive"),
        (numbers, (1, 9, 0.5), "the step is 0.5, but the times of this log are whole numbers"),
        (numbers, (1, 9, "2w"), "'2w' is a step of the calendar, but the times of this log are plain numbers"),
        (numbers, (1, 9, "often"), "'often' is not a step: give a number"),
        (numbers, (1, 9, True), "True is not a step"),
        (numbers, (-60, 9), "nothing had happened yet at -60: the log runs from -50 to 2000"),
        (numbers, ("noon", 9), "'noon' is not a time of this log"),
        (dated, (None, None, "12h"), "the step is '12h', but the times of this log are whole days"),
        (dated, (None, None, "0.5d"), "the step is '0.5d', but the times of this log are whole days"),
        (dated, (None, None, "1m"), "min for minutes, mo for months"),
        (dated, (None, None, "1.5mo"), "give a whole number of months"),
        (dated, (None, None, "0d"), "it must be positive"),
        (timed, (None, None, "1s"), f"more than {MOST}: take larger steps"),
        (timed, (None, None, timedelta(0)), "it must be positive"),
    ],
)
def test_a_grid_that_cannot_be_is_refused(log: us.Log, given_: tuple[Any, ...], message: str) -> None:
    with pytest.raises(us.UnskewError, match=message):
        grid_of(log, *given_)


@pytest.mark.parametrize(
    ("dates", "more", "message"),
    [
        ([], {}, "dates is empty"),
        ("12", {}, "'12' is not a list of dates"),
        ([1], {"every": 2}, "not both"),
        ([-60, 3], {}, "nothing had happened yet at -60"),
    ],
)
def test_dates_that_cannot_be_are_refused(dates: Any, more: dict[str, Any], message: str) -> None:
    with pytest.raises(us.UnskewError, match=message):
        grid_of(numbers, dates=dates, **more)


def test_one_warning_tells_how_many_dates_are_after_the_log_ends() -> None:
    with pytest.warns(us.UnskewWarning, match=r"from 2001 on \(4 of 9\) are after the log ends") as told:
        grid_of(numbers, 1996, 2004)
    assert len(told) == 1


def test_a_label_depends_on_nothing_but_the_time() -> None:
    log = log_from(datetime(2024, 1, 1, 8), datetime(2024, 1, 4, 8))
    assert labels(log, "2024-01-01", "2024-01-03") == ["2024-01-01", "2024-01-02", "2024-01-03"]
    assert labels(log, "2024-01-01") == ["2024-01-01", "2024-01-02", "2024-01-03", "2024-01-04T08:00:00"]
    assert labels(log, "2024-01-01T12:00", "2024-01-02", "12h") == [
        "2024-01-01T12:00:00", "2024-01-02T00:00:00", "2024-01-02T12:00:00", "2024-01-02",
    ]  # fmt: skip
    zone = pa.array([datetime(2024, 3, 30), datetime(2024, 4, 2)], type=pa.timestamp("s", tz="Europe/Paris"))
    zoned = us.read_log(pa.table({"user": [1, 2], "item": [1, 2], "time": zone}))
    for given_ in ("2024-03-31", "2024-03-31T23:59:59.999999+02:00", "2024-03-31T21:59:59.999999+00:00"):
        assert labels(zoned, dates=[given_]) == ["2024-03-31"]
    assert labels(zoned, dates=["2024-03-31T23:59:59+00:00"]) == ["2024-04-01T01:59:59+02:00"]


def test_a_reference_after_the_end_of_the_log_is_told_as_such() -> None:
    with pytest.raises(
        us.UnskewError, match=r"the reference 3000 is after the end of the log, 2000: .*a later end"
    ):
        grid_of(numbers, otherwise=3000)


def test_the_day_on_which_the_log_ends_is_not_after_its_end() -> None:
    assert labels(timed, "2026-12-30", "2026-12-31") == ["2026-12-30", "2026-12-31"]
