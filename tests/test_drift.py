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
from unskew.data import Recency
from unskew.data.policy import Share
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
        us.drift(log.at(9), log.at(3, p_item=Recency(2)))


def test_the_figures_are_ready_for_json_and_the_repr_is_readable() -> None:
    events = random_events(np.random.default_rng(5), users=40, items=30)
    log = us.read_log(columns(events))
    moved = us.drift(log.at(9), log.at(3))
    told = json.loads(json.dumps(moved.to_dict(top=4), allow_nan=False))
    assert told["bound"] == moved.bound
    assert told["worst_at_5"] == moved.worst(5)
    assert [row["item"] for row in told["top"]] == moved.items.to_pylist()[:4]
    assert repr(moved).startswith(f"Drift(3 to 9: {len(moved)} items, total variation ")


# ---- what chance alone gives


def steady_world(seed: int, *, joiners: bool, boost: float = 0.0) -> dict[str, list[object]]:
    """Users whose items come in random order, at times 0 to 9: nothing drifts, unless late items are boosted."""
    rng = np.random.default_rng(seed)
    share = 1 / np.arange(1, 61)
    rows = []
    for user in range(150):
        first = int(rng.integers(0, 10)) if joiners else 0
        items = rng.permutation(rng.choice(60, 2 + rng.poisson(5), replace=False, p=share / share.sum()))
        for item in items:
            time = int(rng.integers(first, 10))
            late = time > 4 and rng.random() < boost
            rows.append((user, int(rng.integers(50, 60)) if late else int(item), time))
    return {name: [row[k] for row in rows] for k, name in enumerate(("user", "item", "time"))}


def sampled_distance(table: dict[str, list[object]], seed: int) -> float:
    """Plain Python: as many of today's users as at time 4, each with as many items as it had, or a like part."""
    rng = np.random.default_rng(seed)
    now: dict[object, list[object]] = {}
    then: dict[object, set[object]] = {}
    for user, item, time in zip(table["user"], table["item"], table["time"], strict=True):
        if item not in now.setdefault(user, []):
            now[user].append(item)
        if int(str(time)) <= 4:
            then.setdefault(user, set()).add(item)
    drawn = {}
    for user in rng.permutation(np.array(list(now)))[: len(then)].tolist():
        if user in then:
            size = len(then[user])
        else:
            other = list(then)[int(rng.integers(len(then)))]
            size = max(1, round(len(now[user]) * len(then[other]) / len(now[other])))
        drawn[user] = rng.permutation(np.array(now[user]))[:size].tolist()
    mixes = [item_mix({u: dict.fromkeys(items, 0) for u, items in part.items()}) for part in (now, drawn)]
    return 0.5 * sum(abs(mixes[0].get(i, 0.0) - mixes[1].get(i, 0.0)) for i in {*mixes[0], *mixes[1]})


@pytest.mark.parametrize("joiners", [False, True])
def test_chance_is_the_distance_of_a_random_sample_in_plain_python(joiners: bool) -> None:
    table = steady_world(1, joiners=joiners)
    log = us.read_log(table)
    chance = us.drift(log.at(9), log.at(4)).chance
    assert chance is not None
    expected = [sampled_distance(table, seed) for seed in range(60)]
    error = 4 * float(np.std(expected)) * (1 / 19 + 1 / 60) ** 0.5
    assert chance.value == pytest.approx(float(np.mean(expected)), abs=error)
    assert min(expected) * 0.9 < chance.low < chance.value < chance.high < max(expected) * 1.1


@pytest.mark.parametrize("joiners", [False, True])
def test_a_steady_log_seldom_drifts_by_more_than_chance_and_a_boosted_one_does(joiners: bool) -> None:
    steady = [us.read_log(steady_world(seed, joiners=joiners)) for seed in range(20)]
    assert sum(bool(us.drift(log.at(9), log.at(4)).drifted) for log in steady) <= 4  # 1 in 20 is expected
    boosted = [us.read_log(steady_world(seed, joiners=joiners, boost=0.5)) for seed in range(5)]
    assert all(us.drift(log.at(9), log.at(4)).drifted for log in boosted)


def test_users_who_never_change_leave_the_chance_of_who_they_were() -> None:
    """Ten users with one item each, five of them at t0: the distance of 5 of 10 draws, hypergeometric."""
    table = {"user": list(range(10)), "item": list("aaaaabbbbb"), "time": [0, 9] * 5}
    log = us.read_log(table)
    chance = us.drift(log.at(9), log.at(0)).chance
    assert chance is not None
    possible = {abs(k / 5 - 0.5) for k in range(6)}
    assert min(abs(chance.low - p) for p in possible) < 1e-12
    assert min(abs(chance.high - p) for p in possible) < 1e-12
    assert chance.users_alone == chance.value


def test_importance_and_recency_count_in_samples_as_they_do_in_the_mix() -> None:
    """All users and all items are drawn if nothing came since: the distance is 0 with any P(u) and P(i|u)."""
    table = {"user": [1, 1, 2, 3, 3], "item": list("abacb"), "time": [0, 1, 2, 3, 3], "worth": [1.0, 1, 5, 2, 2]}
    log = us.read_log(table, columns=["worth"])
    now = log.at(3, p_user="worth", p_item=Recency(2))
    chance = us.drift(now, now).chance
    assert chance is not None
    assert chance.high == pytest.approx(0, abs=1e-15)


def test_the_same_log_gives_the_same_chance_again() -> None:
    log, again = (us.read_log(steady_world(3, joiners=True)) for _ in range(2))
    assert us.drift(log.at(9), log.at(4)).chance == us.drift(again.at(9), again.at(4)).chance


def test_a_reference_of_another_log_is_matched_by_the_ids_of_users() -> None:
    table = steady_world(4, joiners=True)
    kept = [k for k, time in enumerate(table["time"]) if int(str(time)) <= 4]
    early = us.read_log({name: [values[k] for k in kept] for name, values in table.items()})
    log = us.read_log(table)
    expected, moved = us.drift(log.at(9), log.at(4)), us.drift(log.at(9), early.at(4))
    assert moved.chance == expected.chance
    assert moved.drifted == expected.drifted


def test_the_conclusion_has_both_distances_and_a_saved_mix_cannot_tell() -> None:
    log = us.read_log(steady_world(5, joiners=True, boost=0.5))
    moved = us.drift(log.at(9), log.at(4))
    assert moved.chance is not None
    assert moved.conclusion.startswith("The item mix drifted by more than chance from 4 to 9: total variation is ")
    assert f"{moved.bound:.3f}" in moved.conclusion
    assert f"{moved.chance.value:.3f} (" in moved.conclusion
    for reference in (log.at(4).marginal(), log.at(4).marginal().to_dict()):
        saved = us.drift(log.at(9), reference)
        assert (saved.chance, saved.drifted) == (None, None)
        assert "The data cannot show" in saved.conclusion
        assert (saved.to_dict()["chance"], saved.to_dict()["drifted"]) == (None, None)
