"""Options that commands share, and names of items from a file."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from unskew.cli.command_group import debug_option
from unskew.cli.log_source import KnownOptions, LogFiles, LogOptions
from unskew.cli.option_groups import FILE, decorate, list_fields, own_option, take_fields, use_options
from unskew.errors import InputError, option
from unskew.options import Group

if TYPE_CHECKING:
    import pyarrow as pa

    from unskew.data.log import Log
    from unskew.reading.sources import Source
    from unskew.recommend.contract import Recommender
    from unskew.weights.margins import Margin


Function = Callable[..., Any]

_LOG = click.argument("log", type=FILE, metavar="LOG...", nargs=-1, required=True)
_BASE = {
    "user": "Column of users of the base log.  [default: user]",
    "item": "Column of items of the base log.  [default: item]",
    "time": "Column of times of the base log.  [default: time or timestamp]",
    "time_unit": "Unit of integer times of the base log that count since 1970.",
    "drop_nulls": "Drop rows of the base log without user, item or time.",
}
_LIMITS = [
    own_option(
        "--memory-limit SIZE",
        "Memory for reading before spilling to disk, such as 4GB.  [default: 80 % of this machine's]",
        Group.WORK,
    ),
    own_option(
        "--temp-dir DIR",
        "Folder for data that does not fit into memory.  [default: that of the system]",
        Group.WORK,
    ),
]


def _read_sample_size(text: int | str) -> int | str:
    """How many pairs are drawn: a number, ``all``, or ``auto`` if that is left open."""
    if text in ("auto", "all"):
        return text
    try:
        return int(text)
    except ValueError:
        raise click.BadParameter(f"{text!r} is neither a number of pairs nor 'all'.") from None


sample_option = use_options("sample", type=_read_sample_size)
baseline_option = use_options("baseline", callback=lambda _context, _option, values: _require_once(values))
_CHANGE_OPTIONS = [
    baseline_option,
    sample_option,
    use_options("seed", "leave_out", "after", "leave_last_out", "min_items", "folds", "draws", "refit", "level"),
]


def log_options(function: Function) -> Function:
    """Add LOG and the options that say how to read it; the command gets them as one `source`."""

    @functools.wraps(function)
    def command(log: tuple[str, ...], **parameters: Any) -> Any:
        known = take_fields(KnownOptions, parameters)
        return function(source=take_fields(LogOptions, parameters, log=log, known=known), **parameters)

    return limit_options(
        decorate(command, [_LOG, use_options(*list_fields(LogOptions), *list_fields(KnownOptions))])
    )


def file_options(function: Function) -> Function:
    """Add LOG and the options about its files and columns; the command gets them as one `source`."""

    @functools.wraps(function)
    def command(log: tuple[str, ...], **parameters: Any) -> Any:
        return function(source=take_fields(LogFiles, parameters, log=log), **parameters)

    return decorate(command, [_LOG, use_options(*list_fields(LogFiles))])


def base_options(function: Function) -> Function:
    """Add how the log of --base is read: the command gets it as `base`, which is None without one."""

    @functools.wraps(function)
    def command(base: str | None, **parameters: Any) -> Any:
        reading = {name: parameters.pop(name) for name in _BASE}
        first = next((name for name, value in reading.items() if value), None)
        if base is None and first is not None:
            raise InputError(
                f"{option(first)} describes the log of {option('base')}", remedy="give both, or neither"
            )
        return function(base=None if base is None else LogOptions(log=(base,), **reading), **parameters)

    options = [use_options(name, help=text, everyday=False) for name, text in _BASE.items()]
    return decorate(command, options)


def limit_options(function: Function) -> Function:
    """Add --memory-limit and --temp-dir, to which all keeps that the command reads."""

    @functools.wraps(function)
    def command(memory_limit: str | None, temp_dir: str | None, **parameters: Any) -> Any:
        from unskew.reading.connection import limit_reading, refuse_limits_on_spark

        if parameters.get("engine") == "spark":
            refuse_limits_on_spark(memory_limit, temp_dir, by_option=True)
            return function(**parameters)
        with limit_reading(memory_limit, temp_dir):
            return function(**parameters)

    return decorate(command, _LIMITS)


def change_options(function: Function) -> Function:
    """Add what scores and their changes since a reference date are made with, beside -r, -m and the fit.

    The command gets `baseline`, `draws`, `refit`, `level`, and the fields of `SelectionOptions`.
    """
    return decorate(function, _CHANGE_OPTIONS)


def _require_once(values: Sequence[str]) -> str | None:
    if len(values) > 1:
        raise InputError(f"--baseline is given {len(values)} times", remedy="give it once")
    return values[0] if values else None


def check_specs(recommenders: Sequence[str], metrics: Sequence[str]) -> dict[str, Recommender]:
    """Find a slip in -r or -m before the log is read; gives the recommenders by name."""
    from unskew.evaluation.metric import distinct_metrics
    from unskew.recommend.specs import name_recommenders

    distinct_metrics(metrics)
    return name_recommenders(recommenders)


def check_question(
    fit: FitChoice, options: Mapping[str, Any], reference: str | None, weights: str | None = None
) -> None:
    """Refuse options that contradict each other, before the log is read."""
    from unskew.evaluation.selection_options import SelectionKeywords, SelectionOptions, check_report_options

    chosen: Any = {name: options[name] for name in SelectionKeywords.__annotations__ if name in options}
    by, refit, level = options.get("by"), options["refit"], options["level"]
    selection = SelectionOptions(**chosen)
    check_report_options(reference, weights, fit.first, selection, by=by, refit=refit, level=level)


@dataclass(frozen=True)
class FitChoice:
    """The options of a fit; None or empty if the command line does not set them."""

    top: int | None = None
    items: str | None = None
    method: str | None = None
    tol: float | None = None
    max_passes: int | None = None
    new_items: str | None = None
    users: str | None = None
    margins: tuple[str, ...] = ()

    @property
    def first(self) -> str | None:
        """The name of the first option that was given, if any was."""
        return next(iter(self._list_given()), None)

    @property
    def labels(self) -> list[str]:
        """The columns of texts that the margins need; refuses a margin that is none."""
        return [column for margin in self._margins() for column in margin.columns]

    def check_savable(self) -> None:
        """Refuse margins that a file of weights may not name, before any work."""
        for margin in self._margins():
            margin.to_dict()

    def _margins(self) -> list[Margin]:
        from unskew.weights.margins import parse_margin

        return [parse_margin(text) for text in self.margins]

    def keywords(self, log: Log, **more: Any) -> Any:
        """The same, and more if it is not None, as `fit_weights` takes it; items as ids of the log."""
        chosen = self._list_given() | {name: value for name, value in more.items() if value is not None}
        if "items" in chosen:
            chosen["items"] = item_ids(chosen["items"], log)
        if "margins" in chosen:
            chosen["margins"] = self._margins()
        if ("top" in chosen or "items" in chosen) and "method" not in chosen:
            chosen["method"] = "descent"
        return chosen

    def _list_given(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if value not in (None, ())}


def fit_options(function: Function, names: Sequence[str] = ()) -> Function:
    """Add everything that `unskew.weights.FitOptions` has, or only some of it: the command gets a `fit`."""
    names = names or list_fields(FitChoice)

    @functools.wraps(function)
    def command(**parameters: Any) -> Any:
        return function(fit=take_fields(FitChoice, parameters, names), **parameters)

    return decorate(command, [use_options(*names)])


def shared_fit_options(function: Function) -> Function:
    """Add the options about who and what is compared: the command gets a `fit`."""
    return fit_options(function, ["new_items", "users"])


def show_options(function: Function) -> Function:
    """Add --json and --debug; the command gets only the first, as `as_json`."""
    return decorate(function, [use_options("as_json"), debug_option])


def item_ids(text: str, log: Log) -> list[object]:
    """Ids that an option names, in the type of the log's."""
    import pyarrow as pa

    kind = log.items.values.type
    wanted = [part.strip() for part in text.split(",") if part.strip()]
    try:
        ids: list[object] = pa.array(wanted, type=pa.string()).cast(kind).to_pylist()
    except pa.ArrowInvalid:
        raise InputError(
            f"{option('items')} is {text!r}: the items of this log are {kind}", remedy="give ids of that type"
        ) from None
    return ids


_ITEMS = ("item", "item_id", "itemId", "id")
_NAMES = ("name", "title", "label")
_HOW = "choose its columns as in FILE?item=movie_id&name=title"


def read_names(path: str | None, items: pa.Array) -> list[str] | None:
    """The names of items from a file; None if not asked for.

    The columns are chosen as in ``movies.csv?item=movie_id&name=title``; else they are ``item``, or what items are
    often called, and ``name`` or ``title`` or the first other column of text.
    """
    if path is None:
        return None
    from unskew.data.ids import Ids
    from unskew.frames import join_chunks
    from unskew.reading.input_files import split_roles
    from unskew.reading.reader import give_notice
    from unskew.reading.sources import open_source

    file, chosen = split_roles(path, ("item", "name"))
    with open_source(file if "?" in file or Path(file).exists() else [file]) as source:
        give_notice(source)
        item = _choose(source, chosen.get("item"), "item", _ITEMS)
        name = _choose(source, chosen["name"], "name", ()) if "name" in chosen else None
        texts = _read_texts(source, item, name)
        if texts is None:
            raise InputError(f"{file} has no column of text beside {item!r}", remedy=_HOW)
    labels = texts.column(1).to_pylist()
    codes = Ids.of(join_chunks(texts.column(0))).match(Ids.of(items).values)
    matches = [labels[code] if code >= 0 else None for code in codes]
    return [str(i if label is None else label) for i, label in zip(items.to_pylist(), matches, strict=True)]


def read_names_by_item(path: str | None, items: pa.Array) -> dict[Any, str] | None:
    """The same for looking up; None if not asked for."""
    labels = read_names(path, items)
    return None if labels is None else dict(zip(items.to_pylist(), labels, strict=True))


def _choose(source: Source, wanted: str | None, role: str, usual: Sequence[str]) -> str:
    from unskew.errors import missing_column
    from unskew.reading.column_guesses import find_by_words, find_place

    if wanted is not None:
        column = find_place(source.columns, wanted)
    else:
        places = ["1"] if source.has_no_names else []
        likely = [*usual, *find_by_words(role, source.columns), *places]
        column = next((name for name in likely if name in source.columns), None)
    if column is None:
        raise missing_column(source.name, wanted or role, source.columns, _HOW)
    return column


def _read_texts(source: Source, item: str, name: str | None) -> pa.Table | None:
    import pyarrow as pa

    from unskew.errors import ColumnError
    from unskew.reading.column_types import read_plain

    usual = [column for column in source.columns if str(column).lower() in _NAMES]
    for column in [name] if name is not None else [*usual, *source.columns]:
        with contextlib.suppress(ColumnError):  # JSON of several kinds is no name
            table = read_plain(source, [item, column])
            if column != item and (name is not None or pa.types.is_string(table.schema.field(1).type)):
                return table
    return None
