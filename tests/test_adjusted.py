"""The adjusted view: exposed interactions are kept as often as they would have happened anyway."""

from __future__ import annotations

import functools
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from scipy.optimize import minimize

import unskew as us
from unskew.errors import InputError, PolicyError
from unskew.reading.exposures import find_showings, mark_exposed
from unskew.views.adjusted_view import plan_adjusted
from unskew.views.poisson import PoissonRates, fit_poisson
from unskew.views.thinning import Thinning

END, SHOWN_AT = 100.0, 50.0
HAZARD, SHOWN_SHARE, ACCEPTANCE = 0.004, 0.3, 0.3


def test_rates_are_where_the_penalised_likelihood_is_largest() -> None:
    rng = np.random.default_rng(1)
    features, time = rng.normal(size=(400, 3)), rng.uniform(0.5, 2.0, 400)
    events = rng.poisson(time * np.exp(-0.5 + features @ [0.6, -0.3, 0.0])).astype(float)
    rows = (features - features.mean(axis=0)) / features.std(axis=0)

    def lose(b: Any) -> float:
        score = b[0] + rows @ b[1:]
        return float((time * np.exp(score) - events * score).sum() + 10 * (b[1:] ** 2).sum())

    best = minimize(lose, np.zeros(4), tol=1e-12).x
    assert fit_poisson(features, events, time).predict(features) == pytest.approx(
        np.exp(best[0] + rows @ best[1:]), rel=1e-4
    )


def test_without_features_the_rate_is_events_over_time() -> None:
    rates = fit_poisson(np.ones((4, 1)), np.array([1.0, 0, 2, 0]), np.array([1.0, 2, 3, 4]))
    assert rates.predict(np.ones((1, 1))) == pytest.approx(0.3)
    assert fit_poisson(np.ones((4, 1)), np.zeros(4), np.ones(4)).predict(np.ones((2, 1))).tolist() == [0.0, 0.0]


@functools.cache
def draw_tables(seed: int = 0) -> tuple[pa.Table, pa.Table, int]:
    """A log in which all pairs are alike and some are shown at random; and how many exposed ones are organic."""
    rng = np.random.default_rng(seed)
    users, items = (axis.ravel() for axis in np.meshgrid(np.arange(500), np.arange(40), indexing="ij"))
    alone = rng.exponential(1 / HAZARD, len(users))
    shown = (rng.random(len(users)) < SHOWN_SHARE) & (alone > SHOWN_AT)
    accepted = shown & (rng.random(len(users)) < ACCEPTANCE)
    time = np.where(accepted, SHOWN_AT, alone)
    happens = time <= END
    log = pa.table({"user": users[happens], "item": items[happens], "time": time[happens]})
    exposures = pa.table({"user": users[shown], "item": items[shown], "time": np.full(shown.sum(), SHOWN_AT)})
    return log, exposures, int((shown & happens & (alone <= END)).sum())


def plan(log: us.Log, exposures: Any, **more: Any) -> Thinning:
    return plan_adjusted(mark_exposed(log, exposures, **more), find_showings(log, exposures))


@functools.cache
def plan_tables(seed: int = 0) -> Thinning:
    table, exposures, _ = draw_tables(seed)
    return plan(us.read_log(table), exposures)


def test_where_pairs_are_alike_the_closed_form_comes_out() -> None:
    anyway = 1 - np.exp(-HAZARD * (END - SHOWN_AT))
    expected = anyway / (ACCEPTANCE + (1 - ACCEPTANCE) * anyway)
    kept, organic = [], []
    for seed in range(4):
        made = plan_tables(seed)
        kept.append(made.keep.mean())
        organic.append(draw_tables(seed)[2] / len(made.keep))
        assert made.keep.std() < 0.4 * made.keep.mean()
    assert np.mean(organic) == pytest.approx(expected, rel=0.03)
    assert np.mean(kept) == pytest.approx(expected, rel=0.1)


def test_the_unit_of_time_makes_no_difference() -> None:
    table, exposures, _ = draw_tables()
    slow = plan_tables().keep
    day = [
        pa.table({**{n: t[n] for n in ("user", "item")}, "time": t["time"].to_numpy() * 86400})
        for t in (table, exposures)
    ]
    assert plan(us.read_log(day[0]), day[1]).keep.mean() == pytest.approx(slow.mean(), rel=0.02)


def test_what_is_interacted_with_long_after_a_showing_is_kept() -> None:
    table, exposures, organic = draw_tables()
    made = plan(us.read_log(table), exposures, within=10)
    log = made.log
    assert log.exposed is not None
    late = np.flatnonzero(~log.exposed)
    left = made.draw()
    assert len(left) == pytest.approx(len(late) + made.keep.sum(), abs=2)
    unmarked = organic - int((log.exposed & (log.time > SHOWN_AT)).sum())
    assert made.keep.sum() < unmarked + organic  # what comes later by itself is not kept a second time
    assert (made.keep >= 0).all()


@functools.cache
def simulate(world: str, seed: int) -> us.worlds.World:
    return us.simulate(world, users=600, items=200, seed=seed)


def read_plain(world: us.worlds.World) -> us.Log:
    return us.read_log(world.tables["log"].drop_columns("exposed"))


def find_error(view: us.Log, truth: us.Log) -> float:
    models = ("popular", "knn", "knn?similarity=cooccurrence", "ease")
    errors = [us.evaluate(m, view.at(500)).value / us.evaluate(m, truth.at(500)).value - 1 for m in models]
    return float(np.abs(errors).mean())


@pytest.mark.parametrize("name", ["steady", "content"])
def test_scores_are_closer_to_the_truth_than_without_all_that_was_shown(name: str) -> None:
    errors = []
    for seed in (41, 42):
        world = simulate(name, seed)
        adjusted = us.views.adjusted(read_plain(world), world.exposures)
        errors.append([find_error(view, world.truth) for view in (adjusted, us.views.organic(world.log))])
    adjusted_error, organic_error = np.mean(errors, axis=0)
    assert adjusted_error < 0.7 * organic_error


def test_exposures_alone_choose_the_view_and_a_column_of_marks_does_not() -> None:
    world = simulate("steady", 41)
    view = us.views.take_view(read_plain(world), exposures=world.exposures, test=False)
    assert view.view == "adjusted"
    assert view.view_report is not None
    assert "would have happened anyway" in view.view_report.notes[0]
    assert us.views.take_view(world.log, test=False).view == "organic"
    with pytest.raises(PolicyError, match="who was shown what when"):
        us.views.take_view(world.log, view="adjusted")


def test_if_everybody_is_shown_everything_nothing_is_adjusted() -> None:
    table, _, _ = draw_tables()
    pairs = [axis.ravel() for axis in np.meshgrid(np.arange(500), np.arange(40), indexing="ij")]
    everything = pa.table({"user": pairs[0], "item": pairs[1], "time": np.full(len(pairs[0]), 1.0)})
    log = us.read_log(table)
    with pytest.raises(InputError, match=r"interactions since the first exposure|was shown to them"):
        us.views.adjusted(log, everything)
    some = pa.concat_tables([everything.filter(pa.array(pairs[0] >= 20)), everything.slice(0, 10)])
    view = us.views.take_view(log, exposures=some, test=False)
    assert view.view == "organic"
    assert view.view_report is not None
    assert "nothing could be adjusted" in view.view_report.reason


def test_nothing_is_adjusted_by_a_hazard_whose_error_is_unknown() -> None:
    rates = PoissonRates(np.zeros(1), np.ones(1), np.zeros(2), -np.eye(2))  # no matrix of variances
    assert np.isnan(rates.find_errors(np.ones((3, 1)))).all()
    world = simulate("steady", 41)
    unknown = patch.object(PoissonRates, "find_errors", lambda self, rows: np.full(len(rows), np.nan))
    with unknown, pytest.raises(InputError, match="by themselves is unknown"):
        us.views.adjusted(read_plain(world), world.exposures)


def test_rows_in_another_order_give_the_same_bits() -> None:
    world = simulate("steady", 41)
    rng = np.random.default_rng(5)
    table, shown = world.tables["log"].drop_columns("exposed"), world.exposures
    shuffled = [t.take(pa.array(rng.permutation(t.num_rows))) for t in (table, shown)]
    first, second = plan(us.read_log(table), shown), plan(us.read_log(shuffled[0]), shuffled[1])
    names = [
        {
            (log.users[u], log.items[i]): k
            for u, i, k in zip(log.entry_users()[p.entry], log.item[p.entry], p.keep, strict=True)
        }
        for p in (first, second)
        for log in (p.log,)
    ]
    assert names[0] == names[1]


def test_draws_spread_as_far_as_the_probabilities_are_unsure() -> None:
    """The mean probability over samples of users varies as it does over independent people of the same kind."""
    made = plan_tables()
    assert made.resample is not None
    means = [made.resample(np.random.default_rng(seed)).mean() for seed in range(8)]
    others = [plan_tables(seed).keep.mean() for seed in range(4)]
    assert 0.5 < np.std(means) / np.std(others) < 2
    lengths = {len(log) for log in made.draw_several(0, 3)}
    assert len(lengths) > 1
    assert [len(log) for log in made.draw_several(0, 3)] == [len(log) for log in made.draw_several(0, 3)]
