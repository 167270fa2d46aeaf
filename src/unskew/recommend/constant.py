"""The constant recommender: one list for everybody, the algorithm for which the bound is a theorem."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
import pyarrow as pa

from unskew.arrays.types import Codes, Mask
from unskew.data.ids import Ids
from unskew.data.slice import Snapshot
from unskew.errors import InputError
from unskew.recommend.calls import require_fitted, require_length
from unskew.recommend.contract import Batch, HeldOutPairs, Traits


@dataclass(frozen=True, repr=False)
class Constant:
    """Recommends the same items to everyone, best first.

    It alone gives its list whatever the profile holds: were it to skip what a profile holds, it would not be
    constant, and the bound of the fitted weights would not cover it.

    Parameters
    ----------
    items
        Ids, each once. Every one must be in the log, if not yet at the date of the snapshot.

    Examples
    --------
    >>> import unskew as us
    >>> from unskew.recommend.constant import Constant
    >>> log = us.read_log({"user": ["a", "a", "b"], "item": ["x", "y", "x"], "time": [1, 1, 1]})
    >>> Constant(["y", "x"]).fit(log.at(1).number_by_id())
    constant:y,x
    """

    traits: ClassVar[Traits] = Traits(learns="nothing", constant=True, personal=False, may_recommend_profile=True)

    items: Iterable[Any]
    _codes: Codes | None = field(default=None, init=False, compare=False)
    _n_items: int = field(default=0, init=False, compare=False)

    def __post_init__(self) -> None:
        if isinstance(self.items, str | bytes) or not isinstance(self.items, Iterable):
            raise InputError(f"constant: {self.items!r} is not a list of items", remedy="put it into one")
        items = tuple(self.items)
        if not items:
            raise InputError("constant: the list of items is empty", remedy="name at least one")
        for place, item in enumerate(items):
            if item in items[:place]:
                raise InputError(f"constant: item {item!r} is in the list twice", remedy="name each once")
        object.__setattr__(self, "items", items)

    def __repr__(self) -> str:
        return "constant:" + ",".join(map(str, self.items))

    def fit(self, snapshot: Snapshot, /) -> Self:
        """Look the items up; nothing is learned."""
        object.__setattr__(self, "_codes", self._find_codes(snapshot.log.items))
        object.__setattr__(self, "_n_items", len(snapshot.log.items))
        return self

    def recommend(self, profiles: Batch, k: int, /) -> Codes:
        """The first k items of the list, for each profile."""
        codes = require_fitted(self._codes, self)[: require_length(k)]
        out = np.full((len(profiles), k), -1, dtype=np.int64)
        out[:, : len(codes)] = codes
        return out

    def held_out_ranks(self, pairs: HeldOutPairs, k: int, /) -> Codes:
        """The place of each held-out item in the list, 0 if it is not among the first k."""
        codes = require_fitted(self._codes, self)[: require_length(k)]
        rank = np.zeros(self._n_items, dtype=np.int64)
        rank[codes] = np.arange(1, len(codes) + 1)
        return rank[pairs.item]

    def empty_lists(self, pairs: HeldOutPairs, /) -> Mask:
        """Never: the list has at least one item."""
        return np.zeros(len(pairs), dtype=np.bool_)

    def _find_codes(self, ids: Ids) -> Codes:
        return ids.require_codes(self.items, "constant")


class ConstantOfTexts(Constant):
    """A constant list that was written as text: its ids get the type of the log when it is fitted."""

    def _find_codes(self, ids: Ids) -> Codes:
        texts = list(self.items)
        codes = ids.match(pa.array(texts, type=pa.string()))
        for text, code in zip(texts, codes, strict=True):
            if code < 0:
                raise InputError(
                    f"{self}: the log has no item {text!r} (it has {ids.examples()})", remedy="check the ids"
                )
        if len(np.unique(codes)) < len(codes):
            raise InputError(f"{self} has an item twice", remedy="name each once")
        return codes
