"""What a recommender is: two methods on codes, and six things that it may have besides.

Anything with ``fit`` and ``recommend`` will do; nothing has to be subclassed. Besides these it may have

- ``held_out_ranks``, if it can rank a held-out item faster than by recommending (`RanksHeldOut`);
- ``empty_lists``, if it does so and can tell for which profiles it recommends nothing (`KnowsEmptyLists`);
- ``grades``, if it gives items a number that metrics may use (`GradesHeldOut`);
- ``is_valid_at`` and ``count_missing``, if its lists were made before, for some users and dates (`PreparedLists`);
- ``estimate_cost``, if it knows how long it takes (`unskew.recommend.calls`);
- ``traits``, if it differs from the usual in one of the ways that `Traits` lists.

Its ``str`` is its name in results and messages. `unskew.testing.RecommenderConformance` tests all of this.

**Items are numbered in the order of their ids.** Items and users are codes here, positions in
``snapshot.log.items`` and ``.users``; `unskew.evaluate` turns ids into codes and back. Whoever drives a
recommender hands it a snapshot that was numbered so (`Slice.number_by_id`), and batches and pairs of the same
snapshot: a stable sort by score then breaks ties by id. In the log itself the item taken most often in all of
history has the smallest code; a recommender that is fitted to ``log.at(date)`` directly works, but its ties know
the future. Codes of users follow the sizes of their profiles in all of history: use them to tell users apart, and
for nothing else.

A whole recommender:

>>> import numpy as np
>>> import unskew as us
>>> from unskew.recommend import Batch, top_k
>>> class TakenTogether:
...     '''Recommends what is most often held together with the items of the profile.'''
...
...     def __str__(self):
...         return "taken together"
...
...     def fit(self, snapshot):
...         x = Batch.of(snapshot).matrix()
...         self.together = x.T @ x
...         self.unknown = snapshot.counts() == 0  # held by nobody yet
...         return self
...
...     def recommend(self, profiles, k):
...         x = profiles.matrix()
...         scores = (x @ self.together).toarray()
...         scores[x.nonzero()] = -np.inf  # nothing that the profile holds
...         scores[:, self.unknown] = -np.inf
...         return top_k(scores, k)
>>> rows = [("ann", "x"), ("ann", "y"), ("bob", "x"), ("bob", "y"), ("cid", "x"), ("cid", "z")]
>>> log = us.read_log({"user": [u for u, _ in rows], "item": [i for _, i in rows], "time": [1] * 6})
>>> round(us.evaluate(TakenTogether(), log.at(1), metric="hit@1").value, 3)
0.833
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol, Self, runtime_checkable

import numpy as np
import numpy.typing as npt
from scipy import sparse

from unskew.arrays.profiles import entries_of
from unskew.arrays.types import Codes, Floats, Mask
from unskew.checks import public
from unskew.data.slice import Snapshot
from unskew.data.times import TimeAxis
from unskew.errors import InputError


@runtime_checkable
class Recommender(Protocol):
    """Recommends items for profiles.

    ``recommend`` gives no item that the profile holds, and none twice. It may give fewer than k, with -1 for the
    rest. Equal scores must be told apart the same way every time, best by code.
    """

    def fit(self, snapshot: Snapshot, /) -> Self:
        """Learn from the profiles at a date, forget what was learned before, and return itself."""

    def recommend(self, profiles: Batch, k: int, /) -> Codes:
        """The best k items of each profile: shape (len(profiles), k), -1 for none."""


@runtime_checkable
class RanksHeldOut(Protocol):
    """A recommender that ranks held-out items by itself, faster than by recommending."""

    def held_out_ranks(self, pairs: HeldOutPairs, k: int, /) -> Codes:
        """The rank of each held-out item, from 1; 0 if it is not among the best k."""


@runtime_checkable
class KnowsEmptyLists(Protocol):
    """A recommender that ranks held-out items by itself, and can tell where it recommends nothing."""

    def empty_lists(self, pairs: HeldOutPairs, /) -> Mask:
        """Whether it recommends nothing at all once the pair is held out; asked right after ``held_out_ranks``."""


@runtime_checkable
class GradesHeldOut(Protocol):
    """A recommender that gives items a number, such as a predicted rating, for metrics that need it."""

    def grades(self, profiles: Batch, items: Codes, /) -> Floats:
        """What it gives to one item for each profile: the one that is held out from it."""


@runtime_checkable
class PreparedLists(Protocol):
    """A recommender whose lists were made before: there are none before some date, and not for everybody."""

    def is_valid_at(self, axis: TimeAxis, tick: int | float, /) -> bool | None:
        """Whether it has lists that were valid at a time of a log; None if it does not know from when they are."""

    def count_missing(self, pairs: HeldOutPairs, /) -> tuple[int, int, str]:
        """Once fitted: how many of those whom the pairs score have no list, of how many, and of what."""


@dataclass(frozen=True)
class Traits:
    """How a recommender differs from the usual: its attribute or property ``traits``.

    Attributes
    ----------
    exact
        ``held_out_ranks`` takes a pair out of what was learned too, and not only out of the profile: ranks are
        those of a recommender fitted without the pair.
    learns
        From what: ``here``, the snapshot that it is fitted to; ``nothing``, as a constant list; or
        ``external``, so that nobody here knows what it has seen.
    constant
        Everybody is recommended the same list, whatever their profile and date.
    personal
        What is recommended depends on the profile, and not only in that it skips what the profile has.
    external
        Its lists were made before and elsewhere.
    may_recommend_profile
        ``recommend`` may give what the profile holds, as a constant list must. Of others that is an error.
    files
        What it was read from. A timeline is not resumed when they have changed.
    """

    exact: bool = False
    learns: Literal["here", "nothing", "external"] = "here"
    constant: bool = False
    personal: bool = True
    external: bool = False
    may_recommend_profile: bool = False
    files: tuple[Path, ...] = ()


def traits_of(model: Any) -> Traits:
    """The traits of a recommender, which are the usual ones if it does not tell.

    >>> traits_of(object())
    Traits(exact=False, learns='here', constant=False, personal=True, external=False, ...)
    """
    traits = getattr(model, "traits", None)
    if traits is None:
        return Traits()
    if not isinstance(traits, Traits):
        raise InputError(
            f"{model}: its attribute 'traits' is {traits!r}",
            remedy="make it a Traits, as in traits = unskew.recommend.Traits(exact=True), or name it otherwise",
        )
    return traits


def is_valid_at(model: Any, axis: TimeAxis, tick: int | float) -> bool | None:
    """Whether a recommender can be scored at a time of a log: one that learns here always can.

    None for lists external that do not say from when they are.
    """
    if isinstance(model, PreparedLists):
        return model.is_valid_at(axis, tick)
    return None if traits_of(model).external else True


@dataclass(frozen=True)
class Batch:
    """Profiles to recommend for: what is left of each when what is held out has been taken out.

    Attributes
    ----------
    user
        The code of the user of each profile; a user may come several times.
    start, item
        Profile k is ``item[start[k]:start[k + 1]]``: item codes, in the order in which they were taken.
    n_items
        Number of items; every code is below it.
    """

    user: Codes
    start: Codes
    item: Codes
    n_items: int

    @classmethod
    def of(cls, snapshot: Snapshot, users: Codes | None = None) -> Batch:
        """The whole profiles of these users, or of all who hold anything, in the order of their ids."""
        p = snapshot.profiles
        everyone = snapshot.log.users.order() if users is None else users
        chosen = everyone[p.sizes()[everyone] > 0] if users is None else users
        start, entries = entries_of(p, chosen)
        return cls(chosen, start, p.item[entries].astype(np.int64), p.n_items)

    def __len__(self) -> int:
        return len(self.user)

    def profile(self, k: int) -> Codes:
        """The items of profile k."""
        return self.item[self.start[k] : self.start[k + 1]]

    def matrix(self) -> sparse.csr_matrix:
        """The profiles as rows of ones, for libraries that want a matrix."""
        ones = np.ones(len(self.item), dtype=np.float32)
        return sparse.csr_matrix((ones, self.item, self.start), shape=(len(self), self.n_items))


@dataclass(frozen=True)
class HeldOutPairs:
    """Pairs of a user and an item of its profile that is held out; one item at a time.

    Attributes
    ----------
    snapshot
        The profiles, with the held-out items still in them.
    user, item
        Codes of each pair, sorted by user.
    entry
        Where the pair is in ``snapshot.profiles.item``.
    """

    snapshot: Snapshot
    user: Codes
    item: Codes
    entry: Codes

    def __len__(self) -> int:
        return len(self.user)

    def remaining(self, first: int, last: int) -> Batch:
        """The profiles for the pairs from `first` up to `last`, each without what is held out from it."""
        p = self.snapshot.profiles
        user = self.user[first:last]
        start, entries = entries_of(p, user)
        left = entries != np.repeat(self.entry[first:last], np.diff(start))
        return Batch(
            user, np.concatenate([[0], np.cumsum(left)])[start], p.item[entries[left]].astype(np.int64), p.n_items
        )


@public
def top_k(scores: npt.NDArray[Any], k: int) -> Codes:
    """The k items of highest score in each row, ties by code; -inf and NaN mean never.

    Shape (n, k), -1 for none.
    """
    out = np.full((len(scores), k), -1, dtype=np.int64)
    for row, all_scores in enumerate(scores):
        candidates = np.flatnonzero(all_scores > -np.inf)
        s = all_scores[candidates]
        if k < len(s):
            near = s >= np.partition(s, len(s) - k)[len(s) - k]
            candidates, s = candidates[near], s[near]
        best = candidates[np.argsort(-s, kind="stable")][:k]
        out[row, : len(best)] = best
    return out
