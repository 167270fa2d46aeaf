"""Placebo tests, and the test of a view on the user's own log.

By dates alone, interactions are compared with those of earlier, quiet windows. Tastes move, users change, and
models may rank later interactions higher for reasons of their own: all of that looks like recommendations. So the
same comparison is made for several windows of about the same length before the first campaign window, in which, as
far as anybody knows, nothing was recommended. What it finds there is taken out of the estimate, its interval
widens that of the estimate, and if it is too noisy to exclude `LIMIT`, the estimate counts as not tested.

A placebo of P means that the usual rate is estimated as 1 - P of what it is, so that an induced share E becomes::

    E' = 1 - (1 - E) / (1 - P) ** r        about E - r P if both are small

Drift grows with time: r is how much further the campaign windows are from their quiet windows, on average, than
the placebo campaigns from theirs.

A view by dates assumes that nothing was recommended outside its windows, one by exposures that the exposure log is
complete. Both can be tested if there was a quiet time: what is left since the first recommendation, or since the
reference date if that is earlier, is compared with the time before in the same way (`find_leftover`). Too much
left means that recommendations still show; too little, that the view dropped what people did by themselves.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any

import numpy as np

from unskew.arrays.types import Floats
from unskew.data.log import Log
from unskew.data.policy import critical_value
from unskew.data.times import TimeWindow, mark_inside
from unskew.errors import EmptyError, InputError, UnskewError, UnskewWarning, option
from unskew.recommend.contract import Recommender, traits_of
from unskew.text import first_line, percent
from unskew.views.contrast import Contrast, set_up_contrast
from unskew.views.production import (
    CANDIDATES,
    FEW_FOLDS,
    Production,
    choose_production,
    is_cheap,
    take_for_production,
)
from unskew.views.rates import Tally, measure_excess, resample_excess, split_blocks
from unskew.views.strata import BEYOND, RANK_OF
from unskew.views.windows import cut_windows, find_quiet, find_window_pairs, list_windows_before

LIMIT = 0.10
"""A placebo test that cannot exclude an induced share of this size tests nothing."""

LEAST_PAIRS = 100
"""Interactions that models must have ranked: of fewer, no share can be told."""

_CAMPAIGNS = 3  # before the first window, at most
_PART = 4  # of the windows before the first one are a placebo campaign
_LEAST_QUIET = 2  # windows before a placebo campaign
_REPEATS = 50  # samples of users for each interval


@dataclass(frozen=True)
class Placebo:
    """The induced share that an estimate finds before anything was recommended."""

    # The mean over the placebo campaigns, with its interval: users are resampled, the same for all campaigns, and
    # the standard error over campaigns counts if it is larger.
    value: float
    low: float
    high: float
    level: float
    values: tuple[float, ...]  # of each placebo campaign, the latest first
    windows: int  # how many short windows each of them has
    # How much further the campaign windows are from their quiet windows than placebo campaigns from theirs.
    reach: float = 1.0
    # How many interactions the models ranked, in all placebo campaigns or in their quiet windows, if fewer.
    pairs: int = LEAST_PAIRS

    @property
    def spread(self) -> float | None:
        """The standard deviation over the placebo campaigns; None if there is only one."""
        return float(np.std(self.values, ddof=1)) if len(self.values) > 1 else None

    @property
    def is_passed(self) -> bool:
        """Whether its interval excludes `LIMIT` on both sides, and rests on enough interactions."""
        return self.low > -LIMIT and self.high < LIMIT and self.pairs >= LEAST_PAIRS

    def __str__(self) -> str:
        share = f"{100 * self.value:.0f} % [{100 * self.low:.0f}, {100 * self.high:.0f}]"
        where = f"before the first window ({len(self.values)} placebo campaigns)"
        if self.is_passed:
            return f"placebo test passed, with {share} {where}, subtracted"
        if self.pairs < LEAST_PAIRS:
            return f"placebo test impossible, because the models rank only {self.pairs} interactions {where}"
        if self.low >= LIMIT or self.high <= -LIMIT:
            return f"placebo test failed, with {share} {where}, when nothing was recommended"
        return f"placebo test too noisy, with {share} {where}, which cannot exclude {percent(LIMIT, 0)}"

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            "value": self.value,
            "low": self.low,
            "high": self.high,
            "spread": self.spread,
            "campaigns": len(self.values),
            "windows": self.windows,
            "reach": self.reach,
            "pairs": self.pairs,
            "passed": self.is_passed,
        }


@dataclass(frozen=True)
class InducedShare:
    """The share of the interactions in windows that recommendations caused, corrected by a placebo."""

    # After the placebo is taken out, with an interval that includes that of the placebo.
    value: float
    low: float
    high: float
    level: float
    uncorrected: float  # before
    # None with a holdout group, which needs none, or if there is too little time before the windows.
    placebo: Placebo | None = None
    # How many stand-ins for production were tried: the best of several finds something by chance alone.
    candidates: int = 1
    # How many interactions the models ranked, in the windows or where nothing was shown, if fewer.
    pairs: int = LEAST_PAIRS

    @property
    def is_sign(self) -> bool:
        """Whether it is above 0 by more than chance, which has as many tries as there were candidates."""
        z, corrected = critical_value(self.level), critical_value(1 - (1 - self.level) / self.candidates)
        return self.value - (self.value - self.low) * corrected / z > 0

    @property
    def standard_error(self) -> float:
        """As the interval has it."""
        return (self.high - self.low) / (2 * critical_value(self.level))

    @property
    def is_precise(self) -> bool:
        """Whether it rests on enough interactions, and is known to within `LIMIT`."""
        return self.pairs >= LEAST_PAIRS and self.high - self.low < 2 * LIMIT


def measure_induced_share(
    contrast: Contrast,
    production: Production,
    *,
    level: float = 0.95,
    repeats: int = _REPEATS,
    seed: int = 0,
    two_sided: bool = False,
    with_placebo: bool = True,
) -> InducedShare:
    """The induced share of the windows of a contrast; by dates, with several placebos before them if wanted.

    With `two_sided`, interactions that are missing count as well, so that a log from which too much was dropped
    has a negative share.
    """
    value, samples = _measure(production.tallies, repeats, seed, two_sided)
    share = InducedShare(
        value,
        *_find_limits(value, samples, level),
        level,
        value,
        candidates=max(len(production.candidates), 1),
        pairs=_count_ranked(production.tallies),
    )
    if contrast.quiet is None or not with_placebo:
        return share
    placebo, drifts = _measure_placebo(contrast, production, level, repeats, seed, two_sided)
    return share if placebo is None else _correct(share, samples, placebo, drifts)


def _measure_placebo(
    contrast: Contrast, production: Production, level: float, repeats: int, seed: int, two_sided: bool
) -> tuple[Placebo | None, Floats]:
    """A placebo, and its mean over the campaigns for samples of users, the same ones for each.

    None if there is too little time before the first window, or if the lists of production are external: nobody
    made those of earlier dates.
    """
    contrasts = [] if production.ranks.external else list_placebos(contrast)
    if not contrasts:
        return None, np.empty(0)
    tallies = [production.count(each, seed) for each in contrasts]
    campaigns = [_measure([each], repeats or _REPEATS, seed, two_sided) for each in tallies]
    values = tuple(value for value, _ in campaigns)
    drifts: Floats = np.mean([samples for _, samples in campaigns], axis=0)
    error, mean = max(float(np.std(drifts, ddof=1)), _standard_error(values)), fmean(values)
    half = critical_value(level) * error
    reach = max(1.0, _distance(contrast) / fmean(map(_distance, contrasts)))
    length, pairs = len(contrasts[0].windows), sum(_count_ranked([each]) for each in tallies)
    return Placebo(mean, mean - half, mean + half, level, values, length, reach, pairs), drifts


def _correct(share: InducedShare, samples: Floats, placebo: Placebo, drifts: Floats) -> InducedShare:
    """Take a placebo out of an induced share, in all users and in each sample of them.

    The interval becomes no narrower, and wider if the campaigns differ by more than samples of users do.
    """
    value = float(_take_out(share.value, placebo.value, placebo.reach))
    corrected = _take_out(samples, drifts, placebo.reach) if len(samples) else samples
    low, high = _find_limits(value, corrected, share.level)
    surplus = max(_standard_error(placebo.values) ** 2 - float(np.var(drifts, ddof=1)), 0.0)
    wider = critical_value(share.level) * math.sqrt(surplus) * placebo.reach
    below = math.hypot(max(value - low, share.value - share.low), wider)
    above = math.hypot(max(high - value, share.high - share.value), wider)
    return replace(share, value=value, low=value - below, high=value + above, placebo=placebo)


def _take_out(share: Any, drift: Any, reach: float) -> Any:
    return 1.0 - (1.0 - share) / np.maximum(1.0 - drift, 1e-9) ** reach


def _standard_error(values: Sequence[float]) -> float:
    return float(np.std(values, ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else 0.0


def _count_ranked(counted: Sequence[Tally]) -> int:
    """How many interactions the best model ranked, in the windows or where nothing was shown, if fewer."""
    best, within = counted[0], RANK_OF < BEYOND
    shown = float((best.suspect + best.others)[:, within].sum())
    return int(min(shown, float(best.quiet_pairs[:, within].sum()) / best.models))


def _distance(contrast: Contrast) -> float:
    middles = (
        fmean((float(window.start) + float(window.end)) / 2 for window in windows)
        for windows in (contrast.windows, contrast.quiet_windows)
    )
    return next(middles) - next(middles)


def list_placebos(contrast: Contrast) -> list[Contrast]:
    """The same comparison before the first window, several times: campaigns that were none, the latest first."""
    log, before = contrast.log, list_windows_before(contrast.log, contrast.windows)
    length = min(len(contrast.windows), max(1, len(before) // _PART))
    placebos: list[Contrast] = []
    end = len(before)
    while len(placebos) < _CAMPAIGNS and end - length >= _LEAST_QUIET:
        busy, earlier = before[end - length : end], before[: end - length]
        taken, quiet = (
            find_window_pairs(log, busy),
            find_window_pairs(log, earlier[-len(contrast.quiet_windows) :]),
        )
        if (taken.known & taken.inside).any() and quiet.known.any():
            placebos.append(replace(contrast, windows=tuple(busy), taken=taken, quiet=quiet, suspect=taken.inside))
        end -= length
    return placebos


def find_contrast_since(log: Log, windows: Sequence[TimeWindow], until: int | float) -> Contrast:
    """What was interacted with in some windows, compared with quiet windows before the first of them only."""
    busy = cut_windows(log, windows, until)
    if not busy:
        raise EmptyError("no time is left to compare", remedy=f"check {option('campaigns')} and {option('until')}")
    taken = find_window_pairs(log, busy)
    quiet = find_window_pairs(log, find_quiet(log, busy, busy[0].start))
    return Contrast(log, tuple(busy), None, taken, quiet, taken.inside, ())


def _measure(counted: Sequence[Tally], repeats: int, seed: int, two_sided: bool) -> tuple[float, Floats]:
    halves = split_blocks(counted[0].blocks, seed)
    value = measure_excess(counted, halves, two_sided=two_sided)
    return value, resample_excess(counted, halves, repeats, seed, two_sided=two_sided)


def _find_limits(value: float, samples: Floats, level: float) -> tuple[float, float]:
    """The interval of a value, which it is always in; unknown without samples."""
    if not len(samples):
        return math.nan, math.nan
    low, high = np.quantile(samples, [(1 - level) / 2, (1 + level) / 2])
    return min(float(low), value), max(float(high), value)


_CHEAP = CANDIDATES[:3]
_LARGEST = 0.05  # difference of what is left from the time before
_MOST_LOST = 0.02  # of the log may be lost with the windows
_COVERED = 0.9  # of the time since the first recommendation: windows that cover more leave nothing to test


def find_leftover(
    view: Log, windows: Sequence[TimeWindow], since: int | float, until: int | float
) -> tuple[bool, str]:
    """Whether a view leaves neither too much nor too little outside its windows, and that in a sentence.

    - `view`: what is left of a log.
    - `windows`: time that counts as free of recommendations already; none for a view by exposures.
    - `since`, `until`: from which tick something may have been recommended, and up to which the log is used.
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
