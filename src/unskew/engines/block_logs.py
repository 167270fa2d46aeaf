"""A block as a log of its users alone, so that whatever works on a log works on a block, on the worker that has
it.

Users are those of the block, in their order in the whole log; items have the codes that they have in the whole
log. The ids of the items are there only where the work needs them (`BlockForm.items`).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from unskew.arrays.profiles import Profiles
from unskew.arrays.types import Codes, Items
from unskew.data.columns import Columns, Reading
from unskew.data.ids import Ids
from unskew.data.log import Log
from unskew.data.repeats import Repeats
from unskew.data.times import TimeAxis
from unskew.engines.block_table import Record, to_numpy

_EXTRA = "extra:"
_AGAIN = "again:"


@dataclass(frozen=True)
class BlockForm:
    """What all blocks of a log have in common.

    Attributes
    ----------
    axis, columns, reading
        As of the whole log.
    n_items
        How many items the whole log has.
    items
        Their ids, where work needs them.
    """

    axis: TimeAxis
    columns: Columns
    n_items: int
    reading: Reading = Reading(0)
    items: Ids | None = None

    def log(self, record: Record) -> Log:
        """The log of one block."""
        users = record["users"]
        items = Ids(pa.nulls(self.n_items), pa.null()) if self.items is None else self.items
        return Log(
            users=Ids(users, users.type),
            items=items,
            start=to_numpy(record["start"]),
            item=to_numpy(record["item"]),
            time=to_numpy(record["time"]),
            axis=self.axis,
            columns=self.columns,
            reading=self.reading,
            exposed=to_numpy(record["exposed"]) if "exposed" in record else None,
            extra=_with_prefix(record, _EXTRA),
            repeats=_read_repeats(record),
            cut=np.array([0, len(users)], dtype=np.int64),
            is_part=True,
        )


@dataclass(frozen=True)
class BlockRows:
    """The rows of one block as reading has them: whose, which item, when, and whether it repeats an earlier one.

    Attributes
    ----------
    user
        The place of the user in the block.
    item, time
        Item code and tick.
    exposed
        Or None.
    extra
        Further columns of numbers.
    again
        Whether the row repeats an earlier one of the same user and item; None if such rows were not kept.
    """

    user: Codes
    item: Items
    time: npt.NDArray[Any]
    exposed: npt.NDArray[np.bool_] | None = None
    extra: dict[str, npt.NDArray[np.float64]] = field(default_factory=dict)
    again: npt.NDArray[np.bool_] | None = None

    def take(self, places: npt.NDArray[Any]) -> BlockRows:
        """Some of them."""
        return replace(
            self,
            user=self.user[places],
            item=self.item[places],
            time=self.time[places],
            exposed=None if self.exposed is None else self.exposed[places],
            extra={name: values[places] for name, values in self.extra.items()},
            again=None if self.again is None else self.again[places],
        )

    def record(self, users: pa.Array) -> dict[str, pa.Array | npt.NDArray[Any]]:
        """The record of the block: a log sorted by user, time and item, and the rows that repeat others."""
        rows = self if self.again is None else self.take(np.flatnonzero(~self.again))
        rows = rows.take(np.lexsort((rows.item, rows.time, rows.user)))
        sizes = np.bincount(rows.user, minlength=len(users))
        offsets = np.uint32 if len(rows.user) < 2**32 - 1 else np.uint64
        found: dict[str, pa.Array | npt.NDArray[Any]] = {
            "users": users,
            "start": np.concatenate([[0], np.cumsum(sizes)]).astype(offsets),
            "item": rows.item.astype(np.uint32),
            "time": rows.time,
        }
        if rows.exposed is not None:
            found["exposed"] = rows.exposed
        found |= {f"{_EXTRA}{name}": values for name, values in rows.extra.items()}
        if self.again is not None:
            found |= self.take(np.flatnonzero(self.again))._repeat(rows)
        return found

    def _repeat(self, rows: BlockRows) -> dict[str, pa.Array | npt.NDArray[Any]]:
        """These as repeats of entries: sorted by entry, then by time, at one time the unexposed first."""
        width = 1 + max(int(rows.item.max(initial=0)), int(self.item.max(initial=0)))
        keys = rows.user.astype(np.int64) * width + rows.item
        order = np.argsort(keys)
        wanted = self.user.astype(np.int64) * width + self.item
        entry = order[np.searchsorted(keys, wanted, sorter=order)]
        last = np.zeros(len(entry)) if self.exposed is None else self.exposed
        by = np.lexsort((last, self.time, entry))
        found = {f"{_AGAIN}entry": entry[by], f"{_AGAIN}time": self.time[by]}
        if self.exposed is not None:
            found[f"{_AGAIN}exposed"] = self.exposed[by]
        return found | {f"{_AGAIN}{_EXTRA}{name}": values[by] for name, values in self.extra.items()}


def _read_repeats(record: Record) -> Repeats | None:
    if f"{_AGAIN}entry" not in record:
        return None
    return Repeats(
        entry=to_numpy(record[f"{_AGAIN}entry"]),
        time=to_numpy(record[f"{_AGAIN}time"]),
        exposed=to_numpy(record[f"{_AGAIN}exposed"]) if f"{_AGAIN}exposed" in record else None,
        extra=_with_prefix(record, f"{_AGAIN}{_EXTRA}"),
    )


def _with_prefix(record: Record, prefix: str) -> dict[str, npt.NDArray[Any]]:
    return {name.removeprefix(prefix): to_numpy(v) for name, v in record.items() if name.startswith(prefix)}


def write_profiles(profiles: Profiles) -> dict[str, npt.NDArray[Any]]:
    """Profiles as a record, without what belongs to nobody."""
    sizes = profiles.sizes()
    kept = np.flatnonzero(sizes)
    first, sizes = profiles.start[kept].astype(np.int64), sizes[kept]
    ends = np.cumsum(sizes)
    entries = np.arange(int(sizes.sum())) + np.repeat(first - (ends - sizes), sizes)
    found = {"size": sizes.astype(np.uint32), "item": profiles.item[entries]}
    if profiles.a is not None:
        found["a"] = profiles.a[kept]
    if profiles.b is not None:
        found["b"] = profiles.b[entries]
    return found


def read_profiles(record: Record, n_items: int) -> Profiles:
    """Profiles from a record that `write_profiles` made; who holds nothing is not there any more."""
    sizes = to_numpy(record["size"]).astype(np.int64)
    offsets = np.uint32 if int(sizes.sum()) < 2**32 - 1 else np.uint64
    ends = np.cumsum(sizes)
    return Profiles(
        (ends - sizes).astype(offsets),
        ends.astype(offsets),
        to_numpy(record["item"]),
        n_items,
        to_numpy(record["a"]) if "a" in record else None,
        to_numpy(record["b"]) if "b" in record else None,
        cut=np.array([0, len(sizes)], dtype=np.int64),
    )
