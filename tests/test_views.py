"""Views of a log by exposures and by dates, against the log of the rows that stay, in plain Python."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import unskew as us
from tests.tables import LAW, Row, columns_of, held, profiles_at, rows_of
from unskew.data.times import TimeAxis, read_windows
from unskew.errors import EmptyError, InputError, PolicyError, TimeError, UnskewError, UnskewWarning
from unskew.reading import mark_exposed

TIMES = range(-3, 13)
WINDOWS = st.lists(st.tuples(st.integers(-3, 8), st.integers(1, 4)), min_size=1, max_size=2).map(
    lambda found: [(start, start + length) for start, length in found]
)


def taken_by_then(rows: list[Row], log: us.Log) -> None:
    """The log is that of these rows, at every time."""
    for time in TIMES:
        assert held(log, time) == profiles_at(rows, time)


@LAW
@given(rows_of(), WINDOWS)
def test_outside_windows_is_the_log_of_the_rows_outside(rows: list[Row], windows: list[tuple[int, int]]) -> None:
    log = us.read_log(columns_of(rows), repeats=True)
    left = [row for row in rows if not any(start <= row.time < end for start, end in windows)]
    if not left:
        with pytest.raises(EmptyError, match="nothing is left outside"):
            _quietly(us.views.outside, log, windows)
        return
    view = _quietly(us.views.outside, log, windows)
    taken_by_then(left, view)
    assert view.view == "outside"
    assert view.view_report.dropped_pairs == len(log) - len({(row.user, row.item) for row in left})
    assert view.view_report.dropped_users == len({row.user for row in rows}) - len({row.user for row in left})


@LAW
@given(rows_of(), rows_of(10), st.none() | st.integers(1, 5))
def test_the_organic_view_leaves_out_what_followed_an_exposure(
    rows: list[Row], shown: list[Row], within: int | None
) -> None:
    def is_exposed(row: Row) -> bool:
        waits = [row.time - s.time for s in shown if (s.user, s.item) == (row.user, row.item)]
        return any(0 <= wait < (99 if within is None else within) for wait in waits)

    log = us.read_log(columns_of(rows), repeats=True)
    if not {(s.user, s.item) for s in shown} & {(u, i) for u in log.users for i in log.items}:
        with pytest.raises(EmptyError, match="of a user and an item of the log"):
            mark_exposed(log, columns_of(shown), within=within)
        return
    marked = _quietly(mark_exposed, log, columns_of(shown), within=within)
    left = [row for row in rows if not is_exposed(row)]
    if left:
        taken_by_then(left, us.views.organic(marked))
    else:
        with pytest.raises(EmptyError, match="nothing is left"):
            us.views.organic(marked)


@LAW
@given(rows_of(), WINDOWS)
def test_a_saved_log_has_the_same_views(rows: list[Row], windows: list[tuple[int, int]]) -> None:
    import tempfile

    log = us.read_log(columns_of(rows), repeats=True, exposed="exposed")
    with tempfile.TemporaryDirectory() as folder:
        log.save(f"{folder}/log.arrow")
        again = us.Log.load(f"{folder}/log.arrow")
        for make in (us.views.organic, lambda one: _quietly(us.views.outside, one, windows)):
            try:
                expected = make(log)
            except EmptyError:
                with pytest.raises(EmptyError):
                    make(again)
                continue
            found = make(again)
            assert np.array_equal(found.item, expected.item)
            assert np.array_equal(found.time, expected.time)
            assert np.array_equal(found.start, expected.start)


def test_a_view_of_everything_is_the_log_itself() -> None:
    log = us.simulate(users=100, items=40, seed=1).log
    same = log.keep_entries(np.ones(len(log), dtype=bool))
    assert same.view == "all"
    for name in ("start", "item", "time", "exposed"):
        assert np.array_equal(getattr(same, name), getattr(log, name))


def test_the_labels_of_a_pair_are_those_of_the_row_it_counts_from() -> None:
    rows: dict[str, list[Any]] = {"user": ["a"] * 3, "item": [1, 1, 2], "time": [1, 5, 3]}
    rows |= {"shop": ["x", "y", "x"], "price": [1.0, 2.0, 3.0]}
    log = us.read_log(rows, repeats=True, labels=["shop"], columns=["price"])
    view = us.views.outside(log, "0:2")
    shop = view.label("shop")
    found = {
        view.items[i]: (shop.values[int(c)].as_py(), p)
        for i, c, p in zip(view.item, shop.codes, view.column("price"), strict=True)
    }
    assert found == {1: ("y", 2.0), 2: ("x", 3.0)}
    assert view.at(5).profile("a") == [2, 1]


def test_repeated_rows_that_were_not_kept_are_warned_of() -> None:
    log = us.read_log({"user": ["a", "a", "b"], "item": [1, 1, 1], "time": [1, 5, 9]})
    with pytest.warns(UnskewWarning, match=r"1 repeated rows .33.* were merged.*repeats=True"):
        us.views.outside(log, "0:2")


def test_a_campaign_outside_the_log_is_warned_of() -> None:
    log = us.read_log({"user": ["a"], "item": [1], "time": [1]})
    with pytest.warns(UnskewWarning, match="campaign 7:9 lies outside the log"):
        us.views.outside(log, "7:9")


DAYS = {
    "user": ["a"] * 4,
    "item": [1, 2, 3, 4],
    "time": [datetime(2024, 3, 9 + k, 12 * (k % 2)) for k in range(4)],
}


@pytest.mark.parametrize(
    ("window", "left"),
    [
        ("2024-03-09:2024-03-11", {3, 4}),  # from the start of the 9th up to the start of the 11th
        ("2024-03-10:2024-03-10T12:00", {1, 2, 3, 4}),
        ("2024-03-10:2024-03-11", {1, 3, 4}),
        ("2024-03-10T12:00/2024-03-10T12:01", {1, 3, 4}),
        ("2024-03-11:", {1, 2}),
        ((date(2024, 3, 9), None), set()),
        ((datetime(2024, 3, 9, 1), datetime(2024, 3, 11)), {1, 3, 4}),
    ],
)
def test_bare_dates_of_a_window_are_starts_of_days(window: Any, left: set[int]) -> None:
    log = us.read_log(DAYS)
    if isinstance(window, str) and window.count(":") > 1 and "/" not in window:
        with pytest.raises(InputError, match="START/END"):
            us.views.outside(log, window)
        return
    if not left:
        with pytest.raises(EmptyError, match="nothing is left outside"):
            us.views.outside(log, window)
        return
    assert held(us.views.outside(log, [window]), "2024-03-31") == {"a": left}


def test_windows_of_a_log_in_a_zone_begin_there() -> None:
    when = [datetime(2024, 3, 9, 22, 30, tzinfo=UTC), datetime(2024, 3, 9, 23, 30, tzinfo=UTC)]
    table = pa.table(
        {"user": ["a", "a"], "item": [1, 2], "time": pa.array(when, pa.timestamp("s", "Europe/Paris"))}
    )
    assert held(us.views.outside(us.read_log(table), "2024-03-10:"), "2024-03-31") == {"a": {1}}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("5", "'5' is not a window of time"),
        (":5", "':5' has no start"),
        ("5:5", "'5:5' ends at its start or before it"),
        ("7:5", "ends at its start or before it"),
        ("a:b", "'a:b': 'a' is not a time of this log"),
        ("2024-01-01:2024-02-01", "is a date, but the times of this log are plain numbers"),
        ([(1, 2, 3)], "is not a window of time"),
        ([5], "campaigns has 5, which is not a window"),
        ([], "campaigns is empty"),
        ("1:2:3", "write START:END"),
    ],
)
def test_a_window_that_cannot_be_read_is_refused(given: Any, message: str) -> None:
    log = us.read_log({"user": ["a"], "item": [1], "time": [1]})
    with pytest.raises(UnskewError) as caught:
        us.views.outside(log, given)
    assert message in str(caught.value)


def test_a_window_between_two_whole_times_begins_at_the_next() -> None:
    log = us.read_log({"user": ["a"] * 3, "item": [1, 2, 3], "time": [3, 4, 5]})
    assert held(us.views.outside(log, "3.5:4.5"), 9) == held(us.views.outside(log, "4:5"), 9) == {"a": {1, 3}}


def test_text_ids_that_all_look_like_numbers_are_those_of_a_log_of_texts(tmp_path: Path) -> None:
    (tmp_path / "shown.csv").write_text("user,item,time\na,3,0\n")
    log = us.read_log({"user": ["a", "b"], "item": ["3", "x"], "time": [1, 1]})
    assert sorted(_marks(mark_exposed(log, tmp_path / "shown.csv"))) == [False, True]


def test_windows_are_sorted_and_written_back() -> None:
    found = read_windows(TimeAxis("integer"), [(5, None), "1:3"])
    assert [str(window) for window in found] == ["1:3", "5:"]
    days = read_windows(TimeAxis("datetime", "s"), ["2024-03-10T12:00/2024-03-11"])
    assert [str(window) for window in days] == ["2024-03-10T12:00:00/2024-03-11"]


SHOWN_AT = datetime(2024, 3, 10, 12, 30)


@pytest.mark.parametrize(
    ("log_times", "shown_at", "exposed"),
    [
        ([SHOWN_AT - timedelta(seconds=1), SHOWN_AT], pa.array([SHOWN_AT], pa.timestamp("ns")), [False, True]),
        ([SHOWN_AT - timedelta(seconds=1), SHOWN_AT], pa.array([SHOWN_AT], pa.timestamp("s")), [False, True]),
        ([SHOWN_AT - timedelta(days=1), SHOWN_AT], pa.array([SHOWN_AT.date()]), [False, True]),
        ([date(2024, 3, 9), date(2024, 3, 10)], pa.array([SHOWN_AT], pa.timestamp("us")), [False, True]),
        ([3, 4], pa.array([3.5]), [True, True]),  # rounded down
        ([3.25, 3.75], pa.array([3.5]), [False, True]),
    ],
)
def test_exposures_may_have_times_of_another_precision(
    log_times: list[Any], shown_at: pa.Array, exposed: list[bool]
) -> None:
    log = us.read_log({"user": ["a", "b"], "item": [1, 1], "time": log_times})
    shown = pa.table({"user": ["a", "b"], "item": [1, 1], "time": pa.concat_arrays([shown_at] * 2)})
    marked = mark_exposed(log, shown)
    found = {log.users[int(u)]: x for u, x in zip(marked.entry_users(), _marks(marked), strict=True)}
    assert found == dict(zip("ab", exposed, strict=True))


def test_exposures_in_seconds_since_1970_follow_the_unit_of_the_log() -> None:
    log = us.read_log({"user": ["a"], "item": [1], "time": [1_000_000]}, time_unit="s")
    assert _marks(mark_exposed(log, {"user": ["a"], "item": [1], "time": [999_999]})) == [True]


def test_days_of_exposures_in_a_zone_begin_there() -> None:
    ticks = np.array([1_710_023_400, 1_710_027_000])  # 22:30 and 23:30 UTC on 2024-03-09
    days = TimeAxis("datetime", "s", "Europe/Paris").convert(ticks, TimeAxis("date", "day"), "x")
    assert [TimeAxis("date", "day").show(day) for day in days] == ["2024-03-09", "2024-03-10"]


def test_columns_of_exposures_may_be_called_otherwise() -> None:
    log = us.read_log({"member": ["a", "b"], "sku": [1, 1], "at": [5, 5]}, "member", "sku", "at")
    for names in (("member", "sku", "at"), ("user", "item", "time"), ("CustomerId", "product_id", "shown_date")):
        shown = dict(zip(names, (["a"], [1], [3]), strict=True))
        assert _marks(mark_exposed(log, shown)) == [True, False]
    with pytest.raises(InputError, match=r"no column 'sku'.*columns user, item and time"):
        mark_exposed(log, {"user": ["a"], "thing": [1], "time": [3]})


@pytest.mark.parametrize(
    ("shown", "within", "error", "message"),
    [
        (
            {"user": ["a"], "item": ["x"], "time": [1]},
            None,
            InputError,
            "are text, those of the log integers",
        ),
        ({"user": ["z"], "item": [1], "time": [1]}, None, EmptyError, "no exposure in"),
        ({"user": ["a"], "item": [1], "time": [date(2024, 1, 1)]}, None, TimeError, "give both in the same form"),
        ({"user": ["a"], "item": [1], "time": [1]}, -3, TimeError, "must be positive"),
        ({"user": ["a"], "item": [1], "time": [1]}, "soon", TimeError, "is not a step"),
    ],
)
def test_exposures_that_do_not_fit_the_log_are_refused(
    shown: Any, within: Any, error: type[UnskewError], message: str
) -> None:
    log = us.read_log({"user": ["a"], "item": [1], "time": [1]})
    with pytest.raises(error) as caught:
        mark_exposed(log, shown, within=within)
    assert message in str(caught.value)


def test_marks_and_exposures_together_are_refused() -> None:
    log = us.read_log({"user": ["a"], "item": [1], "time": [1], "shown": [True]}, exposed="shown")
    with pytest.raises(PolicyError, match="has exposure marks already"):
        mark_exposed(log, {"user": ["a"], "item": [1], "time": [1]})


def test_exposures_of_strangers_are_warned_of() -> None:
    log = us.read_log({"user": ["a"], "item": [1], "time": [1]})
    shown = {"user": ["a", "y", "z"], "item": [1, 1, 1], "time": [1, 1, 1]}
    with pytest.warns(UnskewWarning, match=r"2 exposures of 3 \(66"):
        mark_exposed(log, shown)


def test_exposures_can_come_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "shown.csv").write_text("user,item,time\na,1,0\n")
    log = us.read_log({"user": ["a"], "item": [1], "time": [1]})
    assert _marks(mark_exposed(log, tmp_path / "shown.csv")) == [True]


def _marks(log: us.Log) -> list[bool]:
    assert log.exposed is not None
    return list(log.exposed.tolist())


def _quietly(function: Any, *arguments: Any, **options: Any) -> Any:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnskewWarning)
        return function(*arguments, **options)
