"""Labels at the ends of lines: near their lines, in their order, never on one another."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from unskew.drawing.theme import (
    Span,
    fit_span,
    keep_numbers_whole,
    log_ticks,
    percent_digits,
    spread_labels,
    wrap_lines,
)

PLACES = st.lists(st.floats(-50, 350), min_size=1, max_size=12)
GAPS = st.floats(1, 40)


@given(PLACES, GAPS)
@settings(deadline=None)
def test_labels_stand_apart_in_their_order_and_in_range_if_they_fit(wanted: list[float], gap: float) -> None:
    places = spread_labels(wanted, gap, 0, 300)
    order = np.argsort(wanted, kind="stable")
    assert (np.diff(np.array(places)[order]) >= gap - 1e-9).all()
    if (len(wanted) - 1) * gap <= 300:
        assert min(places) >= -1e-9
        assert max(places) <= 300 + 1e-9


@given(PLACES, GAPS)
@settings(deadline=None)
def test_labels_that_have_room_do_not_move(wanted: list[float], gap: float) -> None:
    if len(wanted) > 1 and np.diff(sorted(wanted)).min() < gap:
        return
    assert spread_labels(wanted, gap, -50, 350) == pytest.approx(wanted)


def test_labels_move_as_little_as_a_solver_finds() -> None:
    wanted, gap = [10.0, 12.0, 13.0, 60.0, 61.0, 99.0], 14.0
    order = [{"type": "ineq", "fun": lambda x, k=k: x[k + 1] - x[k] - gap} for k in range(5)]
    start = np.linspace(0, 100, 6)
    best = minimize(lambda x: ((x - wanted) ** 2).sum(), start, bounds=[(0, 100)] * 6, constraints=order).x
    assert spread_labels(wanted, gap, 0, 100) == pytest.approx(best, abs=1e-3)


def test_too_many_labels_keep_their_gap_around_the_middle() -> None:
    assert spread_labels([1.0, 1.0, 1.0], 20, 0, 30) == [-5, 15, 35]


@pytest.mark.parametrize("span", [Span(2.0, 8.0, 300), Span(0.01, 100.0, 300, log=True), Span(5.5, 0.5, 120)])
def test_a_value_is_found_again_from_its_pixel(span: Span) -> None:
    assert (span.pixel(span.high), span.pixel(span.low)) == pytest.approx((0, span.height))
    assert span.value(span.pixel(3.0)) == pytest.approx(3.0)


@given(st.lists(st.floats(1e-4, 1e4), min_size=1, max_size=5), st.booleans(), st.booleans())
def test_an_axis_holds_its_values(values: list[float], zero: bool, log: bool) -> None:
    span = fit_span(values, 100, zero=zero, log=log)
    assert span.low < span.high
    assert all(-1e-9 <= span.pixel(v) <= 100 + 1e-9 for v in values)


@given(st.floats(1e-6, 10), st.floats(1.5, 1e9))
def test_ticks_of_orders_of_magnitude_are_few_and_in_range(low: float, factor: float) -> None:
    ticks = log_ticks(low, low * factor)
    assert len(ticks) <= 9
    assert all(low <= tick <= low * factor for tick in ticks)
    assert ticks or factor < 2.5


def test_percentages_have_as_many_digits_as_their_ticks_need() -> None:
    assert [percent_digits(0, 0.6), percent_digits(0.07, 0.09), percent_digits(0.070, 0.0702)] == [0, 1, 3]
    assert math.isfinite(percent_digits(0, 100))


def test_numbers_are_not_broken_at_the_end_of_a_line() -> None:
    assert (
        keep_numbers_whole("20 000 users, 5 % of p = 20 on day 300")
        == "20\xa0000 users, 5\xa0% of p\xa0=\xa020 on day\xa0300"
    )
    assert keep_numbers_whole("-1 % .. +2 %") == "-1\xa0%\xa0..\xa0+2\xa0%"
    for width in range(60, 400, 7):
        assert not any(
            line.endswith(("20", "day", "p =")) for line in wrap_lines("some 20 000 users on day 300 " * 4, width)
        )
