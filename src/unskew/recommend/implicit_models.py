"""Models of the library `implicit`: fitted by it, scored on the profile that is left.

The library has no single sign for "no more items": it pads with -1, with item 0, or with what the profile
holds at a score of 0 or of -3.4e38, and it breaks ties by the order of additions. So its models are fitted by the
library, and profiles are folded in and items ranked here.
"""

from __future__ import annotations

import contextlib
import copy
import importlib
import inspect
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse

from unskew.arrays.blocks import over_blocks, threads
from unskew.arrays.types import Codes, Mask
from unskew.data.slice import Snapshot
from unskew.errors import InputError, UnskewError
from unskew.recommend.calls import require_fitted, require_length
from unskew.recommend.contract import Batch, HeldOutPairs
from unskew.recommend.matrix import (
    FoldIn,
    ItemColumns,
    ItemFactors,
    ProfileRows,
    Vectors,
    count_ranks,
    count_ranks_by_factors,
    find_empty_rows,
    hide_profiles,
    rows_at_once,
)
from unskew.recommend.parameters import format_spec, unknown_parameter

MODELS = {
    "als": ("implicit.cpu.als", "AlternatingLeastSquares"),
    "bm25": ("implicit.nearest_neighbours", "BM25Recommender"),
    "tfidf": ("implicit.nearest_neighbours", "TFIDFRecommender"),
    "cosine": ("implicit.nearest_neighbours", "CosineRecommender"),
}
"""The names of models, and where each is in the library."""

_SMALL = 30_000  # entries below which waking a thread costs more than it saves


class ImplicitModel:
    """A model of the library `implicit` (``pip install 'unskew[implicit]'``).

    Parameters
    ----------
    model
        ``als`` (alternating least squares), ``bm25``, ``tfidf`` or ``cosine`` (neighbourhoods of items), or an
        object of the library: a factorisation that can fold in a profile, or any item-item recommender. The
        object itself is left as it is; a copy is fitted from the start.
    **parameters
        Those of the library's class, such as ``factors=64`` or ``K=50``. Where the library would draw a seed,
        ``random_state`` is 0.

    Notes
    -----
    What is left out is left out of the profile only: item factors and similarities are fitted once, on profiles
    that still hold the pair. Scores are therefore a little higher than after a refit without it, for small
    logs more so. `ItemKNN` and `EASE` take the pair out of what they have learned as well.

    An empty profile gets no recommendation; an item-item model recommends only what is similar to something in
    the profile. Ties go to the smaller id. The matrix has the users and items of the snapshot alone, in the
    order of their ids, so that nothing of what the log holds later comes in. Every number of threads gives the
    same bits.

    Models that cannot fold in a profile (``BayesianPersonalizedRanking``, ``LogisticMatrixFactorization``) are
    refused: what they know of a user was learned with the held-out item.

    Examples
    --------
    >>> import unskew as us
    >>> from unskew.recommend import Batch, ImplicitModel
    >>> rows = [("ann", "x"), ("ann", "y"), ("bob", "x"), ("bob", "y"), ("cid", "x"), ("dan", "z")]
    >>> log = us.read_log({"user": [u for u, _ in rows], "item": [i for _, i in rows], "time": [1] * 6})
    >>> log = log.numbered_by_id
    >>> cosine = ImplicitModel("cosine", K=10).fit(log.at(1))
    >>> x = log.items.codes(["x"])
    >>> found = cosine.recommend(Batch(log.users.codes(["cid"]), np.array([0, 1]), x, len(log.items)), 2)
    >>> log.items[found[0, 0]], found[0, 1]  # z is not similar to x: no second one
    ('y', np.int64(-1))
    """

    def __init__(self, model: Any = "als", /, **parameters: Any) -> None:
        self._name = model if isinstance(model, str) else type(model).__name__
        self._parameters = parameters
        self._unfitted = self._make_model(model, parameters)
        self.fitted: Any = None
        """The library's own object, once fitted; its users and items are numbered in the order of their ids."""
        self._columns: ItemColumns | None = None
        self._fold_in: FoldIn | None = None
        self._empty: tuple[HeldOutPairs, Mask] | None = None

    def __str__(self) -> str:
        return format_spec(self._name, **self._parameters)

    def __repr__(self) -> str:
        parameters = "".join(f", {name}={value!r}" for name, value in self._parameters.items())
        return f"ImplicitModel({self._name!r}{parameters})"

    def fit(self, snapshot: Snapshot, /) -> Self:
        """Fit a fresh copy of the model to the profiles; everything is 1 in the matrix."""
        model = copy.deepcopy(self._unfitted)
        columns = ItemColumns.of(snapshot)
        matrix = columns.training_rows(snapshot)
        self._share_work(model, matrix.nnz)
        with _library().quiet():
            try:
                model.fit(matrix, show_progress=False)
                fold_in = _library().make_fold_in(model)
            except (_library().fit_error, np.linalg.LinAlgError) as error:
                raise InputError(
                    f"{self} cannot be fitted at {snapshot.at}: {error}", remedy="change its parameters"
                ) from None
            if _library().is_item_item(model):
                np.nan_to_num(model.similarity.data, copy=False)  # where an item has no weight at all
        self.fitted, self._columns, self._fold_in, self._empty = model, columns, fold_in, None
        return self

    def recommend(self, profiles: Batch, k: int, /) -> Codes:
        """The best k items of each profile: shape (len(profiles), k), -1 for none."""
        columns = require_fitted(self._columns, self)
        rows = columns.rows(profiles)
        out = np.full((len(profiles), require_length(k)), -1, dtype=np.int64)
        filled = np.flatnonzero(np.diff(rows.indptr))
        rows = rows[filled]

        with _library().quiet():
            left, right = self._factor_scores(rows)

            def block(_: int, low: int, high: int) -> None:
                scores = _to_dense(left[low:high] @ right)
                if sparse.issparse(left):
                    scores[~(scores > 0)] = -np.inf
                hide_profiles(scores, rows[low:high])
                out[filled[low:high]] = columns.best(scores, k)

            if len(filled):
                _over_rows(len(filled), len(columns), block)
        return out

    def held_out_ranks(self, pairs: HeldOutPairs, k: int, /) -> Codes:
        """The rank of each held-out item, from 1; 0 if it is not among the best k.

        Of a factorisation by alternating least squares every user is folded in once, and each pair is a step from
        there; the rest of the time goes into the product that scores every item.
        """
        columns = require_fitted(self._columns, self)
        require_length(k)
        with _library().quiet():
            if _library().is_item_item(self.fitted):
                return self._rank_by_similarity(columns, pairs, k)
            return self._rank_by_factors(columns, pairs, k)

    def empty_lists(self, pairs: HeldOutPairs, /) -> Mask:
        """Whether no item has a score: nothing is left of the profile, or it has no neighbours.

        Of neighbours that is known from ranking the same pairs; of factors, from the sizes of profiles.
        """
        columns = require_fitted(self._columns, self)
        if not _library().is_item_item(self.fitted):
            users, row = np.unique(pairs.user, return_inverse=True)
            sizes = np.diff(columns.rows(Batch.of(pairs.snapshot, users)).indptr)[row]
            nothing: Mask = sizes <= (columns.column[pairs.item] >= 0)
            return nothing
        if self._empty is None or self._empty[0] is not pairs:
            self.held_out_ranks(pairs, 1)
        assert self._empty is not None
        return self._empty[1]

    def _rank_by_similarity(self, columns: ItemColumns, pairs: HeldOutPairs, k: int) -> Codes:
        column, out = columns.column[pairs.item], np.zeros(len(pairs), dtype=np.int64)
        empty = np.zeros(len(pairs), dtype=np.bool_)

        def block(_: int, low: int, high: int) -> None:
            rows = columns.rows(pairs.remaining(low, high))
            scores = _to_dense(rows @ self.fitted.similarity)
            scores[~(scores > 0)] = -np.inf
            hide_profiles(scores, rows)
            count_ranks(scores, column[low:high], k, out[low:high])
            find_empty_rows(scores, empty[low:high])

        _over_rows(len(pairs), len(columns), block)
        self._empty = (pairs, empty)
        return out

    def _rank_by_factors(self, columns: ItemColumns, pairs: HeldOutPairs, k: int) -> Codes:
        users, row = np.unique(pairs.user, return_inverse=True)
        whole = columns.rows(Batch.of(pairs.snapshot, users))
        more = np.diff(whole.indptr)[row] > 1  # an empty profile gets nothing
        column = np.where(more, columns.column[pairs.item], -1)
        factors = self.fitted.item_factors
        rough_factors = factors.astype(np.float32)
        # how far a product in single precision of factors that were rounded to it can be off
        doubt = (factors.shape[1] + 5) * 2.0**-24 * np.linalg.norm(factors.astype(np.float64), axis=1)
        items, profiles = ItemFactors(factors, doubt), ProfileRows(whole.indptr.astype(np.int64), whole.indices)
        out = np.zeros(len(pairs), dtype=np.int64)

        def block(_: int, low: int, high: int) -> None:
            if self._fold_in is None:
                vectors = self._factor_scores(columns.rows(pairs.remaining(low, high)))[0]
            else:
                vectors = self._fold_in.leave_out(whole, row[low:high], column[low:high])
            rough = vectors.astype(np.float32) @ rough_factors.T
            block_pairs = slice(low, high)
            asked = Vectors(vectors, rough, column[block_pairs], row[block_pairs])
            count_ranks_by_factors(asked, items, profiles, k, out[block_pairs])

        _over_rows(len(pairs), len(columns), block)
        return out

    def _share_work(self, model: Any, entries: int) -> None:
        """Choose the number of threads, unless it was given; it changes no bit."""
        if self._name in MODELS and "num_threads" not in self._parameters:
            model.num_threads = threads() if entries > _SMALL else 1

    def _make_model(self, model: Any, parameters: dict[str, Any]) -> Any:
        if not isinstance(model, str):
            return self._copy_unfitted(model, parameters)
        if model not in MODELS:
            raise InputError(
                f"implicit has no model {model!r} here",
                remedy=f"give one of {', '.join(MODELS)}, or an object of the library",
            )
        kind = model_class(model)
        valid = inspect.signature(kind).parameters
        unknown = [name for name in parameters if name not in valid]
        if unknown:
            raise unknown_parameter(unknown[0], list(valid), model)
        chosen = {"random_state": 0} if "random_state" in valid else {}
        with _library().quiet():
            return kind(**chosen | parameters)

    def _copy_unfitted(self, model: Any, parameters: dict[str, Any]) -> Any:
        """A copy of an object of the library, as it was before any fit."""
        if parameters:
            raise InputError(
                f"{', '.join(parameters)}: an object has its parameters already", remedy="give them to the object"
            )
        if not _library().is_item_item(model) and not _library().folds_in(model):
            raise InputError(
                f"{type(model).__name__} cannot fold in a profile, so that what is held out would stay in what it "
                "knows of the user",
                remedy="use AlternatingLeastSquares (on the CPU) or an item-item recommender",
            )
        fresh = copy.deepcopy(model)
        for fitted in ("user_factors", "item_factors"):
            if hasattr(fresh, fitted):
                setattr(fresh, fitted, None)
        if getattr(fresh, "random_state", 0) is None:
            fresh.random_state = 0
        return fresh

    def _factor_scores(self, rows: sparse.csr_matrix) -> tuple[Any, Any]:
        """Two matrices whose product is the scores; in 64 bits, so that batches of any size agree."""
        if self._fold_in is not None:
            return self._fold_in.fold_in(rows), self._fold_in.factors.T
        if _library().is_item_item(self.fitted):
            return rows, self.fitted.similarity
        self._share_work(self.fitted, rows.nnz)
        left = self.fitted.recalculate_user(np.arange(rows.shape[0]), rows)
        return left.astype(np.float64), self.fitted.item_factors.astype(np.float64).T


class _Library:
    """The parts of `implicit` that are used here."""

    def __init__(self) -> None:
        self._item_item = importlib.import_module("implicit.nearest_neighbours").ItemItemRecommender
        self._factors = importlib.import_module("implicit.cpu.matrix_factorization_base").MatrixFactorizationBase
        self._parameter_warning = importlib.import_module("implicit.utils").ParameterWarning
        self.fit_error = importlib.import_module("implicit.recommender_base").ModelFitError
        self._least_squares = importlib.import_module("implicit.cpu.als").AlternatingLeastSquares
        self._pools = importlib.import_module("threadpoolctl").ThreadpoolController()

    def is_item_item(self, model: Any) -> bool:
        return isinstance(model, self._item_item)

    def folds_in(self, model: Any) -> bool:
        """Whether what it knows of a user can be worked out again from a profile."""
        return isinstance(model, self._factors) and (
            type(model).recalculate_user is not self._factors.recalculate_user
        )

    def make_fold_in(self, model: Any) -> FoldIn | None:
        """How profiles are folded in, if that is by the least squares of the library."""
        least_squares = self._least_squares
        if getattr(type(model), "recalculate_user", None) is not least_squares.recalculate_user:
            return None
        return FoldIn.of(model.item_factors, model.regularization, model.alpha)

    @contextlib.contextmanager
    def quiet(self) -> Iterator[None]:
        """BLAS on one thread, as the library wants it, and none of its warnings about its own conversions."""
        with self._pools.limit(limits=1, user_api="blas"), warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore", self._parameter_warning)
            yield


def model_class(name: str) -> Any:
    """The library's class of a named model."""
    _library()
    module, attribute = MODELS[name]
    return getattr(importlib.import_module(module), attribute)


@cache
def _library() -> _Library:
    try:
        return _Library()
    except ImportError as error:
        raise UnskewError(
            f"this recommender needs the library implicit ({error})", remedy="pip install 'unskew[implicit]'"
        ) from error


def _over_rows(rows: int, columns: int, work: Callable[[int, int, int], None]) -> None:
    """Call ``work(block, lo, hi)`` for blocks of rows of so many scores."""
    edges = np.append(np.arange(0, rows, rows_at_once(columns)), rows).astype(np.int64)
    over_blocks(edges, rows * columns, work)


def _to_dense(product: Any) -> npt.NDArray[np.float64]:
    dense: npt.NDArray[np.float64] = product.toarray() if sparse.issparse(product) else product
    return dense
