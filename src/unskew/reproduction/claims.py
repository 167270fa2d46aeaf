"""What the paper claims beside what was found: how much each score changed from the first day to the last."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from unskew.data.slice import Snapshot
from unskew.reproduction.figure import format_change, format_percent, weighting_name
from unskew.reproduction.study import FIRST, LAST, TOL, Study
from unskew.weights.fit_weights import fit_weights
from unskew.weights.item_weights import ItemWeights

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
    """A claim of the paper, and what we found.

    Attributes
    ----------
    claim, paper
        What is claimed, and the number given for it.
    ours, spread
        Our number in the world shown, and the least and the largest over all worlds.
    holds
        Whether the claim holds.
    """

    claim: str
    paper: str
    ours: str
    spread: str
    holds: bool


@dataclass(frozen=True)
class Changes:
    """Relative changes of the exhaustive scores of g1 and g2 in one world.

    Attributes
    ----------
    seed
        Of the world.
    found
        For each algorithm: weighting ("raw", a number p as text, "all") and the change.
    before
        The scores on the first day.
    bound
        How far a score with all items weighted can be from that of the first day, in score units.
    """

    seed: int
    found: Mapping[str, Mapping[str, float]]
    before: Mapping[str, float]
    bound: float

    @classmethod
    def of(cls, study: Study) -> Changes:
        """Fit and score the last day, exhaustively."""
        before, now = study.log.at(FIRST), study.log.at(LAST)
        everything = fit_weights(now, before, tol=TOL)
        fits: dict[str, ItemWeights | None] = {"raw": None}
        for p in study.tops:
            fits[str(p)] = fit_weights(now, before, top=p, method="descent")
        fits["all"] = everything
        lists = {"g1": study.g1, "g2": study.g2}
        start = {name: _score(before, items) for name, items in lists.items()}
        mixes = {key: now.probabilities(weights) for key, weights in fits.items()}
        found = {
            name: {
                key: float(q[now.log.items.require_codes(items, name)].sum()) / start[name] - 1.0
                for key, q in mixes.items()
            }
            for name, items in lists.items()
        }
        seed = int(study.world.about["seed"])
        return cls(seed, found, start, everything.bound)

    def remaining(self, name: str, key: str) -> float:
        """What remains of the raw change of an algorithm under a weighting, as a part of it."""
        raw = self.found[name]["raw"]
        return self.found[name][key] / raw if raw else math.inf

    def to_json(self) -> dict[str, Any]:
        """What ``claims.json`` holds."""
        return {
            name: {
                "raw": own["raw"],
                "top": {key: value for key, value in own.items() if key not in ("raw", "all")},
                "all": own["all"],
            }
            for name, own in self.found.items()
        }

    def rows(self) -> list[dict[str, Any]]:
        """One row for each algorithm and weighting."""
        return [
            {"seed": self.seed, "algorithm": name, "weighting": _name_weighting(key), "change": value}
            for name, own in self.found.items()
            for key, value in own.items()
        ]


def _score(snapshot: Snapshot, items: Sequence[int]) -> float:
    """The score of a constant list by hits: the probability of its items."""
    return float(snapshot.probabilities()[snapshot.log.items.require_codes(items, "the list")].sum())


def _name_weighting(key: str) -> str:
    return weighting_name("raw" if key == "raw" else "weighted", int(key) if key.isdigit() else None)


def collect_changes(changes: Sequence[Changes]) -> pa.Table:
    """The changes for all seeds: columns seed, algorithm, weighting, change."""
    return pa.Table.from_pylist([row for one in changes for row in one.rows()])


def judge_claims(changes: Sequence[Changes]) -> list[Claim]:
    """The claims of the paper, and whether they hold; the first of the changes is of the world shown."""
    most = max((int(key) for key in changes[0].found["g2"] if key.isdigit()), default=0)
    few = [key for key in changes[0].found["g2"] if key.isdigit() and int(key) <= FEW]
    claims = [
        _judge(
            "g1 (agrees with the campaigns), raw",
            "more than +25 %",
            [one.found["g1"]["raw"] for one in changes],
            lambda x: x >= 0.25,
        ),
        _judge(
            "g2 (disagrees), raw",
            "−33 %",
            [one.found["g2"]["raw"] for one in changes],
            lambda x: -0.38 <= x <= -0.28,
        ),
    ]
    if str(FEW) in changes[0].found["g1"]:
        claims += [
            _judge(
                f"g1, p = {FEW}: what is left of its raw change",
                "stable",
                [abs(one.remaining("g1", str(FEW))) for one in changes],
                lambda x: x <= 0.2,
                share=True,
            ),
            _judge(
                f"g2, p ≤ {FEW}: the least that is left of its raw change",
                "not stable",
                [min(one.remaining("g2", key) for key in few) for one in changes],
                lambda x: x >= 0.6,
                share=True,
            ),
            _judge(
                f"g2, p = {most}: what is left of its raw change",
                "stable as p grows",
                [abs(one.remaining("g2", str(most))) for one in changes],
                lambda x: x <= 0.2,
                share=True,
            ),
        ]
    for name in ("g1", "g2"):
        within = [
            abs(one.found[name]["all"]) * one.before[name] <= one.bound + 1e-12
            and abs(one.found[name]["all"]) < 0.02
            for one in changes
        ]
        values = [one.found[name]["all"] for one in changes]
        claims.append(
            Claim(
                f"{name}, all items",
                "not in the paper",
                format_change(values[0], 2),
                f"{format_change(min(values), 2)} .. {format_change(max(values), 2)}",
                all(within),
            )
        )
    return claims


def _judge(text: str, paper: str, values: Sequence[float], holds: Any, *, share: bool = False) -> Claim:
    write = format_percent if share else format_change
    spread = f"{write(min(values))} .. {write(max(values))}"
    return Claim(text, paper, write(values[0]), spread, all(holds(value) for value in values))
