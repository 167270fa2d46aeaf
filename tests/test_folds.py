"""Cross-fitting against fitting by hand without each fold, and what a score says was left out."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import unskew as us
from tests.dense import columns, random_events
from unskew.evaluation.metric import metric
from unskew.evaluation.pairs import Folds, PairSelection
from unskew.evaluation.ranking import rank_selection
from unskew.recommend import Batch, recommender

EVENTS = random_events(np.random.default_rng(4), users=25, items=9)
LOG = us.read_log(columns(EVENTS))
SPECS = ["popular", "knn?neighbours=5", "knn?similarity=bm25", "ease?l2=2", "constant:i1,i0"]


def rank_by_hand(spec: str, log: us.Log, folds: Folds, user: str, item: str, k: int) -> int:
    """Fit to a log without the pairs of one fold, and find the item in the list for the rest of the profile."""
    seen = folds.snapshot
    p = seen.profiles
    code = int(seen.log.users.codes([user])[0])
    entry = next(e for e in range(int(p.start[code]), int(p.stop[code])) if seen.log.items[int(p.item[e])] == item)
    kept = [
        (seen.log.users[u], seen.log.items[int(p.item[e])])
        for u in range(p.n_users)
        for e in range(int(p.start[u]), int(p.stop[u]))
        if folds.fold[e] != folds.fold[entry]
    ]
    table = {"user": [u for u, _ in kept], "item": [i for _, i in kept], "time": [1] * len(kept)}
    training = us.read_log(table).at(1).number_by_id()
    model = recommender(spec).fit(training)
    rest = [i for i in log.at(9).profile(user) if i != item]
    codes = training.log.items.codes(rest)
    codes = codes[codes >= 0]
    batch = Batch(np.zeros(1, dtype=np.int64), np.array([0, len(codes)]), codes, len(training.log.items))
    found = [training.log.items[int(c)] for c in model.recommend(batch, k)[0] if c >= 0]
    return found.index(item) + 1 if item in found else 0


@pytest.mark.parametrize("spec", SPECS)
def test_each_pair_is_ranked_by_a_model_fitted_without_its_fold(spec: str) -> None:
    selection = PairSelection.of(LOG.at(9), folds=4, seed=2)
    ranks = rank_selection(spec, selection, [metric("hit@5")])
    assert selection.folds is not None
    seen = selection.folds.snapshot.log
    for pair in range(0, len(ranks), 3):
        user, item = seen.users[int(ranks.users[pair])], seen.items[int(selection.pairs.item[pair])]
        assert ranks.ranks[pair] == rank_by_hand(spec, LOG, selection.folds, user, item, 5), (user, item)


@given(st.integers(2, 12), st.integers(0, 5))
def test_folds_are_of_equal_size_and_a_users_pairs_go_to_different_ones(number: int, seed: int) -> None:
    snapshot = LOG.at(9)
    folds = Folds.deal(snapshot, number, seed)
    sizes = Counter(folds.fold[folds.fold >= 0].tolist())
    assert sum(sizes.values()) == len(snapshot)
    assert max(sizes.values()) - min([sizes[k] for k in range(number)]) <= 1
    p = snapshot.profiles
    for u in range(p.n_users):
        own = Counter(folds.fold[int(p.start[u]) : int(p.stop[u])].tolist())
        assert max(own.values(), default=0) - min((own[k] for k in range(number)), default=0) <= 1


def test_training_profiles_lack_the_fold_and_nothing_else() -> None:
    snapshot = LOG.at(9)
    folds = Folds.deal(snapshot, 3, 1)
    for k in range(3):
        training = folds.training(k)
        assert len(training) == len(snapshot) - int((folds.fold == k).sum())
        for user in LOG.users:
            assert set(training.profile(user)) <= set(snapshot.profile(user))


@pytest.mark.parametrize(
    ("spec", "options", "kind", "exact"),
    [
        ("popular", {}, "exact", True),
        ("knn", {}, "exact", True),
        ("knn?exact=false", {}, "profile", False),
        ("ease", {}, "exact", True),
        ("ease?exact=false", {}, "profile", False),
        ("ease", {"leave_out": 2}, "profile", False),
        ("constant:i1", {}, "exact", True),
        ("ease", {"folds": 3}, "folds", True),
        ("popular", {"folds": 3}, "folds", True),
        ("ease", {"after": 5}, "time", True),
        ("popular", {"leave_out": 2}, "profile", False),
    ],
)
@pytest.mark.filterwarnings("ignore:.* leaves a pair out")
def test_a_score_says_what_was_left_out(spec: str, options: dict[str, Any], kind: str, exact: bool) -> None:
    score = us.evaluate(spec, LOG.at(9), **options)
    assert (score.held_out, score.exact, score.folds) == (kind, exact, options.get("folds"))
    assert {"held_out": kind, "exact": exact, "folds": options.get("folds")}.items() <= score.to_dict().items()


def test_lists_made_elsewhere_say_so() -> None:
    lists = {"user": ["u0"], "items": [["i0", "i1"]]}
    with pytest.warns(us.UnskewWarning, match="no recommendation"):
        score = us.evaluate(us.Table(lists), LOG.at(9))
    assert (score.held_out, score.exact) == ("external", None)
    score = us.evaluate(lambda profile, k: [i for i in ("i0", "i1") if i not in profile][:k], LOG.at(9))
    assert (score.held_out, score.exact) == ("external", None)


def test_scores_of_different_kinds_are_not_compared() -> None:
    found = us.report(LOG, ["popular", "ease?l2=2&exact=false"], at=9).comparisons[0]
    assert not found.comparable
    assert np.isnan([found.difference, found.low, found.high, found.p, found.p_holm]).all()
    assert "not comparable" in str(found)
    assert "the profile does not contain the pair, but the model does" in str(found)
    like = us.report(LOG, ["popular", "ease?l2=2"], at=9, folds=3).comparisons[0]
    assert like.comparable
    assert like.held_out == ("folds", "folds")
    assert np.isfinite(like.difference)


@pytest.mark.parametrize(("more", "name"), [({"after": 5}, "after"), ({"leave_out": 2}, "leave_out")])
def test_folds_go_with_neither_a_time_split_nor_several_at_a_time(more: dict[str, Any], name: str) -> None:
    with pytest.raises(us.PolicyError, match=f"leave out {name}"):
        us.evaluate("popular", LOG.at(9), folds=3, **more)


def test_the_same_seed_deals_the_same_folds_and_samples_may_be_cross_fitted() -> None:
    one, other = (us.evaluate("ease?l2=2", LOG.at(9), folds=3, seed=7) for _ in range(2))
    assert one == other
    assert us.evaluate("ease?l2=2", LOG.at(9), folds=3, sample=50).pairs == 50


def test_there_are_no_more_folds_than_pairs() -> None:
    log = us.read_log({"user": [1, 1, 2], "item": ["a", "b", "a"], "time": [1, 2, 3]})
    with pytest.raises(us.PolicyError, match="folds is 4, but there are only 3 pairs to deal"):
        us.evaluate("popular", log.at(3), folds=4)
    assert us.evaluate("popular", log.at(3), folds=3).folds == 3
