"""The log: all of history as one time-sorted table of profiles.

A `Log` is arrays (per user, the items in order of time) plus the two dictionaries that turn codes back into the
caller's ids. `DatedLog` is what any log knows about its time, wherever it is: its span, and which times it can be
asked about. Reading files is left to `unskew.reading`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from unskew.arrays import kernels
from unskew.arrays.blocks import over_blocks
from unskew.arrays.profiles import Profiles, cut_users
from unskew.arrays.types import Codes, Floats, Items, Mask, Offsets, Times
from unskew.data.columns import Columns, Labels, Reading, Repeats, keep_rows
from unskew.data.ids import Ids
from unskew.data.policy import ItemPrior, UserPrior
from unskew.data.saved_log import read_saved_log, write_saved_log
from unskew.data.slice import Snapshot, Window
from unskew.data.time_steps import LAST, LogSpan, advise_on_numbers, find_epoch_unit, show_span
from unskew.data.times import PER_SECOND, UNIT_WORDS, Label, Moment, TimeAxis, check_time_unit, refuse_compact_date
from unskew.data.view_report import ViewReport
from unskew.errors import ColumnError, EmptyError, InputError, TimeError, option, warn

Column = TypeVar("Column")


class DatedLog:
    """A log that has a time axis, a first and a last tick, and is a view of some name."""

    if TYPE_CHECKING:
        axis: TimeAxis
        view: str

        @property
        def span(self) -> tuple[Any, Any]:
            """The first and the last tick."""

    @property
    def first(self) -> Label:
        """The time of the first interaction."""
        return self.axis.show(self.span[0])

    @property
    def last(self) -> Label:
        """The time of the last interaction."""
        return self.axis.show(self.span[1])

    def moment(self, time: Any) -> Moment:
        """A time of this log: a date or a number, ``"last"`` for its end, ``"-30d"`` for so long before that."""
        return self._span.moment(time)

    def begin(self, time: Any) -> Moment:
        """The same where something begins: a bare date is the start of that day, a month that of its first."""
        return self._span.begin(time)

    @property
    def _span(self) -> LogSpan:
        first, last = (np.asarray(tick).item() for tick in self.span)
        return LogSpan(self.axis, first, last)

    def too_early_error(self, moment: Moment, remedy: str = "") -> EmptyError:
        """The error about a time before the first interaction."""
        return EmptyError(
            f"nothing had happened yet at {moment.label}: {self._what()} runs from {self.first} to {self.last}",
            remedy=remedy,
        )

    def check_range(self, moment: Moment) -> None:
        """Refuse a time before the first interaction, and warn of one after the last."""
        first, last = self.span
        refuse_compact_date(self.axis, moment, self.span)
        if not first <= moment.tick <= last:
            self._refuse_wrong_unit(moment)
        if moment.tick < first:
            raise self.too_early_error(moment)
        if self._is_late(moment):
            warn(f"{moment.label} is after {self._what()} ends: it runs from {self.first} to {self.last}")

    def check_dates(self, reference: Any, at: Any = None, *, ordered: bool = True) -> None:
        """Check two dates that are compared, the second by default the end of the log.

        Both after the end of the log are refused, and a reference after it if it is the only date. A reference
        that is not before the other date is worth a warning, unless the dates need not be `ordered`.
        """
        then, now = self.moment(reference), self.moment(LAST if at is None else at)
        if self.view == "all" and self._is_late(then):
            if at is None or at == LAST:
                raise self._late_error(then, then)
            if self._is_late(now):
                raise self._late_error(then, now)
        last = self.span[1]
        if not ordered or min(then.tick, last) < min(now.tick, last):
            return
        if then.tick > now.tick:
            message = f"the reference {then.label} is after {now.label}: swap them unless that is meant"
        elif then.label == now.label:
            message = f"the reference and the date are both {now.label}: there is nothing to compare"
        else:
            message = (
                f"{self._what()} has nothing between {then.label} and {now.label}: there is nothing to compare"
            )
        warn(message)

    def _is_late(self, moment: Moment) -> bool:
        """Whether a time is after the last interaction; the end of its day is not."""
        same_day = self.axis.is_calendar and str(self.last).startswith(str(moment.label))
        return bool(moment.tick > self.span[1]) and not same_day

    def _late_error(self, then: Moment, now: Moment) -> TimeError:
        """The error about two dates after the last interaction; a wrong unit of time has an error of its own."""
        for moment in (then, now):
            refuse_compact_date(self.axis, moment, self.span)
            self._refuse_wrong_unit(moment)
        dates = f"{then.label} is" if then.label == now.label else f"{then.label} and {now.label} are both"
        remedy = "check the dates"
        if self.axis.kind not in ("date", "datetime"):
            remedy += f", or what its times count with {option('time_unit')}"
        return TimeError(
            f"{dates} after the end of the log, which runs from {self.first} to {self.last}", remedy=remedy
        )

    def _refuse_wrong_unit(self, moment: Moment) -> None:
        """Refuse a date outside the log if that comes from a unit of time which cannot be right."""
        first, last = self._span.first, self._span.last
        unit = find_epoch_unit(first, last) if self.axis.kind == "epoch" else None
        if unit is not None and unit != self.axis.unit:
            raise TimeError(
                f"{moment.label} is outside the log, which runs from {self.first} to {self.last} with "
                f"{option('time_unit', self.axis.unit)}",
                remedy=f"its times look like {UNIT_WORDS[unit]}: with {option('time_unit', unit)} it runs from "
                f"{show_span(unit, first, last)}",
            )

        advice = advise_on_numbers(first, last) if self.axis.kind == "epoch" and self.axis.unit == "day" else ""
        if advice:
            raise TimeError(
                f"{moment.label} is outside the log, which runs from {self.first} to {self.last} with "
                f"{option('time_unit', 'day')}, as days since 1970",
                remedy=advice,
            )

    def _what(self) -> str:
        return "the log" if self.view == "all" else f"the {self.view!r} view of the log"


@dataclass(frozen=True, repr=False, eq=False)
class Log(DatedLog):
    """Who took which item when. Made by `unskew.read_log` or `Log.load`.

    Attributes
    ----------
    users, items
        The ids; a code is a position in these. Users are numbered largest profile first and items
        most frequent first, which makes passes faster and shows nowhere.
    start
        The entries of user u are ``start[u]`` to ``start[u + 1]``, sorted by time.
    item, time
        Item code and tick of each entry.
    axis
        What the ticks mean.
    removed
        Tick at which the item left the profile again, or None if nothing ever leaves.
        An item that never left has the largest tick there is.
    exposed
        Whether the entry came from a row marked as exposed, or None if that was not asked for.
    extra
        Further columns of numbers, one per entry.
    labels
        Further columns of texts, to split scores by.
    view
        Which view of the history this is: ``all``, or the name of a view such as ``organic``; see `unskew.views`.
    unexposed
        Of a log with removals: the same without the exposed rows, which were dropped before stays were joined.
    repeats
        Rows that repeat an earlier one of the same user and item, for views that drop the earlier one; None if
        they were not kept.
    view_report
        Of a view: what it dropped, and why it was taken.
    view_details
        Of a view: what it was made from, in a few words. Weights that were made under another are refused.
    cut
        Where the users are cut into blocks for sums over all of them; of a view as in the whole log. None to cut
        by what they hold.
    is_part
        Whether these are some of the users of a log on a cluster, which has others elsewhere.
    """

    users: Ids
    items: Ids
    start: Offsets
    item: Items
    time: Times
    axis: TimeAxis
    columns: Columns = Columns()
    reading: Reading = Reading(0)
    removed: Times | None = None
    exposed: Mask | None = None
    extra: Mapping[str, Floats] = field(default_factory=dict)
    labels: Mapping[str, Labels] = field(default_factory=dict)
    view: str = "all"
    source: str = "log"
    frames: str | None = None
    unexposed: Log | None = None
    repeats: Repeats | None = None
    view_report: ViewReport | None = None
    view_details: str = ""
    cut: Codes | None = None
    is_part: bool = False

    @classmethod
    def load(cls, path: str | Path) -> Log:
        """Open a saved log; every array is checked before it is used."""
        fields, organic = read_saved_log(Path(path))
        return cls(**fields, unexposed=None if organic is None else cls(**organic))

    def save(self, path: str | Path) -> None:
        """Write the log to one columnar file that `Log.load` and `read_log` open at once.

        >>> import tempfile, unskew as us
        >>> log = us.read_log({"user": ["a", "a", "b"], "item": [1, 2, 1], "time": [3, 4, 5]})
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     log.save(folder + "/log.arrow")
        ...     us.Log.load(folder + "/log.arrow")
        Log(2 users, 2 items, 3 interactions from 3 to 5)
        """
        write_saved_log(self, Path(path))

    def __len__(self) -> int:
        return len(self.item)

    def __repr__(self) -> str:
        view = "" if self.view == "all" else f", {self.view} view"
        return (
            f"Log({self._count_used('users')} users, {self._count_used('items')} items, "
            f"{len(self)} interactions from {self.first} to {self.last}{view})"
        )

    def _count_used(self, what: str) -> int:
        """How many users or items there are; of a view, those that have anything left."""
        if self.view == "all":
            return len(getattr(self, what))
        return int(np.count_nonzero(self.sizes() if what == "users" else np.bincount(self.item)))

    @cached_property
    def span(self) -> tuple[Any, Any]:
        """The first and the last tick; looked for once, since every snapshot asks."""
        return self.time.min(), self.time.max()

    def at(
        self,
        time: Any,
        *,
        p_user: UserPrior = None,
        p_item: ItemPrior = None,
    ) -> Snapshot:
        """The profiles at a date: everything taken up to it, itself included.

        Parameters
        ----------
        time
            A number for a log with numbers, a date or datetime (or text of one) for the others. A
            bare date means the end of that day, in the log's zone, and a month (``"2013-06"``) the end of that;
            ``"last"`` is the end of the log and ``"-30d"`` so long before it.
        p_user
            P(u): None for uniform, a mapping from user id to a number, the name of a column read with
            ``read_log(columns=...)``, or an array in the order of `users`. Any positive scale.
        p_item
            P(i|u): None for uniform, ``Recency(half_life)``, or the name of a column.

        Examples
        --------
        >>> import unskew as us
        >>> log = us.read_log({"user": ["a", "a", "b"], "item": [1, 2, 1], "time": [3, 4, 5]})
        >>> log.at(4)
        Snapshot(at 4: 1 users, 2 items, 2 interactions)
        """
        moment = self.moment(time)
        self.check_range(moment)
        snapshot = Snapshot.of(self, moment)
        return snapshot.with_priors(p_user, p_item)

    def between(self, start: Any, end: Any, *, known: bool = False) -> Window:
        """What was taken after `start` and up to `end` (a time, or a snapshot of this log).

        Not profiles but what was added to them: what users took later than some time, and nothing earlier. With
        `known` only of the users who had a profile at `start`, which is what a global time split holds out.

        >>> import unskew as us
        >>> log = us.read_log({"user": ["a", "a", "b"], "item": [1, 2, 1], "time": [3, 4, 5]})
        >>> log.between(3, 5)
        Window(after 3 and up to 5: 2 users, 2 items, 2 interactions)
        >>> log.between(3, 5, known=True)
        Window(after 3 and up to 5: 1 users, 1 items, 1 interactions)
        """
        last = end if isinstance(end, Snapshot) else self.at(end)
        if last.log.item is not self.item:
            raise InputError(f"{last} is of another log or view", remedy="give a time, or a snapshot of this log")
        moment = self.moment(start)
        window = Window.of(last, moment)
        return window.keep_known(self.at(moment)) if known else window

    def count_since_1970(self, unit: str) -> Log:
        """The same log with its numbers read as so many units since 1970, so that dates work.

        >>> import unskew as us
        >>> log = us.read_log({"user": ["a", "b"], "item": [1, 2], "time": [1370044800, 1370131200]})
        >>> log.count_since_1970("s").at("2013-06-01")
        Snapshot(at 2013-06-01: 1 users, 1 items, 1 interactions)
        """
        check_time_unit(unit)
        if self.axis.is_calendar:
            raise TimeError("the times of this log are dates already", remedy="use it as it is")
        axis = TimeAxis("epoch", unit, "UTC")
        if self.axis.kind == "integer":
            inner = None if self.unexposed is None else replace(self.unexposed, axis=axis)
            return replace(self, axis=axis, unexposed=inner)
        return self._round_to_microseconds(unit)

    def _round_to_microseconds(self, unit: str) -> Log:
        """The same for decimal numbers, as reading them with a unit does."""
        factor, axis = 1.0, TimeAxis("epoch", "day", "UTC")
        if unit != "day":
            factor, axis = 10**6 / PER_SECOND[unit], TimeAxis("epoch", "us", "UTC")

        def convert(times: Times) -> Times:
            most = np.iinfo(np.int64).max  # when an item leaves that never leaves
            ticks = np.floor(times * factor)
            return np.where(np.isinf(ticks), most, np.where(np.isinf(ticks), 0, ticks).astype(np.int64))

        repeats = None if self.repeats is None else replace(self.repeats, time=convert(self.repeats.time))
        removed = None if self.removed is None else convert(self.removed)
        inner = None if self.unexposed is None else self.unexposed.count_since_1970(unit)
        return replace(self, axis=axis, time=convert(self.time), removed=removed, repeats=repeats, unexposed=inner)

    def column(self, name: str) -> Floats:
        """A further column that was read with the log."""
        return _require_read(self.extra, name, f"column {name!r} was", "columns")

    def label(self, name: str) -> Labels:
        """A column of texts that was read with the log."""
        return _require_read(self.labels, name, f"labels {name!r} were", "labels")

    @cached_property
    def numbered_by_id(self) -> Log:
        """The same log with its items numbered in the order of their ids.

        This is the numbering that recommenders see. That of the log itself follows how often items are taken in
        all of history, so that whoever breaks ties by it would know the future.
        """
        order = self.items.order()
        place = np.empty(len(order), dtype=np.uint32)
        place[order] = np.arange(len(order), dtype=np.uint32)
        items = Ids(self.items.values.take(order), self.items.type)
        return replace(self, items=items, item=place[self.item], unexposed=None, cut=self.edges)

    @cached_property
    def edges(self) -> Codes:
        """Where the users are cut into blocks, at every date and in every view."""
        if self.cut is not None:
            return self.cut
        return cut_users(self.sizes(), len(self.items))

    def keep_entries(self, keep: Mask, *, repeats: Mask | None = None, view: str | None = None) -> Log:
        """The log of some of its interactions; users and items keep their codes.

        Parameters
        ----------
        keep
            Which entries to keep.
        repeats
            Which of the `repeats` of the log to keep: an entry that is dropped then counts from the first of them,
            if there is one. None drops an entry whatever comes later.
        view
            What the result is called; by default what this log is called.
        """
        left = keep_rows(self, np.asarray(keep, dtype=np.bool_), repeats)
        return replace(left, view=self.view if view is None else view, cut=self.edges)

    def is_debiased_for(self, recommender: str, model: str, *, constant: bool = False) -> bool:
        """Whether this is a view in which, by its tests, nothing recommended shows to a recommender any more.

        A constant list learns nothing, so that the test of the view is enough.
        """
        report = self.view_report
        return report is not None and (report.trusted if constant else report.is_trusted_for(recommender, model))

    def sizes(self) -> Codes:
        """Number of entries of each user."""
        ends = self.start.astype(np.int64)
        return ends[1:] - ends[:-1]

    def entry_users(self) -> Codes:
        """Whose each entry is, as a code."""
        return np.repeat(np.arange(len(self.users)), self.sizes())

    def profiles(self, stop: Offsets) -> Profiles:
        """The rows up to `stop`, as plain arrays."""
        return Profiles(self.start[:-1], stop, self.item, len(self.items), cut=self.edges)

    def stops_at(self, tick: int | float) -> Offsets:
        """Where each row ends at `tick`. The only thing that a snapshot allocates."""
        stop = np.empty(len(self.users), dtype=self.start.dtype)
        edges = np.linspace(0, len(self.users), 9).astype(np.int64)
        over_blocks(
            edges, len(self), lambda _, lo, hi: kernels.find_stops(lo, hi, self.start, self.time, tick, stop)
        )
        return stop


def _require_read(columns: Mapping[str, Column], name: str, subject: str, option_name: str) -> Column:
    if name not in columns:
        names = ", ".join(map(repr, columns)) or "none"
        raise ColumnError(
            f"no {subject} read with the log (read: {names})", remedy=f"name it with {option(option_name)}"
        )
    return columns[name]
