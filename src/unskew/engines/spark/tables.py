"""Tables for Spark: Parquet files that are looked into before Spark reads them, and rows as ids, ticks and marks.

Spark by itself leaves out files in folders within a folder and files whose names begin with ``_`` or ``.``, and
takes the columns of one file for those of all: what another lacks would be null. Here the files are those that are
read on one machine, and what they lack is refused in the same words. Of files of the cluster's own file system
(``hdfs://...``) nothing is known before. The rules for rows are those of `unskew.reading.column_types`, by the
types of columns: no text is taken for a time.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import pyarrow as pa
from pyarrow import parquet

from unskew.data.columns import Columns
from unskew.data.ids import are_comparable, kind_of
from unskew.data.times import TimeAxis
from unskew.engines.population import FilesOnSpark
from unskew.engines.spark.jobs import create_table, run_job
from unskew.errors import ColumnError, EmptyError, EngineError, InputError, TimeError, option
from unskew.progress import progress
from unskew.reading.formats import PARQUET, find_format
from unskew.reading.sources import STDIN_NAME, Part, Source, find_files, open_source
from unskew.text import count

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession


_UNREAD = re.compile(r"[_.].*|.*:.*|.*\._COPYING_")  # names of files that Spark leaves out or cannot read
_GLOB_SIGNS = re.compile(r"([\\{}\[\]*?])")
_PATH = "the path of the file"  # a column for a moment


@dataclass(frozen=True, eq=False)
class SparkFiles(FilesOnSpark):
    """Parquet files that a session is to read."""

    session: SparkSession
    paths: tuple[str, ...]  # as Spark takes them
    parts: tuple[Part, ...]  # what is known of each: of those of another machine no more than their names
    # The files of this machine, each where `paths` has it; none if they are on another.
    places: tuple[Path, ...] = ()

    @property
    def name(self) -> str:
        """How to speak of them."""
        return _describe(self.parts, ()).name

    def read(self, asked: Mapping[str, Sequence[object]]) -> tuple[DataFrame, Source]:
        """A table of them, and what is known of it.

        Of columns that folders tell it has those that are asked for, by their roles.
        """
        frame = run_job(self.session, f"reading {self.name}", lambda: self.session.read.parquet(*self.paths))
        here = [name for part in self.parts for name in part.kinds]
        known = replace(_describe(self.parts, here or frame.columns), frame=frame)
        kinds: dict[str, str] = {}
        for role, name in ((role, name) for role, names in asked.items() for name in names):
            if isinstance(name, str) and known.is_in_folders(name):
                known = known.with_folders(name)
                kinds[name] = known.parts[0].kinds[name] if role in ("user", "item") else ""
        return self._add_folder_columns(frame, kinds) if kinds else frame, known

    def _add_folder_columns(self, frame: DataFrame, kinds: Mapping[str, str]) -> DataFrame:
        """The table with columns that the names of folders tell: what they are called, and of ids their kind.

        Spark's own way takes them before columns of the same name, and for other values: ``02`` for 2, and
        ``%C3%AB`` for two letters.
        """
        from pyspark.sql import functions as F  # noqa: N812

        folders = {
            os.path.normpath(place): part.folders for place, part in zip(self.places, self.parts, strict=True)
        }
        files = [_strip(file) for file in frame.inputFiles()]
        tags = [folders[unquote(file)] for file in files]
        columns = {
            name: _read_folder_names([tag[name] for tag in tags], name, kind) for name, kind in kinds.items()
        }
        table = create_table(self.session, pa.table({_PATH: files, **columns}))
        path = F.regexp_replace(F.col("_metadata.file_path"), "^file:/+", "/")
        return frame.withColumn(_PATH, path).join(F.broadcast(table), _PATH).drop(_PATH)


def _strip(path: str) -> str:
    return re.sub("^file:/+", "/", path)


def _read_folder_names(texts: Sequence[str], name: str, kind: str) -> pa.Array:
    """What names of folders say: as ids what one machine takes them for (`kind`), and all else must be clear."""
    if kind:
        return pa.array(list(map(int, texts)) if kind == "BIGINT" else texts)
    if all(re.fullmatch("-?[0-9]{1,18}", text) for text in texts):
        return pa.array(list(map(int, texts)))
    if all(re.fullmatch(r"-?[0-9]+\.[0-9]*", text) for text in texts):
        return pa.array(list(map(float, texts)))
    if all(text.lower() in ("true", "false") for text in texts):
        return pa.array([text.lower() == "true" for text in texts])
    try:
        return pa.array([date.fromisoformat(text) for text in texts])
    except ValueError:
        raise EngineError(
            f"on Spark, folders tell whole numbers, decimal numbers or dates, and {name!r} is {texts[0]!r}",
            remedy="write it into the files",
        ) from None


def describe_table(frame: DataFrame) -> Source:
    """What is known of a Spark table: no more than what its columns are called."""
    return replace(_describe([Part("the Spark table", "")], frame.columns), frame=frame)


def _describe(parts: Sequence[Part], columns: Sequence[str]) -> Source:
    nowhere: Any = None  # there is no DuckDB in it
    return Source(nowhere, "", tuple(parts), tuple(dict.fromkeys(columns)))


def open_parquet(paths: Sequence[str | Path], session: SparkSession) -> SparkFiles:
    """Parquet files; paths are of this machine or, as ``hdfs://...``, of a file system of the cluster."""
    remote = [str(path) for path in paths if "://" in str(path)]
    if remote:
        local = [str(path) for path in paths if "://" not in str(path)]
        if local:
            raise EngineError(
                f"{remote[0]} is on the cluster and {local[0]} is not", remedy="read one or the other"
            )
        return SparkFiles(session, tuple(remote), parts=tuple(Part(path, "") for path in remote))
    files = find_files(list(paths))
    for file in files:
        if file.name == STDIN_NAME or find_format(file) is not PARQUET:
            raise EngineError(
                f"on Spark only Parquet files are read, not {file.name}",
                remedy="convert it, or give read_log a Spark table of it",
            )
        if _UNREAD.fullmatch(file.path.name):
            raise EngineError(
                "Spark does not read files whose names begin with _ or ., end in ._COPYING_ or have a colon, such "
                f"as {file.name}",
                remedy="rename it, or name the others",
            )
    with open_source([file.path for file in files]) as source:
        parts = source.parts
    for file, part in zip(files, parts, strict=True):
        _refuse_nanoseconds(file.path, part)
    places = tuple(file.path.absolute() for file in files)
    literal = tuple("file://" + _GLOB_SIGNS.sub(r"\\\1", str(place)) for place in places)
    return SparkFiles(session, literal, parts, places)


def _refuse_nanoseconds(path: Path, part: Part) -> None:
    """Refuse what Spark does not read. What it writes itself (INT96) looks the same to Arrow, and is no fault."""
    schema = part.schema or pa.schema([])
    fields = [column.name for column in schema if pa.types.is_timestamp(column.type) and column.type.unit == "ns"]
    if not fields:
        return
    columns = parquet.ParquetFile(path).schema
    kinds = {columns.column(k).path: columns.column(k).physical_type for k in range(len(columns))}
    for name in fields:
        if kinds.get(name) == "INT64":
            raise EngineError(
                f"column {name!r} of {part.name} holds timestamps in nanoseconds, which Spark does not read",
                remedy="write them in microseconds",
            )


def require_one_type(source: Source, names: Sequence[str]) -> None:
    """Refuse columns of different types in different files, which Spark reads as those of one of them."""
    for name in names:
        types: dict[str, str] = {}
        for part in source.parts:
            if part.schema is not None and name in part.schema.names:
                types.setdefault(_name_type(part.schema.field(name).type), part.name)
        if len(types) > 1:
            listing = " and ".join(f"{kind} in {file}" for kind, file in types.items())
            raise ColumnError(f"column {name!r} holds {listing}", remedy="on Spark, make them one type")


def _name_type(kind: pa.DataType) -> str:
    """The type as Parquet has it, where Arrow has several for one."""
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return "text" if kind_of(kind) == "text" else str(kind)


WHOLE_NUMBERS = "tinyint", "smallint", "int", "bigint"
"""What Spark calls their types."""


@dataclass(frozen=True, eq=False)
class SparkRows:
    """Rows of a Spark table with a user ``u``, an item ``i``, a tick ``t``, maybe a mark ``x`` and numbers
    ``c0``...
    """

    frame: DataFrame  # the rows, none of which lacks a user, an item or a tick
    # What the ticks mean, and where they came from.
    axis: TimeAxis
    names: Columns
    source: str
    extra: tuple[str, ...] = ()  # the names of the columns ``c0`` and so on
    # How many rows there were, and how many lacked something.
    total: int = 0
    dropped: int = 0
    marked: bool = False  # whether there is an ``x``

    @property
    def numbers(self) -> list[str]:
        """The short names of the further columns."""
        return [f"c{k}" for k in range(len(self.extra))]


def read_spark_rows(
    frame: DataFrame,
    names: Columns,
    *,
    exposed: str | None = None,
    extra: tuple[str, ...] = (),
    time_unit: str | None = None,
    drop_nulls: bool = False,
    source: str = "the Spark table",
) -> SparkRows:
    """The rows of a Spark table, checked: ids as they are, times as ticks."""
    from pyspark.sql import functions as F  # noqa: N812

    if "connect" in type(frame).__module__:
        raise EngineError(
            "a table of Spark Connect cannot be read", remedy="use a session with a master, not a remote"
        )
    tick, axis = _read_times(frame, names.time, time_unit)
    chosen = [_read_id(frame, names.user).alias("u"), _read_id(frame, names.item).alias("i"), tick.alias("t")]
    if exposed is not None:
        chosen.append(_read_flags(frame, exposed).alias("x"))
    chosen += [_read_numbers(frame, name).alias(f"c{k}") for k, name in enumerate(extra)]
    typed = frame.select(*chosen)
    missing = [F.col(c).isNull() for c in "uit"]
    anything = reduce(lambda left, right: left | right, missing)
    decimals = [
        c for c in "ui" if typed.schema[c].dataType.simpleString().startswith(("float", "double", "decimal"))
    ]
    broken = [F.count_if((F.col(c) != F.rint(c)) | (F.abs(c) > 2**53)) for c in decimals]
    figures = typed.agg(
        F.count("*"),
        F.count_if(anything),
        *(F.count_if(test) for test in missing),
        F.min("t"),
        F.max("t"),
        *broken,
    )
    progress().stage(f"reading {source} on Spark")
    [row] = run_job(frame.sparkSession, f"reading {source}", figures.collect)
    total, dropped, *each, first, last = row[: len(row) - len(decimals)]
    for c, n in zip(decimals, row[len(row) - len(decimals) :], strict=True):
        typed = typed if n else typed.withColumn(c, F.col(c).cast("bigint"))
    if total == 0:
        raise EmptyError(f"{source} has no rows")
    for name, n in zip((names.user, names.item, names.time), each, strict=True):
        if n and not drop_nulls:
            raise ColumnError(
                f"column {name!r} has {count(n, 'null value')} in {source}",
                remedy=f"fill them in, or drop these rows with {option('drop_nulls', True)}",
            )
    if dropped == total:
        raise EmptyError(
            f"nothing is left: every row of {source} has a null user, item or time",
            remedy="check which columns are read",
        )
    _check_calendar(axis, names.time, (first, last), time_unit)
    good = typed.where(~anything) if dropped else typed
    return SparkRows(good, axis, names, source, extra, total, dropped, exposed is not None)


def mark_rows(rows: SparkRows, shown: SparkRows, within: float | None) -> SparkRows:
    """The rows with a mark at each that followed an exposure of the same user to the same item."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F  # noqa: N812
    from pyspark.sql.pandas.types import to_arrow_type

    for short, role in (("u", "user"), ("i", "item")):
        log_type, shown_type = (to_arrow_type(table.frame.schema[short].dataType) for table in (rows, shown))
        if not are_comparable(shown_type, log_type):
            raise InputError(
                f"the {role}s of {shown.source} are {kind_of(shown_type)}, those of the log {kind_of(log_type)}",
                remedy="make them the same type",
            )
    if rows.axis != shown.axis and not (rows.axis.kind == "epoch" and shown.axis.kind == "integer"):
        raise TimeError(
            f"the times of {shown.source} and of the log differ in kind", remedy="make them the same type"
        )
    numbers, ticks = [F.lit(None).cast("double").alias(c) for c in rows.numbers], rows.frame.schema["t"].dataType
    seen = shown.frame.select("u", "i", "t", *numbers, F.lit(0).alias("is_row"), F.col("t").alias("shown"))
    interactions = rows.frame.select("*", F.lit(1).alias("is_row"), F.lit(None).cast(ticks).alias("shown"))
    before = Window.partitionBy("u", "i").orderBy("t", "is_row").rowsBetween(Window.unboundedPreceding, 0)
    latest = F.max("shown").over(before)
    follows = latest.isNotNull() if within is None else F.coalesce(F.col("t") - latest < within, F.lit(False))
    both = interactions.unionByName(seen).withColumn("x", follows).where("is_row = 1")
    return replace(rows, frame=both.select("u", "i", "t", "x", *rows.numbers), marked=True)


def count_known(rows: SparkRows, shown: SparkRows) -> tuple[int, int]:
    """How many exposures are of a user and an item that some rows have, and how many there are; alike ones count
    once.
    """
    from pyspark.sql import functions as F  # noqa: N812

    exposures = shown.frame.select("u", "i", "t").distinct()
    for short in "ui":
        known = rows.frame.select(F.col(short), F.lit(1).alias(f"{short}_known")).distinct()
        exposures = exposures.join(known, short, "left")
    both = F.col("u_known").isNotNull() & F.col("i_known").isNotNull()
    figures = exposures.agg(F.count_if(both), F.count("*"))
    purpose = f"looking for the users and items of {shown.source}"
    [[known_ones, total]] = run_job(rows.frame.sparkSession, purpose, figures.collect)
    return known_ones, total


def _read_id(frame: DataFrame, name: str) -> Column:
    from pyspark.sql import functions as F  # noqa: N812

    kind, column = frame.schema[name].dataType.simpleString(), frame[quote_column(name)]
    if kind.startswith(("array", "map", "struct", "binary", "variant")):
        raise ColumnError(f"column {name!r} holds {kind}: an id must be one number or one text")
    if kind in ("float", "double"):
        return F.when(F.isnan(column), None).otherwise(column)
    return column.cast("string") if kind.startswith(("varchar", "char")) else column


def _read_times(frame: DataFrame, name: str, unit: str | None) -> tuple[Column, TimeAxis]:
    """Ticks and what they mean; see `unskew.reading.column_types.time_column`."""
    from pyspark.sql import functions as F  # noqa: N812

    kind, column = frame.schema[name].dataType.simpleString(), frame[quote_column(name)]
    if kind in WHOLE_NUMBERS:
        axis = TimeAxis("integer") if unit is None else TimeAxis("epoch", unit, "UTC")
        return column.cast("bigint"), axis
    if unit is not None:
        raise TimeError(
            f"{option('time_unit', unit)} reads whole numbers as time since 1970, but column {name!r} holds "
            f"{kind} values",
            remedy=f"leave out {option('time_unit')}, or cast them to whole numbers",
        )
    if kind in ("float", "double") or kind.startswith("decimal"):
        number = column.cast("double")
        return F.when(F.isnan(number), None).otherwise(number), TimeAxis("float")
    day = F.datediff(column.cast("date"), F.lit("1970-01-01").cast("date")).cast("bigint")
    if kind == "date":
        return day, TimeAxis("date", "day")
    if kind == "timestamp":
        return F.unix_micros(column), TimeAxis("datetime", "us", "UTC")
    if kind == "timestamp_ntz":
        second = (F.extract(F.lit("SECOND"), column) * 1_000_000).cast("bigint")
        ticks = ((day * 24 + F.hour(column)) * 60 + F.minute(column)) * 60_000_000 + second
        return ticks, TimeAxis("datetime", "us")
    raise TimeError(
        f"column {name!r} holds {kind} values: on Spark times must be numbers, dates or timestamps",
        remedy="cast it, as in df.withColumn('time', col('time').cast('timestamp'))",
    )


def _read_flags(frame: DataFrame, name: str) -> Column:
    from pyspark.sql import functions as F  # noqa: N812

    kind, column = frame.schema[name].dataType.simpleString(), frame[quote_column(name)]
    if kind == "boolean":
        return F.coalesce(column, F.lit(False))
    if kind in (*WHOLE_NUMBERS, "float", "double") or kind.startswith("decimal"):
        number = column.cast("double")
        return F.coalesce((number != 0) & ~F.isnan(number), F.lit(False))
    raise ColumnError(f"column {name!r} holds {kind} values: exposed must be true or false")


def _read_numbers(frame: DataFrame, name: str) -> Column:
    from pyspark.sql import functions as F  # noqa: N812

    kind = frame.schema[name].dataType.simpleString()
    if kind in ("string", "date") or kind.startswith(("timestamp", "array", "map", "struct", "binary")):
        raise ColumnError(f"column {name!r} holds {kind} values: numbers are needed there")
    return F.coalesce(frame[quote_column(name)].cast("double"), F.lit(float("nan")))


def _check_calendar(axis: TimeAxis, name: str, ticks: tuple[Any, ...], unit: str | None) -> None:
    for tick in ticks:
        if tick is not None and isinstance(tick, float) and not math.isfinite(tick):
            raise TimeError(f"column {name!r} holds infinite times", remedy="remove those rows")
        try:
            axis.show(tick)
        except OverflowError:
            raise TimeError(
                f"column {name!r} holds {tick}, which is beyond the years 1 to 9999",
                remedy=f"is {option('time_unit', unit)} right?" if unit else "are these dates?",
            ) from None


def quote_column(name: str) -> str:
    """The name of a column as Spark takes it, whatever signs it has."""
    return f"`{name.replace('`', '``')}`"
