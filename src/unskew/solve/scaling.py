"""Matrix scaling of all items at once, accelerated: the default.

``w_i <- w_i T_i / q_i`` has no step size and never raises D. In ``theta = log w`` it is the fixed-point
iteration ``theta <- theta + f`` with ``f = log(T/q)``, which Anderson acceleration shortens: it keeps
the last few changes of f and steps to where a linear model of them makes f smallest, in the inner
product weighted by T. A step is accepted only if D does not rise; else the plain step is taken. Only
rounding can make D rise then, at the very end; such a point is passed through but never returned.

Where no exact solution exists theta runs off to infinity while q and D converge. So theta is never
clipped, and a pass copes with any spread (`unskew.arrays.sweep`).
"""

from __future__ import annotations

import numpy as np

from unskew.arrays import item_kernels
from unskew.arrays.blocks import over_items
from unskew.arrays.types import Floats
from unskew.solve.fit import CountedFit, Fit, Point
from unskew.solve.problem import Problem, Solution, Status

_RIDGE = 1e-10  # of the largest diagonal entry: keeps the small system solvable
_LONGER = 5.0  # times the last step is as far as one may go: from a corner far out there is hardly a way back
_LONGEST = 200.0  # nats in one step: e^200 is as good as infinite, and theta keeps its digits
_TINY = 1e-280  # squares below this have lost their digits


class Anderson:
    """The memory of Anderson acceleration: the last `depth` changes of f and of ``theta + f``.

    Kept in single precision, which halves what must be read; the steps are only proposals.
    """

    def __init__(self, weight: Floats, depth: int) -> None:
        self._weight = weight
        self._df = np.zeros((depth, len(weight)), dtype=np.float32)
        self._dg = np.zeros((depth, len(weight)), dtype=np.float32)
        self._gram = np.zeros((depth, depth))
        self._slope = np.zeros(depth)
        self._used = 0
        self._next = 0
        self._longest = 0.0

    def forget(self) -> None:
        """Begin again; the last steps led nowhere."""
        self._used = self._next = 0

    def learn(self, old: Point, new: Point) -> None:
        """Take in how f changed on the way from one point to the next."""
        depth = len(self._df)
        if depth == 0:
            return
        slot = self._next
        self._used = used = max(self._used, slot + 1)
        self._next = (slot + 1) % depth

        def part(k: int, lo: int, hi: int) -> tuple[Floats, float]:
            dots = np.zeros((2, used))
            longest: float = item_kernels.remember(
                lo, hi, self._weight, old.theta, old.f, new.theta, new.f, self._df, self._dg, slot, used, dots
            )
            return dots, longest

        parts = over_items(len(self._weight), part)
        dots = sum(dots for dots, _ in parts)
        self._longest = max(longest for _, longest in parts)
        self._gram[slot, :used] = self._gram[:used, slot] = dots[0]
        self._slope[:used] = dots[1]

    def propose(self, here: Point) -> Floats | None:
        """Where to step from the point learnt last, or None while nothing is known."""
        used = self._used
        if used == 0:
            return None
        gram = self._gram[:used, :used].copy()
        highest = gram.diagonal().max()
        if not (np.isfinite(highest) and highest > _TINY):
            return None
        gram[np.diag_indices(used)] += _RIDGE * highest
        gamma = np.linalg.solve(gram, self._slope[:used])
        out = np.empty_like(here.theta)
        lengths = over_items(
            len(out), lambda k, lo, hi: item_kernels.extrapolate(lo, hi, here.theta, here.f, gamma, self._dg, out)
        )
        longest, limit = max(lengths), min(max(_LONGER * self._longest, 1.0), _LONGEST)
        if longest > limit:
            factor = limit / longest
            over_items(len(out), lambda k, lo, hi: item_kernels.shorten(lo, hi, here.theta, factor, out))
        return out if np.isfinite(longest) else None


def scale(problem: Problem, *, tol: float, max_passes: int, depth: int = 8) -> Solution:
    """Fit the weights of every item that has a target.

    Parameters
    ----------
    problem
        Profiles and target; every item with a target is fitted.
    tol
        Stop when TV is at most this (``solved``), or at most this above what any weighting of the
        profiles can reach, D being near its least as well (``certified``).
    max_passes
        Stop after this many passes in any case.
    depth
        How many changes Anderson acceleration remembers; 0 for plain scaling.
    """
    fit = Fit(problem)
    best, status, history = accelerate(
        fit, fit.start(problem.theta), Anderson(problem.target, depth), tol=tol, max_passes=max_passes
    )
    return fit.solution(best, status, history, tol)


def accelerate(
    fit: CountedFit, start: Point, memory: Anderson, *, tol: float, max_passes: int
) -> tuple[Point, Status, list[float]]:
    """Step until the fit may stop: the best point, how it ended, and D after each pass that lowered it."""
    here = best = start
    history = [best.divergence]
    while True:
        status = fit.status(best, tol)
        if status != "unfinished" or fit.is_out_of_passes(max_passes):
            break
        step = None
        proposal = memory.propose(here)
        if proposal is not None:
            step = fit.look(proposal, here)
            if not step.divergence <= here.divergence:
                memory.forget()
                step = None
                if fit.is_out_of_passes(max_passes):
                    break
        if step is None:
            step = fit.look(here.theta + here.f, here)
        memory.learn(here, step)
        here = step
        if here.divergence <= best.divergence:
            best = here
            history.append(best.divergence)
    return best, status, history
