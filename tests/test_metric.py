"""Metrics: values that trec_eval gives, names that people use, and functions of one's own."""

from __future__ import annotations

from typing import Any

import ir_measures
import numpy as np
import numpy.typing as npt
import pytest
import pytrec_eval
from hypothesis import given
from hypothesis import strategies as st

import unskew as us
from tests.scoring import mrr, ndcg
from tests.tables import LAW
from unskew.errors import InputError
from unskew.evaluation.metric import metric, metrics

DEEP = 60
"""How long the lists are."""


def runs(seed: int, n: int = 3000) -> npt.NDArray[np.int64]:
    """Ranks of one relevant document in each of n lists; 0 where it is not listed."""
    rng = np.random.default_rng(seed)
    return np.where(rng.random(n) < 0.1, 0, np.ceil(DEEP * rng.random(n) ** 2)).astype(np.int64)


def trec(ranks: npt.NDArray[np.int64], measure: str, cut: int = DEEP) -> npt.NDArray[np.float64]:
    """What trec_eval says of lists of `cut` documents in which the relevant one stands at these ranks."""
    judged, listed = {}, {}
    for q, rank in enumerate(ranks.tolist()):
        judged[str(q)] = {"d": 1}
        names = ["d" if r == rank else f"x{r}" for r in range(1, cut + 1)]
        listed[str(q)] = {name: float(cut - r) for r, name in enumerate(names)}
    found = pytrec_eval.RelevanceEvaluator(judged, {measure}).evaluate(listed)
    key = measure.replace(".", "_")
    return np.array([found[str(q)][key] for q in range(len(ranks))])


@pytest.mark.parametrize("k", [1, 3, 5, 10, 50])
@pytest.mark.parametrize(
    ("name", "measure"),
    [
        ("hit", "success"),
        ("hit", "recall"),
        ("recall", "recall"),
        ("success", "success"),
        ("ndcg", "ndcg_cut"),
        ("map", "map_cut"),
        ("mrr", "map_cut"),
    ],
)
def test_values_are_those_of_trec_eval(name: str, measure: str, k: int) -> None:
    ranks = runs(k)
    found = metric(f"{name}@{k}")(ranks)
    np.testing.assert_array_max_ulp(
        found, trec(ranks, f"{measure}.{k}"), maxulp=2
    )  # log2 of NumPy 1.26 is not that of 2


@pytest.mark.parametrize("k", [1, 4, 10])
@pytest.mark.parametrize("name", ["mrr", "rr", "ap", "map"])
def test_the_reciprocal_rank_is_that_of_trec_eval_on_lists_of_k(name: str, k: int) -> None:
    ranks = runs(100 + k)
    np.testing.assert_array_equal(metric(f"{name}@{k}")(ranks), trec(ranks, "recip_rank", cut=k))


@pytest.mark.parametrize(("name", "measure"), [("mrr", "recip_rank"), ("map", "map"), ("ndcg", "ndcg")])
def test_without_a_cut_the_whole_list_counts(name: str, measure: str) -> None:
    ranks = runs(7)
    np.testing.assert_array_max_ulp(metric(name)(ranks), trec(ranks, measure), maxulp=2)


@pytest.mark.parametrize(
    ("name", "measure"),
    [
        ("mrr@5", ir_measures.RR @ 5),
        ("ndcg@5", ir_measures.nDCG @ 5),
        ("hit@5", ir_measures.Success @ 5),
        ("recall@5", ir_measures.R @ 5),
        ("map@5", ir_measures.AP @ 5),
    ],
)
def test_ir_measures_is_of_the_same_opinion(name: str, measure: Any) -> None:
    ranks = runs(9, 500)
    judged = [ir_measures.Qrel(str(q), "d", 1) for q in range(len(ranks))]
    listed = [
        ir_measures.ScoredDoc(str(q), "d" if r == rank else f"x{r}", float(-r))
        for q, rank in enumerate(ranks.tolist())
        for r in range(1, 21)
    ]
    found = {m.query_id: m.value for m in ir_measures.iter_calc([measure], judged, listed)}
    np.testing.assert_array_equal(metric(name)(ranks), [found[str(q)] for q in range(len(ranks))])


@pytest.mark.parametrize(
    ("name", "p", "k"), [("rbp@20", 0.8, 20), ("rbp(0.5)@10", 0.5, 10), ("rbp(.95)", 0.95, 100)]
)
def test_rank_biased_precision_is_what_a_reader_who_goes_on_with_p_sees(name: str, p: float, k: int) -> None:
    ranks = runs(8, 200)
    for rank, value in zip(ranks.tolist(), metric(name)(ranks).tolist(), strict=True):
        relevant = [r == rank for r in range(1, k + 1)]
        reaches = np.cumprod([1.0, *[p] * (k - 1)])  # the chance to look at each place
        assert value == pytest.approx(float(np.sum((1 - p) * reaches * relevant)), rel=1e-12)


def test_values_at_the_first_ranks_are_those_of_the_formulas() -> None:
    ranks = np.arange(6)
    np.testing.assert_allclose(metric("mrr@4")(ranks), [mrr(4)(r) for r in range(6)], rtol=1e-15)
    np.testing.assert_allclose(metric("ndcg@4")(ranks), [ndcg(4)(r) for r in range(6)], rtol=1e-15)
    assert metric("hit@4")(ranks).tolist() == [0, 1, 1, 1, 1, 0]


@LAW
@given(
    name=st.sampled_from(["hit", "mrr", "ndcg", "rbp", "rbp(0.3)", "recall", "map"]),
    k=st.integers(1, 200),
    ranks=st.lists(st.integers(0, 300), min_size=2, max_size=20),
)
def test_a_metric_lies_in_0_to_1_and_never_grows_with_the_rank(name: str, k: int, ranks: list[int]) -> None:
    values = metric(f"{name}@{k}")(np.array(ranks))
    found = dict(zip(ranks, values.tolist(), strict=True))
    assert all(0 <= v <= 1 for v in found.values())
    listed = [found[r] for r in sorted(found) if r > 0]
    assert listed == sorted(listed, reverse=True)
    assert all((v > 0) == (0 < r <= k) for r, v in found.items())


def test_several_depths_at_once_are_hits_at_each() -> None:
    assert [q.name for q in metrics("rank<=1,5, 10")] == ["hit@1", "hit@5", "hit@10"]
    curve = [q(np.array([1, 4, 7, 0])).sum() for q in metrics("rank <= 1,5,10")]
    assert curve == [1, 2, 3]
    assert all(q.is_hit for q in metrics("rank<=1,5"))


def test_one_depth_is_one_metric_and_several_are_not() -> None:
    assert metric("rank<=7").name == "hit@7"
    with pytest.raises(InputError, match="'rank<=1,5' stands for hit@1, hit@5, where one metric is asked for"):
        metric("rank<=1,5")


def test_lists_of_metrics_may_mix_names_curves_and_functions() -> None:
    own = us.Metric("own", lambda rank, _: rank > 0)
    found = metrics(["mrr@3", "rank<=1,2", own])
    assert [q.name for q in found] == ["mrr@3", "hit@1", "hit@2", "own"]
    assert [q.name for q in metrics("hit@5")] == ["hit@5"]
    assert metrics(own) == [own]


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("hits@5", "did you mean hit@5"),
        ("nDCGG@10", "did you mean ndcg@5"),
        ("recal@3", "did you mean recall@5"),
        ("precision", "such as hit@5"),
        ("hit@", "'hit@'"),
        ("hit@0", "at least 1"),
        ("hit@-1", "'hit@-1'"),
        ("hit@five", "'hit@five'"),
        ("hit(0.5)@5", "'hit(0.5)@5'"),
        ("rbp(1)@5", "between 0 and 1"),
        ("rbp(0)@5", "between 0 and 1"),
        ("rbp(.)@5", "'rbp(.)@5'"),
        ("rbp(0.1.2)@5", "'rbp(0.1.2)@5'"),
        ("rank<=0", "at least 1"),
        ("rank<=", "'rank<='"),
        ("", "''"),
    ],
)
def test_a_name_that_is_none_is_told_with_what_there_is(name: str, told: str) -> None:
    with pytest.raises(InputError) as error:
        metric(name)
    assert told in str(error.value)


@pytest.mark.parametrize("given", [5, None, 0.5])
def test_what_is_neither_name_nor_function_is_refused(given: Any) -> None:
    with pytest.raises(InputError, match="such as 'hit@5', a Metric or a function"):
        metric(given)
    with pytest.raises(InputError, match="such as 'hit@5', a Metric or a function"):
        metrics(given)


def test_no_metric_at_all_is_refused() -> None:
    with pytest.raises(InputError, match="name at least one"):
        metrics([])


def test_names_are_kept_as_they_were_given() -> None:
    assert [metric(n).name for n in ("recall@5", " HIT@3 ", "map@2")] == ["recall@5", "HIT@3", "map@2"]
    assert metric("HIT@3")(np.array([3, 4])).tolist() == [1, 0]


def test_a_function_is_given_ranks_within_its_depth_and_grades() -> None:
    seen: list[Any] = []

    def mine(rank: npt.NDArray[np.int64], grade: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        seen.append((rank.tolist(), grade.tolist()))
        return np.where(rank > 0, grade, 0.0)

    found = us.Metric("mine", mine, depth=3, needs_grades=True)
    assert found(np.array([1, 4, 0]), np.array([0.5, 0.25, 2.0])).tolist() == [0.5, 0, 0]
    assert seen == [([1, 0, 0], [0.5, 0.25, 2.0])]
    by_function = metric(mine)
    assert (by_function.name, by_function.needs_grades, by_function.depth) == ("mine", True, 100)


@pytest.mark.parametrize(
    ("function", "told"),
    [
        (lambda rank, grade: 0.5, r"shape \(\) for 2 ranks"),
        (lambda rank, grade: rank[:1], r"shape \(1,\) for 2 ranks"),
        (lambda rank, grade: 1 / rank if rank > 0 else 0.0, "'own' failed: ValueError.*as arrays"),
        (lambda rank: rank, "'own' failed: TypeError"),
        (lambda rank, grade: ["high", "low"], "'own' failed: ValueError"),
        (lambda rank, grade: grade, "returned nan for rank 1 and grade nan .*the recommender gives no grade"),
        (lambda rank, grade: np.where(rank > 0, np.inf, 0), "returned inf for rank 1"),
    ],
)
def test_a_function_that_gives_no_numbers_is_told_what_it_did(function: Any, told: str) -> None:
    with pytest.raises(InputError, match=told):
        us.Metric("own", function)(np.array([1, 0]))


def test_a_hit_is_0_or_1() -> None:
    assert us.Metric("own", lambda rank, _: rank == 2, is_hit=True)(np.array([1, 2])).tolist() == [0, 1]
    with pytest.raises(InputError, match=r"'own' returned 0\.5 for rank 2 .*is_hit it must return 0 or 1"):
        us.Metric("own", lambda rank, _: np.where(rank == 2, 0.5, 0), is_hit=True)(np.array([1, 2]))


@pytest.mark.parametrize("depth", [0, -3, 2.5, True, "5"])
def test_a_depth_is_a_whole_number_above_0(depth: Any) -> None:
    with pytest.raises(InputError, match="depth is"):
        us.Metric("own", lambda rank, _: rank, depth=depth)
