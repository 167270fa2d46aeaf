"""`fit_weights`: two dates in, weights out; every form of reference, starts, limits, and laws of the answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import unskew as us
from tests.dense import (
    Event,
    Floats,
    columns,
    item_mix,
    least_divergence,
    least_total_variation,
    profiles_at,
    random_events,
    table_of,
)
from unskew.arrays import blocks
from unskew.errors import InputError, PolicyError

seeds = st.integers(0, 2**32 - 1)
FIGURES = (
    "divergence_before",
    "divergence",
    "bound_before",
    "bound",
    "residual",
    "bound_least",
    "gap",
)


def log_of(seed: int, users: int = 25, items: int = 7, joining: bool = True) -> tuple[list[Event], us.Log]:
    events = random_events(np.random.default_rng(seed), users, items, joining)
    return events, us.read_log(columns(events))


def by_item(result: us.ItemWeights, values: Floats) -> dict[Any, float]:
    return dict(zip(result.items.to_pylist(), values.tolist(), strict=True))


@given(seeds)
@settings(max_examples=30, deadline=None)
def test_the_marginals_of_the_result_are_those_of_plain_python(seed: int) -> None:
    events, log = log_of(seed)
    result = us.fit_weights(log.at(9), log.at(4))
    before, now = item_mix(profiles_at(events, 4)), item_mix(profiles_at(events, 9))
    assert by_item(result, result.p_reference) == pytest.approx({i: before.get(i, 0.0) for i in now}, abs=1e-14)
    assert by_item(result, result.p_before) == pytest.approx(now, abs=1e-14)
    weight = by_item(result, result.log_weights)
    kept = {
        u: {i: t for i, t in held.items() if weight[i] > -np.inf} for u, held in profiles_at(events, 9).items()
    }
    after = item_mix({u: held for u, held in kept.items() if held}, log_weight=weight)
    assert by_item(result, result.p_after) == pytest.approx({i: after.get(i, 0.0) for i in now}, abs=1e-12)


@given(seeds)
@settings(max_examples=30, deadline=None)
def test_the_figures_before_are_of_the_raw_snapshot_with_all_users_and_items(seed: int) -> None:
    events, log = log_of(seed)
    result = us.fit_weights(log.at(9), log.at(4), min_items=1)
    before, now = item_mix(profiles_at(events, 4)), item_mix(profiles_at(events, 9))
    both = set(before) & set(now)
    total = sum(before[i] for i in both)
    expected = sum(before[i] / total * np.log(before[i] / total / now[i]) for i in both)
    assert result.report.divergence_before == pytest.approx(expected, abs=1e-12)
    every = set(before) | set(now)
    expected = 0.5 * sum(abs(before.get(i, 0.0) - now.get(i, 0.0)) for i in every)
    assert result.report.bound_before == pytest.approx(expected, abs=1e-12)


@given(seeds)
@settings(max_examples=25, deadline=None)
def test_no_weighting_of_the_profiles_is_better_than_the_one_found(seed: int) -> None:
    """Against a convex and a linear program over every P(i|u) on the profiles at t1."""
    _, log = log_of(seed, users=10)
    result = us.fit_weights(log.at(9), log.at(2), tol=3e-8, max_passes=10_000)
    assert result.status in ("solved", "certified")
    known = result.target > 0
    held = table_of(log.at(9).profiles).held
    codes = log.items.codes(result.items)[known]
    rows = held[:, codes]
    rows = rows[rows.any(axis=1)]
    table = type(table_of(log.at(9).profiles))(np.full(len(rows), 1 / len(rows)), rows / rows.sum(axis=1)[:, None])
    target = result.target[known]
    least = least_divergence(table, target)
    assert abs(result.divergence - least) <= 1e-6
    assert result.report.gap >= result.divergence - least - 1e-8
    assert result.report.residual == pytest.approx(least_total_variation(table, target), abs=1e-7)
    assert result.report.bound_least <= least_total_variation(table, target) + 1e-12


def references(log: us.Log, other: us.Log) -> dict[str, Callable[[], Any]]:
    def saved() -> Any:
        return log.at(4).marginal()

    def frame() -> dict[str, list[Any]]:
        mix = log.at(4).marginal().to_dict()
        return {"item": list(mix), "probability": list(mix.values())}

    return {
        "another log": lambda: other.at(4),
        "marginal": saved,
        "mapping": lambda: log.at(4).marginal().to_dict(),
        "pandas": lambda: pd.DataFrame(frame()),
        "polars": lambda: pl.DataFrame(frame()),
    }


@pytest.mark.parametrize("form", ["another log", "marginal", "mapping", "pandas", "polars"])
def test_every_form_of_reference_gives_the_same_weights(form: str) -> None:
    events, log = log_of(3, users=60, items=20)
    expected = us.fit_weights(log.at(9), log.at(4))
    other = us.read_log(columns([e for e in events if e[2] <= 4][::-1]))  # other codes, other order
    assert other.items.to_list() != log.items.to_list()
    result = us.fit_weights(log.at(9), references(log, other)[form]())
    exact = form != "another log"  # whose marginal is summed in another order
    assert result.log_weights == pytest.approx(expected.log_weights, abs=0 if exact else 1e-10)
    for name in FIGURES:
        assert getattr(result.report, name) == pytest.approx(
            getattr(expected.report, name), abs=0 if exact else 1e-12
        )
    assert result.status == expected.status


def test_a_marginal_that_was_saved_gives_the_same_weights_as_the_log(tmp_path: Any) -> None:
    _, log = log_of(4)
    log.at(4).marginal().save(tmp_path / "reference.parquet")
    saved = us.fit_weights(log.at(9), us.Marginal.load(tmp_path / "reference.parquet"))
    direct = us.fit_weights(log.at(9), log.at(4))
    assert np.array_equal(saved.log_weights, direct.log_weights)
    assert saved.reference == direct.reference == 4
    assert saved.report.history == direct.report.history


@given(seeds)
@settings(max_examples=30, deadline=None)
def test_log_weights_are_scaled_so_that_their_mean_under_the_target_is_zero(seed: int) -> None:
    _, log = log_of(seed)
    for new_items in ("drop", "keep"):
        result = us.fit_weights(log.at(9), log.at(4), new_items=new_items)
        some = result.target > 0
        assert result.target.sum() == pytest.approx(1, abs=1e-12)
        assert (result.target[some] * result.log_weights[some]).sum() == pytest.approx(0, abs=1e-10)


@given(seeds, st.randoms(use_true_random=False))
@settings(max_examples=20, deadline=None)
def test_other_ids_and_another_order_of_rows_leave_the_figures_unchanged(seed: int, random: Any) -> None:
    events, log = log_of(seed)
    users = sorted({e[0] for e in events})
    items = sorted({e[1] for e in events})
    new_user = dict(zip(users, random.sample(range(1000), len(users)), strict=True))
    new_item = dict(zip(items, random.sample(range(1000), len(items)), strict=True))
    renamed: list[Event] = [(new_user[u], new_item[i], t) for u, i, t in events]
    random.shuffle(renamed)
    one = us.fit_weights(log.at(9), log.at(4))
    renamed_log = us.read_log(columns(renamed))
    other = us.fit_weights(renamed_log.at(9), renamed_log.at(4))
    assert one.report.passes == other.report.passes
    for name in FIGURES:
        found, expected = getattr(other.report, name), getattr(one.report, name)
        assert found == pytest.approx(expected, abs=1e-9)  # sums in another order
    mix = {new_item[i]: q for i, q in by_item(one, one.p_after).items()}
    assert by_item(other, other.p_after) == pytest.approx(mix, abs=1e-9)


def test_the_result_is_the_same_to_the_last_bit_for_any_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    n = 60_000
    table = {
        "user": rng.integers(0, 15_000, n),
        "item": (3000 * rng.random(n) ** 3).astype(int),
        "time": rng.integers(0, 10, n),
    }
    log = us.read_log(table)
    assert len(log.at(9)) > blocks.SMALL
    results = []
    for threads in ("1", "2", "3", "7"):
        monkeypatch.setenv("UNSKEW_THREADS", threads)
        results.append(us.fit_weights(log.at(9), log.at(4)))
    for other in results[1:]:
        assert np.array_equal(other.log_weights, results[0].log_weights)
        assert np.array_equal(other.p_after, results[0].p_after)
        assert other.report.history == results[0].report.history
        assert replace(other.report, seconds=0.0) == replace(results[0].report, seconds=0.0)


def test_a_warm_start_needs_fewer_passes_and_gives_the_same_answer() -> None:
    rng = np.random.default_rng(6)
    n = 20_000
    user, time = rng.integers(0, 4000, n), rng.integers(0, 1001, n)
    log = us.read_log({"user": user, "item": (300 * rng.random(n) ** 2).astype(int), "time": time})
    reference, yesterday, now = log.at(700), log.at(998), log.at(1000)
    before = us.fit_weights(yesterday, reference)
    cold = us.fit_weights(now, reference)
    warm = us.fit_weights(now, reference, warm_start=before)
    assert cold.report.converged
    assert warm.report.passes < cold.report.passes
    assert warm.status == cold.status
    assert warm.report.residual == pytest.approx(cold.report.residual, abs=1e-4)
    again = us.fit_weights(now, reference, warm_start=cold)
    assert again.report.passes <= 3
    assert again.p_after == pytest.approx(cold.p_after, abs=1e-4)


def test_a_warm_start_may_be_a_mapping_and_need_not_know_every_item() -> None:
    _, log = log_of(7, users=100)
    cold = us.fit_weights(log.at(9), log.at(4), tol=1e-6, max_passes=5000)
    some = {i: w for i, w in list(by_item(cold, cold.weights).items())[:3] if w > 0} | {"unheard of": 2.0}
    warm = us.fit_weights(log.at(9), log.at(4), tol=1e-6, max_passes=5000, warm_start=some)
    assert warm.report.residual == pytest.approx(cold.report.residual, abs=2e-6)
    for wrong in (0.0, -1.0, np.nan, np.inf):
        with pytest.raises(InputError, match="must be positive numbers"):
            us.fit_weights(log.at(9), log.at(4), warm_start={"i0": wrong})


@pytest.mark.parametrize("method", ["scaling", "descent", "lbfgs"])
def test_running_out_of_passes_is_a_warning_that_carries_what_was_reached(method: str) -> None:
    _, log = log_of(8, users=200)
    with pytest.warns(us.ConvergenceWarning, match="stopped after .* passes, .* away from the target") as caught:
        result = us.fit_weights(log.at(9), log.at(4), method=method, tol=1e-12, max_passes=4)
    assert len(caught) == 1
    warning = caught[0].message
    assert isinstance(warning, us.ConvergenceWarning)
    assert warning.reached is result
    assert result.status == "unfinished"
    assert not result.report.converged
    assert result.report.passes <= 4
    assert result.divergence <= result.report.history[0]
    assert caught[0].filename == __file__


@given(seeds)
@settings(max_examples=40, deadline=None)
def test_the_bound_really_bounds_the_change_of_any_constant_score(seed: int) -> None:
    """Random metrics in [0, 1] for every item of either date, vanished and new ones included."""
    rng = np.random.default_rng(seed)
    events, log = log_of(seed)
    gone = {"vanished": 0.2} | {i: 0.8 * p for i, p in item_mix(profiles_at(events, 3)).items()}
    for reference, before in ((log.at(3), item_mix(profiles_at(events, 3))), (gone, gone)):
        for new_items in ("drop", "keep"):
            result = us.fit_weights(log.at(9), reference, new_items=new_items)
            after = by_item(result, result.p_after)
            tight = 0.0
            for _ in range(20):
                metric = {i: float(rng.integers(0, 2)) for i in {*before, *after}}
                score_then = sum(p * metric[i] for i, p in before.items())
                score_now = sum(q * metric[i] for i, q in after.items())
                assert abs(score_then - score_now) <= result.bound + 1e-12
            best = {i: float(before.get(i, 0.0) > after.get(i, 0.0)) for i in {*before, *after}}
            tight = sum(before.get(i, 0.0) * x - after.get(i, 0.0) * x for i, x in best.items())
            assert tight == pytest.approx(result.bound, abs=1e-12)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "magic"}, "method is 'magic', but must be one of scaling, descent, lbfgs"),
        ({"tol": -1e-3}, "tol is -0.001"),
        ({"tol": float("nan")}, "tol is nan"),
        ({"tol": float("inf")}, "tol is inf"),
        ({"max_passes": 1}, "max_passes is 1, but must be a whole number of at least 2"),
        ({"new_items": "maybe"}, "new_items is 'maybe', but must be one of drop, keep"),
        (
            {"min_items": 0},
            "min_items is 0, but must be a whole number of at least 1",
        ),
        ({"min_items": 1.5}, "min_items is 1.5, but must be a whole number of at least 1"),
        ({"users": "some"}, "users is 'some', but must be one of all, both"),
    ],
)
def test_a_wrong_option_is_refused_with_what_it_can_be(options: dict[str, Any], message: str) -> None:
    _, log = log_of(9)
    with pytest.raises(PolicyError, match=message):
        us.fit_weights(log.at(9), log.at(4), **options)


def test_a_reference_that_shares_no_item_is_refused_with_both_kinds_of_ids() -> None:
    _, log = log_of(10)
    with pytest.raises(
        InputError, match=r"share no item .the reference has 1, 2.*the log has 'i.*make them the same"
    ):
        us.fit_weights(log.at(9), {1: 0.5, 2: 0.5})
    with pytest.raises(InputError, match=r"share no item.*same catalogue"):
        us.fit_weights(log.at(9), {"x": 0.5, "y": 0.5})


def test_numpy_integers_are_as_good_as_pythons(tmp_path: Any) -> None:
    _, log = log_of(11, users=60)
    result = us.fit_weights(log.at(9), log.at(4), top=np.int64(2), method="lbfgs", min_items=np.int64(1))  # type: ignore[arg-type]
    result.save(tmp_path / "weights.parquet")
    assert us.ItemWeights.load(tmp_path / "weights.parquet").options.top == 2


def test_the_same_date_needs_no_weights() -> None:
    _, log = log_of(12)
    result = us.fit_weights(log.at(9), log.at(9))
    assert result.status == "solved"
    assert result.report.passes == 2
    assert (result.weights == 1).all()
    assert result.bound == pytest.approx(0, abs=1e-14)
