"""A function as a recommender: ids in, ids out, one profile at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, ClassVar, Self

import numpy as np

from unskew.arrays.types import Codes
from unskew.data.slice import Snapshot
from unskew.errors import InputError
from unskew.recommend.calls import require_fitted
from unskew.recommend.contract import Batch, Traits


class FunctionRecommender:
    """Recommends what a function says.

    Parameters
    ----------
    function
        ``f(profile, k)``: a list of item ids in the order in which they were taken, and how many items are wanted;
        gives item ids, best first, none of them in the profile and none twice. It may give fewer; of more than
        k, the first k count. Whatever it has learned is its own affair: nothing is fitted here, so see to it that
        it knows no more than the log at the date.
    name
        How to call it; by default its own name.

    Examples
    --------
    >>> import unskew as us
    >>> from unskew.recommend import Batch, FunctionRecommender
    >>> log = us.read_log({"user": ["ann", "bob"], "item": ["tea", "milk"], "time": [1, 1]}).numbered_by_id
    >>> def pairing(profile, k):
    ...     return ["milk"] if "tea" in profile else []
    >>> pairs = FunctionRecommender(pairing).fit(log.at(1))
    >>> tea = Batch(log.users.codes(["ann"]), np.array([0, 1]), log.items.codes(["tea"]), len(log.items))
    >>> log.items.take(pairs.recommend(tea, 1)[0]).to_pylist()
    ['milk']
    """

    traits: ClassVar[Traits] = Traits(learns="external")

    def __init__(self, function: Callable[[list[Any], int], Iterable[Any]], *, name: str | None = None) -> None:
        if not callable(function):
            raise InputError(f"{function!r} is not a function", remedy="give f(profile, k)")
        self.function = function
        self._name = name or str(getattr(function, "__name__", type(function).__name__))
        self._snapshot: Snapshot | None = None

    def __str__(self) -> str:
        return self._name

    def __repr__(self) -> str:
        return f"FunctionRecommender({self._name})"

    def fit(self, snapshot: Snapshot, /) -> Self:
        """Remember the ids; nothing is learned."""
        self._snapshot = snapshot
        return self

    def recommend(self, profiles: Batch, k: int, /) -> Codes:
        """The best k items of each profile: shape (len(profiles), k), -1 for none."""
        snapshot = require_fitted(self._snapshot, self)
        out = np.full((len(profiles), k), -1, dtype=np.int64)
        ids = snapshot.log.items.take(profiles.item).to_pylist()
        for row, (first, last) in enumerate(zip(profiles.start[:-1], profiles.start[1:], strict=True)):
            answer = self._require_list(self.function(ids[first:last], k), profiles, row)
            codes = self._find_codes(answer[:k], profiles, row)
            out[row, : len(codes)] = codes
        return out

    def _require_list(self, answer: Any, profiles: Batch, row: int) -> list[Any]:
        if isinstance(answer, str | bytes) or not isinstance(answer, Iterable):
            raise InputError(
                f"{self}, for user {self._user(profiles, row)!r}, returned {answer!r}: it must return a list of "
                "item ids"
            )
        return list(answer)

    def _find_codes(self, ids: list[Any], profiles: Batch, row: int) -> Codes:
        assert self._snapshot is not None
        items = self._snapshot.log.items
        try:
            codes = items.codes(ids)
        except InputError as error:
            raise error.with_context(f"{self}, for user {self._user(profiles, row)!r}") from None
        if (codes < 0).any():
            unknown = ids[int(np.argmax(codes < 0))]
            raise InputError(
                f"{self}, for user {self._user(profiles, row)!r}, recommends {unknown!r}: the log has no such "
                f"item (it has {items.examples()})",
                remedy="let it recommend items of the log alone",
            )
        return codes

    def _user(self, profiles: Batch, row: int) -> Any:
        assert self._snapshot is not None
        return self._snapshot.log.users[int(profiles.user[row])]
