"""The same computation as others would write it: scipy.sparse and SQL."""

from __future__ import annotations

import time

import duckdb
import numba
import numpy as np
import numpy.typing as npt
import pyarrow as pa
from scipy import sparse

from unskew.arrays.blocks import over_blocks
from unskew.arrays.profiles import Profiles
from unskew.arrays.types import Floats


class ScipyScaling:
    """Plain scaling with two sparse products a pass."""

    def __init__(self, profiles: Profiles, target: Floats) -> None:
        sizes = profiles.sizes()
        keep = target > 0
        rows = np.repeat(np.arange(profiles.n_users), sizes)
        entries = np.concatenate([[0], np.cumsum(sizes)])[:-1]
        place = np.arange(int(sizes.sum())) + np.repeat(profiles.start.astype(np.int64) - entries, sizes)
        items = profiles.item[place].astype(np.int64)
        known = keep[items]
        self.target = target[keep]
        code = np.cumsum(keep) - 1
        shape = (profiles.n_users, int(keep.sum()))
        ones = np.ones(int(known.sum()))
        matrix = sparse.csr_array((ones, (rows[known], code[items[known]])), shape=shape)
        filled = np.diff(matrix.indptr) > 0
        self.matrix = sparse.csr_array(matrix[filled])
        self.shares = np.full(self.matrix.shape[0], 1.0 / self.matrix.shape[0])

    def one_pass(self, w: Floats) -> Floats:
        """The weighted marginal."""
        q: Floats = w * (self.matrix.T @ (self.shares / (self.matrix @ w)))
        return q

    def fit(self, residual: float, max_passes: int) -> tuple[int, float]:
        """Scale until TV is at most `residual`; the passes taken and the TV reached."""
        w = np.ones(len(self.target))
        distance = 1.0
        for n in range(1, max_passes + 1):
            q = self.one_pass(w)
            distance = 0.5 * float(np.abs(self.target - q).sum())
            if distance <= residual:
                return n, distance
            w *= self.target / q
        return max_passes, distance


class SqlScaling:
    """Plain scaling in DuckDB, one statement a pass."""

    def __init__(self, rival: ScipyScaling) -> None:
        matrix = rival.matrix
        rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr)).astype(np.int32)
        entries = pa.table({"u": rows, "i": matrix.indices.astype(np.int32)})
        items = pa.table({"i": np.arange(matrix.shape[1], dtype=np.int32), "t": rival.target})
        self.sql = duckdb.connect()
        self.sql.register("entries_", entries)
        self.sql.register("items_", items)
        self.sql.execute("CREATE TABLE entries AS SELECT * FROM entries_")
        self.sql.execute("CREATE TABLE weights AS SELECT i, t, 1.0::DOUBLE AS w FROM items_")
        self.share = 1.0 / matrix.shape[0]

    def one_pass(self) -> None:
        """Replace the weights by the scaled ones."""
        self.sql.execute(
            f"""
            CREATE OR REPLACE TABLE weights AS
            WITH sums AS (SELECT u, {self.share} / sum(w) AS c FROM entries JOIN weights USING (i) GROUP BY u),
                 marginal AS (SELECT i, sum(c) AS m FROM entries JOIN sums USING (u) GROUP BY i)
            SELECT i, t, t / m AS w FROM weights JOIN marginal USING (i)
            """
        )


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


def seconds(work: object, repeats: int) -> float:
    """The median time of a call."""
    assert callable(work)
    work()
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return float(np.median(times))
