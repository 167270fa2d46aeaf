"""EASE against its closed form, computed densely."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given

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
)
from tests.tables import LAW
from unskew.arrays import blocks
from unskew.errors import InputError, PolicyError, UnskewError
from unskew.recommend import ease
from unskew.recommend.contract import HeldOutPairs, RanksHeldOut, Recommender
from unskew.recommend.ease import EASE


def closed_form(x: Floats, l2: float) -> Floats:
    inverse = np.linalg.inv(x.T @ x + l2 * np.eye(x.shape[1]))
    b: Floats = -inverse / np.diag(inverse)[None, :]
    np.fill_diagonal(b, 0)
    return b


def by_code(model: EASE, n_items: int) -> Floats:
    """The fitted matrix in the order of codes, 0 for what is not modelled."""
    fitted = model._model
    assert fitted is not None
    matrix = np.zeros((n_items, n_items))
    matrix[np.ix_(fitted.modelled, fitted.modelled)] = fitted.matrix
    return matrix


def check_ranks(found: Any, pairs: HeldOutPairs, b: Floats, candidates: Any, near: float) -> None:
    """Each rank lies between those with every near-tie won and lost."""
    x = matrix_of(pairs.snapshot)
    for rank, user, item in zip(found, pairs.user, pairs.item, strict=True):
        profile = x[user].copy()
        profile[item] = 0
        scores = profile @ b
        others = candidates & (profile == 0)
        others[item] = False
        ahead = scores[others] - scores[item]
        assert 1 + np.count_nonzero(ahead > near) <= rank <= 1 + np.count_nonzero(ahead > -near)


@pytest.mark.parametrize("l2", [0.5, 20.0])
def test_weights_and_ranks_are_those_of_the_closed_form(l2: float) -> None:
    snapshot = random_snapshot(3, 80, 25, 6)
    pairs = all_pairs(snapshot)
    b = closed_form(matrix_of(snapshot), l2)
    model = EASE(l2).fit(snapshot)
    assert by_code(model, 25) == pytest.approx(b, abs=1e-10)
    check_ranks(model.held_out_ranks(pairs, 25), pairs, b, np.ones(25, dtype=bool), 1e-9)


def test_single_precision_is_near_and_as_consistent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ease, "DOUBLE", 10)
    snapshot = random_snapshot(3, 80, 25, 6)
    pairs = all_pairs(snapshot)
    model = EASE(5).fit(snapshot)
    assert model._model is not None
    assert model._model.matrix.dtype == np.float32
    b = closed_form(matrix_of(snapshot), 5)
    assert by_code(model, 25) == pytest.approx(b, abs=1e-5)
    found = model.held_out_ranks(pairs, 25)
    check_ranks(found, pairs, b, np.ones(25, dtype=bool), 1e-4)
    assert found.tolist() == places(model.recommend(remaining(pairs), 25), pairs.item)


@pytest.mark.parametrize("max_items", [None, 7])
def test_ranks_are_the_places_in_the_lists(max_items: int | None) -> None:
    pairs = all_pairs(random_snapshot(4, 200, 20, 5))
    model = EASE(3, max_items=max_items).fit(pairs.snapshot)
    full = model.held_out_ranks(pairs, 100).tolist()
    for k in (1, 5, 20, 100):
        lists = model.recommend(remaining(pairs), k)
        assert model.held_out_ranks(pairs, k).tolist() == places(lists, pairs.item) == within(full, k)


@given(profiles_of())
@LAW
def test_ranks_are_the_places_in_the_lists_where_many_scores_are_equal(profiles: list[list[int]]) -> None:
    pairs = all_pairs(snapshot_of(profiles))
    model = EASE(2).fit(pairs.snapshot)
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
    model = EASE(1).fit(log.at(0))  # nobody holds two items yet: every score is 0
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
    model = EASE(10, max_items=6).fit(snapshot)
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
    assert EASE().fit(one.snapshot).held_out_ranks(one, 3).tolist() == [1]


def test_the_number_of_threads_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    snapshot = random_snapshot(2, 4000, 120, 10)
    pairs = all_pairs(snapshot)
    assert len(pairs) > blocks.SMALL
    batch = remaining(pairs)
    seen = []
    for n in (1, 2, 5):
        monkeypatch.setenv("UNSKEW_THREADS", str(n))
        model = EASE(50).fit(snapshot)
        seen.append((by_code(model, 120), model.held_out_ranks(pairs, 50), model.recommend(batch, 5)))
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


def test_it_is_a_recommender_that_has_to_be_fitted() -> None:
    assert isinstance(EASE(), Recommender)
    assert isinstance(EASE(), RanksHeldOut)
    assert [repr(EASE()), repr(EASE(0.5, max_items=9))] == ["ease?l2=500", "ease?l2=0.5&max_items=9"]
    with pytest.raises(UnskewError, match=r"ease.* has not been fitted"):
        EASE().recommend(batch_of([[]], 1), 1)
    with pytest.raises(UnskewError, match=r"ease.* has not been fitted"):
        EASE().held_out_ranks(all_pairs(snapshot_of([[1]])), 1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"l2": 0}, "l2 is 0"),
        ({"l2": -1.0}, "l2 is -1.0"),
        ({"l2": float("inf")}, "l2 is inf"),
        ({"l2": "500"}, "l2 is '500'"),
        ({"max_items": 0}, "max_items is 0"),
    ],
)
def test_options_that_make_no_sense_are_refused(options: Any, message: str) -> None:
    with pytest.raises(PolicyError, match=message):
        EASE(**options)
