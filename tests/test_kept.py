"""The kept view: what was exposed is kept as often as a holdout group took the like of it by itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import unskew as us
from tests.dense import columns, random_events
from tests.test_thinned import COOCCURRENCE, DATES, rows_of
from tests.worlds import small, taken


def pre_empting() -> us.worlds.World:
    return small("pre-empting", users=2000, items=600, seed=21, holdout=0.25)


@settings(max_examples=12, deadline=None)
@given(seed=st.integers(0, 10_000), draw=st.integers(0, 3))
def test_only_exposed_pairs_of_others_can_be_lost(seed: int, draw: int) -> None:
    rng = np.random.default_rng(seed)
    first: dict[Any, Any] = {}
    for user, item, time in random_events(rng, users=60, items=25):
        first[user, item] = min(time, first.get((user, item), time))
    events = [(user, item, time) for (user, item), time in first.items()]
    shown = [bool(rng.random() < 0.4) for _ in events]
    log = us.read_log({**columns(events), "shown": shown}, exposed="shown")
    group = {user for user in log.users if int(user.strip("uend") or 0) % 3 == 0}
    view = us.views.kept(log, "popular", holdout=sorted(group), campaigns="3:", seed=seed, draw=draw)
    exposed = {event for event, mark in zip(events, shown, strict=True) if mark}
    lost = rows_of(log) - rows_of(view)
    assert lost <= {event for event in exposed if event[0] not in group}
    assert {event for event in exposed if event[0] not in group and event[2] < 3} <= lost


def test_what_was_only_brought_forward_is_kept() -> None:
    world = pre_empting()
    view = us.views.kept(world.log, COOCCURRENCE, holdout=world.holdout, campaigns=DATES)
    truth = len(taken(world.tables["truth"]))
    organic = len(us.views.organic(world.log))
    assert organic < len(view)
    assert abs(len(view) - truth) < 0.25 * abs(len(world.log) - truth)
    scores = [us.evaluate(COOCCURRENCE, log.at(500)).value for log in (world.log, view, world.truth)]
    assert abs(scores[1] - scores[2]) < 0.25 * abs(scores[0] - scores[2])


def test_where_nobody_takes_it_by_themselves_nearly_all_that_was_exposed_goes() -> None:
    """Everyone holds a filler; those who could be shown x took it, and the group never did."""
    users = [f"u{k:03}" for k in range(300)]
    fillers = [(user, f"f{k % 20:02}", 1) for k, user in enumerate(users)]
    holders = [(f"h{k}", "x", 1) for k in range(40)]
    group, others = users[:100], users[100:]
    shown = [(user, "x", 5) for user in others]
    rows = fillers + holders + shown
    marks = [False] * (len(fillers) + len(holders)) + [True] * len(shown)
    log = us.read_log({**columns(rows), "shown": marks}, exposed="shown")
    view = us.views.kept(log, "popular", holdout=group, campaigns="5:6")
    lost = set(rows) - rows_of(view)
    assert lost <= set(shown)
    sure = 1 - 1.5**2 * 200 / 200**2  # the excess of 200 pairs has a variance of 200
    assert len(lost) == pytest.approx(200 * sure, abs=1)
    assert view.view_report is not None
    (first,) = [one for one in view.view_report.strata if one.name == "rank 1"]
    assert (first.pairs, first.dropped, first.usual) == (200, len(lost), 0.0)
    assert first.observed == pytest.approx(200 / 240)  # the others and the forty who hold x


def test_without_dates_the_time_begins_with_the_first_exposed_row() -> None:
    world = pre_empting()
    view = us.views.kept(world.log, COOCCURRENCE, holdout=world.holdout)
    assert view.view == "kept"
    assert view.view_report is not None
    assert not any("at other times" in note for note in view.view_report.notes)
    with pytest.warns(us.UnskewWarning, match="not like the others"):  # who were shown something before
        late = us.views.kept(world.log, COOCCURRENCE, holdout=world.holdout, since=400)
    assert late.view_report is not None
    assert any("at other times" in note for note in late.view_report.notes)


def test_a_pair_taken_again_without_exposure_counts_from_then() -> None:
    world = pre_empting()
    table = world.tables["log"]
    again = table.set_column(2, "time", pa.array([499] * len(table), pa.int64()))
    again = again.set_column(3, "exposed", pa.array([False] * len(table)))
    log = us.read_log(pa.concat_tables([table, again]), exposed="exposed", repeats=True)
    view = us.views.kept(log, COOCCURRENCE, holdout=world.holdout, campaigns=DATES)
    assert len(view) == len(log)
    assert {time for _, _, time in rows_of(view) - rows_of(log)} == {499}


def test_exposures_and_a_group_are_needed() -> None:
    with pytest.raises(us.InputError, match="no exposure marks"):
        us.views.kept(small("paper").truth, "popular", holdout=[1])
    with pytest.raises(us.InputError, match="holdout is missing"):
        us.views.kept(small("paper").log, "popular", holdout=None)
