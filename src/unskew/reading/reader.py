"""Reading a log: find the source and its columns, then have `unskew.reading.encoder` do the work."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from unskew.data.columns import Columns
from unskew.data.log import Log
from unskew.data.saved_log import is_saved_log
from unskew.data.times import check_time_unit
from unskew.errors import ColumnError, InputError, missing_column, option
from unskew.progress import progress
from unskew.reading.column_synonyms import OF_A_LOG
from unskew.reading.column_types import family_of
from unskew.reading.encoder import Encoder
from unskew.reading.limits import reading_limits
from unskew.reading.sources import Part, Source, open_source
from unskew.text import closest

_DEFAULTS = {"user": ("user",), "item": ("item",), "time": ("time", "timestamp")}


def read_log(
    source: Any,
    user: str | None = None,
    item: str | None = None,
    time: str | None = None,
    *,
    removed: str | None = None,
    exposed: str | None = None,
    columns: Sequence[str] = (),
    labels: Sequence[str] = (),
    time_unit: str | None = None,
    drop_nulls: bool = False,
    repeats: bool = False,
    memory_limit: str | None = None,
    temp_dir: str | Path | None = None,
) -> Log:
    """Read who took which item when.

    Parameters
    ----------
    source
        A path or glob of Parquet, CSV (also .gz), JSON lines or Arrow files, a folder of Parquet files,
        a list of these; a file written by `Log.save`; or a pandas, polars, pyarrow or DuckDB table
        (anything that narwhals knows), or a dict of columns.
    user, item, time
        The names of the columns; by default ``user``, ``item``, and ``time`` or ``timestamp``.
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
    memory_limit
        What reading may take before it puts the rest on the disk, such as ``4GB``; by default
        ``UNSKEW_MEMORY_LIMIT``, else four fifths of the memory of the machine. The log that results takes room
        besides: 12 to 16 bytes an interaction.
    temp_dir
        The folder for what does not fit; by default ``UNSKEW_TEMP_DIR``, else that of the system.

    Notes
    -----
    A repeated (user, item) counts once, at its earliest time. With `removed`, the stays of an item in a
    profile that overlap are joined, and it may come back later. Ids keep their type; ids in text files
    are integers if every one of them is written as one ("7", but not "007").

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
    if isinstance(source, str | Path) and is_saved_log(Path(source)):
        _refuse_options(user=user, item=item, time=time, removed=removed, exposed=exposed, time_unit=time_unit)
        log = Log.load(source)
        for name in columns:
            log.column(name)
        for name in labels:
            log.label(name)
        return log
    with open_source(source, reading_limits(memory_limit, temp_dir)) as opened:
        found = opened
        progress().stage(f"reading {found.name}")
        for asked in dict.fromkeys([user, item, time, removed, exposed, *columns, *labels]):
            if asked is not None and found.is_in_folders(asked):
                found = found.with_folders(asked)
        names = _choose_columns(found, {"user": user, "item": item, "time": time})
        roles = [("removed", removed), ("exposed", exposed), *(("columns", name) for name in columns)]
        roles += [("labels", name) for name in labels]
        more = [_require(found, name, role) for role, name in roles if name is not None]
        narrow = found.narrow(list(dict.fromkeys([names.user, names.item, names.time, *more])))
        extra = tuple(dict.fromkeys(columns))
        texts = tuple(dict.fromkeys(labels))
        return Encoder(narrow, names, removed, exposed, extra, texts, time_unit, drop_nulls, repeats).log()


def find_columns(source: Any, like: Columns, what: str) -> Columns:
    """The columns of users, items and times of another table: called as in a log, as usual, or nearly so."""
    with open_source(source) as found:
        chosen: dict[str, str] = {}
        for role, own in asdict(like).items():
            names = [own, *_DEFAULTS[role], *_find_likely_all(role, found.columns)]
            name = next((n for n in names if n in found.columns and n not in chosen.values()), None)
            if name is None:
                remedy = f"rename it, or give {option(what)} as a table with columns user, item and time"
                raise missing_column(found.name, own, found.columns, remedy)
            chosen[role] = name
        return Columns(**chosen)


def _choose_columns(source: Source, given: dict[str, str | None]) -> Columns:
    chosen = {}
    for role, name in given.items():
        default = next((d for d in _DEFAULTS[role] if d in source.columns), _DEFAULTS[role][0])
        chosen[role] = _require(source, name or default, role)
    if len(set(chosen.values())) < 3:
        raise ColumnError(f"user, item and time must be three different columns, not {', '.join(chosen.values())}")
    return Columns(**chosen)


def _require(source: Source, name: str, role: str) -> str:
    """The name of a column, once it is sure that every file has it and that it is of one kind in all of them."""
    if not isinstance(name, str):
        raise ColumnError(f"{option(role)} is {name!r}; it takes the name of a column, which is text")
    if name not in source.columns:
        for part in source.parts:
            if part.schema is not None and name in part.schema.names:
                _refuse_twins(part, name)
        likely = _find_likely(name, role, source.columns)
        remedy = f"{f'did you mean {likely!r}? Name' if likely else 'name'} the right one with {option(role)}"
        if source.is_in_folders(name):
            remedy = f"its folders are called so; to take that, ask for it with {option(role, name)}"
        raise missing_column(source.name, name, source.columns, remedy)
    for part in source.parts:
        _refuse_twins(part, name)
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


def _refuse_twins(part: Part, name: str) -> None:
    """Refuse a column whose name another one has too, or has in other letters, which SQL does not tell apart."""
    names = [] if part.schema is None else part.schema.names
    if names.count(name) > 1:
        raise ColumnError(f"{part.name} has two columns {name!r}", remedy="rename one of them")
    twin = next((one for one in names if one != name and one.lower() == name.lower()), None)
    if twin is not None:
        raise ColumnError(
            f"{part.name} has columns {name!r} and {twin!r}, which differ only in case",
            remedy="rename one of them",
        )


def _find_likely(name: str, role: str, have: Sequence[str]) -> str | None:
    """The column that was meant: one of nearly the same name, else one that is often called so."""
    lowered = {str(c).lower(): c for c in have}
    close = closest(name.lower(), lowered)
    if close is not None:
        return lowered[close]
    return next(_find_likely_all(role, have, name.lower()), None)


def _find_likely_all(role: str, have: Sequence[str], *more: str) -> Iterator[str]:
    """The columns whose name has a word that is often used for this role."""
    words = {role, *more, *OF_A_LOG.get(role, ())}
    parts = {c: set(re.findall(r"[^\W\d_]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", str(c)).lower())) for c in have}
    return (c for c in have if words & parts[c])


def _refuse_options(**options: str | None) -> None:
    given = [option(name) for name, value in options.items() if value is not None]
    if given:
        raise InputError("a saved log has its columns already", remedy=f"leave out {', '.join(given)}")
