"""A first look at a file: what it holds, which columns are what, and what to run next.

Whatever an odd file throws at the parts that read it becomes a problem in the result; only a file that cannot be
opened at all is an error.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from unskew.checks import public
from unskew.data.ids import kind_of
from unskew.data.log import Log
from unskew.data.saved_log import is_saved_log
from unskew.data.time_steps import advise_on_numbers, find_epoch_unit
from unskew.data.times import UNIT_WORDS, Label, TimeWindow
from unskew.errors import NameOption, ReadingNotice, UnskewError, UnskewWarning, name_in_python, option
from unskew.examining.next_commands import advise_protocol, choose_dates, write_commands, write_options
from unskew.reading.column_guesses import ROLES, Guess, TableContents
from unskew.reading.column_types import is_missing
from unskew.reading.input_files import FileOptions
from unskew.reading.reader import read_log
from unskew.reading.sources import Source, names_files, open_source
from unskew.text import enumerate_words, hide_secrets, percent
from unskew.weights.bursts import find_bursts
from unskew.weights.drift import drift

_KINDS = {
    "integer": "plain whole numbers",
    "float": "plain decimal numbers",
    "date": "dates",
    "datetime": "dates with a time of day",
}


_PLACEHOLDERS = ("", "-1", r"\N", "NULL", "Null", "null", "NaN", "NAN", "nan", "None", "none", "NA", "N/A", "n/a")
_MOST_SINGLE = 0.05  # of the users: beyond that they may decide a comparison


@dataclass(frozen=True)
class ProfileSizes:
    """How many items users have at the end of a log."""

    least: int
    median: float
    mean: float
    most: int
    single: float
    """The share of users with one item only."""


@dataclass(frozen=True)
class Examination:
    """What `examine` found; what could not be found out is None.

    Attributes
    ----------
    source
        How to speak of it.
    read_as
        What it was taken for where it does not make that clear by itself, a sentence each.
    columns
        All its columns.
    roles, guessed
        Which of them are user, item and time; and which of these roles were guessed.
    rows, nulls
        Rows of the file; missing values in the columns of users, items and times.
    users, items, interactions, repeats
        What the log has; repeats are rows of a user and an item that come again.
    first, last, times, time_unit
        Its span, what its times are in words, and what they count since 1970 if that was guessed.
    sizes
        Of profiles.
    options
        How the log is read, as keyword arguments of `read_log`: columns, unit of times, options of the file.
    item_mix
        Whether the item mix drifted between the two dates that `commands` compare: ``reference``, ``at``,
        ``bound``, ``chance`` and ``drifted`` as of `Drift.to_dict`, and ``conclusion``, a sentence.
    campaigns
        Windows in which users interacted more than usual, and with other items than usual: likely campaigns.
    notes
        What was not looked for and why, and what to beware of.
    protocol, advice
        ``leave-one-out``, ``time split`` or None, and why.
    problems
        What stands in the way, a sentence each.
    commands
        What to run next.
    """

    source: str
    columns: tuple[str, ...]
    read_as: tuple[str, ...] = ()
    roles: dict[str, str] = field(default_factory=dict)
    guessed: tuple[str, ...] = ()
    rows: int | None = None
    nulls: dict[str, int] = field(default_factory=dict)
    users: int | None = None
    items: int | None = None
    interactions: int | None = None
    repeats: int | None = None
    first: Label | None = None
    last: Label | None = None
    times: str | None = None
    time_unit: str | None = None
    sizes: ProfileSizes | None = None
    options: dict[str, Any] = field(default_factory=dict)
    item_mix: dict[str, Any] | None = None
    campaigns: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    protocol: str | None = None
    advice: str | None = None
    problems: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Everything, ready for JSON."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}


@public
def examine(
    source: Any,
    user: str | int | None = None,
    item: str | int | None = None,
    time: str | int | None = None,
    *,
    time_unit: str | None = None,
    **reading: Any,
) -> Examination:
    """Look at a file (or a table) that nobody has described.

    Parameters
    ----------
    source, user, item, time, time_unit
        As `read_log` takes them; columns that are not named are guessed.
    reading
        Any other option of `read_log` about files and times, such as ``sep`` or ``time_format``.

    Examples
    --------
    >>> import unskew as us
    >>> examination = examine({"member_id": [1, 1, 2], "sku": ["a", "b", "a"], "ts": [1, 5, 3]})
    >>> examination.roles, examination.users, examination.items
    ({'user': 'member_id', 'item': 'sku', 'time': 'ts'}, 2, 2)
    """
    return examine_source(source, {"user": user, "item": item, "time": time}, time_unit, reading)


def examine_source(
    source: Any,
    columns: Mapping[str, Any],
    time_unit: str | None,
    reading: Mapping[str, Any],
    name_option: NameOption = name_in_python,
    *,
    configured: bool = False,
) -> Examination:
    """The same for whoever writes options in another way, or keeps them in a file, so that commands need none."""
    if isinstance(source, pa.RecordBatchReader):  # which can be read once, and is looked at twice
        source = source.read_all()
    place = _name_place(source)
    if isinstance(source, str | Path) and is_saved_log(Path(source)):
        log = Log.load(source)
        seen = Examination(str(source), (), rows=len(log))
        return _describe(log, seen, place, [])
    notices: list[str] = []
    with _hear(notices, name_option):
        seen = _look(source, columns, reading, name_option)
        if len(seen.roles) < len(ROLES):
            return replace(seen, read_as=tuple(notices))
        try:
            user, item, time = (seen.roles[role] for role in ROLES)
            log = read_log(source, user, item, time, time_unit=time_unit, drop_nulls=True, **reading)
        except (UnskewError, ArithmeticError, ValueError, TypeError) as error:
            return replace(seen, read_as=tuple(notices), problems=(_explain(error, name_option),))
    seen = replace(seen, read_as=tuple(notices), rows=log.reading.rows, repeats=log.reading.folded)
    unit = None
    if time_unit is None and not log.axis.is_calendar:
        unit = find_epoch_unit(*(tick.item() for tick in log.span))
        if unit is not None:
            log = log.count_since_1970(unit)
    options = {
        **seen.roles,
        "time_unit": time_unit or unit,
        **reading,
        "drop_nulls": any(seen.nulls.values()) or None,
    }
    options = {name: value for name, value in options.items() if value is not None}
    flags = [] if configured else write_options(options)
    return _describe(log, replace(seen, time_unit=unit, options=options), place, flags)


def _look(
    source: Any, columns: Mapping[str, Any], reading: Mapping[str, Any], name_option: NameOption
) -> Examination:
    files = {name: value for name, value in reading.items() if name not in ("time_format", "query")}
    options = FileOptions.of(**files).expect(*columns.values(), *ROLES, "timestamp")
    seen: Examination | None = None
    try:
        with open_source(source, options, query=reading.get("query")) as opened:
            seen = Examination(opened.name, tuple(opened.columns))
            table = opened.narrow(list(opened.columns))
            guess = Guess(TableContents(table, table.sample()), columns)
            seen = replace(seen, roles=guess.roles, guessed=tuple(guess.guessed), rows=_count(table))
            known = {role: name for role, name in guess.roles.items() if name in table.columns}
            missing = {role: is_missing(name, is_id=role != "time") for role, name in known.items()}
            seen = replace(seen, nulls={role: _count(table, test) for role, test in missing.items()})
    except UnskewError as error:
        if seen is None:  # it cannot be opened at all
            raise
        return replace(seen, roles={}, problems=(_explain(error, name_option),))
    if guess.missing:
        flags = enumerate_words([option(role) for role in guess.missing])
        remedy = (
            "join them into one column and " * guess.has_split_dates
            + f"name {'it' if len(guess.missing) == 1 else 'them'} with {flags}"
        )
        problem = UnskewError(guess.explain_missing(), remedy=remedy)
        return replace(seen, problems=(_explain(problem, name_option),))
    return seen


def _describe(log: Log, seen: Examination, place: Sequence[str], flags: Sequence[str]) -> Examination:
    sizes = np.diff(log.start.astype(np.int64))
    windows, notes = find_campaigns(log)
    numbers = "" if log.axis.is_calendar else advise_on_numbers(*(tick.item() for tick in log.span))
    notes += (f"the times are plain numbers: {numbers}",) if numbers else ()
    single = float((sizes == 1).mean())
    advice = advise_protocol(log)
    dates = choose_dates(log, windows)
    counted = f"{UNIT_WORDS[log.axis.unit or 's']} since 1970" if log.axis.kind == "epoch" else ""
    return replace(
        seen,
        users=len(log.users),
        items=len(log.items),
        interactions=len(log),
        first=log.first,
        last=log.last,
        times=counted or _KINDS[log.axis.kind],
        sizes=ProfileSizes(
            int(sizes.min()), float(np.median(sizes)), float(sizes.mean()), int(sizes.max()), single
        ),
        item_mix=_compare_mixes(log, *dates),
        campaigns=tuple(map(str, windows)),
        notes=(*notes, *_warn_of_placeholders(log), *_warn_of_single_items(single)),
        protocol=advice.protocol,
        advice=advice.why,
        commands=tuple(write_commands(log, place, flags, advice, windows, dates)),
    )


def find_campaigns(log: Log) -> tuple[tuple[TimeWindow, ...], tuple[str, ...]]:
    """Likely campaigns, and why none was looked for if that is so."""
    try:
        with _hear([]):
            return tuple(find_bursts(log).windows), ()
    except UnskewError as error:
        return (), (f"campaigns were not looked for: {error}",)


def _warn_of_placeholders(log: Log) -> Iterator[str]:
    """Ids that often stand for a missing value, and that reading takes for ids."""
    for role, ids in (("user", log.users), ("item", log.items)):
        is_text = kind_of(ids.values.type) == "text"
        words = _PLACEHOLDERS if is_text else (-1,) if pa.types.is_signed_integer(ids.values.type) else ()
        known = pc.is_in(ids.values, value_set=pa.array(words, ids.values.type))
        named = [repr(value) for value in ids.values.filter(known).to_pylist()]
        if named:
            shown = f"{role} id{'s' * (len(named) > 1)} {enumerate_words(named)}"
            yield f"the {shown} may mean that the {role} is missing: remove these rows first if so"


def _compare_mixes(log: Log, reference: Label, at: Label) -> dict[str, Any] | None:
    if reference == at:
        return None
    with _hear([]):
        moved = drift(log.at(at), log.at(reference))
    figures = moved.to_dict(0)
    names = ("reference", "at", "bound", "chance", "drifted")
    return {**{name: figures[name] for name in names}, "conclusion": moved.conclusion}


def _warn_of_single_items(share: float) -> Iterator[str]:
    if share > _MOST_SINGLE:
        yield (
            f"{percent(share, 0)} of the users have a single item: held out, it leaves an empty profile, for "
            "which some models return nothing. Compare models with --min-items 2 as well"
        )


def _name_place(source: Any) -> list[str]:
    if not names_files(source):
        return ["events.parquet"]
    return [hide_secrets(str(path)) for path in ([source] if isinstance(source, str | Path) else source)]


def _count(source: Source, condition: str = "true") -> int:
    rows = source.connection.execute(f"SELECT count(*) FROM {source.relation} WHERE {condition}").fetchall()
    return int(rows[0][0])


def _explain(error: BaseException, name_option: NameOption) -> str:
    return error.render(name_option) if isinstance(error, UnskewError) else f"{type(error).__name__}: {error}"


@contextmanager
def _hear(sentences: list[str], name_option: NameOption = name_in_python) -> Iterator[None]:
    """Collect notices instead of showing them; other warnings are of no interest here."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
        notices = (warning.message for warning in caught)
        sentences += [warning.render(name_option) for warning in notices if isinstance(warning, ReadingNotice)]
    for warning in caught:
        if not issubclass(warning.category, UnskewWarning):
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
