"""A contrast: what was taken where something could be shown, against what was taken where nothing was.

Nothing was shown to a hold-out group over the same time, or to anyone in quiet windows. `set_up_contrast` reads what
is known; `Contrast.rank` asks a model of production where it had what was taken, and `RankedContrast.rates` counts.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from unskew.arrays.types import Codes, Floats, Mask
from unskew.checks import require_instance
from unskew.data.log import Log
from unskew.data.time_windows import TimeWindow, Windows
from unskew.data.times import Moment
from unskew.errors import EmptyError, PolicyError, UnskewWarning, option
from unskew.recommend.contract import Recommender
from unskew.text import count
from unskew.views.holdout_group import check_holdout, find_holdout
from unskew.views.outside import require_windows
from unskew.views.production_ranks import rank_taken
from unskew.views.quiet_windows import find_quiet
from unskew.views.rates import Rates, compare_with_group, compare_with_quiet
from unskew.views.short_windows import (
    ShortWindow,
    choose_length,
    cut_windows,
    label_before,
    tick_after,
    tick_before,
)
from unskew.views.strata import Stratified, stratify
from unskew.views.taken_pairs import TakenPairs, find_taken


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
        Users who were never shown anything, or None: then nobody was in the quiet windows.
    taken, quiet
        What was taken in the windows (with a hold-out group, also after them), and in quiet windows.
    suspect
        Which of `taken` recommendations may have brought; of users who could be shown something.
    notes
        What was found about the hold-out group and the windows.
    """

    log: Log
    windows: tuple[ShortWindow, ...]
    holdout: Mask | None
    taken: TakenPairs
    quiet: TakenPairs | None
    suspect: Mask
    notes: tuple[str, ...]

    @cached_property
    def shown(self) -> Floats:
        """1 for users who could be shown something, else 0."""
        everyone = np.ones(len(self.log.users))
        return everyone if self.holdout is None else everyone - self.holdout

    def rank(self, model: Recommender) -> RankedContrast:
        """The same, with strata by the ranks that a model of production gives."""
        ranks = rank_taken(model, self.taken)
        quiet = None if self.quiet is None else rank_taken(model, self.quiet)
        return RankedContrast(self, ranks, quiet)


@dataclass(frozen=True)
class RankedContrast:
    """A contrast and the ranks of its pairs, from which rates are counted for any choice of users."""

    contrast: Contrast
    ranks: Codes
    quiet_ranks: Codes | None

    @cached_property
    def pairs(self) -> Stratified:
        """The strata of what was taken."""
        return stratify(self.contrast.taken, self.ranks)

    @cached_property
    def quiet_pairs(self) -> Stratified | None:
        """The strata of what was taken in quiet windows."""
        if self.contrast.quiet is None or self.quiet_ranks is None:
            return None
        return stratify(self.contrast.quiet, self.quiet_ranks)

    def rates(self, weight: Floats | None = None) -> Rates:
        """Pairs by stratum and how many are usual; `weight` says how often each user counts."""
        once = np.ones(len(self.contrast.log.users)) if weight is None else weight
        shown = self.contrast.shown * once
        if self.quiet_pairs is not None:
            return compare_with_quiet(self.pairs, self.quiet_pairs, shown)
        assert self.contrast.holdout is not None
        return compare_with_group(self.pairs, self.contrast.suspect, shown, self.contrast.holdout * once)


def set_up_contrast(
    log: Log,
    *,
    campaigns: Windows | None = None,
    holdout: Any = None,
    since: Any = None,
    until: Any = None,
    by_exposure: bool = False,
) -> Contrast:
    """Find the windows, the hold-out group or quiet windows, and what was taken in them.

    With `by_exposure`, what may have come from recommendations is what was exposed, else what was taken in windows.
    """
    require_instance(Log, log, "a log", "read one with read_log")
    last = log.span[1] if until is None else min(log.axis.moment(until).tick, log.span[1])
    group = None if holdout is None else _as_group(log, holdout)
    given = _read_time(log, campaigns, since, last, by_exposure=by_exposure, has_group=group is not None)
    windows = cut_windows(log, given, last, choose_length(log))
    if not windows:
        raise EmptyError("no window has anything of the log in it", remedy=f"check {option('campaigns')}")
    notes = []
    if group is not None:
        before = Moment(tick_before(log, windows[0].start), label_before(log, windows[0].start))
        notes = check_holdout(log, group, before)
        for note in notes:
            warnings.warn(note, UnskewWarning, stacklevel=4)
    taken = find_taken(log, windows, later=group is not None)
    quiet = None if group is not None else find_taken(log, find_quiet(log, windows, last))
    suspect = log.exposed[taken.entry] if by_exposure and log.exposed is not None else taken.inside
    if group is not None:
        suspect = suspect & ~group[taken.user]
    else:
        notes.append(f"what is usual comes from {count(len(quiet.windows), 'quiet window')}" if quiet else "")
    return Contrast(log, tuple(windows), group, taken, quiet, suspect, tuple(notes))


def _as_group(log: Log, holdout: Any) -> Mask:
    if isinstance(holdout, np.ndarray) and holdout.dtype == np.bool_ and len(holdout) == len(log.users):
        return holdout
    return find_holdout(log, holdout)


def _read_time(
    log: Log, campaigns: Windows | None, since: Any, last: int | float, *, by_exposure: bool, has_group: bool
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
        start = tick_after(log, log.axis.moment(since).tick)
    elif by_exposure and log.exposed is not None and log.exposed.any():
        start = log.time[log.exposed].min().item()
    else:
        raise PolicyError(
            f"{option('holdout')} without {option('campaigns')} needs a time from which something was recommended",
            remedy=f"give {option('since')}, or {option('campaigns')} START:",
        )
    return (TimeWindow(start, np.inf, log.axis.show(start)),)
