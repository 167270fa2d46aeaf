"""Bursts in a log: the counts behind them, what is a burst and what is none, and what the command line shows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import unskew as us
from tests.dense import columns, random_events
from tests.tables import LAW
from tests.test_cli import answer, refused, run
from unskew.errors import EmptyError, InputError
from unskew.weights import find_bursts
from unskew.weights.bursts import BurstCells

USERS, ITEMS, DAYS = 300, 60, 100


def steady(seed: int, extra: Any = None, *, days: int = DAYS) -> dict[str, list[Any]]:
    """Everyone takes an item every twenty days, any of them; `extra(day, rng)` says what is taken besides."""
    rng = np.random.default_rng(seed)
    rows = [(u, int(rng.integers(ITEMS)), 0) for u in range(USERS)]
    for day in range(1, days):
        takers = rng.choice(USERS, USERS // 20, replace=False)
        rows += [(int(u), int(rng.integers(ITEMS)), day) for u in takers]
        rows += [] if extra is None else extra(day, rng)
    return {name: [row[k] for row in rows] for k, name in enumerate(("user", "item", "time"))}


def campaign(first: int, last: int, items: int = 3, share: float = 0.15) -> Any:
    """From one day up to another a share of the users take one of a few items that nobody else takes much."""

    def extra(day: int, rng: np.random.Generator) -> list[tuple[int, int, int]]:
        if not first <= day < last:
            return []
        users = rng.choice(USERS, int(share * USERS), replace=False)
        return [(int(u), ITEMS + int(rng.integers(items)), day) for u in users]

    return extra


def log_of(table: dict[str, list[Any]]) -> us.Log:
    return us.read_log(table, repeats=True)


@given(st.integers(0, 2**32 - 1))
@LAW
def test_counts_are_those_of_users_who_had_a_profile_when_the_cell_began(seed: int) -> None:
    events = [(u, i, 3 * t) for u, i, t in random_events(np.random.default_rng(seed), users=15)]
    log = us.read_log(columns(events))
    cells = BurstCells.of(log)
    taken: dict[tuple[Any, Any], int] = {}
    for user, item, time in events:
        taken[user, item] = min(time, taken.get((user, item), time))
    joined = {user: min(t for (u, _), t in taken.items() if u == user) for user, _ in taken}
    both = cells.counts[0] + cells.counts[1]
    for k, (begin, end) in enumerate(zip(cells.edges[:-1], cells.edges[1:], strict=True)):
        expected: dict[Any, int] = {}
        for (user, item), time in taken.items():
            if begin <= time < end and joined[user] < begin:
                expected[item] = expected.get(item, 0) + 1
        row = both[k].tocoo()
        assert {log.items[int(i)]: int(n) for i, n in zip(row.col, row.data, strict=True)} == expected
        assert cells.known[k] == sum(time < begin for time in joined.values())
    assert cells.edges[0] == min(taken.values())
    assert cells.edges[-1] > max(taken.values())


def test_cells_are_whole_days_of_the_zone_of_the_log() -> None:
    times = [f"2024-{1 + k // 28:02d}-{1 + k % 28:02d}T12:00:00+02:00" for k in range(150)]
    log = us.read_log({"user": [1] * 150, "item": list(range(150)), "time": times})
    labels = find_bursts(log).cells.column("start").to_pylist()
    assert labels[0] == "2024-01-01"
    assert all(len(str(label)) == 10 for label in labels)


@pytest.mark.parametrize("kind", [int, float])
def test_a_campaign_is_found_with_its_dates_its_items_and_its_size(kind: type) -> None:
    table = steady(0, campaign(60, 66))
    log = log_of(table | {"time": [kind(time) for time in table["time"]]})
    found = find_bursts(log)
    assert len(found) == 1
    burst = found.bursts[0]
    assert burst.window.start == pytest.approx(60, abs=2)
    assert burst.window.end == pytest.approx(66, abs=2)
    assert set(burst.items[:3]) == {60, 61, 62}
    pushed = sum(item >= ITEMS for item in log.items.take(log.item[burst.window.contains(log.time)]).to_pylist())
    assert burst.excess == pytest.approx(pushed / int(burst.window.contains(log.time).sum()), abs=0.08)
    assert found.since is not None


def test_one_that_goes_on_has_no_end() -> None:
    found = find_bursts(log_of(steady(1, campaign(70, DAYS, items=20))))
    assert [str(window) for window in found.windows] == ["70:"]


@pytest.mark.parametrize("seed", range(3))
def test_more_of_the_same_is_no_burst(seed: int) -> None:
    def busier(day: int, rng: np.random.Generator) -> list[tuple[int, int, int]]:
        if not 60 <= day < 70:
            return []
        return [(int(u), int(rng.integers(ITEMS)), day) for u in rng.choice(USERS, 45, replace=False)]

    assert len(find_bursts(log_of(steady(seed, busier)))) == 0


@pytest.mark.parametrize("seed", range(3))
def test_other_items_in_place_of_the_usual_are_no_burst(seed: int) -> None:
    table = steady(seed)
    moved = [i % 3 if 60 <= t < 70 else i for i, t in zip(table["item"], table["time"], strict=True)]
    assert len(find_bursts(log_of(table | {"item": moved}))) == 0


def test_people_who_join_and_take_much_at_once_are_no_burst() -> None:
    def joiners(day: int, rng: np.random.Generator) -> list[tuple[int, int, int]]:
        return [(1000 + u, int(i), 60) for u in range(200) for i in rng.integers(0, 5, 3)] if day == 60 else []

    assert len(find_bursts(log_of(steady(2, joiners)))) == 0


def test_where_nothing_happens_the_items_that_rose_gain_nothing_on_average() -> None:
    """What is usual has its chances too: an item that was rare by chance must not be chosen for it, and gain."""
    moved = [find_bursts(log_of(steady(seed))).cells.column("moved").drop_null().to_numpy() for seed in range(12)]
    means = np.array([one.mean() for one in moved])
    assert abs(means.mean()) < 3 * means.std(ddof=1) / len(means) ** 0.5 + 0.005


def test_the_order_of_rows_does_not_matter() -> None:
    table = steady(3, campaign(50, 55))
    order = np.random.default_rng(0).permutation(len(table["user"]))
    shuffled = {name: [column[k] for k in order] for name, column in table.items()}
    one, other = (find_bursts(log_of(some)) for some in (table, shuffled))
    assert one.to_dict() == other.to_dict()
    assert one.cells.equals(other.cells)


def test_what_is_found_can_be_left_out() -> None:
    log = log_of(steady(4, campaign(60, 66)))
    left = us.views.outside(log, find_bursts(log).windows)
    assert not any(item >= ITEMS for item in left.items.take(left.item).to_pylist())


def test_a_log_that_is_too_short_is_refused_and_one_that_is_too_thin_finds_nothing() -> None:
    with pytest.raises(EmptyError, match="too little time between 0 and 4"):
        find_bursts(log_of(steady(5, days=5)))
    thin = find_bursts(us.read_log({"user": [1, 1, 2], "item": [1, 2, 3], "time": [0, 50, 99]}))
    assert (len(thin), thin.since) == (0, None)
    with pytest.raises(InputError, match="not a log"):
        find_bursts({})  # type: ignore[arg-type]


@pytest.fixture
def path(tmp_path: Path) -> str:
    where = tmp_path / "log.parquet"
    pq.write_table(pa.table(steady(6, campaign(60, 66))), where)
    return str(where)


def test_the_command_line_shows_windows_and_how_to_leave_them_out(path: str) -> None:
    found = answer("drift", path, "--detect")
    assert [(one["start"], one["end"]) for one in found["windows"]] == [(60, 66)]
    assert set(found["windows"][0]) == {"start", "end", "excess", "takes", "activity", "items"}
    shown = run("drift", path, "--detect").stdout
    assert "--campaign 60:66" in shown
    assert "holidays" in shown
    both = answer("drift", path, "--detect", "--reference", "40", "--at", "99")
    assert both["bound"] == answer("drift", path, "--reference", "40", "--at", "99")["bound"]
    assert both["windows"] == found["windows"]


def test_a_log_without_bursts_says_since_when_it_was_looked_at(tmp_path: Path) -> None:
    where = tmp_path / "log.parquet"
    pq.write_table(pa.table(steady(7)), where)
    assert (
        "No burst was detected since" in run("drift", str(where), "--detect", "-o", str(tmp_path / "a.svg")).stdout
    )
    assert "No burst" in (tmp_path / "a.svg").read_text()


@pytest.mark.parametrize("ending", ["html", "svg", "png"])
def test_the_chart_is_written_as_its_name_says(path: str, tmp_path: Path, ending: str) -> None:
    out = tmp_path / f"bursts.{ending}"
    assert answer("drift", path, "--detect", "-o", str(out))["output"] == str(out)
    head = out.read_bytes()[:300].lower()
    assert {"html": b"<!doctype html", "svg": b"<svg", "png": b"\x89png"}[ending] in head


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "--reference is missing: give the date to compare with, or look for bursts with --detect"),
        (("--at", "40", "--detect"), "--reference is missing: give the date to compare with"),
        (("--reference", "40", "--at", "99", "-o", "a.png"), "is the chart of --detect"),
        (("--detect", "-o", "a.pdf"), "a chart must be an .html, .svg or .png file, not a.pdf"),
    ],
)
def test_half_of_what_is_needed_is_refused(path: str, arguments: tuple[str, ...], message: str) -> None:
    assert message in refused("drift", path, *arguments)
