"""The log that options describe: where it is, how it is read, and the view of it that is evaluated."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from unskew.cli.known_options import KnownOptions, print_view
from unskew.cli.terminal import tell
from unskew.data.date_grammar import parse_month, parse_time
from unskew.errors import EngineError, InputError, TimeError
from unskew.progress import progress
from unskew.reading.input_files import split_parameters
from unskew.storage.files import check_writable, is_file

if TYPE_CHECKING:
    from unskew.data.log import Log
    from unskew.data.policy import ItemPrior
    from unskew.data.slice import Snapshot
    from unskew.weights.alignment import Reference

_STEP = re.compile(r"-\s*[0-9.]+\s*[a-z]+")  # -30d: 30 days before the end
_FILE_FIELDS = ("format", "sep", "header", "column_names", "encoding", "quote", "table", "query")


@dataclass(frozen=True)
class LogFiles:
    """Where the log is, and how its files and columns are read."""

    log: tuple[str, ...]
    user: str | None = None
    item: str | None = None
    time: str | None = None
    time_unit: str | None = None
    time_format: str | None = None
    format: str | None = None
    sep: str | None = None
    header: bool | None = None
    column_names: str | None = None
    encoding: str | None = None
    quote: str | None = None
    table: str | None = None
    query: str | None = None

    @property
    def path(self) -> str | list[str]:
        """The file, folder or glob; several if several were given."""
        return self.log[0] if len(self.log) == 1 else list(self.log)

    @property
    def file(self) -> dict[str, Any]:
        """The options about the format that were given, as `read_log` takes them."""
        return {name: value for name in _FILE_FIELDS if (value := getattr(self, name)) is not None}


@dataclass(frozen=True)
class LogOptions(LogFiles):
    """The log of a command: its files, who and what counts for how much, what is known, and where it is read."""

    removed: str | None = None
    drop_nulls: bool = False
    p_user: str | None = None
    p_item: str | None = None
    engine: str = "local"
    master: str | None = None
    spark_conf: tuple[str, ...] = ()
    known: KnownOptions = KnownOptions()

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
        from unskew.data.time_steps import find_epoch_unit, show_span
        from unskew.data.times import UNIT_WORDS

        first, last = (tick.item() for tick in log.span)
        unit = None if log.axis.is_calendar else find_epoch_unit(first, last)
        if unit is None or self.is_on_spark or not _dates_are_given():
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
            flag = "--master" if self.master else "--spark-conf"
            raise InputError(f"{flag} is about a Spark cluster", remedy="give --engine spark as well")
        return self.engine == "spark"

    def refuse_spark(self, command: str) -> None:
        """Refuse a cluster where a command cannot use one."""
        if self.is_on_spark:
            raise EngineError(f"{command} does not work on Spark", remedy="leave out --engine spark")

    def _open_spark(self) -> Any:
        from unskew.engines.spark.jobs import start_session
        from unskew.engines.spark.tables import open_parquet

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
        from unskew.reading.sources import expand
        from unskew.storage.tables import check_table_name

        targets = [Path(path) for path in outputs if path is not None]
        for path in targets:
            check_writable(path)
            if tables:
                check_table_name(path)
        if not targets:
            return
        logs = [path for path in self.log if "://" not in path] if self.is_on_spark else self.log
        names = [split_parameters(name)[0] for name in (*inputs, *self.known.files) if name is not None]
        sources = [*expand(logs), *(Path(name) for name in names if is_file(name))]
        for k, path in enumerate(targets):
            if any(_is_same(path, source) for source in sources):
                raise InputError(
                    f"{path} is an input of this command and would be overwritten",
                    remedy="choose another output file",
                )
            if any(_is_same(path, other) for other in targets[:k]):
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

        if self.known.holdout is None:
            return None
        date = Marginal.load(path).at
        try:
            log.axis.moment(date)
        except TimeError:
            return None
        return date

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

    def reference(self, log: Log, date_or_file: Any) -> Reference:
        """The profiles at a date of the log, or the marginal in a file."""
        is_file_name = _is_reference_file(date_or_file)
        return self.reference_of(date_or_file) if is_file_name else self.snapshot(log, date_or_file)

    def reference_of(self, date_or_file: Any) -> Any:
        """The date that was given, or the marginal in a file."""
        from unskew.data.marginal import Marginal

        return Marginal.load(date_or_file) if _is_reference_file(date_or_file) else date_or_file


def _dates_are_given() -> bool:
    """Whether the command under way was given a date, where a number or a file could stand."""
    context = click.get_current_context(silent=True)
    params = context.params if context else {}
    values = [params.get(name) for name in ("reference", "at", "start", "end", "after")]
    windows = [part for window in params.get("campaigns") or () for part in re.split(r"[:/]", str(window))]
    texts = [value for value in (*values, *windows) if isinstance(value, str)]
    return any(parse_time(text) or parse_month(text) or _STEP.fullmatch(text.strip()) for text in texts)


def _is_reference_file(reference: Any) -> bool:
    """Whether a reference names a file with a marginal, and not a date."""
    from unskew.reading.formats import PARQUET, find_ending

    return isinstance(reference, str) and (find_ending(Path(reference)) in PARQUET.endings or is_file(reference))


def _is_same(path: Path, other: Path) -> bool:
    return path.resolve() == other.resolve() or (path.exists() and other.exists() and path.samefile(other))


def _is_named(prior: str) -> bool:
    return prior == "uniform" or prior.startswith("recency:")


def _item_prior(text: str | None) -> ItemPrior:
    from unskew.data.policy import Recency

    if text is None or not text.startswith("recency:"):
        return text
    try:
        return Recency(float(text.removeprefix("recency:")))
    except ValueError:
        raise InputError(
            f"--p-item is {text!r}", remedy="give a number after the colon, such as recency:30"
        ) from None
