"""The users of one date, wherever their profiles are: who is eligible, who is excluded, and passes over them.

Whatever is answered here is about all users together (a share, a marginal, a mask over items), so that no array
over users ever leaves an engine. Whether something is on a cluster is asked without loading Spark. To add an
engine, write its file and let `open_population` choose it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeGuard, cast

import numpy as np

from unskew.arrays.sweep import Sweep
from unskew.arrays.types import Floats, Mask
from unskew.data.ids import Ids
from unskew.data.policy import Policy, Share, eligible_users, find_users
from unskew.data.slice import Slice, Weighting
from unskew.data.times import Label
from unskew.errors import EngineError, option
from unskew.solve.problem import Passes

if TYPE_CHECKING:
    from unskew.engines.spark.log import SparkLog, SparkSnapshot


class AppliedWeights(Protocol):
    """Item weights on some users, as `unskew.data.slice.Weighting` has them."""

    @property
    def log_weights(self) -> Floats: ...

    @property
    def name(self) -> str: ...

    @property
    def top(self) -> int | None: ...

    @property
    def frees_constant_lists(self) -> bool: ...

    def marginal(self) -> Floats:
        """The weighted item marginal."""


class Population(Protocol):
    """Some of the users who hold anything at a date; arrays are over the items of its log.

    Attributes
    ----------
    whole
        The profiles of all users.
    at, policy
        The date, and how P(u) and P(i|u) were chosen.
    items
        The ids of the items.
    """

    whole: Any

    @property
    def at(self) -> Label:
        return cast(Label, self.whole.at)

    @property
    def policy(self) -> Policy:
        return cast(Policy, self.whole.policy)

    @property
    def items(self) -> Ids:
        return cast(Ids, self.whole.log.items)

    def marginal(self) -> Floats:
        """P(i) of these users."""

    def held_items(self) -> Mask:
        """The items that any of these users holds."""

    def eligible(self, keep: Mask | None, min_items: int, among: Self | None = None) -> Self:
        """Those with P(u) > 0 who hold at least `min_items` of the items to keep (None for all).

        With `among`, only those who were found eligible before.
        """

    def also_in(self, other: Self) -> Self:
        """Those who are among the users of another date, maybe of another log, as well."""

    def is_empty(self) -> bool:
        """Whether nobody is left."""

    def is_same(self, other: Self) -> bool:
        """Whether these are the same users of the same date."""

    def excluded(self) -> Share:
        """The users who hold something at the date and are not among these."""

    def passes(self) -> Passes:
        """Passes over the profiles of these users, counted from 0."""

    def weigh(self, log_weights: Floats, top: int | None) -> AppliedWeights:
        """Fitted log-weights of all items on these users; `top` if only so many items have one."""

    def collect(self) -> Slice:
        """Their profiles, on this machine."""


class LogOnSpark:
    """A log on a Spark cluster."""


class SnapshotOnSpark:
    """Its profiles at a date."""


class FilesOnSpark:
    """Files for a log on a cluster, not read yet."""


def is_on_spark(log: Any) -> TypeGuard[SparkLog]:
    return isinstance(log, LogOnSpark)


def is_at_spark(part: Any) -> TypeGuard[SparkSnapshot]:
    return isinstance(part, SnapshotOnSpark)


def refuse_on_spark(**options: Any) -> None:
    """Refuse options that do not work on a cluster, if they are given."""
    refused = [option(name) for name, value in options.items() if value]
    if refused:
        raise EngineError(
            f"{' and '.join(refused)} cannot be used on Spark", remedy="read the log on one machine for that"
        )


def require_local_log(log: Any, work: str) -> None:
    """Refuse a log on a cluster; `work` needs it local."""
    if is_on_spark(log):
        raise EngineError(f"{work} does not work on Spark", remedy="read the log on one machine for that")


def require_local(part: Any, work: Any) -> Slice:
    """Refuse what needs all profiles on one machine; `work` names it."""
    if is_at_spark(part):
        raise EngineError(
            f"{work} needs all profiles on one machine, and these are on a cluster",
            remedy="read the log on one machine for that",
        )
    return cast(Slice, part)


def is_spark_table(source: Any) -> bool:
    kind = type(source)
    return kind.__name__ == "DataFrame" and kind.__module__.split(".")[:2] == ["pyspark", "sql"]


@dataclass(frozen=True, eq=False)
class LocalPopulation(Population):
    """Users of a slice of a log; see `unskew.engines.population.Population`."""

    whole: Slice  # the slice with all users
    users: Mask | None = None  # which of them are meant; None for all who hold anything

    def marginal(self) -> Floats:
        return self.part.probabilities()

    def held_items(self) -> Mask:
        held: Mask = self.part.counts() > 0
        return held

    def eligible(self, keep: Mask | None, min_items: int, among: LocalPopulation | None = None) -> LocalPopulation:
        cohort = None if among is None else among._mask
        return LocalPopulation(self.whole, eligible_users(self.whole, keep, min_items, cohort))

    def also_in(self, other: LocalPopulation) -> LocalPopulation:
        return LocalPopulation(self.whole, self._mask & find_users(other.whole, other._mask, self.whole))

    def is_empty(self) -> bool:
        return not self._mask.any()

    def is_same(self, other: LocalPopulation) -> bool:
        return bool((self._mask == other._mask).all())

    def excluded(self) -> Share:
        out = (self.whole.sizes() > 0) & ~self._mask
        return self.whole.share_of(out)

    def passes(self) -> Sweep:
        return Sweep(self.part.profiles)

    def weigh(self, log_weights: Floats, top: int | None) -> Weighting:
        return Weighting(self.part, log_weights, "weighted", top, frees_constant_lists=True)

    def collect(self) -> Slice:
        return self.part

    @cached_property
    def part(self) -> Slice:
        """The slice with these users alone."""
        if self.users is None or bool((self.users == (self.whole.sizes() > 0)).all()):
            return self.whole
        return self.whole.restrict(self.users)

    @cached_property
    def _mask(self) -> Mask:
        return np.asarray(self.whole.sizes() > 0) if self.users is None else self.users


def open_population(part: Slice | SparkSnapshot) -> Population:
    """The users of a slice, or of a snapshot on a cluster, for the engine that can run passes over them."""
    return LocalPopulation(part) if isinstance(part, Slice) else part.everyone
