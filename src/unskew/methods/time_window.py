"""A time window: hold out only what was taken lately."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from unskew.data.held_out import SplitRule
from unskew.data.slice import Slice, Weighting
from unskew.errors import EmptyError, TimeError, option
from unskew.methods.method import Method, divide_among_pairs


@dataclass(frozen=True, eq=False)
class TimeWindow(Method):
    """Only pairs taken after a time: ``P(u) P(i|u)`` over the rest of each profile, renormalised.

    A user who took nothing since is left out. Profiles and models still have everything but the held-out item:
    for a split in which they do not, see ``evaluate(after=...)``.

    Limits: what was taken lately is what recommendations of late have shaped. It helps where they have ended, and
    does harm where they go on.

    Attributes
    ----------
    after
        As for `evaluate`: a time, or text such as ``"-30d"`` (``"-20"`` where times are plain numbers) that says
        how long before the date it is.
    """

    name: ClassVar[str] = "time-window"
    paper: ClassVar[str] = (
        "P. G. Campos, F. Diez and I. Cantador (2014), Time-aware recommender systems: a comprehensive survey and "
        "analysis of existing evaluation protocols"
    )

    after: Any

    def _weigh(self, part: Slice) -> Weighting:
        start = SplitRule(after=self.after).start(part)
        if start.tick >= part.tick:
            raise TimeError(
                f"{option('after', start.label)} is not before {part.at}",
                remedy="what is scored lies between the two: choose an earlier date",
            )
        recent = part.per_entry(part.log.time) > start.tick
        if not (recent & part.mark_entries()).any():
            raise EmptyError(
                f"no interaction that is held out at {part.at} is after {start.label}",
                remedy=f"choose an earlier {option('after')}",
            )
        return Weighting.of_pairs(part, divide_among_pairs(part, recent.astype(float)))
