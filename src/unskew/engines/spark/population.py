"""The engine of a Spark cluster: profiles as blocks of users there, passes by the loops of one machine on each
block, the sums added in their order.

Log-weights go to every worker, and sums over items come back; nothing about users does. Weights are made from
log-weights here, once, since machines differ in the last bit of an exponential. Who is meant by a
`SparkPopulation` is told by a rule that every worker applies to its own blocks; whom it marks stays there. P(u) is
uniform.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from unskew.arrays import item_kernels, kernels
from unskew.arrays.blocks import over_items
from unskew.arrays.compiling import look_ahead
from unskew.arrays.sweep import LEVELS, count_kept, make_weights
from unskew.arrays.types import Codes, Floats, Levels, Mask
from unskew.data.log import Log
from unskew.data.policy import Share, eligible_users
from unskew.data.slice import Slice, Snapshot
from unskew.engines.population import Population
from unskew.engines.spark.blocks import BlockTable, Record, SnapshotRule, read_profiles, write_profiles
from unskew.errors import EngineError, option

if TYPE_CHECKING:
    from unskew.engines.spark.log import SparkSnapshot


@dataclass(frozen=True)
class SparseSums:
    """A number for each of some items, 0 for the others."""

    items: Codes
    values: Floats

    @classmethod
    def of(cls, sums: Floats) -> SparseSums:
        places = np.flatnonzero(sums)
        return cls(places.astype(np.uint32), sums[places])

    def add_to(self, total: Floats) -> None:
        total[self.items] += self.values


@dataclass
class BlockSweep:
    """Passes over profiles on a cluster, and their count; see `unskew.arrays.sweep.Sweep`."""

    table: BlockTable  # the profiles, as `unskew.engines.spark.blocks.write_profiles` makes them. P(u) is uniform.
    # Number of items, and of users.
    n_items: int
    n_users: int
    count: int = 0

    def marginal(self, theta: Floats) -> Floats:
        return self._pass(theta, None, None)[0]

    def marginal_and_levels(self, theta: Floats, level: Levels) -> tuple[Floats, Floats]:
        return self._pass(theta, None, level)

    def ratio_mean(self, theta: Floats, ratio: Floats) -> Floats:
        return self._pass(theta, ratio, None)[0]

    def highest(self, ratio: Floats, level: Levels) -> tuple[float, Floats]:
        self.count += 1
        blocks = self.table.map(partial(_sum_highest, ratio, level), "a pass over the profiles")
        total = float(self.n_users)
        return sum(block_total for block_total, _ in blocks) / total, np.array(
            [levels for _, levels in blocks]
        ).sum(axis=0) / total

    def reach(self, items: Mask) -> float:
        holders: int = sum(self.table.map(partial(_count_holders, items), "looking who holds some items"))
        return holders / float(self.n_users)

    def _pass(self, theta: Floats, ratio: Floats | None, level: Levels | None) -> tuple[Floats, Floats]:
        self.count += 1
        w = np.empty(len(theta))
        make_weights(theta, w)
        blocks = self.table.map(partial(_add_block, w, theta, ratio, level), "a pass over the profiles")
        total, sums, shifted = float(self.n_users), np.zeros((1, self.n_items)), np.zeros(self.n_items)
        for block_sums, more, _ in blocks:
            block_sums.add_to(sums[0])
            if more is not None:
                more.add_to(shifted)
        q = np.empty(self.n_items)
        over_items(self.n_items, lambda k, lo, hi: item_kernels.add_blocks(lo, hi, sums, w, total, q))
        if any(more is not None for _, more, _ in blocks):
            q += shifted / total
        return q, np.array([levels for _, _, levels in blocks]).sum(axis=0) / total


def _add_block(
    w: Floats, theta: Floats, ratio: Floats | None, level: Levels | None, record: Record
) -> tuple[SparseSums, SparseSums | None, Floats]:
    """What the users of a block add to a pass; see `unskew.arrays.kernels.add_block`."""
    p = read_profiles(record, len(w))
    sums, shifted, levels = np.empty(p.n_items), np.empty(p.n_items), np.empty(LEVELS)
    out = sums, shifted, levels, look_ahead(p.n_items)
    n_shifted = kernels.add_block(0, p.n_users, p.rows, p.a, p.b, w, theta, ratio, level, *out)
    return SparseSums.of(sums), SparseSums.of(shifted) if n_shifted else None, levels


def _sum_highest(ratio: Floats, level: Levels, record: Record) -> tuple[float, Floats]:
    p, levels = read_profiles(record, len(ratio)), np.zeros(LEVELS)
    total = kernels.sum_highest_ratios(0, p.n_users, p.rows, p.a, ratio, level, levels)
    return total, levels


def _count_holders(items: Mask, record: Record) -> int:
    return int(np.count_nonzero(count_kept(read_profiles(record, len(items)), items)))


UserRule = Callable[[Log], Mask]
"""Which users of a block are meant: one mark for each."""


def mark_holders(rule: SnapshotRule, log: Log) -> Mask:
    """Those who hold anything at a date."""
    return np.asarray(rule.cut_off(log).sizes() > 0)


def mark_eligible(rule: SnapshotRule, keep: Mask | None, min_items: int, among: UserRule | None, log: Log) -> Mask:
    """Those who hold enough of the items to keep at a date; see `unskew.data.policy`."""
    return eligible_users(rule.cut_off(log), keep, min_items, None if among is None else among(log))


def _mark_both(first: UserRule, second: UserRule, log: Log) -> Mask:
    return first(log) & second(log)


def restrict_block(rule: SnapshotRule, users: UserRule, record: Record) -> Snapshot:
    """The profiles of some users of a block at a date."""
    log = rule.log(record)
    return rule.cut_off(log).restrict(users(log))


def _write_restricted(rule: SnapshotRule, users: UserRule, record: Record) -> dict[str, npt.NDArray[Any]]:
    return write_profiles(restrict_block(rule, users, record).profiles)


@dataclass(frozen=True, eq=False)
class SparkPopulation(Population):
    """Users of a snapshot on a cluster; see `unskew.engines.population.Population`."""

    whole: SparkSnapshot  # the snapshot with all users
    users: UserRule  # which of them are meant

    @property
    def restrict(self) -> Callable[[Record], Snapshot]:
        """How a worker finds these users of a block and their profiles."""
        return partial(restrict_block, self.whole.rule, self.users)

    @cached_property
    def profiles(self) -> BlockTable:
        """Their profiles, kept on the cluster."""
        return self.whole.log.blocks.convert(partial(_write_restricted, self.whole.rule, self.users))

    @cached_property
    def users_by_block(self) -> list[int]:
        """How many of them are in each block."""
        return self.profiles.map(_count_users, "counting users")

    @property
    def n_users(self) -> int:
        """How many they are."""
        return sum(self.users_by_block)

    def marginal(self) -> Floats:
        return self._marginal.copy()

    @cached_property
    def _marginal(self) -> Floats:
        return self.passes().marginal(np.zeros(len(self.items)))

    def held_items(self) -> Mask:
        held: Mask = self._marginal > 0  # P(u) is uniform
        return held

    def eligible(self, keep: Mask | None, min_items: int, among: SparkPopulation | None = None) -> SparkPopulation:
        cohort, min_items = None if among is None else among.users, max(min_items, self.policy.min_items)
        if (
            cohort is None
            and min_items <= self.policy.min_items
            and (keep is None or bool(keep[self.whole.everyone.held_items()].all()))
        ):
            return self.whole.everyone  # everybody holds one of these
        return SparkPopulation(self.whole, partial(mark_eligible, self.whole.rule, keep, min_items, cohort))

    def also_in(self, other: SparkPopulation) -> SparkPopulation:
        if other.whole.log.blocks is not self.whole.log.blocks:
            raise EngineError(
                "on Spark, users of two dates can be found in one log only",
                remedy=f"give {option('reference')} a date of the log, or use {option('users', 'all')}",
            )
        return SparkPopulation(self.whole, partial(_mark_both, self.users, other.users))

    def is_empty(self) -> bool:
        return self.n_users == 0

    def is_same(self, other: SparkPopulation) -> bool:
        compare = partial(_compare_users, self.whole.rule, self.users, other.users)
        return all(self.whole.log.blocks.map(compare, "comparing users"))

    def excluded(self) -> Share:
        everyone = self.whole.everyone.n_users
        out = everyone - self.n_users
        return Share(out, out / max(everyone, 1))

    def passes(self) -> BlockSweep:
        return BlockSweep(self.profiles, len(self.items), self.n_users)

    def weigh(self, log_weights: Floats, top: int | None) -> SparkWeighting:
        return SparkWeighting(self, log_weights, "weighted", top, frees_constant_lists=True)

    def collect(self) -> Slice:
        raise EngineError("this needs all profiles on one machine, and they are on a cluster")


def _count_users(record: Record) -> int:
    return len(record["size"])


def _compare_users(rule: SnapshotRule, first: UserRule, second: UserRule, record: Record) -> bool:
    log = rule.log(record)
    return bool((first(log) == second(log)).all())


@dataclass(frozen=True, eq=False)
class SparkWeighting:
    """Item weights on profiles that are on a cluster; see `unskew.data.slice.Weighting`."""

    users: SparkPopulation  # those who are evaluated
    log_weights: Floats
    name: str = "raw"
    top: int | None = None
    frees_constant_lists: bool = False

    def marginal(self) -> Floats:
        """The weighted item marginal ``q_i = sum_u P(u) P(i|u,w)``, over the items of the log."""
        if self.name == "raw":
            return self.users.marginal()
        return self.users.passes().marginal(self.log_weights)
