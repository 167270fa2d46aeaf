"""Item-based nearest neighbours: what is held together with what the profile holds."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from math import frexp
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from unskew.arrays.blocks import over_blocks
from unskew.arrays.types import Codes, Floats, Items
from unskew.checks import number, one_of, true_or_false, whole_number
from unskew.data.snapshot import Snapshot
from unskew.errors import PolicyError
from unskew.recommend import knn_kernels
from unskew.recommend.contract import Batch, HeldOutPairs, Traits
from unskew.recommend.holders import Holders
from unskew.recommend.parameters import format_spec
from unskew.recommend.preconditions import require_fitted, require_length, require_same_date
from unskew.recommend.work_blocks import Pairs, Rows, cut

UNIT = 2.0**-36
"""What similarities are rounded to, as a part of the largest there can be."""

KINDS = {
    "cosine": knn_kernels.COSINE,
    "jaccard": knn_kernels.JACCARD,
    "cooccurrence": knn_kernels.COOCCURRENCE,
    "bm25": -1,
}


@dataclass(frozen=True)
class _Neighbours:
    """The items most alike to each: row j is from ``start[j]`` to ``cut[j]``, best first, with one spare.

    The spare, from ``cut[j]`` to ``stop[j]``, moves up when a held-out item leaves the row. `together` is how many
    users hold both, kept where a held-out pair is to be taken out of the counts.
    """

    tick: int | float
    start: npt.NDArray[np.uint64]
    cut: npt.NDArray[np.uint64]
    stop: npt.NDArray[np.uint64]
    item: Items
    score: Floats
    together: Items | None
    count: Codes
    unit: float


@dataclass(frozen=True, repr=False)
class ItemKNN:
    r"""Recommends the items most alike to those of the profile.

    The score of item i for a profile is ``sum_j S_ji`` over its items j, where row j of S has the `neighbours`
    other items most similar to j and 0 elsewhere. With c_i users who hold i and C_ij who hold both, the
    similarity is

    - ``cosine``: :math:`C_{ij} / \sqrt{c_i c_j}`
    - ``jaccard``: :math:`C_{ij} / (c_i + c_j - C_{ij})`
    - ``cooccurrence``: :math:`C_{ij}`
    - ``bm25``: :math:`r_i r_j \sum_u d_u^2` over the users who hold both, with
      :math:`d_u = \log(n / (1 + n_u))` for a user with n_u of the n items and
      :math:`r_i = (k_1 + 1) / (1 + k_1 (1 - b + b c_i / \bar c))`

    Items of score 0 are not recommended. Ties, in rows as in lists, are broken by item id. Similarities are
    rounded to multiples of 2^-36 (of their largest possible value for bm25): sums are then exact in double
    precision, and scores do not depend on the order of a profile.

    Parameters
    ----------
    neighbours
        Length of a row, the item itself not counted (``K = neighbours + 1`` in the library *implicit*).
    similarity
        One of the four above.
    exact
        Whether a held-out pair of user u and item h leaves the model too. If so, c_h and the C_jh of its profile
        are reduced by it and the rows of the profile are cut again: ranks are those of a model fitted on the log
        without the pair. If not, it is taken out of the profile alone, as other libraries do, and S still contains
        it. By default exact, except for ``bm25``, which cannot be: there d_u, r_h, the mean of all c and S_jh
        still contain the pair.
    k1, b
        How soon ``bm25`` saturates, and how far it discounts items that many hold.

    Examples
    --------
    >>> import unskew as us
    >>> from unskew.recommend.knn import ItemKNN
    >>> log = us.read_log({"user": ["a", "a", "b"], "item": ["x", "y", "x"], "time": [1, 1, 1]})
    >>> ItemKNN(20, similarity="jaccard").fit(log.at(1).number_by_id())
    knn?neighbours=20&similarity=jaccard
    """

    neighbours: int = 50
    _: KW_ONLY
    similarity: str = "cosine"
    exact: bool | None = None
    k1: float = 1.2
    b: float = 0.75
    _model: _Neighbours | None = field(default=None, init=False, compare=False)

    def __post_init__(self) -> None:
        whole_number("neighbours", self.neighbours, "the length of a row")
        one_of("similarity", self.similarity, KINDS)
        number("k1", self.k1, "how soon bm25 saturates", 0)
        number("b", self.b, "how far bm25 discounts popular items", 0, 1)
        weighted = self.similarity == "bm25"
        if self.exact is None:
            object.__setattr__(self, "exact", not weighted)
        if true_or_false("exact", self.exact) and weighted:
            raise PolicyError(
                "exact=True is not possible with similarity='bm25', whose statistics are of the whole log",
                remedy="leave exact out, or use another similarity",
            )

    @property
    def traits(self) -> Traits:
        """Whether a held-out pair leaves the model too, and not only the profile."""
        return Traits(exact=bool(self.exact))

    def __repr__(self) -> str:
        given: dict[str, Any] = {"neighbours": self.neighbours, "similarity": self.similarity}
        if self.similarity == "bm25":
            given |= {"k1": self.k1, "b": self.b}
        elif not self.exact:
            given |= {"exact": False}
        return format_spec("knn", **given)

    def fit(self, snapshot: Snapshot, /) -> Self:
        """Find the neighbours of every item, in memory for its neighbours and a row of items per thread."""
        p, count = snapshot.profiles, snapshot.counts()
        held = Holders.of(snapshot, count)
        exact = bool(self.exact)
        most = min(self.neighbours + exact, p.n_items)
        value, scale = self._bm25(snapshot, count) if self.similarity == "bm25" else (None, None)
        unit = self._unit(held, value, scale)
        start = np.zeros(p.n_items + 1, dtype=np.uint64)
        start[1:] = np.cumsum(np.minimum(held.together - count, most))
        stop = start[:-1].copy()
        item = np.zeros(int(start[-1]), dtype=np.uint32)
        score = np.zeros(len(item))
        together = np.zeros(len(item), dtype=np.uint32) if exact else None

        def block(block: int, lo: int, hi: int) -> None:
            sums = np.zeros(p.n_items, dtype=np.uint32 if value is None else np.float64)
            touched = np.empty(p.n_items, dtype=np.uint32)
            knn_kernels.neighbour_rows(
                lo,
                hi,
                held.start,
                held.user,
                p.start,
                p.stop,
                p.item,
                count,
                value,
                scale,
                KINDS[self.similarity],
                unit,
                most,
                start,
                stop,
                item,
                score,
                together,
                sums,
                touched,
            )

        over_blocks(cut(held.together + 1, p.n_items), int(held.together.sum()), block)
        ends = np.minimum(stop, start[:-1] + np.uint64(self.neighbours))
        model = _Neighbours(snapshot.tick, start[:-1], ends, stop, item, score, together, count, unit)
        object.__setattr__(self, "_model", model)
        return self

    def recommend(self, profiles: Batch, k: int, /) -> Codes:
        """The k items of highest score for each profile, by the neighbours as fitted."""
        m = require_fitted(self._model, self)
        rows = Rows.of(profiles)
        out = np.full((len(profiles), require_length(k)), -1, dtype=np.int64)

        def block(block: int, lo: int, hi: int) -> None:
            n = len(m.count)
            totals, mine, touched = np.zeros(n), np.zeros(n, dtype=np.bool_), np.empty(n, dtype=np.uint32)
            knn_kernels.knn_best(
                lo,
                hi,
                rows.start,
                rows.item,
                m.start,
                m.cut,
                m.item,
                m.score,
                k,
                totals,
                mine,
                touched,
                out,
            )

        rows.over(block)
        return out

    def held_out_ranks(self, pairs: HeldOutPairs, k: int, /) -> Codes:
        """The rank of each held-out item, from 1; 0 if it is not among the best k.

        The scores of a user are made once for all of its pairs; a pair then takes time proportional to
        `neighbours`.
        """
        m = require_fitted(self._model, self)
        require_length(k)
        if self.exact:
            require_same_date(self, m.tick, pairs.snapshot)
        some = Pairs.of(pairs)
        p, n = some.profiles, len(m.count)
        most = min(k + self.neighbours, n)
        sizes = p.sizes()

        def block(lo: int, hi: int, out: Codes) -> None:
            largest = int(sizes[some.user[lo:hi]].max()) if m.together is not None else 0
            steps = largest * min(self.neighbours, largest)
            knn_kernels.knn_ranks(
                lo,
                hi,
                some.user,
                some.item,
                p.start,
                p.stop,
                p.item,
                m.start,
                m.cut,
                m.stop,
                m.item,
                m.score,
                m.together,
                m.count,
                KINDS[self.similarity],
                m.unit,
                most,
                k,
                np.zeros(n),
                np.zeros(n),
                np.zeros(n, dtype=np.bool_),
                np.empty(n, dtype=np.uint32),
                np.zeros(n, dtype=np.int64),
                np.empty((steps, 3), dtype=np.int64),
                out,
            )

        return some.ranks(block)

    def _bm25(self, snapshot: Snapshot, count: Codes) -> tuple[Floats, Floats]:
        """``d_u^2`` of each user and ``r_i`` of each item."""
        here = count > 0
        rarity = np.log(np.count_nonzero(here)) - np.log1p(snapshot.sizes())
        length = 1 - self.b + self.b * count / count[here].mean()
        scale: Floats = np.where(here, (self.k1 + 1) / (self.k1 * length + 1), 0.0)
        return rarity**2, scale

    def _unit(self, held: Holders, value: Floats | None, scale: Floats | None) -> float:
        """A power of two of which similarities are to be multiples."""
        if self.similarity == "cooccurrence":
            return 1.0
        if value is None or scale is None:
            return UNIT
        largest = float(
            (held.summed(value) * scale**2).max(initial=0.0)
        )  # no two are more alike than one to itself
        return UNIT * 2.0 ** frexp(largest)[1]
