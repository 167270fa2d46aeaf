"""The test of a view on the user's own log: whether what it leaves looks like the time before recommendations.

A view by dates assumes that nothing was recommended outside its windows, one by exposures that the exposure log is
complete. Both can be tested if there was a quiet time: what is left since the first recommendation, or since the
reference date if that is earlier, is compared with the time before, as `unskew.excess` does, placebo included. Too
much left means that recommendations still show; too little, that the view dropped what people did by themselves.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from unskew.data.log import Log
from unskew.data.times import TimeWindow, mark_inside
from unskew.errors import EmptyError, InputError, UnskewError, UnskewWarning
from unskew.recommend.contract import Recommender, traits_of
from unskew.text import first_line, percent
from unskew.views.contrast import Contrast, set_up_contrast
from unskew.views.placebo import LEAST_PAIRS, LIMIT, InducedShare, find_contrast_since, measure_induced_share
from unskew.views.production_choice import (
    CANDIDATES,
    FEW_FOLDS,
    choose_production,
    is_cheap,
    take_for_production,
)

_CHEAP = CANDIDATES[:3]
_LARGEST = 0.05  # difference of what is left from the time before
_MOST_LOST = 0.02  # of the log may be lost with the windows
_COVERED = 0.9  # of the time since the first recommendation: windows that cover more leave nothing to test


def find_leftover(
    view: Log, windows: Sequence[TimeWindow], since: int | float, until: int | float
) -> tuple[bool, str]:
    """Whether a view leaves neither too much nor too little outside its windows, and that in a sentence.

    Parameters
    ----------
    view
        What is left of a log.
    windows
        Time that counts as free of recommendations already; none for a view by exposures.
    since, until
        From which tick something may have been recommended, and up to which the log is used.
    """
    first = view.axis.show(since)
    times = _list_outside(windows, since, until)
    if sum(time.end - time.start for time in times) <= (1 - _COVERED) * (until - since):
        return False, f"not tested, because the windows leave too little of the time since {first}"

    def measure() -> InducedShare:
        contrast = find_contrast_since(view, times, until)
        _check_new_items(contrast)
        stand_in = choose_production(contrast, "auto", family=_CHEAP)
        return measure_induced_share(contrast, stand_in, two_sided=True)

    share, problem = _try(measure, first)
    if share is None:
        return False, problem
    return _judge(share, first)


def find_leftover_of(
    model: Recommender,
    view: Log,
    windows: Sequence[TimeWindow],
    since: int | float,
    until: int | float,
    *,
    group: Any = None,
) -> tuple[bool, str]:
    """Whether a recommender that is scored on a view still finds recommendations in it, and that in a sentence.

    A view that was made with another stand-in for production leaves what only this recommender would have
    recommended. Its ranks of the interactions since the first recommendation are compared with those before or, if
    there is one, with those of the holdout group.
    """
    first = view.axis.show(since)
    if traits_of(model).external:
        return False, "not tested, because its lists are external"
    if not is_cheap(model, view):
        return False, "not tested, because it takes too long to fit it once for each window"

    def measure() -> InducedShare:
        times = _list_outside(windows, since, until)
        if group is None:
            contrast = find_contrast_since(view, times, until)
        else:
            contrast = set_up_contrast(view, campaigns=times, holdout=group, until=view.axis.show(until))
        stand_in = take_for_production(contrast, model, folds=FEW_FOLDS)
        return measure_induced_share(contrast, stand_in, two_sided=True)

    share, problem = _try(measure, first, needs_placebo=group is None)
    if share is None:
        return False, problem
    return _judge(share, first, "the time before" if group is None else "the holdout group")


def _check_new_items(contrast: Contrast) -> None:
    """Refuse a contrast in which interactions with items that nobody had before are more than they were.

    No model ranks these, so that nothing tells whether they were recommended.
    """
    shares = []
    for pairs in (contrast.taken, contrast.quiet):
        assert pairs is not None
        known = pairs.known & pairs.inside
        shares.append(float((pairs.holders[known] == 0).mean()) if known.any() else 0.0)
    if shares[0] > shares[1] + _LARGEST:
        now, before = (percent(share, 0) for share in shares)
        raise InputError(f"{now} of the interactions are with items that nobody had before, and were {before}")


def _try(
    measure: Callable[[], InducedShare], first: Any, *, needs_placebo: bool = True
) -> tuple[InducedShare | None, str]:
    """An induced share, or None and why there is none that could be trusted."""
    nothing = f"not tested, because the log has too little time or too few interactions before {first}"
    try:
        with warnings.catch_warnings():  # what a test warns of was said when the view was made
            warnings.simplefilter("ignore", UnskewWarning)
            share = measure()
    except EmptyError:
        return None, nothing
    except UnskewError as error:
        return None, f"not tested, because {first_line(error)}"
    if math.isnan(share.low) or share.pairs < LEAST_PAIRS or (needs_placebo and share.placebo is None):
        return None, nothing
    if share.placebo is not None and not share.placebo.is_passed:
        return None, str(share.placebo)
    return share, ""


def _judge(share: InducedShare, first: Any, usual: str = "the time before") -> tuple[bool, str]:
    """Whether what is left has neither too much nor too little of what was recommended, and that for certain."""
    limits = f"{percent(share.value, 0)} [{100 * share.low:.0f}, {100 * share.high:.0f}]"
    if share.is_sign:
        return (
            False,
            f"failed, because recommendations caused about {limits} of the interactions left since {first}",
        )
    if share.high < 0:
        missing = f"{percent(-share.value, 0)} [{-100 * share.high:.0f}, {-100 * share.low:.0f}]"
        return (
            False,
            f"failed, because about {missing} of what people did by themselves since {first} was dropped too",
        )
    is_noisy = share.high >= LIMIT or share.low <= -LIMIT
    if is_noisy or abs(share.value) > _LARGEST:
        problem = f"too noisy to exclude {percent(LIMIT, 0)}" if is_noisy else "too much to be sure"
        return False, f"not tested, because what is left since {first} differs by {limits} from {usual}, {problem}"
    return True, f"what is left since {first} differs by {limits} from {usual}"


def find_loss(log: Log, windows: Sequence[TimeWindow], until: int | float, dropped: int) -> tuple[bool, str]:
    """Whether a view that drops so much in windows loses little of what people did by themselves."""
    inside = int((mark_inside(windows, log.time) & (log.time <= until)).sum())
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnskewWarning)
            contrast = set_up_contrast(log, campaigns=windows, until=log.axis.show(until))
            induced = measure_induced_share(contrast, choose_production(contrast, "auto", family=_CHEAP))
        passed = induced.placebo is not None and induced.placebo.is_passed
        caused = max(induced.low, 0.0) * inside if passed else 0.0
    except UnskewError:  # there is no quiet time to compare with
        caused = 0.0
    lost = max(dropped - caused, 0.0) / max(len(log), 1)
    return lost <= _MOST_LOST, f"up to {percent(lost)} of the log is dropped that people did by themselves"


def _list_outside(windows: Sequence[TimeWindow], since: int | float, until: int | float) -> list[TimeWindow]:
    """The time outside windows, from one tick to another."""
    times: list[TimeWindow] = []
    free_from: Any = since
    for window in sorted(windows, key=lambda window: window.start):
        if window.start > free_from:
            times.append(TimeWindow(free_from, min(window.start, until), "", ""))
        free_from = max(free_from, window.end)
        if math.isinf(free_from):
            return times
    if free_from < until:
        times.append(TimeWindow(free_from, until, "", ""))
    return [time for time in times if time.start < time.end]
