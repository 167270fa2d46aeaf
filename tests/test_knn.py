"""Nearest neighbours: by definition, by a fit without the pair, and with *implicit* as a witness."""

from __future__ import annotations

import importlib
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from tests.recommending import (
    Floats,
    Scores,
    all_pairs,
    batch_of,
    matrix_of,
    places,
    profiles_of,
    random_snapshot,
    ranking,
    ranks,
    remaining,
    snapshot_of,
    within,
    without,
)
from tests.tables import LAW
from unskew.errors import PolicyError
from unskew.recommend.knn import ItemKNN

EXACT = ["cosine", "jaccard", "cooccurrence"]
UNIT = 2.0**-36


def similarities(x: Floats, kind: str) -> Floats:
    """By definition, from the counts of the whole matrix."""
    both, c = x.T @ x, x.sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        plain = {
            "cosine": both / np.sqrt(np.outer(c, c)),
            "jaccard": both / (c[:, None] + c[None, :] - both),
            "cooccurrence": both,
        }[kind]
    rounded = np.where(both > 0, np.maximum(np.rint(plain / UNIT), 1) * UNIT, 0)
    np.fill_diagonal(rounded, 0)
    return rounded


def kept(similarity: Floats, neighbours: int) -> Floats:
    """Each row with its first `neighbours` alone."""
    rows = np.zeros_like(similarity)
    for j, row in enumerate(similarity):
        best = np.argsort(-row, kind="stable")[:neighbours]
        rows[j, best] = row[best]
    return rows


def scores_by(kind: str, neighbours: int) -> Scores:
    def scores(x: Floats, profile: Floats) -> Floats:
        total: Floats = profile @ kept(similarities(x, kind), neighbours)
        return np.where(total > 0, total, -np.inf)

    return scores


@given(profiles_of(), st.sampled_from(EXACT), st.integers(1, 4))
@LAW
def test_ranks_are_those_of_a_fit_without_the_pair(profiles: list[list[int]], kind: str, neighbours: int) -> None:
    pairs = all_pairs(snapshot_of(profiles))
    expected = ranks(scores_by(kind, neighbours), pairs, exact=True)
    model = ItemKNN(neighbours, similarity=kind).fit(pairs.snapshot)
    for k in (1, 2, 100):
        assert model.held_out_ranks(pairs, k).tolist() == within(expected, k)
    batch = remaining(pairs)
    for k, item in enumerate(pairs.item):
        profile = batch_of([batch.profile(k).tolist()], batch.n_items)
        again = ItemKNN(neighbours, similarity=kind).fit(without(pairs, k)).recommend(profile, 100)
        assert places(again, np.array([item])) == [expected[k]]


@pytest.mark.parametrize("kind", EXACT)
@pytest.mark.parametrize("neighbours", [1, 3, 10, 60])
def test_the_same_on_profiles_of_some_size(kind: str, neighbours: int) -> None:
    pairs = all_pairs(random_snapshot(neighbours, 60, 40, 9))
    expected = ranks(scores_by(kind, neighbours), pairs, exact=True)
    model = ItemKNN(neighbours, similarity=kind).fit(pairs.snapshot)
    for k in (1, 5, 20, 40):
        assert model.held_out_ranks(pairs, k).tolist() == within(expected, k)
    kept_in = ItemKNN(neighbours, similarity=kind, exact=False).fit(pairs.snapshot)
    assert kept_in.held_out_ranks(pairs, 40).tolist() != expected


@given(profiles_of(), st.sampled_from(EXACT), st.integers(1, 4))
@LAW
def test_out_of_the_profile_alone_the_ranks_are_the_places_in_the_lists(
    profiles: list[list[int]], kind: str, neighbours: int
) -> None:
    pairs = all_pairs(snapshot_of(profiles))
    expected = ranks(scores_by(kind, neighbours), pairs, exact=False)
    model = ItemKNN(neighbours, similarity=kind, exact=False).fit(pairs.snapshot)
    for k in (1, 2, 100):
        assert model.held_out_ranks(pairs, k).tolist() == within(expected, k)
        assert places(model.recommend(remaining(pairs), k), pairs.item) == within(expected, k)


@pytest.mark.parametrize("kind", [*EXACT, "bm25"])
def test_ranks_and_lists_agree_on_a_larger_log(kind: str) -> None:
    pairs = all_pairs(random_snapshot(5, 800, 150, 12))
    model = ItemKNN(8, similarity=kind, exact=False).fit(pairs.snapshot)
    for k in (1, 10, 150):
        found = model.held_out_ranks(pairs, k)
        assert found.tolist() == places(model.recommend(remaining(pairs), k), pairs.item)
        assert np.count_nonzero(found) > 100


@pytest.mark.parametrize("kind", EXACT)
def test_lists_are_by_score_then_by_id_without_the_profile(kind: str) -> None:
    snapshot = random_snapshot(1, 50, 14, 4)
    batch = remaining(all_pairs(snapshot))
    x, scores = matrix_of(snapshot), scores_by(kind, 3)
    lists = ItemKNN(3, similarity=kind).fit(snapshot).recommend(batch, 6)
    for k in range(len(batch)):
        profile = np.isin(np.arange(14), batch.profile(k)).astype(float)
        assert lists[k].tolist() == (ranking(scores(x, profile), profile) + [-1] * 6)[:6]


def implicit_scores(kind: str, neighbours: int, x: Floats, batch: Any) -> Floats:
    """What *implicit* scores each profile with, 0 for what it does not recommend."""
    library = importlib.import_module("implicit.nearest_neighbours")
    name = {"cosine": "CosineRecommender", "bm25": "BM25Recommender"}[kind]
    model = getattr(library, name)(K=neighbours + 1, num_threads=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about a conversion of its own
        model.fit(sparse.csr_matrix(x), show_progress=False)
    scores = np.zeros((len(batch), x.shape[1]))
    for k in range(len(batch)):
        row = batch.matrix()[k].astype(np.float64)
        ids, values = model.recommend(0, row, N=x.shape[1], recalculate_user=True)
        scores[k, ids] = values
    return scores


@pytest.mark.parametrize("kind", ["cosine", "bm25"])
@pytest.mark.parametrize(
    ("neighbours", "users", "items", "mean"), [(30, 12, 9, 3), (30, 40, 25, 5), (4, 900, 16, 6)]
)
def test_implicit_gives_the_same_lists(kind: str, neighbours: int, users: int, items: int, mean: float) -> None:
    snapshot = random_snapshot(11, users, items, mean)
    pairs = all_pairs(snapshot)
    if len(pairs) > 400:
        keep = np.arange(0, len(pairs), len(pairs) // 400)
        pairs = type(pairs)(snapshot, pairs.user[keep], pairs.item[keep], pairs.entry[keep])
    batch = remaining(pairs)
    theirs = implicit_scores(kind, neighbours, matrix_of(snapshot), batch)
    model = ItemKNN(neighbours, similarity=kind, exact=False).fit(snapshot)
    ours, found = model.recommend(batch, items), model.held_out_ranks(pairs, items)
    near = 1e-9 * theirs.max()
    told_apart = 0
    for k, row in enumerate(ours):
        listed = row[row >= 0]
        assert set(listed) == set(np.flatnonzero(theirs[k] > near))
        assert (np.diff(theirs[k, listed]) < near).all()
        mine = theirs[k, pairs.item[k]]
        if mine > near and np.count_nonzero(abs(theirs[k] - mine) < near) == 1:
            told_apart += 1
            assert found[k] == 1 + np.count_nonzero(theirs[k] > mine)
    assert told_apart > len(pairs) / 3


def test_bm25_scores_are_those_of_implicit_to_the_rounding() -> None:
    snapshot = random_snapshot(4, 60, 20, 5)
    x = matrix_of(snapshot)
    model = ItemKNN(30, similarity="bm25", k1=0.7, b=0.4).fit(snapshot)
    library = importlib.import_module("implicit.nearest_neighbours")
    weighted = library.bm25_weight(sparse.csr_matrix(x.T), K1=0.7, B=0.4).toarray()
    theirs = weighted @ weighted.T
    np.fill_diagonal(theirs, 0)
    ours = np.zeros_like(theirs)
    assert model._model is not None
    fitted = model._model.neighbours
    for j in range(20):
        row = slice(int(fitted.start[j]), int(fitted.cut[j]))
        ours[j, fitted.item[row]] = fitted.score[row]
    assert ours == pytest.approx(theirs, abs=1e-10 * theirs.max())


def test_some_of_the_pairs_have_the_ranks_that_they_have_among_all() -> None:
    pairs = all_pairs(random_snapshot(6, 300, 50, 6))
    keep = np.flatnonzero(np.random.default_rng(0).random(len(pairs)) < 0.2)
    some = type(pairs)(pairs.snapshot, pairs.user[keep], pairs.item[keep], pairs.entry[keep])
    model = ItemKNN(5).fit(pairs.snapshot)
    assert np.array_equal(model.held_out_ranks(some, 20), model.held_out_ranks(pairs, 20)[keep])
    none = type(pairs)(pairs.snapshot, pairs.user[:0], pairs.item[:0], pairs.entry[:0])
    assert model.held_out_ranks(none, 5).shape == (0,)
    assert model.recommend(batch_of([], 50), 5).shape == (0, 5)


@pytest.mark.parametrize("exact", [True, False])
def test_nothing_is_like_an_empty_profile(exact: bool) -> None:
    pairs = all_pairs(snapshot_of([[1], [1, 2], [2, 1]]))
    model = ItemKNN(exact=exact).fit(pairs.snapshot)
    alone = pairs.snapshot.sizes()[pairs.user] == 1
    assert (model.held_out_ranks(pairs, 5)[alone] == 0).all()
    assert (model.held_out_ranks(pairs, 5)[~alone] == 1).all()
    assert model.recommend(batch_of([[], [0, 1]], 2), 3).tolist() == [[-1] * 3] * 2


@pytest.mark.parametrize("profiles", [[[1]], [[1, 2, 3]], [[1], [1]]])
def test_one_user_or_one_item_is_enough_to_be_fitted_and_nothing_is_found(profiles: list[list[int]]) -> None:
    pairs = all_pairs(snapshot_of(profiles))
    assert not ItemKNN().fit(pairs.snapshot).held_out_ranks(pairs, 5).any()
    kept_in = ItemKNN(exact=False).fit(pairs.snapshot).held_out_ranks(pairs, 5)
    assert kept_in.any() == (len(profiles[0]) > 1)
    assert ItemKNN(similarity="bm25").fit(pairs.snapshot).held_out_ranks(pairs, 5).any() == (len(profiles[0]) > 1)


def test_a_list_has_at_least_one_place() -> None:
    pairs = all_pairs(snapshot_of([[1, 2]]))
    with pytest.raises(PolicyError, match="k is 0"):
        ItemKNN().fit(pairs.snapshot).held_out_ranks(pairs, 0)
