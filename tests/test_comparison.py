"""Differences of scores against paired tests by hand, and the split of a change."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

import unskew as us
from tests.dense import Event, columns, profiles_at, random_events
from unskew.errors import PolicyError
from unskew.evaluation.changes import Change, explain_change, refit_change
from unskew.evaluation.comparison import compare
from unskew.evaluation.held_out_ranks import AnyQuality, HeldOutRanks
from unskew.evaluation.independent_units import number_users
from unskew.evaluation.intervals import holm

Floats = npt.NDArray[np.float64]
LISTS = (["i0", "i1"], ["i1", "i2"], ["i3", "i5", "i0"])
BEFORE, NOW = 4, 9
HALF = us.Quality("half", lambda rank, _: 0.5 * (rank > 0), depth=3)
"""Half a hit, of which nobody knows how high it can go."""


def history(seed: int, users: int = 60, *, joining: bool = True) -> list[Event]:
    return random_events(np.random.default_rng(seed), users, joining=joining)


def log_of(events: list[Event]) -> us.Log:
    return us.read_log(columns(events))


def ranked(snapshot: us.Snapshot, items: list[str] | None = None, **options: Any) -> HeldOutRanks:
    return us.rank_held_out(us.Constant(items or LISTS[0]), snapshot, qualities=["hit@5"], **options)


def quality_of_users(events: list[Event], at: int, items: list[str]) -> dict[Any, float]:
    """The hit rate of each user, from its profile as a dict."""
    held = profiles_at(events, at)
    return {user: sum(i in items for i in profile) / len(profile) for user, profile in held.items()}


def figures(found: Change) -> list[float]:
    return [value for value in found.to_dict().values() if isinstance(value, float)]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("weighted", [False, True])
def test_a_difference_is_the_difference_of_the_scores(seed: int, weighted: bool) -> None:
    log = log_of(history(seed))
    shares = np.random.default_rng(seed).uniform(0.2, 3.0, len(log.users))
    now, before = (log.at(t, p_user=shares) for t in (NOW, BEFORE))
    weights = us.fit_weights(now, before) if weighted else None
    ranks = [ranked(now, items) for items in LISTS]
    for q in ("hit@3", "mrr@3"):
        scores = [r.score(q, weights).value for r in ranks]
        found = compare(*ranks, quality=q, weights=weights)
        assert [c.difference for c in found] == pytest.approx(
            [scores[0] - scores[1], scores[0] - scores[2], scores[1] - scores[2]], abs=1e-12
        )
        assert {c.weighting for c in found} == {"weighted" if weighted else "raw"}
        assert {c.quality for c in found} == {q}


@pytest.mark.parametrize("level", [0.8, 0.95])
def test_with_many_users_the_interval_is_that_of_the_paired_t_test_over_users(level: float) -> None:
    events = history(1, 1500)
    now = log_of(events).at(NOW)
    a, b = (quality_of_users(events, NOW, items) for items in LISTS[:2])
    theirs = stats.ttest_rel([a[u] for u in a], [b[u] for u in a])
    [found] = compare(*(ranked(now, items) for items in LISTS[:2]), quality="hit@3", level=level)
    low, high = theirs.confidence_interval(level)
    assert (found.low, found.high) == pytest.approx((low, high), abs=0.02 * (high - low))
    assert found.level == level


@pytest.mark.parametrize("quality", ["hit@3", "mrr@3", HALF])
def test_the_p_value_is_the_level_at_which_the_interval_reaches_0(quality: AnyQuality) -> None:
    now = log_of(history(1)).at(NOW)
    ranks = [ranked(now, items) for items in LISTS[:2]]
    [found] = compare(*ranks, quality=quality)
    assert 0 < found.p < 1
    [at] = compare(*ranks, quality=quality, level=1 - found.p)
    assert min(abs(at.low), abs(at.high)) == pytest.approx(0, abs=1e-6)


def test_a_quality_without_bounds_has_the_paired_t_test_over_users() -> None:
    events = history(1)
    now = log_of(events).at(NOW)
    a, b = (quality_of_users(events, NOW, items) for items in LISTS[:2])
    theirs = stats.ttest_rel([a[u] for u in a], [b[u] for u in a])
    [found] = compare(*(ranked(now, items) for items in LISTS[:2]), quality=HALF)
    low, high = theirs.confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((low / 2, high / 2), abs=1e-12)
    assert found.p == pytest.approx(theirs.pvalue)


def test_turned_round_everything_changes_its_sign_but_the_p_value() -> None:
    now = log_of(history(2)).at(NOW)
    a, b = (ranked(now, items) for items in LISTS[:2])
    [one], [other] = compare(a, b, quality="hit@3"), compare(b, a, quality="hit@3")
    assert (one.a, one.b) == (other.b, other.a)
    assert (one.difference, one.low, one.high) == pytest.approx((-other.difference, -other.high, -other.low))
    assert one.p == pytest.approx(other.p)


def test_what_two_recommenders_share_cancels() -> None:
    now = log_of(history(3, 300)).at(NOW)
    a, b = ranked(now, ["i0", "i1", "i2"]), ranked(now, ["i0", "i1", "i3"])
    [found] = compare(a, b, quality="hit@3")
    widths = [high - low for low, high in (r.score("hit@3").interval for r in (a, b))]
    assert found.high - found.low < 0.8 * math.hypot(*widths)


def test_a_recommender_does_not_differ_from_itself() -> None:
    now = log_of(history(4)).at(NOW)
    [found] = compare(ranked(now), ranked(now))
    assert (found.difference, found.p, found.p_holm) == (0, 1, 1)
    quantile = stats.t.ppf(0.975, (users := len(np.unique(ranked(now).users))) - 1)
    room = quantile**2 / (users + quantile**2)  # as of no hit at all, in either direction
    assert (found.low, found.high) == pytest.approx((-room, room))


def test_many_are_compared_two_by_two_and_corrected_together() -> None:
    now = log_of(history(5)).at(NOW)
    ranks = [ranked(now, items) for items in (*LISTS, ["i4"])]
    found = compare(*ranks, quality="hit@3")
    names = [r.recommender for r in ranks]
    assert [(c.a, c.b) for c in found] == [(names[i], names[j]) for i in range(4) for j in range(i + 1, 4)]
    alone = [compare(ranks[i], ranks[j], quality="hit@3")[0].p for i in range(4) for j in range(i + 1, 4)]
    assert [c.p for c in found] == pytest.approx(alone)
    assert [c.p_holm for c in found] == pytest.approx(holm(alone))
    assert len(set(alone)) == 6


def test_a_comparison_is_ready_for_json() -> None:
    now = log_of(history(5)).at(NOW)
    [found] = compare(ranked(now), ranked(now, LISTS[1]))
    assert json.loads(json.dumps(found.to_dict()))["difference"] == found.difference


def test_samples_are_paired_by_their_draws() -> None:
    now = log_of(history(6)).at(NOW)
    a, b = (ranked(now, items, sample=80, seed=3) for items in LISTS[:2])
    [found] = compare(a, b, quality="mrr@3")
    assert found.difference == pytest.approx(a.score("mrr@3").value - b.score("mrr@3").value)
    every = [ranked(now, items) for items in LISTS[:2]]
    assert found.difference != pytest.approx(compare(*every, quality="mrr@3")[0].difference, abs=1e-4)
    widths = [high - low for low, high in (r.score("mrr@3").interval for r in (a, b))]
    assert 0 < found.high - found.low < sum(widths)


def _pairs_that_differ() -> list[tuple[str, HeldOutRanks, HeldOutRanks]]:
    log = log_of(history(7))
    now = log.at(NOW)
    mine = ranked(now)
    p_user = np.arange(1.0, len(log.users) + 1)
    return [
        ("other pairs", mine, ranked(log.at(BEFORE))),
        ("other pairs", mine, ranked(log_of(history(8)).at(NOW))),
        ("other pairs", mine, ranked(now, sample=50)),
        ("other pairs", ranked(now, sample=50), ranked(now, sample=50, seed=1)),
        ("other pairs", ranked(now, sample=50), ranked(now, sample=51)),
        (r"another P\(u\)", mine, ranked(log.at(NOW, p_user=p_user))),
        (r"another P\(u\) or P\(i\|u\)", mine, ranked(log.at(NOW, p_item=us.Recency(2)))),
    ]


def test_what_cannot_be_paired_is_refused() -> None:
    for message, one, other in _pairs_that_differ():
        with pytest.raises(PolicyError, match=message):
            compare(one, other)
    with pytest.raises(PolicyError, match="at least two"):
        compare(_pairs_that_differ()[0][1])


def test_a_snapshot_made_again_can_be_paired() -> None:
    log = log_of(history(7))
    [found] = compare(ranked(log.at(NOW)), ranked(log.at(NOW), LISTS[1]))
    assert found == compare(*(ranked(log.at(NOW), items) for items in LISTS[:2]))[0]


def test_weights_that_were_not_named_for_a_sample_are_refused() -> None:
    log = log_of(history(6, 400))
    now = log.at(NOW)
    weights = us.fit_weights(now, log.at(BEFORE))
    a, b = (ranked(now, items, sample=40) for items in LISTS[:2])
    with pytest.raises(PolicyError, match="not named"):
        compare(a, b, weights=weights)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("sample", [None, 70])
def test_the_parts_of_a_change_are_differences_of_scores_and_sum_to_it(seed: int, sample: int | None) -> None:
    log = log_of(history(seed))
    now, before = log.at(NOW), log.at(BEFORE)
    weights = us.fit_weights(now, before)
    here, there = ranked(now, weights=[None, weights], sample=sample), ranked(before, sample=sample)
    found = explain_change(here, there, weights, quality="mrr@3")
    assert found.raw == pytest.approx(here.score("mrr@3").value, abs=1e-12)
    assert found.weighted == pytest.approx(here.score("mrr@3", weights).value, abs=1e-12)
    assert found.reference == pytest.approx(there.score("mrr@3").value, abs=1e-12)
    assert found.explained == pytest.approx(found.raw - found.weighted, abs=1e-12)
    assert found.explained + found.unexplained == pytest.approx(found.raw - found.reference, abs=1e-12)
    assert (found.recommender, found.quality) == ("constant:i0,i1", "mrr@3")
    assert found.method == ("users" if sample is None else "draws")
    assert found.low < found.unexplained < found.high
    assert found.raw_low < found.raw - found.reference < found.raw_high


def test_users_of_both_dates_are_paired() -> None:
    events = history(3, 1500, joining=False)
    log = log_of(events)
    now, before = log.at(NOW), log.at(BEFORE)
    here, there = (quality_of_users(events, t, LISTS[0]) for t in (NOW, BEFORE))
    assert set(here) == set(there)
    theirs = stats.ttest_rel([here[u] for u in here], [there[u] for u in here]).confidence_interval(0.95)
    found = explain_change(ranked(now), ranked(before), us.fit_weights(now, before), quality="hit@3")
    width = theirs.high - theirs.low
    assert (found.raw_low, found.raw_high) == pytest.approx((theirs.low, theirs.high), abs=0.02 * width)
    widths = [high - low for low, high in (r.score("hit@3").interval for r in (ranked(now), ranked(before)))]
    assert found.raw_high - found.raw_low < 0.8 * math.hypot(*widths)


def test_users_of_one_date_only_add_their_own_part_of_the_error() -> None:
    """Nobody is at both dates: the variances of two independent means add up."""
    mine, theirs = ([(f"{name}{u}", *rest) for u, *rest in history(k, 1500)] for k, name in ((1, "x"), (2, "y")))
    now, before = log_of(mine).at(NOW), log_of(theirs).at(NOW)
    found = explain_change(ranked(now), ranked(before), us.fit_weights(now, before), quality="hit@3")
    x, y = (list(quality_of_users(e, NOW, LISTS[0]).values()) for e in (mine, theirs))
    error = math.hypot(stats.sem(x), stats.sem(y))
    half = stats.t.ppf(0.975, min(len(x), len(y)) - 1) * error
    assert found.raw_high - found.raw_low == pytest.approx(2 * half, rel=0.01)


def test_a_reference_from_another_log_with_other_codes_gives_the_same() -> None:
    events = history(11)
    whole, early = log_of(events), log_of([e for e in reversed(events) if e[2] <= BEFORE])
    now = whole.at(NOW)
    assert whole.users.to_list()[: len(early.users)] != early.users.to_list()
    one, other = (
        explain_change(ranked(now), ranked(before), us.fit_weights(now, before), quality="hit@3")
        for before in (whole.at(BEFORE), early.at(BEFORE))
    )
    assert figures(other) == pytest.approx(figures(one), rel=1e-9)


def test_users_of_two_logs_are_numbered_by_their_ids() -> None:
    one = us.read_log({"user": ["a", "a", "b"], "item": [1, 2, 1], "time": [1, 1, 1]}).at(1)
    other = us.read_log({"user": ["c", "c", "c", "b"], "item": [1, 2, 3, 1], "time": [1] * 4}).at(1)
    here, there = number_users(one, other)
    names = dict(zip(here.tolist(), one.log.users, strict=True))
    for number, name in zip(there.tolist(), other.log.users, strict=True):
        assert names.setdefault(number, name) == name
    assert sorted(names.values()) == ["a", "b", "c"]
    assert [len(x) for x in number_users(one, one)] == [2, 2]


@pytest.mark.parametrize("users", ["all", "both"])
@pytest.mark.parametrize("min_items", [1, 2])
def test_for_a_constant_list_no_more_than_the_bound_is_left_unexplained(users: str, min_items: int) -> None:
    """Whom the policy leaves out is left out at t0 too, or the two scores would be of other people."""
    log = log_of(history(12, 150))
    now, before = log.at(NOW), log.at(BEFORE)
    weights = us.fit_weights(now, before, users=users, min_items=min_items)
    for items in LISTS:
        found = explain_change(ranked(now, items), ranked(before, items), weights, quality="hit@3")
        assert abs(found.unexplained) <= weights.bound + 1e-9
        assert found.explained + found.unexplained == pytest.approx(found.raw - found.reference, abs=1e-12)


@pytest.mark.parametrize(("users", "min_items"), [("both", 1), ("all", 2), ("both", 2)])
def test_all_three_scores_are_of_the_users_whom_the_policy_leaves_in(users: str, min_items: int) -> None:
    events = history(13, 100)
    log = log_of(events)
    now, before = log.at(NOW), log.at(BEFORE)
    weights = us.fit_weights(now, before, users=users, min_items=min_items)
    found = explain_change(ranked(now), ranked(before), weights, quality="hit@3")
    held = {t: {u: p for u, p in profiles_at(events, t).items() if len(p) >= min_items} for t in (BEFORE, NOW)}
    both = set(held[BEFORE]) & set(held[NOW])
    for at, value in ((BEFORE, found.reference), (NOW, found.raw)):
        quality = quality_of_users(events, at, LISTS[0])
        who = both if users == "both" else set(held[at])
        assert value == pytest.approx(np.mean([quality[u] for u in who]))
    everyone = quality_of_users(events, NOW, LISTS[0])
    assert found.raw != pytest.approx(np.mean(list(everyone.values())), abs=1e-4)


def test_who_has_left_by_now_is_left_out_of_the_reference_date_of_a_cohort() -> None:
    """Everyone has i0 or i1 at first; those with i1 leave, so that of the others i0 is found always."""
    table = {
        "user": [f"u{k}" for k in range(20)] + ["u0", "u2"],
        "item": ["i0", "i1"] * 10 + ["i2", "i2"],
        "time": [0] * 20 + [9, 9],
        "gone": [None, 5] * 10 + [None, None],
    }
    log = us.read_log(table, removed="gone")
    now, before = log.at(NOW), log.at(BEFORE)
    weights = us.fit_weights(now, before, users="both")
    found = explain_change(ranked(now, ["i0"]), ranked(before, ["i0"]), weights, quality="hit@1")
    assert (found.reference, found.weighted, found.raw) == pytest.approx((1, 1, 0.9))
    of_all = explain_change(ranked(now, ["i0"]), ranked(before, ["i0"]), us.fit_weights(now, before))
    assert of_all.reference == pytest.approx(0.5)


def test_samples_of_the_same_seed_are_paired_by_their_draws() -> None:
    log = log_of(history(14, 400, joining=False))
    now, before = log.at(NOW), log.at(BEFORE)
    weights = us.fit_weights(now, before)
    same, other = (
        explain_change(
            ranked(now, weights=[None, weights], sample=900),
            ranked(before, sample=900, seed=seed),
            weights,
            quality="mrr@3",
        )
        for seed in (0, 1)
    )
    assert same.raw_high - same.raw_low < 0.9 * (other.raw_high - other.raw_low)
    widths = [high - low for low, high in (ranked(s, sample=900).score("mrr@3").interval for s in (now, before))]
    assert other.raw_high - other.raw_low == pytest.approx(math.hypot(*widths), rel=0.1)


def test_samples_of_different_sizes_can_be_compared() -> None:
    log = log_of(history(14))
    now, before = log.at(NOW), log.at(BEFORE)
    weights = us.fit_weights(now, before)
    found = explain_change(ranked(now, weights=[None, weights], sample=50), ranked(before, sample=400), weights)
    assert found.raw_low < found.raw - found.reference < found.raw_high


def test_a_sample_is_not_compared_with_all_pairs() -> None:
    log = log_of(history(14))
    now, before = log.at(NOW), log.at(BEFORE)
    with pytest.raises(PolicyError, match="one date was sampled"):
        explain_change(ranked(now), ranked(before, sample=50), us.fit_weights(now, before))


CHANGE = Change(
    recommender="popular",
    quality="hit@5",
    reference=0.20,
    raw=0.45,
    weighted=0.21,
    explained=0.24,
    unexplained=0.01,
    low=-0.005,
    high=0.025,
    raw_low=0.23,
    raw_high=0.27,
)


def test_a_change_in_words_says_what_is_explained_and_what_is_not() -> None:
    assert str(CHANGE) == (
        "popular, hit@5: the score rose by 25.00 points [+23.00, +27.00]: +24.00 explained by the item mix, "
        "+1.00 [-0.50, +2.50] not explained by it"
    )
    fallen = replace(CHANGE, reference=0.5, unexplained=-0.29)
    assert "the score fell by 5.00 points" in str(fallen)
    assert "-29.00" in str(fallen)
    assert "the score did not change [" in str(replace(CHANGE, reference=0.45))


def test_a_change_claims_nothing_to_be_real_or_true_or_better() -> None:
    words = str(CHANGE).replace(",", " ").split()
    assert not {"real", "really", "true", "truly", "better", "worse", "caused", "because"} & set(words)


def test_repetitions_give_a_change_other_intervals_and_nothing_else() -> None:
    rng = np.random.default_rng(0)
    now, raw, before = (rng.normal(mean, 0.01, 50) for mean in (0.21, 0.45, 0.20))
    found = refit_change(CHANGE, now, raw, before)
    half = stats.t.ppf(0.975, 50) * np.sqrt(np.mean((now - before - 0.01) ** 2))
    assert (found.low, found.high) == pytest.approx((0.01 - half, 0.01 + half))
    raw_half = stats.t.ppf(0.975, 50) * np.sqrt(np.mean((raw - before - 0.25) ** 2))
    assert (found.raw_low, found.raw_high) == pytest.approx((0.25 - raw_half, 0.25 + raw_half))
    assert found.method == "bootstrap"
    told, was = found.to_dict(), CHANGE.to_dict()
    assert {name for name in told if told[name] != was[name]} == {"low", "high", "raw_low", "raw_high", "method"}
    assert json.loads(json.dumps(found.to_dict()))["explained"] == 0.24
