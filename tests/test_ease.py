"""EASE against its closed form, computed densely, and its exact ranks against a fit for each pair."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

import unskew as us
from tests.recommending import (
    Floats,
    all_pairs,
    batch_of,
    matrix_of,
    places,
    profiles_of,
    random_snapshot,
    remaining,
    snapshot_of,
    within,
    without,
)
from tests.tables import LAW
from unskew.arrays import blocks
from unskew.errors import InputError
from unskew.recommend import ease
from unskew.recommend.contract import HeldOutPairs
from unskew.recommend.ease import EASE


@pytest.fixture(autouse=True, scope="module")
def one_thread_of_blas() -> Iterator[None]:
    """For matrices this small more threads only wait for each other."""
    with threadpool_limits(1):
        yield


def closed_form(x: Floats, l2: float) -> Floats:
    return weights_of(x.T @ x, l2)


def weights_of(gram: Floats, l2: float) -> Floats:
    inverse = np.linalg.inv(gram + l2 * np.eye(len(gram)))
    b: Floats = -inverse / np.diag(inverse)[None, :]
    np.fill_diagonal(b, 0)
    return b


def by_code(model: EASE, n_items: int) -> Floats:
    """The fitted weights in the order of codes, 0 for what is not modelled."""
    assert model._model is not None
    fitted = model._model.linear
    weights = np.rint(fitted.inverse * fitted.in_units) * fitted.unit
    np.fill_diagonal(weights, 0)
    matrix = np.zeros((n_items, n_items))
    matrix[np.ix_(fitted.modelled, fitted.modelled)] = weights
    return matrix


def lead(scores: Floats, profile: Floats, item: int, candidates: Any = True) -> Floats:
    """By how much each other candidate is ahead of an item; -inf for what is none."""
    others = candidates & (profile == 0)
    others[item] = False
    return np.where(others, scores - scores[item], -np.inf)


def check_ranks(found: Any, pairs: HeldOutPairs, b: Floats, candidates: Any, near: float) -> None:
    """Each rank lies between those with every near-tie won and lost."""
    x = matrix_of(pairs.snapshot)
    for rank, user, item in zip(found, pairs.user, pairs.item, strict=True):
        profile = x[user].copy()
        profile[item] = 0
        ahead = lead(profile @ b, profile, item, candidates)
        assert 1 + np.count_nonzero(ahead > near) <= rank <= 1 + np.count_nonzero(ahead > -near)


def lead_after_refit(x: Floats, gram: Floats, user: int, item: int, l2: float) -> Floats:
    """By how much others are ahead when the model is fitted without the pair; `gram` is ``x.T @ x``."""
    whole = x[user]
    left = whole.copy()
    left[item] = 0
    without_pair = gram - np.outer(whole, whole) + np.outer(left, left)  # whole numbers: without rounding
    return lead(left @ weights_of(without_pair, l2), left, item)


def ranks_after_refit(x: Floats, pairs: Any, l2: float) -> list[int]:
    """Ranks when the model is fitted without the pair, equal scores by code; 0 for what nobody else holds."""
    found, gram = [], x.T @ x
    for user, item in pairs:
        ahead = lead_after_refit(x, gram, user, item, l2)
        equal = np.abs(ahead) < 1e-9
        rank = 1 + int(np.sum(ahead >= 1e-9) + np.sum(equal[:item]))
        found.append(rank if gram[item, item] > 1 else 0)
    return found


@given(profiles_of(), st.sampled_from([0.5, 3.0, 100.0]))
@LAW
def test_exact_ranks_are_those_of_a_model_fitted_without_the_pair(profiles: list[list[int]], l2: float) -> None:
    pairs = all_pairs(snapshot_of(profiles))
    codes = zip(pairs.user, pairs.item, strict=True)
    expected = ranks_after_refit(matrix_of(pairs.snapshot), codes, l2)
    model = EASE(l2).fit(pairs.snapshot)
    for k in (1, 3, 100):
        assert model.held_out_ranks(pairs, k).tolist() == within(expected, k)


def test_a_thousand_pairs_of_a_simulated_world_rank_as_after_a_fit_for_each() -> None:
    log = us.simulate(users=500, items=100, seed=4).log
    pairs = all_pairs(log.at(log.last).number_by_id())
    some = np.random.default_rng(1).choice(len(pairs), 1000, replace=False)
    found = EASE(20).fit(pairs.snapshot).held_out_ranks(pairs, 100)
    codes = zip(pairs.user[some], pairs.item[some], strict=True)
    expected = ranks_after_refit(matrix_of(pairs.snapshot), codes, 20)
    assert found[some].tolist() == expected
    leaking = EASE(20, exact=False).fit(pairs.snapshot).held_out_ranks(pairs, 100)[some]
    assert np.count_nonzero(leaking <= 5) > 1.2 * np.count_nonzero(np.isin(expected, range(1, 6)))


def test_exact_ranks_are_the_places_in_the_lists_of_a_model_fitted_without_the_pair() -> None:
    pairs = all_pairs(random_snapshot(6, 60, 15, 4))
    left, found = remaining(pairs), EASE(3).fit(pairs.snapshot).held_out_ranks(pairs, 15)
    assert (pairs.snapshot.counts() > 1).all()
    for p in range(0, len(pairs), 7):
        one = batch_of([left.profile(p).tolist()], 15)
        assert places(EASE(3).fit(without(pairs, p)).recommend(one, 15), pairs.item[[p]]) == [found[p]]


def test_an_item_that_nobody_else_holds_is_not_ranked() -> None:
    pairs = all_pairs(snapshot_of([[1, 2], [2, 3], [3, 2]]))
    ranked = EASE(1).fit(pairs.snapshot).held_out_ranks(pairs, 5) > 0
    assert [pairs.snapshot.log.items[i] for i in pairs.item[~ranked]] == [1]


def test_the_items_that_are_modelled_are_taken_as_given_when_a_pair_is_left_out() -> None:
    pairs = all_pairs(random_snapshot(5, 100, 20, 5))
    frequent = np.sort(np.argsort(-pairs.snapshot.counts(), kind="stable")[:6])
    found = EASE(10, max_items=6).fit(pairs.snapshot).held_out_ranks(pairs, 20)
    x = matrix_of(pairs.snapshot)[:, frequent]
    inside = np.isin(pairs.item, frequent)
    codes = zip(pairs.user[inside], np.searchsorted(frequent, pairs.item[inside]), strict=True)
    assert found[inside].tolist() == ranks_after_refit(x, codes, 10)
    assert (found[~inside] == 0).all()


def test_single_precision_misplaces_exact_ranks_only_where_scores_are_all_but_equal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ease, "DOUBLE", 10)
    pairs = all_pairs(random_snapshot(3, 150, 40, 6))
    x = matrix_of(pairs.snapshot)
    model = EASE(5).fit(pairs.snapshot)
    assert model._model is not None
    assert model._model.linear.inverse.dtype == np.float32
    # an inverse in single precision is off by the condition of the matrix times 2^-24, relative to its norm, and a
    # score is a sum of such entries over P_ii, which is at least 1 / (count + l2)
    gram = x.T @ x + 5 * np.eye(40)
    entry = np.linalg.cond(gram) * 2.0**-24 * np.linalg.norm(np.linalg.inv(gram), 2)
    near = entry * (x.sum(axis=0).max() + 5) * x.sum(axis=1).max()
    assert near < 5e-3
    found = model.held_out_ranks(pairs, 40)
    codes = list(zip(pairs.user, pairs.item, strict=True))
    for rank, (user, item) in zip(found, codes, strict=True):
        ahead = lead_after_refit(x, x.T @ x, user, item, 5)
        assert 1 + np.count_nonzero(ahead > near) <= rank <= 1 + np.count_nonzero(ahead > -near)
    assert np.mean(found == ranks_after_refit(x, codes, 5)) > 0.99


@pytest.mark.parametrize("l2", [0.5, 20.0])
def test_weights_and_ranks_are_those_of_the_closed_form(l2: float) -> None:
    snapshot = random_snapshot(3, 80, 25, 6)
    pairs = all_pairs(snapshot)
    b = closed_form(matrix_of(snapshot), l2)
    model = EASE(l2, exact=False).fit(snapshot)
    assert by_code(model, 25) == pytest.approx(b, abs=1e-10)
    check_ranks(model.held_out_ranks(pairs, 25), pairs, b, np.ones(25, dtype=bool), 1e-9)


def test_single_precision_is_near_and_as_consistent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ease, "DOUBLE", 10)
    snapshot = random_snapshot(3, 80, 25, 6)
    pairs = all_pairs(snapshot)
    model = EASE(5, exact=False).fit(snapshot)
    assert model._model is not None
    assert model._model.linear.inverse.dtype == np.float32
    b = closed_form(matrix_of(snapshot), 5)
    assert by_code(model, 25) == pytest.approx(b, abs=1e-5)
    found = model.held_out_ranks(pairs, 25)
    check_ranks(found, pairs, b, np.ones(25, dtype=bool), 1e-4)
    assert found.tolist() == places(model.recommend(remaining(pairs), 25), pairs.item)


@pytest.mark.parametrize("max_items", [None, 7])
def test_ranks_are_the_places_in_the_lists(max_items: int | None) -> None:
    pairs = all_pairs(random_snapshot(4, 200, 20, 5))
    model = EASE(3, max_items=max_items, exact=False).fit(pairs.snapshot)
    full = model.held_out_ranks(pairs, 100).tolist()
    for k in (1, 5, 20, 100):
        lists = model.recommend(remaining(pairs), k)
        assert model.held_out_ranks(pairs, k).tolist() == places(lists, pairs.item) == within(full, k)


@given(profiles_of())
@LAW
def test_ranks_are_the_places_in_the_lists_where_many_scores_are_equal(profiles: list[list[int]]) -> None:
    pairs = all_pairs(snapshot_of(profiles))
    model = EASE(2, exact=False).fit(pairs.snapshot)
    for k in (1, 2, 100):
        lists = model.recommend(remaining(pairs), k)
        assert model.held_out_ranks(pairs, k).tolist() == places(lists, pairs.item)


def test_items_held_by_the_same_users_are_equal_and_go_by_id() -> None:
    rng = np.random.default_rng(8)
    held = [rng.choice(30, 8, replace=False) for _ in range(200)]
    twins = snapshot_of([[int(i) for i in row] + [100 + int(i) for i in row[::-1]] for row in held])
    items = np.array(twins.log.items.to_list())
    singles = [rng.choice(60, 5, replace=False).tolist() for _ in range(50)]
    lists = EASE(1).fit(twins).recommend(batch_of(singles, 60), 60)
    seen = 0
    for profile, row in zip(singles, lists, strict=True):
        listed = items[row[row >= 0]].tolist()
        for i in set(range(30)) - {int(i) % 100 for i in items[profile]}:
            seen += 1
            assert listed.index(100 + i) == listed.index(i) + 1
    assert seen > 1000


def test_an_item_of_the_profile_is_not_ahead_even_as_an_equal() -> None:
    log = snapshot_of([[1, 2], [2, 1], [3, 1]]).log
    pairs = all_pairs(log.at(1))
    model = EASE(1, exact=False).fit(log.at(0))  # nobody holds two items yet: every score is 0
    found = {
        (log.users[u], log.items[i]): r
        for u, i, r in zip(pairs.user, pairs.item, model.held_out_ranks(pairs, 5), strict=True)
    }
    assert found == {(0, 1): 1, (0, 2): 1, (1, 2): 1, (1, 1): 1, (2, 3): 2, (2, 1): 1}


def test_only_the_most_frequent_items_are_modelled_if_asked() -> None:
    snapshot = random_snapshot(5, 100, 20, 5)
    pairs = all_pairs(snapshot)
    frequent = np.argsort(-snapshot.counts(), kind="stable")[:6]
    inside = np.isin(np.arange(20), frequent)
    b = np.zeros((20, 20))
    b[np.ix_(frequent, frequent)] = closed_form(matrix_of(snapshot)[:, frequent], 10)
    model = EASE(10, max_items=6, exact=False).fit(snapshot)
    assert by_code(model, 20) == pytest.approx(b, abs=1e-10)
    found = model.held_out_ranks(pairs, 20)
    assert (found[~inside[pairs.item]] == 0).all()
    known = np.flatnonzero(inside[pairs.item])
    some = HeldOutPairs(snapshot, pairs.user[known], pairs.item[known], pairs.entry[known])
    check_ranks(found[known], some, b, inside, 1e-9)


def test_items_of_later_are_not_modelled() -> None:
    log = snapshot_of([[1, 2, 9], [2, 1, 8], [1]]).log
    model = EASE(1).fit(log.at(1))
    lists = model.recommend(batch_of([[]], len(log.items)), 5)
    assert [log.items[c] for c in lists[0] if c >= 0] == [1, 2]  # all scores are 0: by id


def test_every_item_is_a_candidate_even_below_zero() -> None:
    pairs = all_pairs(snapshot_of([[1, 2], [1, 3], [2, 1], [3], [4]]))
    lists = EASE(1).fit(pairs.snapshot).recommend(remaining(pairs), 9)
    assert ((lists >= 0).sum(axis=1) == 4 - np.diff(remaining(pairs).start)).all()
    one = all_pairs(snapshot_of([[1]]))
    assert EASE(exact=False).fit(one.snapshot).held_out_ranks(one, 3).tolist() == [1]


def test_the_number_of_threads_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    snapshot = random_snapshot(2, 4000, 120, 10)
    pairs = all_pairs(snapshot)
    assert len(pairs) > blocks.SMALL
    batch = remaining(pairs)
    seen = []
    for n in (1, 2, 5):
        monkeypatch.setenv("UNSKEW_THREADS", str(n))
        model, leaking = EASE(50).fit(snapshot), EASE(50, exact=False).fit(snapshot)
        ranked = (model.held_out_ranks(pairs, 50), leaking.held_out_ranks(pairs, 50))
        seen.append((by_code(model, 120), *ranked, model.recommend(batch, 5)))
    for other in seen[1:]:
        assert all(np.array_equal(a, b) for a, b in zip(seen[0], other, strict=True))


def test_too_many_items_are_refused_with_a_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ease, "MEMORY", 2**10)
    snapshot = random_snapshot(1, 80, 25, 6)
    with pytest.raises(InputError, match=r"EASE over the 25 items at .* GB.* max_items=\d+ or fewer"):
        EASE().fit(snapshot)
    assert EASE(max_items=11).fit(snapshot).recommend(batch_of([[]], 25), 20).max() >= 0


def test_a_penalty_too_small_for_the_precision_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ease, "DOUBLE", 1)
    twins = snapshot_of([[1, 2, 3]] * 50)
    with pytest.raises(InputError, match=r"l2 is 1e-06, too small to invert 3 items in float32"):
        EASE(1e-6).fit(twins)


def test_a_penalty_too_small_to_take_a_pair_out_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ease, "DOUBLE", 1)
    pairs = all_pairs(snapshot_of([[0, 1, 3, 2, 4], [0, 2, 4, 3], [2, 1]]))
    with pytest.raises(InputError, match=r"l2 is 1e-05, too small to take a pair out .*: .*or .* exact=False"):
        EASE(1e-5).fit(pairs.snapshot).held_out_ranks(pairs, 5)
    assert EASE(1e-5, exact=False).fit(pairs.snapshot).held_out_ranks(pairs, 5).all()
