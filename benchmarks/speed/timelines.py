"""A timeline, beside the same scores one date at a time: weights fitted from nothing, then `evaluate`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

import unskew as us
from benchmarks.frame.comparison import Comparison
from benchmarks.frame.contenders import in_process
from unskew.text import thousands

SIZES = (34_448,)  # users
LIBRARIES = ()
FIRST, LAST, EVERY = 300, 500, 5
TOLERANCE = 1e-4
YARDSTICK = "unskew, timeline"

_JOB = """\
The scores of two fixed lists on a grid of dates, raw and weighted to the first date, with intervals. A timeline
starts the weights of a date from those of the date before."""


def comparisons(sizes: Sequence[int] = SIZES) -> Iterator[Comparison]:
    """One for each number of users."""
    for users in sizes:
        log = us.simulate(users=users, seed=0).log
        held = sorted(log.at(FIRST).marginal().to_dict().items(), key=lambda pair: -pair[1])[:10]
        lists = {name: us.Constant([item for item, _ in held[k::2]]) for k, name in enumerate(("g1", "g2"))}
        days = list(range(FIRST, LAST + 1, EVERY))
        yield Comparison(
            f"{len(days)} dates of {thousands(len(log))} pairs",
            _JOB,
            [
                in_process(YARDSTICK, partial(_score_at_once, log, lists)),
                in_process("unskew, one date at a time", partial(_score_one_by_one, log, lists, days)),
            ],
            YARDSTICK,
            f"every score, raw and weighted, to {TOLERANCE:g}, which is how far weights are fitted",
            _differ,
        )


def _score_at_once(log: us.Log, lists: dict[str, us.Constant]) -> list[float]:
    found = us.timeline(log, lists, reference=FIRST, end=LAST, every=EVERY)
    rows = sorted(found.rows.to_pylist(), key=lambda row: (row["at"], row["recommender"], row["weighting"]))
    return [row["value"] for row in rows]


def _score_one_by_one(log: us.Log, lists: dict[str, us.Constant], days: list[int]) -> list[float]:
    before, values = log.at(FIRST), []
    for day in days:
        now = log.at(day)
        weights = us.fit_weights(now, before)
        for constant in lists.values():
            values += [us.evaluate(constant, now, weights=given).value for given in (None, weights)]
    return values


def _differ(ours: Any, theirs: Any) -> str | None:
    if len(ours) != len(theirs):
        return f"{len(ours)} scores and {len(theirs)}"
    off = float(np.max(np.abs(np.subtract(ours, theirs))))
    return None if off <= TOLERANCE else f"a score is off by {off:.1e}"
