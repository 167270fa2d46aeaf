"""Item neighbours: arrays of the nearest items, and the recommender."""
# mypy: disallow-untyped-defs=False

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from math import frexp
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from unskew.arrays.blocks import over_blocks
from unskew.arrays.compiling import compiled
from unskew.arrays.profiles import Rows
from unskew.arrays.types import Codes, Floats, Items, Mask
from unskew.checks import public_class, require_bool, require_number, require_one_of, require_whole_number
from unskew.data.slice import Snapshot
from unskew.errors import PolicyError
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
from unskew.recommend.candidates import Holders, comes_before, offer, sort_best_first
from unskew.recommend.contract import Batch, HeldOutPairs, Traits
from unskew.recommend.parameters import format_spec


class Neighbours(NamedTuple):
    """The items most alike to each: row j is from ``start[j]`` to ``cut[j]``, best first, with one spare.

    The spare, from ``cut[j]`` to ``stop[j]``, moves up when a held-out item leaves the row. There is room for a
    row up to ``start[j + 1]``.
    """

    start: npt.NDArray[np.uint64]
    cut: npt.NDArray[np.uint64]
    stop: npt.NDArray[np.uint64]
    item: Items
    score: Floats


class Counts(NamedTuple):
    """What similarities are made from: which it is, what it is rounded to, and how many users hold each item."""

    kind: int
    unit: float
    held_by: Codes


class ListScratch(NamedTuple):
    """As long as there are items: sums of rows, what the profile holds, and which sums are not 0."""

    totals: Floats
    in_profile: Mask
    touched: Items

    @classmethod
    def of(cls, n_items: int) -> ListScratch:
        return cls(np.zeros(n_items), np.zeros(n_items, dtype=np.bool_), np.empty(n_items, dtype=np.uint32))


class RankScratch(NamedTuple):
    """The same, and what ranking needs besides: the best candidates, and what changes when an item is held out.

    ``raised[i]`` is what item i gains, `moved` which items gain. `step` holds the places of profile items in rows
    of profile items: of each the row that it is in, where, and the next place of the same item; ``head[i]`` is the
    first, counted from 1.
    """

    lists: ListScratch
    best_score: Floats
    best_item: Items
    raised: Floats
    moved: Items
    head: Codes
    step: npt.NDArray[np.int64]

    @classmethod
    def of(cls, n_items: int, most: int, steps: int) -> RankScratch:
        """For `most` candidates and so many `steps`."""
        return cls(
            ListScratch.of(n_items),
            np.empty(most),
            np.empty(most, dtype=np.uint32),
            np.zeros(n_items),
            np.empty(n_items, dtype=np.uint32),
            np.zeros(n_items, dtype=np.int64),
            np.empty((steps, 3), dtype=np.int64),
        )


UNIT = 2.0**-36
"""What similarities are rounded to, as a part of the largest there can be."""

COSINE, JACCARD, COOCCURRENCE = 0, 1, 2
KINDS = {"cosine": COSINE, "jaccard": JACCARD, "cooccurrence": COOCCURRENCE, "bm25": -1}


class _Model(NamedTuple):
    """The neighbours, and what they were counted from.

    `together` is how many users hold both an item and its neighbour; None where held-out pairs are not taken out
    of the counts, since nothing else needs it.
    """

    tick: int | float
    neighbours: Neighbours
    together: Items | None
    counts: Counts


@public_class
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
    _model: _Model | None = field(default=None, init=False, compare=False)

    def __post_init__(self) -> None:
        require_whole_number("neighbours", self.neighbours, "the length of a row")
        require_one_of("similarity", self.similarity, KINDS)
        require_number("k1", self.k1, "how soon bm25 saturates", 0)
        require_number("b", self.b, "how far bm25 discounts popular items", 0, 1)
        weighted = self.similarity == "bm25"
        if self.exact is None:
            object.__setattr__(self, "exact", not weighted)
        if require_bool("exact", self.exact) and weighted:
            raise PolicyError(
                "exact removal is not possible with the similarity 'bm25', whose statistics are of the whole log",
                remedy="leave out exact, or choose another similarity",
            )

    @property
    def traits(self) -> Traits:
        """Whether a held-out pair leaves the model too, and not only the profile."""
        return Traits(exact=bool(self.exact))

    def __repr__(self) -> str:
        parameters: dict[str, Any] = {"neighbours": self.neighbours, "similarity": self.similarity}
        if self.similarity == "bm25":
            parameters |= {"k1": self.k1, "b": self.b}
        elif not self.exact:
            parameters |= {"exact": False}
        return format_spec("knn", **parameters)

    def fit(self, snapshot: Snapshot, /) -> Self:
        """Find the neighbours of every item, in memory for its neighbours and a row of items per thread."""
        p, count = snapshot.profiles, snapshot.counts()
        holders = Holders.of(snapshot, count)
        value, scale = self._bm25(snapshot, count) if self.similarity == "bm25" else (None, None)
        counts = Counts(KINDS[self.similarity], self._unit(holders, value, scale), count)
        rows = self._make_room(holders, count)
        together = np.zeros(len(rows.item), dtype=np.uint32) if self.exact else None

        def find(block: int, lo: int, hi: int) -> None:
            sums = np.zeros(p.n_items, dtype=np.uint32 if value is None else np.float64)
            touched = np.empty(p.n_items, dtype=np.uint32)
            find_neighbours(lo, hi, holders, p.rows, counts, value, scale, rows, together, sums, touched)

        edges = cut_into_blocks(holders.together + 1, p.n_items)
        over_blocks(edges, int(holders.together.sum()), find)
        np.minimum(rows.stop, rows.start[:-1] + np.uint64(self.neighbours), out=rows.cut)
        object.__setattr__(self, "_model", _Model(snapshot.tick, rows, together, counts))
        return self

    def recommend(self, profiles: Batch, k: int, /) -> Codes:
        """The k items of highest score for each profile, by the neighbours as fitted."""
        model = require_fitted(self._model, self)

        def recommend(lo: int, hi: int, rows: Rows, out: Codes) -> None:
            scratch = ListScratch.of(len(model.counts.held_by))
            recommend_by_neighbours(lo, hi, rows, model.neighbours, k, scratch, out)

        return recommend_in_blocks(profiles, k, recommend)

    def held_out_ranks(self, pairs: HeldOutPairs, k: int, /) -> Codes:
        """The rank of each held-out item, from 1; 0 if it is not among the best k.

        The scores of a user are made once for all of its pairs; a pair then takes time proportional to
        `neighbours`.
        """
        m = require_fitted(self._model, self)
        require_length(k)
        if self.exact:
            require_same_date(self, m.tick, pairs.snapshot)
        profiles, n_items = pairs.snapshot.profiles, len(m.counts.held_by)
        most = min(k + self.neighbours, n_items)

        def rank(lo: int, hi: int, codes: PairCodes, out: Codes) -> None:
            largest = int(profiles.sizes_of(codes.user[lo:hi]).max()) if self.exact else 0
            scratch = RankScratch.of(n_items, most, largest * min(self.neighbours, largest))
            rank_by_neighbours(lo, hi, codes, profiles.rows, m.neighbours, m.counts, m.together, k, scratch, out)

        return rank_in_blocks(pairs, rank)

    def empty_lists(self, pairs: HeldOutPairs, /) -> Mask:
        """Whether no item has a score: nothing is left of the profile, or what is left has no neighbours."""
        m = require_fitted(self._model, self)
        rows = pairs.snapshot.profiles.rows

        def find(lo: int, hi: int, codes: PairCodes, out: Codes) -> None:
            in_profile = np.zeros(len(m.counts.held_by), dtype=np.bool_)
            find_empty_lists(lo, hi, codes, rows, m.neighbours, m.counts, m.together, in_profile, out)

        empty: Mask = rank_in_blocks(pairs, find) > 0
        return empty

    def estimate_cost(self, size: LogSize, /) -> Cost:
        """Every pair of items in a profile is counted once, and a row of neighbours read for each pair."""
        return Cost(fit=8e-9 * size.squares, rank=1.5e-8 * size.pairs * self.neighbours)

    def _make_room(self, holders: Holders, count: Codes) -> Neighbours:
        """Empty rows, each with room for the neighbours that there can be and, if exact, one spare."""
        n = len(count)
        most = min(self.neighbours + bool(self.exact), n)
        start = np.zeros(n + 1, dtype=np.uint64)
        start[1:] = np.cumsum(np.minimum(holders.together - count, most))
        entries = int(start[-1])
        return Neighbours(
            start=start,
            cut=np.empty(n, dtype=np.uint64),
            stop=start[:-1].copy(),
            item=np.zeros(entries, dtype=np.uint32),
            score=np.zeros(entries),
        )

    def _bm25(self, snapshot: Snapshot, count: Codes) -> tuple[Floats, Floats]:
        """``d_u^2`` of each user and ``r_i`` of each item."""
        here = count > 0
        rarity = np.log(np.count_nonzero(here)) - np.log1p(snapshot.sizes())
        length = 1 - self.b + self.b * count / count[here].mean()
        scale: Floats = np.where(here, (self.k1 + 1) / (self.k1 * length + 1), 0.0)
        return rarity**2, scale

    def _unit(self, holders: Holders, value: Floats | None, scale: Floats | None) -> float:
        """A power of two of which similarities are to be multiples."""
        if self.similarity == "cooccurrence":
            return 1.0
        if value is None or scale is None:
            return UNIT
        to_itself = holders.sum_over(value) * scale**2  # no two items are more alike
        return UNIT * 2.0 ** frexp(float(to_itself.max(initial=0.0)))[1]


# The loops, compiled with numba: arrays in, arrays out; see `unskew.recommend.candidates` for the rules.


@compiled
def measure_similarity(kind, together, users, other_users, unit):
    """How alike two items are, from how many users hold both, the one and the other; a multiple of `unit`.

    Items that nobody holds together have 0, all others at least one unit. It never grows when one user
    gives the other item back (one less together, one less of the other).
    """
    if together <= 0:
        return 0.0
    x = float(together)
    if kind == COSINE:
        x /= np.sqrt(float(users) * float(other_users))
    elif kind == JACCARD:
        x /= float(users) + float(other_users) - x
    return max(np.rint(x / unit), 1.0) * unit


@compiled
def find_neighbours(lo, hi, holders, profiles, counts, value, scale, neighbours, together, sums, touched):
    """The items most alike to each item j, best first, as many as there is room for.

    With `value` (of users) and `scale` (of items) the similarity is ``scale_i scale_j sum_u value_u`` over the
    users who hold both, else `measure_similarity`; the number of these users is then kept in `together`, if that
    is not None. `sums` and `touched` are scratch, as long as there are items.
    """
    start, stop, item = profiles.start, profiles.stop, profiles.item
    holder_start, holder = holders.start, holders.user
    row_start, _, row_stop, row_item, row_score = neighbours
    kind, unit, held_by = counts.kind, counts.unit, counts.held_by
    for j in range(lo, hi):
        n = 0
        for at in range(holder_start[j], holder_start[j + 1]):
            u = holder[at]
            if value is not None and value[u] == 0.0:
                continue
            for e in range(start[u], stop[u]):
                i = item[e]
                if sums[i] == 0:
                    touched[n] = i
                    n += 1
                sums[i] += 1 if value is None else value[u]
        first = row_start[j]
        last = row_start[j + 1]
        scores = row_score[first:last]
        items = row_item[first:last]
        kept = 0
        for t in range(n):
            i = touched[t]
            if i == j:
                continue
            if value is None:
                score = measure_similarity(kind, sums[i], held_by[j], held_by[i], unit)
            else:
                score = max(np.rint(sums[i] * scale[j] * scale[i] / unit), 1.0) * unit
            kept = offer(score, i, kept, scores, items)
        sort_best_first(kept, scores, items)
        row_stop[j] = first + np.uint64(kept)
        if together is not None:
            for r in range(first, row_stop[j]):
                together[r] = sums[row_item[r]]
        for t in range(n):
            sums[touched[t]] = 0


@compiled
def recommend_by_neighbours(lo, hi, profiles, neighbours, k, scratch, out):
    """The k items of highest sum of rows over the profile, without what the profile holds."""
    start, stop, item = profiles.start, profiles.stop, profiles.item
    row_start, row_cut, _, row_item, row_score = neighbours
    totals, in_profile, touched = scratch.totals, scratch.in_profile, scratch.touched
    room = min(k, len(totals))
    scores = np.empty(room)
    items = np.empty(room, dtype=np.uint32)
    for p in range(lo, hi):
        n = 0
        for e in range(start[p], stop[p]):
            j = item[e]
            in_profile[j] = True
            for r in range(row_start[j], row_cut[j]):
                i = row_item[r]
                if totals[i] == 0.0:
                    touched[n] = i
                    n += 1
                totals[i] += row_score[r]
        kept = 0
        for t in range(n):
            i = touched[t]
            if not in_profile[i]:
                kept = offer(totals[i], i, kept, scores, items)
            totals[i] = 0.0
        sort_best_first(kept, scores, items)
        for t in range(kept):
            out[p, t] = items[t]
        for e in range(start[p], stop[p]):
            in_profile[item[e]] = False


@compiled
def rank_by_neighbours(lo, hi, pairs, profiles, neighbours, counts, together, k, scratch, out):
    """The rank of held-out items by the sum of rows over the rest of the profile.

    A user's sums over the whole profile are made once, and its best candidates sorted (k and as many more as a row
    is long). To hold out h changes few of them: those in row h lose that part; and with `together`, where the
    pair is taken out of the counts as well, h stands lower in the rows j of the profile, or falls out of row j, to
    which then the spare of row j moves up. So a rank is found by one search in the sorted candidates and a
    correction for each that changed.
    """
    user, held = pairs.user, pairs.item
    start, stop, item = profiles.start, profiles.stop, profiles.item
    row_start, row_cut, row_stop, row_item, row_score = neighbours
    kind, unit, held_by = counts.kind, counts.unit, counts.held_by
    totals, in_profile, touched = scratch.lists.totals, scratch.lists.in_profile, scratch.lists.touched
    scores, items = scratch.best_score, scratch.best_item
    raised, moved, head, step = scratch.raised, scratch.moved, scratch.head, scratch.step
    p = lo
    while p < hi:
        u = user[p]
        first = start[u]
        last = stop[u]
        for e in range(first, last):
            in_profile[item[e]] = True
        n = 0
        steps = 0
        for e in range(first, last):
            j = item[e]
            for r in range(row_start[j], row_cut[j]):
                i = row_item[r]
                if totals[i] == 0.0:
                    touched[n] = i
                    n += 1
                totals[i] += row_score[r]
                if together is not None and in_profile[i]:
                    step[steps, 0] = j
                    step[steps, 1] = r
                    step[steps, 2] = head[i]
                    steps += 1
                    head[i] = steps
        kept = 0
        for t in range(n):
            i = touched[t]
            if not in_profile[i]:
                kept = offer(totals[i], i, kept, scores, items)
        sort_best_first(kept, scores, items)
        while p < hi and user[p] == u:
            h = held[p]
            score = 0.0
            moves = 0
            if together is None:
                score = totals[h]
            else:
                at = head[h]
                while at > 0:
                    j = step[at - 1, 0]
                    r = step[at - 1, 1]
                    at = step[at - 1, 2]
                    less = measure_similarity(kind, np.int64(together[r]) - 1, held_by[j], held_by[h] - 1, unit)
                    spare = row_cut[j]
                    if spare == row_stop[j] or comes_before(less, h, row_score[spare], row_item[spare]):
                        score += less
                    elif not in_profile[row_item[spare]]:
                        i = row_item[spare]
                        if raised[i] == 0.0:
                            moved[moves] = i
                            moves += 1
                        raised[i] += row_score[spare]
            low = 0
            high = kept
            while low < high:
                middle = (low + high) >> 1
                if comes_before(scores[middle], items[middle], score, h):
                    low = middle + 1
                else:
                    high = middle
            ahead = low
            if score > 0.0 and ahead < k + np.int64(row_cut[h] - row_start[h]):
                for r in range(row_start[h], row_cut[h]):
                    i = row_item[r]
                    if not in_profile[i]:
                        total = totals[i]
                        ahead -= comes_before(total, i, score, h)
                        ahead += comes_before(total - row_score[r] + raised[i], i, score, h)
                        raised[i] = 0.0
                for t in range(moves):
                    i = moved[t]
                    if raised[i] > 0.0:
                        total = totals[i]
                        ahead -= comes_before(total, i, score, h)
                        ahead += comes_before(total + raised[i], i, score, h)
                if ahead < k:
                    out[p] = ahead + 1
            for t in range(moves):
                raised[moved[t]] = 0.0
            p += 1
        for t in range(n):
            totals[touched[t]] = 0.0
        for e in range(first, last):
            in_profile[item[e]] = False
            head[item[e]] = 0


@compiled
def find_empty_lists(lo, hi, pairs, profiles, neighbours, counts, together, in_profile, out):
    """Mark held-out items without which the rest of the profile gives no other item a score, nor themselves.

    The first neighbour outside the profile decides, which is nearly always the first of all. With `together` the
    held-out item may fall out of a row, and the spare of that row moves up, as in `rank_by_neighbours`.
    """
    user, held = pairs.user, pairs.item
    start, stop, item = profiles.start, profiles.stop, profiles.item
    row_start, row_cut, row_stop, row_item, row_score = neighbours
    kind, unit, held_by = counts.kind, counts.unit, counts.held_by
    p = lo
    while p < hi:
        u = user[p]
        for e in range(start[u], stop[u]):
            in_profile[item[e]] = True
        while p < hi and user[p] == u:
            h = held[p]
            empty = True
            for e in range(start[u], stop[u]):
                j = item[e]
                if j == h:
                    continue
                for r in range(row_start[j], row_cut[j]):
                    if not in_profile[row_item[r]]:
                        empty = False
                    elif row_item[r] == h:
                        if together is None:
                            empty = False
                        else:
                            less = measure_similarity(
                                kind, np.int64(together[r]) - 1, held_by[j], held_by[h] - 1, unit
                            )
                            spare = row_cut[j]
                            if spare == row_stop[j] or comes_before(less, h, row_score[spare], row_item[spare]):
                                empty = less == 0.0
                            else:
                                empty = in_profile[row_item[spare]]
                    if not empty:
                        break
                if not empty:
                    break
            out[p] = empty
            p += 1
        for e in range(start[u], stop[u]):
            in_profile[item[e]] = False
