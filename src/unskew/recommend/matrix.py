"""Profiles as rows of a sparse matrix, for models of other libraries, and lists from the scores that they give.

The matrix has the users and items of a snapshot alone, in the order of their ids, so that nothing of what the log
holds later comes in.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc
from scipy import sparse

from unskew.arrays.types import Codes
from unskew.data.snapshot import Snapshot
from unskew.recommend.contract import Batch
from unskew.recommend.matrix_kernels import list_best

_CELLS = 2**22  # scores that are held at a time
_MOST_ROWS = 256  # more at a time are hardly faster


def rows_at_once(columns: int) -> int:
    """How many rows of so many scores are made at a time."""
    return max(1, min(_MOST_ROWS, _CELLS // max(1, columns)))


@dataclass(frozen=True)
class ItemColumns:
    """The items that somebody holds at a date as the columns of a matrix, in the order of their ids.

    Attributes
    ----------
    code
        The item code of each column.
    column
        The column of each item code; -1 for what nobody holds.
    """

    code: Codes
    column: Codes

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
        found = np.full((len(scores), k), -1, dtype=np.int64)
        list_best(scores, k, found)
        return np.where(found >= 0, self.code[found], -1)


def hide_profiles(scores: npt.NDArray[Any], rows: sparse.csr_matrix) -> None:
    """Set the score of what each profile holds to -inf, in place."""
    scores[np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr)), rows.indices] = -np.inf
