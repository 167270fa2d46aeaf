"""What every solver does: look at a point with one pass, know when to stop, certify the end."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unskew import kernels
from unskew.progress import progress
from unskew.solve.certificate import RunningBound, exact, levels
from unskew.solve.problem import Problem, Solution, Status
from unskew.sweep import Floats, Sweep


@dataclass(frozen=True)
class Point:
    """Log-weights that a pass has looked at; arrays over the items that have a target.

    ``f = log(T/q)``, so that ``D = sum T f``; `residual` is TV. Only `everywhere` is over all items: q of
    those without a target as well.
    """

    theta: Floats
    q: Floats
    f: Floats
    divergence: float
    residual: float
    everywhere: Floats


class Fit:
    """The passes of one fit. Arrays here are over the items with a target (``problem.wanted``)."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.sweep = Sweep(problem.profiles)
        self.wanted = problem.wanted
        self.target = problem.target[self.wanted]
        self.bound = RunningBound(problem.target)
        self._terms = np.empty(len(self.target))
        self._others = np.flatnonzero((problem.target == 0) & (problem.theta > -np.inf))
        self._theta = problem.theta.copy()

    def start(self) -> Point:
        """The first point: the given start, or 0 where that is too far out to be computed."""
        point = self.look(self.problem.theta[self.wanted], None)
        if not np.isfinite(point.divergence):
            point = self.look(np.zeros(len(self.wanted)), None)
        return point

    def look(self, theta: Floats, known: Floats | None) -> Point:
        """One pass. With the f of an earlier point `known`, the bound is improved on the way."""
        full = self.full(theta)
        if known is None:
            everywhere = self.sweep.marginal(full)
        else:
            level = levels(known, self.wanted, len(full))
            everywhere, users = self.sweep.marginal_and_levels(full, level)
            self.bound.update(level, users)
        q = everywhere[self.wanted]
        f = np.empty(len(q))
        kernels.log_ratios(self.target, q, f, self._terms)
        divergence = float(self._terms.sum()) + float(everywhere[self._others].sum())
        residual = 0.5 * float(np.abs(self.problem.target - everywhere).sum())
        progress().note(f"pass {self.sweep.passes}: TV {residual:.5f}, least possible {self.bound.best:.5f}")
        return Point(theta, q, f, divergence if np.isfinite(divergence) else np.inf, residual, everywhere)

    def gradient(self, point: Point) -> Floats:
        """``dD/dlog w_k = sum_u a_u pi_uk v_u - T_k`` for all k at once. One pass."""
        full = self.full(point.theta)
        ratio = np.zeros(len(full))
        ratio[self.wanted] = np.exp(point.f)
        return self.sweep.ratio_mean(full, ratio)[self.wanted] - self.target

    def full(self, theta: Floats) -> Floats:
        """Log-weights of all items."""
        self._theta[self.wanted] = theta
        return self._theta

    def spent(self, max_passes: int, looks: int = 1) -> bool:
        """Whether there is no room for so many looks more; one pass is kept for the exact certificate."""
        return self.sweep.passes + looks + 1 > max_passes

    def status(self, point: Point, tol: float) -> Status:
        """Whether this point is good enough, or provably as good as any."""
        if point.residual <= tol:
            return "solved"
        return "certified" if point.residual - self.bound.best <= tol else "unfinished"

    def solution(self, point: Point, status: Status, history: list[float], tol: float) -> Solution:
        """The result, with the certificate computed exactly. One pass.

        The exact bound may certify what the running one did not.
        """
        least, trapped, gap = exact(self.sweep, self.problem.target, point.everywhere)
        self.bound.take(least, trapped)
        if status == "unfinished":
            status = self.status(point, tol)
        return Solution(
            theta=self.full(point.theta).copy(),
            q=point.everywhere,
            divergence=point.divergence,
            residual=point.residual,
            bound_least=self.bound.best,
            trapped=self.bound.trapped,
            gap=gap,
            passes=self.sweep.passes,
            history=tuple(history),
            status=status,
        )
