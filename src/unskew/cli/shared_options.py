"""Options that commands share."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import click

from unskew.cli.command_group import debug_option
from unskew.cli.file_name import FILE
from unskew.cli.known_options import KnownOptions
from unskew.cli.log_source import TIME_UNIT, LogFiles, LogOptions
from unskew.cli.option_groups import Group, declare_fields, decorate, grouped_option, option_field, take_fields
from unskew.errors import InputError, option

if TYPE_CHECKING:
    from unskew.data.log import Log
    from unskew.recommend.contract import Recommender
    from unskew.weights.groups import Margin

Function = Callable[..., Any]

_LOG = click.argument("log", type=FILE, metavar="LOG...", nargs=-1, required=True)
_BASE_OPTIONS = [
    grouped_option(
        "--user", metavar="COLUMN", group=Group.READING, help="Column of users of the base log.  [default: user]"
    ),
    grouped_option(
        "--item", metavar="COLUMN", group=Group.READING, help="Column of items of the base log.  [default: item]"
    ),
    grouped_option(
        "--time",
        metavar="COLUMN",
        group=Group.READING,
        help="Column of times of the base log.  [default: time or timestamp]",
    ),
    grouped_option(
        "--time-unit",
        type=TIME_UNIT,
        group=Group.READING,
        help="Unit of integer times of the base log that count since 1970.",
    ),
    grouped_option(
        "--drop-nulls",
        is_flag=True,
        group=Group.READING,
        help="Drop rows of the base log without user, item or time.",
    ),
]
_LIMIT_OPTIONS = [
    grouped_option(
        "--memory-limit",
        metavar="SIZE",
        group=Group.WORK,
        help="Memory for reading before spilling to disk, such as 4GB.  [default: 80 % of this machine's]",
    ),
    grouped_option(
        "--temp-dir",
        type=FILE,
        metavar="DIR",
        group=Group.WORK,
        help="Folder for data that does not fit into memory.  [default: that of the system]",
    ),
]
declare_reference = functools.partial(
    grouped_option,
    "--reference",
    type=FILE,
    metavar="T0|FILE",
    group=Group.COMPARE,
    everyday=True,
    help="Date to compare with (a bare date is the end of that day), or a saved marginal.",
)
reference_option = declare_reference(required=True)
optional_reference_option = declare_reference()
at_option = grouped_option(
    "--at",
    default="last",
    metavar="T",
    group=Group.COMPARE,
    everyday=True,
    help="Date of the profiles; a bare date is the end of that day.  [default: the end of the log]",
)
names_option = grouped_option(
    "--names",
    type=FILE,
    metavar="FILE",
    group=Group.OUTPUT,
    help="Names of items: a file with a column item and a column of text (FILE?item=A&name=B chooses them).",
)
seed_option = grouped_option(
    "--seed",
    default=0,
    show_default=True,
    type=click.IntRange(min=0),
    metavar="S",
    group=Group.INTERVALS,
    help="Seed of all random draws.",
)


def _read_sample_size(text: int | str) -> int | str:
    """How many pairs are drawn: a number, ``all``, or ``auto`` if that is left open."""
    if text in ("auto", "all"):
        return text
    try:
        return int(text)
    except ValueError:
        raise click.BadParameter(f"{text!r} is neither a number of pairs nor 'all'.") from None


sample_option = grouped_option(
    "--sample",
    default="auto",
    type=_read_sample_size,
    metavar="N|all",
    group=Group.INTERVALS,
    help="Score a random sample of N held-out interactions.  [default: all, unless that would "
    "take hours; 'all' insists]",
)
output_option = functools.partial(
    grouped_option, "-o", "--output", type=FILE, metavar="FILE", group=Group.OUTPUT, everyday=True
)
written_option = output_option(required=True, help="Parquet file to write; CSV if it ends in .csv.")
_SPLIT_OPTIONS = [
    grouped_option(
        "--after",
        metavar="T",
        group=Group.PROTOCOL,
        everyday=True,
        help="Global time split: fit at T and hold out later interactions. -30d (-20 if times are "
        "plain numbers) is 30 days before each date.",
    ),
    grouped_option(
        "--leave-last-out",
        is_flag=True,
        group=Group.PROTOCOL,
        help="Hold out the last item of each profile instead of each item in turn.",
    ),
    grouped_option(
        "--min-items",
        default=1,
        show_default=True,
        type=int,
        metavar="N",
        group=Group.PROTOCOL,
        help="Only users with at least N items to hold out from, at each date.",
    ),
]
level_option = grouped_option(
    "--level",
    default=0.95,
    show_default=True,
    type=float,
    metavar="P",
    group=Group.INTERVALS,
    help="Confidence level of the intervals.",
)
clean_before_option = grouped_option(
    "--clean-before",
    metavar="T",
    group=Group.KNOWN,
    help="Nothing was recommended before this time: you vouch for it.",
)
quick_option = grouped_option(
    "--quick",
    is_flag=True,
    group=Group.COMPARE,
    help="Look at one stand-in for production only, and skip more data; nothing is decided.",
)
by_option = grouped_option(
    "--by", metavar="COLUMN", group=Group.COMPARE, help="Also score each value of this column of the log."
)
declare_recommenders = functools.partial(
    grouped_option,
    "-r",
    "--recommender",
    "recommenders",
    multiple=True,
    metavar="[NAME=]SPEC",
    group=Group.COMPARE,
    everyday=True,
    help="Recommender to score. Repeatable.",
)
recommenders_option = declare_recommenders()
metrics_option = grouped_option(
    "-m",
    "--metric",
    "metrics",
    multiple=True,
    default=("hit@5",),
    metavar="NAME",
    group=Group.COMPARE,
    everyday=True,
    help="hit@k, mrr@k, ndcg@k, rbp@k or rank<=1,5,10; for whole users user-hit@k (also recall, precision, "
    "ndcg, map). Repeatable.  [default: hit@5, which is recall@5 with --after]",
)
baseline_option = grouped_option(
    "--baseline",
    multiple=True,
    metavar="[NAME=]SPEC",
    callback=lambda _context, _option, values: _require_once("--baseline", values),
    group=Group.COMPARE,
    everyday=True,
    help="Recommender in use at the date of --reference, if it was another.",
)
draws_option = grouped_option(
    "--draws",
    default=5,
    show_default=True,
    type=click.IntRange(min=1),
    metavar="N",
    group=Group.INTERVALS,
    help="Draws to average over if the view is random (adjusted, thinned or kept).",
)
_CHANGE_OPTIONS = [
    baseline_option,
    sample_option,
    seed_option,
    grouped_option(
        "--leave-out",
        default=1,
        show_default=True,
        type=int,
        metavar="N",
        group=Group.PROTOCOL,
        help="Hold out N items of a profile at a time.",
    ),
    *_SPLIT_OPTIONS,
    grouped_option(
        "--folds",
        type=int,
        metavar="K",
        group=Group.PROTOCOL,
        help="Fit every recommender K times, each time without the interactions that it is scored on.",
    ),
    draws_option,
    grouped_option(
        "--refit",
        type=int,
        is_flag=False,
        flag_value=200,
        metavar="[N]",
        group=Group.INTERVALS,
        help="Draw users at both dates N times and fit the weights (not the models) again, for "
        "intervals of weighted scores and changes; 0 treats the weights as fixed.  [200 if N "
        "is omitted; default: 50, for changes alone]",
    ),
    level_option,
]
_SHOW_OPTIONS = [
    grouped_option(
        "--json",
        "as_json",
        is_flag=True,
        group=Group.OUTPUT,
        everyday=True,
        help="Print one JSON object and nothing else.",
    ),
    debug_option,
]


def log_options(function: Function) -> Function:
    """Add LOG and the options that say how to read it; the command gets them as one `source`."""

    @functools.wraps(function)
    def command(log: tuple[str, ...], **parameters: Any) -> Any:
        known = take_fields(KnownOptions, parameters)
        return function(source=take_fields(LogOptions, parameters, log=log, known=known), **parameters)

    return limit_options(decorate(command, [_LOG, *declare_fields(LogOptions), *declare_fields(KnownOptions)]))


def file_options(function: Function) -> Function:
    """Add LOG and the options about its files and columns; the command gets them as one `source`."""

    @functools.wraps(function)
    def command(log: tuple[str, ...], **parameters: Any) -> Any:
        return function(source=take_fields(LogFiles, parameters, log=log), **parameters)

    return decorate(command, [_LOG, *declare_fields(LogFiles)])


def base_options(function: Function) -> Function:
    """Add how the log of --base is read: the command gets it as `base`, which is None without one."""

    @functools.wraps(function)
    def command(base: str | None, **parameters: Any) -> Any:
        reading = {name: parameters.pop(name) for name in ("user", "item", "time", "time_unit", "drop_nulls")}
        first = next((name for name, value in reading.items() if value), None)
        if base is None and first is not None:
            raise InputError(
                f"{option(first)} describes the log of {option('base')}", remedy="give both, or neither"
            )
        return function(base=None if base is None else LogOptions(log=(base,), **reading), **parameters)

    return decorate(command, _BASE_OPTIONS)


def limit_options(function: Function) -> Function:
    """Add --memory-limit and --temp-dir, to which all keeps that the command reads."""

    @functools.wraps(function)
    def command(memory_limit: str | None, temp_dir: str | None, **parameters: Any) -> Any:
        from unskew.reading.limits import limit_reading, refuse_limits_on_spark

        if parameters.get("engine") == "spark":
            refuse_limits_on_spark(memory_limit, temp_dir, by_option=True)
            return function(**parameters)
        with limit_reading(memory_limit, temp_dir):
            return function(**parameters)

    return decorate(command, _LIMIT_OPTIONS)


def score_options(function: Function) -> Function:
    """Add -r and -m: the command gets `recommenders` and `metrics`."""
    return decorate(function, [declare_recommenders(required=True), metrics_option])


def split_options(function: Function) -> Function:
    """Add --after, --leave-last-out and --min-items, under the names that `SplitRule` gives them."""
    return decorate(function, _SPLIT_OPTIONS)


def change_options(function: Function) -> Function:
    """Add what scores and their changes since a reference date are made with, beside -r, -m and the fit.

    The command gets `baseline`, `draws`, `refit`, `level`, and the fields of `SelectionOptions`.
    """
    return decorate(function, _CHANGE_OPTIONS)


def _require_once(name: str, values: Sequence[str]) -> str | None:
    """The value of an option that may be given once; without this the last of several would count."""
    if len(values) > 1:
        raise InputError(f"{name} is given {len(values)} times", remedy="give it once")
    return values[0] if values else None


def check_specs(recommenders: Sequence[str], metrics: Sequence[str]) -> dict[str, Recommender]:
    """Find a slip in -r or -m before the log is read; gives the recommenders by name."""
    from unskew.evaluation.metric import distinct_metrics
    from unskew.recommend.specs import name_recommenders

    distinct_metrics(metrics)
    return name_recommenders(recommenders)


_SHARED_FIT_FIELDS = ("new_items", "users")
_fit_field = functools.partial(option_field, group=Group.FIT)


@dataclass(frozen=True)
class FitChoice:
    """The options of a fit; None or empty if the command line does not set them."""

    top: int | None = _fit_field(
        type=int, metavar="P", help="Fit only the P items whose probability changed most."
    )
    items: str | None = _fit_field(metavar="A,B,...", help="Fit only these items.")
    method: str | None = _fit_field(
        type=click.Choice(["scaling", "descent", "lbfgs"]),
        help="Solver.  [default: scaling; descent with --top or --items]",
    )
    tol: float | None = _fit_field(
        type=float, metavar="TOL", help="Tolerance of the fit, in score units.  [default: 0.0001]"
    )
    max_passes: int | None = _fit_field(type=int, metavar="N", help="Stop after N passes over the data.")
    new_items: str | None = _fit_field(
        type=click.Choice(["drop", "keep"]), help="Drop or keep items that nobody had at T0.  [default: drop]"
    )
    users: str | None = _fit_field(
        type=click.Choice(["all", "both"]),
        help="Evaluate all users, or only those with a profile at both dates.  [default: all]",
    )
    margins: tuple[str, ...] = _fit_field(
        "--margin",
        default=(),
        metavar="KIND:NAME",
        help="Also match this mix: column:NAME for the groups of a column of the log, "
        "agreement:SPEC for the ranks that a model of production gives. Repeatable.",
    )

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
        from unskew.weights.margin_specs import parse_margin

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
    """Add everything that `unskew.FitOptions` has, or only some of it: the command gets a `fit`."""

    @functools.wraps(function)
    def command(**parameters: Any) -> Any:
        return function(fit=take_fields(FitChoice, parameters, names), **parameters)

    return decorate(command, declare_fields(FitChoice, names))


def shared_fit_options(function: Function) -> Function:
    """Add the options about who and what is compared: the command gets a `fit`."""
    return fit_options(function, _SHARED_FIT_FIELDS)


def show_options(function: Function) -> Function:
    """Add --json and --debug; the command gets only the first, as `as_json`."""
    return decorate(function, _SHOW_OPTIONS)


def item_ids(text: str, log: Log) -> list[object]:
    """Ids that an option names, in the type of the log's."""
    import pyarrow as pa

    kind = log.items.values.type
    wanted = [part.strip() for part in text.split(",") if part.strip()]
    try:
        ids: list[object] = pa.array(wanted, type=pa.string()).cast(kind).to_pylist()
    except pa.ArrowInvalid:
        raise InputError(f"{option('items')} is {text!r}: the items of this log are {kind}") from None
    return ids
