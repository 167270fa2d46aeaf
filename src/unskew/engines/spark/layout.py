"""From rows of a Spark table to a log on the cluster: fold repeats, number the ids, and lay out blocks of users.

The rules are those of `unskew.reading.encoder`: a user and an item count once, at the earliest time; users are
numbered largest first, items most frequent first, ties by id. Spark moves each row twice: to the other rows of its
user, and to its block. What a block is made of is in `unskew.engines.spark.blocks`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from itertools import groupby, pairwise
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from unskew.arrays.profiles import cut_users
from unskew.data.columns import Columns, Reading
from unskew.data.ids import Ids
from unskew.engines.population import is_spark_table
from unskew.engines.spark.blocks import BlockForm, BlockRows, BlockTable, LogRule, release, write_record
from unskew.engines.spark.jobs import create_table, map_in_arrow, run_job
from unskew.engines.spark.log import SparkLog
from unskew.engines.spark.tables import (
    WHOLE_NUMBERS,
    SparkFiles,
    SparkRows,
    count_known,
    describe_table,
    mark_rows,
    open_parquet,
    read_spark_rows,
    require_one_type,
)
from unskew.errors import EngineError, InputError, option
from unskew.frames import join_chunks
from unskew.progress import progress
from unskew.reading.column_guesses import choose_alike, choose_columns, require_column
from unskew.reading.sources import names_files

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

LARGEST_BLOCK = 2**24
"""Entries of a block beyond which a log is cut into more blocks than one machine would make."""

EVENTS_A_PARTITION = 2_000_000
"""Events of a partition, at most, while the rows of each user are brought together: about 100 MB."""

_BROADCAST = 2_000_000  # items up to which every worker gets all their codes
_LOW_BITS = 2**33 - 1  # of Spark's increasing ids: the row within a partition


def read_spark_log(
    table: Any,
    named: dict[str, str | int | None],
    *,
    exposed: str | int | None = None,
    columns: Sequence[str | int] = (),
    repeats: bool = False,
    **options: Any,
) -> SparkLog:
    """The log of a Spark table or of files for one, which stays on the cluster."""
    if isinstance(table, SparkFiles):
        asked = {role: [name] for role, name in named.items()}
        frame, source = table.read({**asked, "exposed": [exposed], "columns": columns})
    else:
        frame, source = table, describe_table(table)
    names, _ = choose_columns(source, named)
    exposed = None if exposed is None else require_column(source, exposed, "exposed")
    extra = tuple(dict.fromkeys(require_column(source, name, "columns") for name in columns))
    require_one_type(source, [*asdict(names).values(), *([exposed] if exposed else []), *extra])
    rows = read_spark_rows(frame, names, exposed=exposed, extra=extra, source=source.name, **options)
    return lay_out_log(rows, repeats=repeats)


def mark_exposed_on_spark(
    log: SparkLog, exposures: Any, within: float | None, judge: Callable[[int, int, str], None]
) -> SparkLog:
    """The log with marks, laid out anew; `judge` refuses exposures of which it has too few users and items."""
    rows: SparkRows = log.rows
    shown = exposures if isinstance(exposures, SparkRows) else _read_exposures(log, exposures)
    marked = mark_rows(rows, shown, within)
    judge(*count_known(rows, shown), shown.source)
    return lay_out_log(marked, repeats=True)


def _read_exposures(log: SparkLog, exposures: Any) -> SparkRows:
    if is_spark_table(exposures):
        source = "the table of exposures"
        names = choose_alike(exposures.columns, source, log.columns, "exposures")
        return _read_shown(log, exposures, names, source)
    if names_files(exposures):
        return open_exposures(log, [exposures] if isinstance(exposures, str | Path) else list(exposures), {})
    raise InputError(
        f"{option('exposures')} is a {type(exposures).__name__}",
        remedy="give a Spark table or Parquet files, as for the log",
    )


def open_exposures(
    log: SparkLog, paths: Sequence[str | Path], names: Mapping[str, str], *, drop_nulls: bool = False
) -> SparkRows:
    """The rows of Parquet files with exposures; `names` says which of their columns is what, or is empty."""
    files = open_parquet(paths, log.rows.frame.sparkSession)
    frame, source = files.read({role: [name] for role, name in names.items()})
    if names:
        chosen, _ = choose_columns(source, {role: names.get(role) for role in asdict(log.columns)})
    else:
        chosen = choose_alike(source.columns, source.name, log.columns, "exposures")
    require_one_type(source, list(asdict(chosen).values()))
    return _read_shown(log, frame, chosen, source.name, drop_nulls=drop_nulls)


def _read_shown(log: SparkLog, frame: Any, names: Columns, source: str, *, drop_nulls: bool = False) -> SparkRows:
    """The rows of a table; whole numbers are times as those of the log."""
    is_whole = frame.schema[names.time].dataType.simpleString() in WHOLE_NUMBERS
    unit = log.axis.unit if log.axis.kind == "epoch" and is_whole else None
    return read_spark_rows(frame, names, time_unit=unit, drop_nulls=drop_nulls, source=source)


def lay_out_log(rows: SparkRows, *, repeats: bool) -> SparkLog:
    """The log of these rows; those that repeat others are kept with `repeats`, and where some are marked."""
    return Layout(rows, repeats or rows.marked).log()


@dataclass(eq=False)
class Layout:
    """The steps from rows to blocks; what one needs of another stays on the cluster until the last is done."""

    rows: SparkRows
    repeats: bool
    kept: list[DataFrame] = field(default_factory=list)

    def log(self) -> SparkLog:
        progress().stage("encoding and sorting on Spark")
        try:
            folded = self._keep(self._fold())
            counted = folded.where("not again") if self.repeats else folded
            items, item_codes = self._number_items(counted)
            users, edges, entries = self._number_users(counted, len(items))
            blocks = self.lay_out(folded, users, item_codes, edges)
            rows = self.rows
            reading = Reading(rows.total, rows.total - rows.dropped - entries, rows.dropped)
            form = BlockForm(rows.axis, rows.names, len(items), reading)
            log = SparkLog(
                blocks=blocks,
                rule=LogRule(form),
                items=items,
                axis=rows.axis,
                columns=rows.names,
                reading=reading,
                source=rows.source,
                exposed=rows.marked or None,
                repeats=self.repeats or None,
                rows=rows,
            )
            return replace(log, measured=log.sizes)  # makes the blocks, which need all that is kept here
        finally:
            for frame in self.kept:
                release(frame)

    def _keep(self, frame: DataFrame) -> DataFrame:
        from pyspark import StorageLevel

        kept = frame.persist(StorageLevel.MEMORY_AND_DISK)
        self.kept.append(kept)
        return kept

    def _collect(self, frame: DataFrame, purpose: str) -> pa.Table:
        return run_job(frame.sparkSession, purpose, frame.toArrow)

    def _fold(self) -> DataFrame:
        """One row for each user and item, at the earliest time; those that repeat it marked ``again``, if kept.

        Each user's rows come together here, and every later step by user finds them together.
        """
        from pyspark.sql import Window
        from pyspark.sql import functions as F  # noqa: N812

        by_user = self._bring_together()
        numbers = self.rows.numbers
        if not self.repeats:
            first = [F.min(F.struct("t", c))[c].alias(c) for c in numbers]
            return by_user.groupBy("u", "i").agg(F.min("t").alias("t"), *first)
        alike = ["u", "i", "t", *("x" * self.rows.marked)]
        pair = Window.partitionBy("u", "i")
        folded = by_user.select(
            *alike, *(F.min(F.struct("t", c)).over(pair)[c].alias(f"first_{c}") for c in numbers), *numbers
        )
        least = [F.min(c).alias(c) for c in (*numbers, *(f"first_{c}" for c in numbers))]
        folded = folded.groupBy(*alike).agg(*least) if least else folded.distinct()
        again = F.row_number().over(pair.orderBy(*alike[2:])) > 1
        folded = folded.withColumn("again", again)
        chosen = [F.when(F.col("again"), F.col(c)).otherwise(F.col(f"first_{c}")).alias(c) for c in numbers]
        return folded.select(*alike, "again", *chosen)

    def _bring_together(self) -> DataFrame:
        """The rows of each user in one partition: in as many as the session says, or more for a large log."""
        rows = self.rows.frame
        needed = math.ceil(self.rows.total / EVENTS_A_PARTITION)
        if needed <= int(rows.sparkSession.conf.get("spark.sql.shuffle.partitions") or 0):
            return rows.repartition("u")
        return rows.repartition(needed, "u")

    def _number_items(self, counted: DataFrame) -> tuple[Ids, DataFrame]:
        """The items, most frequent first, on this machine; and their codes for the cluster."""
        from pyspark.sql import functions as F  # noqa: N812

        table = self._collect(counted.groupBy("i").agg(F.count("*").alias("n")), "counting items")
        table = table.sort_by([("n", "descending"), ("i", "ascending")])
        values = join_chunks(table.column("i"))
        codes = pa.table({"i": values, "code": np.arange(len(values), dtype=np.int32)})
        frame = create_table(counted.sparkSession, codes)
        return Ids(values, values.type), F.broadcast(frame) if len(values) <= _BROADCAST else frame

    def _number_users(self, counted: DataFrame, n_items: int) -> tuple[DataFrame, npt.NDArray[np.int64], int]:
        """The users with their place in the order and their block; where the blocks begin; how many rows there
        are.
        """
        from pyspark.sql import functions as F  # noqa: N812

        users = self._keep(counted.groupBy("u").agg(F.count("*").alias("n")))
        sizes = self._collect(users.groupBy("n").agg(F.count("*").alias("users")), "counting users")
        sizes = sizes.sort_by([("n", "descending")])
        n, times = (sizes.column(name).to_numpy().astype(np.int64) for name in ("n", "users"))
        entries = int((n * times).sum())
        edges = cut_users(n, n_items, repeated=times, blocks=self._count_blocks(entries))
        ordered = users.orderBy(F.desc("n"), F.asc("u")).withColumn("id", F.monotonically_increasing_id())
        ordered = self._keep(ordered)
        parts = ordered.groupBy(F.shiftright("id", 33).alias("part")).agg(F.count("*").alias("n"))
        sizes_of_parts = self._collect(parts, "ordering users").sort_by("part")
        part, held = sizes_of_parts.column("part").to_numpy(), sizes_of_parts.column("n").to_numpy()
        before = np.zeros(int(part.max()) + 1, dtype=np.int64)
        before[part] = np.cumsum(held) - held
        kind = counted.schema["u"].dataType.simpleString()
        placed = map_in_arrow(ordered, partial(_place, before, edges), f"u {kind}, rank bigint, block int")
        return placed, edges, entries

    def _count_blocks(self, entries: int) -> int | None:
        """Into how many blocks to cut, if not as on one machine."""
        wish = self.rows.frame.sparkSession.conf.get("spark.unskew.blocks", "")
        if wish:
            if not wish.isdigit() or int(wish) < 1:
                raise EngineError(f"spark.unskew.blocks is {wish!r}", remedy="make it a whole number from 1 on")
            return int(wish)
        return None if entries <= 32 * LARGEST_BLOCK else math.ceil(entries / LARGEST_BLOCK)

    def lay_out(
        self, folded: DataFrame, users: DataFrame, items: DataFrame, edges: npt.NDArray[np.int64]
    ) -> BlockTable:
        from pyspark.sql import functions as F  # noqa: N812

        others = ["t", *("x" * self.rows.marked), *self.rows.numbers, *(["again"] if self.repeats else [])]
        rows = folded.join(users, "u").join(items, "i").select("block", "rank", "code", *others)
        # users as rows of their own: their ids need not travel with every interaction
        nothing = [F.lit(None).cast(folded.schema[name].dataType).alias(name) for name in others]
        names = users.select("block", "rank", F.lit(None).cast("int").alias("code"), *nothing, "u")
        none = F.lit(None).cast(users.schema["u"].dataType).alias("u")
        together = rows.select("*", none).unionByName(names)
        blocks = len(edges) - 1
        spread = together.repartitionById(blocks, F.col("block")).sortWithinPartitions("block")
        build = partial(_build_blocks, edges, self.rows.extra, self.rows.marked, self.repeats)
        return BlockTable.make(spread, build, blocks)


def _place(
    before: npt.NDArray[np.int64], edges: npt.NDArray[np.int64], batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """The place of each user in the order of all, from its row in an ordered partition, and its block."""
    for batch in batches:
        number = batch.column("id").to_numpy()
        rank = before[number >> 33] + (number & _LOW_BITS)
        block = np.searchsorted(edges, rank, side="right") - 1
        yield pa.record_batch([batch.column("u"), rank, block.astype(np.int32)], names=["u", "rank", "block"])


def _build_blocks(
    edges: npt.NDArray[np.int64],
    extra: tuple[str, ...],
    marked: bool,
    repeats: bool,
    batches: Iterable[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    """The records of blocks from their rows, which come sorted by block."""
    for block, runs in groupby(_cut_at_blocks(batches), key=itemgetter(0)):
        table = pa.Table.from_batches([run for _, run in runs])
        is_user = table.column("code").is_null()
        names, rows = table.filter(is_user).sort_by("rank"), table.filter(pa.compute.invert(is_user))
        array = {name: rows.column(name).to_numpy() for name in rows.column_names if name != "u"}
        block_rows = BlockRows(
            user=array["rank"] - edges[block],
            item=array["code"].astype(np.uint32),
            time=array["t"],
            exposed=array["x"].astype(np.bool_) if marked else None,
            extra={name: array[f"c{k}"] for k, name in enumerate(extra)},
            again=array["again"].astype(np.bool_) if repeats else None,
        )
        yield from write_record(block, block_rows.record(join_chunks(names.column("u"))))


def _cut_at_blocks(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[int, pa.RecordBatch]]:
    for batch in batches:
        block = batch.column("block").to_numpy()
        cuts = np.concatenate([[0], np.flatnonzero(np.diff(block)) + 1, [len(block)]])
        for first, end in pairwise(cuts if len(block) else ()):
            yield int(block[first]), batch.slice(first, end - first)
