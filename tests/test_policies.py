"""Who and what takes part: new and vanished items, small profiles, cohorts, priors; and what is left out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import unskew as us
from tests.dense import Event, about, columns, item_mix, profiles_at, random_events
from unskew.data import Recency
from unskew.data.policy import Share
from unskew.errors import PolicyError

seeds = st.integers(0, 2**32 - 1)


def history(seed: int, users: int = 20) -> tuple[list[Event], us.Log]:
    events = random_events(np.random.default_rng(seed), users)
    return events, us.read_log(columns(events))


def by_item(result: us.ItemWeights, values: Any) -> dict[Any, float]:
    return dict(zip(result.items.to_pylist(), values.tolist(), strict=True))


NEW = {
    # at 0: ann a b, bob a c; at 9 also: ann new, cat only new
    "user": ["ann", "ann", "bob", "bob", "ann", "cat"],
    "item": ["a", "b", "a", "c", "new", "new"],
    "time": [0, 0, 0, 0, 9, 9],
}


def test_dropped_new_items_get_weight_zero_and_a_user_left_with_nothing_leaves() -> None:
    log = us.read_log(NEW)
    result = us.fit_weights(log.at(9), log.at(0), new_items="drop")
    assert by_item(result, result.weights)["new"] == 0
    assert by_item(result, result.log_weights)["new"] == -np.inf
    assert by_item(result, result.p_after) == pytest.approx({"a": 0.5, "b": 0.25, "c": 0.25, "new": 0.0}, abs=1e-4)
    assert result.report.users_excluded == about(1, 1 / 3)
    assert result.report.users_excluded_reference == Share(0, 0.0)
    assert result.report.new_items == about(1, 1 / 3 / 3 + 1 / 3)
    assert result.report.vanished_items == Share(0, 0.0)
    assert result.status == "solved"
    assert result.bound == pytest.approx(0, abs=1e-4)


def test_new_items_that_are_kept_keep_their_mass_and_the_others_share_the_rest_as_they_did() -> None:
    log = us.read_log(NEW)
    result = us.fit_weights(log.at(9), log.at(0), new_items="keep", tol=1e-9)
    mass = 1 / 9 + 1 / 3
    rest = 1 - mass
    expected = {"a": 0.5 * rest, "b": 0.25 * rest, "c": 0.25 * rest, "new": mass}
    assert by_item(result, result.target) == pytest.approx(expected, abs=1e-12)
    assert result.report.users_excluded == Share(0, 0.0)
    assert result.bound >= mass - 1e-9
    assert "new items keep their mass" in result.explanation or result.status == "certified"


def test_keep_says_that_nothing_is_claimed_against_the_reference() -> None:
    table = {"user": [1, 1, 2, 2, 1, 2], "item": [*"abac", "new", "new"], "time": [0, 0, 0, 0, 9, 9]}
    log = us.read_log(table)
    result = us.fit_weights(log.at(9), log.at(0), new_items="keep")
    assert result.status == "solved"
    assert "new items keep their mass" in result.explanation
    assert "only up to the bound" in result.explanation


def test_drop_is_the_default() -> None:
    log = us.read_log(NEW)
    assert us.fit_weights(log.at(9), log.at(0)).options.new_items == "drop"


def test_vanished_items_leave_the_target_and_stay_in_the_bound() -> None:
    log = us.read_log({"user": [1, 1, 2, 2], "item": ["a", "b", "a", "b"], "time": [0, 0, 0, 0]})
    reference = {"a": 0.5, "b": 0.25, "gone": 0.2, "also gone": 0.05, "never there": 0.0}
    result = us.fit_weights(log.at(0), reference, tol=1e-9)
    assert by_item(result, result.target) == pytest.approx({"a": 2 / 3, "b": 1 / 3}, abs=1e-12)
    assert by_item(result, result.p_reference) == {"a": 0.5, "b": 0.25}
    assert result.report.vanished_items == about(2, 0.25)
    assert result.vanished.tolist() == [0.2, 0.05]
    assert result.report.residual <= 1e-9
    assert result.bound == pytest.approx(0.25, abs=1e-9)
    assert result.report.bound_before == pytest.approx(0.25, abs=1e-12)  # a .5/.5, b .5/.25, gone .25
    assert result.report.divergence_before == pytest.approx(
        2 / 3 * np.log(4 / 3) + 1 / 3 * np.log(2 / 3), abs=1e-12
    )


def test_items_whose_holders_all_left_are_counted_as_vanished_and_keep_their_row() -> None:
    """With two items a user at both dates, c's only holder does not take part at t1."""
    events: list[Event] = [
        ("x", "a", 0),
        ("x", "b", 0),
        ("y", "a", 0),
        ("y", "c", 0),
        ("z", "c", 5),
        ("x", "c", 6),
    ]
    before = us.read_log(columns(events[:4])).at(0)
    log = us.read_log(columns([events[0], events[1], events[4]]))
    result = us.fit_weights(log.at(5), before, min_items=2, tol=1e-9)
    rows = by_item(result, result.p_after)
    assert rows == pytest.approx({"a": 2 / 3, "b": 1 / 3, "c": 0.0}, abs=1e-9)
    assert by_item(result, result.p_reference) == pytest.approx({"a": 0.5, "b": 0.25, "c": 0.25})
    assert result.report.vanished_items == about(1, 0.25)
    assert len(result.vanished) == 0
    assert result.report.users_excluded == Share(1, 0.5)
    assert result.bound == pytest.approx(0.25, abs=1e-9)
    assert result.worst(1) == pytest.approx(0.25, abs=1e-9)


@given(seeds, st.integers(1, 3), st.sampled_from(["drop", "keep"]))
@settings(max_examples=40, deadline=None)
def test_small_profiles_are_left_out_at_both_dates_and_counted(seed: int, m: int, new_items: str) -> None:
    events, log = history(seed)
    then, now = profiles_at(events, 4), profiles_at(events, 9)
    then_in = {u: held for u, held in then.items() if len(held) >= m}
    if not then_in:
        least = "a profile" if m == 1 else f"at least {m} items"
        with pytest.raises(PolicyError, match=f"no user has {least} at the reference date 4"):
            us.fit_weights(log.at(9), log.at(4), min_items=m)
        return
    before = item_mix(then_in)
    enough = {u: held for u, held in now.items() if len(held) >= m}
    known = {u: {i: t for i, t in p.items() if new_items == "keep" or i in before} for u, p in enough.items()}
    now_in = {u: held for u, held in known.items() if held}
    result = us.fit_weights(log.at(9), log.at(4), min_items=m, new_items=new_items, max_passes=3000)
    assert result.report.users_excluded.count == len(now) - len(now_in)
    assert result.report.users_excluded.mass == pytest.approx(1 - len(now_in) / len(now), abs=1e-12)
    assert result.report.users_excluded_reference.count == len(then) - len(then_in)
    assert result.report.users_excluded_reference.mass == pytest.approx(1 - len(then_in) / len(then), abs=1e-12)
    assert by_item(result, result.p_reference) == pytest.approx(
        {i: before.get(i, 0.0) for i in item_mix(now)}, abs=1e-12
    )
    after = item_mix(now_in, log_weight=by_item(result, result.log_weights))
    assert by_item(result, result.p_after) == pytest.approx(
        {i: after.get(i, 0.0) for i in item_mix(now)}, abs=1e-9
    )


@given(seeds, st.integers(1, 2))
@settings(max_examples=40, deadline=None)
def test_the_cohort_of_both_dates_of_an_append_only_log_is_always_solved(seed: int, m: int) -> None:
    events, log = history(seed)
    then = {u for u, held in profiles_at(events, 4).items() if len(held) >= m}
    if not then:
        return
    result = us.fit_weights(log.at(9), log.at(4), users="both", min_items=m)
    assert result.status == "solved"
    assert result.report.residual <= 1e-4
    assert result.report.bound_least == 0
    now = profiles_at(events, 9)
    assert result.report.users_excluded.count == len(set(now) - then)
    assert result.report.users_excluded.mass == pytest.approx(1 - len(then) / len(now), abs=1e-12)
    assert result.report.users_excluded_reference.count == len(profiles_at(events, 4)) - len(then)


REMOVALS = {
    # ann loses b; bob loses all; cat comes later; dan swaps his only item for a new one
    "user": ["ann", "ann", "bob", "cat", "dan", "dan", "eve", "eve"],
    "item": ["a", "b", "b", "a", "d", "new", "a", "b"],
    "time": [0, 0, 0, 9, 0, 5, 0, 0],
    "removed": [None, 5, 5, None, 5, None, None, None],
}


def test_with_removals_the_cohort_is_who_holds_something_that_counts_at_both_dates() -> None:
    """Bob holds nothing now, and dan only what is new; d has no holder then, so it leaves the target."""
    log = us.read_log(REMOVALS, removed="removed")
    result = us.fit_weights(log.at(9), log.at(0), users="both", tol=1e-9)
    # then: ann a b, eve a b -> a 1/2, b 1/2; now: ann a, eve a b
    assert by_item(result, result.p_reference) == pytest.approx({"a": 0.5, "b": 0.5, "new": 0.0})
    assert by_item(result, result.p_after) == pytest.approx({"a": 0.5, "b": 0.5, "new": 0.0}, abs=1e-4)
    assert result.report.users_excluded == about(2, 0.5)  # cat and dan, of ann, cat, dan, eve
    assert result.report.users_excluded_reference == about(2, 0.5)  # bob and dan, of ann, bob, dan, eve
    assert log.at(9).marginal(result).to_dict() == pytest.approx({"a": 0.5, "b": 0.5}, abs=1e-4)


def test_a_cohort_of_nobody_is_refused() -> None:
    log = us.read_log(
        {"user": [1, 2], "item": ["a", "a"], "time": [0, 9], "removed": [5, None]}, removed="removed"
    )
    with pytest.raises(PolicyError, match="no user has a profile at both dates"):
        us.fit_weights(log.at(9), log.at(0), users="both")


def test_the_cohort_is_found_by_the_ids_of_users_when_the_reference_is_another_log() -> None:
    events, log = history(3)
    other = us.read_log(columns([e for e in events if e[2] <= 4][::-1]))
    same = us.fit_weights(log.at(9), log.at(4), users="both")
    result = us.fit_weights(log.at(9), other.at(4), users="both")
    assert result.report.users_excluded == same.report.users_excluded
    assert result.p_after == pytest.approx(same.p_after, abs=1e-10)


def test_the_cohort_needs_a_reference_that_knows_its_users() -> None:
    _, log = history(1)
    with pytest.raises(PolicyError, match="which a marginal does not say: give the date"):
        us.fit_weights(log.at(9), log.at(4).marginal(), users="both")


PRIORS: dict[str, dict[str, Any]] = {
    "uniform": {},
    "users": {"p_user": "given"},
    "recency": {"p_item": Recency(3)},
    "both": {"p_user": "given", "p_item": Recency(3)},
}


def priors_for(name: str, events: list[Event]) -> dict[str, Any]:
    users = sorted({e[0] for e in events})
    options = dict(PRIORS[name])
    if "p_user" in options:
        options["p_user"] = {u: 1.0 + k % 4 for k, u in enumerate(users)}
    return options


@pytest.mark.parametrize("name", PRIORS)
@given(seeds)
@settings(max_examples=12, deadline=None)
def test_priors_enter_every_figure(name: str, seed: int) -> None:
    events, log = history(seed)
    options = priors_for(name, events)
    plain: dict[str, Any] = {
        "p_user": options.get("p_user"),
        "half_life": 3.0 if "p_item" in options else None,
    }
    result = us.fit_weights(log.at(9, **options), log.at(4, **options))
    then, now = profiles_at(events, 4), profiles_at(events, 9)
    before = item_mix(then, **plain)
    assert by_item(result, result.p_reference) == pytest.approx(
        {i: before.get(i, 0.0) for i in item_mix(now)}, abs=1e-12
    )
    assert by_item(result, result.p_before) == pytest.approx(item_mix(now, **plain), abs=1e-12)
    known = {u: {i: t for i, t in held.items() if i in before} for u, held in now.items()}
    left = {u for u, held in known.items() if not held}
    share = options.get("p_user") or dict.fromkeys(now, 1.0)
    assert result.report.users_excluded.count == len(left)
    total = sum(share[u] for u in now)
    assert result.report.users_excluded.mass == pytest.approx(sum(share[u] for u in left) / total, abs=1e-12)


@pytest.mark.parametrize("name", PRIORS)
@pytest.mark.parametrize("users", ["all", "both"])
@pytest.mark.parametrize("min_items", [1, 2])
@pytest.mark.parametrize("new_items", ["drop", "keep"])
def test_applying_the_weights_to_the_snapshot_gives_the_marginal_after(
    name: str, users: str, min_items: int, new_items: str
) -> None:
    for seed in range(3):
        events, log = history(seed, users=40)
        options = priors_for(name, events)
        now = log.at(9, **options)
        result = us.fit_weights(
            now, log.at(4, **options), users=users, min_items=min_items, new_items=new_items, max_passes=5000
        )
        found = now.marginal(result).to_dict()
        expected = {i: q for i, q in by_item(result, result.p_after).items() if q > 0}
        assert found == pytest.approx(expected, abs=1e-12)
        weighting = result.apply(now)
        assert weighting.part.n_users == now.n_users - result.report.users_excluded.count
        kept = weighting.log_weights[log.items.codes(result.items)]
        assert np.array_equal(np.isneginf(kept), np.isneginf(result.log_weights))


@pytest.mark.parametrize("method", ["descent", "lbfgs"])
def test_applying_weights_of_a_few_items_gives_the_marginal_after(method: str) -> None:
    _, log = history(5, users=60)
    for new_items in ("drop", "keep"):
        result = us.fit_weights(log.at(9), log.at(4), top=3, method=method, new_items=new_items)
        found = log.at(9).marginal(result).to_dict()
        expected = {i: q for i, q in by_item(result, result.p_after).items() if q > 0}
        assert found == pytest.approx(expected, abs=1e-12)


def test_weights_applied_to_a_later_snapshot_treat_unknown_items_as_new() -> None:
    log = us.read_log({"user": [1, 1, 2, 1, 2], "item": ["a", "b", "b", "c", "z"], "time": [0, 0, 0, 5, 9]})
    dropped = us.fit_weights(log.at(5), log.at(0), new_items="drop")
    kept = us.fit_weights(log.at(5), log.at(0), new_items="keep")
    with pytest.warns(us.UnskewWarning, match="fitted at 5 and are used at 9"):
        assert "z" not in log.at(9).marginal(dropped).to_dict()
    with pytest.warns(us.UnskewWarning, match="fitted at 5 and are used at 9"):
        assert log.at(9).marginal(kept).to_dict()["z"] > 0


def test_a_reference_or_a_snapshot_of_another_policy_is_refused_with_the_difference() -> None:
    _, log = history(2)
    recent = log.at(4, p_item=Recency(3))
    with pytest.raises(PolicyError, match="made with p_item='recency:3', not p_item='uniform'"):
        us.fit_weights(log.at(9), recent)
    with pytest.raises(PolicyError, match="made with p_item='recency:3', not p_item='uniform'"):
        us.fit_weights(log.at(9), recent.marginal())
    with pytest.raises(PolicyError, match="made with min_items=1, not min_items=2"):
        us.fit_weights(log.at(9), log.at(4).marginal(), min_items=2)
    result = us.fit_weights(log.at(9), log.at(4))
    with pytest.raises(PolicyError, match="made with p_item='uniform', not p_item='recency:3'"):
        log.at(9, p_item=Recency(3)).marginal(result)


def test_a_marginal_of_larger_profiles_gives_the_weights_of_the_log_with_the_same_min_items() -> None:
    _, log = history(6, users=40)
    saved = us.fit_weights(log.at(9), log.at(4).marginal(min_items=2), min_items=2)
    direct = us.fit_weights(log.at(9), log.at(4), min_items=2)
    assert saved.log_weights == pytest.approx(direct.log_weights, abs=1e-12)
    with pytest.raises(PolicyError, match="made with min_items=2, not min_items=1: make it again"):
        us.fit_weights(log.at(9), log.at(4).marginal(min_items=2))


def test_numbers_that_came_from_elsewhere_have_no_policy_to_disagree_with() -> None:
    _, log = history(7)
    mix = log.at(4).marginal().to_dict()
    assert us.fit_weights(log.at(9, p_item=Recency(3)), mix).policy.p_item == "recency:3"


def test_users_without_a_share_take_no_part_and_items_that_only_they_hold_do_not_exist() -> None:
    table = {"user": [1, 1, 2, 3], "item": ["a", "b", "a", "ghost"], "time": [0, 0, 0, 0]}
    log = us.read_log(table)
    now = log.at(0, p_user={1: 1.0, 2: 1.0, 3: 0.0})
    result = us.fit_weights(now, {"a": 0.5, "b": 0.3, "ghost": 0.2}, tol=1e-9)
    assert np.isfinite(result.report.divergence_before)
    assert by_item(result, result.p_after) == pytest.approx({"a": 0.625, "b": 0.375}, abs=1e-9)
    assert result.report.vanished_items == about(1, 0.2)
    assert result.bound == pytest.approx(0.2, abs=1e-9)
    assert result.report.users_excluded.mass == 0
