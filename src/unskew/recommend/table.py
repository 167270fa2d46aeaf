"""Recommendations that were made elsewhere, from a file or a dataframe."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any, Self

import numpy as np

from unskew.arrays.types import Codes
from unskew.data.snapshot import Snapshot
from unskew.errors import UnskewWarning
from unskew.reading.sources import expand
from unskew.recommend.contract import Batch, HeldOutPairs, Traits
from unskew.recommend.preconditions import require_fitted
from unskew.recommend.table_lists import Lists
from unskew.recommend.table_rows import read_rows


class Table:
    """Recommendations made elsewhere: a list of items for each user, or for each user and held-out item.

    Parameters
    ----------
    source
        A Parquet, CSV, JSON lines or Arrow file (whatever `read_log` reads) or a dataframe, with the columns

        - ``user``;
        - ``held_out``, if each list was made for the profile without that item;
        - ``items``, a ranked list (not in CSV), best first; or ``item`` and ``rank``, the smallest first; or
          ``item`` and ``score``, the highest first and ties by id.

    Attributes
    ----------
    without
        After `fit`: how many users of the snapshot have no list, or, with ``held_out``, how many pairs of a
        user and an item of its profile. They count as misses, and `fit` warns of them.

    Notes
    -----
    **Most tables hold, for each user, what was recommended for the full profile, without what the user had
    already. Such a table cannot contain any held-out item, and every score is 0.** There are three ways out:

    - lists that were not rid of what the user has: without a ``held_out`` column, items that the
      remaining profile holds are skipped here. The model has still seen the held-out item, in the profile too;
    - lists made at an earlier date: ``evaluate(..., after=date)`` looks for what users took after it;
    - a list for each held-out item, with a ``held_out`` column: nothing is skipped, and a list that has an item of
      the remaining profile is an error. For a sample of pairs, see ``unskew sample``.

    Ids must be those of the log: an unknown one is an error.

    Examples
    --------
    >>> import unskew as us
    >>> from unskew.recommend import Table
    >>> log = us.read_log({"user": ["ann", "ann", "bob"], "item": ["x", "y", "z"], "time": [1, 1, 1]})
    >>> lists = {"user": ["ann", "bob"], "items": [["x", "z", "y"], ["z", "x"]]}
    >>> table = Table(lists).fit(log.at(1).number_by_id())
    >>> table
    Table(2 lists, 5 recommendations)
    """

    def __init__(self, source: Any) -> None:
        self._name = f"table:{source}" if isinstance(source, str | Path) else "table"
        self._rows = read_rows(source)
        files = expand(source) if isinstance(source, str | Path) else []
        self.traits = Traits(learns="elsewhere", made_elsewhere=True, files=tuple(files))
        self._lists: Lists | None = None
        self.without = 0

    def __str__(self) -> str:
        return self._name

    def __repr__(self) -> str:
        lists = "" if self._lists is None else f"{len(self._lists.key)} lists, "
        return f"Table({lists}{len(self._rows)} recommendations)"

    def fit(self, snapshot: Snapshot, /) -> Self:
        """Find the ids in the log; nothing is learned."""
        self._lists = Lists.of(self._rows, snapshot, str(self))
        self.without, total = self._lists.count_without()
        if self.without:
            what = "users" if self._rows.held_out is None else "pairs of a user and a held-out item"
            warnings.warn(
                f"{self} has no recommendation for {self.without} of the {total} {what} at {snapshot.at}: they "
                "count as misses",
                UnskewWarning,
                stacklevel=2,
            )
        return self

    def recommend(self, profiles: Batch, k: int, /) -> Codes:
        """The first k items of each list: shape (len(profiles), k), -1 for none.

        With a ``held_out`` column, the held-out item is the one that the profile lacks.
        """
        lists = require_fitted(self._lists, self)
        out = np.full((len(profiles), k), -1, dtype=np.int64)
        for row in range(len(profiles)):
            own = profiles.profile(row)
            user = int(profiles.user[row])
            found = lists.list_of(user, -1 if lists.per_user else lists.find_left_out(user, own))
            if lists.per_user:
                found = found[~np.isin(found, own)]
            out[row, : min(k, len(found))] = found[:k]
        return out

    def held_out_ranks(self, pairs: HeldOutPairs, k: int, /) -> Codes:
        """The rank of each held-out item, from 1; 0 if it is not among the first k of its list."""
        return require_fitted(self._lists, self).rank(pairs.user, pairs.item, k)
