"""A simulated network as the paper studies its data: its days, its two algorithms, their scores day by day.

Then what the paper claims beside what was found: how much each score changed from the first day to the last.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from unskew.data.log import Log
from unskew.errors import InputError
from unskew.over_time.timeline import timeline
from unskew.over_time.timeline_table import Timeline
from unskew.reproduction.figure import format_change, format_percent, weighting_name
from unskew.weights.fit_weights import fit_weights
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
    """A world, studied as the paper studies its data."""

    world: World  # made by `unskew.simulate`
    # The five items most recommended, and the five most frequent on the first day of those never recommended.
    g1: tuple[int, ...]
    g2: tuple[int, ...]
    tops: tuple[int, ...]  # the numbers of items to fit that there are enough items for

    @classmethod
    def of(cls, world: World) -> Study:
        """Read the log and find the two lists."""
        _check_world(world)
        most = _rank_recommended(world)
        never = _rank_frequent(world.log, set(most))
        if len(most) < _LENGTH or len(never) < _LENGTH:
            raise InputError(
                f"this world recommended {len(most)} items and never {len(never)}, but the reproduction needs "
                f"{_LENGTH} of each",
                remedy="give more users or items",
            )
        shared = int(np.count_nonzero(world.log.at(FIRST).counts()))
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

    @property
    def lists(self) -> dict[str, tuple[int, ...]]:
        """The items of the two algorithms."""
        return {"g1": self.g1, "g2": self.g2}

    def constants(self) -> dict[str, str]:
        """The two algorithms, as specs."""
        return {name: "constant:" + ",".join(map(str, items)) for name, items in self.lists.items()}

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
        groups: dict[int, str] = {}
        for kind, members, n, change in (
            (BOTH, both, _SHOWN, end - start),
            (SECOND, later, 1, end - middle),
            (NEVER, never, _SHOWN, start - end),
        ):
            order = np.lexsort((items, -change))
            chosen = [int(items[k]) for k in order if int(items[k]) in members and change[k] > 0 < start[k]]
            groups |= dict.fromkeys(chosen[:n], kind)
        return groups


def _check_world(world: World) -> None:
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
        raise InputError(
            f"the reproduction goes to day {LAST}; this world ends on day {last}",
            remedy="take one such as 'paper' or 'growth'",
        )


def _rank_recommended(world: World) -> list[int]:
    """Items that were recommended in the days that count, the most often recommended first."""
    times = world.exposures["time"]
    inside = pc.and_(pc.greater_equal(times, RECOMMENDED[0]), pc.less_equal(times, RECOMMENDED[1]))
    items, counts = np.unique(world.exposures.filter(inside)["item"].to_numpy(), return_counts=True)
    order = np.lexsort((items, -counts))
    ranked: list[int] = items[order].tolist()
    return ranked


def _rank_frequent(log: Log, without: set[int]) -> list[int]:
    """Items held on the first day, the most frequent first, without some."""
    p = log.at(FIRST).probabilities()
    items = log.items.values.to_numpy()
    order = np.lexsort((items, -p))
    return [int(items[k]) for k in order if p[k] > 0 and int(items[k]) not in without]


FEW = 20
"""The p that is enough for the paper."""

RULE = (
    "Change of the exhaustive score from day {first} to day {last}. A claim holds if it does in every world: raw, "
    "g1 rises by at least 25 % and g2 falls by 28 to 38 %; where the paper says stable, at most a fifth of the "
    "raw change is left, where it says not stable, at least 60 %; with all items weighted the change is within "
    "the certified bound (here {bound} points) and below 2 % of the score."
)
"""What the table of claims means."""


@dataclass(frozen=True)
class Claim:
    """A claim of the paper, and what we found."""

    claim: str
    paper: str  # the number that it gives
    # Our number in the world shown, and the least and the largest over all worlds.
    ours: str
    spread: str
    holds: bool


@dataclass(frozen=True)
class Changes:
    """Relative changes of the exhaustive scores of g1 and g2 in one world."""

    seed: int  # of the world
    # For each algorithm: weighting ("raw", a number p as text, "all") and the change.
    found: Mapping[str, Mapping[str, float]]
    before: Mapping[str, float]  # the scores on the first day
    bound: float  # how far a score with all items weighted can be from that of the first day, in score units

    @classmethod
    def of(cls, study: Study) -> Changes:
        """Fit and score the last day, exhaustively."""
        before, now = study.log.at(FIRST), study.log.at(LAST)
        everything = fit_weights(now, before, tol=TOL)
        subsets = {str(p): fit_weights(now, before, top=p, method="descent") for p in study.tops}
        mixes = {key: now.probabilities(fit) for key, fit in {"raw": None, **subsets, "all": everything}.items()}
        start, changes = {}, {}
        for name, items in study.lists.items():
            codes = study.log.items.require_codes(items, name)
            start[name] = float(before.probabilities()[codes].sum())  # the score by hits
            changes[name] = {key: float(mix[codes].sum()) / start[name] - 1.0 for key, mix in mixes.items()}
        return cls(int(study.world.about["seed"]), changes, start, everything.bound)

    def remaining(self, name: str, key: str) -> float:
        """What remains of the raw change of an algorithm under a weighting, as a part of it."""
        raw = self.found[name]["raw"]
        return self.found[name][key] / raw if raw else math.inf

    def to_json(self) -> dict[str, Any]:
        """What ``claims.json`` holds."""
        return {
            name: {
                "raw": by_weighting["raw"],
                "top": {key: value for key, value in by_weighting.items() if key not in ("raw", "all")},
                "all": by_weighting["all"],
            }
            for name, by_weighting in self.found.items()
        }

    def rows(self) -> list[dict[str, Any]]:
        """One row for each algorithm and weighting."""
        return [
            {"seed": self.seed, "algorithm": name, "weighting": _name_weighting(key), "change": value}
            for name, by_weighting in self.found.items()
            for key, value in by_weighting.items()
        ]


def _name_weighting(key: str) -> str:
    return weighting_name("raw" if key == "raw" else "weighted", int(key) if key.isdigit() else None)


def collect_changes(changes: Sequence[Changes]) -> pa.Table:
    """The changes for all seeds: columns seed, algorithm, weighting, change."""
    return pa.Table.from_pylist([row for world_changes in changes for row in world_changes.rows()])


def judge_claims(changes: Sequence[Changes]) -> list[Claim]:
    """The claims of the paper, and whether they hold; the first of the changes is of the world shown."""
    numbers = [int(key) for key in changes[0].found["g2"] if key.isdigit()]
    few = [str(p) for p in numbers if p <= FEW]
    raw = {name: [c.found[name]["raw"] for c in changes] for name in ("g1", "g2")}
    claims = [
        _judge("g1 (agrees with the campaigns), raw", "more than +25 %", raw["g1"], 0.25, math.inf),
        _judge("g2 (disagrees), raw", "−33 %", raw["g2"], -0.38, -0.28),
    ]
    if str(FEW) in changes[0].found["g1"]:
        most = max(numbers)
        left = [abs(c.remaining("g1", str(FEW))) for c in changes]
        least = [min(c.remaining("g2", key) for key in few) for c in changes]
        late = [abs(c.remaining("g2", str(most))) for c in changes]
        whose = "left of its raw change"
        claims += [
            _judge(f"g1, p = {FEW}: what is {whose}", "stable", left, 0.0, 0.2, format_percent),
            _judge(
                f"g2, p ≤ {FEW}: the least that is {whose}", "not stable", least, 0.6, math.inf, format_percent
            ),
            _judge(f"g2, p = {most}: what is {whose}", "stable as p grows", late, 0.0, 0.2, format_percent),
        ]
    for name in ("g1", "g2"):
        values = [c.found[name]["all"] for c in changes]
        spread = f"{format_change(min(values), 2)} .. {format_change(max(values), 2)}"
        within = [abs(c.found[name]["all"]) * c.before[name] <= c.bound + 1e-12 for c in changes]
        holds = all(within) and max(map(abs, values)) < 0.02
        claims.append(Claim(f"{name}, all items", "not in the paper", format_change(values[0], 2), spread, holds))
    return claims


def _judge(
    text: str, paper: str, values: Sequence[float], low: float, high: float, write: Any = format_change
) -> Claim:
    """Whether all values are between two limits."""
    spread = f"{write(min(values))} .. {write(max(values))}"
    return Claim(text, paper, write(values[0]), spread, all(low <= value <= high for value in values))
