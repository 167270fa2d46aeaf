"""A Spark table with one packed record of arrays for each block of users, and work on each of them.

A record is Arrow data: a name for each array. It lies in the table in pieces of a few megabytes, so that no
worker has to hold more than that outside of its own arrays. Work is an object that is called with a record; it
is sent to the workers with what it needs, and what it returns comes back in the order of the blocks.
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
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from unskew.engines.spark_jobs import map_in_arrow, run_job
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
        kept = map_in_arrow(rows, _Once(function, uuid.uuid4().hex), _SCHEMA).persist(StorageLevel.MEMORY_AND_DISK)
        table = cls(kept, blocks)
        weakref.finalize(table, _unused.append, kept)
        return table

    @property
    def session(self) -> SparkSession:
        return self.frame.sparkSession

    def map(self, work: Work, what: str) -> list[Any]:
        """What the work returns for each block, in the order of the blocks; `what` says what it is for."""
        from pyspark import cloudpickle

        release_unused()
        shared: Broadcast[bytes] = self.session.sparkContext.broadcast(cloudpickle.dumps(work))  # type: ignore[no-untyped-call]
        try:
            found = map_in_arrow(self.frame, _Run(shared), _RESULT)
            table = run_job(self.session, what, found.toArrow)
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
        return BlockTable.make(self.frame, _Convert(work), self.blocks)


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


@dataclass(frozen=True)
class _Once:
    """A function that is like no other, so that what it makes is nobody else's.

    Spark takes tables that are made in the same way for one table: whoever released one of them would take away
    what is kept of all, and each later pass over another would read the file again.
    """

    function: _OnBatches
    name: str

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return self.function(batches)


@dataclass(frozen=True)
class _Run:
    """What a worker does with its part of a table: the work on each block, results pickled."""

    work: Broadcast[bytes]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        work: Work = pickle.loads(self.work.value)
        for block, record in read_records(batches):
            found = _attempt(work, record)
            data = pickle.dumps(found, protocol=5)
            yield pa.record_batch(
                {"block": pa.array([block], pa.int32()), "result": pa.array([data], pa.binary())}
            )


@dataclass(frozen=True)
class _Convert:
    work: Callable[[Record], Record]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for block, record in read_records(batches):
            found = _attempt(self.work, record)
            if isinstance(found, UnskewError):  # raised where the record is asked for
                found = {_ERROR: pa.array([pickle.dumps(found)], pa.binary())}
            yield from write_record(block, found)
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
    pieces: list[bytes] = []
    current: int | None = None
    for batch in batches:
        for block, data in zip(batch.column(0).to_pylist(), batch.column(2), strict=True):
            if current is not None and block != current:
                yield current, _unpack(current, pieces)
                pieces = []
            current = block
            pieces.append(data.as_buffer())
    if current is not None:
        yield current, _unpack(current, pieces)


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
