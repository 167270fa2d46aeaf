"""Scores against loops over dicts: weights, priors, policies, both protocols, segments, samples, diagnostics."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import pytrec_eval
from hypothesis import given
from hypothesis import strategies as st

import unskew as us
from tests.dense import Event, about, random_events
from tests.scoring import (
    Lists,
    Pair,
    Profiles,
    Spy,
    events_of,
    hit,
    log_of,
    mrr,
    ndcg,
    pair_shares,
    place,
    rbp,
    score_by_hand,
    stepping,
    taken,
    weights_of,
)
from tests.tables import LAW, late
from unskew.arrays.types import Codes
from unskew.data import Recency
from unskew.errors import EmptyError, InputError, PolicyError
from unskew.evaluation import Score
from unskew.recommend import Batch

METRICS: dict[str, Callable[[int], float]] = {
    "hit@2": hit(2),
    "mrr@3": mrr(3),
    "ndcg@3": ndcg(3),
    "rbp@4": rbp(4),
    "recall@1": hit(1),
    "map@5": mrr(5),
}


def world(seed: int = 0, users: int = 30, items: int = 8) -> list[Event]:
    """A random history in which items are whole numbers, so that `stepping` can recommend them."""
    events = random_events(np.random.default_rng(seed), users, items)
    return [(user, int(item[1:]), time) for user, item, time in events]


def relative(weights: us.ItemWeights) -> Callable[[Any], float]:
    """A weight for each item from fitted weights, whatever their scale."""
    known = dict(zip(weights.items.to_pylist(), weights.weights.tolist(), strict=True))
    unknown = 0.0 if weights.options.new_items == "drop" else 1.0
    return lambda item: float(known.get(item, unknown))


@LAW
@given(events=events_of(), weight=weights_of(), name=st.sampled_from(sorted(METRICS)))
def test_the_score_is_the_weighted_sum_over_all_pairs(
    events: list[Event], weight: dict[int, float], name: str
) -> None:
    log, held = log_of(events), taken(events)
    if len(log.items) < 3:
        return
    recommend, own = stepping(log.items.to_list()), {i: weight[i] for i in log.items}
    for given_weights, shares in ((None, pair_shares(held)), (own, pair_shares(held, lambda i: weight[i]))):
        if not shares:
            with pytest.raises(EmptyError, match="nobody holds anything"):
                us.evaluate(recommend, late(log, 9), weights=given_weights)
            continue
        score = us.evaluate(recommend, late(log, 9), weights=given_weights, metric=name)
        k = int(name.split("@")[1])
        assert score.value == pytest.approx(score_by_hand(held, recommend, METRICS[name], k, shares), abs=1e-12)
        assert (score.pairs, score.users) == (len(shares), len({u for u, _ in shares}))


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_priors_of_users_and_items_enter_the_score(seed: int) -> None:
    events = world(seed)
    log, held = log_of(events), taken(events)
    importance = {u: 1.0 + k % 3 for k, u in enumerate(sorted(log.users))}
    first = {(u, i): min(t for v, j, t in events if (v, j) == (u, i)) for u in held for i in held[u]}
    newest = {u: max(first[u, i] for i in held[u]) for u in held}
    shares = pair_shares(
        held, p_user=importance.__getitem__, p_item=lambda u, i: 0.5 ** ((newest[u] - first[u, i]) / 3)
    )
    recommend = stepping(log.items.to_list())
    snapshot = log.at(9, p_user=importance, p_item=Recency(3))
    for name, metric in METRICS.items():
        expected = score_by_hand(held, recommend, metric, int(name.split("@")[1]), shares)
        assert us.evaluate(recommend, snapshot, metric=name).value == pytest.approx(expected, abs=1e-12)


def part_by_hand(events: list[Event], weight: Callable[[Any], float], m: int, both: bool) -> dict[Any, list[Any]]:
    """Who takes part at 9 under the policies of weights that were fitted to 4."""
    before = {u for u, items in taken(events, 4).items() if len(items) >= m}
    now = {u: items for u, items in taken(events).items() if len(items) >= m}
    return {
        u: items for u, items in now.items() if any(weight(i) > 0 for i in items) and (u in before or not both)
    }


@pytest.mark.parametrize("new_items", ["drop", "keep"])
@pytest.mark.parametrize("min_items", [1, 2])
@pytest.mark.parametrize("users", ["all", "both"])
def test_the_policies_of_the_weights_apply_and_who_they_leave_out_is_reported(
    new_items: str, min_items: int, users: str
) -> None:
    events = [*world(5, 40, 12), ("late", 99, 8), ("late", 98, 9), ("lone", 97, 9)]
    log, held = log_of(events), taken(events)
    weights = us.fit_weights(log.at(9), log.at(4), new_items=new_items, min_items=min_items, users=users)
    part = part_by_hand(events, relative(weights), min_items, users == "both")
    assert (len(part) < len(held)) == ((new_items, min_items, users) != ("keep", 1, "all"))
    shares = pair_shares(part, relative(weights))
    recommend = stepping(log.items.to_list())
    score = us.evaluate(recommend, log.at(9), weights=weights, metric="mrr@3", min_items=min_items)
    assert score.value == pytest.approx(score_by_hand(held, recommend, mrr(3), 3, shares), abs=1e-12)
    assert (score.pairs, score.users) == (len(shares), len(part))
    enough = sum(len(items) >= min_items for items in held.values())
    held_out, few = enough - len(part), len(held) - enough
    assert (score.users_excluded.count, score.users_below_min_items.count) == (held_out, few)
    assert weights.report.users_excluded.count == held_out + few
    assert score.users_excluded.mass == pytest.approx(held_out / enough, abs=1e-12)
    assert score.users_below_min_items.mass == pytest.approx(few / len(held), abs=1e-12)
    raw = us.evaluate(recommend, log.at(9), metric="mrr@3", min_items=min_items)
    assert (raw.users, raw.users_excluded.count, raw.users_below_min_items.count) == (enough, 0, few)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("name", ["hit@3", "mrr@4", "ndcg@5", "rbp@5"])
def test_a_constant_list_scores_its_items_by_their_share(seed: int, name: str) -> None:
    events = world(seed)
    log = log_of(events)
    now = log.at(9, p_user={u: 1 + k % 2 for k, u in enumerate(log.users)})
    before = log.at(4, p_user=np.array([1 + k % 2 for k in range(len(log.users))]))
    listed = [int(i) for i in np.random.default_rng(seed).permutation(log.items.to_list())[:5]]
    metric = {"hit@3": hit(3), "mrr@4": mrr(4), "ndcg@5": ndcg(5), "rbp@5": rbp(5)}[name]
    for weights in (None, us.fit_weights(now, before), us.fit_weights(now, before, top=3, method="descent")):
        q = now.probabilities(weights)
        expected = sum(q[log.items.codes([i])[0]] * metric(place(listed, i)) for i in listed)
        assert us.evaluate(us.Constant(listed), now, weights=weights, metric=name).value == pytest.approx(
            expected, abs=1e-12
        )
        lists = us.rank_held_out(us.Constant(listed), now, metric=[name], leave_out=2)  # not by its own ranks
        assert lists.score(name, weights).value == pytest.approx(expected, abs=1e-12)


def test_after_weighting_a_constant_scores_as_at_the_reference_up_to_the_bound() -> None:
    log = log_of(world(3, 60))
    weights = us.fit_weights(log.at(9), log.at(4))
    for item in log.at(4).marginal().to_dict():
        before = us.evaluate(us.Constant([item]), log.at(4), metric="hit@1").value
        now = us.evaluate(us.Constant([item]), log.at(9), weights=weights, metric="hit@1").value
        assert abs(now - before) <= weights.worst(1) + 1e-12


@LAW
@given(events=events_of(), a=st.floats(-2, 2), b=st.floats(-2, 2), weight=weights_of())
def test_the_score_is_linear_in_the_metric(
    events: list[Event], a: float, b: float, weight: dict[int, float]
) -> None:
    log = log_of(events)
    own = {i: weight[i] + 0.1 for i in log.items}
    if len(log.items) < 3:
        return
    ranks = us.rank_held_out(stepping(log.items.to_list()), late(log, 9), metric=["hit@3", "mrr@3"])
    one, other = us.Metric("f", lambda r, _: r > 0, 3), us.Metric("g", lambda r, _: np.sin(r), 3)
    both = us.Metric("af+bg", lambda r, _: a * (r > 0) + b * np.sin(r), 3)
    combined = a * ranks.score(one, own).value + b * ranks.score(other, own).value
    assert ranks.score(both, own).value == pytest.approx(combined, abs=1e-12)


@LAW
@given(events=events_of(), scale=st.sampled_from([1e-300, 0.3, 1.0, 1e300]))
def test_equal_weights_of_any_scale_are_no_weights(events: list[Event], scale: float) -> None:
    log = log_of(events)
    if len(log.items) < 3:
        return
    ranks = us.rank_held_out(stepping(log.items.to_list()), late(log, 9))
    raw, weighted = ranks.score("hit@5"), ranks.score("hit@5", dict.fromkeys(log.items, scale))
    assert weighted.value == pytest.approx(raw.value, abs=1e-12)
    assert (raw.weighting, weighted.weighting) == ("raw", "weighted")
    assert (weighted.pairs, weighted.users, weighted.users_excluded) == (raw.pairs, raw.users, raw.users_excluded)
    assert weighted.interval == pytest.approx(raw.interval, nan_ok=True)


def test_the_order_of_rows_and_the_names_of_ids_do_not_matter() -> None:
    events = world(8)
    found = set()
    for seed in range(3):
        rng = np.random.default_rng(seed)
        rows = [events[k] for k in rng.permutation(len(events))]
        table = {"user": [r[0] for r in rows], "item": [r[1] for r in rows], "time": [r[2] for r in rows]}
        log = us.read_log(table)
        weights = us.fit_weights(log.at(9), log.at(4))
        score = us.evaluate(stepping(log.items.to_list()), log.at(9), weights=weights, metric="ndcg@3")
        found.add((score.value, score.low, score.high, score.effective_pairs, score.largest_item))
    assert len(found) == 1


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_the_same_bits_for_any_number_of_threads(monkeypatch: pytest.MonkeyPatch, threads: int) -> None:
    rng = np.random.default_rng(1)
    item = (60 * rng.random(50_000) ** 2).astype(int)
    log = us.read_log({"user": rng.integers(0, 4000, 50_000), "item": item, "time": rng.integers(0, 10, 50_000)})

    def scores() -> list[Score]:
        weights = us.fit_weights(log.at(9), log.at(4))
        ranks = us.rank_held_out("popular", log.at(9), metric="mrr@10")
        drawn = us.evaluate("knn", log.at(9), weights=weights, metric="hit@5", sample=300)
        return [ranks.score("mrr@10"), ranks.score("mrr@10", weights), drawn]

    monkeypatch.setenv("UNSKEW_THREADS", "3")
    expected = scores()
    monkeypatch.setenv("UNSKEW_THREADS", str(threads))
    assert scores() == expected


class RandomLists:
    """Random lists of random lengths, kept as text for trec_eval."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.lists: list[list[int]] = []

    def fit(self, snapshot: us.Snapshot, /) -> RandomLists:
        return self

    def recommend(self, profiles: Batch, k: int, /) -> Codes:
        out = np.full((len(profiles), k), -1, dtype=np.int64)
        for row in range(len(profiles)):
            free = np.setdiff1d(np.arange(profiles.n_items), profiles.profile(row))
            listed = self.rng.permutation(free)[: self.rng.integers(0, k + 1)]
            out[row, : len(listed)] = listed
            self.lists.append(listed.tolist())
        return out


def test_whole_runs_have_the_values_of_trec_eval() -> None:
    rng = np.random.default_rng(0)
    log = log_of([(u, int(i), 0) for u in range(400) for i in rng.choice(40, 8, replace=False)])
    model = RandomLists(1)
    names = ["hit@5", "recall@10", "ndcg@10", "map@10", "mrr@20"]
    ranks = us.rank_held_out(model, log.at(0), metric=names)
    assert len(ranks) == len(model.lists) == 3200
    judged = {str(q): {str(item): 1} for q, item in enumerate(ranks.selection.pairs.item)}
    run = {str(q): {str(i): -float(r) for r, i in enumerate(row)} for q, row in enumerate(model.lists)}
    measures = {"success.5", "recall.10", "ndcg_cut.10", "map_cut.10", "recip_rank"}
    found = pytrec_eval.RelevanceEvaluator(judged, measures).evaluate(run)
    for name, key in zip(
        names, ["success_5", "recall_10", "ndcg_cut_10", "map_cut_10", "recip_rank"], strict=True
    ):
        expected = np.array([found.get(str(q), {}).get(key, 0.0) for q in range(len(ranks))])
        np.testing.assert_array_equal(ranks.values(name), expected)
        assert ranks.score(name).value == pytest.approx(expected.mean(), abs=1e-12)  # all profiles have 8 items


def test_one_ranking_is_scored_under_any_metric_and_weights() -> None:
    log = log_of(world(4))
    spy = Spy(stepping(log.items.to_list()))
    ranks = us.rank_held_out(spy, log.at(9), metric=["rank<=1,3", "mrr@2"])
    before = len(spy.seen)
    assert [s.metric for s in ranks.scores(["rank<=1,3", "mrr@2"])] == ["hit@1", "hit@3", "mrr@2"]
    values = [s.value for s in ranks.scores("rank<=1,2,3")]
    assert values == sorted(values)
    for name in ("hit@2", "ndcg@3"):
        alone = us.evaluate(stepping(log.items.to_list()), log.at(9), metric=name)
        ranked = replace(ranks.score(name), recommender="", exact=None, held_out="")
        assert ranked == replace(alone, recommender="", exact=None, held_out="")  # a function learns elsewhere
    assert len(spy.seen) == before
    with pytest.raises(PolicyError, match="down to 3, but hit@4 looks down to 4"):
        ranks.score("hit@4")
    with pytest.raises(InputError, match="where one metric is asked for"):
        ranks.score("rank<=1,2")


def test_grades_reach_a_metric_of_ones_own() -> None:
    log = log_of([("a", 0, 0), ("a", 1, 1), ("b", 1, 0)])

    class Graded(Spy):
        def grades(self, profiles: Batch, items: Codes) -> Any:
            assert self.snapshot is not None
            return 10.0 * np.diff(profiles.start) + np.array(self.snapshot.log.items.take(items).to_pylist())

    def mine(rank: Any, grade: Any) -> Any:
        return grade + 100 * rank

    model = Graded(lambda profile, k: [i for i in (0, 1) if i not in profile])
    # a without 0: rank 1, grade 10; a without 1: rank 1, grade 11; b without 1: rank 2, grade 1
    score = us.evaluate(model, log.at(1), metric=mine)
    assert score.metric == "mine"
    assert score.value == pytest.approx(0.25 * 110 + 0.25 * 111 + 0.5 * 201)


def test_a_metric_that_needs_grades_says_that_there_are_none() -> None:
    log = log_of([("a", 0, 0), ("a", 1, 1)])
    with pytest.raises(InputError, match="the recommender gives no grade"):
        us.evaluate("popular", log.at(1), metric=us.Metric("own", lambda r, g: g, needs_grades=True))


# leaving out several, and the time split


@pytest.mark.parametrize("together", [2, 3, 10])
def test_items_left_out_together_are_all_missing_from_the_profile(together: int) -> None:
    events = world(2)
    log, held = log_of(events), taken(events)
    spy = Spy(stepping(log.items.to_list()))
    score = us.evaluate(spy, log.at(9), metric="hit@3", leave_out=together, seed=5)
    ranks = us.rank_held_out(stepping(log.items.to_list()), log.at(9), metric="hit@3", leave_out=together, seed=5)
    pairs = [
        (log.users[int(u)], log.items[int(ranks.snapshot.profiles.item[e])])
        for u, e in zip(ranks.users, ranks.entries, strict=True)
    ]
    shares = pair_shares(held)
    total = 0.0
    for (user, item), (seen, left) in zip(pairs, spy.seen, strict=True):
        assert user == seen
        assert item not in left
        assert max(0, len(held[user]) - together) <= len(left) < len(held[user])
        total += shares[user, item] * hit(3)(place(stepping(log.items.to_list())(left, 3), item))
    assert score.value == pytest.approx(total, abs=1e-12)


def test_leaving_out_one_at_a_time_is_the_default() -> None:
    log = log_of(world(2))
    recommend = stepping(log.items.to_list())
    assert us.evaluate(recommend, log.at(9)) == us.evaluate(recommend, log.at(9), leave_out=1, seed=3)


def after_by_hand(
    events: list[Event], after: int, recommend: Lists, k: int, shares: Mapping[Pair, float]
) -> float:
    past: Profiles = taken(events, after)
    return sum(share * mrr(k)(place(recommend(list(past[u]), k), i)) for (u, i), share in shares.items())


@LAW
@given(events=events_of(40), after=st.integers(0, 7), at=st.integers(2, 9), weight=weights_of())
def test_after_a_time_later_items_are_sought_from_the_profile_of_then(
    events: list[Event], after: int, at: int, weight: dict[int, float]
) -> None:
    past, whole = taken(events, after), taken(events, at, after)
    pairs = {u: items for u, items in whole.items() if u in past}
    log = log_of(events)
    if len(log.items) < 3 or not pairs:
        return
    recommend = stepping(log.items.to_list())
    for given_weights, shares in (
        (None, pair_shares(pairs)),
        ({i: weight[i] for i in log.items}, pair_shares(pairs, lambda i: weight[i])),
    ):
        if not shares:
            continue
        spy = Spy(recommend)
        score = us.evaluate(spy, late(log, at), weights=given_weights, metric="mrr@3", after=after)
        assert score.value == pytest.approx(after_by_hand(events, after, recommend, 3, shares), abs=1e-12)
        assert (score.pairs, score.users) == (len(shares), len({u for u, _ in shares}))
        assert score.users_excluded.count == len(pairs) - len({u for u, _ in shares})
        assert score.users_without_profile.count == len(whole) - len(pairs)
        assert spy.snapshot is not None
        assert spy.snapshot.tick == after
        assert {u: set(spy.snapshot.profile(u)) for u in past} == {u: set(items) for u, items in past.items()}
        assert all(set(profile) == set(past[user]) for user, profile in spy.seen)


def test_after_a_time_users_without_a_profile_are_counted_with_their_share() -> None:
    log = log_of([("old", 0, 0), ("old", 1, 5), ("new", 1, 5), ("new", 2, 6), ("idle", 2, 1)])
    snapshot = log.at(6, p_user={"old": 1, "new": 3, "idle": 7})
    score = us.evaluate("popular", snapshot, after=2)
    assert (score.pairs, score.users) == (1, 1)
    assert score.users_without_profile == about(1, 0.75)
    assert score.users_excluded == about(0, 0)


def test_after_a_time_fitted_weights_bring_a_constant_to_the_reference() -> None:
    log = log_of(world(6, 80))
    weights = us.fit_weights(log.at(9), log.at(4), after=6)
    for item in log.items:
        here = us.evaluate(us.Constant([item]), log.at(9), weights=weights, metric="hit@1", after=6).value
        there = us.evaluate(us.Constant([item]), log.at(4), metric="hit@1", after=1).value
        assert abs(here - there) <= weights.worst(1) + 1e-12


def test_nothing_later_changes_what_is_recommended_after_a_time() -> None:
    events = world(7, 40)
    late_ones = [*events, *((u, i, 9) for u in ("x", "y", "z") for i in range(6))]
    found = []
    for rows in (events, late_ones):
        log = log_of(rows)
        ranks = us.rank_held_out("popular", log.at(8), metric="hit@8", after=4)
        found.append(
            {
                (log.users[int(u)], log.items[int(ranks.snapshot.profiles.item[e])]): int(r)
                for u, e, r in zip(ranks.users, ranks.entries, ranks.ranks, strict=True)
            }
        )
    assert found[0] == found[1]


# samples


def test_a_sample_has_the_mean_of_its_draws_and_estimates_the_whole() -> None:
    log = log_of(world(9, 40))
    recommend = stepping(log.items.to_list())
    weights = us.fit_weights(log.at(9), log.at(4))
    ranks = us.rank_held_out(recommend, log.at(9), metric="mrr@3")
    values = dict(zip(ranks.entries.tolist(), ranks.values("mrr@3").tolist(), strict=True))
    for w in (None, weights):
        whole = ranks.score("mrr@3", w).value
        found = []
        for seed in range(60):
            score = us.evaluate(recommend, log.at(9), weights=w, metric="mrr@3", sample=200, seed=seed)
            assert (score.pairs, score.method) == (200, "draws")
            found.append(score.value)
        error = np.std(found, ddof=1) / math.sqrt(len(found))
        assert abs(np.mean(found) - whole) < 4 * error
        assert len(set(found)) > 30
    assert set(values.values()) >= {0.0, 1.0}


def test_a_sample_of_hits_is_a_proportion() -> None:
    log = log_of(world(9, 40))
    score = us.evaluate("popular", log.at(9), metric="hit@3", sample=50, seed=1)
    assert score.method == "draws"
    assert score.value * 50 == pytest.approx(round(score.value * 50), abs=1e-9)
    assert 0 <= score.low < score.value < score.high <= 1
    assert score == us.evaluate("popular", log.at(9), metric="hit@3", sample=50, seed=1)


def test_a_sample_is_ranked_only_where_it_was_drawn() -> None:
    log = log_of(world(9, 200))
    weights = us.fit_weights(log.at(9), log.at(4))
    few = us.rank_held_out("popular", log.at(9), weights=[None, weights], sample=20)
    assert len(few) <= 40 < len(us.rank_held_out("popular", log.at(9)))
    assert few.score("hit@5", weights).pairs == few.score("hit@5").pairs == 20
    with pytest.raises(PolicyError, match="were not named when the sample was drawn"):
        us.rank_held_out("popular", log.at(9), sample=500).score("hit@5", {0: 1e-9, 1: 1e-9, 2: 1e-9})
    with pytest.raises(PolicyError, match="only a sample was ranked"):
        few.by_segment(few.snapshot.profiles.item)


# diagnostics and segments


@LAW
@given(events=events_of(), weight=weights_of())
def test_diagnostics_are_those_of_the_probabilities(events: list[Event], weight: dict[int, float]) -> None:
    log = log_of(events)
    shares = pair_shares(taken(events), lambda i: weight[i])
    if not shares:
        return
    score = us.evaluate("popular", late(log, 9), weights={i: weight[i] for i in log.items})
    assert score.effective_pairs == pytest.approx(1 / sum(p * p for p in shares.values()), rel=1e-10)
    by_item = [sum(p for (_, j), p in shares.items() if j == i) for i in log.items]
    assert score.largest_item == pytest.approx(max(by_item), rel=1e-10)
    assert score.users_excluded.count == len(taken(events)) - len({u for u, _ in shares})


def test_as_many_pairs_count_as_there_are_when_all_count_the_same() -> None:
    log = log_of([(u, i, 0) for u in range(5) for i in range(4)])
    score = us.evaluate("popular", log.at(0))
    assert score.pairs == 20
    assert score.effective_pairs == pytest.approx(20)
    assert score.largest_item == pytest.approx(0.25)


@LAW
@given(
    events=events_of(),
    weight=weights_of(),
    label=st.fixed_dictionaries({i: st.sampled_from("xyz") for i in range(6)}),
)
def test_segments_are_scores_of_their_own_pairs_and_recombine(
    events: list[Event], weight: dict[int, float], label: dict[int, str]
) -> None:
    log, held = log_of(events), taken(events)
    shares = pair_shares(held, lambda i: weight[i])
    if not shares or len(log.items) < 3:
        return
    recommend, own = stepping(log.items.to_list()), {i: weight[i] for i in log.items}
    ranks = us.rank_held_out(recommend, late(log, 9), metric="mrr@3")
    texts = np.array([label[log.items[int(i)]] for i in ranks.snapshot.profiles.item])
    found = {s.segment: s for s in ranks.by_segment(texts, "mrr@3", own)}
    total = 0.0
    for name in "xyz":
        mine = {pair: p for pair, p in shares.items() if label[pair[1]] == name}
        mass = sum(mine.values())
        assert (name in found) == (mass > 0)
        if mass > 0:
            expected = score_by_hand(held, recommend, mrr(3), 3, mine) / mass
            assert found[name].value == pytest.approx(expected, abs=1e-12)
            assert (found[name].pairs, found[name].users) == (len(mine), len({u for u, _ in mine}))
            squares = sum(p * p for p in mine.values())
            assert found[name].effective_pairs == pytest.approx(mass**2 / squares, rel=1e-10)
            largest = max(sum(p for (_, j), p in mine.items() if j == i) for i in log.items)
            assert found[name].largest_item == pytest.approx(largest / mass, rel=1e-10)
            total += mass * found[name].value
    assert list(found) == sorted(found, key=str)
    assert total == pytest.approx(ranks.score("mrr@3", own).value, abs=1e-12)


def test_labels_of_another_length_are_refused() -> None:
    ranks = us.rank_held_out("popular", log_of(world(1)).at(9))
    with pytest.raises(InputError, match="give one for each of the"):
        ranks.by_segment(np.array(["x", "y"]))


def test_one_segment_is_the_score() -> None:
    ranks = us.rank_held_out("popular", log_of(world(1)).at(9))
    [alone] = ranks.by_segment(np.zeros(len(ranks.snapshot.profiles.item), dtype=int))
    assert replace(alone, segment=None) == ranks.score()
    assert alone.segment == "0"


# edges and refusals


def test_one_user_with_one_item_has_a_score_and_no_interval() -> None:
    log = log_of([("a", "x", 0)])
    score = us.evaluate(us.Constant(["x"]), log.at(0), metric="hit@100")
    assert (score.value, score.pairs, score.users) == (1.0, 1, 1)
    assert math.isnan(score.low)
    assert us.evaluate(lambda profile, k: [], log.at(0)).value == 0


def test_a_depth_beyond_the_catalogue_is_the_whole_catalogue() -> None:
    log = log_of(world(1))
    recommend = stepping(log.items.to_list())
    deep, whole = (us.evaluate(recommend, log.at(9), metric=f"ndcg@{k}").value for k in (10_000, len(log.items)))
    assert deep == whole


def test_what_was_scored_is_told() -> None:
    log = log_of(world(1))
    weights = us.fit_weights(log.at(9), log.at(4), top=3, method="descent")
    score = us.evaluate("popular", log.at(9), weights=weights, metric="recall@3", level=0.9)
    told = (score.recommender, score.metric, score.view, score.weighting, score.top, score.at, score.level)
    assert told == ("popular", "recall@3", "all", "weighted", 3, 9, 0.9)
    assert score.interval == (score.low, score.high)
    assert "popular, recall@3 at 9, weighted" in repr(score)
    row = score.to_dict()
    assert row["users_excluded"] == {"count": score.users_excluded.count, "mass": score.users_excluded.mass}
    assert "segment" not in row


def test_weights_of_another_policy_are_refused_before_anything_is_ranked() -> None:
    log = log_of(world(1))
    weights = us.fit_weights(log.at(9), log.at(4))
    spy = Spy(stepping(log.items.to_list()))
    with pytest.raises(PolicyError, match="was made with p_item='uniform', not "):
        us.evaluate(spy, log.at(9, p_item=Recency(3)), weights=weights)
    assert (spy.snapshot, spy.seen) == (None, [])


def test_weights_under_which_nobody_takes_part_are_refused() -> None:
    log = log_of([*world(1), ("solo", 77, 9)])
    weights = us.fit_weights(log.at(9), log.at(4))
    alone = log.at(9).restrict(np.array([u == "solo" for u in log.users]))
    with pytest.raises(EmptyError, match="nobody is evaluated at 9 under these weights"):
        us.evaluate("popular", alone, weights=weights)
    with pytest.raises(EmptyError, match="nobody is evaluated at 9 under these weights"):
        us.evaluate("popular", alone, weights=weights, sample=10)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"sample": 0}, "sample is 0"),
        ({"leave_out": 0}, "leave_out is 0"),
        ({"level": 2}, "level of an interval must lie between 0 and 1"),
        ({"level": 0}, "level of an interval must lie between 0 and 1"),
        ({"metric": "hits@5"}, "did you mean hit@5"),
        ({"metric": [5]}, "a Metric or a function"),
        ({"after": 3, "leave_out": 2}, "not hold out from profiles"),
        ({"after": 9}, "after=9 is not before at=9"),
        ({"after": -1}, "nothing had happened yet at -1"),
        ({"weights": 3.5}, "give fitted weights, a mapping"),
        ({"weights": {"nothing": 1.0}}, "the log has no item 'nothing'"),
    ],
)
def test_what_cannot_be_evaluated_is_refused_before_the_work(options: dict[str, Any], told: str) -> None:
    log = log_of(world(1))
    spy = Spy(stepping(log.items.to_list()))
    with pytest.raises(InputError, match=told):
        us.evaluate(spy, log.at(9), **options)
    assert (spy.snapshot, spy.seen) == (None, [])


def test_the_repr_of_ranks_tells_what_they_are() -> None:
    assert repr(us.rank_held_out("popular", log_of([("a", 0, 0), ("a", 1, 0)]).at(0))) == (
        "HeldOutRanks(popular at 0: 2 pairs, down to rank 5)"
    )


@pytest.mark.parametrize("seed", [-1, 1.5, "x", True, None])
@pytest.mark.parametrize("more", [{}, {"sample": 10}, {"folds": 2}])
def test_a_seed_that_is_none_is_refused_whether_it_is_used_or_not(seed: Any, more: dict[str, Any]) -> None:
    log = us.read_log({"user": [1, 1, 2, 2], "item": [1, 2, 1, 3], "time": [1, 1, 1, 1]})
    with pytest.raises(us.UnskewError, match=r"^seed is .* a whole number of at least 0"):
        us.evaluate("popular", log.at(1), seed=seed, **more)
