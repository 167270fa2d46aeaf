"""Placebo tests: what an estimate finds in windows in which, as far as anybody knows, nothing was recommended.

By dates alone, interactions are compared with those of earlier, quiet windows. Tastes move, users change, and
models may rank later interactions higher for reasons of their own: all of that looks like recommendations. So the
same comparison is made for several windows of about the same length before the first campaign window. What it
finds there is taken out of the estimate, its interval widens that of the estimate, and if it is too noisy to
exclude `LIMIT`, the estimate counts as not tested.

A placebo of P means that the usual rate is estimated as 1 - P of what it is, so that an induced share E becomes::

    E' = 1 - (1 - E) / (1 - P) ** r        about E - r P if both are small

Drift grows with time: r is how much further the campaign windows are from their quiet windows, on average, than
the placebo campaigns from theirs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any

import numpy as np

from unskew.arrays.types import Floats
from unskew.data.log import Log
from unskew.data.policy import critical_value
from unskew.data.times import TimeWindow
from unskew.errors import EmptyError, option
from unskew.text import percent
from unskew.views.contrast import Contrast
from unskew.views.cross_fitted import measure_excess, resample_excess, split_blocks
from unskew.views.production_choice import Production
from unskew.views.quiet_windows import find_quiet, list_windows_before
from unskew.views.short_windows import cut_windows
from unskew.views.strata import BEYOND, RANK_OF
from unskew.views.taken_pairs import find_taken
from unskew.views.tally import Tally

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
    """The induced share that an estimate finds before anything was recommended.

    Attributes
    ----------
    value, low, high, level
        The mean over the placebo campaigns, with its interval: users are resampled, the same for all
        campaigns, and the standard error over campaigns counts if it is larger.
    values
        Of each placebo campaign, the latest first.
    windows
        How many short windows each of them has.
    reach
        How much further the campaign windows are from their quiet windows than placebo campaigns from theirs.
    pairs
        How many interactions the models ranked, in all placebo campaigns or in their quiet windows, if fewer.
    """

    value: float
    low: float
    high: float
    level: float
    values: tuple[float, ...]
    windows: int
    reach: float = 1.0
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
    """The share of the interactions in windows that recommendations caused, corrected by a placebo.

    Attributes
    ----------
    value, low, high, level
        After the placebo is taken out, with an interval that includes that of the placebo.
    uncorrected
        Before.
    placebo
        None with a holdout group, which needs none, or if there is too little time before the windows.
    candidates
        How many stand-ins for production were tried: the best of several finds something by chance alone.
    pairs
        How many interactions the models ranked, in the windows or where nothing was shown, if fewer.
    """

    value: float
    low: float
    high: float
    level: float
    uncorrected: float
    placebo: Placebo | None = None
    candidates: int = 1
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
    """How long after the quiet windows the others are, on average."""
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
        taken, quiet = find_taken(log, busy), find_taken(log, earlier[-len(contrast.quiet_windows) :])
        if (taken.known & taken.inside).any() and quiet.known.any():
            placebos.append(replace(contrast, windows=tuple(busy), taken=taken, quiet=quiet, suspect=taken.inside))
        end -= length
    return placebos


def find_contrast_since(log: Log, windows: Sequence[TimeWindow], until: int | float) -> Contrast:
    """What was interacted with in some windows, compared with quiet windows before the first of them only."""
    busy = cut_windows(log, windows, until)
    if not busy:
        raise EmptyError("no time is left to compare", remedy=f"check {option('campaigns')} and {option('until')}")
    taken = find_taken(log, busy)
    quiet = find_taken(log, find_quiet(log, busy, busy[0].start))
    return Contrast(log, tuple(busy), None, taken, quiet, taken.inside, ())


def _measure(counted: Sequence[Tally], repeats: int, seed: int, two_sided: bool) -> tuple[float, Floats]:
    """The induced share, not corrected, and the same for samples of users."""
    halves = split_blocks(counted[0].blocks, seed)
    value = measure_excess(counted, halves, two_sided=two_sided)
    return value, resample_excess(counted, halves, repeats, seed, two_sided=two_sided)


def _find_limits(value: float, samples: Floats, level: float) -> tuple[float, float]:
    """The interval of a value, which it is always in; unknown without samples."""
    if not len(samples):
        return math.nan, math.nan
    low, high = np.quantile(samples, [(1 - level) / 2, (1 + level) / 2])
    return min(float(low), value), max(float(high), value)
