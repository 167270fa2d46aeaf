"""The thinned view: what was taken in windows is thinned to what is usual, and nothing else is."""

from __future__ import annotations

import functools
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import unskew as us
from tests.dense import columns, random_events
from tests.thinning import group_rates
from tests.worlds import small, taken
from unskew.data.times import read_windows
from unskew.views.production import rank_taken
from unskew.views.rates import Rates, find_keep
from unskew.views.strata import CELLS, KINDS, RANK_OF, ItemPush
from unskew.views.thinning import draw_kept, plan_thinned
from unskew.views.windows import ShortWindow, cut_windows, find_quiet, find_window_pairs

COOCCURRENCE = "knn?similarity=cooccurrence"
DATES = ["330:350", "430:450"]


def rows_of(log: us.Log) -> set[tuple[Any, Any, Any]]:
    users, items = log.users.take(log.entry_users()), log.items.take(log.item)
    return set(zip(users.to_pylist(), items.to_pylist(), log.time.tolist(), strict=True))


def many_events(seed: int) -> list[Any]:
    """A history in which each user takes an item once."""
    first: dict[Any, Any] = {}
    for user, item, time in random_events(np.random.default_rng(seed), users=60, items=25):
        first[user, item] = min(time, first.get((user, item), time))
    return [(user, item, time) for (user, item), time in first.items()]


@pytest.mark.parametrize("seed", range(4))
def test_rates_are_those_of_a_dense_computation(seed: int) -> None:
    events = many_events(seed)
    group = {f"u{k}" for k in range(0, 60, 3)}
    log = us.read_log(columns(events))
    view = us.views.thinned(
        log, "popular", holdout=sorted(group & set(log.users)), campaigns=["3:5", "5:8"], until=7
    )
    windows = [(int(w.start), int(w.end)) for w in cut_windows(log, read_windows(log.axis, ["3:8"]), 7)]
    expected = group_rates(events, windows, group)
    assert view.view_report is not None
    found = {one.name: (one.observed, one.usual) for one in view.view_report.strata}
    assert found == {name: pytest.approx(rates) for name, rates in expected.items()}


@settings(max_examples=12, deadline=None)
@given(seed=st.integers(0, 10_000), start=st.integers(1, 8), length=st.integers(1, 5), draw=st.integers(0, 3))
def test_only_what_others_took_in_the_windows_can_be_lost(seed: int, start: int, length: int, draw: int) -> None:
    log = us.read_log(columns(many_events(seed)))
    group = {user for user in log.users if int(user.strip("uend") or 0) % 3 == 0}
    view = us.views.thinned(
        log, "popular", holdout=sorted(group), campaigns=f"{start}:{start + length}", seed=seed, draw=draw
    )
    lost = rows_of(log) - rows_of(view)
    assert rows_of(view) <= rows_of(log)
    assert all(user not in group and start <= time < start + length for user, _, time in lost)
    assert view.view_report is not None
    assert view.view_report.dropped_pairs == len(lost) == sum(s.dropped for s in view.view_report.strata)
    sizes = Counter(user for user, _, _ in rows_of(log))
    mass = sum(1 / (len(sizes) * sizes[user]) for user, _, _ in lost)
    assert sum(s.dropped_mass for s in view.view_report.strata) == pytest.approx(mass, abs=1e-12)
    assert all(s.dropped > 0 or s.dropped_mass == 0 for s in view.view_report.strata)


def test_a_probability_of_one_leaves_the_log_as_it_is() -> None:
    world = small("paper")
    plan = plan_thinned(world.log, COOCCURRENCE, campaigns=DATES)
    everything = replace(plan, keep=np.ones_like(plan.keep)).draw()
    assert rows_of(everything) == rows_of(world.log)


def test_draws_do_not_depend_on_the_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    log = small("paper").log
    found = []
    for threads in ("1", "2"):
        monkeypatch.setenv("UNSKEW_THREADS", threads)
        found.append(us.views.thinned(log, COOCCURRENCE, campaigns=DATES, seed=5, draw=2))
    assert rows_of(found[0]) == rows_of(found[1])


def test_the_seed_and_the_draw_decide() -> None:
    plan = plan_thinned(small("paper").log, COOCCURRENCE, campaigns=DATES)
    views = [rows_of(plan.draw(seed, draw)) for seed, draw in ((0, 0), (0, 0), (0, 1), (1, 0))]
    assert views[0] == views[1]
    assert views[0] != views[2]
    assert views[0] != views[3]


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 300))
def test_each_cell_keeps_as_many_as_expected_up_to_one(seed: int, size: int) -> None:
    rng = np.random.default_rng(seed)
    cell = rng.integers(0, 4, size)
    keep = rng.random(4)[cell]
    kept = draw_kept(keep, cell, seed, 0)
    for k in range(4):
        assert abs(kept[cell == k].sum() - keep[cell == k].sum()) <= 1


def test_each_pair_is_kept_with_its_probability() -> None:
    rng = np.random.default_rng(0)
    cell = rng.integers(0, 3, 200)
    keep = np.array([0.05, 0.5, 0.9])[cell]
    draws = np.mean([draw_kept(keep, cell, 1, draw) for draw in range(400)], axis=0)
    assert np.abs(draws - keep).max() < 0.02  # independent draws would be off by up to 0.1


def by_cell(**figures: dict[int, float]) -> dict[str, Any]:
    found = {name: np.zeros(CELLS) for name in ("suspect", "others", "usual", "usual_variance")}
    for name, values in figures.items():
        for cell, value in values.items():
            found[name][cell] = value
    return {**found, "people": np.ones(KINDS)}


def test_pairs_are_kept_at_the_ratio_of_usual_to_observed() -> None:
    cell, another = 1, int(np.flatnonzero(RANK_OF == 4)[1])
    rates = Rates(
        **by_cell(suspect={cell: 1e6, another: 1e6}, others={cell: 5e4}, usual={cell: 3e5, another: 9e5})
    )
    keep = find_keep(rates)
    assert keep[cell] == pytest.approx(0.25, abs=1e-4)  # (300 000 - 50 000) of a million
    assert keep[another] == pytest.approx(0.9, abs=1e-4)


def test_an_excess_that_may_be_chance_is_kept() -> None:
    rates = Rates(**by_cell(suspect={1: 105.0}, usual={1: 100.0}, usual_variance={1: 100.0}))
    assert find_keep(rates)[1] == 1.0
    assert find_keep(Rates(**by_cell(suspect={1: 100.0}, usual={1: 130.0})))[1] == 1.0


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 100_000))
def test_a_stratum_loses_its_excess_as_far_as_it_is_sure(seed: int) -> None:
    rng = np.random.default_rng(seed)
    suspect, usual = rng.poisson(3.0, CELLS).astype(float), rng.poisson(1.0, CELLS).astype(float)
    rates = Rates(suspect, np.zeros(CELLS), usual, usual, np.ones(KINDS))
    keep = find_keep(rates)
    assert ((keep >= 0) & (keep <= 1)).all()
    for k in range(12):
        here = k == RANK_OF
        x, h = suspect[here].sum(), usual[here].sum()
        sure = 1 - 1.5**2 * (x + h) / (x - h) ** 2
        assert (keep * suspect)[here].sum() == pytest.approx(x - sure * (x - h), rel=0.1)


def test_ranks_are_places_in_the_list_for_the_profile_of_then() -> None:
    rows = [("a", "x", 1), ("b", "x", 1), ("b", "y", 1), ("c", "z", 1), ("c", "y", 1), ("d", "w", 1)]
    rows += [(f"filler{k}", f"f{k:02}", 1) for k in range(20)]  # a fifth of the items is looked through
    rows += [("a", "y", 5), ("a", "z", 6), ("c", "x", 6), ("e", "x", 6), ("a", "new", 7)]
    log = us.read_log(columns(rows))
    window = ShortWindow(5, 9, 9)
    pairs = find_window_pairs(log, [window], window)
    ranks = rank_taken(us.Popular(), pairs)
    who = log.users.take(pairs.user).to_pylist()
    what = log.items.take(log.item[pairs.entry]).to_pylist()
    assert dict(zip(zip(who, what, strict=True), ranks.tolist(), strict=True)) == {
        ("a", "y"): 1,  # a holds x, the other item that two users hold
        ("a", "z"): 0,  # of those that one user holds, in the order of ids, it is not among the first four
        ("c", "x"): 1,
        ("e", "x"): 0,  # e had no profile
        ("a", "new"): 0,
    }
    assert pairs.known.tolist() == [user != "e" for user in who]


def test_the_push_of_an_item_does_not_count_the_pair_itself() -> None:
    rows = [(user, item, 1) for item in "xy" for user in (f"{item}1", f"{item}2", f"{item}3")]
    rows += [("a", "y", 5), ("c", "y", 5), ("d", "y", 6), ("c", "x", 6), ("a", "z", 6), ("c", "z", 6)]
    log = us.read_log(columns(rows))
    window = ShortWindow(5, 9, 9)
    pairs = find_window_pairs(log, [window], window)
    push = ItemPush.measure(pairs, np.ones(len(pairs), dtype=bool)).of(pairs)
    found = dict(zip(log.items.take(log.item[pairs.entry]).to_pylist(), push.tolist(), strict=True))
    assert found == {"y": pytest.approx(2 / 8), "x": 0.0, "z": 0.0}  # two others; three holders and five more


def test_long_windows_are_cut_and_short_ones_are_not() -> None:
    log = us.read_log({"user": [1, 1], "item": [1, 2], "time": [0, 500]})
    found = cut_windows(log, read_windows(log.axis, ["100:110", "300:"]), 399)
    assert found[0] == ShortWindow(100, 110, 300)  # until the next begins
    assert [(w.start, w.end) for w in found[1:]] == [(300, 320), (320, 340), (340, 360), (360, 380), (380, 400)]
    assert all(w.until == w.end for w in found[1:])


def test_quiet_windows_lie_outside_and_leave_time_after_campaigns() -> None:
    world = small("paper")
    busy = cut_windows(world.log, read_windows(world.log.axis, DATES), 500)
    for quiet in find_quiet(world.log, busy, 500):
        assert quiet.end - quiet.start == 20
        for window in busy:
            assert quiet.end <= window.start or quiet.start >= window.end + 20


def test_a_table_of_lists_stands_for_production() -> None:
    world = small("paper")
    before = world.log.at(329)
    best = world.log.items.take(np.argsort(-before.counts(), kind="stable")[:30]).to_pylist()
    users = world.log.users.to_list()
    lists = pa.table({"user": users, "items": [best] * len(users)})
    spec = f"constant:{','.join(map(str, best))}"
    by_table, by_spec = (
        us.views.thinned(world.log, model, campaigns="330:350") for model in (us.Table(lists), spec)
    )
    assert by_table.view_report is not None
    assert by_spec.view_report is not None
    ranks = [one.pairs for one in by_table.view_report.strata if one.name.startswith("rank")]
    assert sum(ranks) > 50
    by_name = {one.name: one.pairs for one in by_spec.view_report.strata}
    # a constant list has what users hold already, and a table skips it: the same pairs at better ranks
    assert sum(ranks) == sum(pairs for name, pairs in by_name.items() if name.startswith("rank"))


def test_lists_that_began_with_the_campaign_mean_that_what_they_had_was_recommended() -> None:
    world = small("paper")
    items = world.log.items.to_list()[:20]
    users = world.log.users.to_list()
    lists = us.Table({"user": users, "items": [items] * len(users)}, valid_from=330)
    view = us.views.thinned(world.log, lists, campaigns="330:350")
    assert view.view_report is not None
    assert any("has no lists in quiet windows" in note for note in view.view_report.notes)
    for one in view.view_report.strata:
        if one.name.startswith("rank"):
            assert one.dropped >= 0.8 * one.pairs


def test_a_dropped_pair_that_was_taken_again_counts_from_then() -> None:
    world = small("paper")
    table = world.tables["log"]
    again = table.set_column(2, "time", pa.array([490] * len(table), pa.int64()))
    log = us.read_log(pa.concat_tables([table, again]), repeats=True)
    view = us.views.thinned(log, COOCCURRENCE, campaigns=DATES)
    assert len(view) == len(log)
    moved = rows_of(view) - rows_of(log)
    assert len(moved) > 100
    assert {time for _, _, time in moved} == {490}


@pytest.mark.parametrize("known", ["dates", "holdout"])
def test_what_is_left_is_like_the_world_without_recommendations(known: str) -> None:
    world = small("always-on", users=2000, items=600, seed=11, holdout=0.2)
    extra: dict[str, Any] = {"holdout": world.holdout} if known == "holdout" else {}
    view = us.views.thinned(world.log, COOCCURRENCE, campaigns="320:", **extra)
    truth = len(taken(world.tables["truth"]))
    assert abs(len(view) / truth - 1) < 0.05
    assert len(world.log) / truth > 1.4
    raw, free, right = (us.evaluate(COOCCURRENCE, log.at(500)).value for log in (world.log, view, world.truth))
    assert abs(free - right) < 0.25 * abs(raw - right)


def test_a_quiet_log_stays_nearly_as_it_is() -> None:
    world = small("quiet", users=2000, items=600, seed=12, holdout=0.2)
    view = us.views.thinned(world.log, COOCCURRENCE, holdout=world.holdout, campaigns="320:")
    assert len(view) > 0.98 * len(world.log)


@functools.cache
def count_left() -> int:
    """How many interactions are left of the log whose times are whole days."""
    log = us.read_log(small("paper").tables["log"])
    return len(us.views.thinned(log, COOCCURRENCE, campaigns=DATES))


@pytest.mark.parametrize("kind", ["decimals", "dates", "datetimes", "stays"])
def test_times_of_every_kind_work(kind: str) -> None:
    world = small("paper")
    table = world.tables["log"]
    days = table["time"].to_numpy()
    columns: dict[str, Any] = {"user": table["user"], "item": table["item"]}
    since = np.datetime64("2024-01-01")
    columns["time"] = {
        "decimals": days + 0.25,
        "dates": pa.array((since + days).astype("datetime64[D]")),
        "datetimes": pa.array((since + days).astype("datetime64[s]") + np.timedelta64(3600, "s")),
        "stays": days,
    }[kind]
    windows = DATES if kind in ("decimals", "stays") else ["2024-11-26:2024-12-16", "2025-03-06:2025-03-26"]
    if kind == "stays":
        columns["until"] = days + 400
    log = us.read_log(columns, removed="until" if kind == "stays" else None)
    view = us.views.thinned(log, COOCCURRENCE, campaigns=windows)
    assert len(view) == pytest.approx(count_left(), rel=0.02)
    assert len(view) < 0.85 * len(log)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "neither campaigns nor holdout is given"),
        ({"holdout": [1]}, "needs a time from which something was recommended"),
        ({"campaigns": "0:"}, "no quiet time"),
        ({"campaigns": "400:410", "until": 300}, "no window begins before 300"),
        ({"campaigns": "330:350", "draw": -1}, "draw is -1"),
    ],
)
def test_what_cannot_be_estimated_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(us.UnskewError, match=message):
        us.views.thinned(small("paper").log, "popular", **options)


def test_with_a_group_and_no_dates_the_window_begins_after_since(tmp_path: Path) -> None:
    world = small("always-on", holdout=0.2)
    path = tmp_path / "group.csv"
    path.write_text("user\n" + "\n".join(map(str, world.holdout["user"].to_pylist())))
    by_since = us.views.thinned(world.log, COOCCURRENCE, holdout=path, since=319, until=490)
    by_window = us.views.thinned(world.log, COOCCURRENCE, holdout=world.holdout, campaigns="320:491")
    lost = rows_of(world.log) - rows_of(by_since)
    assert lost
    assert all(320 <= time <= 490 for _, _, time in lost)
    assert abs(len(by_since) - len(by_window)) < 0.02 * len(world.log)
