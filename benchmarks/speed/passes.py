"""A pass: the item mix under weights, from all profiles at once, beside scipy.sparse and SQL."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from operator import itemgetter
from typing import Any

import numpy as np

from benchmarks.frame.comparison import Comparison
from benchmarks.frame.contenders import in_process
from benchmarks.speed.other_fits import SparseProblem, SqlProblem, read_indices
from benchmarks.worlds import case, case_of
from unskew.arrays.sweep import LEVELS, Sweep
from unskew.text import thousands

SIZES = (163_000, 1_600_000, 10_000_000)
LARGE: tuple[int, int] | None = (2_000_000, 750_000)  # users and items, of which about 600 000 are taken
EARLIER = 400  # a day at which profiles are in no order of their sizes; on the last day the log has them sorted
LIBRARIES = ()
TOLERANCE = 1e-12

_JOB = """\
The item mix under given item weights, of all users at once: every pass of a fit is one. unskew has a loop of its
own on all cores; with the certificate it also finds the highest level that each user holds. scipy.sparse takes two
products with a matrix in memory, DuckDB two joins with a sum each over a table in memory."""


def comparisons(sizes: Sequence[int] = SIZES) -> Iterator[Comparison]:
    """One for each number of pairs, and two with a large catalogue."""
    cases = [("", partial(case, size)) for size in sizes]
    if LARGE is not None:
        cases.append(("", partial(case_of, *LARGE)))
        cases.append((", on an earlier day", partial(case_of, *LARGE, at=EARLIER)))
    for when, make in cases:
        here = make()
        problem = SparseProblem.of(here.profiles, here.target)
        sql, sweep = SqlProblem(problem), Sweep(here.profiles)
        w = np.exp(np.random.default_rng(0).normal(size=len(problem.items)))
        theta = np.full(len(here.target), -np.inf)
        theta[problem.items] = np.log(w)
        level = np.where(here.target > 0, LEVELS // 2, 0).astype(np.uint16)
        users, items = problem.matrix.shape
        indices = here.profiles.item[: int(here.profiles.sizes().sum())]

        pick = itemgetter(problem.items)
        yield Comparison(
            f"{thousands(problem.matrix.nnz)} pairs of {thousands(users)} users, {thousands(items)} items{when}",
            _JOB,
            [
                in_process("unskew", partial(sweep.marginal, theta), answer=pick),
                in_process(
                    "unskew, with the certificate",
                    partial(sweep.marginal_and_levels, theta, level),
                    answer=partial(_pick_first, pick),
                ),
                in_process("reading the indices", partial(read_indices, indices), uncompared="a limit"),
                in_process("scipy.sparse", partial(problem.one_pass, w)),
                in_process("DuckDB", partial(sql.one_pass, w)),
            ],
            yardstick="unskew",
            agreement=f"the probability of every item, to {TOLERANCE:g} of it",
            differ=_differ,
        )


def _pick_first(pick: itemgetter[Any], found: Any) -> Any:
    return pick(found[0])


def _differ(ours: Any, theirs: Any) -> str | None:
    off = float(np.max(np.abs(theirs / ours - 1.0)))
    return None if off <= TOLERANCE else f"a probability is off by {off:.1e} of it"
