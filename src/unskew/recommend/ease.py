"""EASE: a linear item-to-item model in closed form.

Lists are made from B, whose entries are taken as whole numbers of units: sums are exact, whatever their order,
and a row can be subtracted again. Ranks without the held-out pair are made from P itself.
"""
# mypy: disallow-untyped-defs=False

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from math import frexp
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from scipy.linalg.lapack import get_lapack_funcs

from unskew.arrays.blocks import over_blocks
from unskew.arrays.compiling import compiled
from unskew.arrays.profiles import Rows, entries_of
from unskew.arrays.types import Codes, Floats, Mask
from unskew.checks import public_class, require_bool, require_number, require_whole_number
from unskew.data.slice import Snapshot
from unskew.errors import InputError
from unskew.recommend.calls import (
    Cost,
    LogSize,
    PairCodes,
    cut_into_blocks,
    rank_in_blocks,
    recommend_in_blocks,
    require_fitted,
    require_length,
    require_same_date,
)
from unskew.recommend.candidates import STEP, Holders, offer, sort_best_first
from unskew.recommend.contract import Batch, HeldOutPairs, Traits
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


@public_class
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
        parameters: dict[str, Any] = {} if self.max_items is None else {"max_items": self.max_items}
        return format_spec("ease", l2=self.l2, **parameters, **({} if self.exact else {"exact": False}))

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
            count_together(lo, hi, holders, p.rows, modelled, place, matrix)

        work = holders.together[modelled]
        over_blocks(cut_into_blocks(work, 0), int(work.sum()), count_rows)
        matrix[np.diag_indices(n)] += self.l2
        self._invert(matrix)
        even = cut_into_blocks(np.full(n, n), 0)
        over_blocks(even, n * n, lambda block, lo, hi: mirror(lo, hi, matrix))
        diagonal = matrix.diagonal().astype(np.float64)
        largest = over_blocks(even, n * n, lambda block, lo, hi: find_largest_weight(lo, hi, matrix, diagonal))
        unit = UNIT * 2.0 ** frexp(max(largest))[1]
        in_units = -1 / (diagonal * unit)
        model = LinearModel(modelled, place, count[modelled], matrix, diagonal, self.l2, unit, in_units)
        object.__setattr__(self, "_model", _Model(snapshot.tick, model))
        return self

    def recommend(self, profiles: Batch, k: int, /) -> Codes:
        """The k modelled items of highest score for each profile."""
        model = require_fitted(self._model, self).linear
        n = len(model.modelled)

        def recommend(lo: int, hi: int, rows: Rows, out: Codes) -> None:
            totals, seen = np.empty(n), np.zeros(n, dtype=np.int64)
            recommend_by_rows(lo, hi, rows, model, k, totals, seen, out)

        return recommend_in_blocks(profiles, k, recommend, each=n)

    def held_out_ranks(self, pairs: HeldOutPairs, k: int, /) -> Codes:
        """The rank of each held-out item, from 1; 0 if it is not among the best k or not modelled.

        The scores of a user are made once for all of its pairs; a pair then takes time proportional to the items.
        """
        tick, model = require_fitted(self._model, self)
        require_length(k)
        if self.exact:
            require_same_date(self, tick, pairs.snapshot)
        profiles, n = pairs.snapshot.profiles.rows, len(model.modelled)
        diagonal = model.diagonal if self.exact else None

        def rank(lo: int, hi: int, codes: PairCodes, out: Codes) -> None:
            rank_by_scores(lo, hi, codes, profiles, model, diagonal, k, np.empty(n), out)

        ranks = rank_in_blocks(pairs, rank, each=n)
        if (ranks < 0).any():
            raise InputError(
                f"l2 is {self.l2:g}, too small to take a pair out of {n} items in {model.inverse.dtype}",
                remedy="use a larger l2, or take pairs out of the profile alone with exact=False",
            )
        return ranks

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
                f"l2 is {self.l2:g}, too small to invert {len(matrix)} items in {matrix.dtype}",
                remedy=f"use a larger l2, or max_items={DOUBLE} to stay in double precision",
            )


# The loops, compiled with numba: arrays in, arrays out; see `unskew.recommend.candidates` for the rules.


class LinearModel(NamedTuple):
    """The inverse P over the modelled items, by ascending code."""

    # The code of each row, and the row of each item code, or -1.
    modelled: Codes
    place: Codes
    held_by: Codes  # how many users hold the item of each row
    # P, and its diagonal in double precision.
    inverse: npt.NDArray[Any]
    diagonal: Floats
    # The penalty, and what scores are told apart by.
    l2: float
    unit: float
    in_units: Floats  # ``B_ji`` is ``P_ji * in_units[i]``, in units, for i other than j


class Removal(NamedTuple):
    """What taking one pair out of the model does to scores: the numbers of `remove_pair`."""

    d: float
    on_r: float
    on_b: float
    rr: float
    rb: float
    bb: float


@compiled
def count_together(lo, hi, holders, profiles, modelled, place, out):
    """Rows of the co-occurrence counts of the modelled items."""
    start, stop, item = profiles.start, profiles.stop, profiles.item
    holder_start, holder = holders.start, holders.user
    for row in range(lo, hi):
        j = modelled[row]
        for at in range(holder_start[j], holder_start[j + 1]):
            u = holder[at]
            for e in range(start[u], stop[u]):
                column = place[item[e]]
                if column >= 0:
                    out[row, column] += 1


@compiled
def mirror(lo, hi, matrix):
    """Copy what is above the diagonal to below it."""
    for row in range(lo, hi):
        for column in range(row):
            matrix[row, column] = matrix[column, row]


@compiled
def find_largest_weight(lo, hi, inverse, diagonal):
    """The largest ``|B|`` of these rows."""
    largest = 0.0
    for row in range(lo, hi):
        for column in range(len(diagonal)):
            if column != row:
                largest = max(largest, abs(float(inverse[row, column])) / diagonal[column])
    return largest


@compiled
def add_weights(j, times, model, totals):
    """Add row j of B so many times, in units; its diagonal is 0."""
    row, in_units = model.inverse[j], model.in_units
    before = totals[j]
    for i in range(len(totals)):
        totals[i] += times * np.rint(row[i] * in_units[i])
    totals[j] = before


@compiled
def recommend_by_rows(lo, hi, profiles, model, k, totals, seen, out):
    """The k modelled items of highest sum of rows over the profile, without what the profile holds.

    Where a profile shares most of its items with the one before, only the rows that differ are added or
    subtracted: held-out items are asked for user by user. ``seen[i]`` is the number of the last profile with i.
    """
    start, stop, item = profiles.start, profiles.stop, profiles.item
    modelled, place = model.modelled, model.place
    n = len(modelled)
    room = min(k, n)
    scores = np.empty(room)
    items = np.empty(room, dtype=np.uint32)
    size_before = 0
    for p in range(lo, hi):
        before, now = p - lo, p - lo + 1
        size = shared = 0
        for e in range(start[p], stop[p]):
            j = place[item[e]]
            if j >= 0:
                size += 1
                shared += before > 0 and seen[j] == before
        from_before = size_before - shared < shared
        if not from_before:
            totals[:] = 0.0
        for e in range(start[p], stop[p]):
            j = place[item[e]]
            if j >= 0:
                if not (from_before and seen[j] == before):
                    add_weights(j, 1.0, model, totals)
                seen[j] = now
        if from_before:
            for e in range(start[p - 1], stop[p - 1]):
                j = place[item[e]]
                if j >= 0 and seen[j] == before:
                    add_weights(j, -1.0, model, totals)
        size_before = size
        kept = 0
        for i in range(n):
            if seen[i] != now:
                kept = offer(totals[i], i, kept, scores, items)
        sort_best_first(kept, scores, items)
        for t in range(kept):
            out[p, t] = modelled[items[t]]


@compiled
def remove_pair(r_h, b_h, rho):
    """What it does to scores that item h leaves a profile and the model, of which x is left.

    Let ``r = P x``, ``b = P e_h`` and ``rho = x' P x``. Without the pair the Gram matrix loses
    ``x e_h' + e_h x' + e_h e_h'``, of rank 2, and by Woodbury's formula its inverse Q has, with
    ``D = (1 - r_h)^2 - (1 + rho) b_h``,

        D (Q x)_i = (1 - r_h - b_h) r_i + (rho + r_h) b_i
        D Q_ii    = D P_ii + b_h r_i^2 + 2 (1 - r_h) r_i b_i + (1 + rho) b_i^2

    and the score of item i is ``-(Q x)_i / Q_ii``. D is the ratio of the two determinants, and positive.
    """
    q = 1 - r_h
    return Removal(q * q - (1 + rho) * b_h, b_h - q, -(rho + r_h), b_h, 2 * q, 1 + rho)


@compiled
def score_without(r, b, p, removal):
    """The score of an item as a fraction: ``-D (Q x)_i`` and ``D Q_ii``."""
    below = removal.d * p + (removal.rr * r + removal.rb * b) * r + removal.bb * b * b
    return removal.on_r * r + removal.on_b * b, below


@compiled
def score_item_without(i, totals, row, in_units, diagonal, removal):
    """The same of item i, from the vector P x of the whole profile and row h of P.

    Without the diagonal of P: the sum of rows of B for item i in units, less what row h has added, over 1.
    """
    if diagonal is None:
        return totals[i] - np.rint(row[i] * in_units[i]), 1.0
    b = float(row[i])
    return score_without(totals[i] - b, b, diagonal[i], removal)


@compiled
def rank_by_scores(lo, hi, pairs, profiles, model, diagonal, k, totals, out):
    """The rank of held-out items by the rest of the profile; 0 if the item is not modelled.

    With the `diagonal` of P, by the model of a log that does not have the pair; 0 also if nobody else holds it.
    The vector P x of the whole profile, made once for a user, and row h of P are all that a pair needs. Scores
    that are less than a unit apart are equal. Out is -1 where rounding has left no right Q_hh.

    Without it the model contains the pair, and scores are sums of rows of B.
    """
    user, held = pairs.user, pairs.item
    start, stop, item = profiles.start, profiles.stop, profiles.item
    place, inverse, in_units, unit = model.place, model.inverse, model.in_units, model.unit
    n = len(totals)
    p = lo
    while p < hi:
        u = user[p]
        totals[:] = 0.0
        size = 0
        for e in range(start[u], stop[u]):
            j = place[item[e]]
            if j >= 0:
                size += 1
                if diagonal is None:
                    add_weights(j, 1.0, model, totals)
                else:
                    row = inverse[j]
                    for i in range(n):
                        totals[i] += row[i]
        whole = 0.0
        for e in range(start[u], stop[u]):
            j = place[item[e]]
            if j >= 0:
                whole += totals[j]
        while p < hi and user[p] == u:
            h = place[held[p]]
            others = model.held_by[h] - 1.0 if h >= 0 else 0.0
            if others > 0 or (diagonal is None and h >= 0):
                row, right = inverse[h], True
                removal = Removal(1.0, 0.0, 0.0, 0.0, 0.0, 0.0)
                if diagonal is None:
                    least = most = totals[h]
                else:
                    b_h = diagonal[h]
                    r_h = totals[h] - b_h
                    removal = remove_pair(r_h, b_h, whole - 2 * r_h - b_h)
                    over, below = score_without(r_h, b_h, b_h, removal)
                    q_hh = below / removal.d
                    right = removal.d > 0 and q_hh * (others + model.l2) > 0.9 and q_hh * model.l2 < 1.1
                    least, most = over / below - unit, over / below + unit
                ahead = first = 0
                while right and first < n and ahead < k + size:
                    last = min(first + STEP, n)
                    for i in range(first, min(last, h)):
                        over, below = score_item_without(i, totals, row, in_units, diagonal, removal)
                        ahead += over >= least * below
                    for i in range(max(first, h + 1), last):
                        over, below = score_item_without(i, totals, row, in_units, diagonal, removal)
                        ahead += over > most * below
                    first = last
                for e in range(start[u], stop[u]):
                    j = place[item[e]]
                    if 0 <= j < first and j != h:
                        over, below = score_item_without(j, totals, row, in_units, diagonal, removal)
                        ahead -= over > most * below or (over >= least * below and j < h)
                if not right:
                    out[p] = -1
                elif ahead < k:
                    out[p] = ahead + 1
            p += 1
