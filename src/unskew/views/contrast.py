"""A contrast: what was taken where something could be shown, against what was taken where nothing was.

Nothing was shown to a holdout group over the same time, or to anyone in quiet windows. `set_up_contrast` reads
what is known, and `rank_contrast` asks a model of production where it had what was taken, and counts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from unskew.arrays.types import Codes, Mask
from unskew.checks import require_instance
from unskew.data.log import Log
from unskew.data.times import Moment, TimeWindow, Windows
from unskew.errors import EmptyError, PolicyError, option, warn
from unskew.text import count
from unskew.views.holdout_group import check_holdout, find_holdout
from unskew.views.outside_view import require_windows
from unskew.views.quiet_windows import find_quiet
from unskew.views.short_windows import ShortWindow, cut_windows, label_before, tick_after, tick_before
from unskew.views.taken_pairs import TakenPairs, find_taken

_SEASON = (
    "what was in demand in the windows for another reason, such as a season, a release or an advertisement, looks "
    "the same as a recommendation"
)


@dataclass(frozen=True)
class Contrast:
    """What was taken in windows, and where nothing was shown.

    Attributes
    ----------
    log
        All of history.
    windows
        Short windows in which production recommended.
    holdout
        Users who were never shown anything; None if nobody was in quiet windows.
    taken, quiet
        What was taken in the windows (with a holdout group also after them, unless that is not asked for), and in
        quiet windows.
    suspect
        Which of `taken` recommendations may have brought; of users who could be shown something.
    notes
        What should be known: how the holdout group differs, what a window cannot tell.
    group_passed
        Whether the holdout group could be checked, and was like the others before anything was shown.
    """

    log: Log
    windows: tuple[ShortWindow, ...]
    holdout: Mask | None
    taken: TakenPairs
    quiet: TakenPairs | None
    suspect: Mask
    notes: tuple[str, ...]
    group_passed: bool = False

    @property
    def quiet_windows(self) -> tuple[ShortWindow, ...]:
        """Windows in which nothing was recommended; none with a holdout group."""
        return () if self.quiet is None else self.quiet.windows

    @property
    def suspect_places(self) -> Codes:
        """Which of `taken` are suspect, as places."""
        return np.flatnonzero(self.suspect)

    def take_some(self, most: int) -> Contrast:
        """The same with not more than so many windows of each kind, spread evenly."""
        taken, quiet = (None if some is None else some.take_some(most) for some in (self.taken, self.quiet))
        assert taken is not None
        suspect = self.suspect[np.isin(self.taken.entry, taken.entry)]
        return replace(self, windows=taken.windows, taken=taken, quiet=quiet, suspect=suspect)

    def mark_inside(self, time: Any) -> Mask:
        """Which of some times lie in the windows."""
        inside = np.zeros(len(time), dtype=np.bool_)
        for window in self.windows:
            inside |= window.contains(time)
        return inside

    def describe_quiet(self) -> str:
        """Where nothing was shown, in words."""
        if self.quiet is None:
            assert self.holdout is not None
            return f"a holdout group of {count(int(self.holdout.sum()), 'user')}"
        first, last = self.quiet.windows[0], self.quiet.windows[-1]
        span = f"{self.log.axis.show(first.start)} and {self.log.axis.show(last.end)}"
        return f"{count(len(self.quiet.windows), 'quiet window')} between {span}"


def set_up_contrast(
    log: Log,
    *,
    campaigns: Windows | None = None,
    holdout: Any = None,
    since: Any = None,
    until: Any = None,
    by_exposure: bool = False,
    later: bool = True,
) -> Contrast:
    """Find the windows, the holdout group or quiet windows, and what was taken in them.

    What may have come from recommendations is what was taken in windows; with `by_exposure`, what was exposed.
    Without `later`, what was taken after windows does not count with a holdout group either.
    """
    require_instance(Log, log, "a log", "read one with read_log")
    last = log.span[1] if until is None else min(log.moment(until).tick, log.span[1])
    group = None if holdout is None else find_holdout(log, holdout)
    given = _find_time(log, campaigns, since, by_exposure=by_exposure, has_group=group is not None)
    windows = cut_windows(log, given, last)
    if not windows:
        raise EmptyError(
            f"no window begins before {log.axis.show(last)}, up to which the log is used",
            remedy=f"check {option('since' if campaigns is None else 'campaigns')} and {option('until')}",
        )
    notes = [_SEASON] if group is None else _check_group(log, group, windows[0].start)
    first = None if group is None else windows[0]
    taken = find_taken(log, windows, first, later=later and group is not None)
    quiet = find_taken(log, find_quiet(log, windows, last)) if group is None else None
    suspect = log.exposed[taken.entry] if by_exposure and log.exposed is not None else taken.inside
    if group is not None:
        suspect = suspect & ~group[taken.user]
    return Contrast(log, tuple(windows), group, taken, quiet, suspect, tuple(notes), not notes)


def _check_group(log: Log, group: Mask, start: int | float) -> list[str]:
    """Warn if a holdout group is not like the others; gives what was found."""
    found = check_holdout(log, group, Moment(tick_before(log, start), label_before(log, start)))
    for sentence in found:
        warn(sentence)
    return found


def _find_time(
    log: Log, campaigns: Windows | None, since: Any, *, by_exposure: bool, has_group: bool
) -> tuple[TimeWindow, ...]:
    """When production recommended: in campaigns, or after a time."""
    if campaigns is not None:
        return require_windows(log, campaigns)
    if not has_group:
        raise PolicyError(
            f"neither {option('campaigns')} nor {option('holdout')} is given",
            remedy="say when something was recommended (START:END), or who was never shown anything",
        )
    if since is not None:
        start = tick_after(log, log.moment(since).tick)
    elif by_exposure and log.exposed is not None and log.exposed.any():
        start = log.time[log.exposed].min().item()
    else:
        raise PolicyError(
            f"{option('holdout')} without {option('campaigns')} needs a time from which something was recommended",
            remedy=f"give {option('campaigns')} START:, or {option('since')} T",
        )
    return (TimeWindow(start, np.inf, log.axis.show(start)),)
