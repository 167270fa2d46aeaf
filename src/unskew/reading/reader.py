"""Reading a log: find the source and its columns, then have `unskew.reading.encoder` do the work."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from unskew.data.columns import Columns
from unskew.data.log import Log
from unskew.data.saved_log import is_saved_log
from unskew.data.times import check_time_unit
from unskew.engines.population import FilesThere, is_spark_table, refuse_on_spark
from unskew.errors import ColumnError, InputError, ReadingNotice, missing_column, option
from unskew.progress import progress
from unskew.reading.column_guesses import find_by_words, find_place, guess_by_content
from unskew.reading.column_types import family_of, refuse_twins
from unskew.reading.encoder import encode_log
from unskew.reading.file_options import FileOptions
from unskew.reading.limits import reading_limits, refuse_limits_on_spark
from unskew.reading.sources import Source, open_source
from unskew.reading.time_formats import TimeReading
from unskew.reading.typed_rows import TypedRows
from unskew.text import closest

if TYPE_CHECKING:
    from unskew.engines.spark.log import SparkLog

_DEFAULTS = {"user": ("user",), "item": ("item",), "time": ("time", "timestamp")}


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
        these; a file written by `Log.save`; or a pandas, polars, pyarrow or DuckDB table (anything that narwhals
        knows), or a dict of columns.
    user, item, time
        The names of the columns; by default ``user``, ``item``, and ``time`` or ``timestamp``. A number, from 1,
        is a place; columns of a file without a header have no other names.
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
        given = {"user": user, "item": item, "time": time, "removed": removed, "exposed": exposed}
        _refuse_options(**given, time_unit=time_unit, time_format=time_format, **options.given())
        log = Log.load(source)
        for name in columns:
            log.column(name)
        for name in labels:
            log.label(name)
        return log
    if is_spark_table(source) or isinstance(source, FilesThere):
        refuse_limits_on_spark(memory_limit, temp_dir)
        refuse_on_spark(removed=removed, labels=labels, time_format=time_format, **options.given())
        there: Any = read_spark_log(
            source,
            {"user": user, "item": item, "time": time},
            exposed=exposed,
            columns=columns,
            time_unit=time_unit,
            drop_nulls=drop_nulls,
            repeats=repeats,
        )
        return cast(Log, there)  # which answers what a log answers
    asked = [user, item, time, removed, exposed, *columns, *labels]
    options = options.expect(*asked, *(name for names in _DEFAULTS.values() for name in names))
    with open_source(source, options, limits=reading_limits(memory_limit, temp_dir)) as opened:
        found = opened
        progress().stage(f"reading {found.name}")
        for one in dict.fromkeys(asked):
            if isinstance(one, str) and found.is_in_folders(one):
                found = found.with_folders(one)
        names, guessed = choose_columns(found, {"user": user, "item": item, "time": time})
        give_notice(found, guessed)
        removed, exposed = (
            None if name is None else _require(found, name, role)
            for role, name in (("removed", removed), ("exposed", exposed))
        )
        extra = tuple(dict.fromkeys(_require(found, name, "columns") for name in columns))
        texts = tuple(dict.fromkeys(_require(found, name, "labels") for name in labels))
        more = [name for name in (removed, exposed) if name is not None]
        narrow = found.narrow(list(dict.fromkeys([names.user, names.item, names.time, *more, *extra, *texts])))
        times = TimeReading(time_unit, time_format)
        rows = TypedRows(narrow, names, removed, exposed, extra, texts, times, drop_nulls, repeats)
        return encode_log(rows)


def give_notice(source: Source, more: str = "") -> None:
    """Say what the files were taken for, if they do not make that clear by themselves."""
    if source.said or more:
        warnings.warn("; ".join(part for part in (source.said, more) if part), ReadingNotice, stacklevel=3)


def read_spark_log(
    table: Any,
    given: dict[str, str | int | None],
    *,
    exposed: str | int | None = None,
    columns: Sequence[str | int] = (),
    repeats: bool = False,
    **how: Any,
) -> SparkLog:
    """The log of a Spark table or of files for one, which stays on the cluster."""
    from unskew.engines.spark.layout import lay_out_log
    from unskew.engines.spark.tables import SparkFiles, describe_table, read_spark_rows, require_one_type

    if isinstance(table, SparkFiles):
        asked = {role: [name] for role, name in given.items()}
        frame, source = table.read({**asked, "exposed": [exposed], "columns": columns})
    else:
        frame, source = table, describe_table("the Spark table", table)
    names, _ = choose_columns(source, given)
    exposed = None if exposed is None else _require(source, exposed, "exposed")
    extra = tuple(dict.fromkeys(_require(source, name, "columns") for name in columns))
    require_one_type(source, [*asdict(names).values(), *([exposed] if exposed else []), *extra])
    rows = read_spark_rows(frame, names, exposed=exposed, extra=extra, source=source.name, **how)
    return lay_out_log(rows, repeats=repeats)


def find_columns(source: Any, like: Columns, what: str) -> Columns:
    """The columns of users, items and times of another table: called as in a log, as usual, or nearly so."""
    with open_source(source) as found:
        return choose_alike(found.columns, found.name, like, what)


def choose_alike(columns: Sequence[str], table: str, like: Columns, what: str) -> Columns:
    """The same from the names of all columns of the `table`."""
    chosen: dict[str, str] = {}
    for role, own in asdict(like).items():
        names = [own, *_DEFAULTS[role], *find_by_words(role, columns)]
        name = next((n for n in names if n in columns and n not in chosen.values()), None)
        if name is None:
            remedy = f"rename it, or give {option(what)} as a table with columns user, item and time"
            raise missing_column(table, own, columns, remedy)
        chosen[role] = name
    return Columns(**chosen)


def choose_columns(source: Source, given: dict[str, str | int | None]) -> tuple[Columns, str]:
    """The columns of users, items and times, and what is to be said about those that were guessed."""
    guesses = _guess_columns(source, given) if source.has_no_names and None in given.values() else {}
    chosen = {}
    for role, name in given.items():
        default = next((d for d in _DEFAULTS[role] if d in source.columns), guesses.get(role, _DEFAULTS[role][0]))
        chosen[role] = _require(source, default if name is None else name, role)
    if len(set(chosen.values())) < 3:
        raise ColumnError(f"user, item and time must be three different columns, not {', '.join(chosen.values())}")
    guessed = ", ".join(guesses.values()), ", ".join(guesses)
    many = len(guesses) > 1
    said = f"column{'s' * many} {guessed[0]} {'are' if many else 'is'} {guessed[1]}" if guesses else ""
    return Columns(**chosen), said


def _guess_columns(source: Source, given: dict[str, str | int | None]) -> dict[str, str]:
    """The columns that were not named, of files that do not name them either: by what they hold."""
    taken = {
        role: find_place(source.columns, name) or str(name) for role, name in given.items() if name is not None
    }
    rows = source.sample()
    found = guess_by_content(source.columns, rows, taken)
    if found is None:
        shown = ", ".join(map(repr, rows[0])) if rows else "nothing"
        example = " ".join(option(role, str(k + 1)) for k, role in enumerate(given))
        raise ColumnError(
            f"{source.name} has no header, and it is not clear which of its columns is which (the first row is "
            f"{shown})",
            remedy=f"number the columns from 1, as in {example}, or name them with {option('column_names')}",
        )
    return {role: name for role, name in found.items() if role not in taken}


def _require(source: Source, name: str | int, role: str) -> str:
    """The name of a column, once it is sure that every file has it and that it is of one kind in all of them."""
    if not isinstance(name, str) and (isinstance(name, bool) or not isinstance(name, int)):
        raise ColumnError(f"{option(role)} is {name!r}; it takes the name of a column, or its number")
    name = find_place(source.columns, name) or str(name)
    if name not in source.columns:
        for part in source.parts:
            if part.schema is not None and name in part.schema.names:
                refuse_twins(part, name)
        likely = _find_likely(name, role, source.columns)
        remedy = f"{f'did you mean {likely!r}? Name' if likely else 'name'} the right one with {option(role)}"
        if source.is_in_folders(name):
            remedy = f"its folders are called so; to take that, ask for it with {option(role, name)}"
        if source.has_no_names:
            remedy = f"it has no header: number the columns from 1, or name them with {option('column_names')}"
        raise missing_column(source.name, name, source.columns, remedy)
    for part in source.parts:
        refuse_twins(part, name)
    files = [part for part in source.parts if part.kinds]
    for part in files:
        if name not in part.kinds:
            raise missing_column(part.name, name, part.kinds, "the other files have it")
    if not source.is_text:
        kinds = {family_of(part.kinds[name]): part.name for part in reversed(files)}
        kinds.pop("any", None)
        if len(kinds) > 1:
            told = " and ".join(f"{kind} in {file}" for kind, file in kinds.items())
            raise ColumnError(f"column {name!r} holds {told}", remedy="make them the same")
    return name


def _find_likely(name: str, role: str, have: Sequence[str]) -> str | None:
    """The column that was meant: one of nearly the same name, else one that is often called so."""
    lowered = {str(c).lower(): c for c in have}
    close = closest(name.lower(), lowered)
    if close is not None:
        return lowered[close]
    return next(find_by_words(role, have, name.lower()), None)


def _refuse_options(**options: Any) -> None:
    given = [option(name) for name, value in options.items() if value is not None]
    if given:
        raise InputError("a saved log has its columns already", remedy=f"leave out {', '.join(given)}")
