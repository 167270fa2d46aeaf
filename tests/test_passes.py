"""The seam between solvers and engines: whatever answers their questions is solved, wherever the users are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.dense import DensePasses, Floats, random_profiles, table_of
from unskew.arrays import kernels
from unskew.arrays.profiles import Profiles
from unskew.arrays.sweep import LEVELS, Sweep
from unskew.arrays.types import Codes, Levels, Mask
from unskew.solve.descent import descend, lbfgs
from unskew.solve.problem import Passes, Problem, Solution
from unskew.solve.scaling import scale

SOLVERS: dict[str, Callable[..., Solution]] = {
    "plain scaling": partial(scale, depth=0),
    "scaling": scale,
    "descent": descend,
    "lbfgs": lbfgs,
}
seeds = st.integers(0, 2**32 - 1)


class Partition:
    """Some of the users, as a worker elsewhere has them: it is sent weights and sends back sums over items."""

    def __init__(self, profiles: Profiles, lo: int, hi: int) -> None:
        base = int(profiles.start[lo]) if lo < hi else 0
        end = int(profiles.stop[hi - 1]) if lo < hi else 0
        shift = np.uint32(base)
        self.profiles = Profiles(
            profiles.start[lo:hi] - shift,
            profiles.stop[lo:hi] - shift,
            profiles.item[base:end].copy(),
            profiles.n_items,
            None if profiles.a is None else profiles.a[lo:hi].copy(),
            None if profiles.b is None else profiles.b[base:end].copy(),
        )

    def add(self, theta: Floats, ratio: Floats | None, level: Levels | None) -> tuple[Floats, Floats, int]:
        """What these users add to the marginal and to the levels, and how many rows had to be shifted."""
        p = self.profiles
        w = np.exp(theta - theta.max())
        sums, shifted, levels = np.empty(p.n_items), np.zeros(p.n_items), np.empty(LEVELS)
        out = sums, shifted, levels, None
        far = kernels.add_block(0, p.n_users, p.rows, p.a, p.b, w, theta, ratio, level, *out)
        return w * sums + shifted, levels, far

    def total(self) -> float:
        p = self.profiles
        some = p.stop != p.start
        return float(some.sum() if p.a is None else p.a[some].sum())


class Partitions:
    """Passes over users who are in several places: sums of each, added in their order."""

    def __init__(self, profiles: Profiles, cuts: list[int]) -> None:
        edges = [0, *sorted(min(cut, profiles.n_users) for cut in cuts), profiles.n_users]
        self.parts = [Partition(profiles, lo, hi) for lo, hi in pairwise(edges)]
        self.total = sum(part.total() for part in self.parts)
        self.count = self.shifted = 0

    def marginal(self, theta: Floats, /) -> Floats:
        return self._pass(theta)[0]

    def marginal_and_levels(self, theta: Floats, level: Levels, /) -> tuple[Floats, Floats]:
        return self._pass(theta, level=level)

    def ratio_mean(self, theta: Floats, ratio: Floats, /) -> Floats:
        return self._pass(theta, ratio=ratio)[0]

    def highest(self, ratio: Floats, level: Levels, /) -> tuple[float, Floats]:
        self.count += 1
        found = [(Sweep(part.profiles), part.total()) for part in self.parts if part.total() > 0]
        answers = [(sweep.highest(ratio, level), total / self.total) for sweep, total in found]
        mean = sum(share * answer[0] for answer, share in answers)
        return mean, np.sum([share * answer[1] for answer, share in answers], axis=0)

    def reach(self, items: Mask, /) -> float:
        found = [(Sweep(part.profiles), part.total()) for part in self.parts if part.total() > 0]
        return sum(sweep.reach(items) * total / self.total for sweep, total in found)

    def _pass(
        self, theta: Floats, ratio: Floats | None = None, level: Levels | None = None
    ) -> tuple[Floats, Floats]:
        self.count += 1
        found = [part.add(theta, ratio, level) for part in self.parts]
        self.shifted = sum(far for _, _, far in found)
        q, levels = (np.sum(sums, axis=0) / self.total for sums in ([f[0] for f in found], [f[1] for f in found]))
        return q, levels


def problem_of(rng: np.random.Generator, priors: bool, *, reachable: bool) -> tuple[Profiles, Problem]:
    """Seven items, of which the last has no target and is dropped; by the side its profiles."""
    profiles = random_profiles(rng, 25, 7, size=2.5, priors=priors)
    theta = np.append(rng.normal(0, 1, 6), -np.inf)
    keep = np.array([bool((profiles.item[a:b] < 6).any()) for a, b in _rows(profiles)])
    profiles = replace(profiles, stop=np.where(keep, profiles.stop, profiles.start))  # nobody is left with nothing
    target = table_of(profiles).marginal(theta) if reachable else np.append(rng.dirichlet(np.ones(6)), 0.0)
    start = np.where(target > 0, 0.0, -np.inf)
    return profiles, Problem(Sweep(profiles), target, start, np.flatnonzero(target > 0))


def _rows(profiles: Profiles) -> list[tuple[int, int]]:
    return [(int(a), int(b)) for a, b in zip(profiles.start, profiles.stop, strict=True)]


def assert_same(found: Solution, expected: Solution, *, within: float = 1e-10) -> None:
    assert (found.status, found.passes) == (expected.status, expected.passes)
    assert found.q == pytest.approx(expected.q, abs=within)
    assert found.history == pytest.approx(expected.history, abs=within)
    for name in ("divergence", "residual", "bound_least", "gap"):
        assert getattr(found, name) == pytest.approx(getattr(expected, name), abs=within), name
    assert np.array_equal(found.trapped, expected.trapped)


@pytest.mark.parametrize("method", SOLVERS)
@pytest.mark.parametrize("reachable", [True, False])
@pytest.mark.parametrize("priors", [False, True])
def test_solvers_need_nothing_but_answers_so_that_dense_ones_give_the_same_solution(
    method: str, reachable: bool, priors: bool
) -> None:
    for seed in range(10):
        profiles, problem = problem_of(np.random.default_rng(seed), priors, reachable=reachable)
        dense: Passes = DensePasses(table_of(profiles))
        how = {"tol": 1e-4, "max_passes": 200}
        expected = SOLVERS[method](problem, **how)
        found = SOLVERS[method](replace(problem, passes=dense), **how)
        # acceleration remembers its steps in single precision, where the last bits of an answer can show
        assert_same(found, expected, within=1e-8 if method == "scaling" else 1e-10)
        assert dense.count == found.passes


def test_where_an_exact_solution_exists_both_find_it() -> None:
    for seed in range(10):
        profiles, problem = problem_of(np.random.default_rng(seed), True, reachable=True)
        dense = DensePasses(table_of(profiles))
        found = [scale(replace(problem, passes=p), tol=1e-12, max_passes=500) for p in (problem.passes, dense)]
        assert [one.status for one in found] == ["solved", "solved"]
        assert found[0].q == pytest.approx(found[1].q, abs=1e-11)
        weights = [one.theta[:6] - problem.target[:6] @ one.theta[:6] for one in found]
        assert weights[0] == pytest.approx(weights[1], abs=1e-10)


@pytest.mark.parametrize("method", ["descent", "lbfgs"])
def test_the_same_of_a_subset_of_the_weights(method: str) -> None:
    for seed in range(10):
        rng = np.random.default_rng(seed)
        profiles = random_profiles(rng, 20, 6)
        problem = Problem(Sweep(profiles), rng.dirichlet(np.ones(6)), np.zeros(6), np.array([1, 3]))
        dense = DensePasses(table_of(profiles))
        how = {"tol": 1e-5, "max_passes": 300}
        assert_same(SOLVERS[method](replace(problem, passes=dense), **how), SOLVERS[method](problem, **how))


@given(seeds, st.booleans(), st.lists(st.integers(0, 40), max_size=6), st.sampled_from([1.0, 30.0, 900.0, 5000.0]))
@settings(max_examples=80, deadline=None)
def test_partitions_of_the_users_added_in_order_give_what_one_sweep_gives(
    seed: int, priors: bool, cuts: list[int], spread: float
) -> None:
    rng = np.random.default_rng(seed)
    profiles = random_profiles(rng, 40, 9, priors=priors)
    theta, ratio = rng.uniform(-spread, spread, 9), rng.uniform(0, 2, 9)
    level = rng.integers(0, LEVELS, 9).astype(np.uint16)
    sweep, parts = Sweep(profiles), Partitions(profiles, cuts)
    q, users = sweep.marginal_and_levels(theta, level)
    for found, expected in (
        (parts.marginal(theta), q),
        (parts.marginal_and_levels(theta, level)[0], q),
        (parts.marginal_and_levels(theta, level)[1], users),
        (parts.ratio_mean(theta, ratio), sweep.ratio_mean(theta, ratio)),
        (parts.highest(ratio, level)[1], sweep.highest(ratio, level)[1]),
    ):
        assert found == pytest.approx(expected, rel=1e-12, abs=1e-15)
    assert parts.highest(ratio, level)[0] == pytest.approx(sweep.highest(ratio, level)[0], rel=1e-13)
    assert parts.reach(ratio > 1) == pytest.approx(sweep.reach(ratio > 1), abs=1e-15)
    assert q == pytest.approx(table_of(profiles).marginal(theta), rel=1e-9, abs=1e-60)


@pytest.mark.parametrize("priors", [False, True])
def test_rows_that_underflow_in_one_partition_alone_are_added_where_they_are(priors: bool) -> None:
    """The users of the last partition have weights of e^-2000 of those of the others."""
    rng = np.random.default_rng(3)
    near, far = (random_profiles(rng, 30, 5, priors=priors, empty=False) for _ in range(2))
    profiles = _joined(near, far)
    theta = np.concatenate([rng.normal(0, 1, 5), rng.normal(-2000, 1, 5)])
    parts = Partitions(profiles, [10, near.n_users])
    alone = [part.add(theta, None, None)[2] for part in parts.parts]
    assert alone == [0, 0, far.n_users]
    q = parts.marginal(theta)
    assert parts.shifted == far.n_users
    assert q == pytest.approx(Sweep(profiles).marginal(theta), rel=1e-13)
    assert q == pytest.approx(table_of(profiles).marginal(theta), rel=1e-9)
    assert q.sum() == pytest.approx(1, abs=1e-13)


def _joined(one: Profiles, other: Profiles) -> Profiles:
    """The users of both, with items of their own."""

    def both(a: Floats | None, b: Floats | None) -> Floats | None:
        return None if a is None or b is None else np.concatenate([a, b])

    entries, items = np.uint32(len(one.item)), np.uint32(one.n_items)
    return Profiles(
        np.concatenate([one.start, other.start + entries]),
        np.concatenate([one.stop, other.stop + entries]),
        np.concatenate([one.item, other.item + items]),
        one.n_items + other.n_items,
        both(one.a, other.a),
        both(one.b, other.b),
    )


@pytest.mark.parametrize("reachable", [True, False])
def test_a_fit_over_partitions_is_that_over_one_sweep(reachable: bool) -> None:
    for seed in range(10):
        profiles, problem = problem_of(np.random.default_rng(seed), True, reachable=reachable)
        cuts: Codes = np.random.default_rng(seed).integers(0, 30, 3)
        parts: Passes = Partitions(profiles, cuts.tolist())
        found = scale(replace(problem, passes=parts), tol=1e-4, max_passes=200)
        assert_same(found, scale(problem, tol=1e-4, max_passes=200), within=1e-8)
