"""Scaling of several margins of the same pairs at once.

Each entry is in one group of each of K margins, and its weight is the product of one factor of each: ``pi_ui ~
b_ui exp(sum_k theta_k)``. What is minimised is the mean of ``KL(q_k || T_k)`` over the margins, which is convex
in the probabilities of the pairs. The step ``theta_k <- theta_k + f_k / K`` with ``f_k = log(T_k / q_k)`` is
mirror descent on it with the one step size that needs no search: it never raises it, and its limit is the least
that *any* choice of P(i|u) reaches (docs/proofs.md). For one margin it is the scaling of `unskew.solve.scaling`,
whose acceleration is used here as well.

Margins can contradict each other. Then theta runs off in opposite directions while the marginals converge, and
what vouches for them is the bound ``-sum_u a_u max_e mean_k f_k``, below which no choice of P(i|u) comes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unskew.arrays.sweep import MarginSweep
from unskew.arrays.types import Floats
from unskew.progress import progress
from unskew.solve.fit import CountedFit, Point, judge
from unskew.solve.problem import Status
from unskew.solve.scaling import Anderson, accelerate

_SMALL = 1e-3  # relative differences below this have their part of the divergence from a series, to the last digit


@dataclass(frozen=True)
class JointProblem:
    """Find factors under which the marginals of several margins are their targets.

    Attributes
    ----------
    sweep
        Passes over the profiles; the groups of the margins are numbered one after the other.
    targets
        T of each margin, sum 1 each; a group with T > 0 has entries, and every entry is in groups with T > 0.
    start
        Log-factors to begin from, those of all margins one after the other: finite where T > 0, else -inf.
    least
        For each margin a total variation below which no weighting comes, whatever the other margins ask for.
    """

    sweep: MarginSweep
    targets: Sequence[Floats]
    start: Floats
    least: Sequence[float]


@dataclass(frozen=True)
class JointSolution:
    """Factors, and what is known about them.

    Attributes
    ----------
    thetas, marginals
        Log-factors and q of each margin.
    residuals
        Total variation of each from its target.
    divergence
        The mean of ``KL(q_k || T_k)``.
    gap
        At least ``divergence`` minus the least that any choice of P(i|u) reaches.
    passes
        Sweeps over the entries.
    """

    thetas: list[Floats]
    marginals: list[Floats]
    residuals: list[float]
    divergence: float
    gap: float
    passes: int
    status: Status


class _JointFit(CountedFit):
    """The passes of one fit. Here theta is K times the log-factor, so that a plain step is ``theta + f``."""

    def __init__(self, problem: JointProblem) -> None:
        super().__init__(problem.sweep, np.concatenate(list(problem.targets)))
        self.problem = problem
        self.number = len(problem.targets)
        self.cuts = np.cumsum([len(target) for target in problem.targets])[:-1]
        self.least = 0.0  # the best lower bound on the divergence

    def look(self, theta: Floats, known: Point | None = None) -> Point:
        """One pass; it improves the lower bound with the ratios of an earlier point on the way."""
        score = None if known is None else known.f / self.number
        q, highest = self.problem.sweep.marginals(theta / self.number, score)
        if known is not None:
            self.least = max(self.least, -highest)
        wanted = self.target > 0
        with np.errstate(divide="ignore", invalid="ignore"):
            x = (self.target - q) / q
            f = np.where(wanted, np.log1p(x), 0.0)
            parts = np.where(np.abs(x) < _SMALL, x * x * (1 / 2 - x * (1 / 3 - x * (1 / 4 - x / 5))), x - f)
        lost = bool((q[wanted] == 0).any())
        divergence = np.inf if lost else float((q * parts)[wanted].sum()) / self.number
        residual = 0.5 * float(np.abs(self.target - q).sum()) / self.number
        progress().note(f"pass {self.count}: mean TV {residual:.5f}, {divergence - self.least:.2g} nats to go")
        return Point(theta, q, f, divergence, residual)

    def split(self, stacked: Floats) -> list[Floats]:
        """An array over all groups as one for each margin."""
        return np.split(stacked, self.cuts)

    def residuals(self, point: Point) -> list[float]:
        parts = self.split(np.abs(self.target - point.q))
        return [0.5 * float(part.sum()) for part in parts]

    def status(self, point: Point, tol: float) -> Status:
        """See `judge`: certified if no margin can do better alone, or if they cannot together."""
        gap = point.divergence - self.least
        return judge(self.residuals(point), self.problem.least, tol, lambda: gap, self.least)


def scale_jointly(problem: JointProblem, *, tol: float, max_passes: int, depth: int = 4) -> JointSolution:
    """Fit the factors of every group of every margin.

    Parameters
    ----------
    problem
        Profiles, groups and targets.
    tol
        Stop when each total variation is at most this (``solved``), or at most this above the least that its
        margin reaches alone, or when the mean divergence is within 2 % of the least that any weighting reaches
        for all margins together (``certified``).
    max_passes
        Stop after this many passes in any case; one is for the certificate.
    depth
        How many changes the acceleration remembers; 0 for plain steps.
    """
    fit = _JointFit(problem)
    memory = Anderson(fit.target / fit.number, depth)
    best, _, _ = accelerate(fit, fit.start(problem.start * fit.number), memory, tol=tol, max_passes=max_passes)
    fit.look(best.theta, best)  # leaves the pairs of this very point, and its bound
    return JointSolution(
        thetas=[theta / fit.number for theta in fit.split(best.theta)],
        marginals=fit.split(best.q),
        residuals=fit.residuals(best),
        divergence=best.divergence,
        gap=max(best.divergence - fit.least, 0.0),
        passes=fit.count,
        status=fit.status(best, tol),
    )
