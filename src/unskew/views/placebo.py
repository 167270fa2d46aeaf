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

from unskew.data.log import Log
from unskew.data.time_windows import TimeWindow
from unskew.errors import EmptyError, option
from unskew.evaluation.intervals import critical_value
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
        The mean over the placebo campaigns, with its interval: users are resampled, and the spread over the
        campaigns counts if it is larger.
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
            return f"placebo test passed: {share} {where}, taken out"
        if self.pairs < LEAST_PAIRS:
            return f"placebo test impossible: the models rank only {self.pairs} interactions {where}"
        if self.low >= LIMIT or self.high <= -LIMIT:
            return f"placebo test failed: {share} {where}, when nothing was recommended"
        return f"placebo test too noisy: {share} {where}, which cannot exclude {percent(LIMIT, 0)}"

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
) -> InducedShare:
    """The induced share of the windows of a contrast; by dates, with several placebos before them.

    With `two_sided`, interactions that are missing count as well, so that a log from which too much was dropped
    has a negative share.
    """
    value, low, high = _measure(production.tallies, level, repeats, seed, two_sided)
    tries = max(len(production.candidates), 1)
    share = InducedShare(value, low, high, level, value, candidates=tries, pairs=_count_ranked(production.tallies))
    placebo = None
    if contrast.quiet is not None:
        placebo = measure_placebo(contrast, production, level=level, seed=seed, two_sided=two_sided)
    return share if placebo is None else _correct(replace(share, placebo=placebo), placebo)


def _correct(share: InducedShare, placebo: Placebo) -> InducedShare:
    """Take a placebo out of an induced share; their errors add up as those of log(1 - E) and log(1 - P)."""
    own = [_log_rest(limit) for limit in (share.value, share.low, share.high)]
    drift = [placebo.reach * _log_rest(limit) for limit in (placebo.value, placebo.low, placebo.high)]
    middle = own[0] - drift[0]
    wider = math.hypot(own[1] - own[0], drift[2] - drift[0])
    narrower = math.hypot(own[2] - own[0], drift[1] - drift[0])
    value, low, high = (-math.expm1(rest) for rest in (middle, middle + wider, middle - narrower))
    return replace(share, value=value, low=low, high=high)


def _log_rest(share: float) -> float:
    return math.log(max(1.0 - share, 1e-9)) if not math.isnan(share) else math.nan


def measure_placebo(
    contrast: Contrast, production: Production, *, level: float = 0.95, seed: int = 0, two_sided: bool = False
) -> Placebo | None:
    """The induced share of windows before the first one.

    None if there is too little time before it, or if the lists of production are external: those of earlier dates
    were made by nobody.
    """
    contrasts = [] if production.ranks.elsewhere else list_placebos(contrast)
    if not contrasts:
        return None
    z = critical_value(level)
    counted = [production.count(each, seed) for each in contrasts]
    limits = [_measure([each], level, _REPEATS, seed, two_sided) for each in counted]
    values = [value for value, _, _ in limits]
    variance = float(np.mean([((high - low) / (2 * z)) ** 2 for _, low, high in limits]))
    if len(values) > 1:
        variance = max(variance, float(np.var(values, ddof=1)))
    half, mean = z * math.sqrt(variance / len(values)), float(np.mean(values))
    reach = max(1.0, _distance(contrast) / fmean(map(_distance, contrasts)))
    length, pairs = len(contrasts[0].windows), sum(_count_ranked([each]) for each in counted)
    return Placebo(mean, mean - half, mean + half, level, tuple(values), length, reach, pairs)


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


def _measure(
    counted: Sequence[Tally], level: float, repeats: int, seed: int, two_sided: bool
) -> tuple[float, float, float]:
    """The induced share, not corrected, with its interval; without repeats, that is unknown."""
    halves = split_blocks(counted[0].blocks, seed)
    value = measure_excess(counted, halves, two_sided=two_sided)
    if not repeats:
        return value, math.nan, math.nan
    shares = resample_excess(counted, halves, repeats, seed, two_sided=two_sided)
    low, high = np.quantile(shares, [(1 - level) / 2, (1 + level) / 2])
    return value, float(low), float(high)
