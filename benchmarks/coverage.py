"""``python -m benchmarks coverage [SAMPLES]``: how often intervals hold the truth, where hits are rare and uneven.

Samples of users are drawn from a law whose truth is known, on a grid of hit rates, numbers of users, weights
P(u) and what a user's metric is the mean of; an interval of level 95 % should hold the truth in 95 % of them.
The same for differences of two recommenders that mostly agree. Cells with 5 effective expected hits or more
should each be covered in 93 % or more, and in 94 to 96 % on average; below that, where scores are marked as
having too few hits, in 95 % or more.

The constants of `unskew.evaluation.interval_formulas` were chosen on seeds below 1500; what is reported has seeds
from `SEED`. Designs with a cell below 93 % are looked at again by new samples, five times as many. Beside it
stands Student's interval of the mean, to see that this can tell.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from rich.console import Console
from rich.table import Table
from scipy.special import stdtrit

from unskew.arrays.blocks import threads
from unskew.evaluation.interval_formulas import (
    count_units,
    find_difference_limits,
    find_limits,
    weigh_difference,
    weigh_evidence,
)
from unskew.evaluation.intervals import FEW

Array = npt.NDArray[np.float64]

SEED = 2000
SAMPLES = 1600
BLOCK = 4_000_000
"""Pairs that are simulated at a time."""
LEVEL = 0.95
TAIL = 0.5 - LEVEL / 2

LEAST = 0.93
USERS = (50, 400, 2000, 20_000)
RATES = (0.001, 0.003, 0.01, 0.03, 0.1, 0.5)
DISCORDANT = (0.001, 0.01, 0.05, 0.2)
"""The share of pairs that one of two recommenders finds and the other does not."""
UPWARD = (0.5, 0.8, 1.0)
"""How many of those the first of the two finds."""
AGREED = 0.1
"""The share of pairs that both find."""
LISTED = 5


class Design(NamedTuple):
    """How users and their pairs are drawn.

    Attributes
    ----------
    users
        How many there are.
    sigma
        P(u) is lognormal with this; 0: uniform.
    pairs
        Held-out pairs of a user.
    inside
        Their shares inside a user are lognormal with this.
    graded
        Whether a hit counts 1 over its rank, which is any of 1 to `LISTED`.
    """

    users: int
    sigma: float
    pairs: int = 1
    inside: float = 0.0
    graded: bool = False

    @property
    def weights(self) -> str:
        return f"lognormal, sigma {self.sigma:g}" if self.sigma else "equal"

    @property
    def metric(self) -> str:
        if self.graded:
            return "1 / rank"
        if self.pairs == 1:
            return "hit or miss"
        return f"{self.pairs} pairs, " + (f"lognormal, sigma {self.inside:g}" if self.inside else "equal")


KINDS: tuple[tuple[int, float, bool], ...] = ((1, 0, False), (5, 0, False), (5, 2, False), (1, 0, True))
DESIGNS = [Design(n, s, *kind) for kind in KINDS for s in (0, 1, 2) for n in USERS]
PAIRED = [Design(n, s, *kind) for kind in (KINDS[0], KINDS[2], KINDS[3]) for s in (0, 1, 2) for n in USERS]


@dataclass(frozen=True)
class Cell:
    """How often intervals held the truth in a cell of the grid."""

    design: Design
    what: tuple[float, ...]
    expected: float
    held: float
    student: float

    @property
    def enough(self) -> bool:
        return self.expected >= FEW


Study = Callable[[Design, int, int], list[Cell]]


class Drawn(NamedTuple):
    """Samples: the share of each user, those of its pairs inside it, what decides each pair, and its grade."""

    share: Array
    inside: npt.NDArray[np.float32]
    luck: npt.NDArray[np.float32]
    grade: npt.NDArray[np.float32]

    def total(self, found: npt.NDArray[np.bool_]) -> Array:
        """Each user's share times metric."""
        metric = np.einsum("rup,rup,rup->ru", self.inside, self.grade, found.astype(np.float32))
        return np.asarray(self.share * np.clip(metric.astype(np.float64), 0.0, 1.0))

    def effective_pairs(self) -> Array:
        """``1 / sum p^2`` over the pairs, with their grades: how many equal hits or misses tell as much."""
        within = (self.inside.astype(np.float64) ** 2).sum(-1)
        size = float((self.grade**2).mean() / self.grade.mean() ** 2)
        return np.asarray(1.0 / (size * (self.share**2 * within).sum(-1)))


def draw(design: Design, samples: int, rng: np.random.Generator) -> Drawn:
    """Samples of users and what decides about their pairs."""
    shape = (samples, design.users, design.pairs)
    mass = np.exp(design.sigma * rng.standard_normal(shape[:2]))
    inside = np.exp(np.float32(design.inside) * rng.standard_normal(shape, dtype=np.float32))
    inside /= inside.sum(-1, keepdims=True)
    grade = 1 / rng.integers(1, LISTED + 1, shape) if design.graded else np.ones(shape)
    luck = rng.random(shape, dtype=np.float32)
    return Drawn(mass / mass.sum(-1, keepdims=True), inside, luck, grade.astype(np.float32))


def study_scores(design: Design, samples: int, seed: int, rates: Sequence[float] = RATES) -> list[Cell]:
    """Scores at each of the rates, from the same samples."""
    worth = float(np.mean(1 / np.arange(1, LISTED + 1))) if design.graded else 1.0

    def look(drawn: Drawn, what: tuple[float, ...]) -> tuple[Array, Array]:
        [rate] = what
        total = drawn.total(drawn.luck < rate)
        held = _holds(find_limits(weigh_evidence(drawn.share, total), TAIL), rate * worth)
        return held, _holds(_student_limits(drawn.share, total), rate * worth)

    return _study(design, samples, seed, [(rate,) for rate in rates], look)


def study_differences(
    design: Design, samples: int, seed: int, rates: Sequence[float] = DISCORDANT, upward: Sequence[float] = UPWARD
) -> list[Cell]:
    """Differences of two recommenders that both find some pairs, each some that the other does not."""
    worth = float(np.mean(1 / np.arange(1, LISTED + 1))) if design.graded else 1.0

    def look(drawn: Drawn, what: tuple[float, ...]) -> tuple[Array, Array]:
        rate, up = what
        only = AGREED + rate * up
        one = drawn.total(drawn.luck < only)
        other = drawn.total((drawn.luck < AGREED) | ((drawn.luck >= only) & (drawn.luck < AGREED + rate)))
        true = worth * rate * (2 * up - 1)
        known = weigh_difference(drawn.share, one, drawn.share, other)
        held = _holds(find_difference_limits(known, TAIL), true)
        return held, _holds(_student_limits(drawn.share, one - other), true)

    return _study(design, samples, seed, [(rate, up) for rate in rates for up in upward], look)


def _study(
    design: Design,
    samples: int,
    seed: int,
    cells: list[tuple[float, ...]],
    look: Callable[[Drawn, tuple[float, ...]], tuple[Array, Array]],
) -> list[Cell]:
    rng = np.random.default_rng([seed, design.users, int(design.sigma), design.pairs, int(design.inside)])
    held, effective, done = np.zeros((len(cells), 2)), [], 0
    while done < samples:
        some = min(samples - done, max(1, BLOCK // (design.users * design.pairs)))
        drawn = draw(design, some, rng)
        effective.append(drawn.effective_pairs())
        for k, what in enumerate(cells):
            held[k] += [found.sum() for found in look(drawn, what)]
        done += some
    size = float(np.median(np.concatenate(effective)))
    return [Cell(design, what, size * what[0], *(held[k] / samples)) for k, what in enumerate(cells)]


def _student_limits(share: Array, total: Array) -> tuple[Array, Array]:
    mean, n = total.sum(-1), count_units(share)
    squares = ((total - mean[:, None] * share) ** 2).sum(-1)
    half = -stdtrit(n - 1, TAIL) * np.sqrt(squares * n / (n - 1))
    return mean - half, mean + half


def _holds(limits: tuple[Array, Array], true: float) -> Array:
    slack = 1e-12  # rounding
    return np.asarray((limits[0] <= true + slack) & (true - slack <= limits[1]), dtype=np.float64)


def run(samples: int, console: Console) -> None:
    """Look at the whole grid and print a table for scores and one for differences."""
    began = time.perf_counter()
    with ProcessPoolExecutor(threads(), mp_context=get_context("spawn")) as pool:
        for title, study, designs in (
            ("scores", study_scores, DESIGNS),
            ("differences of two recommenders", study_differences, PAIRED),
        ):
            counts = [max(samples // 4, 2) if d.users > 10_000 else samples for d in designs]
            found = pool.map(partial(look_twice, study), designs, counts, [SEED] * len(designs))
            console.print(_tabulate(title, [cell for cells in found for cell in cells], samples))
    console.print(f"{time.perf_counter() - began:.0f} s", style="dim")


def look_twice(study: Study, design: Design, samples: int, seed: int) -> list[Cell]:
    """The cells of a design; where one is seen below `LEAST`, all of them by five times as many new samples."""
    cells = study(design, samples, seed)
    if any(cell.enough and cell.held < LEAST for cell in cells):
        return study(design, 5 * samples, seed + 1)
    return cells


def _tabulate(title: str, cells: list[Cell], samples: int) -> Table:
    error = math.sqrt(LEVEL * (1 - LEVEL) / samples)
    table = Table(
        "metric of a user",
        "P(u)",
        title=f"Coverage of intervals of level 95 %, in %: {title}. {samples} samples a cell, a quarter of it for "
        f"{USERS[-1]} users; Monte Carlo error {100 * error:.1f}, twice there. {FEW:g} effective expected hits "
        "or more, then fewer",
    )
    for head in ("cells", "mean", "least", "Student", "least", "cells, fewer", "mean", "least", "Student: least"):
        table.add_column(head, justify="right")
    for (metric, weights), group in _group(cells):
        table.add_row(metric, weights, *_summarise(group))
    table.add_section()
    table.add_row("all", "all", *_summarise(cells))
    return table


def _group(cells: Iterable[Cell]) -> Iterator[tuple[tuple[str, str], list[Cell]]]:
    groups: dict[tuple[str, str], list[Cell]] = {}
    for cell in cells:
        groups.setdefault((cell.design.metric, cell.design.weights), []).append(cell)
    yield from groups.items()


def _summarise(cells: Sequence[Cell]) -> list[str]:
    enough = [c for c in cells if c.enough]
    fewer = [c for c in cells if not c.enough]
    return [
        f"{len(enough)}",
        *_mean_and_least([c.held for c in enough]),
        *_mean_and_least([c.student for c in enough]),
        f"{len(fewer)}",
        *_mean_and_least([c.held for c in fewer]),
        _mean_and_least([c.student for c in fewer])[1],
    ]


def _mean_and_least(coverage: Sequence[float]) -> list[str]:
    if not coverage:
        return ["", ""]
    return [f"{100 * np.mean(coverage):.1f}", f"{100 * min(coverage):.1f}"]
