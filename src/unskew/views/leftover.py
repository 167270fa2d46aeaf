"""The test of a view on the user's own log: whether what it leaves looks like the time before recommendations.

A view by dates assumes that nothing was recommended outside its windows, one by exposures that the exposure log is
complete. Both can be tested if there was a quiet time: what is left since the first recommendation, or since the
reference date if that is earlier, is compared with the time before, as `unskew.excess` does, placebo included. Too
much left means that recommendations still show; too little, that the view dropped what people did by themselves.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from unskew.data.log import Log
from unskew.data.time_windows import TimeWindow, mark_inside
from unskew.errors import UnskewError
from unskew.recommend.specs import AnyRecommender
from unskew.text import percent
from unskew.views.contrast import set_up_contrast
from unskew.views.placebo import LIMIT, find_contrast_since, measure_induced_share
from unskew.views.production_choice import CANDIDATES, choose_production

_CHEAP = CANDIDATES[:3]
_LARGEST = 0.05  # difference of what is left from the time before
_MOST_LOST = 0.02  # of the log may be lost with the windows
_COVERED = 0.9  # of the time since the first recommendation: windows that cover more leave nothing to test


def find_leftover(
    view: Log,
    windows: Sequence[TimeWindow],
    since: int | float,
    until: int | float,
    *,
    production: AnyRecommender = "auto",
    candidates: Iterable[AnyRecommender] = (),
) -> tuple[bool, str]:
    """Whether a view passed the test that neither too much nor too little is left, and the test in a sentence.

    Parameters
    ----------
    view
        What is left of a log.
    windows
        Time that counts as free of recommendations already; none for a view by exposures.
    since, until
        From which tick something may have been recommended, and up to which the log is used.
    production, candidates
        What made the recommendations or ``"auto"``, and models that compete then.
    """
    first = view.axis.show(since)
    times = _list_outside(windows, since, until)
    uncovered = sum(time.end - time.start for time in times)
    if uncovered <= (1 - _COVERED) * (until - since):
        return True, f"the windows cover the time since {first}"
    try:
        contrast = find_contrast_since(view, times, until)
        if not (contrast.taken.known & contrast.taken.inside).any():
            return (
                False,
                f"not tested: nobody with a profile interacted with anything outside the windows since {first}",
            )
        stand_in = choose_production(contrast, production, candidates, family=_CHEAP)
        share = measure_induced_share(contrast, stand_in, two_sided=True)
    except UnskewError:  # there is no quiet time, or too little of it
        return False, f"not tested: the log has too little quiet time before {first}"
    if share.placebo is None:
        return False, f"not tested: the log has too little quiet time before {first}"
    if not share.placebo.is_passed:
        return False, f"not tested: {share.placebo}"
    limits = f"{percent(share.value, 0)} [{100 * share.low:.0f}, {100 * share.high:.0f}]"
    if share.is_sign:
        return False, f"failed: recommendations caused about {limits} of the interactions left since {first}"
    if share.high < 0:
        missing = f"{percent(-share.value, 0)} [{-100 * share.high:.0f}, {-100 * share.low:.0f}]"
        return False, f"failed: about {missing} of what people did by themselves since {first} was dropped too"
    if max(share.high, -share.low) >= LIMIT or abs(share.value) > _LARGEST:
        noisy = f"too noisy to exclude {percent(LIMIT, 0)}"
        return False, f"not tested: what is left since {first} differs by {limits} from the time before, {noisy}"
    return True, f"what is left since {first} differs by {limits} from the time before"


def find_loss(log: Log, windows: Sequence[TimeWindow], until: int | float) -> tuple[bool, str]:
    """Whether dropping whole windows loses little of what people did by themselves, and that in a sentence."""
    inside = mark_inside(windows, log.time) & (log.time <= until)
    share = float(inside.sum()) / max(len(log), 1)
    try:
        contrast = set_up_contrast(log, campaigns=windows, until=log.axis.show(until))
        induced = measure_induced_share(contrast, choose_production(contrast, "auto", family=_CHEAP))
        caused = min(max(induced.low, 0.0), 1.0)
    except UnskewError:  # there is no quiet time to compare with
        caused = 0.0
    lost = share * (1 - caused)
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
