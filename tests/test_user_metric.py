"""Metrics of users: one list against all that is held out of a user, as trec_eval has it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import pytrec_eval
from hypothesis import given
from hypothesis import strategies as st

import unskew as us
from tests.scoring import Spy, events_of, log_of, stepping, taken
from tests.tables import LAW, late
from tests.test_splits import history
from unskew.errors import InputError, PolicyError
from unskew.evaluation.metric import UserMetric, measure_lists, metric

TREC = {
    "user-hit": "success",
    "user-recall": "recall",
    "user-precision": "P",
    "user-mrr": "recip_rank",
    "user-ndcg": "ndcg_cut",
    "user-map": "map_cut",
}


def trec(held: dict[Any, list[Any]], lists: dict[Any, list[Any]], k: int) -> dict[str, dict[Any, float]]:
    """What trec_eval says of each list against all that is held out."""
    judged = {str(u): {str(i): 1 for i in items} for u, items in held.items()}
    run = {
        str(u): {str(i): -float(r) for r, i in enumerate(lists[u][:k])} for u in held
    }  # recip_rank has no depth
    measures = {name if name == "recip_rank" else f"{name}.{k}" for name in TREC.values()}
    found = pytrec_eval.RelevanceEvaluator(judged, measures).evaluate(run)
    return {
        name: {u: found.get(str(u), {}).get(key if key == "recip_rank" else f"{key}_{k}", 0.0) for u in held}
        for name, key in TREC.items()
    }  # trec_eval leaves out an empty list


@LAW
@given(
    lists=st.lists(
        st.tuples(st.lists(st.integers(0, 14), unique=True, max_size=10),
                  st.lists(st.integers(0, 14), unique=True, min_size=1, max_size=8)),
        min_size=1, max_size=12,
    ),
    k=st.sampled_from([1, 3, 5, 10]),
)  # fmt: skip
def test_lists_have_the_values_of_trec_eval(lists: list[tuple[list[int], list[int]]], k: int) -> None:
    listed, held = ({u: one[n] for u, one in enumerate(lists)} for n in (0, 1))
    expected = trec(held, listed, k)
    pairs = [(u, i) for u, items in held.items() for i in items]
    order = np.random.default_rng(len(pairs)).permutation(len(pairs))
    pairs = [pairs[n] for n in order]
    rank = np.array([1 + listed[u].index(i) if i in listed[u] else 0 for u, i in pairs])
    sought = np.array([7 * u + 3 for u, _ in pairs])
    for name, by_user in expected.items():
        wanted = metric(f"{name}@{k}")
        assert isinstance(wanted, UserMetric)
        found = wanted.of_lists(rank, sought)
        assert found.tolist() == pytest.approx([by_user[u] for u, _ in pairs], abs=1e-12)


@LAW
@given(events=events_of(40, items=8), after=st.integers(0, 7), k=st.sampled_from([1, 2, 4]))
def test_after_a_time_split_they_are_means_over_users_of_what_trec_eval_says(
    events: list[Any], after: int, k: int
) -> None:
    past = taken(events, after)
    held = {u: items for u, items in taken(events, 9, after).items() if u in past}
    log = log_of(events)
    if not held or len(log.items) < 3:
        return
    recommend = stepping(log.items.to_list())
    lists = {u: recommend(list(past[u]), k) for u in held}
    p_user = {u: 1.0 + n for n, u in enumerate(sorted(set(log.users)))}
    snapshot = late(log, 9, p_user=p_user)
    total = sum(p_user[u] for u in held)
    for name, by_user in trec(held, lists, k).items():
        score = us.evaluate(Spy(recommend), snapshot, metric=f"{name}@{k}", after=after)
        assert score.value == pytest.approx(sum(p_user[u] * v for u, v in by_user.items()) / total, abs=1e-12)
        assert score.metric == f"{name}@{k}"
        assert score.users == len(held)
    recall = us.evaluate(Spy(recommend), snapshot, metric=f"hit@{k}", after=after)
    again = us.evaluate(Spy(recommend), snapshot, metric=f"user-recall@{k}", after=after)
    assert recall.metric == f"recall@{k}"
    assert recall.value == pytest.approx(again.value, abs=1e-12)


def test_with_one_item_held_out_they_are_those_of_single_items() -> None:
    log = log_of(history(1))
    ranks = us.rank_held_out("popular", log.at(9), metric=["hit@4", "user-map@4"])
    for name, single in (("hit", "hit"), ("recall", "hit"), ("ndcg", "ndcg"), ("map", "mrr"), ("mrr", "mrr")):
        assert ranks.score(f"user-{name}@4").value == pytest.approx(ranks.score(f"{single}@4").value, abs=1e-12)
    assert ranks.score("user-precision@4").value == pytest.approx(ranks.score("hit@4").value / 4, abs=1e-12)
    assert metric("user-ndcg@3")(np.array([1, 2, 4, 0])).tolist() == pytest.approx([1, 1 / np.log2(3), 0, 0])


def test_items_that_are_held_out_together_are_sought_in_one_list() -> None:
    log = log_of([("a", i, 0) for i in range(4)] + [("b", 0, 0)])
    ranks = us.rank_held_out("constant:0,1,2,3", log.at(0), metric="hit@4", leave_out=2)
    lists = ranks.selection.lists
    by_list = {n: sorted(np.asarray(ranks.ranks)[lists == n].tolist()) for n in set(lists.tolist())}
    assert sorted(map(len, by_list.values())) == [1, 2, 2]
    assert ranks.score("user-hit@1").value == pytest.approx((0.5 + 1) / 2)  # one of the two lists of a, and b's


def test_the_difference_of_two_recommenders_is_one_of_users() -> None:
    log = log_of(history(1))
    ranks = [us.rank_held_out(spec, log.at(9), metric="hit@3", after=6) for spec in ("popular", "constant:9,8,7")]
    found = us.compare(*ranks, metric="user-ndcg@3")[0]
    values = [r.score("user-ndcg@3").value for r in ranks]
    assert found.difference == pytest.approx(values[0] - values[1])
    assert us.compare(*ranks, metric="hit@3")[0].metric == "recall@3"


def test_they_take_no_weights_and_no_samples() -> None:
    log = log_of(history(1))
    weights = us.fit_weights(log.at(9), log.at(4), after=6)
    told = "user-hit@3 is about all held-out items of a user at once.*leave out weights, or .* such as recall@3"
    with pytest.raises(PolicyError, match=told):
        us.evaluate("popular", log.at(9), metric="user-hit@3", after=6, weights=weights)
    with pytest.raises(PolicyError, match="user-hit@3 needs all held-out items of a user: leave out sample"):
        us.evaluate("popular", log.at(9), metric="user-hit@3", after=6, sample=20)
    with pytest.raises(PolicyError, match="leave out sample"):
        us.report(log, "popular", at=9, metric="user-hit@3", sample=20)


def test_a_report_has_their_raw_scores_and_no_change() -> None:
    log = log_of(history(1))
    names = ["hit@3", "user-hit@3"]
    found = us.report(log, ["popular", "constant:1,2"], at=9, reference=4, after=6, metric=names, refit=2)
    assert [(s.metric, s.at, s.weighting) for s in found.scores[:5]] == [
        ("recall@3", 4, "raw"), ("recall@3", 9, "raw"), ("recall@3", 9, "weighted"),
        ("user-hit@3", 4, "raw"), ("user-hit@3", 9, "raw"),
    ]  # fmt: skip
    assert {c.metric for c in found.changes} == {"recall@3"}
    assert {(c.metric, c.weighting) for c in found.comparisons} == {
        ("recall@3", "raw"), ("recall@3", "weighted"), ("user-hit@3", "raw"),
    }  # fmt: skip
    alone = us.report(log, "popular", at=9, reference=4, after=6, metric="user-hit@3", refit=2)
    assert [s.weighting for s in alone.scores] == ["raw", "raw"]
    assert alone.changes == []


def test_a_segment_holds_whole_users_or_is_refused() -> None:
    rows = [(u, i, t) for u, i, t in history(1)]
    table = {"user": [r[0] for r in rows], "item": [r[1] for r in rows], "time": [r[2] for r in rows],
             "land": [r[0][-1] for r in rows], "kind": [str(r[1] % 2) for r in rows]}  # fmt: skip
    log = us.read_log(table, labels=["land", "kind"])
    ranks = us.rank_held_out("popular", log.at(9), metric="hit@3", after=6)
    by_land = {s.segment: (s.value, s.users) for s in ranks.by_segment("land", "user-hit@3")}
    whole = ranks.score("user-hit@3")
    assert sum(v * n for v, n in by_land.values()) / whole.users == pytest.approx(whole.value)
    with pytest.raises(
        PolicyError, match=r"about all held-out items of a user, but those of user .* several segments"
    ):
        ranks.by_segment("kind", "user-hit@3")


@pytest.mark.parametrize(
    ("given_names", "several", "names"),
    [
        (
            ["hit@5", "mrr@5", "map@3", "ndcg@2", "rbp@4"],
            True,
            ["recall@5", "item-mrr@5", "item-mrr@3", "item-ndcg@2", "item-rbp@4"],
        ),
        (["hit", "HIT@2", "user-hit@5"], True, ["recall", "recall@2", "user-hit@5"]),
        (["rbp(0.9)@4", "rr", "item-mrr@5"], True, ["item-rbp(0.9)@4", "item-mrr", "item-mrr@5"]),
        (["item-mrr@5", "item-hit@5"], False, ["mrr@5", "hit@5"]),
        (["hit@5", "recall@5", "map@3"], False, ["hit@5", "recall@5", "map@3"]),
    ],
)
def test_names_say_what_is_measured_where_several_items_are_sought(
    given_names: list[str], several: bool, names: list[str]
) -> None:
    assert [metric(name).rename(several=several).name for name in given_names] == names


def test_two_names_for_one_thing_are_one_too_many() -> None:
    log = log_of(history(1))
    with pytest.raises(InputError, match="metric 'recall@5' is given twice"):
        us.report(log, "popular", at=9, after=6, metric=["hit@5", "recall@5"])


@pytest.mark.parametrize("name", ["user-bpref@5", "user-rbp@5", "user-", "user-hit(0.5)@5"])
def test_a_metric_of_users_that_there_is_not_is_refused(name: str) -> None:
    with pytest.raises(InputError, match=r"there is no metric .*user-hit, user-recall"):
        metric(name)


def test_no_pairs_have_no_values() -> None:
    nothing = np.array([], dtype=np.int64)
    assert all(len(measure_lists(name.removeprefix("user-"), nothing, nothing, 3)) == 0 for name in TREC)
