"""A whole fit of item weights, beside plain scaling and L-BFGS in scipy, SQL, and optimal transport and raking."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import unskew as us
from benchmarks.frame.comparison import Comparison
from benchmarks.frame.contenders import Absent, Contender, in_process, with_library
from benchmarks.frame.machine import ROOT
from benchmarks.frame.workers import Worker, in_worker
from benchmarks.speed.other_fits import SparseProblem, SqlProblem
from benchmarks.worlds import Case, case, case_of
from unskew.arrays.types import Floats
from unskew.solve.scaling import scale
from unskew.text import thousands

SIZES = (163_000, 1_600_000)
LIBRARIES = ("POT",)
TOL = 1e-4
PAIRS = 1e-3
SMALL = 200_000  # entries up to which SQL takes seconds
DENSE = (1000, 300)  # users and items where every cell of users by items is in memory
BALANCE = ROOT / ".venv-bench" / "balance" / "bin" / "python"

_JOB = f"""\
Item weights under which the item mix of one date is that of another, until it is within {TOL:g} of it in total
variation, or as near as unskew proves that any weights come. `fit_weights` is everything a user calls: choosing
users and items, fitting, certificate, report. Scaling is the fit alone, from arrays in memory, as with the others.
scipy scales plainly (weights times target over mix) with two sparse products a pass, or minimises the convex dual
with L-BFGS; DuckDB scales plainly with a statement a pass."""
_DENSE_JOB = """\
The same where all cells of users by items fit in memory, which libraries for other problems need. POT: entropic
transport (`ot.bregman.sinkhorn_knopp`) from P(u) to the target, at a cost of 0 where a user holds an item and
infinite elsewhere. balance: raking (`rake`) of a sample whose units are the pairs, to the margins of users and of
items. Both start from weights of 1 and scale plainly, as often as plain scaling needs, which they are told."""
_AGREEMENT = (
    f"the item mix, within what unskew reached of the target, and the probabilities of all pairs, to {PAIRS:g} in "
    "total variation"
)


def comparisons(sizes: Sequence[int] = SIZES) -> Iterator[Comparison]:
    """Where an exact solution exists and where it does not, and a small one for dense methods."""
    for size in sizes:
        for growth in (0.0, 0.3):
            yield _compare_sparse(case(size, growth), has_solution=not growth)
    with tempfile.TemporaryDirectory() as folder:
        yield from _compare_dense(case_of(*DENSE), Path(folder))


class Sides:
    """One problem in the forms in which it is solved, and what all sides are held against."""

    def __init__(self, here: Case) -> None:
        self.here, self.problem = here, SparseProblem.of(here.profiles, here.target)
        fitted = scale(here.problem, tol=TOL, max_passes=500)
        self.tol = max(fitted.residual, TOL) * (1 + 1e-9)

    @property
    def size(self) -> str:
        users, items = self.problem.matrix.shape
        pairs = self.problem.matrix.nnz
        return f"{thousands(pairs)} pairs of {thousands(users)} users, {thousands(items)} items"

    def ours(self) -> list[Contender]:
        here = self.here
        return [
            in_process(
                "unskew, fit_weights",
                lambda: us.fit_weights(here.now, here.before, tol=TOL),
                answer=self._of_weights,
            ),
            in_process(
                "unskew, scaling",
                lambda: scale(here.problem, tol=TOL, max_passes=500).theta,
                answer=lambda theta: self.pairs(self._shift(theta[self.problem.items])),
            ),
        ]

    def theirs(self, name: str, fit: Callable[[float], Floats]) -> Contender:
        return in_process(name, partial(fit, self.tol), answer=self.pairs)

    def pairs(self, w: Floats) -> Floats:
        return self.problem.pair_probabilities(w)

    def differ(self, ours: Any, theirs: Any) -> str | None:
        for name, found in (("ours", ours), ("theirs", theirs)):
            distance = self.problem.distance(self.problem.item_mix(found))
            if not distance <= self.tol * (1 + 1e-6):
                return f"{name} leaves the item mix {distance:.2e} from the target, not {self.tol:.2e}"
        apart = 0.5 * float(np.abs(ours - theirs).sum())
        return None if apart <= PAIRS else f"the probabilities of pairs are {apart:.1e} apart"

    def _of_weights(self, weights: us.ItemWeights) -> Floats:
        codes = self.here.now.log.items.codes(weights.items)
        theta = np.full(len(self.here.target), -np.inf)
        theta[codes] = weights.log_weights
        return self.pairs(self._shift(theta[self.problem.items]))

    def _shift(self, theta: Floats) -> Floats:
        w: Floats = np.exp(theta - theta.max())
        return w


def _compare_sparse(here: Case, *, has_solution: bool) -> Comparison:
    sides = Sides(here)
    contenders = [*sides.ours(), sides.theirs("scipy.sparse, plain scaling", sides.problem.scale)]
    if has_solution:  # elsewhere weights run away to 0, and so does what L-BFGS minimises
        contenders.append(sides.theirs("scipy.optimize, L-BFGS", sides.problem.minimise))
    if sides.problem.matrix.nnz <= SMALL:
        contenders.append(sides.theirs("DuckDB, plain scaling", SqlProblem(sides.problem).scale))
    kind = "an exact solution" if has_solution else "no exact solution, since users join"
    title = f"Fitting {sides.size}: {kind}"
    return Comparison(title, _JOB, contenders, "unskew, fit_weights", _AGREEMENT, sides.differ)


def _compare_dense(here: Case, folder: Path) -> Iterator[Comparison]:
    sides = Sides(here)
    problem, passes = sides.problem, sides.problem.count_passes(sides.tol)
    worker = _start_balance(problem, passes, folder)
    contenders = [
        *sides.ours(),
        sides.theirs("scipy.sparse, plain scaling", problem.scale),
        with_library("POT, sinkhorn_knopp", "ot", lambda ot: _use_pot(ot, problem, passes)),
        _use_balance(worker, folder),
    ]
    yield Comparison(
        f"Fitting {sides.size}: dense methods",
        _DENSE_JOB,
        contenders,
        "unskew, fit_weights",
        f"{_AGREEMENT}; plain scaling takes {passes} passes",
        sides.differ,
        versions={} if worker is None else worker.about,
    )
    if worker is not None:
        worker.close()


def _use_pot(ot: Any, problem: SparseProblem, passes: int) -> Contender:
    cost = np.where(problem.to_dense() > 0, 0.0, np.inf)
    start = np.log(problem.shares / problem.matrix.sum(axis=1)), np.zeros(len(problem.target))  # weights of 1

    def transport() -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ot.bregman.sinkhorn_knopp(
                problem.shares, problem.target, cost, 1.0, passes, stopThr=0.0, warn=False, warmstart=start
            )

    return in_process("POT, sinkhorn_knopp", transport, answer=problem.from_dense)


def _start_balance(problem: SparseProblem, passes: int, folder: Path) -> Worker | None:
    if not BALANCE.exists():
        return None
    matrix = problem.matrix
    np.savez(
        folder / "problem.npz",
        user=np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr)),
        item=matrix.indices,
        shares=problem.shares,
        target=problem.target,
        start=problem.pair_probabilities(np.ones(len(problem.target))),
        passes=passes,
    )
    worker = Worker("benchmarks.speed.balance_job", python=str(BALANCE))
    worker.ask({"do": "load", "file": str(folder / "problem.npz")})
    return worker


def _use_balance(worker: Worker | None, folder: Path) -> Contender | Absent:
    if worker is None:
        return Absent("balance, rake", "make .venv-bench/balance/installed")

    def tell(worker: Worker) -> Any:
        path = folder / "found.npy"
        worker.ask({"do": "tell", "file": str(path)})
        return np.load(path)

    return in_worker("balance, rake", worker, {"do": "rake"}, tell)
