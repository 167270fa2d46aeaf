"""Options that commands share, and the log that they describe."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from unskew.cli.command_group import debug_option
from unskew.cli.file_flags import FILE_OPTIONS, take_file_options
from unskew.cli.file_name import FILE
from unskew.cli.known_options import KNOWN_OPTIONS, KnownOptions, print_view
from unskew.cli.option_groups import Group, grouped_option
from unskew.cli.streams import tell
from unskew.errors import InputError
from unskew.progress import progress

if TYPE_CHECKING:
    from unskew.data.log import Log
    from unskew.data.priors import ItemPrior
    from unskew.data.snapshot import Snapshot
    from unskew.recommend.contract import Recommender
    from unskew.weights.alignment import Reference
    from unskew.weights.groups import Margin

Function = Callable[..., Any]

_STEP = re.compile(r"-\s*[0-9.]+\s*[a-z]+")  # -30d: so long before the end

_FILE_OPTIONS = [
    click.argument("log", type=FILE, metavar="LOG...", nargs=-1, required=True),
    grouped_option(
        "--user",
        metavar="COLUMN",
        group=Group.READING,
        everyday=True,
        help="Column of users, by name or number.  [default: user]",
    ),
    grouped_option(
        "--item",
        metavar="COLUMN",
        group=Group.READING,
        everyday=True,
        help="Column of items.  [default: item]",
    ),
    grouped_option(
        "--time",
        metavar="COLUMN",
        group=Group.READING,
        everyday=True,
        help="Column of times.  [default: time or timestamp]",
    ),
    grouped_option(
        "--time-unit",
        type=click.Choice(["s", "ms", "us", "ns", "day"]),
        group=Group.READING,
        help="Unit of integer times that count since 1970; dates can then be used.",
    ),
    grouped_option(
        "--time-format",
        metavar="FORMAT",
        group=Group.READING,
        help="Format of times, such as '%d/%m/%Y %H:%M'.",
    ),
    *FILE_OPTIONS,
]
_LOG_OPTIONS = [
    *_FILE_OPTIONS,
    grouped_option(
        "--removed",
        metavar="COLUMN",
        group=Group.READING,
        help="Column with the time at which the user removed the item.",
    ),
    grouped_option(
        "--drop-nulls",
        is_flag=True,
        group=Group.READING,
        help="Drop rows without user, item or time instead of refusing the file.",
    ),
    grouped_option(
        "--p-user",
        metavar="COLUMN",
        group=Group.PROTOCOL,
        help="Column with P(u), the importance of the user.  [default: uniform]",
    ),
    grouped_option(
        "--p-item",
        metavar="HOW",
        group=Group.PROTOCOL,
        help="P(i|u): a column, or 'recency:30' to halve it every 30 days (or units of time).  [default: uniform]",
    ),
    grouped_option(
        "--engine",
        type=click.Choice(["local", "spark"]),
        default="local",
        show_default=True,
        group=Group.WORK,
        help="On this machine, or on a Spark cluster.",
    ),
    grouped_option(
        "--master",
        metavar="URL",
        group=Group.WORK,
        help="URL of the Spark cluster: spark://HOST:PORT, yarn, ...  [default: local[*]]",
    ),
    grouped_option(
        "--spark-conf",
        multiple=True,
        metavar="KEY=VALUE",
        group=Group.WORK,
        help="Spark setting, such as spark.executor.memory=8g. Repeatable.",
    ),
    *KNOWN_OPTIONS,
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
_REFERENCE: dict[str, Any] = {
    "type": FILE,
    "metavar": "T0|FILE",
    "group": Group.COMPARE,
    "everyday": True,
    "help": "Date to compare with (a bare date is the end of that day), or a saved marginal.",
}
reference_option = grouped_option("--reference", required=True, **_REFERENCE)
optional_reference_option = grouped_option("--reference", **_REFERENCE)
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


def _read_sample_size(given: int | str) -> int | str:
    """How many pairs are drawn: a number, ``all``, or ``auto`` if that is left open."""
    if given in ("auto", "all"):
        return given
    try:
        return int(given)
    except ValueError:
        raise click.BadParameter(f"{given!r} is neither a number of pairs nor 'all'.") from None


sample_option = grouped_option(
    "--sample",
    default="auto",
    type=_read_sample_size,
    metavar="N|all",
    group=Group.INTERVALS,
    help="Score a random sample of N held-out interactions.  [default: all, unless that would "
    "take hours; 'all' insists]",
)
written_option = grouped_option(
    "-o",
    "--output",
    required=True,
    type=FILE,
    metavar="FILE",
    group=Group.OUTPUT,
    everyday=True,
    help="Parquet file to write; CSV if it ends in .csv.",
)
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
        everyday=True,
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
    everyday=True,
    help="Nothing was recommended before this time: you vouch for it.",
)
quick_option = grouped_option(
    "--quick",
    is_flag=True,
    group=Group.COMPARE,
    help="Look at one stand-in for production only; nothing is decided.",
)
_RECOMMENDER: dict[str, Any] = {
    "multiple": True,
    "metavar": "[NAME=]SPEC",
    "group": Group.COMPARE,
    "everyday": True,
    "help": "Recommender to score. Repeatable.",
}
recommenders_option = grouped_option("-r", "--recommender", "recommenders", **_RECOMMENDER)
metrics_option = grouped_option(
    "-m",
    "--metric",
    "metrics",
    multiple=True,
    default=("hit@5",),
    show_default=True,
    metavar="NAME",
    group=Group.COMPARE,
    everyday=True,
    help="hit@k, mrr@k, ndcg@k, rbp@k or rank<=1,5,10; for whole users user-hit@k (also recall, precision, "
    "ndcg, map). Repeatable.",
)
_SCORE_OPTIONS = [
    grouped_option("-r", "--recommender", "recommenders", required=True, **_RECOMMENDER),
    metrics_option,
]
_SHARED_FIT_OPTIONS = [
    grouped_option(
        "--tol",
        type=float,
        metavar="TOL",
        group=Group.FIT,
        help="Tolerance of the fit, in score units.  [default: 0.0001]",
    ),
    grouped_option(
        "--max-passes",
        type=int,
        metavar="N",
        group=Group.FIT,
        help="Stop after N passes over the data.",
    ),
    grouped_option(
        "--new-items",
        type=click.Choice(["drop", "keep"]),
        group=Group.FIT,
        help="Drop or keep items that nobody had at T0.  [default: drop]",
    ),
    grouped_option(
        "--users",
        type=click.Choice(["all", "both"]),
        group=Group.FIT,
        help="Evaluate all users, or only those with a profile at both dates.  [default: all]",
    ),
]
_FIT_OPTIONS = [
    grouped_option(
        "--top",
        type=int,
        metavar="P",
        group=Group.FIT,
        help="Fit only the P items whose probability changed most.",
    ),
    grouped_option(
        "--items",
        metavar="A,B,...",
        group=Group.FIT,
        help="Fit only these items.",
    ),
    grouped_option(
        "--method",
        type=click.Choice(["scaling", "descent", "lbfgs"]),
        group=Group.FIT,
        help="Solver.  [default: scaling; descent with --top or --items]",
    ),
    *_SHARED_FIT_OPTIONS,
    grouped_option(
        "--margin",
        "margins",
        multiple=True,
        metavar="KIND:NAME",
        group=Group.FIT,
        help="Also match this mix: column:NAME for the groups of a column of the log, "
        "agreement:SPEC for the ranks that a model of production gives. Repeatable.",
    ),
]
_CHANGE_OPTIONS = [
    grouped_option(
        "--baseline",
        multiple=True,
        metavar="[NAME=]SPEC",
        callback=lambda _context, _option, given: require_once("--baseline", given),
        group=Group.COMPARE,
        everyday=True,
        help="Recommender in use at the date of --reference, if it was another.",
    ),
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
    grouped_option(
        "--draws",
        default=5,
        show_default=True,
        type=click.IntRange(min=1),
        metavar="N",
        group=Group.INTERVALS,
        help="Draws to average over if the view is random (thinned or kept).",
    ),
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


@dataclass(frozen=True)
class LogOptions:
    """Where the log is and how it is read; the same for every command."""

    log: tuple[str, ...]
    user: str | None = None
    item: str | None = None
    time: str | None = None
    time_unit: str | None = None
    time_format: str | None = None
    removed: str | None = None
    drop_nulls: bool = False
    p_user: str | None = None
    p_item: str | None = None
    engine: str = "local"
    master: str | None = None
    spark_conf: tuple[str, ...] = ()
    known: KnownOptions = KnownOptions()
    file: Mapping[str, Any] = field(default_factory=dict)

    @property
    def path(self) -> str | list[str]:
        """The file, folder or glob; several if several were given."""
        return self.log[0] if len(self.log) == 1 else list(self.log)

    def read(self, labels: Sequence[str] = ()) -> Log:
        """Read the log, with columns of texts to split scores by or to match the mix of."""
        from unskew.reading.reader import read_log

        self.known.check()
        by_column = [c for c in (self.p_user, self.p_item) if c and not _is_named(c)]
        log = read_log(
            self._open_spark() if self.is_on_spark else self.path,
            self.user,
            self.item,
            self.time,
            removed=self.removed,
            columns=by_column,
            labels=list(dict.fromkeys(labels)),
            time_unit=self.time_unit,
            time_format=self.time_format,
            drop_nulls=self.drop_nulls,
            exposed=self.known.exposed,
            repeats=self.known.is_given,
            **self.file,
        )
        log = self._count_since_1970(log)
        progress().close()  # what follows stays on the terminal
        if log.reading.folded:
            tell(f"merged {log.reading.folded} repeated rows into the first of the same user and item")
        if log.reading.dropped:
            tell(f"dropped {log.reading.dropped} rows with a null user, item or time")
        return log

    def _count_since_1970(self, log: Log) -> Log:
        """The log with its numbers read as dates, if dates are given and it is plain what the numbers count."""
        from unskew.data.epoch_units import find_epoch_unit
        from unskew.data.relative_times import show_span
        from unskew.data.times import UNIT_WORDS

        first, last = (tick.item() for tick in log.span)
        unit = None if log.axis.is_calendar else find_epoch_unit(first, last)
        if unit is None or self.is_on_spark or not dates_are_given():
            return log
        click.echo(
            f"{log.source}: times read as {UNIT_WORDS[unit]} since 1970, {show_span(unit, first, last)} "
            f"(--time-unit {unit} says so)",
            err=True,
        )
        return log.count_since_1970(unit)

    @property
    def is_on_spark(self) -> bool:
        """Whether the work is done on a cluster; refuses what is about one otherwise."""
        if self.engine != "spark" and (self.master or self.spark_conf):
            given = "--master" if self.master else "--spark-conf"
            raise InputError(f"{given} is about a Spark cluster", remedy="give --engine spark as well")
        return self.engine == "spark"

    def refuse_spark(self, command: str) -> None:
        """Refuse a cluster where a command cannot use one."""
        from unskew.errors import EngineError

        if self.is_on_spark:
            raise EngineError(f"{command} does not work on Spark", remedy="leave out --engine spark")

    def _open_spark(self) -> Any:
        from unskew.engines.spark_session import start_session
        from unskew.reading.spark_files import open_parquet

        settings = [text.partition("=") for text in self.spark_conf]
        wrong = next((key for key, equals, _ in settings if not equals), None)
        if wrong is not None:
            raise InputError(f"--spark-conf is {wrong!r}", remedy="write KEY=VALUE")
        progress().stage("starting Spark")
        session = start_session(self.master, {key: value for key, _, value in settings})
        return open_parquet(self.log, session)

    def check_outputs(self, *outputs: str | None, inputs: Sequence[str | None] = (), tables: bool = True) -> None:
        """Refuse to write where one cannot, over a file that is read (LOG or one of `inputs`), or to one twice.

        Files of `tables` must say by their names what they are.
        """
        from unskew.files import check_writable, is_file
        from unskew.reading.file_options import split_parameters
        from unskew.reading.sources import expand
        from unskew.table_files import check_table_name

        given = [Path(path) for path in outputs if path is not None]
        for path in given:
            check_writable(path)
            if tables:
                check_table_name(path)
        if not given:
            return
        inputs = [*inputs, *self.known.files]
        here = [path for path in self.log if "://" not in path] if self.is_on_spark else self.log
        named = [split_parameters(name)[0] for name in inputs if name is not None]
        read = [*expand(here), *(Path(name) for name in named if is_file(name))]
        for k, path in enumerate(given):
            if any(_is_same(path, other) for other in read):
                raise InputError(
                    f"{path} is an input of this command and would be overwritten",
                    remedy="choose another output file",
                )
            if any(_is_same(path, other) for other in given[:k]):
                raise InputError(f"{path} would be written twice", remedy="choose two output files")

    def read_dates(self, log: Log, reference: str | None, at: str, *, ordered: bool = True) -> tuple[Any, Any]:
        """The two dates that are compared, as times of the whole log, which a view may not have; checked.

        A reference that names a file stays as it is.
        """
        now = log.moment(at).label
        if reference is None or _is_reference_file(reference):
            return reference, now
        log.check_dates(reference, at, ordered=ordered)
        return log.moment(reference).label, now

    def take_draws(
        self,
        log: Log,
        *,
        since: Any,
        until: Any,
        draws: int = 1,
        seed: int = 0,
        compared: Mapping[str, Any] | None = None,
    ) -> list[Log]:
        """The best view of the log that what is known allows; several draws of it, where chance decides.

        `since` and `until` are the dates that are compared; a `since` that names a file is no date. If models are
        `compared` on the view, it is tested.
        """
        begin = since
        if since is not None and _is_reference_file(since):
            begin = self._date_of_file(since, log)
        views = self.known.take(
            log, begin, until, draws=draws, seed=seed, drop_nulls=self.drop_nulls, compared=compared
        )
        progress().close()
        return views

    def _date_of_file(self, path: str, log: Log) -> Any:
        """The date of a saved marginal, if what is known needs one and it is a date of the log."""
        from unskew.data.marginal import Marginal
        from unskew.errors import TimeError

        if self.known.holdout is None:
            return None
        found = Marginal.load(path).at
        try:
            log.axis.moment(found)
        except TimeError:
            return None
        return found

    def describe_view(self, log: Log) -> dict[str, Any] | None:
        """What JSON says about the view that was taken."""
        return None if log.view_report is None else log.view_report.to_dict()

    def print_view(self, log: Log) -> None:
        """Say which view was taken and why, if anything was said about what is known."""
        if self.known.is_given:
            print_view(log.view_report)

    def snapshot(self, log: Log, at: Any) -> Snapshot:
        """The profiles at a date, with the P(u) and P(i|u) asked for."""
        return log.at(at, **self.priors())

    def priors(self) -> dict[str, Any]:
        """P(u) and P(i|u), as `Log.at` takes them."""
        return {"p_user": self.p_user, "p_item": _item_prior(self.p_item)}

    def reference(self, log: Log, given: Any) -> Reference:
        """A date of the log, or a file with a marginal."""
        from unskew.data.marginal import Marginal

        reference = self.reference_of(given)
        return reference if isinstance(reference, Marginal) else self.snapshot(log, reference)

    def reference_of(self, given: Any) -> Any:
        """The date that was given, or the marginal in a file."""
        from unskew.data.marginal import Marginal

        return Marginal.load(given) if _is_reference_file(given) else given


def dates_are_given() -> bool:
    """Whether the command under way was given a date, where a number or a file could stand."""
    from unskew.data.date_grammar import parse_month, parse_time

    context = click.get_current_context(silent=True)
    given = context.params if context else {}
    values = [given.get(name) for name in ("reference", "at", "start", "end", "after")]
    windows = [part for one in given.get("campaigns") or () for part in re.split(r"[:/]", str(one))]
    texts = [value for value in (*values, *windows) if isinstance(value, str)]
    return any(parse_time(text) or parse_month(text) or _STEP.fullmatch(text.strip()) for text in texts)


def log_options(function: Function) -> Function:
    """Add LOG and the options that say how to read it; the command gets them as one `source`."""

    @functools.wraps(function)
    def command(**given: Any) -> Any:
        known = KnownOptions(**{name: given.pop(name) for name in KnownOptions.__dataclass_fields__})
        file = take_file_options(given)
        mine = {name: given.pop(name) for name in LogOptions.__dataclass_fields__ if name not in ("known", "file")}
        return function(source=LogOptions(**mine, known=known, file=file), **given)

    return limit_options(_decorate(command, _LOG_OPTIONS))


def limit_options(function: Function) -> Function:
    """Add --memory-limit and --temp-dir, to which all keeps that the command reads."""

    @functools.wraps(function)
    def command(memory_limit: str | None, temp_dir: str | None, **given: Any) -> Any:
        from unskew.reading.limits import limit_reading, refuse_limits_on_spark

        if given.get("engine") == "spark":
            refuse_limits_on_spark(memory_limit, temp_dir, by_option=True)
            return function(**given)
        with limit_reading(memory_limit, temp_dir):
            return function(**given)

    return _decorate(command, _LIMIT_OPTIONS)


def file_options(function: Function) -> Function:
    """Add LOG and what says how to read its columns, and no more; the command gets a `source`."""

    @functools.wraps(function)
    def command(**given: Any) -> Any:
        file = take_file_options(given)
        mine = {name: given.pop(name) for name in ("log", "user", "item", "time", "time_unit", "time_format")}
        return function(source=LogOptions(**mine, file=file), **given)

    return _decorate(command, _FILE_OPTIONS)


def score_options(function: Function) -> Function:
    """Add -r and -m: the command gets `recommenders` and `metrics`."""
    return _decorate(function, _SCORE_OPTIONS)


def split_options(function: Function) -> Function:
    """Add --after, --leave-last-out and --min-items, under the names that `SplitRule` gives them."""
    return _decorate(function, _SPLIT_OPTIONS)


def change_options(function: Function) -> Function:
    """Add what scores and their changes since a reference date are made with, beside -r, -m and the fit.

    The command gets `baseline`, `draws`, `refit`, `level`, and the fields of `SelectionOptions`.
    """
    return _decorate(function, _CHANGE_OPTIONS)


def require_once(name: str, given: Sequence[str]) -> str | None:
    """The value of an option that may be given once; without this the last of several would count."""
    if len(given) > 1:
        raise InputError(f"{name} is given {len(given)} times", remedy="give it once")
    return given[0] if given else None


def check_specs(recommenders: Sequence[str], metrics: Sequence[str]) -> dict[str, Recommender]:
    """Find a slip in -r or -m before the log is read; gives the recommenders by name."""
    from unskew.evaluation.metric import distinct_metrics
    from unskew.recommend.specs import name_recommenders

    distinct_metrics(metrics)
    return name_recommenders(recommenders)


@dataclass(frozen=True)
class FitChoice:
    """What the command line says about fitting weights; what it does not say is not in `given`."""

    given: dict[str, Any]

    @property
    def first(self) -> str | None:
        """The name of the first option that was given, if any was."""
        return next(iter(self.given), None)

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

        return [parse_margin(text) for text in self.given.get("margins", ())]

    def keywords(self, log: Log, **more: Any) -> Any:
        """The same, and more if it is not None, as `fit_weights` takes it; items as ids of the log."""
        chosen = self.given | {name: value for name, value in more.items() if value is not None}
        if "items" in chosen:
            chosen["items"] = item_ids(chosen["items"], log)
        if "margins" in chosen:
            chosen["margins"] = self._margins()
        if ("top" in chosen or "items" in chosen) and "method" not in chosen:
            chosen["method"] = "descent"
        return chosen


def fit_options(function: Function) -> Function:
    """Add everything that `unskew.FitOptions` has: the command gets a `fit`."""
    return _gather(function, _FIT_OPTIONS)


def shared_fit_options(function: Function) -> Function:
    """Add what fits of all and of some items share: the command gets a `fit`."""
    return _gather(function, _SHARED_FIT_OPTIONS)


def _gather(function: Function, options: Sequence[Callable[[Function], Function]]) -> Function:
    names = [param.name for param in click.command()(_decorate(lambda: None, options)).params]

    @functools.wraps(function)
    def command(**given: Any) -> Any:
        mine = {name: given.pop(name) for name in names}
        return function(fit=FitChoice({k: v for k, v in mine.items() if v not in (None, ())}), **given)

    return _decorate(command, options)


def show_options(function: Function) -> Function:
    """Add --json and --debug; the command gets only the first, as `as_json`."""
    return _decorate(function, _SHOW_OPTIONS)


def item_ids(text: str, log: Log) -> list[object]:
    """Ids that --items names, in the type of the log's."""
    import pyarrow as pa

    kind = log.items.values.type
    wanted = [part.strip() for part in text.split(",") if part.strip()]
    try:
        ids: list[object] = pa.array(wanted, type=pa.string()).cast(kind).to_pylist()
    except pa.ArrowInvalid:
        raise InputError(f"--items {text!r}: the items of this log are {kind}") from None
    return ids


def _decorate(function: Function, options: Sequence[Callable[[Function], Function]]) -> Function:
    for option in reversed(options):
        function = option(function)
    return function


def _is_reference_file(given: Any) -> bool:
    """Whether a reference names a file with a marginal, and not a date."""
    from unskew.files import is_file
    from unskew.reading.formats import PARQUET, find_ending

    return isinstance(given, str) and (find_ending(Path(given)) in PARQUET.endings or is_file(given))


def _is_same(one: Path, other: Path) -> bool:
    return one.resolve() == other.resolve() or (one.exists() and other.exists() and one.samefile(other))


def _is_named(prior: str) -> bool:
    return prior == "uniform" or prior.startswith("recency:")


def _item_prior(text: str | None) -> ItemPrior:
    from unskew.data.priors import Recency

    if text is None or not text.startswith("recency:"):
        return text
    try:
        return Recency(float(text.removeprefix("recency:")))
    except ValueError:
        raise InputError(
            f"--p-item is {text!r}", remedy="give a number after the colon, such as recency:30"
        ) from None
