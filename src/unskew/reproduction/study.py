"""A simulated network as the paper studies its data: its days, its two algorithms, their scores day by day.

Days, lists and sizes are those of the paper. What is concluded from them is left to `unskew.reproduction.claims`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pyarrow.compute as pc

from unskew.data.log import Log
from unskew.errors import InputError
from unskew.over_time.timeline import timeline
from unskew.over_time.timeline_table import Timeline
from unskew.worlds.world import World

FIRST, LAST = 300, 500
"""The days between which everything is measured; the first is the reference."""

RECOMMENDED = (320, 480)
"""The days in which what was recommended counts."""

DRAWS = 20_000
"""Users drawn for a score, as in the paper."""

TOPS = (5, 10, 20, 50, 100, 200, 500)
"""Numbers of items whose weights are fitted."""

TOL = 1e-5
"""Of the weights of all items in the claims; other fits use the default."""

BOTH, SECOND, NEVER = "recommended in both campaigns", "recommended in the second only", "never recommended"
"""The groups of items of figure 1."""

_LENGTH = 5  # of the lists g1 and g2
_SHOWN = 4  # items of a kind in figure 1


@dataclass(frozen=True)
class Study:
    """A world, studied as the paper studies its data.

    Attributes
    ----------
    world
        Made by `unskew.simulate`.
    g1, g2
        The five items most recommended, and the five most frequent on the first day of those never recommended.
    tops
        The numbers of items to fit that there are enough items for.
    """

    world: World
    g1: tuple[int, ...]
    g2: tuple[int, ...]
    tops: tuple[int, ...]

    @classmethod
    def of(cls, world: World) -> Study:
        """Read the log and find the two lists."""
        _check_world(world)
        before = world.log.at(FIRST)
        most = _rank_recommended(world)
        never = _rank_frequent(world.log, set(most))
        if len(most) < _LENGTH or len(never) < _LENGTH:
            raise InputError(
                f"this world recommended {len(most)} items and never {len(never)}, but the reproduction needs "
                f"{_LENGTH} of each",
                remedy="give more users or items",
            )
        shared = int(np.count_nonzero(before.counts()))
        tops = tuple(p for p in TOPS if p <= shared)
        return cls(world, tuple(most[:_LENGTH]), tuple(never[:_LENGTH]), tops)

    @property
    def log(self) -> Log:
        """The log of the world."""
        return self.world.log

    @property
    def campaigns(self) -> tuple[int, ...]:
        """Their days."""
        return tuple(self.world.campaigns)

    def constants(self) -> dict[str, str]:
        """The two algorithms, as specs."""
        return {name: "constant:" + ",".join(map(str, own)) for name, own in (("g1", self.g1), ("g2", self.g2))}

    def score_daily(self, every: int = 1, items: Iterable[int] = ()) -> Timeline:
        """Scores of both for users drawn as in the paper, and the probabilities of their items and of others.

        For a constant list these probabilities are the exhaustive score: their sum.
        """
        return timeline(
            self.log,
            self.constants(),
            reference=FIRST,
            end=LAST,
            every=every,
            top=self.tops,
            items=list(dict.fromkeys([*self.g1, *self.g2, *items])),
            sample=DRAWS,
            seed=int(self.world.about["seed"]),
            method="lbfgs",
        )

    def group_items(self) -> dict[int, str]:
        """The items of figure 1 with their group: those whose probability changed most in each group."""
        shown = {
            k: set(self.world.exposures.filter(pc.equal(self.world.exposures["campaign"], k))["item"].to_pylist())
            for k in range(len(self.campaigns))
        }
        ever: set[int] = set().union(*shown.values())
        both: set[int] = set.intersection(*shown.values()) if len(shown) > 1 else ever
        later = shown.get(1, set()) - shown.get(0, set())
        items = self.log.items.values.to_numpy().astype(np.int64)
        start, end = self.log.at(FIRST).probabilities(), self.log.at(LAST).probabilities()
        middle = self.log.at(self.campaigns[-1] - 1).probabilities()
        never = set(items.tolist()) - ever
        found: dict[int, str] = {}
        for kind, members, n, change in (
            (BOTH, both, _SHOWN, end - start),
            (SECOND, later, 1, end - middle),
            (NEVER, never, _SHOWN, start - end),
        ):
            order = np.lexsort((items, -change))
            own = [int(items[k]) for k in order if int(items[k]) in members and change[k] > 0 < start[k]]
            found |= dict.fromkeys(own[:n], kind)
        return found


def _check_world(world: World) -> None:
    """Refuse a world that is not like that of the paper, before any work."""
    if "base" in world.about:
        raise InputError("this world was injected into a log, but the reproduction needs one that was simulated")
    days = world.campaigns
    if len(days) != 2 or not all(RECOMMENDED[0] <= day <= RECOMMENDED[1] for day in days):
        when = "nothing was recommended" if not days else f"there are {len(days)}, the first on day {days[0]}"
        raise InputError(
            f"the reproduction needs a world with two campaigns between days {RECOMMENDED[0]} and "
            f"{RECOMMENDED[1]}; in this one {when}",
            remedy="take one such as 'paper' or 'growth'",
        )
    last = world.recipe.days - 1
    if last < LAST:
        raise InputError(f"the reproduction goes to day {LAST}; this world ends on day {last}")


def _rank_recommended(world: World) -> list[int]:
    """Items that were recommended in the days that count, the most often recommended first."""
    times = world.exposures["time"]
    inside = pc.and_(pc.greater_equal(times, RECOMMENDED[0]), pc.less_equal(times, RECOMMENDED[1]))
    items, counts = np.unique(world.exposures.filter(inside)["item"].to_numpy(), return_counts=True)
    order = np.lexsort((items, -counts))
    found: list[int] = items[order].tolist()
    return found


def _rank_frequent(log: Log, without: set[int]) -> list[int]:
    """Items held on the first day, the most frequent first, without some."""
    p = log.at(FIRST).probabilities()
    items = log.items.values.to_numpy()
    order = np.lexsort((items, -p))
    return [int(items[k]) for k in order if p[k] > 0 and int(items[k]) not in without]
