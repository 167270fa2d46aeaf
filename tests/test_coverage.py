"""Every kind of interval holds the truth about as often as it says; `coverage_of_kinds` looks longer."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from benchmarks.coverage_of_kinds import (
    ALONE,
    HIT,
    NOT_MEANT,
    Study,
    by_draws,
    by_refit,
    by_users,
    counted,
    to_a_marginal,
)
from benchmarks.population import BEFORE, KINDS, NOW, RECOMMENDERS, SEGMENT, Sample, population

REPEATS = 12
STUDIES: dict[str, tuple[Study, int, int]] = {
    "by users": (by_users, 500, 9),
    "by draws": (by_draws, 500, 4),
    "refit": (partial(by_refit, repeats=REPEATS), 200, 7),
    "refit, mass trapped": (partial(by_refit, trapped=True, repeats=REPEATS), 200, 5),
    "to a marginal": (partial(to_a_marginal, repeats=REPEATS), 120, 2),
}


@pytest.mark.parametrize("name", STUDIES)
def test_intervals_of_level_95_percent_hold_the_truth_in_93_to_97(name: str) -> None:
    study, samples, kinds = STUDIES[name]
    found = counted((study(10_000 + seed) for seed in range(samples)), samples)
    assert len(found) == kinds
    for seen in found:
        if seen.meant:
            assert 0.93 - 2 * seen.error <= seen.coverage <= 0.97 + 2 * seen.error, seen
        if seen.kind == ALONE:
            assert seen.coverage < 0.85
        if seen.kind in NOT_MEANT and "constant" in seen.kind:
            assert seen.coverage < 0.9


@pytest.mark.parametrize("trapped", [False, True])
def test_the_truth_is_the_score_of_everyone(trapped: bool) -> None:
    people = population(trapped=trapped)
    everyone = Sample(people, np.arange(KINDS))
    for name in RECOMMENDERS:
        now, before = (everyone.ranked(name, at) for at in (everyone.now, everyone.before))
        assert people.score(name, NOW) == pytest.approx(now.score(HIT).value, abs=1e-12)
        assert people.score(name, BEFORE) == pytest.approx(before.score(HIT).value, abs=1e-12)
        assert people.score(name, NOW, weighted=True) == pytest.approx(
            now.score(HIT, people.weights).value, abs=1e-4
        )
        uneven = everyone.ranked(name, everyone.now_uneven).score(HIT).value
        assert people.score(name, NOW, uniform=False) == pytest.approx(uneven, abs=1e-12)
    popular = everyone.ranked("own", everyone.now).by_segment(everyone.now.profiles.item < SEGMENT, HIT)[1].value
    assert people.score("own", NOW, items=SEGMENT) == pytest.approx(popular, abs=1e-12)


def test_the_populations_are_what_they_are_called() -> None:
    assert population().weights.status == "solved"
    weights = population(trapped=True).weights
    assert weights.status == "certified"
    assert weights.report.residual > 0.005
