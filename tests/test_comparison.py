"""Differences of scores against paired tests by hand."""

from __future__ import annotations

import json
import math

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

import unskew as us
from tests.two_dates import BEFORE, LISTS, NOW, history, log_of, metric_of_users, ranked
from unskew.data import Recency
from unskew.errors import PolicyError
from unskew.evaluation.comparison import compare
from unskew.evaluation.held_out_ranks import AnyMetric, HeldOutRanks
from unskew.evaluation.intervals import holm

Floats = npt.NDArray[np.float64]
HALF = us.Metric("half", lambda rank, _: 0.5 * (rank > 0), depth=3)
"""Half a hit, of which nobody knows how high it can go."""


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
        found = compare(*ranks, metric=q, weights=weights)
        assert [c.difference for c in found] == pytest.approx(
            [scores[0] - scores[1], scores[0] - scores[2], scores[1] - scores[2]], abs=1e-12
        )
        assert {c.weighting for c in found} == {"weighted" if weighted else "raw"}
        assert {c.metric for c in found} == {q}


@pytest.mark.parametrize("level", [0.8, 0.95])
def test_with_many_users_the_interval_is_that_of_the_paired_t_test_over_users(level: float) -> None:
    events = history(1, 1500)
    now = log_of(events).at(NOW)
    a, b = (metric_of_users(events, NOW, items) for items in LISTS[:2])
    theirs = stats.ttest_rel([a[u] for u in a], [b[u] for u in a])
    [found] = compare(*(ranked(now, items) for items in LISTS[:2]), metric="hit@3", level=level)
    low, high = theirs.confidence_interval(level)
    assert (found.low, found.high) == pytest.approx((low, high), abs=0.02 * (high - low))
    assert found.level == level


@pytest.mark.parametrize("metric", ["hit@3", "mrr@3", HALF])
def test_the_p_value_is_the_level_at_which_the_interval_reaches_0(metric: AnyMetric) -> None:
    now = log_of(history(1)).at(NOW)
    ranks = [ranked(now, items) for items in LISTS[:2]]
    [found] = compare(*ranks, metric=metric)
    assert 0 < found.p < 1
    [at] = compare(*ranks, metric=metric, level=1 - found.p)
    assert min(abs(at.low), abs(at.high)) == pytest.approx(0, abs=1e-6)


def test_a_metric_without_bounds_has_the_paired_t_test_over_users() -> None:
    events = history(1)
    now = log_of(events).at(NOW)
    a, b = (metric_of_users(events, NOW, items) for items in LISTS[:2])
    theirs = stats.ttest_rel([a[u] for u in a], [b[u] for u in a])
    [found] = compare(*(ranked(now, items) for items in LISTS[:2]), metric=HALF)
    low, high = theirs.confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((low / 2, high / 2), abs=1e-12)
    assert found.p == pytest.approx(theirs.pvalue)


def test_turned_round_everything_changes_its_sign_but_the_p_value() -> None:
    now = log_of(history(2)).at(NOW)
    a, b = (ranked(now, items) for items in LISTS[:2])
    [one], [other] = compare(a, b, metric="hit@3"), compare(b, a, metric="hit@3")
    assert (one.a, one.b) == (other.b, other.a)
    assert (one.difference, one.low, one.high) == pytest.approx((-other.difference, -other.high, -other.low))
    assert one.p == pytest.approx(other.p)


def test_what_two_recommenders_share_cancels() -> None:
    now = log_of(history(3, 300)).at(NOW)
    a, b = ranked(now, ["i0", "i1", "i2"]), ranked(now, ["i0", "i1", "i3"])
    [found] = compare(a, b, metric="hit@3")
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
    found = compare(*ranks, metric="hit@3")
    names = [r.recommender for r in ranks]
    assert [(c.a, c.b) for c in found] == [(names[i], names[j]) for i in range(4) for j in range(i + 1, 4)]
    alone = [compare(ranks[i], ranks[j], metric="hit@3")[0].p for i in range(4) for j in range(i + 1, 4)]
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
    [found] = compare(a, b, metric="mrr@3")
    assert found.difference == pytest.approx(a.score("mrr@3").value - b.score("mrr@3").value)
    every = [ranked(now, items) for items in LISTS[:2]]
    assert found.difference != pytest.approx(compare(*every, metric="mrr@3")[0].difference, abs=1e-4)
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
        (r"another P\(u\) or P\(i\|u\)", mine, ranked(log.at(NOW, p_item=Recency(2)))),
    ]


def test_only_weighted_constant_lists_are_free_of_the_bias_of_the_log() -> None:
    log = log_of(history(7))
    now = log.at(NOW)
    weights = us.fit_weights(now, log.at(BEFORE))
    lists = [ranked(now, items) for items in LISTS[:2]]
    popular = us.rank_held_out("popular", now)
    for ranks, given, expected in (
        (lists, weights, False),
        (lists, None, True),
        ([lists[0], popular], weights, True),
    ):
        [found] = compare(*ranks, weights=given)
        assert found.biased is expected
        assert ("p does not account for bias in the log" in str(found)) is expected
    assert [r.score("hit@5", weights).biased for r in (lists[0], popular)] == [False, True]
    assert lists[0].score("hit@5").biased


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
