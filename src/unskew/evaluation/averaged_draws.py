r"""Scores of a view in which chance decides, averaged over several draws of it.

A view that leaves out pairs at random (those of a stratum at a given rate) gives another score at each draw. The
estimate is the mean over m draws, and its variance that of multiple imputation (Rubin 1987)::

    T = W + (1 + 1/m) B

with W the mean of the variances within a draw and B the variance between the draws.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import ndtr

from unskew.data.policy import critical_value
from unskew.evaluation.changes import PARTS, Change, Part
from unskew.evaluation.comparison import Comparison, WithProfile
from unskew.evaluation.intervals import holm
from unskew.evaluation.report import Report
from unskew.evaluation.results import Results
from unskew.evaluation.score import Score


def average_reports(reports: Sequence[Report]) -> Report:
    """The mean of the reports on several draws of one view; figures about weights are those of the first."""
    first = reports[0]
    if len(reports) == 1:
        return first
    by_key: dict[tuple[Any, ...], list[Score]] = {}  # of segments, some may be empty in some draws
    for score in (score for report in reports for score in report.scores):
        key = (score.recommender, score.metric, score.at, score.weighting, score.top, score.segment)
        by_key.setdefault(key, []).append(score)
    scores = [_average_scores(found) for found in by_key.values() if len(found) == len(reports)]
    comparisons = _average(reports, lambda report: report.comparisons, _average_comparisons)
    return replace(
        first,
        scores=Results(scores, first.scores.frames),
        changes=_average(reports, lambda report: report.changes, _average_changes),
        comparisons=_correct(comparisons),
        notes=(*first.notes, _describe_spread(scores, len(reports))),
    )


def _describe_spread(scores: Sequence[Score], draws: int) -> str:
    largest = max((score.spread for score in scores), default=0.0)
    return (
        f"figures are means over {draws} draws of the view; a score of one draw is off by at most "
        f"{100 * largest:.2f} points (standard deviation)"
    )


def _average(
    reports: Sequence[Report], of: Callable[[Report], Results[Any]], average: Callable[[Sequence[Any]], Any]
) -> Results[Any]:
    """What stands at each place of the reports, averaged."""
    several = [of(report) for report in reports]
    return Results([average(found) for found in zip(*several, strict=True)], several[0].frames)


def combine(values: Sequence[float], lows: Sequence[float], highs: Sequence[float], level: float) -> Part:
    """The mean of several values, with the interval of multiple imputation.

    >>> combine([0.2, 0.2], [0.1, 0.1], [0.3, 0.3], 0.95)
    Part(value=0.2, low=0.1, high=0.3)
    >>> wide = combine([0.1, 0.3], [0.0, 0.2], [0.2, 0.4], 0.95)
    >>> round(wide.value, 3), wide.high - wide.value > 0.1
    (0.2, True)
    """
    value, low, high = (float(np.mean(x)) for x in (values, lows, highs))
    between = float(np.var(values, ddof=1)) * (1 + 1 / len(values)) if len(values) > 1 else 0.0
    z = critical_value(level)
    within = float(np.mean((np.subtract(highs, lows) / (2 * z)) ** 2))
    if not between > 0 or math.isnan(within):
        return Part(value, low, high)
    if within == 0:
        half = z * math.sqrt(between)
        return Part(value, value - half, value + half)
    wider = math.sqrt(1 + between / within)
    return Part(value, value - (value - low) * wider, value + (high - value) * wider)


def _average_scores(scores: Sequence[Score]) -> Score:
    first, m = scores[0], len(scores)
    values = [score.value for score in scores]
    mean = combine(values, [s.low for s in scores], [s.high for s in scores], first.level)
    low = max(mean.low, 0.0) if min(s.low for s in scores) >= 0 else mean.low
    high = min(mean.high, 1.0) if max(s.high for s in scores) <= 1 else mean.high
    return replace(
        first,
        value=mean.value,
        low=low,
        high=high,
        pairs=round(sum(s.pairs for s in scores) / m),
        users=round(sum(s.users for s in scores) / m),
        effective_pairs=sum(s.effective_pairs for s in scores) / m,
        largest_item=sum(s.largest_item for s in scores) / m,
        empty_profiles=sum(s.empty_profiles for s in scores) / m,
        empty_lists=_mean_or_none([s.empty_lists for s in scores]),
        too_few_hits=any(s.too_few_hits for s in scores),
        draws=m,
        spread=float(np.std(values, ddof=1)),
    )


def _average_changes(changes: Sequence[Change]) -> Change:
    m = len(changes)
    return replace(
        average_parts(changes, PARTS),
        score=sum(change.score for change in changes) / m,
        score_reference=sum(change.score_reference for change in changes) / m,
    )


def average_parts(changes: Sequence[Change], names: Iterable[str]) -> Change:
    """The first of several changes with the means of some parts; where a change lacks a part, it counts as 0."""
    averaged: Any = {}
    for name in names:
        parts = [getattr(change, name) for change in changes]
        if any(part is not None for part in parts):
            known = [part or Part(0.0, 0.0, 0.0) for part in parts]
            averaged[name] = combine(
                [part.value for part in known],
                [part.low for part in known],
                [part.high for part in known],
                changes[0].level,
            )
    return replace(changes[0], **averaged)


def _average_comparisons(comparisons: Sequence[Comparison]) -> Comparison:
    first = comparisons[0]
    if not first.comparable:
        return first
    mean = combine(
        [c.difference for c in comparisons],
        [c.low for c in comparisons],
        [c.high for c in comparisons],
        first.level,
    )
    side = mean.value - mean.low if mean.value > 0 else mean.high - mean.value
    z = critical_value(first.level)
    p = 1.0 if mean.value == 0 or not side > 0 else 2 * float(ndtr(-abs(mean.value) * z / side))
    return replace(
        first,
        difference=mean.value,
        low=mean.low,
        high=mean.high,
        p=p,
        empty_profiles=sum(c.empty_profiles for c in comparisons) / len(comparisons),
        empty_lists=(
            _mean_or_none([c.empty_lists[0] for c in comparisons]),
            _mean_or_none([c.empty_lists[1] for c in comparisons]),
        ),
        with_profile=_average_with_profile(comparisons),
    )


def _average_with_profile(comparisons: Sequence[Comparison]) -> WithProfile | None:
    """The difference on users with a profile, if every draw has one of the same users."""
    found = [c.with_profile for c in comparisons if c.with_profile is not None]
    if len(found) < len(comparisons) or len({one.min_items for one in found}) > 1:
        return None
    mean = combine(
        [one.difference for one in found],
        [one.low for one in found],
        [one.high for one in found],
        comparisons[0].level,
    )
    users = round(sum(one.users for one in found) / len(found))
    return WithProfile(mean.value, mean.low, mean.high, users, found[0].min_items)


def _mean_or_none(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if len(known) == len(values) else None


def _correct(comparisons: Results[Comparison]) -> Results[Comparison]:
    """The same with p-values corrected for all that were made together: of one metric and weighting."""
    found = list(comparisons)
    groups: dict[tuple[str, str], list[int]] = {}
    for k, one in enumerate(found):
        if one.comparable:
            groups.setdefault((one.metric, one.weighting), []).append(k)
    for places in groups.values():
        for k, p in zip(places, holm([found[k].p for k in places]), strict=True):
            found[k] = replace(found[k], p_holm=float(p))
    return Results(found, comparisons.frames)
