"""Folding profiles into a factorisation: the vector that alternating least squares would give to a user."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.linalg.lapack import dposv

from unskew.arrays.types import Codes, Floats
from unskew.recommend.matrix_kernels import fold_in_without


@dataclass(frozen=True, eq=False)
class FoldIn:
    r"""The least squares problem of one user, for given factors of items, in double precision.

    With Y the factors and c the confidence in what a profile holds, the vector of a profile x solves

    .. math:: (Y^T Y + \lambda I + (c - 1) \sum_{j \in x} y_j y_j^T) z = c \sum_{j \in x} y_j .

    To leave out one item of a profile is a step of rank one (Sherman and Morrison): the matrix of a user is
    factorised once for all of its pairs, and for c = 1, where it is the same for everyone, once for all users.

    Attributes
    ----------
    factors
        Y, a row for each column of the matrix of profiles.
    base
        :math:`Y^T Y + \lambda I`.
    single
        The solutions of `base` for each row of Y.
    confidence
        c, which implicit calls alpha.
    """

    factors: Floats
    base: Floats
    single: Floats
    confidence: float

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
            some = slice(int(row[0]), int(row[-1]) + 1) if len(row) else slice(0, 0)
            vectors: Floats = (rows[some] @ self.single)[row - some.start]
            known = column >= 0
            vectors[known] -= self.single[column[known]]
            return vectors
        out = np.zeros((len(row), len(self.base)))
        start = rows.indptr.astype(np.int64)
        fold_in_without(
            self.factors, self.single, self.base, self.confidence, start, rows.indices, row, column, out
        )
        return out
