"""Worlds of a given number of entries, ready to be fitted."""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

import unskew as us
from unskew.scene import Scene
from unskew.simulate import campaign_world
from unskew.solve.problem import Problem
from unskew.sweep import Floats

USERS, ITEMS, ENTRIES = 34_448, 35_741, 163_000  # the paper's size, and about what it gives
MOST_ITEMS = int(os.environ.get("BENCH_MOST_ITEMS", "100000"))  # a larger catalogue leaves the caches


@dataclass(frozen=True)
class Case:
    """Two dates of a world, and the problem that they pose."""

    now: us.Snapshot
    before: us.Snapshot
    problem: Problem

    @property
    def target(self) -> Floats:
        return self.problem.target


def case(entries: int, growth: float = 0.0) -> Case:
    """A world with about so many interactions; its catalogue grows with the square root, up to 100 000."""
    scale = entries / ENTRIES
    items = min(int(ITEMS * scale**0.5), MOST_ITEMS)
    world = campaign_world(int(USERS * scale), items, growth=growth, accepted=0.7)
    log = us.read_log(world.table)
    before, now = log.at(300), log.at(log.last)
    scene = Scene.of(now, before, min_items=1, users="all", drop=True)
    target = scene.target(keep_new=False)
    wanted: npt.NDArray[np.int64] = np.flatnonzero(target > 0)
    theta = np.where(target > 0, 0.0, -np.inf)
    return Case(now, before, Problem(scene.now.profiles, target, theta, wanted))
