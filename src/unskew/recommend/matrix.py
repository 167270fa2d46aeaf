"""Models of matrices: fitted to the profiles as a sparse matrix, and how a profile is folded in."""
# mypy: disallow-untyped-defs=False

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc
from scipy import sparse
from scipy.linalg.lapack import dposv

from unskew.arrays.compiling import compiled
from unskew.arrays.types import Codes, Floats, Mask
from unskew.checks import public_class, require_whole_number
from unskew.data.slice import Snapshot
from unskew.errors import InputError
from unskew.recommend.calls import is_nameless, require_fitted, require_length
from unskew.recommend.candidates import STEP, offer, sort_best_first
from unskew.recommend.contract import Batch, HeldOutPairs, Traits
from unskew.text import closest, first_line


@dataclass(frozen=True, eq=False)
class FoldIn:
    r"""The least squares problem of one user, for given factors of items, in double precision.

    With Y the factors and c the confidence in what a profile holds, the vector of a profile x solves

    .. math:: (Y^T Y + \lambda I + (c - 1) \sum_{j \in x} y_j y_j^T) z = c \sum_{j \in x} y_j .

    To leave out one item of a profile is a step of rank one (Sherman and Morrison): the matrix of a user is
    factorised once for all of its pairs, and for c = 1, where it is the same for everyone, once for all users.
    """

    factors: Floats  # Y, a row for each column of the matrix of profiles
    base: Floats  # ``Y'Y + lambda I``
    single: Floats  # the solutions of `base` for each row of Y
    confidence: float  # c, which implicit calls alpha

    @classmethod
    def of(cls, factors: npt.NDArray[Any], regularization: float, confidence: float) -> FoldIn:
        """The problem for some factors of items."""
        y = factors.astype(np.float64)
        base = y.T @ y + regularization * np.eye(y.shape[1])
        _, solved, failed = dposv(base, y.T)
        if failed:
            raise np.linalg.LinAlgError("its factors do not determine the vector of a user without a penalty")
        return cls(y, base, np.ascontiguousarray(solved.T), float(confidence))

    def fold_in(self, rows: sparse.csr_matrix) -> Floats:
        """The vectors of profiles."""
        n = rows.shape[0]
        return self.leave_out(rows, np.arange(n), np.full(n, -1))

    def leave_out(self, rows: sparse.csr_matrix, row: Codes, column: Codes) -> Floats:
        """The vectors of profiles without one of their items, given by row and column; -1 leaves out nothing.

        Rows ascend.
        """
        if self.confidence == 1:
            block = slice(int(row[0]), int(row[-1]) + 1) if len(row) else slice(0, 0)
            vectors: Floats = (rows[block] @ self.single)[row - block.start]
            known = column >= 0
            vectors[known] -= self.single[column[known]]
            return vectors
        out = np.zeros((len(row), len(self.base)))
        start = rows.indptr.astype(np.int64)
        fold_in_without(
            self.factors, self.single, self.base, self.confidence, start, rows.indices, row, column, out
        )
        return out


_CELLS = 2**22  # scores that are held at a time
_MOST_ROWS = 256  # more at a time are hardly faster


def rows_at_once(columns: int) -> int:
    """How many rows of so many scores are made at a time."""
    return max(1, min(_MOST_ROWS, _CELLS // max(1, columns)))


@dataclass(frozen=True)
class ItemColumns:
    """The items that somebody holds at a date as the columns of a matrix, in the order of their ids."""

    code: Codes  # the item code of each column
    column: Codes  # the column of each item code; -1 for what nobody holds

    @classmethod
    def of(cls, snapshot: Snapshot) -> ItemColumns:
        """The columns for a snapshot."""
        code = np.flatnonzero(snapshot.counts())
        column = np.full(len(snapshot.log.items), -1, dtype=np.int64)
        column[code] = np.arange(len(code))
        return cls(code, column)

    def __len__(self) -> int:
        return len(self.code)

    def rows(self, profiles: Batch) -> sparse.csr_matrix:
        """The profiles as rows of ones; items without a column are left out."""
        columns = self.column[profiles.item]
        known = columns >= 0
        start = np.concatenate([[0], np.cumsum(known)])[profiles.start]
        ones = np.ones(int(start[-1]), dtype=np.float32)
        rows = sparse.csr_matrix((ones, columns[known], start), shape=(len(profiles), len(self)))
        rows.sort_indices()
        return rows

    def training_rows(self, snapshot: Snapshot) -> sparse.csr_matrix:
        """The profiles of all users who hold anything, in the order of their ids."""
        users = pc.sort_indices(snapshot.log.users.values).to_numpy().astype(np.int64)
        return self.rows(Batch.of(snapshot, users[snapshot.sizes()[users] > 0]))

    def best(self, scores: npt.NDArray[Any], k: int) -> Codes:
        """The item codes of the k highest scores in each row: ties by id, -inf and NaN never, -1 for none."""
        columns = np.full((len(scores), k), -1, dtype=np.int64)
        list_best(scores, k, columns)
        return np.where(columns >= 0, self.code[columns], -1)


def hide_profiles(scores: npt.NDArray[Any], rows: sparse.csr_matrix) -> None:
    """Set the score of what each profile holds to -inf, in place."""
    scores[np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr)), rows.indices] = -np.inf


ScoreRows = Callable[[Any, sparse.csr_matrix], Any]
"""From the fitted model and rows of the matrix to a score for each row and column."""


@public_class
class MatrixModel:
    """Recommends what a model scores highest: anything with ``fit(X)`` that then scores rows of such a matrix.

    ``X`` is a SciPy CSR matrix of ones (32-bit floats): a row for each user and a column for each item of the
    snapshot, both in the order of their ids, so that nothing of what the log holds later comes in. Rows to score
    are profiles without the held-out item, on the same columns. They are not those of `X`: the model must score
    any row, and what it remembers of a user by number is of no use.

    Parameters
    ----------
    model
        An object with ``fit(X)``, of which a copy is fitted each time, or a class or function without
        arguments that makes one.
    scores
        How scores are had from the fitted model: the name of a method that takes rows, or a function
        ``scores(model, rows)``. Either gives an array of shape (rows, items): of NumPy, of PyTorch, or a sparse
        matrix, in which what is not stored is never recommended. Neither is what scores NaN or -inf.
    name
        How to call it in results; by default as the model is written.
    batch
        How many rows are scored at a time; by default a power of 2 up to 256, such that no more than about four
        million scores are held at once.

    Attributes
    ----------
    fitted
        The model itself, once fitted.

    Notes
    -----
    The model is always given the same number of rows; the last block is filled up with repeats. Fast arithmetic
    rounds differently for blocks of another shape, and scores that are all but equal would change places with the
    size of a batch. (In single precision it may round by the place of a row as well.)

    Items that the profile holds are never recommended, ties go to the smaller id, and the rank of a held-out item
    is had by counting the scores above it. A held-out item leaves the profile only: **what the model has learned
    still contains the pair**, and scores are higher than after a fit without it, for small logs more so.

    Examples
    --------
    >>> import numpy as np
    >>> import unskew as us
    >>> class LowRank:
    ...     def __init__(self, factors=2):
    ...         self.factors = factors
    ...     def fit(self, x):
    ...         self.v = np.linalg.svd(x.toarray(), full_matrices=False)[2][: self.factors]
    ...     def predict(self, rows):
    ...         return rows @ self.v.T @ self.v
    >>> rows = [("ann", "x"), ("ann", "y"), ("bob", "x"), ("bob", "y"), ("cid", "x"), ("cid", "z")]
    >>> log = us.read_log({"user": [u for u, _ in rows], "item": [i for _, i in rows], "time": [1] * 6})
    >>> model = us.MatrixModel(LowRank(1), "predict")
    >>> round(us.evaluate(model, log.at(1), metric="hit@1").value, 3)
    0.833
    """

    traits: ClassVar[Traits] = Traits(exact=False)

    def __init__(
        self, model: Any, scores: str | ScoreRows = "predict", *, name: str | None = None, batch: int | None = None
    ) -> None:
        self.model = model
        self._is_maker = isinstance(model, type) or (callable(model) and not hasattr(model, "fit"))
        if not isinstance(scores, str) and not callable(scores):
            raise InputError(
                f"scores is {scores!r}",
                remedy="name a method of the model, or give a function scores(model, rows)",
            )
        if isinstance(model, type) or not self._is_maker:
            _require_methods(model, scores)
        if batch is not None:
            require_whole_number("batch", batch, "how many rows are scored at a time")
        self.scores = scores
        self.batch = batch
        self._name = name or _describe(model)
        self.fitted: Any = None
        self._columns: ItemColumns | None = None
        self._empty: tuple[HeldOutPairs, Mask] | None = None

    def __str__(self) -> str:
        return self._name

    def __repr__(self) -> str:
        return f"MatrixModel({self._name})"

    def fit(self, snapshot: Snapshot, /) -> Self:
        """Fit a fresh model to the profiles; everything is 1 in the matrix."""
        model, columns = self._make(), ItemColumns.of(snapshot)
        model.fit(columns.training_rows(snapshot))
        self.fitted, self._columns, self._empty = model, columns, None
        return self

    def recommend(self, profiles: Batch, k: int, /) -> Codes:
        """The best k items of each profile: shape (len(profiles), k), -1 for none."""
        columns = require_fitted(self._columns, self)
        out = np.full((len(profiles), require_length(k)), -1, dtype=np.int64)
        rows = columns.rows(profiles)
        for low, high in self._cut(len(profiles)):
            out[low:high] = columns.best(self._score(rows[low:high]), k)
        return out

    def held_out_ranks(self, pairs: HeldOutPairs, k: int, /) -> Codes:
        """The rank of each held-out item, from 1; 0 if it is not among the best k."""
        columns = require_fitted(self._columns, self)
        require_length(k)
        out, empty = np.zeros(len(pairs), dtype=np.int64), np.zeros(len(pairs), dtype=np.bool_)
        for low, high in self._cut(len(pairs)):
            block = self._score(columns.rows(pairs.remaining(low, high)))
            count_ranks(block, columns.column[pairs.item[low:high]], k, out[low:high])
            find_empty_rows(block, empty[low:high])
        self._empty = (pairs, empty)
        return out

    def empty_lists(self, pairs: HeldOutPairs, /) -> Mask:
        """Whether every item that the profile lacks scores NaN or -inf; known from ranking the same pairs."""
        if self._empty is None or self._empty[0] is not pairs:
            self.held_out_ranks(pairs, 1)
        assert self._empty is not None
        return self._empty[1]

    def grades(self, profiles: Batch, items: Codes, /) -> Floats:
        """The score of one item for each profile; NaN for one that nobody held at the fit."""
        columns = require_fitted(self._columns, self)
        rows, column = columns.rows(profiles), columns.column[items]
        out = np.full(len(profiles), np.nan)
        for low, high in self._cut(len(profiles)):
            block = self._score(rows[low:high], hide=False)
            out[low:high] = block[np.arange(high - low), column[low:high]]
        return np.where(column >= 0, out, np.nan)

    def _make(self) -> Any:
        if self._is_maker:
            model = self.model()
            _require_methods(model, self.scores)
            return model
        try:
            return copy.deepcopy(self.model)
        except Exception as error:
            raise InputError(
                f"{self} cannot be copied before it is fitted ({type(error).__name__}: {first_line(error)})",
                remedy="give a function that makes one, such as lambda: Model(factors=8)",
            ) from error

    def _cut(self, n: int) -> Iterator[tuple[int, int]]:
        size = self._block_size()
        for low in range(0, n, size):
            yield low, min(low + size, n)

    def _block_size(self) -> int:
        if self.batch is not None:
            return self.batch
        fits = rows_at_once(len(require_fitted(self._columns, self)))
        return 1 << (fits.bit_length() - 1)

    def _score(self, rows: sparse.csr_matrix, *, hide: bool = True) -> npt.NDArray[Any]:
        """The scores of one block of rows, with -inf for what they hold unless that is to be seen too."""
        n = rows.shape[0]
        filled = rows[np.resize(np.arange(n), self._block_size())]
        scores = self.scores
        ask = getattr(self.fitted, scores) if isinstance(scores, str) else partial(scores, self.fitted)
        block = self._read(ask(filled), filled.shape)[:n]
        if hide:
            hide_profiles(block, rows)
        return block

    def _read(self, answer: Any, shape: tuple[int, int]) -> npt.NDArray[Any]:
        """Scores as an array of our own; an array is copied, since the model may keep it."""
        for step in ("detach", "cpu", "numpy"):
            if callable(getattr(answer, step, None)):
                answer = getattr(answer, step)()
        block = answer if sparse.issparse(answer) else np.array(answer)
        if block.shape != shape or block.dtype.kind not in "biuf":
            method = self.scores if isinstance(self.scores, str) else "scores"
            raise InputError(
                f"{self}: {method} must return numbers of shape {shape}, a row for each profile and a column for "
                f"each item of the matrix that was fitted, not {block.dtype} of shape {block.shape}"
            )
        if sparse.issparse(block):
            return _fill_in(block)
        return block if block.dtype.kind == "f" else block.astype(np.float64)


def _fill_in(scores: Any) -> Floats:
    """Sparse scores as an array, with -inf for what is not stored."""
    stored = sparse.coo_matrix(scores, copy=True)
    stored.sum_duplicates()
    block = np.full(stored.shape, -np.inf)
    block[stored.row, stored.col] = stored.data
    return block


def _require_methods(model: Any, scores: str | ScoreRows) -> None:
    """Refuse a model that cannot be fitted, or has no such method to score rows."""
    kind = model.__name__ if isinstance(model, type) else type(model).__name__
    if not callable(getattr(model, "fit", None)):
        raise InputError(
            f"{kind} has no method 'fit'", remedy="give a model that is fitted to a matrix, with fit(X)"
        )
    if isinstance(scores, str) and not callable(getattr(model, scores, None)):
        methods = [
            name for name in dir(model) if not name.startswith("_") and callable(getattr(model, name, None))
        ]
        close = closest(scores, methods)
        raise InputError(
            f"{kind} has no method {scores!r}",
            remedy=f"did you mean {close!r}?" if close else "name another, or give a function scores(model, rows)",
        )


def _describe(model: Any) -> str:
    """How a model is written, if that is one line that says something."""
    text = str(getattr(model, "__name__", model))
    return type(model).__name__ if is_nameless(model) or "\n" in text else text


# The loops, compiled with numba: arrays in, arrays out; see `unskew.recommend.candidates` for the rules.


class ItemFactors(NamedTuple):
    """The factors of columns, and how far a rough product with each is off at most, as a part of ``|vector|``."""

    factors: npt.NDArray[Any]
    doubt: Floats


class ProfileRows(NamedTuple):
    """The columns that profiles hold: row r is ``profile[start[r]:start[r + 1]]``."""

    start: Codes
    profile: npt.NDArray[Any]


class Vectors(NamedTuple):
    """One vector for each held-out item."""

    # The vectors, and their products with the factors of every column in single precision.
    vectors: Floats
    rough: npt.NDArray[Any]
    # The column of the held-out item, or -1, and the row of the profile.
    column: Codes
    row: Codes


@compiled
def list_best(scores, k, out):
    """The columns of the k highest scores in each row, ties by column; -inf and NaN never."""
    room = min(k, scores.shape[1])
    best = np.empty(room)
    columns = np.empty(room, dtype=np.uint32)
    for row in range(len(scores)):
        kept = 0
        for i in range(scores.shape[1]):
            score = float(scores[row, i])
            if score > -np.inf:
                kept = offer(score, i, kept, best, columns)
        sort_best_first(kept, best, columns)
        for t in range(kept):
            out[row, t] = columns[t]


@compiled
def find_empty_rows(scores, out):
    """Mark rows in which nothing may be recommended."""
    for row in range(len(scores)):
        out[row] = True
        for i in range(scores.shape[1]):
            if scores[row, i] > -np.inf:
                out[row] = False
                break


@compiled
def count_ranks(scores, column, k, out):
    """The rank of one column in each row, ties by column; 0 if it is beyond k or never recommended."""
    n = scores.shape[1]
    for row in range(len(scores)):
        h = column[row]
        if h < 0 or not scores[row, h] > -np.inf:
            continue
        held_score = scores[row, h]
        ahead = first = 0
        while first < n and ahead < k:
            last = min(first + STEP, n)
            for i in range(first, min(last, h)):
                ahead += scores[row, i] >= held_score
            for i in range(max(first, h + 1), last):
                ahead += scores[row, i] > held_score
            first = last
        if ahead < k:
            out[row] = ahead + 1


@compiled
def multiply(left, right):
    """The inner product of two vectors in double precision, added from the first to the last."""
    total = 0.0
    for t in range(len(left)):
        total += float(left[t]) * float(right[t])
    return total


@compiled
def is_ahead(i, h, held_score, rough, doubt, vector, factors):
    """Whether column i comes before h: by a rough score if that is certain, else by the score itself."""
    if rough - doubt > held_score:
        return True
    if rough + doubt < held_score:
        return False
    score = multiply(vector, factors[i])
    return score > held_score or (score == held_score and i < h)


@compiled
def count_ranks_by_factors(asked, items, profiles, k, out):
    """The rank of one column for each of these vectors, by their inner products with the factors of columns.

    ``rough`` has the products in single precision, each within ``doubt[i] * |vector|`` of the right one: where
    that decides, it decides, and elsewhere the product is made again in double precision. So a rank does not
    depend on how a library has rounded. What the profile holds does not count; the held-out item may be part of
    it.
    """
    vectors, rough, column, row = asked.vectors, asked.rough, asked.column, asked.row
    factors, doubt = items.factors, items.doubt
    start, profile = profiles.start, profiles.profile
    n = len(factors)
    for p in range(len(vectors)):
        h, r = column[p], row[p]
        vector, scores = vectors[p], rough[p]
        length = np.sqrt(multiply(vector, vector))
        if h < 0 or length == 0.0:
            continue
        held_score = multiply(vector, factors[h])
        most = k + start[r + 1] - start[r]
        ahead = first = 0
        while first < n and ahead < most:
            last = min(first + STEP, n)
            certain = 0
            possible = -1 if first <= h < last else 0  # h itself is never certain
            for i in range(first, last):
                score, near = float(scores[i]), doubt[i] * length
                certain += score - near > held_score
                possible += score + near >= held_score
            if certain == possible:
                ahead += certain
            else:
                for i in range(first, last):
                    ahead += i != h and is_ahead(
                        i, h, held_score, float(scores[i]), doubt[i] * length, vector, factors
                    )
            first = last
        for e in range(start[r], start[r + 1]):
            j = profile[e]
            if j != h and j < first:
                ahead -= is_ahead(j, h, held_score, float(scores[j]), doubt[j] * length, vector, factors)
        if ahead < k:
            out[p] = ahead + 1


@compiled
def solve_each(held, single, base, more):
    """The solutions of ``base + more sum y y'`` for each y of `held`, where `single` are those of `base`.

    By Woodbury's formula a profile of fewer items than factors needs a system of its own size only.
    """
    m, f = held.shape
    if m < f:
        small = more * np.dot(held, single.T)
        for j in range(m):
            small[j, j] += 1.0
        return np.linalg.solve(small.T, single)
    return np.linalg.solve(base + more * np.dot(held.T, held), held.T).T


@compiled
def fold_in_without(factors, single, base, confidence, start, profile, row, column, out):
    """The least squares vectors of profiles, each without one of its items, or whole where that is -1.

    With confidence c in what a profile holds its matrix is ``base + (c - 1) sum y y'``, its right side
    ``c sum y``. Without y the one loses ``(c - 1) y y'`` and the other ``c y``: if z solves the whole and w solves
    the same matrix for y, the solution becomes ``z - w (c - (c - 1) y'(z - c w) / (1 - (c - 1) y'w))``. Pairs of a
    row stand together.
    """
    more = confidence - 1
    z = np.zeros(factors.shape[1])
    solved = np.zeros((0, factors.shape[1]))
    for p in range(len(row)):
        columns = profile[start[row[p]] : start[row[p] + 1]]
        if p == 0 or row[p] != row[p - 1]:
            solved = np.ascontiguousarray(solve_each(factors[columns], single[columns], base, more))
            z[:] = 0.0
            for j in range(len(columns)):
                z += confidence * solved[j]
        out[p] = z
        for j in range(len(columns)):
            if columns[j] == column[p]:
                y, w = factors[columns[j]], solved[j]
                yw = multiply(y, w)
                out[p] -= w * (confidence - more * (multiply(y, z) - confidence * yw) / (1 - more * yw))
