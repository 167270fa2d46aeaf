"""The rows of a Spark table: its columns as ids, ticks, marks and numbers, checked, and exposures marked in them.

The rules are those of `unskew.reading.column_types`, by the types of columns: no text is taken for a time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING, Any

from unskew.data.columns import Columns
from unskew.data.ids import are_comparable, kind_of
from unskew.data.times import TimeAxis
from unskew.engines.spark_jobs import run_job
from unskew.errors import ColumnError, EmptyError, EngineError, InputError, TimeError, option
from unskew.progress import progress
from unskew.text import count

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


WHOLE_NUMBERS = "tinyint", "smallint", "int", "bigint"
"""What Spark calls their types."""


@dataclass(frozen=True, eq=False)
class SparkRows:
    """Rows of a Spark table with a user ``u``, an item ``i``, a tick ``t``, maybe a mark ``x`` and numbers
    ``c0``...

    Attributes
    ----------
    frame
        The rows, none of which lacks a user, an item or a tick.
    axis, names, source
        What the ticks mean, and where they came from.
    extra
        The names of the columns ``c0`` and so on.
    total, dropped
        How many rows there were, and how many lacked something.
    marked
        Whether there is an ``x``.
    """

    frame: DataFrame
    axis: TimeAxis
    names: Columns
    source: str
    extra: tuple[str, ...] = ()
    total: int = 0
    dropped: int = 0
    marked: bool = False

    @property
    def numbers(self) -> list[str]:
        """The short names of the further columns."""
        return [f"c{k}" for k in range(len(self.extra))]


def is_spark_table(source: Any) -> bool:
    """Whether this is a Spark DataFrame; Spark is not loaded to find out."""
    kind = type(source)
    return kind.__name__ == "DataFrame" and kind.__module__.split(".")[:2] == ["pyspark", "sql"]


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
    anything = reduce(lambda one, other: one | other, missing)
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
        raise EmptyError(f"nothing is left: every row of {source} has a null user, item or time")
    _check_calendar(axis, names.time, (first, last), time_unit)
    good = typed.where(~anything) if dropped else typed
    return SparkRows(good, axis, names, source, extra, total, dropped, exposed is not None)


def mark_rows(rows: SparkRows, shown: SparkRows, within: float | None) -> SparkRows:
    """The rows with a mark at each that followed an exposure of the same user to the same item."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F  # noqa: N812
    from pyspark.sql.pandas.types import to_arrow_type

    for short, what in (("u", "user"), ("i", "item")):
        ours, theirs = (to_arrow_type(one.frame.schema[short].dataType) for one in (rows, shown))
        if not are_comparable(theirs, ours):
            raise InputError(
                f"the {what}s of {shown.source} are {kind_of(theirs)}, those of the log {kind_of(ours)}",
                remedy="make them the same type",
            )
    if rows.axis != shown.axis and not (rows.axis.kind == "epoch" and shown.axis.kind == "integer"):
        raise TimeError(
            f"the times of {shown.source} and of the log differ in kind", remedy="make them the same type"
        )
    numbers, ticks = [F.lit(None).cast("double").alias(c) for c in rows.numbers], rows.frame.schema["t"].dataType
    seen = shown.frame.select("u", "i", "t", *numbers, F.lit(0).alias("is_row"), F.col("t").alias("shown"))
    mine = rows.frame.select("*", F.lit(1).alias("is_row"), F.lit(None).cast(ticks).alias("shown"))
    before = Window.partitionBy("u", "i").orderBy("t", "is_row").rowsBetween(Window.unboundedPreceding, 0)
    latest = F.max("shown").over(before)
    follows = latest.isNotNull() if within is None else F.coalesce(F.col("t") - latest < within, F.lit(False))
    both = mine.unionByName(seen).withColumn("x", follows).where("is_row = 1")
    return replace(rows, frame=both.select("u", "i", "t", "x", *rows.numbers), marked=True)


def count_known(rows: SparkRows, shown: SparkRows) -> tuple[int, int]:
    """How many exposures are of a user and an item that some rows have, and how many there are; alike ones count
    once.
    """
    from pyspark.sql import functions as F  # noqa: N812

    found = shown.frame.select("u", "i", "t").distinct()
    for short in "ui":
        known = rows.frame.select(F.col(short), F.lit(1).alias(f"{short}_known")).distinct()
        found = found.join(known, short, "left")
    both = F.col("u_known").isNotNull() & F.col("i_known").isNotNull()
    figures = found.agg(F.count_if(both), F.count("*"))
    what = f"looking for the users and items of {shown.source}"
    [[known_ones, total]] = run_job(rows.frame.sparkSession, what, figures.collect)
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
