"""Intervals that include the fit of recommenders, against a jackknife by hand and the spread over other logs."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import t as student

import unskew as us
from unskew.errors import PolicyError
from unskew.evaluation import jackknife
from unskew.evaluation.refitted_scores import _STREAM
from unskew.known_truths.case_sources import find_sources


def test_the_interval_is_that_of_a_jackknife_by_hand() -> None:
    log = us.simulate(users=200, items=40, seed=3).log
    [score] = jackknife(log, "knn", at=480, groups=5)
    alone = us.evaluate("knn", log.at(480))
    group = np.random.default_rng([0, _STREAM]).permutation(200) % 5
    left = [us.evaluate("knn", log.keep_entries((group != k)[log.entry_users()]).at(480)).value for k in range(5)]
    variance = 4 / 5 * sum((value - np.mean(left)) ** 2 for value in left)
    assert score.value == alone.value
    assert score.method == "jackknife"
    width = max(2 * student.ppf(0.975, 4) * math.sqrt(variance), alone.high - alone.low)
    assert score.high - score.low == pytest.approx(width)
    assert score.low <= alone.low < alone.high <= score.high


def test_draws_of_a_view_add_their_variance() -> None:
    log = us.simulate(users=200, items=40, seed=4).log
    rng = np.random.default_rng(0)
    draws = [log.keep_entries(rng.random(len(log)) < 0.7, view="thinned") for _ in range(3)]
    [score] = jackknife(draws, "knn", at=480, groups=6)
    [average] = us.report(draws, "knn", at=480).scores
    assert (score.value, score.draws) == (average.value, 3)
    assert score.low <= average.low < average.high <= score.high
    assert score.high - score.low > 2 * student.ppf(0.975, 5) * math.sqrt(4 / 3) * score.spread


def test_intervals_are_as_wide_as_scores_of_other_logs_ask_for() -> None:
    world: Any = find_sources(["steady-quiet"], base=None, users=300, items=300)[0]
    recipe = replace(world.recipe, item_seed=0)
    logs = [us.simulate(recipe, seed=seed).log for seed in range(20)]
    scores = [us.evaluate("knn", log.at(499)) for log in logs]
    refitted = [jackknife(log, "knn", at=499)[0] for log in logs[:8]]
    needed = 2 * 1.96 * np.std([score.value for score in scores], ddof=1)
    printed, wide = (np.mean([score.high - score.low for score in several]) for several in (scores, refitted))
    assert printed < 0.85 * needed  # which holds the recommender fixed
    assert 0.9 * needed < wide < 1.8 * needed


def test_one_group_is_refused() -> None:
    log = us.simulate(users=50, items=20, seed=1).log
    with pytest.raises(PolicyError, match="groups is 1, but must be a whole number of at least 2"):
        jackknife(log, "popular", at=480, groups=1)
