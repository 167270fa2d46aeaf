"""Times given with a log in mind: its end, so long before it, a month; and numbers that count since 1970."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

import unskew as us
from unskew.cli import main
from unskew.data.date_grammar import parse_month
from unskew.data.time_steps import find_epoch_unit
from unskew.errors import TimeError

DAYS = [date(2013, 5, 30) + timedelta(days=k) for k in range(40)]
TABLE = {"user": [k % 7 for k in range(40)], "item": list(range(40)), "time": [str(day) for day in DAYS]}
SECONDS = [int(datetime(day.year, day.month, day.day, 12, tzinfo=UTC).timestamp()) for day in DAYS]


def taken_by(day: date) -> int:
    return sum(one <= day for one in DAYS)


@pytest.mark.parametrize(
    ("given", "day"),
    [
        ("last", DAYS[-1]),
        ("LAST", DAYS[-1]),
        ("-1d", DAYS[-2]),
        ("-2w", DAYS[-15]),
        ("-1mo", date(2013, 6, 8)),
        ("2013-06", date(2013, 6, 30)),
        ("2013-5", date(2013, 5, 31)),
    ],
)
def test_a_time_may_be_relative_to_the_end_or_a_month(given: str, day: date) -> None:
    for log in (us.read_log(TABLE), us.read_log({**TABLE, "time": SECONDS}, time_unit="s")):
        snapshot = log.at(given)
        assert snapshot.at == str(day)
        assert len(snapshot) == taken_by(day)


def test_a_log_of_plain_numbers_has_an_end_and_no_days() -> None:
    log = us.read_log({"user": [1, 2, 3], "item": [1, 2, 3], "time": [-20, -9, 20]})
    assert (log.at("last").at, log.at("-9").at, len(log.at("-9"))) == (20, -9, 2)
    with pytest.raises(TimeError, match=r"plain numbers .the log runs from -20 to 20"):
        log.at("-9d")


def test_a_month_begins_with_its_first_day_where_something_begins() -> None:
    log = us.read_log(TABLE)
    left = us.views.outside(log, "2013-06:2013-07")
    assert len(left) == sum(day.month != 6 for day in DAYS)
    assert len(us.views.outside(log, "-5d:")) == taken_by(
        DAYS[-7]
    )  # a window begins with the first moment of its day


def test_a_grid_and_a_time_split_take_such_times() -> None:
    line = us.timeline(us.read_log(TABLE), "popular", reference="2013-06", start="2013-06", end="last", every="3d")
    assert [str(one)[:10] for one in line.dates] == ["2013-06-30", "2013-07-03", "2013-07-06", "2013-07-08"]


@pytest.mark.parametrize("given", ["2013-13", "-5x", "tomorrow", "2013-06-31", "-"])
def test_an_error_about_a_date_names_the_span_of_the_log(given: str) -> None:
    with pytest.raises(TimeError, match="2013-05-30 to 2013-07-08"):
        us.read_log(TABLE).at(given)


@given(st.dates(date(1, 1, 1), date(9999, 12, 31)))
def test_a_month_is_that_of_the_calendar(day: date) -> None:
    found = parse_month(f"{day.year:04d}-{day.month}")
    assert found is not None
    first, last = found
    assert first <= day <= last
    assert first.day == 1
    assert last == date.max or (last + timedelta(days=1)).day == 1


@given(st.datetimes(datetime(1990, 1, 2), datetime(2099, 12, 30)), st.sampled_from([1, 10**3, 10**6, 10**9]))
def test_what_numbers_count_is_told_by_their_size(moment: datetime, per: int) -> None:
    count = int(moment.replace(tzinfo=UTC).timestamp()) * per
    assert find_epoch_unit(count, count) == {1: "s", 10**3: "ms", 10**6: "us", 10**9: "ns"}[per]
    assert find_epoch_unit(1, count) is None


def write(path: Path, factor: float = 1) -> Path:
    times = [second * factor if factor % 1 else int(second * factor) for second in SECONDS]
    path.write_text("user,item,time\n" + "".join(f"{k % 7},{k},{time}\n" for k, time in enumerate(times)))
    return path


def run(*arguments: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(main, [str(one) for one in arguments])
    return result.exit_code, result.stdout, result.stderr


@pytest.mark.parametrize(("factor", "words"), [(1, "seconds"), (10**3, "milliseconds"), (10**9, "nanoseconds")])
def test_numbers_are_read_as_dates_where_a_date_is_given(factor: int, words: str, tmp_path: Path) -> None:
    path = write(tmp_path / "log.csv", factor)
    code, out, err = run("drift", path, "--reference", "2013-06-10", "--at", "last", "--json")
    assert code == 0
    assert f"times read as {words} since 1970, 2013-05-30 to 2013-07-08" in err
    assert '"at": "2013-07-08"' in out
    code, out, err = run("drift", path, "--reference", SECONDS[5] * factor, "--at", SECONDS[9] * factor, "--json")
    assert code == 0
    assert "since 1970" not in err


def test_decimal_numbers_are_read_so_as_well() -> None:
    log = us.read_log({**TABLE, "time": [second + 0.5 for second in SECONDS]})
    again = us.read_log({**TABLE, "time": [second + 0.5 for second in SECONDS]}, time_unit="s")
    assert log.count_since_1970("s").time.tolist() == again.time.tolist()
    assert log.count_since_1970("s").axis == again.axis


def test_python_is_told_the_unit() -> None:
    with pytest.raises(TimeError, match="look like seconds since 1970, which time_unit='s' says"):
        us.read_log({**TABLE, "time": SECONDS}).at("2013-06-10")


@pytest.mark.parametrize("unit", ["ms", "us", "ns", "day"])
def test_a_wrong_unit_is_refused_and_the_right_one_named(unit: str, tmp_path: Path) -> None:
    path = write(tmp_path / "log.csv")
    code, _, err = run("drift", path, "--time-unit", unit, "--reference", "2013-06-10", "--at", "2013-07-01")
    assert code == 2
    assert "--time-unit s" in err


def test_a_date_after_the_log_is_no_fault_of_the_unit(tmp_path: Path) -> None:
    path = write(tmp_path / "log.csv")
    code, _, err = run("drift", path, "--time-unit", "s", "--reference", "2013-06-10", "--at", "2014-07-01")
    assert code == 0
    assert "2014-07-01 is after the log ends" in err


@pytest.mark.parametrize("name", ["x.txt", "x.csv.gz", "x.json", "x.xlsx"])
def test_an_output_whose_name_says_something_else_is_refused_before_the_work(name: str, tmp_path: Path) -> None:
    path = write(tmp_path / "log.csv")
    dates = ("--reference", "2013-06-10", "--at", "2013-07-01")
    for command in (("weights", *dates), ("marginal", "--at", "last"), ("timeline", *dates[:2], "-r", "popular")):
        code, _, err = run(command[0], path, *command[1:], "-o", tmp_path / name)
        assert code == 2
        assert "end it in .parquet, or in .csv for CSV" in err
        assert "since 1970" not in err  # the log was not read yet
    with pytest.raises(us.FileError, match="cannot tell from the name"):
        us.read_log(TABLE).at("last").marginal().save(tmp_path / name)


def test_weights_as_csv_are_written_and_refused_as_input(tmp_path: Path) -> None:
    path, output = write(tmp_path / "log.csv"), tmp_path / "weights.csv"
    assert run("weights", path, "--reference", "2013-06-10", "--at", "last", "-o", output)[0] == 0
    assert output.read_text().startswith('"item","weight"')
    code, _, err = run("evaluate", path, "--at", "last", "--weights", output, "-r", "popular")
    assert code == 2
    assert (
        "weights.csv is CSV, which has no room for how a table was made: write a Parquet file, and use that" in err
    )
