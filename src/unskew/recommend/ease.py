"""EASE: a linear item-to-item model in closed form."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from math import frexp
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from scipy.linalg.lapack import get_lapack_funcs

from unskew.arrays.blocks import over_blocks
from unskew.arrays.rows import entries_of
from unskew.arrays.types import Codes, Mask
from unskew.checks import require_bool, require_number, require_whole_number
from unskew.data.slice import Snapshot
from unskew.errors import InputError
from unskew.recommend import ease_kernels
from unskew.recommend.calls import (
    BatchWork,
    PairWork,
    cut_into_blocks,
    require_fitted,
    require_length,
    require_same_date,
)
from unskew.recommend.candidates import Holders
from unskew.recommend.contract import Batch, HeldOutPairs, Traits
from unskew.recommend.cost import Cost, LogSize
from unskew.recommend.ease_kernels import LinearModel
from unskew.recommend.parameters import format_spec

UNIT = 2.0**-36
"""What weights are rounded to and scores told apart by, as a part of the largest weight."""

DOUBLE = 8_192
"""Up to so many items the inverse is taken in double precision, beyond in single."""

MEMORY = 4 * 2**30
"""Bytes that the matrix may take."""


class _Model(NamedTuple):
    """The model, and the date at which it was fitted."""

    tick: int | float
    linear: LinearModel


@dataclass(frozen=True, repr=False)
class EASE:
    r"""Recommends by a linear model that predicts each item of a profile from the others.

    With X the users by items matrix of zeros and ones, :math:`P = (X^T X + \lambda I)^{-1}` and
    :math:`B_{ij} = -P_{ij} / P_{jj}`, the diagonal 0; the score of item i is the sum of B_ji over the items j of
    the profile. Every modelled item that the profile does not hold is a candidate, whatever its score; ties by
    item id.

    P is dense: it takes 8 bytes for each pair of items, beyond 8 192 items 4 (single precision, in which a
    small `l2` is lost sooner). Weights are rounded to multiples of 2^-36 of the largest, so that sums are exact
    and scores do not depend on the order of a profile.

    To take the pair of a user and an item out of the log changes :math:`X^T X` by a matrix of rank 2. So P without
    the pair is P with a correction, and what a rank needs of it costs no more than to score the items.

    Parameters
    ----------
    l2
        The penalty lambda; larger for sparser logs.
    max_items
        Model only so many items, those that most users hold (ties by id). The others are never recommended and
        say nothing in a profile. None for all items of the snapshot.
    exact
        Whether a held-out pair leaves the model too, so that ranks are those of a model fitted on the log without
        the pair (over the same `max_items`); an item that only this user holds is then not recommended. If not,
        it is taken out of the profile alone, as other libraries do, and B still contains it.

    References
    ----------
    H. Steck, *Embarrassingly Shallow Autoencoders for Sparse Data*, WWW 2019.

    Examples
    --------
    >>> import unskew as us
    >>> from unskew.recommend.ease import EASE
    >>> log = us.read_log({"user": ["a", "a", "b"], "item": ["x", "y", "x"], "time": [1, 1, 1]})
    >>> EASE(100).fit(log.at(1).number_by_id())
    ease?l2=100
    """

    l2: float = 500.0
    _: KW_ONLY
    max_items: int | None = None
    exact: bool = True
    _model: _Model | None = field(default=None, init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "l2", require_number("l2", self.l2, "the penalty of EASE", 1e-6))
        if self.max_items is not None:
            require_whole_number("max_items", self.max_items, "how many items are modelled")
        require_bool("exact", self.exact)

    @property
    def traits(self) -> Traits:
        """Whether a held-out pair leaves the model too, and not only the profile."""
        return Traits(exact=self.exact)

    def __repr__(self) -> str:
        given: dict[str, Any] = {} if self.max_items is None else {"max_items": self.max_items}
        return format_spec("ease", l2=self.l2, **given, **({} if self.exact else {"exact": False}))

    def fit(self, snapshot: Snapshot, /) -> Self:
        """Count and invert: about ``n^3`` steps for n items."""
        object.__setattr__(self, "_model", None)  # two such matrices need not be in memory at once
        p, count = snapshot.profiles, snapshot.counts()
        modelled = np.flatnonzero(count)
        if self.max_items is not None:
            most_held = np.argsort(-count[modelled], kind="stable")[: self.max_items]
            modelled = np.sort(modelled[most_held])
        n = len(modelled)
        dtype = np.dtype(np.float64 if n <= DOUBLE else np.float32)
        size = n * n * dtype.itemsize
        if size > MEMORY:
            fits = int((MEMORY / 4) ** 0.5)
            raise InputError(
                f"EASE over the {n} items at {snapshot.at} needs a matrix of {size / 2**30:.1f} GB, more than the "
                f"{MEMORY / 2**30:g} GB that it may take: model the most frequent alone, max_items={fits} or fewer"
            )
        place = np.full(p.n_items, -1, dtype=np.int64)
        place[modelled] = np.arange(n)
        matrix = np.zeros((n, n), dtype=dtype)
        holders = Holders.of(snapshot, count)

        def count_rows(block: int, lo: int, hi: int) -> None:
            ease_kernels.count_together(lo, hi, holders, p.rows, modelled, place, matrix)

        work = holders.together[modelled]
        over_blocks(cut_into_blocks(work, 0), int(work.sum()), count_rows)
        matrix[np.diag_indices(n)] += self.l2
        self._invert(matrix)
        even = cut_into_blocks(np.full(n, n), 0)
        over_blocks(even, n * n, lambda block, lo, hi: ease_kernels.mirror(lo, hi, matrix))
        diagonal = matrix.diagonal().astype(np.float64)
        largest = over_blocks(
            even, n * n, lambda block, lo, hi: ease_kernels.find_largest_weight(lo, hi, matrix, diagonal)
        )
        unit = UNIT * 2.0 ** frexp(max(largest))[1]
        in_units = -1 / (diagonal * unit)
        model = LinearModel(modelled, place, count[modelled], matrix, diagonal, self.l2, unit, in_units)
        object.__setattr__(self, "_model", _Model(snapshot.tick, model))
        return self

    def recommend(self, profiles: Batch, k: int, /) -> Codes:
        """The k modelled items of highest score for each profile."""
        model = require_fitted(self._model, self).linear
        work = BatchWork.of(profiles)
        n = len(model.modelled)

        def recommend(lo: int, hi: int, out: Codes) -> None:
            totals, seen = np.empty(n), np.zeros(n, dtype=np.int64)
            ease_kernels.recommend_by_rows(lo, hi, work.rows, model, k, totals, seen, out)

        return work.recommend(recommend, k, each=n)

    def held_out_ranks(self, pairs: HeldOutPairs, k: int, /) -> Codes:
        """The rank of each held-out item, from 1; 0 if it is not among the best k or not modelled.

        The scores of a user are made once for all of its pairs; a pair then takes time proportional to the items.
        """
        tick, model = require_fitted(self._model, self)
        require_length(k)
        if self.exact:
            require_same_date(self, tick, pairs.snapshot)
        work = PairWork.of(pairs)
        profiles, n = work.profiles.rows, len(model.modelled)
        kernel = ease_kernels.rank_without_pairs if self.exact else ease_kernels.rank_by_rows

        def rank(lo: int, hi: int, out: Codes) -> None:
            kernel(lo, hi, work.pairs, profiles, model, k, np.empty(n), out)

        found = work.rank(rank, each=n)
        if (found < 0).any():
            raise InputError(
                f"l2 is {self.l2:g}, too small to take a pair out of {n} items in {model.inverse.dtype}",
                remedy="use a larger l2, or take pairs out of the profile alone with exact=False",
            )
        return found

    def empty_lists(self, pairs: HeldOutPairs, /) -> Mask:
        """Whether nothing is left to recommend: the profile has every modelled item.

        Without any item of the model in its profile all scores are 0, and the list is that of the smallest ids.
        """
        model = require_fitted(self._model, self).linear
        users, row = np.unique(pairs.user, return_inverse=True)
        offsets, entries = entries_of(pairs.snapshot.profiles, users)
        known = model.place[pairs.snapshot.profiles.item[entries]] >= 0
        others = len(model.modelled) - np.diff(np.concatenate([[0], np.cumsum(known)])[offsets])
        place = model.place[pairs.item]
        candidate = (place >= 0) & (model.held_by[place] > (1 if self.exact else 0))
        empty: Mask = others[row] + candidate == 0
        return empty

    def estimate_cost(self, size: LogSize, /) -> Cost:
        """An inverse takes n^3 steps, fewer a second in double precision; to rank a pair takes n."""
        n = size.items if self.max_items is None else min(size.items, self.max_items)
        return Cost(fit=float(n) ** 3 / (2e10 if n <= DOUBLE else 5e10), rank=1e-9 * n * size.pairs)

    def _invert(self, matrix: npt.NDArray[Any]) -> None:
        """Replace a symmetric positive matrix by its inverse; only the part above the diagonal is right."""
        potrf, potri = get_lapack_funcs(("potrf", "potri"), (matrix,))
        least = 1 / matrix.diagonal().astype(np.float64)
        _, failed = potrf(matrix.T, lower=True, overwrite_a=True, clean=False)
        if not failed:
            _, failed = potri(matrix.T, lower=True, overwrite_c=True)
        inverse = matrix.diagonal().astype(np.float64)
        right = (inverse > 0.9 * least) & (inverse < 1.1 / self.l2)  # what holds of any such matrix
        if failed or not right.all():
            raise InputError(
                f"l2 is {self.l2:g}, too small to invert {len(matrix)} items in {matrix.dtype}: use a larger "
                f"l2, or max_items={DOUBLE} to stay in double precision"
            )
