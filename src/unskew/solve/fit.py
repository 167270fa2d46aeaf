"""What every solver does: look at a point with one pass, know when to stop, certify the end."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from unskew.arrays import item_kernels
from unskew.arrays.blocks import over_items
from unskew.arrays.types import Floats
from unskew.progress import progress
from unskew.solve.certificate import RunningBound, levels
from unskew.solve.problem import Passes, Problem, Solution, Status

_LEAST = 5e-324  # the least number above 0
_NATS = 30.0  # while passes are left, D is brought within so many tol of the least as well, in nats
_SHARE = 0.02  # of the least mean divergence: if margins contradict each other, so near to it is near enough
_ROUNDING = 1e-13  # a lower bound that is not above this proves no contradiction


@dataclass(frozen=True)
class Point:
    """Log-weights that a pass has looked at; arrays are over all items.

    ``f = log(T/q)``, 0 for an item without a target, so that ``D = sum T f``; `residual` is TV.
    """

    theta: Floats
    q: Floats
    f: Floats
    divergence: float
    residual: float


def judge(
    residuals: Sequence[float],
    least: Sequence[float],
    tol: float,
    find_gap: Callable[[], float],
    least_divergence: float = 0.0,
) -> Status:
    """The rule by which every fit stops: ``solved``, ``certified`` as no weighting does better, or ``unfinished``.

    TV can be least long before D is: mass that is short everywhere may still have to move between the items that
    lack it. So the gap in nats counts as well.

    Parameters
    ----------
    residuals, least
        TV of each margin, and what none of its weightings gets below.
    tol
        Solved if every TV is at most this, certified if each is at most this above its least.
    find_gap
        At least ``D - min D`` in nats; asked only if it decides.
    least_divergence
        What no weighting gets the mean divergence of several margins below. Margins that contradict each other are
        certified near it, whatever their TV.
    """
    if max(residuals) <= tol:
        return "solved"
    if all(residual - bound <= tol for residual, bound in zip(residuals, least, strict=True)):
        return "certified" if find_gap() <= _NATS * tol else "unfinished"
    contradicts = least_divergence > _ROUNDING
    return "certified" if contradicts and find_gap() <= _SHARE * least_divergence else "unfinished"


class CountedFit(ABC):
    """A fit that looks at one point a pass, and counts them.

    Attributes
    ----------
    target
        What the marginal is to be.
    """

    def __init__(self, passes: Any, target: Floats) -> None:
        self.target = target
        self.passes = passes
        self._before = passes.count  # those of earlier fits of this problem

    @property
    def count(self) -> int:
        """The passes of this fit so far."""
        return int(self.passes.count - self._before)

    def start(self, theta: Floats) -> Point:
        """The first point: the given start, or 0 where that is too far out to be computed."""
        point = self.look(theta)
        if not np.isfinite(point.divergence):
            point = self.look(np.where(self.target > 0, 0.0, theta))
        return point

    @abstractmethod
    def look(self, theta: Floats, known: Point | None = None) -> Point:
        """One pass. With an earlier point `known`, the bound is improved on the way where it may pay."""

    @abstractmethod
    def status(self, point: Point, tol: float) -> Status:
        """Whether this point is good enough, or provably as good as any; see `judge`."""

    def is_out_of_passes(self, max_passes: int, looks: int = 1) -> bool:
        """Whether there is no room for so many looks more; one pass is kept for the certificate."""
        return self.count + looks + 1 > max_passes


class Fit(CountedFit):
    """The passes of a fit of item weights."""

    passes: Passes

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.passes, problem.target)
        self.bound = RunningBound(problem.target)
        with np.errstate(divide="ignore"):
            self._log_target = np.log(problem.target)
        self._judged: tuple[Point, float] | None = None
        self._wait = 0  # passes to go before the gap is looked at again
        self._pause = 1

    def look(self, theta: Floats, known: Point | None = None) -> Point:
        """One pass. With an earlier point `known`, the bound is improved on the way where it may pay."""
        target = self.target
        if known is None or not self.bound.is_due(known.residual):
            q = self.passes.marginal(theta)
        else:
            level = levels(known.f, target)
            q, users = self.passes.marginal_and_levels(theta, level)
            self.bound.update(level, users)
        f = np.empty(len(q))

        def part(k: int, lo: int, hi: int) -> tuple[float, float]:
            ratios = f[lo:hi]
            np.maximum(q[lo:hi], _LEAST, out=ratios)
            with np.errstate(divide="ignore", invalid="ignore"):
                np.log(ratios, out=ratios)  # numpy's is many times faster than a loop's, but not for 0
                np.subtract(self._log_target[lo:hi], ratios, out=ratios)
            distances: tuple[float, float] = item_kernels.compare(lo, hi, target, q, f)
            return distances

        parts = over_items(len(q), part)
        divergence, residual = (sum(column) for column in zip(*parts, strict=True))
        progress().note(f"pass {self.count}: TV {residual:.5f}, least possible {self.bound.best:.5f}")
        return Point(theta, q, f, divergence if np.isfinite(divergence) else np.inf, residual)

    def gradient(self, point: Point) -> Floats:
        """``dD/dlog w_k = sum_u a_u pi_uk v_u - T_k`` for all k at once. One pass."""
        target = self.target
        ratio = np.where(target > 0, np.exp(point.f), 0.0)
        return self.passes.ratio_mean(point.theta, ratio) - target

    def status(self, point: Point, tol: float) -> Status:
        """See `judge`. The gap, which takes a pass, is looked at when TV is certified; again after a pause."""
        return judge([point.residual], [self.bound.best], tol, lambda: self._gap_after_pause(point))

    def _gap_after_pause(self, point: Point) -> float:
        if self.count < self._wait:
            return np.inf
        gap = self.gap(point)
        self._pause = min(2 * self._pause, 8)
        self._wait = self.count + self._pause
        return gap

    def gap(self, point: Point) -> float:
        """At least ``D - min D`` in nats. One pass, which improves the bound as well; none to ask again."""
        if self._judged is None or self._judged[0] is not point:
            self._judged = point, self.bound.close(self.passes, point.f)
        return self._judged[1]

    def solution(self, point: Point, status: Status, history: list[float], tol: float) -> Solution:
        """The result. One pass, for the certificate of this very point; it may show that this was enough."""
        gap = self.gap(point)
        if status == "unfinished" and point.residual - self.bound.best <= tol:
            status = "certified"
        return Solution(
            theta=point.theta,
            q=point.q,
            divergence=point.divergence,
            residual=point.residual,
            bound_least=self.bound.best,
            trapped=self.bound.trapped,
            gap=gap,
            passes=self.count,
            history=tuple(history),
            status=status,
        )
