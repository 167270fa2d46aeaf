"""Options for what a user knows about what was recommended, and the view of the log that this allows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from unskew.cli.terminal import print_line, print_table
from unskew.errors import PolicyError, option
from unskew.text import percent, thousands

if TYPE_CHECKING:
    from unskew.data.log import Log
    from unskew.data.view_report import ViewReport
    from unskew.views.knowledge import Knowledge


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
        from unskew.reading.input_files import split_parameters

        lists = [] if self.production is None else _files_of(self.production)
        given = [name for name in (self.exposures, self.holdout) if name is not None]
        return [*(split_parameters(name)[0] for name in given), *lists]

    def check(self) -> None:
        """Find a slip before the log is read."""
        if self.exposures is not None and self.exposed is not None:
            raise PolicyError(f"give {option('exposures')} or {option('exposed')}, not both")
        if self.within is not None and self.exposures is None:
            raise PolicyError(
                f"{option('within')} is how long an exposure counts", remedy=f"give {option('exposures')}"
            )
        if self.holdout is not None:
            from unskew.reading.sources import expand

            expand(self.holdout)  # which refuses a file that is not there
        if self.production is not None and self.production != "auto":
            from unskew.recommend.specs import recommender

            recommender(self.production)
        if self.induced_share is not None:
            from unskew.views.knowledge import read_share

            read_share(self.induced_share)

    def to_knowledge(self, log: Log, *, drop_nulls: bool = False) -> Knowledge | None:
        """The same as one object, with its files read; None if nothing was said."""
        from unskew.views.knowledge import Knowledge

        if not self.is_given:
            return None
        return Knowledge(
            exposures=self._read_exposures(log, drop_nulls),
            exposed=self.exposed,
            within=self.within,
            campaigns=self.campaigns,
            holdout=self.holdout,
            production=self.production,
            induced_share=self.induced_share,
        )

    def take(
        self,
        log: Log,
        since: Any,
        until: Any,
        *,
        draws: int = 1,
        seed: int = 0,
        drop_nulls: bool = False,
        compared: Mapping[str, Any] | None = None,
    ) -> list[Log]:
        """Draws of the best view that is possible, or of the one that is insisted on.

        If models are `compared` on the view, they compete as stand-ins for production, and the view is tested.
        """
        from unskew.views.knowledge import Knowledge

        knowledge = self.to_knowledge(log, drop_nulls=drop_nulls) or Knowledge()
        return knowledge.take(
            log,
            view=self.view,
            since=since,
            until=until,
            candidates=compared or {},
            test=compared is not None,
            seed=seed,
            draws=draws,
        )

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


def _files_of(production: str) -> list[str]:
    if production == "auto":
        return []
    from unskew.recommend.contract import traits_of
    from unskew.recommend.specs import recommender

    return [str(file) for file in traits_of(recommender(production)).files]


def print_view(report: ViewReport | None, *, details: bool = True) -> None:
    """Which view was chosen and why, what it drops, and what would improve it; its strata with the details."""
    if report is None:
        return
    for line in _describe(report):
        print_line(line)
    if report.strata and details:
        rows = [
            [
                stratum.name,
                thousands(stratum.pairs),
                thousands(stratum.dropped),
                percent(stratum.dropped_mass),
                "" if stratum.observed is None else f"{stratum.observed:.4g}",
                "" if stratum.usual is None else f"{stratum.usual:.4g}",
            ]
            for stratum in report.strata
        ]
        print_table(["in the windows", "pairs", "dropped", "mass", "a user", "usually"], rows, left=1)
    for note in (note for note in report.notes if note != report.test):
        print_line(f"Note: {note}.")
    for one in report.advice:
        print_line(f"Better: {one}.")


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
