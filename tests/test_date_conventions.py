"""Which interactions a date or a window holds: the end of the log by default, days whole, windows [start, end)."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import unskew as us
from tests.test_cli import answer, refused, run, table
from unskew.cli import main
from unskew.data.times import read_windows
from unskew.errors import TimeError
from unskew.reading import mark_exposed

FIRST = 874_800_000  # seconds since 1970: 1997-09-21, as in MovieLens


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Days 0 to 99 as plain numbers."""
    path = tmp_path_factory.mktemp("numbers") / "log.parquet"
    pq.write_table(table(), path)
    return str(path)


@pytest.fixture(scope="module")
def seconds(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The same as seconds since 1970, from 1997-09-21 to 1997-12-29."""
    path, rows = tmp_path_factory.mktemp("seconds") / "log.parquet", table()
    time = [FIRST + 86_400 * day for day in rows.column("time").to_pylist()]
    pq.write_table(rows.set_column(2, "time", pa.array(time)), path)
    return str(path)


# ---- the end of the log is the default


AT = {
    "evaluate": ("-r", "popular"),
    "report": ("--reference", "49", "-r", "popular", "-o", "OUT.html"),
    "check": ("--reference", "49", "--max-drift", "1"),
    "drift": ("--reference", "49"),
    "weights": ("--reference", "49"),
    "marginal": ("-o", "OUT.parquet"),
    "sample": ("-o", "OUT.parquet"),
}


def test_every_command_with_a_date_is_here() -> None:
    have = {name for name, command in main.commands.items() if any("--at" in p.opts for p in command.params)}
    assert have == set(AT)


@pytest.mark.parametrize("command", AT)
def test_at_is_the_end_of_the_log_unless_it_is_given(command: str, log: str, tmp_path: Path) -> None:
    arguments = [part.replace("OUT", str(tmp_path / "out")) for part in AT[command]]
    left_out = answer(command, log, *arguments)
    assert left_out["at"] == 99
    assert "end of the log" in " ".join(run(command, "--help").output.split())


def test_the_end_of_a_calendar_log_is_its_last_day(seconds: str) -> None:
    assert answer("drift", seconds, "--reference", "1997-10-31")["at"] == "1997-12-29"
    assert answer("drift", seconds, "--reference=-30d")["reference"] == "1997-11-29"


def test_the_end_is_that_of_the_log_and_not_of_a_view(log: str) -> None:
    """The view without a campaign that is still on ends before it."""
    arguments = ("drift", log, "--reference", "49", "--campaign", "70:", "--view", "outside")
    assert answer(*arguments)["at"] == 99


def test_python_takes_the_end_of_the_log_by_default() -> None:
    log = us.read_log(table())
    assert us.report(log, "constant:1,2", reference=49).at == 99
    assert us.check(log, reference=49, thresholds={"max_drift": 1.0}).at == 99
    assert us.timeline(log, "constant:1,2", reference=49, every=50).dates[-1] == 99


# ---- dates outside the log


TWO_DATES = ("evaluate", "check", "drift", "weights", "report", "timeline")
MORE: dict[str, tuple[str, ...]] = {
    "evaluate": ("-r", "popular"),
    "check": ("--max-drift", "1"),
    "report": ("-r", "popular", "-o", "/dev/null/report.html"),
    "timeline": ("-r", "popular"),
}


@pytest.mark.parametrize("command", TWO_DATES)
def test_both_dates_after_the_end_of_the_log_are_refused(
    command: str, seconds: str, log: str, tmp_path: Path
) -> None:
    more = [part.replace("/dev/null", str(tmp_path)) for part in MORE.get(command, ())]
    flag = "--to" if command == "timeline" else "--at"
    message = refused(command, seconds, "--reference", "2024-03-01", flag, "2024-09-01", *more)
    assert "2024-03-01 and 2024-09-01 are both after the end of the log" in message
    assert "which runs from 1997-09-21T" in message
    assert "to 1997-12-29T" in message
    assert "--time-unit" in message
    message = refused(command, log, "--reference", "200", flag, "300", *more)
    assert "200 and 300 are both after the end of the log, which runs from 0 to 99" in message


def test_two_equal_dates_after_the_end_are_refused_too(log: str) -> None:
    assert "200 is after the end of the log" in refused("drift", log, "--reference", "200", "--at", "200")


def test_python_refuses_two_dates_after_the_end_of_the_log() -> None:
    log = us.read_log(table())
    with pytest.raises(TimeError, match="200 and 300 are both after the end of the log, which runs from 0 to 99"):
        us.report(log, "constant:1,2", reference=200, at=300)
    with pytest.raises(TimeError, match="both after the end"):
        us.check(log, reference=200, at=300, thresholds={"max_drift": 1.0})


def test_a_log_of_dates_is_not_asked_for_its_unit(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("user,item,time\na,x,2024-01-01\na,y,2024-02-01\nb,x,2024-02-01\n")
    message = refused("drift", str(path), "--reference", "2025-01-01", "--at", "2026-01-01")
    assert "which runs from 2024-01-01 to 2024-02-01: check the dates" in message
    assert "unit" not in message


def test_one_date_after_the_end_is_a_warning(log: str) -> None:
    done = run("drift", log, "--reference", "49", "--at", "300")
    assert done.exit_code == 0
    assert done.stderr.splitlines()[-1] == "warning: 300 is after the log ends: it runs from 0 to 99"
    figures = [answer("drift", log, "--reference", "49", "--at", at) for at in ("300", "99")]
    assert [found["bound"] for found in figures] == [figures[0]["bound"]] * 2


def test_a_reference_before_the_first_interaction_is_refused_as_ever(log: str) -> None:
    message = refused("drift", log, "--reference", "-5", "--at", "99")
    assert "nothing had happened yet at -5: the log runs from 0 to 99" in message


@pytest.mark.parametrize(
    ("reference", "at", "message"),
    [
        ("99", "49", "the reference 99 is after 49: swap them unless that is meant"),
        ("49", "49", "the reference and the date are both 49: there is nothing to compare"),
        ("99", "300", "the log has nothing between 99 and 300: there is nothing to compare"),
    ],
)
@pytest.mark.parametrize("command", ["evaluate", "check", "drift", "weights"])
def test_dates_in_the_wrong_order_are_worth_one_line(
    command: str, reference: str, at: str, message: str, log: str
) -> None:
    done = run(command, log, "--reference", reference, "--at", at, *MORE.get(command, ()))
    assert done.exit_code == 0, done.output
    assert done.stderr.splitlines().count(f"warning: {message}") == 1


def test_python_warns_of_dates_in_the_wrong_order() -> None:
    log = us.read_log(table())
    with pytest.warns(us.UnskewWarning, match="the reference 99 is after 49"):
        us.report(log, "constant:1,2", reference=99, at=49)


# ---- which interactions a date holds


DAYS = {
    "2024-05-31T23:59:59.999999": "before",
    "2024-06-01T00:00:00": "first",
    "2024-06-01T23:59:59.999999": "late",
    "2024-06-02T00:00:00": "next",
}


def moments(zone: str = "") -> us.Log:
    """One user, and an item at each edge of 1 June."""
    return us.read_log({"user": ["u"] * 4, "item": list(DAYS.values()), "time": [f"{day}{zone}" for day in DAYS]})


@pytest.mark.parametrize("zone", ["", "Z", "+05:30"])
def test_a_bare_date_holds_its_day_and_not_the_next_midnight(zone: str) -> None:
    log = moments(zone)
    assert log.at("2024-05-31").profile("u") == ["before"]
    assert log.at("2024-06-01").profile("u") == ["before", "first", "late"]
    assert log.at("2024-06-02").profile("u") == ["before", "first", "late", "next"]
    assert log.at("2024-06-01T00:00:00").profile("u") == ["before", "first"]  # a moment is included


@pytest.mark.parametrize("zone", ["", "Z", "+05:30"])
def test_a_campaign_holds_midnight_of_its_first_day_and_not_of_its_last(zone: str) -> None:
    log = moments(zone)
    (window,) = read_windows(log, "2024-06-01:2024-06-02")
    kept = us.views.outside(log, "2024-06-01:2024-06-02")
    assert kept.at("2024-06-02").profile("u") == ["before", "next"]
    assert window.contains(log.time).tolist() == [False, True, True, False]
    assert us.views.outside(log, "2024-05-31:2024-06-01").at("last").profile("u") == ["first", "late", "next"]
    assert us.views.outside(log, "2024-06-02:").at("last").profile("u") == ["before", "first", "late"]


def test_days_are_those_of_the_zone_of_the_log() -> None:
    time = pa.array(
        ["2024-03-31T21:59:59", "2024-03-31T22:00:00"], type=pa.string()
    )  # midnight of 1 April in Berlin, where 31 March had 23 hours
    moments = time.cast(pa.timestamp("us")).cast(pa.timestamp("us", tz="Europe/Berlin"))
    log = us.read_log(pa.table({"user": ["u", "u"], "item": ["old", "new"], "time": moments}))
    assert log.at("2024-03-31").profile("u") == ["old"]
    assert us.views.outside(log, "2024-04-01:").at("last").profile("u") == ["old"]
    assert us.views.outside(log, "2024-03-31:2024-04-01").at("last").profile("u") == ["new"]


def test_after_a_bare_date_begins_the_next_day() -> None:
    log = moments()
    assert log.between("2024-05-31", "2024-06-01").counts().sum() == 2
    assert log.between("2024-06-01", "2024-06-02").counts().sum() == 1


@pytest.mark.parametrize(
    ("within", "exposed"), [(None, "shown soon day later"), ("1d", "shown soon"), ("2d", "shown soon day")]
)
def test_an_exposure_counts_up_to_but_not_including_the_end(within: Any, exposed: str) -> None:
    """The window of an exposure is [shown, shown + within)."""
    times = {
        "shown": "2024-06-01T10:00:00",
        "soon": "2024-06-02T09:59:59",
        "day": "2024-06-02T10:00:00",
        "later": "2024-06-03T10:00:00",
        "never": "2024-06-01T09:59:59",
    }
    log = us.read_log({"user": ["u"] * 5, "item": list(times), "time": list(times.values())})
    shown = {"user": ["u"] * 5, "item": list(times), "time": ["2024-06-01T10:00:00"] * 5}
    marked = mark_exposed(log, shown, within=within)
    assert marked.exposed is not None
    items = [log.items[code] for code in log.item[marked.exposed]]
    assert items == exposed.split()


def test_within_counts_whole_days_where_the_log_has_days() -> None:
    log = us.read_log({"user": ["u"] * 3, "item": [1, 2, 3], "time": ["2024-06-01", "2024-06-02", "2024-06-03"]})
    shown = {"user": ["u"] * 3, "item": [1, 2, 3], "time": ["2024-06-01"] * 3}
    for days in (1, 2, 3):
        marked = mark_exposed(log, shown, within=f"{days}d")
        assert marked.exposed is not None
        assert marked.exposed.sum() == days


def test_help_states_the_convention() -> None:
    said = re.sub(r"\s+", " ", run("evaluate", "--help").output)
    assert "a bare date is the end of that day" in said
    assert "[START, END)" in said
