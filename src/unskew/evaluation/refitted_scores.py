"""Intervals that know that recommenders were fitted: groups of users are left out, and recommenders fitted again.

The interval of a score holds its recommender fixed, while other users would have led to another fit. Users cannot
be drawn with repetition to see how much that matters: a recommender would learn a held-out interaction from the
copy of its user. So each of G groups of users is left out of the log, fit and score, which gives scores x_g and
the variance of the delete-a-group jackknife::

    V = (G - 1) / G  sum_g (x_g - mean x) ** 2

with G - 1 degrees of freedom. It is right for scores that change smoothly with the log; a list of the most popular
items changes in jumps, and V is too large for it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from unskew.checks import Seed, public, require_whole_number
from unskew.data.log import Log
from unskew.data.policy import critical_value
from unskew.errors import EmptyError, option
from unskew.evaluation.evaluate_report import report
from unskew.evaluation.report import average_reports
from unskew.evaluation.score import Results, Score
from unskew.progress import progress
from unskew.recommend.specs import AnyRecommenders, name_recommenders

_STREAM = 0x1ACC  # of random numbers
_Key = tuple[str, str]


@public
def jackknife(
    log: Log | Sequence[Log],
    recommenders: AnyRecommenders,
    *,
    at: Any = None,
    metric: Any = "hit@5",
    groups: int = 10,
    seed: Seed = 0,
    level: float = 0.95,
) -> Results[Score]:
    """Raw scores as of `report`, with intervals that include the error of the fit of each recommender.

    It takes as long as so many reports as there are groups.

    Parameters
    ----------
    log
        All of history, or a view of it; or several draws of a view in which chance decides.
    recommenders, at, metric, level
        As for `report`.
    groups
        How many groups of users are left out, one after the other.
    seed
        Of dealing users into groups.

    Examples
    --------
    >>> import unskew as us
    >>> log = us.simulate(users=300, items=60, seed=2).log
    >>> score = us.evaluate("knn", log.at(480))
    >>> [refitted] = us.evaluation.jackknife(log, "knn", at=480)
    >>> refitted.value == score.value, refitted.low <= score.low < score.high <= refitted.high
    (True, True)
    """
    require_whole_number(option("groups"), groups, "how many groups of users are excluded in turn", 2)
    draws = list(log) if isinstance(log, Sequence) else [log]
    models = name_recommenders(recommenders)
    options: dict[str, Any] = {"at": at, "metric": metric, "level": level}
    alone = [report(draw, models, **options) for draw in draws]
    scores = average_reports(alone).scores
    group = np.random.default_rng([seed, _STREAM]).permutation(len(draws[0].users)) % groups
    changes: dict[_Key, list[float]] = {_identify(score): [] for score in scores}
    progress().begin("fitting without groups of users", groups, "groups")
    for number in range(groups):
        draw, whole = draws[number % len(draws)], alone[number % len(draws)].scores
        others = draw.keep_entries((group != number)[draw.entry_users()])
        if not len(others):
            raise EmptyError(
                f"nothing is left without one of {groups} groups of users", remedy=f"lower {option('groups')}"
            )
        values = {_identify(score): score.value for score in whole}
        for score in report(others, models, **options).scores:
            changes[_identify(score)].append(score.value - values[_identify(score)])
        progress().advance(1)
    return Results([_widen(score, changes[_identify(score)]) for score in scores], scores.frames)


def _identify(score: Score) -> _Key:
    return score.recommender, score.metric


def _widen(score: Score, changes: Sequence[float]) -> Score:
    """A score whose limits are as far as the jackknife has them, if that is further."""
    groups = len(changes)
    variance = (groups - 1) * float(np.var(changes)) + (1 + 1 / score.draws) * score.spread**2
    half = critical_value(score.level, groups) * math.sqrt(variance)
    width = (score.high - score.low) / 2
    if not half > width:
        return replace(score, method="jackknife")
    low, high = (score.value + (limit - score.value) * half / width for limit in (score.low, score.high))
    return replace(
        score,
        low=max(low, 0.0) if score.low >= 0 else low,
        high=min(high, 1.0) if score.high <= 1 else high,
        method="jackknife",
    )
