"""The conformance test on every recommender that ships, and on ones that are broken in one way each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
import pytest
from scipy import sparse

from unskew import testing
from unskew.arrays.types import Codes, Floats
from unskew.data.slice import Snapshot
from unskew.recommend import (
    EASE,
    Batch,
    Constant,
    FunctionRecommender,
    ImplicitModel,
    ItemKNN,
    MatrixModel,
    Popular,
    Recommender,
    Table,
    recommender,
)
from unskew.recommend.contract import HeldOutPairs, Traits, top_k
from unskew.testing import AT, ITEMS, USERS, RecommenderConformance


class TestConstant(RecommenderConformance):
    exempt_from_date = True

    def make(self) -> Recommender:
        return Constant([ITEMS[3], ITEMS[0], ITEMS[7]])


class TestConstantSpec(TestConstant):
    def make(self) -> Recommender:
        return recommender(f"constant:{ITEMS[3]},{ITEMS[0]}")


class TestPopular(RecommenderConformance):
    def make(self) -> Recommender:
        return Popular(exact=False)


class TestPopularExact(RecommenderConformance):
    def make(self) -> Recommender:
        return Popular()


class TestItemKNN(RecommenderConformance):
    learns = True

    def make(self) -> Recommender:
        return ItemKNN(neighbours=5, exact=False)


class TestItemKNNExact(RecommenderConformance):
    learns = True

    def make(self) -> Recommender:
        return recommender("knn?neighbours=5")


class TestEASE(RecommenderConformance):
    learns = True

    def make(self) -> Recommender:
        return EASE(l2=5.0, exact=False)


class TestEASEExact(RecommenderConformance):
    learns = True

    def make(self) -> Recommender:
        return EASE(l2=5.0)


class TestALS(RecommenderConformance):
    learns = True

    def make(self) -> Recommender:
        return ImplicitModel("als", factors=2)


class TestBM25(RecommenderConformance):
    learns = True

    def make(self) -> Recommender:
        return ImplicitModel("bm25", K=6)


class TestTFIDF(RecommenderConformance):
    learns = True

    def make(self) -> Recommender:
        return ImplicitModel("tfidf", K=6)


class TestCosine(RecommenderConformance):
    learns = True

    def make(self) -> Recommender:
        return recommender("cosine?K=6")


class TestFunction(RecommenderConformance):
    def make(self) -> Recommender:
        def next_ones(profile: list[str], k: int) -> list[str]:
            first = ITEMS.index(profile[-1]) if profile else 0
            return [item for item in ITEMS[first:] + ITEMS[:first] if item not in profile][:k]

        return FunctionRecommender(next_ones)


class TestTable(RecommenderConformance):
    exempt_from_date = True

    def make(self) -> Recommender:
        rng = np.random.default_rng(0)
        return Table({"user": list(USERS), "items": [list(rng.permutation(ITEMS)) for _ in USERS]})


class _MostHeld:
    """Popularity as anyone would write it: nothing is done about ties, so that codes decide them."""

    def fit(self, snapshot: Snapshot, /) -> Self:
        counts = snapshot.counts()
        self.best = np.argsort(-counts, kind="stable")[: np.count_nonzero(counts)]
        return self

    def recommend(self, profiles: Batch, k: int, /) -> Codes:
        lists = np.full((len(profiles), k), -1)
        for row in range(len(profiles)):
            found = [item for item in self.best if item not in profiles.profile(row)][:k]
            lists[row, : len(found)] = found
        return lists


class TestTiesByCode(RecommenderConformance):
    def make(self) -> Recommender:
        return _MostHeld()


class _HeldTogether:
    """Sparse matrices and a dense sort, as someone wraps a library that knows nothing of logs."""

    def fit(self, snapshot: Snapshot, /) -> Self:
        matrix = Batch.of(snapshot).matrix()
        self.together = (matrix.T @ matrix).tocsr()
        self.here = np.asarray(matrix.sum(axis=0)).ravel() > 0
        return self

    def recommend(self, profiles: Batch, k: int, /) -> Codes:
        scores = (profiles.matrix() @ self.together).toarray()
        scores[profiles.matrix().nonzero()] = -1
        scores[:, ~self.here] = -1
        best = np.argsort(-scores, axis=1, kind="stable")[:, :k]
        found = np.where(np.take_along_axis(scores, best, axis=1) >= 0, best, -1)
        return np.concatenate([found, np.full((len(profiles), k), -1)], axis=1)[:, :k]


class TestWrappedMatrices(RecommenderConformance):
    learns = True

    def make(self) -> Recommender:
        return _HeldTogether()


class _LowRank:
    """A model in the manner of scikit-learn: factors of the matrix, and rows projected onto them."""

    def __init__(self, factors: int = 2) -> None:
        self.factors = factors

    def fit(self, x: sparse.csr_matrix) -> _LowRank:
        self.components = np.linalg.svd(x.toarray().astype(np.float64), full_matrices=False)[2][: self.factors]
        self.weights = self.components.T @ self.components
        return self

    def transform(self, rows: sparse.csr_matrix) -> Any:
        return rows @ self.components.T

    def predict(self, rows: sparse.csr_matrix) -> Any:
        return self.transform(rows) @ self.components


class TestMatrixModel(RecommenderConformance):
    learns = True

    def make(self) -> Recommender:
        return MatrixModel(_LowRank(), "predict")


class TestMatrixModelByFunction(RecommenderConformance):
    learns = True

    def make(self) -> Recommender:
        return MatrixModel(_LowRank, lambda model, rows: rows.toarray() @ model.weights, batch=16)


class _Together:
    """Sparse scores: nothing for what was never taken together with an item of the profile."""

    def fit(self, x: sparse.csr_matrix) -> None:
        self.together = (x.T @ x).tocsr()

    def predict(self, rows: sparse.csr_matrix) -> sparse.csr_matrix:
        return rows @ self.together


class TestMatrixModelOfSparseScores(RecommenderConformance):
    learns = True

    def make(self) -> Recommender:
        return MatrixModel(_Together())


class _Tensor:
    """What a library for networks gives: numbers that have to be detached first."""

    def __init__(self, values: Any, *, free: bool = False) -> None:
        self.values, self.free = values, free

    def detach(self) -> _Tensor:
        return _Tensor(self.values, free=True)

    def numpy(self) -> Any:
        assert self.free, "must be detached first"
        return self.values


class _OneLayer(_LowRank):
    def forward(self, rows: sparse.csr_matrix) -> _Tensor:
        return _Tensor(self.predict(rows))


class TestMatrixModelOfTensors(RecommenderConformance):
    learns = True

    def make(self) -> Recommender:
        return MatrixModel(_OneLayer(), "forward")


class _ByCode:
    """Recommends the smallest codes that the profile does not hold, and is a base to break things from."""

    def __init__(self) -> None:
        self.snapshot: Any = None

    def fit(self, snapshot: Snapshot, /) -> Any:
        self.snapshot = snapshot
        return self

    def recommend(self, profiles: Batch, k: int, /) -> Codes:
        here = self.snapshot.counts() > 0
        scores = np.where(here, 0.0, -np.inf) * np.ones((len(profiles), 1))
        for row in range(len(profiles)):
            scores[row, profiles.profile(row)] = -np.inf
        return top_k(scores, k)


class _Repeats(_ByCode):
    def recommend(self, profiles: Batch, k: int, /) -> Codes:
        return np.repeat(super().recommend(profiles, k)[:, :1], k, axis=1)


class _GivesTheProfile(_ByCode):
    def recommend(self, profiles: Batch, k: int, /) -> Codes:
        lists = super().recommend(profiles, k)
        for row in range(len(profiles)):
            own = profiles.profile(row)[:1]
            lists[row, : len(own)] = own
        return lists


class _AtRandom(_ByCode):
    rng = np.random.default_rng(0)

    def recommend(self, profiles: Batch, k: int, /) -> Codes:
        lists = super().recommend(profiles, len(ITEMS))
        for row in lists:
            found = row[row >= 0]
            row[: len(found)] = self.rng.permutation(found)
        return np.concatenate([lists, np.full((len(lists), k), -1)], axis=1)[:, :k]


class _BadShape(_ByCode):
    def recommend(self, profiles: Batch, k: int, /) -> Codes:
        return super().recommend(profiles, k + 1)


class _Decimal(_ByCode):
    def recommend(self, profiles: Batch, k: int, /) -> Codes:
        return super().recommend(profiles, k).astype(np.float64)


class _NoneFirst(_ByCode):
    def recommend(self, profiles: Batch, k: int, /) -> Codes:
        return np.concatenate([np.full((len(profiles), 1), -1), super().recommend(profiles, k)[:, 1:]], axis=1)


class _FitReturnsNothing(_ByCode):
    def fit(self, snapshot: Snapshot, /) -> Any:
        super().fit(snapshot)


class _KnowsTheFuture(_ByCode):
    def recommend(self, profiles: Batch, k: int, /) -> Codes:
        log = self.snapshot.log
        scores = np.ones((len(profiles), 1)) * np.bincount(log.item, minlength=len(log.items))  # of all history
        scores[:, self.snapshot.counts() == 0] = -np.inf
        for row in range(len(profiles)):
            scores[row, profiles.profile(row)] = -np.inf
        return top_k(scores, k)


class _RecommendsWhatIsNotThereYet(_ByCode):
    def recommend(self, profiles: Batch, k: int, /) -> Codes:
        lists = super().recommend(profiles, k)
        lists[:, 0] = np.flatnonzero(self.snapshot.counts() == 0)[0]
        return lists


class _DependsOnTheBatch(_ByCode):
    def recommend(self, profiles: Batch, k: int, /) -> Codes:
        return np.roll(super().recommend(profiles, k), 1, axis=0)


class _Remembers(_ByCode):
    def fit(self, snapshot: Snapshot, /) -> Any:
        self.fits = getattr(self, "fits", 0) + 1
        return super().fit(snapshot)

    def recommend(self, profiles: Batch, k: int, /) -> Codes:
        lists = super().recommend(profiles, k + self.fits - 1)
        return lists[:, self.fits - 1 :]


class _WritesIntoTheBatch(_ByCode):
    def recommend(self, profiles: Batch, k: int, /) -> Codes:
        found = super().recommend(profiles, k)
        profiles.item[:] = 0
        return found


class _FailsOnEmptyProfiles(_ByCode):
    def recommend(self, profiles: Batch, k: int, /) -> Codes:
        if len(profiles) and not np.diff(profiles.start).all():
            raise ZeroDivisionError
        return super().recommend(profiles, k)


class _ShortListsDiffer(_ByCode):
    def recommend(self, profiles: Batch, k: int, /) -> Codes:
        found = super().recommend(profiles, k)
        return found if k > 4 else super().recommend(profiles, k + 1)[:, 1:]


class _WrongRanks(_ByCode):
    def held_out_ranks(self, pairs: HeldOutPairs, k: int, /) -> Codes:
        return np.ones(len(pairs), dtype=np.int64)


class _OneGradeTooFew(_ByCode):
    def grades(self, profiles: Batch, items: Codes, /) -> Floats:
        return np.zeros(len(profiles) - 1)


class _GradesOfText(_ByCode):
    def grades(self, profiles: Batch, items: Codes, /) -> list[str]:
        return ["good"] * len(profiles)


class _RanksTooFar(_ByCode):
    def held_out_ranks(self, pairs: HeldOutPairs, k: int, /) -> Codes:
        return np.full(len(pairs), k + 1)


def _tests() -> list[str]:
    return [name for name in dir(RecommenderConformance) if name.startswith("test_")]


def _failed(make: Callable[[], Any], **attributes: bool) -> set[str]:
    suite = type("Suite", (RecommenderConformance,), {"make": lambda self: make(), **attributes})()
    failed = set()
    for name in _tests():
        try:
            getattr(suite, name)()
        except Exception:
            failed.add(name)
    return failed


def test_a_plain_recommender_passes() -> None:
    assert _failed(_ByCode) == set()


@pytest.mark.parametrize(
    ("broken", "by"),
    [
        (_Repeats, "test_nothing_comes_twice"),
        (_GivesTheProfile, "test_nothing_that_the_profile_holds"),
        (_AtRandom, "test_the_same_input_gives_the_same_lists"),
        (_BadShape, "test_lists_have_the_right_shape_and_hold_whole_numbers"),
        (_Decimal, "test_lists_have_the_right_shape_and_hold_whole_numbers"),
        (_NoneFirst, "test_codes_exist_and_none_is_at_the_end"),
        (_FitReturnsNothing, "test_it_is_a_recommender_and_fit_returns_itself"),
        (_KnowsTheFuture, "test_what_comes_later_is_not_known"),
        (_RecommendsWhatIsNotThereYet, "test_only_what_someone_holds_at_the_date"),
        (_DependsOnTheBatch, "test_batches_of_any_size_agree"),
        (_Remembers, "test_fitting_again_forgets_what_was_before"),
        (_WritesIntoTheBatch, "test_what_it_is_given_is_left_as_it_is"),
        (_FailsOnEmptyProfiles, "test_an_empty_profile_is_allowed"),
        (_ShortListsDiffer, "test_a_short_list_is_the_beginning_of_a_longer_one"),
        (_WrongRanks, "test_held_out_ranks_are_places_in_the_list"),
        (_RanksTooFar, "test_held_out_ranks_are_places_in_the_list"),
        (_OneGradeTooFew, "test_grades_are_one_number_for_each_profile"),
        (_GradesOfText, "test_grades_are_one_number_for_each_profile"),
        (object, "test_it_is_a_recommender_and_fit_returns_itself"),
    ],
)
def test_a_broken_recommender_fails(broken: Callable[[], Any], by: str) -> None:
    assert by in _failed(broken)


def test_one_that_does_not_learn_is_found_out() -> None:
    assert _failed(_ByCode, learns=True) == {"test_it_sees_what_anyone_can_see"}


def test_an_exempt_recommender_may_give_what_the_profile_holds() -> None:
    class Exempt(_GivesTheProfile):
        traits = Traits(may_recommend_profile=True)

    assert "test_nothing_that_the_profile_holds" not in _failed(Exempt)


def test_the_message_says_what_is_wrong() -> None:
    class Suite(RecommenderConformance):
        def make(self) -> Recommender:
            return _Repeats()

    with pytest.raises(AssertionError, match="row 0: repeats in"):
        Suite().test_nothing_comes_twice()


def test_the_checkerboard_is_one() -> None:
    snapshot = testing.checkerboard().at(AT)
    for u, user in enumerate(USERS):
        assert set(snapshot.profile(user)) == {
            item for i, item in enumerate(ITEMS) if (u + i) % 2 == 0 and i != u % len(ITEMS)
        }


@pytest.mark.parametrize("log", [testing.checkerboard(), testing.random_log()])
def test_the_logs_have_all_users_and_items_and_a_future(log: Any) -> None:
    snapshot = log.at(AT)
    held = {item for user in USERS for item in snapshot.profile(user)}
    assert held == set(ITEMS)
    assert all(snapshot.profile(user) for user in USERS)
    assert set(log.items) == {*ITEMS, testing.LATE}
    assert len(log) > len(snapshot)
