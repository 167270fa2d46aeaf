"""The answers computed densely, in a few obvious lines each: what the tests compare with.

Nothing here computes with the code under test: what is imported from it are shapes of what goes in and out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import cvxpy
import numpy as np
import numpy.typing as npt
import pytest
from scipy.optimize import linprog
from scipy.special import logsumexp

from unskew.arrays.profiles import Profiles
from unskew.arrays.sweep import LEVELS, Sweep
from unskew.arrays.types import Levels
from unskew.data.policy import Share
from unskew.solve.problem import Problem

Floats = npt.NDArray[np.float64]
Event = tuple[Any, Any, int]


@dataclass(frozen=True)
class Table:
    """P(u) and P(i|u) as a vector and a matrix; 0 where u does not hold i."""

    a: Floats
    b: Floats

    @property
    def held(self) -> npt.NDArray[np.bool_]:
        return self.b > 0

    def conditionals(self, theta: Floats) -> Floats:
        """P(i|u,w) in log space, so that no spread of theta is too large."""
        with np.errstate(divide="ignore"):
            logs = np.log(self.b) + theta
        result: Floats = np.exp(logs - logsumexp(logs, axis=1, keepdims=True))
        return result

    def marginal(self, theta: Floats) -> Floats:
        result: Floats = self.a @ self.conditionals(theta)
        return result


@dataclass
class DensePasses:
    """Passes over a dense table: all that a solver may ask, and nothing that it could look into."""

    table: Table
    count: int = 0

    def marginal(self, theta: Floats, /) -> Floats:
        self.count += 1
        return self.table.marginal(theta)

    def marginal_and_levels(self, theta: Floats, level: Levels, /) -> tuple[Floats, Floats]:
        return self.marginal(theta), self._users_by_level(level)

    def ratio_mean(self, theta: Floats, ratio: Floats, /) -> Floats:
        self.count += 1
        pi = self.table.conditionals(theta)
        result: Floats = (self.table.a * (pi @ ratio)) @ pi
        return result

    def highest(self, ratio: Floats, level: Levels, /) -> tuple[float, Floats]:
        self.count += 1
        highest = np.where(self.table.held, ratio, -np.inf).max(axis=1)
        return float(self.table.a @ highest), self._users_by_level(level)

    def reach(self, items: npt.NDArray[np.bool_], /) -> float:
        return float(self.table.a[self.table.held[:, items].any(axis=1)].sum())

    def _users_by_level(self, level: Levels) -> Floats:
        highest = np.where(self.table.held, level, 0).max(axis=1)
        found: Floats = np.bincount(highest, weights=self.table.a, minlength=LEVELS).astype(np.float64)
        return found


def table_of(profiles: Profiles) -> Table:
    """The same profiles as a dense table, users without a profile left out."""
    a, rows = [], []
    for u in range(len(profiles.stop)):
        entries = range(int(profiles.start[u]), int(profiles.stop[u]))
        if len(entries) == 0:
            continue
        row = np.zeros(profiles.n_items)
        for e in entries:
            row[profiles.item[e]] = 1.0 if profiles.b is None else profiles.b[e]
        a.append(1.0 if profiles.a is None else profiles.a[u])
        rows.append(row / row.sum())
    shares = np.array(a)
    return Table(shares / shares.sum(), np.array(rows))


def profiles_of(problem: Problem) -> Profiles:
    """The profiles behind a problem whose passes are those of this machine."""
    assert isinstance(problem.passes, Sweep)
    return problem.passes.profiles


def random_profiles(
    rng: np.random.Generator, users: int, items: int, *, size: float = 2.0, priors: bool = True, empty: bool = True
) -> Profiles:
    """Random profiles in which every item is held by someone; with random P(u) and P(i|u) or uniform ones."""
    rows = [rng.choice(items, min(items, 1 + rng.poisson(size)), replace=False) for _ in range(users)]
    for i in set(range(items)) - {int(i) for row in rows for i in row}:
        rows.append(np.array([i]))
    if empty:
        rows.insert(int(rng.integers(len(rows))), np.array([], dtype=np.int64))
    ends = np.cumsum([len(row) for row in rows])
    return Profiles(
        start=np.concatenate([[0], ends[:-1]]).astype(np.uint32),
        stop=ends.astype(np.uint32),
        item=np.concatenate(rows).astype(np.uint32),
        n_items=items,
        a=rng.uniform(0.2, 3.0, len(rows)) if priors else None,
        b=rng.uniform(0.1, 2.0, int(ends[-1])) if priors else None,
    )


def divergence(target: Floats, q: Floats) -> float:
    wanted = target > 0
    return float(np.sum(target[wanted] * np.log(target[wanted] / q[wanted])))


def total_variation(p: Floats, q: Floats) -> float:
    return 0.5 * float(np.sum(np.abs(p - q)))


def scaled(table: Table, target: Floats, passes: int) -> list[Floats]:
    """Log-weights after each pass of plain matrix scaling."""
    theta = np.zeros(len(target))
    steps = [theta]
    for _ in range(passes):
        theta = theta + np.log(target / table.marginal(theta))
        steps.append(theta)
    return steps


def paper_gradient(table: Table, target: Floats, w: Floats) -> Floats:
    """dD/dw_k as printed in the paper's appendix, with P(i,k|w) as a matrix."""
    pi = table.b * w / (table.b * w).sum(axis=1, keepdims=True)
    p = table.a @ pi
    joint = (pi * table.a[:, None]).T @ pi
    inner = (joint - np.diag(p)) / w[None, :]
    result: Floats = (target / p) @ inner
    return result


def least_divergence(table: Table, target: Floats) -> float:
    """The smallest D over every choice of P(i|u) on these profiles: a convex program."""
    cp: Any = cvxpy  # whose types are incomplete
    pi = cp.Variable(table.b.shape, nonneg=True)
    q = table.a @ pi
    wanted = np.flatnonzero(target > 0)
    objective = cp.sum(cp.rel_entr(target[wanted], q[wanted]))
    rules = [cp.sum(pi, axis=1) == 1, pi[~table.held] == 0]
    problem = cp.Problem(cp.Minimize(objective), rules)
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-9, tol_gap_rel=1e-9, tol_feas=1e-9)
    return float(problem.value)


def least_total_variation(table: Table, target: Floats) -> float:
    """The smallest TV over every choice of P(i|u) on these profiles: a linear program.

    Variables: the mass x_ui of each entry, then the amounts by which items exceed and miss their target.
    """
    users, items = np.nonzero(table.held)
    n, m = len(users), len(target)
    rows = np.zeros((len(table.a), n + 2 * m))
    rows[users, np.arange(n)] = 1.0
    columns = np.zeros((m, n + 2 * m))
    columns[items, np.arange(n)] = 1.0
    columns[np.arange(m), n + np.arange(m)] = -1.0
    columns[np.arange(m), n + m + np.arange(m)] = 1.0
    cost = np.concatenate([np.zeros(n), np.full(2 * m, 0.5)])
    found = linprog(cost, A_eq=np.vstack([rows, columns]), b_eq=np.concatenate([table.a, target]), method="highs")
    assert found.status == 0, found.message
    return float(found.fun)


def profiles_at(events: Sequence[Event], at: int) -> dict[Any, dict[Any, int]]:
    """What each user holds at a date, with the time at which it was first taken."""
    held: dict[Any, dict[Any, int]] = {}
    for user, item, time in events:
        if time <= at:
            mine = held.setdefault(user, {})
            mine[item] = min(time, mine.get(item, time))
    return held


def item_mix(
    held: Mapping[Any, Mapping[Any, int]],
    *,
    log_weight: Mapping[Any, float] | None = None,
    p_user: Mapping[Any, float] | None = None,
    half_life: float | None = None,
) -> dict[Any, float]:
    """P(i) of these profiles in plain Python, from the definitions."""
    total = sum(1.0 if p_user is None else p_user[u] for u in held)
    mix: dict[Any, float] = {}
    for user, items in held.items():
        newest = max(items.values())
        logs = {i: 0.0 if log_weight is None else log_weight[i] for i in items}
        highest = max(logs.values())  # weights matter up to a factor: the largest of a row is taken as 1
        parts = {
            i: math.exp(logs[i] - highest) * (1.0 if half_life is None else 0.5 ** ((newest - t) / half_life))
            for i, t in items.items()
        }
        for i, part in parts.items():
            share = (1.0 if p_user is None else p_user[user]) / total
            mix[i] = mix.get(i, 0.0) + share * part / sum(parts.values())
    return mix


def about(count: int, mass: float) -> Any:
    """A `Share` to compare with: the count exactly, the mass up to rounding."""
    return Share(count, pytest.approx(mass, abs=1e-12))  # type: ignore[arg-type]


def columns(events: Sequence[Event]) -> dict[str, list[Any]]:
    """Events as the columns that `read_log` takes."""
    return {name: [event[k] for event in events] for k, name in enumerate(("user", "item", "time"))}


def random_events(rng: np.random.Generator, users: int = 12, items: int = 7, joining: bool = True) -> list[Event]:
    """An append-only history from time 0 to 9: everyone takes a few items, some users join later."""
    events: list[Event] = []
    for u in range(users):
        joined = int(rng.integers(0, 9)) if joining and rng.random() < 0.4 else 0
        for k in range(1 + int(rng.poisson(1.5))):
            time = joined if k == 0 else int(rng.integers(joined, 10))
            events.append((f"u{u}", f"i{int(items * rng.random() ** 2)}", time))
    events += [("end", "i0", 0), ("end", "i1", 9)]  # so that both dates are within the log
    return events
