"""What is known about the time of any log, wherever it is: its span, and which times it can be asked about."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from unskew.data.time_steps import LAST, LogSpan, advise_on_numbers, find_epoch_unit, show_span
from unskew.data.times import UNIT_WORDS, Label, Moment, TimeAxis, refuse_compact_date
from unskew.errors import EmptyError, TimeError, UnskewWarning, option


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
        return LogSpan(self.axis, *self._ticks())

    def _ticks(self) -> tuple[Any, Any]:
        first, last = (np.asarray(tick).item() for tick in self.span)
        return first, last

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
            warnings.warn(
                f"{moment.label} is after {self._what()} ends: it runs from {self.first} to {self.last}",
                UnskewWarning,
                stacklevel=3,
            )

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
        warnings.warn(message, UnskewWarning, stacklevel=3)

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
        unit = (
            ""
            if self.axis.kind in ("date", "datetime")
            else f", or what its times count with {option('time_unit')}"
        )
        return TimeError(
            f"{dates} after the end of the log, which runs from {self.first} to {self.last}",
            remedy=f"check the dates{unit}",
        )

    def _refuse_wrong_unit(self, moment: Moment) -> None:
        """Refuse a date outside the log if that comes from a unit of time which cannot be right."""
        first, last = self._ticks()
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
