"""Reading a log: find the source and its columns, then have `unskew.reading.encoder` do the work."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from unskew.checks import public
from unskew.data.log import Log
from unskew.data.saved_log import is_saved_log
from unskew.data.times import check_time_unit
from unskew.engines.population import FilesOnSpark, is_spark_table, refuse_on_spark
from unskew.errors import InputError, ReadingNotice, option, warn
from unskew.progress import progress
from unskew.reading.column_guesses import DEFAULT_NAMES, choose_columns, require_column
from unskew.reading.column_times import TimeReading
from unskew.reading.connection import reading_limits, refuse_limits_on_spark
from unskew.reading.encoder import encode_log
from unskew.reading.input_files import EXAMPLE, FileOptions, locate_example
from unskew.reading.sources import Source, open_source
from unskew.reading.typed_rows import TypedRows


@public
def read_log(
    source: Any,
    user: str | int | None = None,
    item: str | int | None = None,
    time: str | int | None = None,
    *,
    removed: str | int | None = None,
    exposed: str | int | None = None,
    columns: Sequence[str] = (),
    labels: Sequence[str] = (),
    time_unit: str | None = None,
    drop_nulls: bool = False,
    repeats: bool = False,
    format: str | None = None,
    sep: str | None = None,
    header: bool | None = None,
    column_names: Sequence[str] | None = None,
    encoding: str | None = None,
    quote: str | None = None,
    table: str | None = None,
    query: str | None = None,
    time_format: str | None = None,
    memory_limit: str | None = None,
    temp_dir: str | Path | None = None,
) -> Log:
    """Read who took which item when.

    Parameters
    ----------
    source
        A path or glob of Parquet, CSV or similar text, JSON lines, Arrow, Excel, SQLite or DuckDB files (text also
        packed: .gz, .zst, .bz2, .xz, .zip), a folder of files of one format, ``"-"`` for standard input, a list of
        these; an ``s3://``, ``gs://``, ``abfss://`` or ``https://`` address of such files; the address of a
        database, with a `query`; a file written by `Log.save`; a pandas, polars, pyarrow or DuckDB table (anything
        that narwhals knows); a dataset, a reader or any other stream of Arrow; or a dict of columns.
    user, item, time
        The names of the columns; by default ``user``, ``item``, and ``time`` or ``timestamp``, or a usual name
        such as ``user_id``, which a `ReadingNotice` says. A number, from 1, is a place; columns of a file without
        a header have no other names.
    removed
        Column with the time at which the item left the profile again (null: it is still there).
    exposed
        Column that is true where the row followed a recommendation or a promotion (null: it did not).
    columns
        Further columns of numbers to keep, for P(u) or P(i|u).
    labels
        Further columns to keep as texts, to split scores by.
    time_unit
        ``s``, ``ms``, ``us``, ``ns`` or ``day``: read integers as time since 1970, so that dates work.
    drop_nulls
        Drop rows with a null user, item or time (and say how many) instead of refusing them.
    repeats
        Keep the later rows of a user and an item too. They count only in a view of the log that drops the first:
        the pair then counts from the next. With `exposed` they are kept in any case.
    format, sep, header, column_names, encoding, quote, table
        How to read a file that does not say so itself, or says it wrongly; see `FileOptions`. What is not given is
        found out from the file, and a `ReadingNotice` says what was taken where that is not clear.
    query
        What to read from a database, in SQL: ``"select user_id, item_id, created_at from events"``.
    time_format
        How times are written, in the codes of ``strftime``: ``"%d/%m/%Y %H:%M"``.
    memory_limit
        Memory for reading, the log included, before rows are written to disk, such as ``4GB``; a log that needs
        more is refused. By default ``UNSKEW_MEMORY_LIMIT``, else four fifths of the memory of the machine.
    temp_dir
        The folder for what does not fit; by default ``UNSKEW_TEMP_DIR``, else that of the system. Neither is for a
        Spark table, whose workers have limits of their own.

    Notes
    -----
    A repeated (user, item) counts once, at its earliest time. With `removed`, the stays of an item in a
    profile that overlap are joined, and it may come back later. Ids keep their type, but decimal numbers that
    are all whole become integers; ids in text files are integers if every one of them is written as one ("7" or
    "7.0", but not "007").

    Examples
    --------
    >>> import unskew as us
    >>> table = {"member": ["ann", "ann", "bob"], "skill": ["sql", "go", "sql"], "day": [1, 5, 3]}
    >>> us.read_log(table, user="member", item="skill", time="day")
    Log(2 users, 2 items, 3 interactions from 1 to 5)
    """
    check_time_unit(time_unit)
    columns = [columns] if isinstance(columns, str) else list(columns)
    labels = [labels] if isinstance(labels, str) else list(labels)
    options = FileOptions.of(
        format=format,
        sep=sep,
        header=header,
        column_names=column_names,
        encoding=encoding,
        quote=quote,
        table=table,
    )
    if isinstance(source, str | Path) and is_saved_log(Path(source)):
        roles = {"user": user, "item": item, "time": time, "removed": removed, "exposed": exposed}
        _refuse_options(**roles, time_unit=time_unit, time_format=time_format, query=query, **options.explicit())
        log = Log.load(source)
        for name in columns:
            log.column(name)
        for name in labels:
            log.label(name)
        return log
    if is_spark_table(source) or isinstance(source, FilesOnSpark):
        refuse_limits_on_spark(memory_limit, temp_dir)
        refuse_on_spark(removed=removed, labels=labels, time_format=time_format, query=query, **options.explicit())
        from unskew.engines.spark.layout import read_spark_log

        log_on_spark = read_spark_log(
            source,
            {"user": user, "item": item, "time": time},
            exposed=exposed,
            columns=columns,
            time_unit=time_unit,
            drop_nulls=drop_nulls,
            repeats=repeats,
        )
        return cast(Log, log_on_spark)  # which answers what a log answers
    requested = [user, item, time, removed, exposed, *columns, *labels]
    options = options.expect(*requested, *(name for names in DEFAULT_NAMES.values() for name in names))
    with open_source(source, options, query=query, limits=reading_limits(memory_limit, temp_dir)) as opened:
        table_of_log = opened
        progress().stage(f"reading {table_of_log.name}")
        for column in dict.fromkeys(requested):
            if isinstance(column, str) and table_of_log.is_in_folders(column):
                table_of_log = table_of_log.with_folders(column)
        names, guessed = choose_columns(table_of_log, {"user": user, "item": item, "time": time})
        give_notice(table_of_log, guessed)
        removed, exposed = (
            None if name is None else require_column(table_of_log, name, role)
            for role, name in (("removed", removed), ("exposed", exposed))
        )
        extra = tuple(dict.fromkeys(require_column(table_of_log, name, "columns") for name in columns))
        texts = tuple(dict.fromkeys(require_column(table_of_log, name, "labels") for name in labels))
        more = [name for name in (removed, exposed) if name is not None]
        narrow = table_of_log.narrow(
            list(dict.fromkeys([names.user, names.item, names.time, *more, *extra, *texts]))
        )
        times = TimeReading(time_unit, time_format)
        rows = TypedRows(narrow, names, removed, exposed, extra, texts, times, drop_nulls, repeats)
        return encode_log(rows)


def example_log() -> Log:
    """The built-in log: 4 000 users, 2 867 items, 500 days, a recommender that is switched on on 2024-03-01.

    It is simulated. ``read_log("example")`` and ``unskew evaluate example`` read the same log, and
    ``"example-exposures"``, wherever exposures are read, is who was shown what when. A file in the working
    directory that has one of these names is read instead.

    Examples
    --------
    >>> import unskew as us
    >>> us.example_log()
    Log(4000 users, 2867 items, 26606 interactions from 2023-04-16 to 2024-08-28)
    """
    return replace(read_log(locate_example(EXAMPLE), repeats=True), source=EXAMPLE)


def give_notice(source: Source, more: str = "") -> None:
    """Say what the files were taken for, if they do not make that clear by themselves."""
    if source.read_as or more:
        warn("; ".join(part for part in (source.read_as, more) if part), ReadingNotice)


def _refuse_options(**options: Any) -> None:
    refused = [option(name) for name, value in options.items() if value is not None]
    if refused:
        raise InputError("a saved log has its columns already", remedy=f"leave out {', '.join(refused)}")
