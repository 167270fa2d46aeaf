"""The popularity recommender: what most users hold, the baseline that a campaign moves first."""
# mypy: disallow-untyped-defs=False

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import NamedTuple, Self

import numpy as np

from unskew.arrays.compiling import compiled
from unskew.arrays.profiles import Rows
from unskew.arrays.types import Codes, Items, Mask
from unskew.checks import require_bool
from unskew.data.slice import Snapshot
from unskew.recommend.calls import (
    Cost,
    LogSize,
    PairCodes,
    rank_in_blocks,
    recommend_in_blocks,
    require_fitted,
    require_length,
    require_same_date,
)
from unskew.recommend.contract import Batch, HeldOutPairs, Traits
from unskew.recommend.parameters import format_spec


class _Model(NamedTuple):
    """Where items stand, and those that anyone holds in the order in which they are recommended."""

    tick: int | float
    popularity: Popularity
    best: Items


@dataclass(frozen=True, repr=False)
class Popular:
    """Recommends what most users hold and the profile does not; ties by item id.

    Parameters
    ----------
    exact
        Whether a held-out pair leaves the counts too, so that ranks are those of a recommender fitted on the log
        without the pair; an item that only this user holds is then not recommended. If not, it is taken out of
        the profile alone and still counts.

    Examples
    --------
    >>> import unskew as us
    >>> from unskew.recommend.popular import Popular
    >>> log = us.read_log({"user": ["a", "a", "b"], "item": ["x", "y", "x"], "time": [1, 1, 1]})
    >>> Popular().fit(log.at(1).number_by_id())
    popular
    """

    _: KW_ONLY
    exact: bool = True
    _model: _Model | None = field(default=None, init=False, compare=False)

    def __post_init__(self) -> None:
        require_bool("exact", self.exact)

    @property
    def traits(self) -> Traits:
        """Whether a held-out pair leaves the model too, and not only the profile."""
        return Traits(exact=self.exact, personal=False)

    def __repr__(self) -> str:
        return format_spec("popular", **({} if self.exact else {"exact": False}))

    def fit(self, snapshot: Snapshot, /) -> Self:
        """Count who holds what."""
        counts = snapshot.counts()
        most, n = int(counts.max(initial=0)), len(counts)
        key = (most - counts) * n + np.arange(n)
        best = np.argsort(key)[: np.count_nonzero(counts)]
        taken = 1 if self.exact else 0
        held_key = key + taken * n
        ahead = np.searchsorted(np.sort(key), held_key) - taken  # less itself, as it was
        ahead[counts <= taken] = -1
        model = _Model(snapshot.tick, Popularity(key, held_key, ahead), best.astype(np.uint32))
        object.__setattr__(self, "_model", model)
        return self

    def recommend(self, profiles: Batch, k: int, /) -> Codes:
        """The k items that most users hold and the profile does not, by the counts as fitted."""
        model = require_fitted(self._model, self)

        def recommend(lo: int, hi: int, rows: Rows, out: Codes) -> None:
            seen = np.zeros(len(model.popularity.key), dtype=np.int64)
            recommend_most_popular(lo, hi, rows, model.best, k, seen, out)

        return recommend_in_blocks(profiles, k, recommend)

    def estimate_cost(self, size: LogSize, /) -> Cost:
        """Items are counted, and a pair takes hardly any time."""
        return Cost(fit=1e-8 * size.pairs, rank=2e-7 * size.pairs)

    def held_out_ranks(self, pairs: HeldOutPairs, k: int, /) -> Codes:
        """The rank of each held-out item, from 1; 0 if it is not among the best k.

        In time proportional to the profile: nobody is recommended anything.
        """
        model = require_fitted(self._model, self)
        require_length(k)
        if self.exact:
            require_same_date(self, model.tick, pairs.snapshot)
        profiles = pairs.snapshot.profiles.rows

        def rank(lo: int, hi: int, codes: PairCodes, out: Codes) -> None:
            rank_by_popularity(lo, hi, codes, profiles, model.popularity, k, out)

        return rank_in_blocks(pairs, rank)

    def empty_lists(self, pairs: HeldOutPairs, /) -> Mask:
        """Whether nothing is left to recommend: the profile has every item, and nobody else the held-out one."""
        model = require_fitted(self._model, self)
        others = len(model.best) - pairs.snapshot.profiles.sizes_of(pairs.user)
        empty: Mask = others + (model.popularity.ahead[pairs.item] >= 0) == 0
        return empty


# The loops, compiled with numba: arrays in, arrays out; see `unskew.recommend.candidates` for the rules.


class Popularity(NamedTuple):
    """Where each item stands.

    ``key[i]`` sorts the items: by how many hold them, most first, then by code. Once i is held out its key is
    ``held_key[i]``, and ``ahead[i]`` items stand ahead of it; -1 if it is then not recommended at all.
    """

    key: Codes
    held_key: Codes
    ahead: Codes


@compiled
def rank_by_popularity(lo, hi, pairs, profiles, popularity, k, out):
    """The rank of held-out items: those ahead of it, less those that the profile holds."""
    user, held = pairs.user, pairs.item
    start, stop, item = profiles.start, profiles.stop, profiles.item
    key, held_key, ahead = popularity.key, popularity.held_key, popularity.ahead
    for p in range(lo, hi):
        h = held[p]
        rank = ahead[h] + 1
        if rank <= 0:
            continue
        u = user[p]
        key_without = held_key[h]
        for e in range(start[u], stop[u]):
            j = item[e]
            if j != h and key[j] < key_without:
                rank -= 1
        if rank <= k:
            out[p] = rank


@compiled
def recommend_most_popular(lo, hi, profiles, best, k, seen, out):
    """The first k of `best` that are not in the profile; `seen` is scratch."""
    start, stop, item = profiles.start, profiles.stop, profiles.item
    for p in range(lo, hi):
        for e in range(start[p], stop[p]):
            seen[item[e]] = p + 1
        n = 0
        for i in best:
            if n == k:
                break
            if seen[i] != p + 1:
                out[p, n] = i
                n += 1
