"""Models of `implicit`, against the library used directly in a few lines."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from implicit.bpr import BayesianPersonalizedRanking
from implicit.cpu.als import AlternatingLeastSquares
from implicit.nearest_neighbours import BM25Recommender, CosineRecommender, TFIDFRecommender
from scipy import sparse

import unskew as us
from tests.recommending import places, within
from unskew.arrays import blocks
from unskew.errors import InputError, UnskewError
from unskew.recommend import Batch, ImplicitModel
from unskew.recommend.implicit_models import _library
from unskew.recommend.matrix import ItemFactors, ProfileRows, Vectors, count_ranks_by_factors
from unskew.testing import AT, all_pairs, batch_of, random_log, without_each

AnyModel = Any
SIMILAR = {"bm25": BM25Recommender, "tfidf": TFIDFRecommender, "cosine": CosineRecommender}


def a_log(users: int = 60, items: int = 40, seed: int = 0) -> us.Log:
    """Random profiles, items numbered by id; the codes of users are not in the order of their ids."""
    rng = np.random.default_rng(seed)
    u, i = np.nonzero(rng.random((users, items)) < np.linspace(0.05, 0.4, items))
    return us.read_log({"user": u, "item": i, "time": np.ones(len(u), dtype=np.int64)}).numbered_by_id


def matrix_of(log: us.Log, at: Any) -> tuple[sparse.csr_matrix, list[Any], list[Any]]:
    """Users by items as ones, both in the order of their ids."""
    snapshot = log.at(at)
    users = sorted(u for u in log.users if snapshot.profile(u))
    items = sorted({i for u in users for i in snapshot.profile(u)})
    dense = np.zeros((len(users), len(items)), dtype=np.float32)
    for row, user in enumerate(users):
        dense[row, [items.index(i) for i in snapshot.profile(user)]] = 1
    return sparse.csr_matrix(dense), users, items


def directly(model: AnyModel, log: us.Log, batch: Batch, at: Any, k: int) -> list[list[Any]]:
    """What the library itself recommends, without what it pads with."""
    matrix, _, items = matrix_of(log, at)
    with _library().quiet():
        model.fit(matrix, show_progress=False)
        rows = np.zeros((len(batch), len(items)), dtype=np.float32)
        for row in range(len(batch)):
            rows[row, [items.index(log.items[c]) for c in batch.profile(row)]] = 1
        found, scores = model.recommend(
            np.arange(len(batch)),
            sparse.csr_matrix(rows),
            N=k,
            recalculate_user=True,
            filter_already_liked_items=True,
        )
    assert len(np.unique(scores)) > 0.9 * (scores > -1e30).sum(), "ties, which this cannot compare"
    lists = []
    for row in range(len(batch)):
        own = np.flatnonzero(rows[row])
        lists.append([items[c] for c in found[row] if c >= 0 and c not in own])
    return lists


def ids(log: us.Log, lists: npt.NDArray[np.int64]) -> list[list[Any]]:
    return [[log.items[c] for c in row if c >= 0] for row in lists]


def test_als_recommends_what_the_library_recommends_for_the_profile_that_is_left() -> None:
    log = a_log()
    batch = without_each(all_pairs(log.at(1)))
    ours = ImplicitModel("als", factors=8, regularization=0.1).fit(log.at(1))
    theirs = AlternatingLeastSquares(factors=8, regularization=0.1, random_state=0)
    assert ids(log, ours.recommend(batch, 10)) == directly(theirs, log, batch, 1, 10)


@pytest.mark.parametrize("name", SIMILAR)
def test_an_item_item_model_recommends_what_the_library_recommends(name: str) -> None:
    log = a_log(300, 40, seed=3)
    whole = without_each(all_pairs(log.at(1)))
    large = np.flatnonzero(np.diff(whole.start) >= 6)[::5]  # small profiles have equal scores
    batch = batch_of(log.at(1), whole.user[large].tolist(), [whole.profile(row) for row in large])
    ours = ImplicitModel(name, K=15).fit(log.at(1)).recommend(batch, 8)
    assert ids(log, ours) == directly(SIMILAR[name](K=15), log, batch, 1, 8)


@pytest.mark.parametrize("model", ["als", *SIMILAR])
def test_the_number_of_threads_changes_no_bit(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    log = a_log(1500, 120, seed=1)
    pairs = all_pairs(log.at(1))
    assert len(pairs) * 120 > blocks.SMALL
    batch = without_each(all_pairs(a_log(100, 120, seed=1).at(1)))
    found = []
    for threads in (1, 2, 3):
        monkeypatch.setenv("UNSKEW_THREADS", str(threads))
        fitted = ImplicitModel(model).fit(log.at(1))
        learned = fitted.fitted.item_factors if model == "als" else fitted.fitted.similarity.toarray()
        found.append((learned, fitted.recommend(batch, 7), fitted.held_out_ranks(pairs, 120)))
    for other in found[1:]:
        assert all((a == b).all() for a, b in zip(found[0], other, strict=True))


@pytest.mark.parametrize("alpha", [1.0, 0.4, 20.0])
def test_als_ranks_by_the_least_squares_of_each_profile_without_the_item(alpha: float) -> None:
    pairs = all_pairs(a_log(40, 30).at(1))
    model = ImplicitModel("als", factors=6, regularization=0.1, alpha=alpha).fit(pairs.snapshot)
    y = model.fitted.item_factors.astype(float)
    expected = []
    for row, item in enumerate(pairs.item):
        left = pairs.remaining(row, row + 1).item
        more = np.zeros(len(y))
        more[left] = alpha - 1
        matrix = y.T @ y + 0.1 * np.eye(6) + (y.T * more) @ y
        scores = y @ np.linalg.solve(matrix, alpha * y[left].sum(axis=0))
        scores[left] = -np.inf
        expected.append(1 + int((scores > scores[item]).sum()) if len(left) else 0)
    assert model.held_out_ranks(pairs, 30).tolist() == expected
    assert model.held_out_ranks(pairs, 4).tolist() == within(expected, 4)


@pytest.mark.parametrize("alpha", [1.0, 0.4, 20.0])
def test_a_profile_is_folded_in_as_the_library_does(alpha: float) -> None:
    log = a_log()
    model = ImplicitModel("als", factors=8, regularization=0.1, alpha=alpha).fit(log.at(1))
    rows, _, _ = matrix_of(log, 1)
    theirs = model.fitted.recalculate_user(np.arange(rows.shape[0]), rows)
    assert model._fold_in is not None
    assert model._fold_in.fold_in(rows) == pytest.approx(theirs, rel=1e-3, abs=1e-4)  # theirs is in 32 bits


@pytest.mark.parametrize("model", ["als", "als-64", "own fold-in", *SIMILAR])
def test_ranks_are_the_places_in_the_lists(model: str) -> None:
    class Own(AlternatingLeastSquares):  # type: ignore[misc]
        def recalculate_user(self, userid: Any, user_items: Any) -> Any:
            return 2 * super().recalculate_user(userid, user_items)

    pairs = all_pairs(a_log(80, 50, seed=5).at(1))
    made = {
        "als-64": lambda: ImplicitModel("als", factors=8, dtype=np.float64),
        "own fold-in": lambda: ImplicitModel(Own(factors=8)),
    }
    fitted = made.get(model, lambda: ImplicitModel(model))().fit(pairs.snapshot)
    for k in (1, 10, 50):
        lists = fitted.recommend(without_each(pairs), k)
        assert fitted.held_out_ranks(pairs, k).tolist() == places(lists, pairs.item)


def test_ranks_do_not_depend_on_products_in_single_precision() -> None:
    rng = np.random.default_rng(3)
    vectors, factors = rng.normal(size=(40, 16)), np.repeat(rng.normal(size=(1, 16)), 700, axis=0)
    factors += 1e-10 * rng.normal(size=factors.shape)  # single precision cannot tell these apart
    factors[350:] = factors[:350]  # and these are equal
    rough = vectors.astype(np.float32) @ factors.astype(np.float32).T
    doubt = 21 * 2.0**-24 * np.linalg.norm(factors, axis=1)
    column, profile = rng.integers(0, 700, 40), np.array([5, 80, 600])
    out = np.zeros(40, dtype=np.int64)
    row, start = np.zeros(40, dtype=np.int64), np.array([0, 3])
    asked = Vectors(vectors, rough, column, row)
    count_ranks_by_factors(asked, ItemFactors(factors, doubt), ProfileRows(start, profile), 700, out)
    for vector, h, rank in zip(vectors, column, out, strict=True):
        scores = [sum(a * b for a, b in zip(vector, y, strict=True)) for y in factors]
        ahead = [i for i, s in enumerate(scores) if (-s, i) < (-scores[h], h) and i not in profile]
        assert rank == 1 + len(ahead)


def test_factors_that_do_not_determine_a_user_are_an_error() -> None:
    with pytest.raises(InputError, match=r"als.* cannot be fitted at 1: its factors .*: change its parameters"):
        ImplicitModel("als", factors=60, regularization=0.0).fit(a_log().at(1))


def test_an_object_of_the_library_is_fitted_as_a_copy_from_the_start() -> None:
    log = a_log()
    batch = without_each(all_pairs(log.at(1)))
    with _library().quiet():
        theirs = AlternatingLeastSquares(factors=4)
        theirs.fit(sparse.csr_matrix(np.eye(5, dtype=np.float32)), show_progress=False)
    before = theirs.item_factors.copy()
    ours = ImplicitModel(theirs)
    assert (
        ours.fit(log.at(1)).recommend(batch, 5)
        == ImplicitModel("als", factors=4).fit(log.at(1)).recommend(batch, 5)
    ).all()
    assert (theirs.item_factors == before).all()
    assert theirs.random_state is None


def test_an_item_item_object_is_taken_too() -> None:
    log = a_log()
    batch = without_each(all_pairs(log.at(1)))
    one, other = ImplicitModel(CosineRecommender(K=9)), ImplicitModel("cosine", K=9)
    assert (one.fit(log.at(1)).recommend(batch, 5) == other.fit(log.at(1)).recommend(batch, 5)).all()


def test_an_empty_profile_gets_nothing() -> None:
    snapshot = random_log().at(AT)
    empty = batch_of(snapshot, [0], [np.empty(0, dtype=np.int64)])
    for model in ("als", *SIMILAR):
        assert (ImplicitModel(model).fit(snapshot).recommend(empty, 3) == -1).all()


def test_item_item_models_recommend_nothing_without_similarity() -> None:
    rows = [("a", "x"), ("a", "y"), ("b", "x"), ("b", "y"), ("c", "z"), ("d", "z"), ("d", "v"), ("e", "w")]
    log = us.read_log({"user": [u for u, _ in rows], "item": [i for _, i in rows], "time": [1] * len(rows)})
    log = log.numbered_by_id
    batch = batch_of(log.at(1), [0, 0], [log.items.codes(["x"]), log.items.codes(["w"])])
    for model in SIMILAR:
        assert ids(log, ImplicitModel(model).fit(log.at(1)).recommend(batch, 3)) == [["y"], []]


def test_ties_go_to_the_smaller_id() -> None:
    rows = [("u1", i) for i in "dcbax"] + [("u2", i) for i in "bdcax"] + [("u3", "e")]
    log = us.read_log({"user": [u for u, _ in rows], "item": [i for _, i in rows], "time": [1] * len(rows)})
    log = log.numbered_by_id
    batch = batch_of(log.at(1), [0], [log.items.codes(["x"])])
    assert ids(log, ImplicitModel("cosine").fit(log.at(1)).recommend(batch, 3)) == [["a", "b", "c"]]


def test_a_log_in_which_an_item_has_no_weight_is_no_error() -> None:
    rows = [("a", "x"), ("a", "y"), ("b", "z")]  # a holds all but one item: its idf is 0
    log = us.read_log({"user": [u for u, _ in rows], "item": [i for _, i in rows], "time": [1] * 3}).numbered_by_id
    batch = batch_of(log.at(1), [0], [log.items.codes(["x"])])
    found = ImplicitModel("tfidf").fit(log.at(1)).recommend(batch, 3)
    assert set(found.ravel().tolist()) <= {-1, *log.items.codes(["y", "z"]).tolist()}


def test_a_model_that_cannot_fold_in_a_profile_is_refused() -> None:
    with pytest.raises(InputError, match="cannot fold in a profile"):
        ImplicitModel(BayesianPersonalizedRanking(use_gpu=False))


@pytest.mark.parametrize(
    ("arguments", "parameters", "message"),
    [
        (("slim",), {}, "no model 'slim' here: give one of als, bm25, tfidf, cosine"),
        (("als",), {"factor": 3}, "als has no parameter 'factor'; did you mean 'factors'"),
        ((CosineRecommender(),), {"K": 3}, "has its parameters already"),
        ((3,), {}, "int cannot fold in"),
    ],
)
def test_wrong_models_and_parameters_are_named(
    arguments: tuple[Any, ...], parameters: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        ImplicitModel(*arguments, **parameters)


def test_factors_that_diverge_are_an_error() -> None:
    with pytest.raises(InputError, match="cannot be fitted at 1: NaN"):
        ImplicitModel("als", regularization=float("nan")).fit(a_log().at(1))


def test_it_must_be_fitted_first() -> None:
    with pytest.raises(UnskewError, match="has not been fitted: call fit"):
        ImplicitModel("als").recommend(batch_of(random_log().at(AT), [], []), 3)


def test_it_says_what_it_is() -> None:
    assert str(ImplicitModel("als", factors=3)) == "als?factors=3"
    assert str(ImplicitModel("tfidf")) == "tfidf"
    assert repr(ImplicitModel("bm25", K=3)) == "ImplicitModel('bm25', K=3)"
    assert str(ImplicitModel(CosineRecommender())) == "CosineRecommender"


def test_without_the_library_the_error_says_how_to_install_it() -> None:
    code = """
import sys
sys.modules["implicit"] = None
from unskew.recommend import ImplicitModel, recommender
for make in (lambda: ImplicitModel("als"), lambda: recommender("bm25?K=5")):
    try:
        make()
    except Exception as error:
        print(type(error).__name__, error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    assert len(lines) == 2
    for line in lines:
        assert line.startswith("UnskewError")
        assert "pip install 'unskew[implicit]'" in line


def test_it_warns_of_nothing_and_leaves_the_threads_of_blas_as_they_were() -> None:
    code = """
import warnings
warnings.simplefilter("error")
import threadpoolctl
from unskew.recommend import ImplicitModel
from unskew.testing import random_log, leave_one_out, AT
snapshot = random_log().at(AT)
model = ImplicitModel("als", factors=3)
before = [pool["num_threads"] for pool in threadpoolctl.threadpool_info()]
model.fit(snapshot).recommend(leave_one_out(snapshot), 3)
assert before == [pool["num_threads"] for pool in threadpoolctl.threadpool_info()]
"""
    subprocess.run([sys.executable, "-c", code], check=True)
