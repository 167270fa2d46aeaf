"""Gradient methods on the weights of chosen items: the paper's descent, and L-BFGS.

Both work on ``theta_k = log w_k`` of the free items, which keeps weights positive; all other weights
stay as they are. The whole gradient costs one pass more than D, whatever the number of free items.
D is not convex in a subset of the weights, so what they reach is a point where its gradient vanishes.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize

from unskew.solve.fit import Fit, Point
from unskew.solve.problem import Problem, Solution, Status
from unskew.sweep import Floats

_DECREASE = 1e-4  # of what the gradient promises: Armijo's rule
_LONGEST = 5.0  # a step moves no log-weight by more than this


class _Restricted:
    """D as a function of the free log-weights alone."""

    def __init__(self, problem: Problem) -> None:
        self.fit = Fit(problem)
        self.whole = problem.is_whole
        self.place = np.searchsorted(self.fit.wanted, problem.free)

    def moved(self, point: Point, change: Floats) -> Floats:
        theta = point.theta.copy()
        theta[self.place] += change
        return theta

    def slope(self, point: Point) -> Floats:
        return self.fit.gradient(point)[self.place]

    def status(self, point: Point, slope: Floats, tol: float) -> Status:
        """With all items free, the rule of scaling; else a small gradient ends the fit."""
        if self.whole:
            return self.fit.status(point, tol)
        return "solved" if 0.5 * float(np.abs(slope).sum()) <= tol else "unfinished"


def descend(problem: Problem, *, tol: float, max_passes: int) -> Solution:
    """Plain gradient descent with a backtracking line search: the paper's way.

    Each search begins at twice the last step, and halves it until D falls by Armijo's rule.
    """
    work = _Restricted(problem)
    fit = work.fit
    here = fit.start()
    history = [here.divergence]
    status: Status = "unfinished"
    step = 1.0
    while not fit.spent(max_passes):
        slope = work.slope(here)
        status = work.status(here, slope, tol)
        steepness = float((slope * slope).sum())
        if status != "unfinished" or steepness == 0 or fit.spent(max_passes):
            break
        step = min(2 * step, _LONGEST / float(np.abs(slope).max()))
        found = None
        while not fit.spent(max_passes):
            trial = fit.look(work.moved(here, -step * slope), here.f)
            if trial.divergence <= here.divergence - _DECREASE * step * steepness:
                found = trial
                break
            step /= 2
            if step * float(np.abs(slope).max()) < 1e-15:  # no further fall can be seen in floating point
                break
        if found is None:
            break
        here = found
        history.append(here.divergence)
    return fit.solution(here, status, history)


def lbfgs(problem: Problem, *, tol: float, max_passes: int) -> Solution:
    """The same objective by scipy's L-BFGS-B."""
    work = _Restricted(problem)
    fit = work.fit
    origin = best = fit.start()
    history = [best.divergence]
    status: Status = "unfinished"

    class Done(Exception):
        pass

    def objective(change: Floats) -> tuple[float, Floats]:
        nonlocal best, status
        if fit.spent(max_passes):
            raise Done
        point = origin if not change.any() else fit.look(work.moved(origin, change), best.f)
        if not np.isfinite(point.divergence):
            return 1e300, np.zeros(len(change))
        slope = work.slope(point)
        if point.divergence <= best.divergence:
            best = point
            if point is not origin:
                history.append(point.divergence)
            status = work.status(point, slope, tol)
            if status != "unfinished":
                raise Done
        return point.divergence, slope

    start = np.zeros(len(problem.free))
    try:
        minimize(
            objective, start, jac=True, method="L-BFGS-B", options={"maxiter": max_passes, "gtol": 0, "ftol": 0}
        )
    except Done:
        pass
    return fit.solution(best, status, history)
