"""Sums over the independent units of a score, wherever these are: all that an interval needs to know about them.

Each unit has a mass and a total, which is its mass times its metric. Users are cut into the blocks of their
log, and the sums of blocks are added in the order of the blocks: so a score is the same to the last bit whether
its users are on this machine or on many.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol, TypeVar

import numpy as np

from unskew.arrays.types import Codes, Floats
from unskew.evaluation.interval_formulas import Bounds, spread_terms

Terms = Callable[[Floats, Floats], Floats]
"""From masses and totals to what is summed: a row for each sum, with a number for each unit."""


Result = TypeVar("Result")
Measuring = Generator[Terms, Floats, Result]
"""A computation that asks for sums, one set after the other."""


class Units(Protocol):
    """The independent units of a score."""

    def add(self, terms: Terms) -> Floats:
        """The sums over all units."""


@dataclass(frozen=True, eq=False)
class ArrayUnits:
    """Units on this machine; `edges` say where they are cut into blocks, None for one block."""

    mass: Floats
    total: Floats
    edges: Codes | None = None

    def add(self, terms: Terms) -> Floats:
        edges = [0, len(self.mass)] if self.edges is None else self.edges.tolist()
        return add_blocks([add_block(terms, self.mass[lo:hi], self.total[lo:hi]) for lo, hi in pairwise(edges)])


def sum_for(measuring: Measuring[Result], add: Callable[[Terms], Floats]) -> Result:
    """Give a computation the sums that it asks for."""
    [found] = sum_for_all([measuring], lambda asked: [add(terms) for _, terms in asked])
    return found


def sum_for_all(
    all_measuring: Sequence[Measuring[Result]], add: Callable[[list[tuple[int, Terms]]], list[Floats]]
) -> list[Result]:
    """Give several computations their sums, all that are asked for at a time together; each has a number."""
    found: dict[int, Result] = {}
    asked: dict[int, Terms] = {k: next(one) for k, one in enumerate(all_measuring)}
    while asked:
        sums = add(list(asked.items()))
        given, asked = zip(asked, sums, strict=True), {}
        for k, one in given:
            try:
                asked[k] = all_measuring[k].send(one)
            except StopIteration as end:
                found[k] = end.value
    return [found[k] for k in range(len(all_measuring))]


def add_block(terms: Terms, mass: Floats, total: Floats) -> Floats:
    """The sums over the units of one block."""
    return np.asarray(terms(mass, total).sum(axis=-1), dtype=np.float64)


def add_blocks(sums: list[Floats]) -> Floats:
    """The sums of blocks, added in their order."""
    total = sums[0].copy()
    for more in sums[1:]:
        total += more
    return total


def sum_up(mass: Floats, total: Floats) -> Floats:
    """All mass, all totals, and how many units have any mass."""
    return np.array([mass, total, (mass != 0).astype(np.float64)])


@dataclass(frozen=True)
class SquaredShares:
    """The squares of the shares of all mass, and the totals as shares of the whole between the bounds."""

    everything: float
    bounds: Bounds

    def __call__(self, mass: Floats, total: Floats) -> Floats:
        share, bounded = self.bounds.share(mass, total, self.everything)
        return np.array([share * share, bounded])


@dataclass(frozen=True)
class SquaredInfluences:
    """The squares of the shares of all mass, and of what each unit adds to the error of the score."""

    everything: float
    score: float

    def __call__(self, mass: Floats, total: Floats) -> Floats:
        share, influence = mass / self.everything, (total - self.score * mass) / self.everything
        return np.array([share * share, influence * influence])


@dataclass(frozen=True)
class Gains:
    """The squares of the shares of all mass, what went up and what went down; totals are differences of totals."""

    everything: float
    bounds: Bounds

    def __call__(self, mass: Floats, total: Floats) -> Floats:
        share, gained = mass / self.everything, total / (self.bounds.width * self.everything)
        return np.array([share * share, np.maximum(gained, 0.0), np.maximum(-gained, 0.0)])


@dataclass(frozen=True)
class GainSpreads:
    """How far ups and downs are from their means by share, and the squared influences of units."""

    everything: float
    bounds: Bounds
    up: float
    down: float

    def __call__(self, mass: Floats, total: Floats) -> Floats:
        share, gained = mass / self.everything, total / (self.bounds.width * self.everything)
        influence = gained - (self.up - self.down) * share
        return np.array(
            [
                spread_terms(share, np.maximum(gained, 0.0), np.asarray(self.up)),
                spread_terms(share, np.maximum(-gained, 0.0), np.asarray(self.down)),
                influence * influence,
            ]
        )


@dataclass(frozen=True)
class Spreads:
    """How far values are from their mean: by share, and by squared share."""

    everything: float
    bounds: Bounds
    mean: float

    def __call__(self, mass: Floats, total: Floats) -> Floats:
        share, bounded = self.bounds.share(mass, total, self.everything)
        seen = bounded - self.mean * share
        return np.array([spread_terms(share, bounded, np.asarray(self.mean)), seen * seen])
