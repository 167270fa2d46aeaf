"""Drift: what moved between two dates, before anything is weighted."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import unskew as us
from tests.dense import about, columns, item_mix, profiles_at, random_events
from unskew.data.shares import Share
from unskew.errors import PolicyError

seeds = st.integers(0, 2**32 - 1)


@given(seeds)
@settings(max_examples=40, deadline=None)
def test_every_figure_is_that_of_plain_python(seed: int) -> None:
    events = random_events(np.random.default_rng(seed))
    then, now = item_mix(profiles_at(events, 3)), item_mix(profiles_at(events, 9))
    log = us.read_log(columns(events))
    moved = us.drift(log.at(9), log.at(3))
    every = {*then, *now}
    change = {i: now.get(i, 0.0) - then.get(i, 0.0) for i in every}
    assert dict(zip(moved.items.to_pylist(), moved.change.tolist(), strict=True)) == pytest.approx(
        change, abs=1e-14
    )
    assert moved.bound == pytest.approx(0.5 * sum(map(abs, change.values())), abs=1e-14)
    both = then.keys() & now.keys()
    total = sum(then[i] for i in both)
    assert moved.divergence == pytest.approx(sum(then[i] / total * np.log(then[i] / total / now[i]) for i in both))
    new = now.keys() - then.keys()
    assert moved.new_items == about(len(new), sum(now[i] for i in new))
    assert moved.vanished_items == Share(0, 0.0)
    for k in (1, 2, 3):
        lists = [s for n in range(k + 1) for s in itertools.combinations(change.values(), n)]
        assert moved.worst(k) == pytest.approx(max(abs(sum(s)) for s in lists), abs=1e-14)


def test_the_largest_change_comes_first() -> None:
    events = random_events(np.random.default_rng(1), users=50, items=20)
    log = us.read_log(columns(events))
    moved = us.drift(log.at(9), log.at(3))
    assert (np.diff(np.abs(moved.change)) <= 0).all()
    assert len(moved) == len(moved.to_frame()) == 20


def test_items_that_the_log_never_had_are_listed_and_counted() -> None:
    log = us.read_log({"user": [1, 2], "item": ["a", "b"], "time": [0, 0]})
    moved = us.drift(log.at(0), {"a": 0.3, "gone": 0.5, "b": 0.2, "never": 0.0})
    rows = {row["item"]: (row["p_reference"], row["p_now"]) for row in moved.to_arrow().to_pylist()}
    assert rows == {"a": (0.3, 0.5), "b": (0.2, 0.5), "gone": (0.5, 0.0)}
    assert moved.items.to_pylist()[0] == "gone"
    assert moved.vanished_items == Share(1, 0.5)
    assert moved.bound == pytest.approx(0.5)
    assert moved.worst(1) == pytest.approx(0.5)


@pytest.mark.parametrize("kind", ["int8", "category"])
def test_ids_of_two_widths_are_listed_together(kind: str) -> None:
    big = 10**12 if kind == "int8" else "gone"
    known = [1, 2] if kind == "int8" else ["a", "b"]
    frame = pd.DataFrame({"user": [1, 2], "item": pd.Series(known, dtype=kind), "time": [0, 0]})
    moved = us.drift(us.read_log(frame).at(0), {known[0]: 0.25, known[1]: 0.25, big: 0.5})
    assert sorted(moved.items.to_pylist(), key=str) == sorted([*known, big], key=str)
    assert moved.worst(1) == pytest.approx(0.5)


def test_no_change_is_no_drift() -> None:
    events = random_events(np.random.default_rng(2))
    log = us.read_log(columns(events))
    moved = us.drift(log.at(9), log.at(9).marginal())
    assert moved.bound == 0
    assert moved.divergence == pytest.approx(0, abs=1e-15)
    assert moved.worst(3) == 0


def test_the_bound_before_weighting_is_the_drift() -> None:
    events = random_events(np.random.default_rng(3), users=40)
    log = us.read_log(columns(events))
    for reference in (log.at(3), log.at(3).marginal(), {"i0": 0.5, "i1": 0.25, "gone": 0.25}):
        moved, result = us.drift(log.at(9), reference), us.fit_weights(log.at(9), reference)
        assert moved.bound == pytest.approx(result.report.bound_before, abs=1e-14)
        assert moved.divergence == pytest.approx(result.report.divergence_before, abs=1e-14)


def test_dates_of_different_policies_are_not_compared() -> None:
    log = us.read_log(columns(random_events(np.random.default_rng(4))))
    with pytest.raises(PolicyError, match=r"the reference was made with .*, not "):
        us.drift(log.at(9), log.at(3, p_item=us.Recency(2)))


def test_the_figures_are_ready_for_json_and_the_repr_is_readable() -> None:
    events = random_events(np.random.default_rng(5), users=40, items=30)
    log = us.read_log(columns(events))
    moved = us.drift(log.at(9), log.at(3))
    told = json.loads(json.dumps(moved.to_dict(top=4), allow_nan=False))
    assert told["bound"] == moved.bound
    assert told["worst_at_5"] == moved.worst(5)
    assert [row["item"] for row in told["top"]] == moved.items.to_pylist()[:4]
    assert repr(moved).startswith(f"Drift(3 to 9: {len(moved)} items, total variation ")
