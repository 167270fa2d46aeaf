"""Lists external held against a log on a cluster: whom and what of them the log does not have.

Each worker knows some of the users, and all of them together whether the log has one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from unskew.engines.block_table import Record
from unskew.engines.snapshot_rule import LogRule
from unskew.engines.spark_log import SparkLog
from unskew.recommend.contract import Recommender
from unskew.recommend.table import Table
from unskew.recommend.table_rows import find_codes

_held: WeakKeyDictionary[SparkLog, WeakSet[Table]] = WeakKeyDictionary()  # so that each is held against a log once


def hold_lists_against(log: SparkLog, model: Recommender) -> None:
    """Warn of what a log does not have of lists, and refuse them if it has nothing of them; of others nothing."""
    table: Any = getattr(model, "recommender", model)
    if not isinstance(table, Table) or table in _held.setdefault(log, WeakSet()):
        return

    def find_users(values: pa.Array, is_text: bool, where: str) -> npt.NDArray[np.bool_]:
        each = values.unique()
        found = log.blocks.map(_FindUsers(log.rule, each, is_text, where), "looking for the users of lists")
        known = np.bitwise_or.reduce(found)
        has = np.unpackbits(known, count=len(each)).astype(np.bool_)
        place = pc.index_in(values, each).to_numpy(zero_copy_only=False)
        return np.asarray(has[place], dtype=np.bool_)

    table.hold_against(log.items, log.view, find_users)
    _held[log].add(table)  # which is not refused


@dataclass(frozen=True)
class _FindUsers:
    """Which of these users a block has, in bits."""

    rule: LogRule
    values: pa.Array
    is_text: bool
    where: str

    def __call__(self, record: Record) -> npt.NDArray[np.uint8]:
        users = self.rule.log(record).users
        return np.packbits(find_codes(self.values, users, self.is_text, self.where) >= 0)
