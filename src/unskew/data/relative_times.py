"""Times that people give with a log in mind: ``last``, ``-30d`` before it, and any other time of its axis.

`unskew.data.times` reads times that stand for themselves; here they may refer to the span of a log, and every
error names it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from unskew.data.date_grammar import SPACE
from unskew.data.epoch_units import advise_on_numbers, find_epoch_unit
from unskew.data.time_steps import Step
from unskew.data.times import UNIT_WORDS, Moment, TimeAxis
from unskew.errors import TimeError, option

LAST = "last"
_STEP = re.compile(r"-\s*[0-9.]+\s*[a-z]+")  # a bare number is a time: that of a log of numbers
_NUMBER = re.compile(r"-\s*(\d+(?:\.\d*)?|\.\d+)")


@dataclass(frozen=True)
class LogSpan:
    """The time axis of a log, and its first and last tick."""

    axis: TimeAxis
    first: int | float
    last: int | float

    def moment(self, value: Any) -> Moment:
        """Read a time given by a person, as `TimeAxis.moment` does; text may be relative to the end of the log."""
        return self._read(value, begin=False)

    def begin(self, value: Any) -> Moment:
        """The same where something begins: a bare date is the start of that day, not its end."""
        return self._read(value, begin=True)

    def is_relative(self, text: str) -> bool:
        """Whether a text says how long before something else: -30d. A negative number is a time of some logs."""
        if not text.startswith("-"):
            return False
        numbers = self.axis.kind in ("integer", "float", "epoch") and self.first < 0
        return not (numbers and _NUMBER.fullmatch(text))

    def _read(self, value: Any, *, begin: bool) -> Moment:
        if isinstance(value, Moment):
            return value
        text = value.strip(SPACE) if isinstance(value, str) else ""
        read = self.axis.begin if begin else self.axis.moment
        try:
            if text.lower() == LAST:
                return self._find_end()
            if _STEP.fullmatch(text.lower()):
                return Step.of(self.axis, text[1:].strip()).before(self.axis, self._find_end())
            return read(value)
        except TimeError as error:
            raise self._add_span(error) from None

    def _find_end(self) -> Moment:
        """The end of the log; the bare date of its last day where it has days."""
        if not self.axis.is_calendar:
            return Moment(self.last, self.axis.show(self.last))
        return self.axis.moment(str(self.axis.show(self.last))[:10])

    def _add_span(self, error: TimeError) -> TimeError:
        """The same error with the span of the log, and with what its numbers count if that is plain to see."""
        shown = f"the log runs from {self.axis.show(self.first)} to {self.axis.show(self.last)}"
        unit = None if self.axis.is_calendar else find_epoch_unit(self.first, self.last)
        if unit is None:
            advice = "" if self.axis.is_calendar else advise_on_numbers(self.first, self.last)
            return TimeError(f"{error.message} ({shown})", remedy=f"{error.remedy}{'; ' * bool(advice)}{advice}")
        return TimeError(
            f"{error.message} ({shown})",
            remedy=f"they look like {UNIT_WORDS[unit]} since 1970, which {option('time_unit', unit)} says",
        )


def show_span(unit: str, first: int | float, last: int | float) -> str:
    """From when to when numbers run that count so since 1970, in days."""
    axis = TimeAxis("epoch", unit, "UTC")
    return " to ".join(str(axis.show(int(tick)))[:10] for tick in (first, last))
