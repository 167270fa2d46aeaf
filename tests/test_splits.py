"""How items are held out: time splits and leave-last-out, at one date and at both, against dicts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import unskew as us
from tests.dense import Event
from tests.scoring import (
    Spy,
    events_of,
    hit,
    items_by_user,
    log_of,
    mrr,
    pair_shares,
    place,
    stepping,
    taken,
)
from tests.tables import LAW, late
from unskew.data.held_out import SplitRule
from unskew.data.time_steps import Step
from unskew.data.times import Moment
from unskew.errors import EmptyError, InputError, PolicyError, TimeError

DAYS = {"user": ["a", "a", "a", "b", "b"], "item": ["x", "y", "z", "x", "z"],
        "time": ["2024-01-31", "2024-03-01", "2024-03-31", "2024-02-15", "2024-03-30"]}  # fmt: skip


def dated() -> us.Log:
    return us.read_log({**DAYS, "time": np.array(DAYS["time"], dtype="datetime64[s]")})


def history(seed: int = 0, users: int = 60) -> list[Event]:
    """Users who take several of ten items, popular ones early; some come late."""
    rng = np.random.default_rng(seed)
    events: list[Event] = []
    for u in range(users):
        joined = int(rng.integers(0, 9)) if u % 3 else 0
        for t in [joined, *rng.integers(joined, 10, 5)]:
            events.append((f"u{u:02}", int((10 - t // 3) * rng.random() ** 1.5), int(t)))
    return events


def last_items(events: Sequence[Event], at: float) -> dict[Any, Any]:
    """The last item of each profile: by the time at which it was first taken, then by id."""
    first: dict[Any, dict[Any, int]] = {}
    for user, item, time in events:
        mine = first.setdefault(user, {})
        mine[item] = min(time, mine.get(item, time))
    held = {u: {i: t for i, t in mine.items() if t <= at} for u, mine in first.items()}
    return {u: max(mine, key=lambda i: (mine[i], i)) for u, mine in held.items() if mine}


# leave-last-out


@LAW
@given(events=events_of(40), at=st.integers(0, 9))
def test_the_last_item_by_time_and_then_by_id_is_sought_from_the_rest(events: list[Event], at: int) -> None:
    held, last = taken(events, at), last_items(events, at)
    if not held:
        return
    rest = {u: [i for i in items if i != last[u]] for u, items in held.items()}
    sought = {u: last[u] for u, items in rest.items() if items}
    log = log_of(events)
    recommend = stepping(log.items.to_list()) if len(log.items) > 2 else lambda _, k: []
    spy = Spy(recommend)
    if not sought:
        with pytest.raises(EmptyError, match=f"no user has more than one item at {at}"):
            us.evaluate(spy, late(log, at), leave_last_out=True)
        return
    score = us.evaluate(spy, late(log, at), metric="mrr@3", leave_last_out=True)
    expected = [mrr(3)(place(recommend(rest[u], 3), item)) for u, item in sought.items()]
    assert score.value == pytest.approx(np.mean(expected), abs=1e-12)
    assert (score.pairs, score.users) == (len(sought), len(sought))
    assert score.users_without_profile.count == len(held) - len(sought)
    assert score.users_without_profile.mass == pytest.approx(1 - len(sought) / len(held))
    assert (score.held_out, score.exact, score.metric) == ("exact", True, "mrr@3")
    assert spy.snapshot is not None
    assert {u: sorted(i) for u, i in items_by_user(spy.snapshot).items()} == {
        u: sorted(i) for u, i in rest.items() if i
    }
    assert sorted((u, sorted(p)) for u, p in spy.seen) == sorted((u, sorted(rest[u])) for u in sought)


def test_how_often_an_item_is_taken_in_all_of_history_does_not_make_it_last() -> None:
    both = [("a", 0, 1), ("a", 1, 5), ("a", 2, 5)]
    for often in (1, 2):
        log = log_of([*both, *((f"later{k}", often, 9) for k in range(5))])
        split = SplitRule(leave_last_out=True).split(log.at(5))
        assert items_by_user(split.pairs) == {"a": [2]}


def test_without_an_item_that_was_removed_the_one_before_is_last() -> None:
    table = {"user": ["a"] * 3, "item": ["x", "y", "z"], "time": [1, 2, 3], "removed": [None, None, 5]}
    log = us.read_log(table, removed="removed")
    for at, last in ((4, "z"), (5, "y")):
        split = SplitRule(leave_last_out=True).split(late(log, at))
        assert items_by_user(split.pairs) == {"a": [last]}
        assert last not in split.known.profile("a")


def test_a_model_is_fitted_without_any_last_item() -> None:
    log = log_of(history(3))
    ours = us.evaluate("popular", log.at(9), metric="mrr@5", leave_last_out=True)
    last = last_items(history(3), 9)
    rest = {u: [i for i in items if i != last[u]] for u, items in taken(history(3), 9).items()}
    counts = {i: sum(i in items for items in rest.values()) for i in log.items}
    order = sorted((i for i in counts if counts[i]), key=lambda i: (-counts[i], i))
    ranks = [place([i for i in order if i not in rest[u]][:5], last[u]) for u in rest if rest[u]]
    assert ours.value == pytest.approx(np.mean([mrr(5)(r) for r in ranks]), abs=1e-12)
    assert ours.held_out == "exact"
    table = us.evaluate(lambda profile, k: [], log.at(9), leave_last_out=True)
    assert table.held_out == "external"


def test_with_the_last_items_alone_weights_only_leave_users_out_and_one_warning_says_so() -> None:
    log = log_of(history(1))
    with pytest.warns(us.UnskewWarning, match="nothing for item weights to choose from") as caught:
        found = us.report(log, "popular", at=9, reference=5, leave_last_out=True, metric="hit@3", refit=2)
    assert len([w for w in caught if "choose from" in str(w.message)]) == 1
    weights = found.weights
    assert weights is not None
    assert (weights.policy.held, found.protocol, found.after) == ("last", "leave-last-out", None)
    kept = {i for i, w in zip(weights.items.to_pylist(), weights.weights, strict=True) if w > 0}
    last, before = last_items(history(1), 9), set(last_items(history(1), 5).values())
    several = {u for u, items in taken(history(1), 9).items() if len(items) > 1}
    mine = [last[u] for u in several if last[u] in kept]
    assert kept <= before
    for item, p in zip(weights.items.to_pylist(), weights.p_after, strict=True):
        assert p == pytest.approx(mine.count(item) / len(mine), abs=1e-12)
    assert found.changes[0].item_mix.value == pytest.approx(0, abs=1e-12)


# a time before each date


@pytest.mark.parametrize(
    ("after", "at", "start"),
    [
        ("-1mo", "2024-03-31", "2024-02-29"),
        ("-30d", "2024-03-31", "2024-03-01"),
        ("-2w", "2024-03-31", "2024-03-17"),
        ("- 30", "2024-03-31", "2024-03-01"),
        ("-12h", "2024-03-31", "2024-03-31T11:59:59.999999"),
        ("-1d", "2024-03-30T10:00:00", "2024-03-29T10:00:00"),
    ],
)
def test_after_can_say_how_long_before_each_date_it_is(after: str, at: str, start: str) -> None:
    log = dated()
    found = SplitRule(after).start(log.at(at))
    assert found.label == start
    assert found.tick == log.axis.moment(start).tick
    if log.axis.moment(at).tick > log.axis.moment("2024-03-30").tick > found.tick:
        split = SplitRule(after).split(log.at(at))
        assert items_by_user(split.pairs) == items_by_user(log.between(start, at, known=True))


def test_a_step_back_and_forth_is_where_one_was() -> None:
    axis = dated().axis
    for text in ("1d", "3w", "6h"):
        step = Step.of(axis, text)
        moment = axis.moment("2024-03-31")
        assert (
            next(t for k, t in enumerate(step.ticks_from(axis, step.before(axis, moment))) if k == 1)
            == moment.tick
        )
    with pytest.raises(TimeError, match="there is no date that long before 2024-03-31"):
        Step.of(axis, "9000y").before(axis, axis.moment("2024-03-31"))


def test_numbers_are_so_long_before_unless_the_log_has_negative_times() -> None:
    log = log_of(history())
    assert SplitRule("-3").start(log.at(9)) == Moment(6, 6)
    assert us.evaluate("popular", log.at(9), after="-3") == us.evaluate("popular", log.at(9), after=6)
    shifted = log_of([(u, i, t - 5) for u, i, t in history()])
    assert SplitRule("-3").start(shifted.at(4)) == Moment(-3, -3)
    assert SplitRule(-3).start(shifted.at(4)) == Moment(-3, -3)


@pytest.mark.parametrize(
    ("after", "told"),
    [
        ("-30d", "after='-30d': '30d' is a step of the calendar"),
        ("-x", "after='-x': 'x' is not a step"),
        ("-0", "must be positive"),
        ("-99", "nothing had happened yet at -90"),
    ],
)
def test_what_is_no_length_of_time_is_refused(after: str, told: str) -> None:
    with pytest.raises(InputError, match=told):
        us.evaluate("popular", log_of(history()).at(9), after=after)


@pytest.mark.parametrize("more", [{"after": 5}, {"leave_out": 2}, {"folds": 3}])
def test_leave_last_out_goes_with_no_other_protocol(more: dict[str, Any]) -> None:
    with pytest.raises(PolicyError, match="leave_last_out"):
        us.evaluate("popular", log_of(history()).at(9), leave_last_out=True, **more)
    with pytest.raises(InputError, match="leave_last_out is 'yes': give True or False"):
        us.evaluate("popular", log_of(history()).at(9), leave_last_out="yes")  # type: ignore[call-overload]


# weights are fitted to what is scored


def weighted_mix(events: list[Event], start: int, end: int) -> dict[Any, float]:
    """The item mix of what users took in a window who had a profile when it began."""
    past, whole = taken(events, start), taken(events, end, start)
    shares = pair_shares({u: items for u, items in whole.items() if u in past})
    return {i: sum(s for (_, j), s in shares.items() if j == i) for i in {j for _, j in shares}}


@pytest.mark.parametrize("after", [6, "-3"])
def test_weights_with_after_are_fitted_to_what_is_held_out_at_both_dates(after: Any) -> None:
    events = history(2)
    log = log_of(events)
    weights = us.fit_weights(log.at(9), log.at(4), after=after)
    now, then = weighted_mix(events, 6, 9), weighted_mix(events, 1, 4)
    for item, p, q in zip(weights.items.to_pylist(), weights.p_reference, weights.p_before, strict=True):
        assert (p, q) == pytest.approx((then.get(item, 0.0), now[item]), abs=1e-12)
    assert (weights.after, weights.reference_after, weights.policy.held) == (6, 1, "later")


def test_the_recipe_gives_the_weights_and_the_scores_of_the_report(tmp_path: Path) -> None:
    log = log_of(history(2))
    found = us.report(log, "popular", at=9, reference=4, after=6, metric="hit@3", refit=0)
    weights = us.fit_weights(log.at(9), log.at(4), after=6)
    assert found.weights is not None
    assert found.weights.to_arrow().equals(weights.to_arrow())
    assert found.scores[2] == us.evaluate("popular", log.at(9), after=6, weights=weights, metric="hit@3")
    assert (found.after, found.reference_after, found.protocol) == (6, 1, "time split")
    windows = us.fit_weights(log.between(6, 9, known=True), log.between(1, 4, known=True))
    assert windows.to_arrow().equals(weights.to_arrow())
    weights.save(tmp_path / "w.parquet")
    again = us.ItemWeights.load(tmp_path / "w.parquet")
    assert (again.after, again.reference_after, again.policy) == (6, 1, weights.policy)
    assert {k: again.to_dict()[k] for k in ("after", "reference_after")} == {"after": 6, "reference_after": 1}


def test_weights_of_what_anyone_took_are_others_and_are_refused() -> None:
    log = log_of(history(2))
    anyone = us.fit_weights(log.between(6, 9), log.between(1, 4))
    right = us.fit_weights(log.at(9), log.at(4), after=6)
    assert not np.allclose(anyone.p_before, right.p_before)  # what the recipe of old gave
    with pytest.raises(PolicyError, match=r"interactions between two times, not to .*again with after=6"):
        us.evaluate("popular", log.at(9), after=6, weights=anyone)


def test_weights_of_another_protocol_are_refused_with_what_to_do() -> None:
    log = log_of(history(2))
    whole, later = us.fit_weights(log.at(9), log.at(4)), us.fit_weights(log.at(9), log.at(4), after=6)
    for run in (us.sample_pairs, lambda s, w, **how: us.evaluate("popular", s, weights=w, **how)):
        with pytest.raises(PolicyError, match=r"fitted to whole profiles, not to .* fit them again with after=6"):
            run(log.at(9), whole, after=6)
        with pytest.raises(PolicyError, match="not to whole profiles: use after=6 here too, or fit"):
            run(log.at(9), later)
        with pytest.raises(PolicyError, match="after 6, not after 5: fit them again with after=5, or use after=6"):
            run(log.at(9), later, after=5)
        with pytest.raises(PolicyError, match="again with leave_last_out=True"):
            run(log.at(9), whole, leave_last_out=True)
        run(log.at(9), later, after="-3")  # the same time, said in another way


def test_the_users_of_both_dates_are_those_with_something_held_out_at_both() -> None:
    events = history(2)
    log = log_of(events)
    weights = us.fit_weights(log.at(9), log.at(4), after=6, users="both", new_items="keep")
    both = set.intersection(
        *({u for u in taken(events, end, start) if u in taken(events, start)} for start, end in ((6, 9), (1, 4)))
    )
    had_a_profile = {u for u in taken(events, 9, 6) if u in taken(events, 6) and u in taken(events, 4)}
    assert 0 < len(both) < len(had_a_profile)
    assert us.evaluate("popular", log.at(9), after=6, weights=weights).users == len(both)


def test_logs_that_count_time_in_other_ways_need_a_length() -> None:
    log = dated()
    table = {**DAYS, "time": np.array(DAYS["time"], dtype="datetime64[D]")}
    other = us.read_log(table)
    with pytest.raises(TimeError, match=r"counts time in another way.*such as -30d"):
        us.fit_weights(log.at("2024-03-31"), other.at("2024-03-31"), after="2024-03-29")
    weights = us.fit_weights(log.at("2024-03-31"), other.at("2024-03-31"), after="-2d")
    assert (weights.after, weights.reference_after) == ("2024-03-29", "2024-03-29")


def test_a_window_is_no_profile_and_after_is_offered() -> None:
    log = log_of(history())
    window: Any = log.between(5, 9)
    for run in (us.sample_pairs, lambda given: us.evaluate("popular", given)):
        with pytest.raises(InputError, match=r"is not a snapshot: .* to hold out later interactions, use after"):
            run(window)
    with pytest.raises(InputError, match="is not a snapshot"):
        us.fit_weights(log.between(5, 9), log.at(4), after=6)


def test_weights_that_were_applied_to_one_window_are_not_those_of_another() -> None:
    log = log_of(history())
    applied = log.between(6, 9).weigh({1: 2.0})
    assert log.between(6, 9).weigh(applied) is applied
    for other in (log.between(5, 9), log.between(6, 9, known=True), log.at(9)):
        with pytest.raises(InputError, match="these weights belong to Window"):
            other.weigh(applied)


# test sets


@pytest.mark.parametrize("how", [{"after": 6}, {"leave_last_out": True}])
def test_a_test_set_has_what_is_held_out_and_profiles_without_it(how: dict[str, Any]) -> None:
    events = history(4)
    log = log_of(events)
    held, last = taken(events, 9), last_items(events, 9)
    if "after" in how:
        profiles = taken(events, 6)
        pairs = {u: items for u, items in taken(events, 9, 6).items() if u in profiles}
    else:
        profiles = {u: [i for i in items if i != last[u]] for u, items in held.items()}
        pairs = {u: [last[u]] for u in held if profiles[u]}
    expected = pair_shares(pairs)
    drawn = us.sample_pairs(log.at(9), sample=300, seed=1, **how)
    for row in drawn.to_arrow().to_pylist():
        assert row["probability"] == pytest.approx(expected[row["user"], row["item"]], rel=1e-12)
        assert sorted(row["profile"]) == sorted(profiles[row["user"]])
    assert drawn.about["after"] == how.get("after")
    assert drawn.about["users_without_profile"]["count"] == len(
        taken(events, 9, 6) if "after" in how else held
    ) - len(pairs)
    recommend = stepping(log.items.to_list())
    mean = np.mean([hit(3)(place(recommend(r["profile"], 3), r["item"])) for r in drawn.to_arrow().to_pylist()])
    score = us.evaluate(Spy(recommend), log.at(9), metric="hit@3", sample=300, seed=1, **how)
    assert score.value == pytest.approx(mean, abs=1e-12)
