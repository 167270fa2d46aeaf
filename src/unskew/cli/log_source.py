"""The log that options describe: where it is, how it is read, what is known about it, and its view."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from unskew.cli.terminal import print_line, print_table, tell
from unskew.data.date_grammar import parse_month, parse_time
from unskew.errors import EngineError, InputError, PolicyError, TimeError, option
from unskew.progress import progress
from unskew.reading.input_files import split_parameters
from unskew.storage.files import check_writable, is_file
from unskew.text import percent, thousands

if TYPE_CHECKING:
    from unskew.data.log import Log
    from unskew.data.policy import ItemPrior
    from unskew.data.slice import Snapshot
    from unskew.data.view_report import ViewReport
    from unskew.views.knowledge import Knowledge
    from unskew.weights.alignment import Reference


@dataclass(frozen=True)
class KnownOptions:
    """What is known about what was recommended; the same for every command that reads a log."""

    exposures: str | None = None
    exposed: str | None = None
    within: str | None = None
    campaigns: tuple[str, ...] = ()
    holdout: str | None = None
    production: str | None = None
    induced_share: str | None = None
    view: str | None = None

    @property
    def is_given(self) -> bool:
        """Whether anything was said."""
        return any(getattr(self, name) for name in self.__dataclass_fields__)

    @property
    def files(self) -> list[str]:
        """The files that are read for it."""
        names = [name for name in (self.exposures, self.holdout) if name is not None]
        files = [split_parameters(name)[0] for name in names]
        if self.production is not None and self.production != "auto":
            from unskew.recommend.contract import traits_of
            from unskew.recommend.specs import recommender

            files += map(str, traits_of(recommender(self.production)).files)
        return files

    def check(self) -> None:
        """Find a slip before the log is read."""
        if self.exposures is not None and self.exposed is not None:
            raise PolicyError(f"give {option('exposures')} or {option('exposed')}, not both")
        if self.holdout is not None:
            from unskew.reading.sources import expand

            expand(self.holdout)  # which refuses a file that is not there
        if self.production is not None and self.production != "auto":
            from unskew.recommend.specs import recommender

            recommender(self.production)
        if self.within is not None or self.induced_share is not None:
            from unskew.views.knowledge import Knowledge

            Knowledge(exposures=self.exposures, within=self.within, induced_share=self.induced_share)

    def to_knowledge(self, log: Log, *, drop_nulls: bool = False) -> Knowledge | None:
        """The same as one object, with its files read; None if nothing was said."""
        from unskew.views.knowledge import Knowledge

        if not self.is_given:
            return None
        known = {name: value for name, value in vars(self).items() if name != "view"}
        return Knowledge(**known | {"exposures": self._read_exposures(log, drop_nulls)})

    def _read_exposures(self, log: Log, drop_nulls: bool) -> Any:
        """The exposures, their columns named as in FILE?user=A or else found by what they are called.

        For a log on Spark they are rows of a Spark table, else a log.
        """
        if self.exposures is None:
            return None
        from unskew.engines.population import is_on_spark
        from unskew.errors import MissingColumnError
        from unskew.reading.column_guesses import find_columns
        from unskew.reading.input_files import split_roles
        from unskew.reading.reader import read_log

        path, names = split_roles(self.exposures, ("user", "item", "time"))
        try:
            if is_on_spark(log):
                from unskew.engines.spark.layout import open_exposures

                return open_exposures(log, [path], names, drop_nulls=drop_nulls)
            if not names:
                names = asdict(find_columns(path, log.columns, "exposures"))
            user, item, time = (names.get(role) for role in ("user", "item", "time"))
            return read_log(path, user, item, time, repeats=True, drop_nulls=drop_nulls)
        except MissingColumnError as error:  # whose remedy names options for the columns of the log
            remedy = "name its columns as in FILE?user=A&item=B&time=C"
            raise MissingColumnError(error.message, remedy=remedy) from None


def print_view(report: ViewReport | None, *, details: bool = True) -> None:
    """Which view was chosen and why, what it drops, and what would improve it; its strata with the details."""
    if report is None:
        return
    for line in _describe(report):
        print_line(line)
    if report.strata and details:
        rows = []
        for stratum in report.strata:
            rates = ["" if rate is None else f"{rate:.4g}" for rate in (stratum.observed, stratum.usual)]
            sizes = [thousands(stratum.pairs), thousands(stratum.dropped), percent(stratum.dropped_mass)]
            rows.append([stratum.name, *sizes, *rates])
        print_table(["in the windows", "pairs", "dropped", "mass", "a user", "usually"], rows, left=1)
    for note in (note for note in report.notes if note != report.test):
        print_line(f"Note: {note}.")
    for advice in report.advice:
        print_line(f"Better: {advice}.")


def _describe(report: ViewReport) -> Iterator[str]:
    if report.view == "all":
        yield f"View: all of the log, since {report.reason}."
        return
    pairs = f"{thousands(report.dropped_pairs)} of {thousands(report.pairs)} interactions"
    users = f"{thousands(report.dropped_users)} of {thousands(report.users)} users"
    share = percent(report.dropped_pairs / max(report.pairs, 1))
    yield f"View: {report.view}, since {report.reason}. It drops {pairs} ({share}), and {users} with them."
    if report.test:
        status = "Trusted" if report.trusted else "Not trusted"
        yield f"{status}: {report.test}. The view assumes that {report.assumption}."
    for test in report.recommender_tests:
        yield f"{'Trusted' if test.passed else 'Not trusted'} for {test.name}: {test.test}."


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
        by_column = [
            c for c in (self.p_user, self.p_item) if c and c != "uniform" and not c.startswith("recency:")
        ]
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

    def take_view(self, log: Log, *, since: Any, until: Any, seed: int = 0) -> Log:
        """The best view of the log that what is known allows, or the one that is insisted on.

        `since` and `until` are the dates that are compared; a `since` that names a file is no date.
        """
        from unskew.views.knowledge import Knowledge

        if since is not None and _is_reference_file(since):
            since = self._date_of_file(since, log)
        known = self.known.to_knowledge(log, drop_nulls=self.drop_nulls) or Knowledge()
        [view] = known.take(log, view=self.known.view, since=since, until=until, test=False, seed=seed)
        progress().close()
        return view

    def _date_of_file(self, path: str, log: Log) -> Any:
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

    def keywords(self, log: Log) -> dict[str, Any]:
        """The priors and what is known of the log, as `report` takes them."""
        known = self.known.to_knowledge(log, drop_nulls=self.drop_nulls)
        return {"knowledge": known, "view": self.known.view, **self.priors()}

    def reference(self, log: Log, date_or_file: Any) -> Reference:
        """The profiles at a date of the log, or the marginal in a file."""
        is_file_name = _is_reference_file(date_or_file)
        return self.reference_of(date_or_file) if is_file_name else self.snapshot(log, date_or_file)

    def reference_of(self, date_or_file: Any) -> Any:
        """The date that was given, or the marginal in a file."""
        from unskew.data.marginal import Marginal

        return Marginal.load(date_or_file) if _is_reference_file(date_or_file) else date_or_file


def _dates_are_given() -> bool:
    context = click.get_current_context(silent=True)
    params = context.params if context else {}
    values = [params.get(name) for name in ("reference", "at", "start", "end", "after")]
    windows = [part for window in params.get("campaigns") or () for part in re.split(r"[:/]", str(window))]
    texts = [value for value in (*values, *windows) if isinstance(value, str)]
    return any(parse_time(text) or parse_month(text) or _STEP.fullmatch(text.strip()) for text in texts)


def _is_reference_file(reference: Any) -> bool:
    from unskew.reading.formats import PARQUET, find_ending

    return isinstance(reference, str) and (find_ending(Path(reference)) in PARQUET.endings or is_file(reference))


def _is_same(path: Path, other: Path) -> bool:
    return path.resolve() == other.resolve() or (path.exists() and other.exists() and path.samefile(other))


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
