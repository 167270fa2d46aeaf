"""The same pass and the same fit as others would write them: scipy.sparse, L-BFGS of scipy, SQL, and dense in POT.

All of them scale the matrix of users by items that has a 1 where a user holds an item, so that rows sum to P(u)
and columns to the target. A fit stops at the first pass at which the item mix is within `tol` of the target in
total variation.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import duckdb
import numba
import numpy as np
import numpy.typing as npt
import pyarrow as pa
from scipy import optimize, sparse
from threadpoolctl import threadpool_limits

from unskew.arrays.blocks import over_blocks
from unskew.arrays.profiles import Profiles
from unskew.arrays.types import Floats

MOST_PASSES = 5000


class Stopped(Exception):
    """Raised inside a minimiser where the item mix is near enough."""


def measure_distance(target: Floats, q: Floats) -> float:
    """Total variation."""
    return 0.5 * float(np.abs(target - q).sum())


def scale_plainly(one_pass: Callable[[Floats], Floats], target: Floats, tol: float) -> tuple[Floats, int]:
    """Weights from 1 on, times target over mix, again and again; and how many passes that took."""
    w = np.ones(len(target))
    for n in range(1, MOST_PASSES + 1):
        q = one_pass(w)
        if measure_distance(target, q) <= tol:
            return w, n
        w *= target / q
    return w, MOST_PASSES


@dataclass(frozen=True)
class SparseProblem:
    """The problem as a sparse matrix.

    Attributes
    ----------
    matrix
        A row for each user with an item of the target, a column for each such item.
    shares
        P(u).
    target
        The item mix that is wanted.
    items
        The code of each column.
    """

    matrix: Any
    shares: Floats
    target: Floats
    items: npt.NDArray[np.int64]

    @classmethod
    def of(cls, profiles: Profiles, target: Floats) -> SparseProblem:
        sizes = profiles.sizes()
        items = np.flatnonzero(target > 0)
        rows = np.repeat(np.arange(profiles.n_users), sizes)
        before = np.concatenate([[0], np.cumsum(sizes)])[:-1]
        place = np.arange(int(sizes.sum())) + np.repeat(profiles.start.astype(np.int64) - before, sizes)
        held = profiles.item[place].astype(np.int64)
        column = np.full(len(target), -1)
        column[items] = np.arange(len(items))
        known = column[held] >= 0
        ones = np.ones(int(known.sum()))
        shape = (profiles.n_users, len(items))
        matrix = sparse.csr_array((ones, (rows[known], column[held[known]])), shape=shape)
        matrix = sparse.csr_array(matrix[np.diff(matrix.indptr) > 0])
        return cls(matrix, np.full(matrix.shape[0], 1.0 / matrix.shape[0]), target[items], items)

    def one_pass(self, w: Floats) -> Floats:
        """The item mix under weights: two sparse products."""
        q: Floats = w * (self.matrix.T @ (self.shares / (self.matrix @ w)))
        return q

    def distance(self, q: Floats) -> float:
        """Total variation from the target."""
        return measure_distance(self.target, q)

    def pair_probabilities(self, w: Floats) -> Floats:
        """P(u) P(i|u,w) of every entry, in the order of the matrix."""
        users = np.repeat(self.shares / (self.matrix @ w), np.diff(self.matrix.indptr))
        found: Floats = users * w[self.matrix.indices]
        return found

    def item_mix(self, probabilities: Floats) -> Floats:
        """The item mix of such probabilities."""
        return np.bincount(self.matrix.indices, probabilities, len(self.target)).astype(np.float64)

    def scale(self, tol: float) -> Floats:
        """Weights by plain scaling."""
        return scale_plainly(self.one_pass, self.target, tol)[0]

    def count_passes(self, tol: float) -> int:
        """How many passes plain scaling takes."""
        return scale_plainly(self.one_pass, self.target, tol)[1]

    def minimise(self, tol: float) -> Floats:
        """Weights by L-BFGS on the convex ``sum_u P(u) log sum_i w_i - sum_i T_i log w_i``; its gradient is q - T.

        It is minimised over ``sqrt(T) log w``, whose curvature is about the same everywhere; over log w itself it
        takes hundreds of times as long.
        """
        found, spread = np.zeros(len(self.target)), 1.0 / np.sqrt(self.target)

        def look(scaled: Floats) -> tuple[float, Floats]:
            theta = scaled * spread
            w = np.exp(theta - theta.max())
            sums = self.matrix @ w
            q = w * (self.matrix.T @ (self.shares / sums))
            if self.distance(q) <= tol:
                found[:] = theta
                raise Stopped
            value = float(self.shares @ np.log(sums)) + float(theta.max()) - float(self.target @ theta)
            return value, (q - self.target) * spread

        options = {"maxiter": MOST_PASSES, "maxfun": MOST_PASSES, "maxcor": 10, "ftol": 0.0, "gtol": 0.0}
        with contextlib.suppress(Stopped), threadpool_limits(1):  # more threads only wait for each other
            optimize.minimize(look, found.copy(), jac=True, method="L-BFGS-B", options=options)
        w: Floats = np.exp(found - found.max())
        return w

    def to_dense(self) -> Floats:
        """The matrix with all of its zeros."""
        dense: Floats = self.matrix.toarray()
        return dense

    def from_dense(self, plan: Floats) -> Floats:
        """The entries of a dense table, as probabilities."""
        users = np.repeat(np.arange(self.matrix.shape[0]), np.diff(self.matrix.indptr))
        found: Floats = plan[users, self.matrix.indices] / plan.sum()
        return found


class SqlProblem:
    """The same in DuckDB: a table of entries and one of items, two joins with a sum each for a pass."""

    def __init__(self, problem: SparseProblem) -> None:
        matrix = problem.matrix
        users = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr)).astype(np.int32)
        entries = pa.table({"u": users, "i": matrix.indices.astype(np.int32)})
        self._items = np.arange(matrix.shape[1], dtype=np.int32)
        self._problem, self._share = problem, float(problem.shares[0])
        self._sql = duckdb.connect()
        self._sql.register("entries_", entries)
        self._sql.execute("CREATE TABLE entries AS SELECT * FROM entries_")

    def one_pass(self, w: Floats) -> Floats:
        """The item mix under weights."""
        self._sql.register("weights", pa.table({"i": self._items, "w": w}))
        found = self._sql.execute(
            f"""
            WITH users AS (SELECT u, {self._share!r} / sum(w) AS c FROM entries JOIN weights USING (i) GROUP BY u)
            SELECT i, any_value(w) * sum(c) AS q
            FROM entries JOIN users USING (u) JOIN weights USING (i) GROUP BY i ORDER BY i
            """
        ).fetchnumpy()
        q: Floats = np.asarray(found["q"])
        return q

    def scale(self, tol: float) -> Floats:
        """Weights by plain scaling."""
        return scale_plainly(self.one_pass, self._problem.target, tol)[0]


@numba.njit(nogil=True)
def _sum(values, lo, hi):  # type: ignore[no-untyped-def]
    total = 0
    for e in range(lo, hi):
        total += values[e]
    return total


def read_indices(item: npt.NDArray[np.uint32]) -> int:
    """Merely read the index array, on all threads."""
    edges = np.linspace(0, len(item), 9).astype(np.int64)
    return sum(over_blocks(edges, len(item), lambda k, lo, hi: int(_sum(item, lo, hi))))
