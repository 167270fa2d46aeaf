"""A world of the paper's size: 34 448 users, 35 741 items, 5.3 items a user, two campaigns."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import unskew as us
from tests.dense import Floats, divergence, total_variation

USERS, ITEMS, DAYS = 34_448, 35_741, 500


@cache
def world(joining: bool, seed: int) -> us.Log:
    """Profiles whose sizes follow a power law, mostly taken early, with campaigns on days 330 and 430.

    Each campaign recommends one of 30 frequent items to one user in seven. Where users join over
    time, they do so on any day before the last.
    """
    rng = np.random.default_rng(seed)
    size = 1 + np.minimum(1.9 * rng.pareto(1.3, USERS), 200).astype(np.int64)
    popularity = np.arange(1, ITEMS + 1) ** -0.8
    joined = rng.integers(0, DAYS, USERS) if joining else np.zeros(USERS, dtype=np.int64)
    user = np.repeat(np.arange(USERS), size)
    item = rng.choice(ITEMS, len(user), p=popularity / popularity.sum())
    time = np.maximum(joined[user], (DAYS * rng.random(len(user)) ** 1.5).astype(np.int64))
    time[np.concatenate([[0], np.cumsum(size)[:-1]])] = joined  # the first item of each user
    rows = [(user, item, time)]
    for day in (330, 430):
        there = np.flatnonzero(joined <= day)
        shown = there[rng.random(len(there)) < 0.15]
        campaign = rng.choice(200, 30, replace=False)
        rows.append((shown, rng.choice(campaign, len(shown)), np.full(len(shown), day)))
    rows.append((np.array([0]), np.array([ITEMS - 1]), np.array([DAYS])))
    users, items, times = (np.concatenate(column) for column in zip(*rows, strict=True))
    return us.read_log({"user": users, "item": items, "time": times})


def dense_marginal(now: us.Snapshot, theta: Floats) -> Floats:
    """The weighted marginal with numpy's own sums over all entries."""
    profiles = now.profiles
    size = profiles.sizes()
    rows = np.repeat(np.arange(len(size)), size)
    start = np.repeat(profiles.start.astype(np.int64), size)
    first = np.repeat(np.cumsum(size) - size, size)
    entry = start + np.arange(len(rows)) - first
    item = profiles.item[entry]
    highest = np.full(len(size), -np.inf)
    np.maximum.at(highest, rows, theta[item])
    part = highest > -np.inf
    x = np.where(part[rows], np.exp(theta[item] - np.where(part, highest, 0.0)[rows]), 0.0)
    total = np.bincount(rows, x, len(size))
    share = x / np.where(part, total, 1.0)[rows] / part.sum()
    return np.bincount(item, share, profiles.n_items).astype(np.float64)


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize(("joining", "status"), [(False, "solved"), (True, "certified")])
def test_it_is_solved_or_certified_in_25_passes(joining: bool, status: str, seed: int) -> None:
    log = world(joining, seed)
    now, before = log.at(DAYS), log.at(300)
    assert now.n_users == USERS
    assert len(now) / USERS == pytest.approx(5.3, abs=0.2)
    result = us.fit_weights(now, before, tol=1e-4)
    assert result.status == status
    assert result.report.passes <= 25
    assert result.report.bound_before > 0.05
    if status == "solved":
        assert result.report.residual <= 1e-4
    else:
        assert result.report.bound_least > 1e-3
        assert result.report.residual - result.report.bound_least <= 1e-4
    assert (np.diff(result.report.history) <= 0).all()


@pytest.mark.parametrize("joining", [False, True])
def test_the_figures_are_those_of_plain_sums_over_all_entries(joining: bool) -> None:
    log = world(joining, 0)
    now, before = log.at(DAYS), log.at(300)
    result = us.fit_weights(now, before)
    codes = log.items.codes(result.items)
    theta = np.full(len(log.items), -np.inf)
    theta[codes] = result.log_weights
    q = dense_marginal(now, theta)
    assert np.abs(q[codes] - result.p_after).max() < 1e-13
    whole = dense_marginal(before, np.zeros(len(log.items)))
    target = np.where(np.isin(np.arange(len(whole)), codes), whole, 0.0)
    target /= target.sum()
    assert result.divergence == pytest.approx(divergence(target, q), abs=1e-10)
    assert result.report.residual == pytest.approx(total_variation(target, q), abs=1e-12)
    assert result.bound == pytest.approx(total_variation(whole, q), abs=1e-12)
    raw = dense_marginal(now, np.zeros(len(log.items)))
    assert result.report.bound_before == pytest.approx(total_variation(whole, raw), abs=1e-12)


def test_the_items_of_the_certificate_prove_the_bound() -> None:
    log = world(True, 0)
    now = log.at(DAYS)
    result = us.fit_weights(now, log.at(300))
    trapped = set(log.items.codes(result.trapped_items).tolist())
    known = set(log.items.codes(result.items)[result.target > 0].tolist())
    p = now.profiles
    rows = [set(p.item[a:b].tolist()) for a, b in zip(p.start.tolist(), p.stop.tolist(), strict=True)]
    part = [row for row in rows if row & known]
    reach = sum(1 for row in part if row & trapped) / len(part)
    mass = float(result.target[result.trapped].sum())
    assert result.report.bound_least == pytest.approx(mass - reach, abs=1e-10)
    assert f"these {len(trapped)} items" in result.explanation


def test_the_cohort_of_both_dates_is_solved_where_all_users_are_not() -> None:
    log = world(True, 0)
    result = us.fit_weights(log.at(DAYS), log.at(300), users="both")
    assert result.status == "solved"
    assert result.report.users_excluded.mass > 0.3


def test_a_thousand_passes_overflow_nothing() -> None:
    log = world(True, 0)
    with pytest.warns(us.ConvergenceWarning):
        result = us.fit_weights(log.at(DAYS), log.at(300), tol=0.0, max_passes=1000)
    some = result.log_weights > -np.inf
    assert np.isfinite(result.log_weights[some]).all()
    assert np.isfinite(result.p_after).all()
    assert result.p_after.sum() == pytest.approx(1, abs=1e-12)
    assert np.isfinite(result.report.history).all()
    assert (np.diff(result.report.history) <= 0).all()
    assert result.report.passes <= 1000
