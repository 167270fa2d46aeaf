"""One pass, and a whole fit, against the alternatives."""

from __future__ import annotations

import time
import warnings

import numpy as np
from rich.console import Console
from rich.table import Table

import unskew as us
from benchmarks.rivals import ScipyScaling, SqlScaling, read_indices, seconds
from benchmarks.worlds import Case, case
from unskew.arrays.sweep import LEVELS, Sweep
from unskew.solve.scaling import scale

TOL = 1e-4
SQL_PASSES = 3


def run(sizes: list[int], console: Console) -> None:
    """Measure every size and print two tables."""
    passes = Table(
        "entries", "users", "items", "a pass", "with bound", "scipy", "read only", title="One pass (ms)"
    )
    for ratio in ("scipy / pass", "pass / read"):
        passes.add_column(ratio, style="bold")
    fits = Table(
        "world", "entries", "method", "passes", "seconds", "TV reached", "D reached", title="The whole fit"
    )
    fits.add_column("time / scaling", style="bold")
    for entries in sizes:
        for name, growth in (("exact solution", 0.0), ("users join", 0.3)):
            console.print(f"making a world of {entries:,} entries ({name})", style="dim")
            here = case(entries, growth)
            rival = ScipyScaling(here.profiles, here.target)
            if growth == 0:
                passes.add_row(*_pass(here, rival))
            for row in _fit(here, rival, console):
                fits.add_row(name, f"{rival.matrix.nnz:,}", *row)
            fits.add_section()
    console.print(passes)
    console.print(fits)
    console.print(
        f"scipy and SQL run plain scaling until the TV that scaling reached; SQL is timed over {SQL_PASSES} "
        "passes and multiplied by the passes that scipy needed. Bold: above 1 means that unskew is faster "
        "(pass / read: how far from merely reading the indices)."
    )


def _pass(here: Case, rival: ScipyScaling) -> list[str]:
    sweep = Sweep(here.profiles)
    repeats = 5 if rival.matrix.nnz > 5e6 else 30
    level = np.zeros(len(here.target), dtype=np.uint16) + LEVELS // 2
    level[here.target == 0] = 0
    mine = seconds(lambda: sweep.marginal(here.problem.theta), repeats)
    bound = seconds(lambda: sweep.marginal_and_levels(here.problem.theta, level), repeats)
    ones = np.ones(len(rival.target))
    theirs = seconds(lambda: rival.one_pass(ones), repeats)
    read = seconds(lambda: read_indices(here.profiles.item), repeats)
    times = [f"{1e3 * t:.2f}" for t in (mine, bound, theirs, read)]
    size = [f"{n:,}" for n in (rival.matrix.nnz, here.now.n_users, here.now.n_items)]
    return [*size, *times, f"{theirs / mine:.1f}", f"{mine / read:.1f}"]


def _fit(here: Case, rival: ScipyScaling, console: Console) -> list[list[str]]:
    scale(here.problem, tol=0.0, max_passes=4)  # compile
    repeats = 1 if rival.matrix.nnz > 5e6 else 5  # the best of as many, for both
    base = theirs = np.inf
    for _ in range(repeats):
        began = time.perf_counter()
        mine = scale(here.problem, tol=TOL, max_passes=200)
        base = min(base, time.perf_counter() - began)
    rows = [_row(f"scaling ({mine.status})", mine.passes, base, mine.residual, mine.divergence, base)]

    began = time.perf_counter()
    whole = us.fit_weights(here.now, here.before, tol=TOL)
    rows.append(
        _row(
            "fit_weights",
            whole.report.passes,
            time.perf_counter() - began,
            whole.report.residual,
            whole.divergence,
            base,
        )
    )

    for _ in range(repeats):
        began = time.perf_counter()
        needed, distance = rival.fit(mine.residual, 2000)
        theirs = min(theirs, time.perf_counter() - began)
    rows.append(_row("scipy, plain", needed, theirs, distance, None, base))

    sql = SqlScaling(rival)
    each = seconds(sql.one_pass, SQL_PASSES)
    rows.append(_row("SQL, plain", needed, each * needed, distance, None, base))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", us.ConvergenceWarning)
        began = time.perf_counter()
        paper = us.fit_weights(here.now, here.before, top=20, method="descent", tol=TOL, max_passes=300)
    rows.append(
        _row(
            "descent, p = 20",
            paper.report.passes,
            time.perf_counter() - began,
            paper.report.residual,
            paper.divergence,
            base,
        )
    )
    return rows


def _row(name: str, passes: int, took: float, tv: float, divergence: float | None, base: float) -> list[str]:
    d = "" if divergence is None else f"{divergence:.2e}"
    return [name, str(passes), f"{took:.3f}", f"{tv:.2e}", d, f"{took / base:.1f}"]
