"""A log on a Spark cluster, and its profiles at a date: what is asked of them is as for a log on this machine.

Ids of items are here, those of users are on the cluster. Users and items have the order that they have in a
`Log`, and the users are cut into the same blocks, so that results are the same to the last bit; with more
`blocks` than one machine would make (`spark.unskew.blocks`) they differ in the last digits.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from unskew.arrays.types import Codes, Floats
from unskew.data.columns import Columns, Reading
from unskew.data.ids import Ids, log_weights_by_id
from unskew.data.log import DatedLog
from unskew.data.marginal import Marginal
from unskew.data.policy import ItemPrior, Policy, Share, UserPrior, describe_item_prior
from unskew.data.saved_log import fingerprint_log
from unskew.data.slice import AppliesToSlice, no_user_error
from unskew.data.times import Label, Moment, TimeAxis
from unskew.data.view_report import ViewReport
from unskew.engines.population import LogOnSpark, SnapshotOnSpark
from unskew.engines.spark.blocks import BlockTable, LogRule, Record, SnapshotRule, ViewStep
from unskew.engines.spark.population import (
    SparkPopulation,
    SparkWeighting,
    SparseSums,
    mark_eligible,
    mark_holders,
)
from unskew.errors import EmptyError, EngineError, InputError, option
from unskew.storage.files import hash_bytes


@dataclass(frozen=True)
class LogSizes:
    """How much a log or a view of it has: interactions, users with any, the first and the last tick."""

    entries: int
    users: int
    span: tuple[Any, Any]


@dataclass(frozen=True, eq=False, repr=False)
class SparkLog(DatedLog, LogOnSpark):
    """Who took which item when, on a Spark cluster. Made by `read_log` from a Spark table; see `unskew.Log`."""

    blocks: BlockTable  # the blocks of users, kept on the cluster
    rule: LogRule  # how a worker makes a log of one of them
    items: Ids  # the ids of the items; a code is a position in these
    axis: TimeAxis
    columns: Columns = Columns()
    reading: Reading = Reading(0)
    source: str = "log"
    view: str = "all"
    view_report: ViewReport | None = None
    view_details: str = ""
    # True if rows are marked as exposed, and if later rows of a user and an item were kept; else None.
    exposed: bool | None = None
    repeats: bool | None = None
    removed: None = None
    frames: str | None = None
    measured: LogSizes | None = None  # how much there is in it, if that is known already
    rows: Any = None  # what it was made of, to mark exposures in

    def __len__(self) -> int:
        return self.sizes.entries

    def __repr__(self) -> str:
        view = "" if self.view == "all" else f", {self.view} view"
        return (
            f"SparkLog({self.sizes.users} users, {len(self.items)} items, {len(self)} interactions from "
            f"{self.first} to {self.last}{view})"
        )

    @cached_property
    def sizes(self) -> LogSizes:
        """How much there is in it."""
        if self.measured is not None:
            return self.measured
        measured = self.blocks.map(partial(_measure_log, self.rule), "measuring the log")
        filled = [block for block in measured if block.entries]
        if not filled:
            return LogSizes(0, 0, (0, 0))
        span = min(block.span[0] for block in filled), max(block.span[1] for block in filled)
        return LogSizes(sum(block.entries for block in filled), sum(block.users for block in filled), span)

    @property
    def span(self) -> tuple[Any, Any]:
        """The first and the last tick."""
        return self.sizes.span

    def at(self, time: Any, *, p_user: UserPrior = None, p_item: ItemPrior = None) -> SparkSnapshot:
        """The profiles at a date, as `unskew.Log.at` has them; P(u) is uniform."""
        if p_user is not None and not (isinstance(p_user, str) and p_user == "uniform"):
            raise EngineError("on Spark, P(u) is uniform", remedy=f"leave out {option('p_user')}")
        moment = self.moment(time)
        self.check_range(moment)
        policy = Policy(p_item=describe_item_prior(p_item), view=self.view)
        return SparkSnapshot(self, moment.label, moment.tick, policy, SnapshotRule(self.rule, moment, p_item))

    def take_view(self, step: ViewStep, name: str, reason: str, details: str = "") -> SparkLog:
        """A view of the log, which every worker takes of its blocks."""
        rule = replace(self.rule, views=(*self.rule.views, step))
        left = replace(self, rule=rule, view=name, view_details=details, measured=None)
        if len(left) == 0:
            raise EmptyError(
                f"nothing is left of the log in its {name!r} view", remedy="use the whole log, or another view"
            )
        left = replace(left, measured=left.sizes)
        whole, kept = self.sizes, left.sizes
        dropped = (whole.entries - kept.entries, whole.users - kept.users)
        return replace(
            left, view_report=ViewReport(name, reason, whole.entries, dropped[0], whole.users, dropped[1])
        )

    def fingerprint(self) -> dict[str, Any]:
        """What tells it apart from another; ready for JSON."""
        fingerprints = self.blocks.map(partial(_fingerprint, self.rule), "looking what is in the log")
        ids = pa.record_batch([self.items.values], names=["id"]).serialize()
        return {
            "users": self.sizes.users,
            "items": len(self.items),
            "interactions": len(self),
            "first": self.first,
            "last": self.last,
            "hash": hash_bytes([ids, *(fingerprint["hash"].encode() for fingerprint in fingerprints)]),
        }


@dataclass(frozen=True, eq=False, repr=False)
class SparkSnapshot(SnapshotOnSpark):
    """The profiles of a log on a cluster at a date; see `unskew.Snapshot`."""

    log: SparkLog
    at: Label
    tick: int | float
    policy: Policy
    rule: SnapshotRule  # how a worker makes the profiles of one of its blocks
    after: ClassVar[None] = None

    def __repr__(self) -> str:
        return f"SparkSnapshot(at {self.at}: {self.n_users} users, {self.n_items} items, {len(self)} interactions)"

    @property
    def moment(self) -> Moment:
        """The date on the axis of the log."""
        return Moment(self.tick, self.at)

    @cached_property
    def everyone(self) -> SparkPopulation:
        """All users who hold anything, or as many items as the policy asks for."""
        least = self.policy.min_items
        users = partial(mark_holders, self.rule)
        if least > 1:
            users = partial(mark_eligible, self.rule, None, least, None)
        return SparkPopulation(self, users)

    def with_min_items(self, min_items: int) -> SparkSnapshot:
        """The same without the users who have fewer items; its policy says so. 1 takes everybody in again."""
        if min_items == self.policy.min_items:
            return self
        enough = replace(self, policy=replace(self.policy, min_items=min_items))
        if enough.everyone.is_empty():
            raise no_user_error(min_items, self.at)
        return enough

    @cached_property
    def below_min_items(self) -> Share:
        """Who has a profile, but fewer items than the policy asks for."""
        if self.policy.min_items <= 1:
            return Share()
        everyone = self.with_min_items(1).n_users
        return Share(everyone - self.n_users, (everyone - self.n_users) / everyone)

    def __len__(self) -> int:
        """Number of interactions: pairs of a user and an item it holds."""
        return int(self.counts().sum())

    @property
    def n_users(self) -> int:
        """Number of users who hold anything."""
        return self.everyone.n_users

    @property
    def n_items(self) -> int:
        """Number of items that anyone holds."""
        return int(np.count_nonzero(self.counts()))

    def counts(self) -> Codes:
        """Number of users who hold each item, in the order of ``log.items``."""
        return self._counts.copy()

    @cached_property
    def _counts(self) -> Codes:
        total = np.zeros(len(self.log.items))
        for sums in self.everyone.profiles.map(partial(_count_items, len(total)), "counting who holds what"):
            sums.add_to(total)
        return total.astype(np.int64)

    def probabilities(self, weights: Any = None) -> Floats:
        """P(i|w) of each item, in the order of ``log.items``."""
        return self.weigh(weights).marginal()

    def marginal(self, weights: Any = None, *, min_items: int = 1) -> Marginal:
        """The item marginal, as `unskew.Snapshot.marginal` has it."""
        if min_items > 1 and weights is not None:
            raise EngineError(
                "on Spark, a weighted marginal is of all users", remedy=f"leave out {option('min_items')}"
            )
        who = self.everyone.eligible(None, min_items)
        if who.is_empty():
            raise no_user_error(min_items, self.at)
        q = who.marginal() if weights is None else self.probabilities(weights)
        here = np.flatnonzero(q > 0)
        policy = replace(self.policy, min_items=min_items)
        return Marginal(self.log.items.take(here), q[here], self.at, policy, self.log.frames)

    def weigh(self, weights: Any = None) -> SparkWeighting:
        """Apply weights, as `unskew.Snapshot.weigh` does: none, fitted weights, or a mapping from item id to
        weight.
        """
        if weights is None:
            return SparkWeighting(self.everyone, np.zeros(len(self.log.items)))
        if isinstance(weights, SparkWeighting):
            if weights.users.whole is not self:
                raise InputError(
                    f"these weights belong to {weights.users.whole}, not to {self}",
                    remedy="make weights of this one",
                )
            return weights
        if isinstance(weights, Mapping):
            theta = log_weights_by_id(self.log.items, weights)
            users = self.everyone.eligible(theta > -np.inf, 1)
            if users.is_empty():
                raise EmptyError(
                    f"with these weights nobody holds anything at {self.at}",
                    remedy="give some item a positive weight",
                )
            return SparkWeighting(users, theta, "weighted", frees_constant_lists=True)
        if not isinstance(weights, AppliesToSlice) or hasattr(weights, "iloc"):
            raise InputError(
                f"{option('weights')} is a {type(weights).__name__}",
                remedy="give fitted weights or a mapping {item: weight}",
            )
        method: Any = weights
        applied = method.apply(self)
        if not isinstance(applied, SparkWeighting):
            raise EngineError(f"{weights} does not work on Spark", remedy="give fitted weights or a mapping")
        return applied

    def number_by_id(self) -> NumberedCounts:
        """What a recommender that only counts who holds what needs to be fitted: items numbered by id."""
        return NumberedCounts(self)


@dataclass(frozen=True)
class NumberedCounts:
    """Who holds what at a date, counted, items numbered in the order of their ids."""

    snapshot: SparkSnapshot

    @property
    def tick(self) -> int | float:
        return self.snapshot.tick

    def counts(self) -> Codes:
        """Number of users who hold each item."""
        return self.snapshot.counts()[self.snapshot.log.items.order()]


def _measure_log(rule: LogRule, record: Record) -> LogSizes:
    log = rule.log(record)
    users = int(np.count_nonzero(np.diff(log.start.astype(np.int64))))
    return LogSizes(len(log), users, (log.time.min(), log.time.max()) if len(log) else (0, 0))


def _fingerprint(rule: LogRule, record: Record) -> dict[str, Any]:
    log = rule.log(record)
    return fingerprint_log(log) if len(log) else {"hash": "nothing"}


def _count_items(n_items: int, record: Record) -> SparseSums:
    return SparseSums.of(np.bincount(record["item"].to_numpy(), minlength=n_items).astype(np.float64))
