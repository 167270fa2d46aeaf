"""The global time split: fit at one time, and find what users took later."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from unskew.data.snapshot import Snapshot
from unskew.data.times import Moment
from unskew.data.window import Window
from unskew.errors import EmptyError, TimeError, option


@dataclass(frozen=True)
class TimeSplit:
    """A global time split: what was known at a time, and what has to be found.

    Attributes
    ----------
    known
        The profiles at that time; all that a recommender may see.
    whole
        What was taken after it, up to the snapshot, by anyone.
    pairs
        The same of the users who had a profile by then: what is held out.
    """

    known: Snapshot
    whole: Window
    pairs: Window

    @classmethod
    def of(cls, snapshot: Snapshot, after: Any) -> TimeSplit:
        """Split what the snapshot holds at the time `after`."""
        start = after if isinstance(after, Moment) else snapshot.log.axis.moment(after)
        require_before(start, snapshot)
        whole = snapshot.log.between(start, snapshot)
        known = snapshot.log.at(start)
        pairs = whole.restrict(known.sizes() > 0)
        if not pairs.shares().any():
            raise EmptyError(
                f"nobody who had a profile at {known.at} took anything between then and {snapshot.at}: there is "
                "nothing to hold out",
                remedy=f"choose an earlier {option('after')}",
            )
        return cls(known, whole, pairs)


def require_before(start: Moment, snapshot: Snapshot) -> None:
    """Refuse a time split that begins when it should have ended."""
    if start.tick >= snapshot.tick:
        raise TimeError(f"{option('after', start.label)} is not before {option('at', snapshot.at)}")
