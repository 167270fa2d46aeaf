"""Hold-out users only: score those who were never shown anything."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

import numpy as np

from unskew.arrays.types import Mask
from unskew.checks import public
from unskew.data.ids import Ids
from unskew.data.log import Log
from unskew.data.slice import Slice, Snapshot, Weighting
from unskew.errors import EmptyError, InputError, option
from unskew.methods.method import Method

Part = TypeVar("Part", bound=Slice)


@dataclass(frozen=True, eq=False)
class HoldOutUsers(Method):
    """``P(u) P(i|u)`` of holdout group, and P(u) = 0 for everybody else.

    What these users took came from no recommendation. With `alone` their profiles are all that a model is fitted
    to as well; otherwise it is fitted to everybody's (or to a view of the log, if that is what is scored).

    Limits: a model fitted to everybody's profiles has learned from what was recommended; one fitted to the
    hold-out alone has little to learn from, and is not the model that would run. The group must have been chosen
    at random, and few users give wide intervals.

    Attributes
    ----------
    holdout
        The ids of the users who were never shown anything; those without a profile are passed over.
    alone
        Whether recommenders are fitted to them alone.
    """

    name: ClassVar[str] = "hold-out-users"
    knows: ClassVar[str] = "hold-out"
    paper: ClassVar[str] = "a control group, as in any experiment"

    holdout: Iterable[Any]
    alone: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.holdout, str | bytes) or not isinstance(self.holdout, Iterable):
            raise InputError(f"{option('holdout')} is {self.holdout!r}", remedy="give a list of user ids")
        object.__setattr__(self, "holdout", tuple(self.holdout))

    def profiles(self, now: Snapshot) -> Snapshot:
        """Those of the holdout group alone, if recommenders are to be fitted to nothing else."""
        return self._keep(now) if self.alone else now

    def _weigh(self, part: Slice) -> Weighting:
        held = self._keep(part)
        return Weighting(held, np.zeros(part.profiles.n_items), "weighted", frees_constant_lists=True)

    def _keep(self, part: Part) -> Part:
        held = part.restrict(_mark(part.log.users, self.holdout))
        if not held.shares().any():
            raise EmptyError(
                f"no user of the holdout group has an item at {part.at}",
                remedy="give a later date, or another group",
            )
        return held


@public
def keep_users(log: Log, users: Iterable[Any]) -> Log:
    """The log of some users alone, for what `HoldOutUsers` cannot do: fit a time split to them alone.

    >>> import unskew as us
    >>> log = us.read_log({"user": ["a", "a", "b"], "item": [1, 2, 1], "time": [3, 4, 5]})
    >>> keep_users(log, ["b"]).at(5)
    Snapshot(at 5: 1 users, 1 items, 1 interactions)
    """
    return log.keep_entries(_mark(log.users, users)[log.entry_users()])


def _mark(ids: Ids, users: Iterable[Any]) -> Mask:
    codes = ids.codes(users)
    if len(codes) == 0:
        raise InputError("the group of users is empty", remedy="name at least one user")
    if not (codes >= 0).any():
        raise InputError(
            f"the log has none of these users (it has {ids.examples()})", remedy="check the ids and their type"
        )
    marked = np.zeros(len(ids), dtype=np.bool_)
    marked[codes[codes >= 0]] = True
    return marked
