"""The users of one date, wherever their profiles are: who is eligible, who is left out, and passes over them; and
whether something is on a cluster, which is asked without loading Spark.

Whatever is answered here is about all users together (a share, a marginal, a mask over items), so that no array
over users ever leaves an engine. The local engine is `unskew.engines.local`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, Self, TypeGuard, cast

from unskew.arrays.types import Floats, Mask
from unskew.data.ids import Ids
from unskew.data.policy import Policy, Share
from unskew.data.slice import Slice
from unskew.data.times import Label
from unskew.errors import EngineError, option
from unskew.solve.passes import Passes

if TYPE_CHECKING:
    from unskew.engines.spark.log import SparkLog, SparkSnapshot


class AppliedWeights(Protocol):
    """Item weights on some users, as `unskew.data.weighting.Weighting` has them."""

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
    at, policy
        The date, and how P(u) and P(i|u) were chosen.
    items
        The ids of the items.
    """

    @property
    def at(self) -> Label: ...

    @property
    def policy(self) -> Policy: ...

    @property
    def items(self) -> Ids: ...

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


class LogThere:
    """A log on a Spark cluster."""


class SnapshotThere:
    """Its profiles at a date."""


class FilesThere:
    """Files for a log on a cluster, not read yet."""


def is_on_spark(given: Any) -> TypeGuard[SparkLog]:
    """Whether a log is on a cluster."""
    return isinstance(given, LogThere)


def is_at_spark(given: Any) -> TypeGuard[SparkSnapshot]:
    """Whether profiles are on a cluster."""
    return isinstance(given, SnapshotThere)


def refuse_on_spark(**options: Any) -> None:
    """Refuse options that do not work on a cluster, if they are given."""
    given = [option(name) for name, value in options.items() if value]
    if given:
        raise EngineError(
            f"{' and '.join(given)} cannot be used on Spark", remedy="read the log on one machine for that"
        )


def require_log_here(log: Any, what: str) -> None:
    """Refuse a log on a cluster; `what` says what needs it here."""
    if is_on_spark(log):
        raise EngineError(f"{what} does not work on Spark", remedy="read the log on one machine for that")


def require_local(part: Any, what: Any) -> Slice:
    """Refuse what needs all profiles on one machine; `what` names it."""
    if is_at_spark(part):
        raise EngineError(
            f"{what} needs all profiles on one machine, and these are on a cluster",
            remedy="read the log on one machine for that",
        )
    return cast(Slice, part)


def is_spark_table(source: Any) -> bool:
    """Whether this is a Spark DataFrame."""
    kind = type(source)
    return kind.__name__ == "DataFrame" and kind.__module__.split(".")[:2] == ["pyspark", "sql"]
