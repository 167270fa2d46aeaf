"""Models that are fitted to a matrix, against scores and ranks in a few obvious lines."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import unskew as us
from tests.recommending import (
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
)
from unskew.errors import InputError, PolicyError, UnskewError
from unskew.recommend import Batch, MatrixModel
from unskew.recommend.contract import traits_of
from unskew.recommend.matrix import ItemColumns
from unskew.testing import AT, ITEMS, LATE, leave_one_out, random_log

Floats = npt.NDArray[np.float64]


class Together:
    """Counts what is held together; whole numbers, so that ties are many and arithmetic is exact."""

    def fit(self, x: sparse.csr_matrix) -> None:
        self.seen = x
        self.counts = (x.T @ x).toarray()

    def predict(self, rows: sparse.csr_matrix) -> Any:
        return rows @ self.counts

    def score_sparse(self, rows: sparse.csr_matrix) -> Any:
        return rows @ sparse.csr_matrix(self.counts)

    def score_whole_numbers(self, rows: sparse.csr_matrix) -> Any:
        return (rows @ self.counts).astype(np.int32)


def together(x: Floats, profile: Floats) -> Floats:
    """The same scores for the oracle; what nobody holds is never recommended."""
    scores: Floats = profile @ (x.T @ x)
    scores[x.sum(axis=0) == 0] = -np.inf
    return scores


@given(profiles_of(), st.integers(1, 8), st.sampled_from([1, 3, 64, None]))
@settings(max_examples=60, deadline=None)
def test_lists_and_ranks_are_those_of_the_scores_with_ties_by_id(
    profiles: list[list[int]], k: int, batch: int | None
) -> None:
    snapshot = snapshot_of(profiles)
    pairs = all_pairs(snapshot)
    model = MatrixModel(Together(), batch=batch).fit(snapshot)
    x = matrix_of(snapshot)
    left = remaining(pairs)
    wanted = []
    for row in range(len(left)):
        own = np.zeros(x.shape[1])
        own[left.profile(row)] = 1
        wanted.append((ranking(together(x, own), own)[:k] + [-1] * k)[:k])
    assert model.recommend(left, k).tolist() == wanted
    expected = within(ranks(together, pairs, exact=False), k)
    assert model.held_out_ranks(pairs, k).tolist() == expected
    assert places(model.recommend(left, k), pairs.item) == expected


@pytest.mark.parametrize("scores", ["score_whole_numbers", lambda model, rows: model.predict(rows)])
def test_any_kind_of_number_and_a_function_will_do(scores: Any) -> None:
    snapshot = random_snapshot(1, 40, 15, 4)
    pairs = all_pairs(snapshot)
    plain = MatrixModel(Together()).fit(snapshot)
    other = MatrixModel(Together(), scores).fit(snapshot)
    assert (other.recommend(remaining(pairs), 6) == plain.recommend(remaining(pairs), 6)).all()
    assert (other.held_out_ranks(pairs, 6) == plain.held_out_ranks(pairs, 6)).all()


def test_what_a_sparse_matrix_does_not_store_is_never_recommended() -> None:
    snapshot = random_snapshot(2, 30, 15, 3)
    pairs = all_pairs(snapshot)
    found = MatrixModel(Together(), "score_sparse").fit(snapshot).recommend(remaining(pairs), 15)

    def only_together(x: Floats, profile: Floats) -> Floats:
        scores = together(x, profile)
        return np.where(scores > 0, scores, -np.inf)

    expected = ranks(only_together, pairs, exact=False)
    assert places(found, pairs.item) == expected
    assert 0 in expected


class Given:
    """Gives the same scores whatever the profile."""

    def __init__(self, scores: list[float]) -> None:
        self.scores = scores

    def fit(self, x: sparse.csr_matrix) -> None:
        self.block = np.tile(np.array(self.scores), (1024, 1))

    def predict(self, rows: sparse.csr_matrix) -> Any:
        return self.block[: rows.shape[0]]


def test_nan_and_minus_infinity_are_never_recommended_and_infinity_is_best() -> None:
    snapshot = snapshot_of([[0, 1, 2, 3, 4]])
    model = MatrixModel(Given([1.0, np.nan, np.inf, -np.inf, -5.0])).fit(snapshot)
    assert model.recommend(batch_of([[]], 5), 5).tolist() == [[2, 0, 4, -1, -1]]
    assert model.held_out_ranks(all_pairs(snapshot), 5).tolist() == [1, 0, 1, 0, 1]


def test_the_model_keeps_its_own_arrays() -> None:
    snapshot = snapshot_of([[0, 1, 2], [1, 2], [0, 2]])
    model = MatrixModel(Given([3.0, 2.0, 1.0])).fit(snapshot)
    once = model.recommend(remaining(all_pairs(snapshot)), 3)
    assert (model.fitted.block == [3.0, 2.0, 1.0]).all()
    assert (model.recommend(remaining(all_pairs(snapshot)), 3) == once).all()


def test_the_matrix_has_users_and_items_of_the_date_in_the_order_of_their_ids() -> None:
    snapshot = random_log().at(AT)
    model = MatrixModel(Together()).fit(snapshot)
    x = model.fitted.seen
    assert isinstance(x, sparse.csr_matrix)
    assert x.dtype == np.float32
    users = sorted(snapshot.log.users)
    wanted = [[float(item in snapshot.profile(user)) for item in ITEMS] for user in users]
    assert x.toarray().tolist() == wanted
    assert LATE in list(snapshot.log.items)


def test_a_held_out_item_that_nobody_held_at_the_fit_has_no_rank() -> None:
    snapshot = random_log().at(AT)
    later = random_log().at(AT + 9)
    pairs = us.recommend.HeldOutPairs(later, *_pairs_of(later, LATE))
    model = MatrixModel(Together()).fit(snapshot)
    assert (model.held_out_ranks(pairs, 5) == 0).all()
    grades = model.grades(pairs.remaining(0, len(pairs)), pairs.item)
    assert np.isnan(grades).all()


def _pairs_of(snapshot: us.Snapshot, item: str) -> tuple[Any, Any, Any]:
    pairs = all_pairs(snapshot)
    some = pairs.item == snapshot.log.items.codes([item])[0]
    assert some.any()
    return pairs.user[some], pairs.item[some], pairs.entry[some]


def test_grades_are_the_scores_of_the_held_out_items() -> None:
    snapshot = random_snapshot(3, 30, 12, 4)
    pairs = all_pairs(snapshot)
    model = MatrixModel(Together(), batch=7).fit(snapshot)
    left = remaining(pairs)
    scores = left.matrix().toarray() @ (matrix_of(snapshot).T @ matrix_of(snapshot))
    assert model.grades(left, pairs.item).tolist() == scores[np.arange(len(pairs)), pairs.item].tolist()
    graded = us.Metric("graded", lambda rank, grade: grade > 10, depth=1, needs_grades=True)
    assert 0 < us.evaluate(model, snapshot, metric=graded).value < 1


def test_profiles_without_the_held_out_item() -> None:
    pairs = all_pairs(random_snapshot(4, 20, 9, 3))
    for low, high in ((0, len(pairs)), (3, 11), (5, 5)):
        found, wanted = pairs.remaining(low, high), remaining(pairs)
        assert found.user.tolist() == wanted.user[low:high].tolist()
        assert [found.profile(r).tolist() for r in range(len(found))] == [
            wanted.profile(r).tolist() for r in range(low, high)
        ]


class Watched(Together):
    """Remembers what it was asked."""

    def fit(self, x: sparse.csr_matrix) -> None:
        super().fit(x)
        self.shapes: set[tuple[int, int]] = set()
        self.empty = 0

    def predict(self, rows: sparse.csr_matrix) -> Any:
        self.shapes.add(rows.shape)
        self.empty += int((np.diff(rows.indptr) == 0).sum())
        return super().predict(rows)


@pytest.mark.parametrize(("batch", "rows"), [(None, 256), (5, 5), (100_000, 100_000)])
def test_the_model_is_always_asked_for_the_same_number_of_rows(batch: int | None, rows: int) -> None:
    snapshot = random_snapshot(5, 300, 20, 4)
    model = MatrixModel(Watched(), batch=batch).fit(snapshot)
    model.recommend(Batch.of(snapshot), 3)
    model.held_out_ranks(all_pairs(snapshot), 3)
    assert model.fitted.shapes == {(rows, len(ItemColumns.of(snapshot)))}


def test_blocks_are_filled_up_with_profiles_and_not_with_empty_rows() -> None:
    snapshot = random_snapshot(6, 10, 20, 4)
    model = MatrixModel(Watched()).fit(snapshot)
    model.recommend(Batch.of(snapshot), 3)
    assert model.fitted.empty == 0


class Sizes:
    """Knows how many rows it was asked for, and scores nothing."""

    def fit(self, x: sparse.csr_matrix) -> None:
        self.sizes: list[int] = []

    def predict(self, rows: sparse.csr_matrix) -> Any:
        self.sizes.append(rows.shape[0])
        return sparse.csr_matrix(rows.shape)


def test_blocks_are_smaller_where_there_are_many_items() -> None:
    items = 70_000
    model = MatrixModel(Sizes()).fit(snapshot_of([range(items), [0]]))
    assert (model.recommend(batch_of([[0]] * 40, items), 2) == -1).all()
    assert model.fitted.sizes == [32, 32]


def test_the_object_itself_is_left_as_it_is_and_a_copy_is_fitted_each_time() -> None:
    mine = Together()
    model = MatrixModel(mine)
    first = model.fit(random_log().at(AT)).fitted
    assert first is not mine
    assert not hasattr(mine, "counts")
    assert model.fit(random_log().at(AT)).fitted is not first


def make_together() -> Together:
    return Together()


@pytest.mark.parametrize("make", [Together, make_together])
def test_a_class_or_a_function_makes_a_model_for_each_fit(make: Any) -> None:
    snapshot = random_log().at(AT)
    model = MatrixModel(make)
    first = model.fit(snapshot).fitted
    assert isinstance(first, Together)
    assert model.fit(snapshot).fitted is not first
    batch = leave_one_out(snapshot)
    assert (model.recommend(batch, 5) == MatrixModel(Together()).fit(snapshot).recommend(batch, 5)).all()


def test_it_is_evaluated_like_any_other() -> None:
    snapshot = random_snapshot(7, 60, 15, 4)
    expected = ranks(together, all_pairs(snapshot), exact=False)
    score = us.evaluate(MatrixModel(Together()), snapshot, metric="hit@3")
    share = 1 / np.repeat(snapshot.sizes(), snapshot.sizes()) / snapshot.n_users  # P(u) P(i|u)
    assert score.value == pytest.approx(float(share @ (np.array(within(expected, 3)) > 0)))
    assert score.recommender == "Together"
    together_out = us.evaluate(MatrixModel(Together()), snapshot, metric="hit@3", leave_out=2)
    assert 0 < together_out.value < 1


def test_what_it_learned_still_contains_the_pair() -> None:
    assert not traits_of(MatrixModel(Together())).exact


class Written(Together):
    def __repr__(self) -> str:
        return "Written(8)"


class OnTwoLines(Together):
    def __str__(self) -> str:
        return "OnTwoLines(\n  8)"


@pytest.mark.parametrize(
    ("model", "name"),
    [
        (MatrixModel(Together()), "Together"),
        (MatrixModel(Together), "Together"),
        (MatrixModel(Written()), "Written(8)"),
        (MatrixModel(OnTwoLines()), "OnTwoLines"),
        (MatrixModel(Together(), name="mine"), "mine"),
    ],
)
def test_its_name_is_how_the_model_is_written(model: MatrixModel, name: str) -> None:
    assert str(model) == name
    assert repr(model) == f"MatrixModel({name})"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((3,), "int has no method 'fit': give a model that is fitted to a matrix"),
        ((Together(), "predikt"), "Together has no method 'predikt': did you mean 'predict'?"),
        ((Together, "predikt"), "Together has no method 'predikt': did you mean 'predict'?"),
        ((Together(), "zzz"), r"no method 'zzz': name another, or give a function scores\(model, rows\)"),
        ((Together(), 3), "scores is 3: name a method"),
    ],
)
def test_what_cannot_be_a_model_is_refused(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        MatrixModel(*arguments)


def test_what_a_function_makes_is_looked_at_when_it_is_fitted() -> None:
    with pytest.raises(InputError, match="int has no method 'fit'"):
        MatrixModel(lambda: 3).fit(random_log().at(AT))


@pytest.mark.parametrize("batch", [0, 1.5, True])
def test_a_batch_is_a_whole_number(batch: Any) -> None:
    with pytest.raises(PolicyError, match=r"batch is .*, but must be a whole number of at least 1"):
        MatrixModel(Together(), batch=batch)


@pytest.mark.parametrize(
    ("scores", "seen"),
    [
        (lambda model, rows: np.zeros(3), r"float64 of shape \(3,\)"),
        (lambda model, rows: np.zeros((rows.shape[0], 2)), r"float64 of shape \(256, 2\)"),
        (lambda model, rows: sparse.csr_matrix((2, 2)), r"float64 of shape \(2, 2\)"),
        (lambda model, rows: rows.toarray().astype(str), r"<U\d+ of shape \(256, 12\)"),
        (lambda model, rows: rows.toarray() * 1j, r"complex64 of shape \(256, 12\)"),
        (lambda model, rows: None, r"object of shape \(\)"),
    ],
)
def test_scores_of_another_shape_or_kind_are_refused(scores: Any, seen: str) -> None:
    snapshot = random_log().at(AT)
    model = MatrixModel(Together(), scores).fit(snapshot)
    with pytest.raises(InputError, match=rf"scores must return numbers of shape \(256, 12\), .*, not {seen}"):
        model.recommend(leave_one_out(snapshot), 3)


class NotToBeCopied(Together):
    def __init__(self) -> None:
        self.lock = threading.Lock()


def test_a_model_that_cannot_be_copied_is_to_be_made() -> None:
    with pytest.raises(
        InputError, match=r"cannot be copied before it is fitted .*: give a function that makes one"
    ):
        MatrixModel(NotToBeCopied()).fit(random_log().at(AT))
    assert MatrixModel(NotToBeCopied).fit(random_log().at(AT)).fitted


def test_it_must_be_fitted_first_and_lists_have_a_length() -> None:
    snapshot = random_log().at(AT)
    model = MatrixModel(Together())
    with pytest.raises(UnskewError, match="has not been fitted: call fit"):
        model.recommend(leave_one_out(snapshot), 3)
    with pytest.raises(UnskewError, match="has not been fitted: call fit"):
        model.held_out_ranks(all_pairs(snapshot), 3)
    with pytest.raises(PolicyError, match="the length of a list"):
        model.fit(snapshot).recommend(leave_one_out(snapshot), 0)


def test_what_fails_in_the_model_is_said_to_be_its_fault() -> None:
    class Failing(Together):
        def fit(self, x: sparse.csr_matrix) -> None:
            raise RuntimeError("no more memory")

    with pytest.raises(UnskewError, match=r"Failing failed in fit\(\): RuntimeError: no more memory"):
        us.evaluate(MatrixModel(Failing()), random_log().at(AT))
