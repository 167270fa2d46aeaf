"""Several margins, densely: pairs as rows of a table with their groups, in a few obvious lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import cvxpy
import numpy as np
import numpy.typing as npt

from tests.dense import Floats, random_profiles
from unskew.arrays.profiles import Profiles
from unskew.arrays.sweep import MarginSweep
from unskew.solve.joint_scaling import JointProblem

Groups = npt.NDArray[np.int32]


def random_problem(
    rng: np.random.Generator, *, solvable: bool, priors: bool = True, sizes: Sequence[int] = (6, 3)
) -> JointProblem:
    """Random profiles whose entries are in groups of one or two margins; targets that factors reach, or any."""
    profiles = random_profiles(rng, 8, sizes[0], size=1.5, priors=priors, empty=False)
    n, columns, first = len(profiles.item), [profiles.item.astype(np.int32)], sizes[0]
    for size in sizes[1:]:
        own = rng.permutation(np.concatenate([np.arange(size), rng.integers(0, size, n - size)]))
        columns.append((own + first).astype(np.int32))
        first += size
    sweep = MarginSweep(profiles, np.column_stack(columns), first)
    targets = [rng.dirichlet(np.ones(size)) for size in sizes]
    if solvable:
        q, _ = sweep.marginals(rng.normal(0, 1, first))
        targets = split(q, targets)
    return JointProblem(sweep, targets, np.zeros(first), [0.0] * len(sizes))


def split(stacked: Floats, like: Sequence[Floats]) -> list[Floats]:
    return np.split(stacked, np.cumsum([len(part) for part in like])[:-1])


def rows_of(profiles: Profiles) -> npt.NDArray[np.int64]:
    """The user of every entry."""
    return np.repeat(np.arange(profiles.n_users), profiles.sizes())


def pair_mass(problem: JointProblem) -> Floats:
    """P(u) P(i|u) of each entry, unweighted."""
    p = problem.sweep.profiles
    b = np.ones(len(p.item)) if p.b is None else p.b
    rows = rows_of(p)
    found: Floats = p.shares()[rows] * b / np.bincount(rows, weights=b)[rows]
    return found


def fit_in_turn(problem: JointProblem) -> Floats:
    """Iterative proportional fitting: the rows, then each margin in its turn, until nothing moves any more."""
    p, groups = problem.sweep.profiles, problem.sweep.groups
    rows, shares, target = rows_of(p), p.shares(), np.concatenate(list(problem.targets))
    mass, before = pair_mass(problem), np.zeros(len(rows))
    while np.abs(mass - before).max() > 1e-9:
        before = mass
        for column in groups.T:
            has = np.bincount(column, weights=mass, minlength=len(target))
            mass = mass * target[column] / has[column]
            mass = mass * shares[rows] / np.bincount(rows, weights=mass)[rows]
    return mass


def least_mean_divergence(problem: JointProblem) -> float:
    """The smallest mean of KL(q || T) over every choice of P(i|u): a convex program."""
    cp: Any = cvxpy
    p, groups = problem.sweep.profiles, problem.sweep.groups
    x = cp.Variable(len(p.item), nonneg=True)
    rules = [
        cp.sum(x[int(p.start[u]) : int(p.stop[u])]) == p.shares()[u]
        for u in range(p.n_users)
        if p.stop[u] > p.start[u]
    ]
    objective, first = 0, 0
    for column, target in zip(groups.T, problem.targets, strict=True):
        into = (column[None, :] - first == np.arange(len(target))[:, None]).astype(float)
        objective = objective + cp.sum(cp.rel_entr(into @ x, target))
        first += len(target)
    found = cp.Problem(cp.Minimize(objective / len(problem.targets)), rules)
    found.solve(solver=cp.CLARABEL, tol_gap_abs=1e-9, tol_gap_rel=1e-8, tol_feas=1e-9)
    return float(found.value)
