"""Figures averaged over draws of a view, against Rubin's rules worked out by hand."""

from __future__ import annotations

import inspect
import math
from dataclasses import replace
from statistics import NormalDist, mean, stdev, variance
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.stats import t as student

import unskew as us
from unskew.cli import main
from unskew.evaluation.changes import Part
from unskew.evaluation.report import combine
from unskew.evaluation.score import Results
from unskew.show.report_words import UNTRUSTED, describe_intervals
from unskew.show.verdict_text import make_score_table

Z = NormalDist().inv_cdf(0.975)


@given(
    st.lists(
        st.tuples(st.floats(0, 1), st.floats(0.001, 0.2)),
        min_size=2,
        max_size=6,
    )
)
@example([(0.0, 0.125), (1e-100, 0.125)])  # degrees of freedom beyond all floats
def test_the_interval_of_a_mean_over_draws_is_that_of_multiple_imputation(
    draws: list[tuple[float, float]],
) -> None:
    values, errors = zip(*draws, strict=True)
    found = combine([Part(v, v - Z * e, v + Z * e) for v, e in draws], 0.95)
    total = mean(e * e for e in errors) + (1 + 1 / len(values)) * variance(values)
    assert found.value == pytest.approx(mean(values))
    m, between = len(values), (1 + 1 / len(values)) * variance(values)
    t = Z
    if between > 1e-12:
        t = student.ppf(0.975, (m - 1) * (1 + mean(e * e for e in errors) / between) ** 2)
    # half a width within is the mean of errors, which is at most the root of their mean square
    ratio = mean(errors) / math.sqrt(mean(e * e for e in errors))
    assert found.high - found.value == pytest.approx(t * math.sqrt(total) * ratio, rel=1e-6)
    assert found.value - found.low == pytest.approx(t * math.sqrt(total) * ratio, rel=1e-6)


@pytest.fixture(scope="module")
def draws() -> list[us.Log]:
    log = us.simulate(users=300, items=60, seed=4).log
    rng = np.random.default_rng(0)
    return [log.keep_entries(rng.random(len(log)) < 0.8, view="thinned") for _ in range(3)]


def test_a_report_on_draws_has_the_mean_of_their_scores_and_their_spread(draws: list[us.Log]) -> None:
    options: Any = {"at": 480, "reference": 300, "metric": ["hit@5", "mrr@5"]}
    alone = [us.report(draw, ["popular", "constant:1,3,5"], **options) for draw in draws]
    found = us.report(draws, ["popular", "constant:1,3,5"], **options)
    assert len(found.scores) == len(alone[0].scores)
    for k, score in enumerate(found.scores):
        values = [report.scores[k].value for report in alone]
        assert score.value == pytest.approx(mean(values))
        assert score.spread == pytest.approx(stdev(values))
        assert (score.draws, score.view) == (3, "thinned")
        assert score.low <= score.value <= score.high
    for k, change in enumerate(found.changes):
        assert change.change.value == pytest.approx(mean(report.changes[k].change.value for report in alone))
        whole, *parts = (part.value for part in change.parts().values())
        assert whole == pytest.approx(sum(parts))
        more = [report.changes[k].more_data for report in alone]
        assert change.more_data is not None
        assert change.more_data.value == pytest.approx(mean(part.value for part in more if part is not None))
    for k, comparison in enumerate(found.comparisons):
        differences = [report.comparisons[k].difference for report in alone]
        assert comparison.difference == pytest.approx(mean(differences))
        assert (comparison.p < 0.05) == (not comparison.low <= 0 <= comparison.high)
        assert comparison.p_holm >= comparison.p


def test_a_view_without_trust_has_no_interval_in_the_table(draws: list[us.Log]) -> None:
    report = us.report(draws, "popular", at=480)
    score = report.scores[0]
    assert score.biased
    assert make_score_table(report)[1][0][-1] == f"±{50 * (score.high - score.low):.2f} by chance"
    assert UNTRUSTED in describe_intervals(report)
    trusted = replace(report, scores=Results([replace(score, biased=False)], report.scores.frames))
    assert make_score_table(trusted)[1][0][-1] == f"{100 * score.low:.2f} % to {100 * score.high:.2f} %"
    assert UNTRUSTED not in describe_intervals(trusted)


def test_one_draw_is_a_report_as_ever(draws: list[us.Log]) -> None:
    one, same = us.report(draws[:1], "popular", at=480), us.report(draws[0], "popular", at=480)
    assert one.to_dict() == same.to_dict()
    assert one.scores[0].draws == 1


@pytest.mark.parametrize("name", ["report", "check"])
def test_python_and_the_command_line_average_over_as_many_draws(name: str) -> None:
    [option] = [option for option in main.commands[name].params if option.name == "draws"]
    assert inspect.signature(getattr(us, name)).parameters["draws"].default == option.default == 5
