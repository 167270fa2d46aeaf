"""Matrix scaling of all items at once, accelerated: the default.

``w_i <- w_i T_i / q_i`` has no step size and never raises D. In ``theta = log w`` it is the fixed-point
iteration ``theta <- theta + f`` with ``f = log(T/q)``, which Anderson acceleration shortens: it keeps
the last few changes of f and steps to where a linear model of them makes f smallest, in the inner
product weighted by T. A step is accepted only if D does not rise; else the plain step is taken. Only
rounding can make D rise then, at the very end; such a point is passed through but never returned.

Where no exact solution exists theta runs off to infinity while q and D converge. So theta is never
clipped, and a pass copes with any spread (`unskew.sweep`).
"""

from __future__ import annotations

import numpy as np

from unskew import kernels
from unskew.solve.fit import Fit
from unskew.solve.problem import Problem, Solution
from unskew.sweep import Floats

_RIDGE = 1e-10  # of the largest diagonal entry: keeps the small system solvable
_TINY = 1e-280  # squares below this have lost their digits


class Anderson:
    """The memory of Anderson acceleration: the last `depth` changes of f and of ``theta + f``."""

    def __init__(self, weight: Floats, depth: int) -> None:
        n = len(weight)
        self._weight = weight
        self._df = np.zeros((depth, n))
        self._dg = np.zeros((depth, n))
        self._gram = np.zeros((depth, depth))
        self._dots = np.zeros(depth)
        self._used = 0
        self._next = 0

    def forget(self) -> None:
        """Begin again; the last steps led nowhere."""
        self._used = self._next = 0

    def learn(self, df: Floats, dtheta: Floats) -> None:
        """Take in how f changed when theta changed by `dtheta`."""
        if len(self._df) == 0:
            return
        k = self._next
        self._df[k] = df
        np.add(df, dtheta, out=self._dg[k])
        self._used = max(self._used, k + 1)
        self._next = (k + 1) % len(self._df)
        used = self._used
        kernels.weighted_dots(self._weight, self._df[:used], self._df[k], self._dots)
        self._gram[k, :used] = self._gram[:used, k] = self._dots[:used]

    def propose(self, theta: Floats, f: Floats) -> Floats | None:
        """Where to step, or None while nothing is known."""
        used = self._used
        if used == 0:
            return None
        kernels.weighted_dots(self._weight, self._df[:used], f, self._dots)
        gram = self._gram[:used, :used].copy()
        highest = gram.diagonal().max()
        if not (np.isfinite(highest) and highest > _TINY):
            return None
        gram[np.diag_indices(used)] += _RIDGE * highest
        gamma = np.linalg.solve(gram, self._dots[:used])
        out = np.empty_like(theta)
        kernels.combined(theta, f, gamma, self._dg[:used], out)
        return out if np.isfinite(out).all() else None


def scale(problem: Problem, *, tol: float, max_passes: int, depth: int = 8) -> Solution:
    """Fit the weights of every item that has a target.

    Parameters
    ----------
    problem
        Profiles and target; every item with a target is fitted.
    tol
        Stop when TV is at most this (``solved``), or at most this above what any weighting of the
        profiles can reach (``certified``).
    max_passes
        Stop after this many passes in any case.
    depth
        How many changes Anderson acceleration remembers; 0 for plain scaling.
    """
    fit = Fit(problem)
    memory = Anderson(fit.target, depth)
    here = best = fit.start()
    history = [best.divergence]
    while True:
        status = fit.status(best, tol)
        if status != "unfinished" or fit.spent(max_passes):
            break
        step = None
        proposal = memory.propose(here.theta, here.f)
        if proposal is not None:
            step = fit.look(proposal, here.f)
            if not step.divergence <= here.divergence:
                memory.forget()
                step = None
                if fit.spent(max_passes):
                    break
        if step is None:
            step = fit.look(here.theta + here.f, here.f)
        memory.learn(step.f - here.f, step.theta - here.theta)
        here = step
        if here.divergence <= best.divergence:
            best = here
            history.append(best.divergence)
    return fit.solution(best, status, history, tol)
