"""The time axis: what a log's times are, what a date means on it, and how times are shown back."""

from __future__ import annotations

import datetime as dt
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import unskew as us
from tests.tables import held, late
from unskew.data.times import TimeAxis
from unskew.errors import EmptyError, ReadingNotice, TimeError, UnskewWarning
from unskew.examining import examine

PARIS = ZoneInfo("Europe/Paris")


def read(times: Any, **options: Any) -> us.Log:
    """A log of one user who takes item k at the k-th time."""
    return us.read_log({"user": ["u"] * len(times), "item": list(range(len(times))), "time": times}, **options)


def taken(log: us.Log, time: Any) -> set[int]:
    """The items taken by `time`."""
    return held(log, time).get("u", set())


@pytest.mark.parametrize("time", [330, "330", 330.0, 330.9, np.int32(330), np.float64(330)])
def test_integers_are_asked_for_as_numbers(time: Any) -> None:
    log = read([329, 330, 331])
    assert taken(log, time) == {0, 1}
    assert (log.first, log.last) == (329, 331)


def test_decimal_numbers_are_asked_for_as_numbers_and_shown_as_such() -> None:
    log = read([0.5, 1.5, 2.0])
    assert [taken(log, t) for t in (1, 1.5, "1.75")] == [{0}, {0, 1}, {0, 1}]
    assert (log.first, log.last, log.at(1).at) == (0.5, 2.0, 1.0)


@pytest.mark.parametrize(
    "time", ["2013-06-01", date(2013, 6, 1), datetime(2013, 6, 1, 12), np.datetime64("2013-06-01")]
)
def test_a_date_on_plain_numbers_is_an_error_that_offers_the_unit(time: Any) -> None:
    with pytest.raises(TimeError, match=r"plain numbers.*look like seconds since 1970, which time_unit='s' says"):
        read([1370044800]).at(time)


@pytest.mark.parametrize(
    "value", [None, True, [1], b"1", "", "soon", float("nan"), float("inf"), "nan", pd.NaT, 10**30]
)
@pytest.mark.parametrize("times", [[1, 2], [1.5, 2.5], [date(2013, 1, 1)], [datetime(2013, 1, 1)]])
def test_what_is_no_time_is_an_error_on_every_axis(value: Any, times: list[Any]) -> None:
    with pytest.raises(TimeError):
        read(times).at(value)


def test_a_number_on_a_log_of_dates_is_an_error() -> None:
    with pytest.raises(TimeError, match=r"are dates .*: give a date such as 2013-06-01"):
        read([date(2013, 1, 1)]).at(330)


def test_dates_are_shown_as_dates_and_a_date_includes_its_day() -> None:
    log = read([date(2013, 5, 31), date(2013, 6, 1), date(2013, 6, 2)])
    assert (
        taken(log, "2013-06-01") == taken(log, date(2013, 6, 1)) == taken(log, datetime(2013, 6, 1, 5)) == {0, 1}
    )
    assert (log.first, log.last, log.at("2013-06-01").at) == ("2013-05-31", "2013-06-02", "2013-06-01")


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_a_bare_date_is_the_end_of_that_day_and_a_datetime_that_very_moment(unit: str) -> None:
    times = [datetime(2013, 6, 1), datetime(2013, 6, 1, 23, 59, 59), datetime(2013, 6, 2)]
    log = read(pa.array(times, pa.timestamp(unit)))
    assert taken(log, "2013-06-01") == taken(log, date(2013, 6, 1)) == {0, 1}
    assert taken(log, "2013-06-01T00:00:00") == taken(log, datetime(2013, 6, 1)) == {0}
    assert taken(log, np.datetime64("2013-06-01T23:59:59")) == taken(log, pd.Timestamp(times[1])) == {0, 1}
    assert log.last == "2013-06-02T00:00:00"


@pytest.mark.parametrize(
    ("unit", "per_day"),
    [("day", 1), ("s", 86400), ("ms", 86400 * 10**3), ("us", 86400 * 10**6), ("ns", 86400 * 10**9)],
)
def test_a_time_unit_reads_integers_as_time_since_1970(unit: str, per_day: int) -> None:
    day = (date(2013, 6, 1) - date(1970, 1, 1)).days
    log = read([day * per_day, (day + 1) * per_day - 1, (day + 1) * per_day], time_unit=unit)
    assert taken(log, "2013-06-01") == {0, 1}
    assert taken(log, "2013-05-31") == set()
    assert taken(log, (day + 1) * per_day) == {0, 1, 2}


def test_a_time_unit_reads_decimal_seconds() -> None:
    log = read([1370044799.75, 1370044800.5], time_unit="s")
    assert log.last == "2013-06-01T00:00:00.500000+00:00"
    assert taken(log, "2013-05-31") == {0}


def test_a_time_unit_on_dates_is_an_error() -> None:
    with pytest.raises(TimeError, match="'time' holds date values: leave out time_unit"):
        read([date(2013, 1, 1)], time_unit="s")


@pytest.mark.parametrize("way", ["table", "parquet", "arrow"])
def test_the_zone_of_the_log_decides_where_a_day_ends(way: str, tmp_path: Path) -> None:
    last = datetime(2013, 6, 1, 23, 59, 59, tzinfo=PARIS)
    times = pa.array([last, last + timedelta(seconds=1)], pa.timestamp("us", "Europe/Paris"))
    table = pa.table({"user": ["u"] * 2, "item": [0, 1], "time": times})
    source: Any = table
    if way == "parquet":
        pq.write_table(table, source := tmp_path / "log.parquet")
    elif way == "arrow":
        source = tmp_path / "log.arrow"
        with pa.OSFile(str(source), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)
    log = us.read_log(source)
    assert taken(log, "2013-06-01") == {0}
    assert log.first == "2013-06-01T23:59:59+02:00"
    assert taken(log, datetime(2013, 6, 1, 22, tzinfo=UTC)) == taken(log, datetime(2013, 6, 2)) == {0, 1}


def test_the_zone_of_the_machine_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    import time

    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        log = read([datetime(2013, 6, 1, 23), datetime(2013, 6, 2, 1)])
        zoned = read(["2013-06-01T23:00:00Z", "2013-06-02T01:00:00Z"])
        assert taken(log, "2013-06-01") == taken(zoned, "2013-06-01") == {0}
        assert (log.first, zoned.first) == ("2013-06-01T23:00:00", "2013-06-01T23:00:00+00:00")
    finally:
        monkeypatch.undo()
        time.tzset()


@settings(max_examples=200, deadline=None, database=None)
@given(
    st.sampled_from(
        [
            "Europe/Paris",
            "America/Sao_Paulo",
            "America/Havana",
            "Asia/Beirut",
            "Pacific/Apia",
            "Australia/Lord_Howe",
        ]
    ),
    st.dates(date(2005, 1, 1), date(2025, 12, 31)),
    st.sampled_from(["s", "ms", "us", "ns"]),
)
def test_the_end_of_a_day_is_the_last_tick_whose_date_is_that_day_even_when_clocks_change(
    zone: str, day: date, unit: str
) -> None:
    axis = TimeAxis("datetime", unit, zone)
    end = axis.moment(day).tick
    per = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]

    def day_of(tick: float) -> date:
        return datetime.fromtimestamp(int(tick) // per, ZoneInfo(zone)).date()

    if day_of(end) == day:
        assert day_of(end + 1) > day
    else:  # Apia crossed the date line and had no 30 December 2011
        assert (zone, day) == ("Pacific/Apia", date(2011, 12, 30))


@settings(max_examples=200, deadline=None, database=None)
@given(
    st.datetimes(datetime(1700, 1, 1), datetime(2200, 1, 1)),
    st.sampled_from(["us", "ns"]),
    st.sampled_from([None, "UTC", "Asia/Kathmandu", "America/New_York", "+05:30", "-03:00"]),
)
def test_what_is_shown_can_be_asked_for_again(moment: datetime, unit: str, zone: str | None) -> None:
    axis = TimeAxis("datetime", unit, zone)
    tick = axis.moment(moment).tick
    assert axis.moment(axis.show(tick)).tick == tick


def test_nanoseconds_are_kept_shown_and_asked_for() -> None:
    start = np.datetime64("2013-06-01T10:00:00.123456788", "ns")
    log = read(np.array([start, start + 1, start + 2]))
    assert (log.first, log.last) == ("2013-06-01T10:00:00.123456788", "2013-06-01T10:00:00.123456790")
    for asked in (start + 1, pd.Timestamp(start + 1), "2013-06-01T10:00:00.123456789"):
        assert taken(log, asked) == {0, 1}
        assert log.at(asked).at == "2013-06-01T10:00:00.123456789"


def test_a_zone_asked_for_where_the_log_has_none_is_an_error() -> None:
    with pytest.raises(TimeError, match="has a zone, but the times of this log have none"):
        read([datetime(2013, 6, 1)]).at("2013-06-01T00:00:00Z")


@pytest.mark.parametrize(
    ("written", "first", "last"),
    [
        (["5", " 7"], 5, 7),
        (["-5", "+7"], -5, 7),
        (["1.5", "2"], 1.5, 2.0),
        (["1e3", ".5"], 0.5, 1000.0),
        (["2013-06-01", "2013-6-2"], "2013-06-01", "2013-06-02"),
        (["2013-06-01", "2013-06-01 10:30"], "2013-06-01T00:00:00", "2013-06-01T10:30:00"),
        (
            ["2013-06-01T10:00:00Z", "2013-06-01T13:00:00+02:00"],
            "2013-06-01T10:00:00+00:00",
            "2013-06-01T11:00:00+00:00",
        ),
        (
            ["2013-06-01T10:00:00+0530", "2013-06-02T10:00:00+0530"],
            "2013-06-01T10:00:00+05:30",
            "2013-06-02T10:00:00+05:30",
        ),
        (
            ["2013-06-01 10:00 UTC", " 2013-6-1 13:00 +02"],
            "2013-06-01T10:00:00+00:00",
            "2013-06-01T11:00:00+00:00",
        ),
        (["2013-06-01T10:00:00.123456789"] * 2, "2013-06-01T10:00:00.123456789", "2013-06-01T10:00:00.123456789"),
    ],
)
@pytest.mark.parametrize("way", ["csv", "jsonl", "pandas"])
def test_times_written_as_text_are_read_in_the_one_form_that_they_all_have(
    way: str, written: list[str], first: Any, last: Any, tmp_path: Path
) -> None:
    frame = pd.DataFrame({"user": ["u", "u"], "item": [0, 1], "time": written})
    path = tmp_path / f"log.{way}"
    if way == "csv":
        frame.to_csv(path, index=False)
    elif way == "jsonl":
        frame.to_json(path, orient="records", lines=True)
    log = us.read_log(frame if way == "pandas" else path)
    found = sorted([log.first, log.last], key=str) if isinstance(first, str) else [log.first, log.last]
    assert found == [first, last]
    assert type(log.first) is type(first)


CALENDARS = [TimeAxis("date", "day"), TimeAxis("datetime", "us"), TimeAxis("datetime", "ns", "Europe/Paris")]
WRITTEN = [
    "2013-06-01",
    "2013-6-1",
    "0001-1-01",
    " 2013-06-01\t",
    "2013-06-01 1:30",
    "2013-06-01T01:30:59",
    "2013-06-01 24:00",
    "2013-06-01 24:00:00.000",
    "2013-06-01T10:30:00.5",
    "2013-06-01T10:30:00.1234567",
    "2013-06-01T10:30:00.12345678912",
    "1500-06-01T10:30:00.1234567",
    " 2013-06-01 10:30 ",
    "2013-06-01T10:30Z",
    "2013-06-01T10:30:00 Z",
    "2013-06-01T10:30UTC",
    "2013-06-01 10:30:00 UTC",
    "2013-06-01T10:30+02:00",
    "2013-06-01T10:30+0200",
    "2013-06-01T10:30-02",
    "2013-06-01 24:00 -02",
    "2013-06-01 10:30:00.123456789 +02:00 ",
    "1880-01-01T00:00:00+00:09:21",
]
NO_DATES = [
    "20130631",
    "2013-W05-1",
    "2013W051",
    "2013-152",
    "13-06-01",
    "02013-06-01",
    "2013-06-001",
    "2013/06/01",
    "2013-02-30",
    "2013-13-01",
    "2013-06-00",
    "0000-06-01",
    "2013-06-01T",
    "2013-06-01T10",
    "2013-06-01T1030",
    "2013-06-01t10:30",
    "2013-06-01  10:30",
    "2013-06-01 24:01",
    "2013-06-01 24:00:00.0000001",
    "2013-06-01 25:00",
    "2013-06-01 10:60",
    "2013-06-01 10:30:60",
    "2013-06-01 10:30:00.",
    "2013-06-01 10:30:00,5",
    "2013-06-01Z",
    "2013-06-01 +02:00",
    "2013-06-01T10:30z",
    "2013-06-01T10:30GMT",
    "2013-06-01T10:30  Z",
    "2013-06-01T10:30+2",
    "2013-06-01T10:30+24:00",
    "2013-06-01T10:30+02:60",
    "2013-06-01T10:30 Europe/Paris",
    "9999-12-31 24:00",
    "9999-12-31T23:00-02:00",
    "0001-01-01T00:00+02:00",
    "\u0662\u0660\u0661\u0663-06-01",
    "\u00a02013-06-01",
    "today",
    "epoch",
    "",
]


def in_a_file(text: str) -> us.Log | None:
    """A log whose one time is this text, or None if it is refused or not read as a date."""
    try:
        log = read([text])
    except (TimeError, ReadingNotice):  # what only a file may have is not taken without being told
        return None
    return log if log.axis.is_calendar else None


@pytest.mark.parametrize("text", WRITTEN)
def test_a_file_and_a_person_write_dates_in_the_same_ways(text: str) -> None:
    log = in_a_file(text)
    assert log is not None
    assert log.axis.moment(text).tick == log.time[0]
    assert log.at(text).n_users == 1


def test_a_date_of_excel_is_named_in_the_advice() -> None:
    log = us.read_log({"user": [1, 2], "item": [1, 2], "time": ["2024-01-01", "2024-03-01"]})
    day = date(1899, 12, 30) + timedelta(days=45323)
    for number in ("45323", 45323):
        with pytest.raises(TimeError, match=f"if it is a date of Excel, write {day}"):
            log.at(number)


@pytest.mark.parametrize("text", NO_DATES)
def test_what_is_no_date_is_refused_in_a_file_and_from_a_person(text: str) -> None:
    assert in_a_file(text) is None
    for axis in CALENDARS:
        with pytest.raises(TimeError, match="is not a date: write dates as 2013-06-01"):
            axis.moment(text)


# the pieces of a date, first as they should be and then as they might be instead
PIECES = [
    ([""], [" ", "\n", "\u00a0"]),
    (["2013", "2012", "1969", "1500", "2300", "0001", "9999"], ["0000", "13"]),
    (["-"], ["", "/", "-W"]),
    (["1", "02", "06", "12"], ["13", "00"]),
    (["-"], ["", "/"]),
    (["1", "01", "28", "29", "30"], ["31", "32", "0"]),
    (["T", " "], ["", "t", "  "]),
    (["0:00", "10:30:01", "23:59:59", "24:00", "24:00:00"], ["", "1:5", "24:01", "7:60", "10"]),
    (["", ".5", ".0", ".123456", ".1234567", ".123456789"], [".", ".0000001", ".9999999999"]),
    (["", " "], ["  ", "\t"]),
    (["", "Z", "UTC", "+02:00", "-0330", "+14"], ["z", "-23:59", "+24:00", "+02:60", "+00:09:21", "+2"]),
    ([""], [" ", "\t"]),
]


@st.composite
def nearly_dates(draw: st.DrawFn) -> str:
    """A date, or what is one but for a piece or two."""
    wrong = draw(st.sets(st.integers(0, len(PIECES) - 1), max_size=2))
    return "".join(draw(st.sampled_from(odd if k in wrong else sound)) for k, (sound, odd) in enumerate(PIECES))


@settings(max_examples=100, deadline=None, database=None)
@given(st.one_of(nearly_dates(), nearly_dates(), st.text("0123-:T Z+.UCW\u0663", max_size=12)))
def test_any_text_is_the_same_date_in_a_file_and_from_a_person_or_a_date_in_neither(text: str) -> None:
    log = in_a_file(text)
    if log is not None:
        assert log.axis.moment(text).tick == log.time[0]
        return
    for axis in CALENDARS:
        with pytest.raises(TimeError):
            axis.moment(text)


def test_a_column_may_mix_ways_to_write_dates() -> None:
    days = read(["2013-06-01", " 2013-6-2 "])
    assert (days.first, days.last) == ("2013-06-01", "2013-06-02")
    zoned = read(["2013-06-01T10:00Z", "2013-06-01 10:30 UTC", "2013-06-01 13:00 +02"])
    assert (zoned.first, zoned.last) == ("2013-06-01T10:00:00+00:00", "2013-06-01T11:00:00+00:00")


@pytest.mark.parametrize("axis", [TimeAxis("integer"), TimeAxis("epoch", "s", "UTC"), TimeAxis("float")])
def test_eight_digits_are_a_number_where_times_are_numbers(axis: TimeAxis) -> None:
    assert axis.moment("20130601").tick == 20130601


@pytest.mark.parametrize("times", [[1370000000, 1370086400], [15000, 16000], [0.5, 330.0]])
def test_eight_digits_outside_the_log_are_taken_for_a_date_and_refused(times: list[Any]) -> None:
    log = us.read_log({"user": [1, 2], "item": [1, 2], "time": times})
    told = "20130601.* is a number outside the log, .*: if it is a date, write 2013-06-01 and say with time_unit"
    for eight in (20130601, "20130601"):
        with pytest.raises(TimeError, match=told):
            log.at(eight)
    with pytest.raises(TimeError, match=told):
        us.timeline(log, "popular", reference=times[0], end=20130601)
    epoch = us.read_log({"user": [1, 2], "item": [1, 2], "time": [1370000000, 1370086400]}, time_unit="s")
    with pytest.raises(TimeError, match=r"if it is a date, write 2013-06-01$"):
        epoch.at(20130601)


def test_eight_digits_that_are_no_date_are_a_number() -> None:
    seconds = us.read_log({"user": [1, 2], "item": [1, 2], "time": [1370000000, 1370086400]})
    with pytest.raises(EmptyError, match="nothing had happened yet at 20131301"):
        seconds.at(20131301)


@pytest.mark.parametrize(
    "times",
    [
        [20130601, 20130701],
        ["20130601", " 20130701"],
        [20130601.0, 20130701.0],
        pa.array([20130601, 20130701], type=pa.int32()),
        pa.array([20130601, 20130701], type=pa.uint64()),
    ],
)
def test_a_column_of_eight_digits_that_are_all_dates_is_read_as_dates(times: Any) -> None:
    with pytest.warns(ReadingNotice, match="'time' holds times such as 20130601, read as dates: 2013-06-01"):
        log = us.read_log({"user": [1, 2], "item": [1, 2], "time": times})
    assert (log.axis, log.first, log.last) == (TimeAxis("date", "day"), "2013-06-01", "2013-07-01")
    assert len(log.at("2013-06-30")) == 1


@pytest.mark.parametrize(
    "times",
    [[20130601, 20130631], [20130601, 20131301], [20130601, 18991231], [20130601, 5], [20130601.5, 20130701.0]],
)
def test_eight_digits_are_numbers_if_one_of_them_is_no_date(times: list[float]) -> None:
    log = us.read_log({"user": [1, 2], "item": [1, 2], "time": times})
    assert log.axis.kind in ("integer", "float")


def test_a_unit_decides_what_eight_digits_are() -> None:
    log = us.read_log({"user": [1, 2], "item": [1, 2], "time": [20130601, 20130701]}, time_unit="s")
    assert str(log.first).startswith("1970-08-21")


def test_eight_digits_may_say_that_an_item_never_leaves() -> None:
    times = {"time": [20130601, 20130701], "left": [20130615, 99991231]}
    with pytest.warns(ReadingNotice):
        log = us.read_log({"user": [1, 2], "item": [1, 2], **times}, removed="left")
    assert log.at("2013-07-01").n_users == 1


@pytest.mark.parametrize("eight", ["20130601", 20130601, 20130601.0, np.int64(20130601)])
def test_eight_digits_are_a_date_where_the_log_has_dates(eight: Any) -> None:
    for axis in (TimeAxis("date", "day"), TimeAxis("datetime", "us"), TimeAxis("datetime", "s", "Europe/Paris")):
        assert axis.moment(eight) == axis.moment("2013-06-01")
        assert axis.begin(eight) == axis.begin("2013-06-01")


@pytest.mark.parametrize("times", [[40737, 41000], [40737.5, 41000.25]])
def test_dates_of_excel_are_named_and_not_read(times: list[float]) -> None:
    columns = {"user": [1, 2], "item": [1, 2], "time": times}
    advice = "if they are dates of Excel, 2011-07-13 to 2012-04-01, format the column as yyyy-mm-dd there"
    log = us.read_log(columns)
    with pytest.raises(TimeError, match=advice):
        log.at("2011-08-01")
    assert log.at(40800).n_users == 1
    with pytest.raises(TimeError, match=f"2081-07-14.* to .*: {advice}"):
        us.read_log(columns, time_unit="day").at("2011-08-01")
    assert any(advice in note for note in examine(columns).notes)
    assert not any("Excel" in note for note in examine({**columns, "time": [0, 400]}).notes)


def test_a_day_of_times_with_one_offset_ends_in_that_offset() -> None:
    log = read(["2013-06-01T23:30:00-03:00", "2013-06-02T00:30:00-03:00"])
    assert taken(log, "2013-06-01") == {0}


def test_the_far_ends_of_the_calendar_can_be_asked_for() -> None:
    log = read(pa.array([datetime(2013, 6, 1)], pa.timestamp("ns")))
    with pytest.warns(UnskewWarning, match="9999-12-31 is after the log ends"):
        assert log.at("9999-12-31").n_users == 1
    with pytest.raises(EmptyError, match="nothing had happened yet at 0001-01-01"):
        log.at("0001-01-01")
    micro = read(pa.array([datetime(9999, 12, 31, 23, 59, 59)], pa.timestamp("us")))
    assert taken(micro, "9999-12-31") == {0}


def test_a_time_after_the_end_warns_with_the_range_and_points_at_the_caller() -> None:
    with pytest.warns(UnskewWarning, match="9 is after the log ends: it runs from 3 to 5") as said:
        assert read([3, 5]).at(9).at == 9
    assert said[0].filename == __file__


def test_the_last_day_of_a_log_with_clock_times_does_not_warn() -> None:
    assert read([datetime(2013, 6, 1, 8)]).at("2013-06-01").n_users == 1


def test_a_time_before_the_beginning_is_an_error_with_the_range() -> None:
    with pytest.raises(EmptyError, match="nothing had happened yet at 2: the log runs from 3 to 5"):
        read([3, 5]).at(2)


def test_removals_in_another_resolution_are_compared_to_the_tick() -> None:
    came, left = datetime(2013, 6, 1, 10), np.datetime64("2013-06-01T11:00:00.000000001", "ns")
    table = {"user": ["u"], "item": [0], "time": pa.array([came], pa.timestamp("us")), "gone": np.array([left])}
    log = us.read_log(table, removed="gone")
    assert held(log, datetime(2013, 6, 1, 11)) == {"u": {0}}
    assert held(log, datetime(2013, 6, 1, 11, 0, 0, 1)) == {}


def test_removal_dates_work_with_a_bare_date() -> None:
    table = {"user": ["u", "v"], "item": [0, 0], "time": [date(2013, 1, 1)] * 2, "gone": [date(2013, 6, 1), None]}
    log = us.read_log(table, removed="gone")
    assert set(late(log, "2013-05-31").marginal().to_dict()) == {0}
    assert [set(held(log, f"2013-0{k}")) for k in ("5-31", "6-01")] == [{"u", "v"}, {"v"}]


@pytest.mark.parametrize(
    ("value", "ticks"), [(dt.timedelta(hours=12), 43200.0), (2, 172800.0), (np.timedelta64(1, "D"), 86400.0)]
)
def test_a_length_of_time_is_in_days_on_a_calendar(value: Any, ticks: float) -> None:
    assert TimeAxis("epoch", "s", "UTC").duration(value) == ticks


@pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf"), "7", None, True, 10**400])
def test_what_is_no_length_of_time_is_an_error(value: Any) -> None:
    with pytest.raises(TimeError):
        TimeAxis("integer").duration(value)


def test_a_timedelta_on_plain_numbers_is_an_error() -> None:
    with pytest.raises(TimeError, match=r"plain numbers"):
        TimeAxis("integer").duration(timedelta(days=1))


def _csv_with_times(path: Path, *runs: tuple[str, int]) -> Path:
    """A CSV file whose times are so many of one form, then so many of the next."""
    times = [time for time, n in runs for _ in range(n)]
    path.write_text("user,item,time\n" + "".join(f"u{k},i{k},{time}\n" for k, time in enumerate(times)))
    return path


@pytest.mark.parametrize(
    ("runs", "kind", "last"),
    [
        ((("2020-01-01", 1500), ("2020-01-02 10:00", 1)), "datetime", "2020-01-02T10:00:00"),
        ((("7", 1500), ("7.5", 1)), "float", 7.5),
        ((("", 1500), ("2020-01-01T00:00Z", 2)), "datetime", "2020-01-01T00:00:00+00:00"),
        ((("2020-01-01 10:00:00", 1500), ("2020-01-02 10:00:00.000000001", 1)), "datetime", None),
    ],
    ids=["dates then moments", "whole numbers then others", "none then moments", "seconds then nanoseconds"],
)
def test_times_are_read_by_all_values_whatever_the_first_thousand_are(
    runs: tuple[tuple[str, int], ...], kind: str, last: Any, tmp_path: Path
) -> None:
    log = us.read_log(_csv_with_times(tmp_path / "log.csv", *runs), drop_nulls=True)
    assert log.axis.kind == kind
    if last is None:
        assert log.axis.unit == "ns"
    else:
        assert log.last == last


@pytest.mark.parametrize(
    ("runs", "message"),
    [
        ((("2020-01-01 10:00", 1500), ("2020-01-01 10:00+01:00", 1)), "mixes times with and without a zone"),
        ((("2020-01-01 10:00+01:00", 1500), ("2020-01-01 10:00", 1)), "mixes times with and without a zone"),
        ((("17", 1500), ("2020-01-01", 1)), "mixes numbers and dates"),
        ((("2020-01-01", 1500), ("soon", 1)), "holds 'soon' in .*row 1501"),
    ],
)
def test_one_time_of_another_form_far_down_is_refused(
    runs: tuple[tuple[str, int], ...], message: str, tmp_path: Path
) -> None:
    with pytest.raises(us.UnskewError, match=message):
        us.read_log(_csv_with_times(tmp_path / "log.csv", *runs))
