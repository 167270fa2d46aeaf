"""Gradient methods on the weights of chosen items: the paper's descent, and L-BFGS.

Both work on ``theta_k = log w_k`` of the free items, which keeps weights positive; all other weights
stay as they are. The whole gradient costs one pass more than D, whatever the number of free items.
D is not convex in a subset of the weights, so what they reach is a point where its gradient vanishes.
"""

from __future__ import annotations

import numpy as np

from unskew.arrays.types import Floats
from unskew.solve.fit import Fit, Point
from unskew.solve.problem import Problem, Solution

_DECREASE = 1e-4  # of what the gradient promises: Armijo's rule
_LONGEST = 5.0  # a step moves no log-weight by more than this


class _Restricted:
    """D as a function of the free log-weights alone."""

    def __init__(self, problem: Problem) -> None:
        self.fit = Fit(problem)
        self.whole = problem.is_whole
        self.free = problem.free

    def step_from(self, point: Point, change: Floats) -> Floats:
        theta = point.theta.copy()
        theta[self.free] += change
        return theta

    def slope(self, point: Point) -> Floats:
        return self.fit.gradient(point)[self.free]

    def is_flat(self, slope: Floats, tol: float) -> bool:
        """Whether a small gradient ends the fit. With all items free only the rule of scaling does."""
        return not self.whole and 0.5 * float(np.abs(slope).sum()) <= tol


def descend(problem: Problem, *, tol: float, max_passes: int) -> Solution:
    """Plain gradient descent with a backtracking line search: the paper's way.

    Each search begins at twice the last step, and halves it until D falls by Armijo's rule.
    """
    work = _Restricted(problem)
    fit = work.fit
    here = fit.start(problem.theta)
    history = [here.divergence]
    step = 1.0
    while True:
        status = fit.status(here, tol)
        if status != "unfinished" or fit.is_out_of_passes(max_passes):
            break
        slope = work.slope(here)
        if work.is_flat(slope, tol):
            status = "solved"
            break
        steepness = float((slope * slope).sum())
        if steepness == 0:
            break
        step = min(2 * step, _LONGEST / float(np.abs(slope).max()))
        lower = None
        while not fit.is_out_of_passes(max_passes):
            trial = fit.look(work.step_from(here, -step * slope), here)
            if trial.divergence <= here.divergence - _DECREASE * step * steepness:
                lower = trial
                break
            step /= 2
            if step * float(np.abs(slope).max()) < 1e-15:  # no further fall can be seen in floating point
                break
        if lower is None:
            break
        here = lower
        history.append(here.divergence)
    return fit.solution(here, status, history, tol)


def lbfgs(problem: Problem, *, tol: float, max_passes: int) -> Solution:
    """The same objective by scipy's L-BFGS-B."""
    from scipy.optimize import minimize  # here, since loading it takes longer than most fits

    work = _Restricted(problem)
    fit = work.fit
    origin = best = fit.start(problem.theta)
    history = [best.divergence]
    status = fit.status(best, tol)

    class Done(Exception):
        pass

    def objective(change: Floats) -> tuple[float, Floats]:
        nonlocal best, status
        if status != "unfinished" or fit.is_out_of_passes(max_passes, looks=2):
            raise Done
        point = origin if not change.any() else fit.look(work.step_from(origin, change), best)
        if not np.isfinite(point.divergence):
            return 1e300, np.zeros(len(change))
        if point.divergence <= best.divergence:
            best = point
            if point is not origin:
                history.append(point.divergence)
            status = fit.status(point, tol)
            if status != "unfinished":
                raise Done
        slope = work.slope(point)
        if point is best and work.is_flat(slope, tol):
            status = "solved"
            raise Done
        return point.divergence, slope

    start = np.zeros(len(problem.free))
    try:
        minimize(
            objective, start, jac=True, method="L-BFGS-B", options={"maxiter": max_passes, "gtol": 0, "ftol": 0}
        )
    except Done:
        pass
    return fit.solution(best, status, history, tol)
