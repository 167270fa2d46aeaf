"""A Spark table with one packed record of arrays for each block of users, what a block becomes, and work on each.

A record is Arrow data: a name for each array. It lies in the table in pieces of a few megabytes, so that no
worker has to hold more than that outside of its own arrays. Work is an object that is called with a record; it
is sent to the workers with what it needs, and what it returns comes back in the order of the blocks.

A block becomes a log of its users alone, so that whatever works on a log works on a block, on the worker that has
it. Users are those of the block, in their order in the whole log; items have the codes that they have in the whole
log. The ids of the items are there only where the work needs them (`BlockForm.items`).
"""

from __future__ import annotations

import contextlib
import gc
import itertools
import pickle
import uuid
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from unskew.arrays.profiles import Profiles
from unskew.arrays.types import Codes, Items
from unskew.data.columns import Columns, Reading, Repeats
from unskew.data.ids import Ids
from unskew.data.log import Log
from unskew.data.policy import ItemPrior
from unskew.data.slice import Snapshot
from unskew.data.times import Moment, TimeAxis
from unskew.engines.spark.jobs import map_in_arrow, run_job
from unskew.errors import UnskewError

if TYPE_CHECKING:
    from pyspark import Broadcast
    from pyspark.sql import DataFrame, SparkSession


Record = Mapping[str, pa.Array]
Work = Callable[[Record], Any]
_OnBatches = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]

BLOCK = "block"
"""The name under which a record has its own number."""

_ERROR = "error"
_SCHEMA = "block int, piece int, data binary"
_PIECE = 2**22  # bytes
_RESULT = "block int, result binary"


@dataclass(frozen=True, eq=False)
class BlockTable:
    """The records of all blocks, kept on the cluster."""

    frame: DataFrame
    blocks: int

    @classmethod
    def make(cls, rows: DataFrame, function: _OnBatches, blocks: int) -> BlockTable:
        """The records that a function makes of rows, which the cluster keeps until nobody uses the table any more.

        They are kept in memory as far as there is room; nothing is computed yet.
        """
        from pyspark import StorageLevel

        release_unused()
        kept = map_in_arrow(rows, partial(_call_once, function, uuid.uuid4().hex), _SCHEMA).persist(
            StorageLevel.MEMORY_AND_DISK
        )
        table = cls(kept, blocks)
        weakref.finalize(table, _unused.append, kept)
        return table

    @property
    def session(self) -> SparkSession:
        return self.frame.sparkSession

    def map(self, work: Work, purpose: str) -> list[Any]:
        """What the work returns for each block, in the order of the blocks; `purpose` says what it is for."""
        from pyspark import cloudpickle

        release_unused()
        shared: Broadcast[bytes] = self.session.sparkContext.broadcast(cloudpickle.dumps(work))  # type: ignore[no-untyped-call]
        try:
            rows = map_in_arrow(self.frame, partial(_run, shared), _RESULT)
            table = run_job(self.session, purpose, rows.toArrow)
        finally:
            release(shared)
        results: dict[int, Any] = {}
        for block, result in zip(table.column("block").to_pylist(), table.column("result"), strict=True):
            results[block] = pickle.loads(result.as_buffer())
        for block in sorted(results):
            if isinstance(results[block], UnskewError):
                raise results[block]
        return [results[block] for block in sorted(results)]

    def convert(self, work: Callable[[Record], Record]) -> BlockTable:
        """A table of the records that the work makes of these; nothing is computed yet."""
        return BlockTable.make(self.frame, partial(_convert, work), self.blocks)


_unused: deque[DataFrame] = deque()
"""What the cluster keeps of tables that nobody uses any more. Python finds that out in the middle of anything,
also in a call to Java, which must not be disturbed by another: so they wait here for the next work."""


def release_unused() -> None:
    """Let the cluster forget the tables that nobody uses any more."""
    while _unused:
        release(_unused.popleft())


def release(kept: DataFrame | Broadcast[Any]) -> None:
    """Let the cluster forget something that it kept; where the session has ended it has done so already."""
    with contextlib.suppress(Exception):
        kept.unpersist()


def _call_once(function: _OnBatches, name: str, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Call a function under a name that no other call has, so that what it makes is nobody else's.

    Spark takes tables that are made in the same way for one table: whoever released one of them would take away
    what is kept of all, and each later pass over another would read the file again.
    """
    return function(batches)


def _run(shared: Broadcast[bytes], batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """What a worker does with its part of a table: the work on each block, results pickled."""
    work: Work = pickle.loads(shared.value)
    for block, record in read_records(batches):
        data = pickle.dumps(_attempt(work, record), protocol=5)
        yield pa.record_batch({"block": pa.array([block], pa.int32()), "result": pa.array([data], pa.binary())})


def _convert(work: Work, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for block, record in read_records(batches):
        result = _attempt(work, record)
        if isinstance(result, UnskewError):  # raised where the record is asked for
            result = {_ERROR: pa.array([pickle.dumps(result)], pa.binary())}
        yield from write_record(block, result)
    _spare_collector()


_WARM = 20  # tasks after which a worker has loaded all that it is going to load
_done = itertools.count()


def _spare_collector() -> None:
    """Keep what a worker has loaded out of the garbage collection that Spark does after every task.

    With compiled loops and their compiler loaded, that takes a tenth of a second, and most tasks take less.
    """
    if next(_done) < _WARM:
        gc.collect()
        gc.freeze()


def _attempt(work: Work, record: Record) -> Any:
    """What the work returns or, if it refuses, its error: an exception would come back as a text."""
    if _ERROR in record:
        return pickle.loads(record[_ERROR][0].as_py())
    try:
        return work(record)
    except UnskewError as error:
        return error


def read_records(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[int, Record]]:
    """The records of some rows of a table, whose pieces follow one another."""
    columns = ((batch.column(0).to_pylist(), batch.column(2)) for batch in batches)
    rows = (row for blocks, data in columns for row in zip(blocks, data, strict=True))
    for block, pieces in itertools.groupby(rows, key=itemgetter(0)):
        yield block, _unpack(block, [data.as_buffer() for _, data in pieces])


def write_record(block: int, record: Mapping[str, pa.Array | npt.NDArray[Any]]) -> Iterator[pa.RecordBatch]:
    """The rows of a table that hold a record."""
    arrays = {name: _as_list(values) for name, values in record.items() if name != BLOCK}
    batch = pa.record_batch(list(arrays.values()), names=list(arrays))
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    data = sink.getvalue()
    for piece, first in enumerate(range(0, len(data), _PIECE)):
        part = data.slice(first, min(_PIECE, len(data) - first))
        yield pa.record_batch(
            {
                "block": pa.array([block], pa.int32()),
                "piece": pa.array([piece], pa.int32()),
                "data": pa.array([part.to_pybytes()], pa.binary()),
            }
        )


def _as_list(values: pa.Array | npt.NDArray[Any]) -> pa.Array:
    array = values if isinstance(values, pa.Array) else pa.array(np.ascontiguousarray(values))
    return pa.LargeListArray.from_arrays(pa.array([0, len(array)], pa.int64()), array)


def _unpack(block: int, pieces: list[Any]) -> Record:
    data = pieces[0] if len(pieces) == 1 else pa.py_buffer(b"".join(memoryview(piece) for piece in pieces))
    [batch] = pa.ipc.open_stream(data)
    return {BLOCK: pa.array([block]), **{name: batch.column(name).flatten() for name in batch.schema.names}}


def to_numpy(values: pa.Array) -> npt.NDArray[Any]:
    """An array of a record for the loops, which are compiled for arrays that may be written to."""
    return np.array(values.to_numpy(zero_copy_only=False))


_EXTRA = "extra:"
_AGAIN = "again:"


@dataclass(frozen=True)
class BlockForm:
    """What all blocks of a log have in common."""

    # axis, columns, reading: as of the whole log.
    axis: TimeAxis
    columns: Columns
    n_items: int  # how many items the whole log has
    reading: Reading = Reading(0)
    items: Ids | None = None  # their ids, where work needs them

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
    """The rows of one block as reading has them: whose, which item, when, and whether they repeat earlier ones."""

    user: Codes  # the place of the user in the block
    # Item code and tick.
    item: Items
    time: npt.NDArray[Any]
    exposed: npt.NDArray[np.bool_] | None = None
    extra: dict[str, npt.NDArray[np.float64]] = field(default_factory=dict)  # further columns of numbers
    # Whether the row repeats an earlier one of the same user and item; None if such rows were not kept.
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
        arrays: dict[str, pa.Array | npt.NDArray[Any]] = {
            "users": users,
            "start": np.concatenate([[0], np.cumsum(sizes)]).astype(offsets),
            "item": rows.item.astype(np.uint32),
            "time": rows.time,
        }
        if rows.exposed is not None:
            arrays["exposed"] = rows.exposed
        arrays |= {f"{_EXTRA}{name}": values for name, values in rows.extra.items()}
        if self.again is not None:
            arrays |= self.take(np.flatnonzero(self.again))._repeat(rows)
        return arrays

    def _repeat(self, rows: BlockRows) -> dict[str, pa.Array | npt.NDArray[Any]]:
        """These as repeats of entries: sorted by entry, then by time, at one time the unexposed first."""
        width = 1 + max(int(rows.item.max(initial=0)), int(self.item.max(initial=0)))
        keys = rows.user.astype(np.int64) * width + rows.item
        order = np.argsort(keys)
        wanted = self.user.astype(np.int64) * width + self.item
        entry = order[np.searchsorted(keys, wanted, sorter=order)]
        last = np.zeros(len(entry)) if self.exposed is None else self.exposed
        by = np.lexsort((last, self.time, entry))
        arrays = {f"{_AGAIN}entry": entry[by], f"{_AGAIN}time": self.time[by]}
        if self.exposed is not None:
            arrays[f"{_AGAIN}exposed"] = self.exposed[by]
        return arrays | {f"{_AGAIN}{_EXTRA}{name}": values[by] for name, values in self.extra.items()}


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
    arrays = {"size": sizes.astype(np.uint32), "item": profiles.item[entries]}
    if profiles.a is not None:
        arrays["a"] = profiles.a[kept]
    if profiles.b is not None:
        arrays["b"] = profiles.b[entries]
    return arrays


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


ViewStep = Callable[[Log], Log]
"""One view of a log, or of a block of it, made from another."""


@dataclass(frozen=True)
class LogRule:
    """How a block becomes a log: what all blocks have in common, and the views that are taken one after the
    other.
    """

    form: BlockForm
    views: tuple[ViewStep, ...] = ()

    def log(self, record: Record) -> Log:
        """The log of one block."""
        log = self.form.log(record)
        for view in self.views:
            log = view(log)
        return log

    def with_ids(self, items: Ids) -> LogRule:
        """The same for work that needs the ids of the items."""
        return replace(self, form=replace(self.form, items=items))


@dataclass(frozen=True)
class SnapshotRule:
    """How a block becomes profiles at a date."""

    of_log: LogRule
    moment: Moment
    p_item: ItemPrior = None

    def log(self, record: Record) -> Log:
        """The log of one block."""
        return self.of_log.log(record)

    def cut_off(self, log: Log) -> Snapshot:
        """The profiles of a block at the date; maybe nobody holds anything."""
        return Snapshot.cut_off(log, self.moment).with_priors(None, self.p_item)

    def with_ids(self, items: Ids) -> SnapshotRule:
        """The same for work that needs the ids of the items."""
        return replace(self, of_log=self.of_log.with_ids(items))
