"""What one sees in the figures of the paper, as sentences made from their numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from unskew.reproduction.power_law import PowerLaw
from unskew.reproduction.words import ALL, BASE, counted, listed, moved, moved_all, percent, signed

BOTH, SECOND, NEVER = "recommended in both campaigns", "recommended in the second only", "never recommended"


JUMP = 0.05
"""A curve that goes up and down by more than this part of its start, between two days, jumps."""


def items_sentence(rows: list[dict[str, Any]], first: int, last: int, campaigns: Sequence[int]) -> str:
    """How far the probabilities of each group moved."""
    p = {(row["item"], row["at"]): row["probability"] for row in rows}
    parts = []
    for group in (BOTH, SECOND, NEVER):
        items = list(dict.fromkeys(row["item"] for row in rows if row["group"] == group))
        if not items:
            continue
        if group == SECOND and len(campaigns) > 1:
            days = sorted(row["at"] for row in rows if row["item"] == items[0])
            middle = max((day for day in days if day <= campaigns[1]), default=first)
            before = moved_all([p[i, middle] / p[i, first] - 1 for i in items])
            after = moved_all([p[i, last] / p[i, middle] - 1 for i in items])
            parts.append(f"{_named(items, group)} {before} until that campaign and {after} after it")
        else:
            parts.append(f"{_named(items, group)} {moved_all([p[i, last] / p[i, first] - 1 for i in items])}")
    return f"From day {first} to day {last} {'; '.join(parts)}."


def _named(items: list[int], group: str) -> str:
    return f"P(i) of item {items[0]}, {group}," if len(items) == 1 else f"P(i) of the {len(items)} items {group}"


def sizes_sentence(sizes: npt.NDArray[np.int64], users: npt.NDArray[np.int64], law: PowerLaw) -> str:
    """How many items users hold, and the law of the tail."""
    n = int(users.sum())
    order = np.argsort(sizes)
    half = int(sizes[order][np.searchsorted(users[order].cumsum(), n / 2)])
    tail = (
        f"From {law.start} items on ({percent(law.share, 0)} of the users)" if law.share < 1 else "Over all sizes"
    )
    return (
        f"The {counted(n)} users hold {(sizes * users).sum() / n:.2f} items on average; half of them hold at most "
        f"{half}, the fullest profile holds {counted(int(sizes.max()))}. {tail} the number of users "
        f"falls about as the power −{law.exponent:.2f} of the number of items (seen and expected shares differ by "
        f"at most {percent(law.distance)})."
    )


def _around(rows: list[dict[str, Any]], campaigns: Sequence[int], days: int = 30) -> str:
    """How much of the whole change falls into the days after the campaigns began; nothing if that is not known."""
    whole = rows[-1]["exact"] - rows[0]["exact"]
    if abs(whole) < 0.01 * rows[0]["exact"]:
        return ""
    found = 0.0
    for campaign in campaigns:
        before = [row for row in rows if row["at"] < campaign]
        within = [row for row in rows if campaign <= row["at"] <= campaign + days]
        if not before or not within or campaign - before[-1]["at"] > days:
            return ""  # the days are too far apart to tell
        found += within[-1]["exact"] - before[-1]["exact"]
    return f", {percent(found / whole, 0)} of it from the day before a campaign to {days} days after its start"


def score_sentence(algorithm: str, rows: list[dict[str, Any]], campaigns: Sequence[int]) -> str:
    """How far the raw score moved, when, and whether the samples agree."""
    start, end = rows[0], rows[-1]
    held = sum(row["low"] <= row["exact"] <= row["high"] for row in rows)
    return (
        f"{algorithm} recommends the same five items every day, yet its score "
        f"{moved(end['exact'] / start['exact'] - 1)}, from {percent(start['exact'], 2)} on day {start['at']} to "
        f"{percent(end['exact'], 2)} on day {end['at']}{_around(rows, campaigns)}; the intervals of {held} of the "
        f"{len(rows)} samples hold the exact score."
    )


def weighted_sentence(algorithm: str, by_name: dict[str, list[dict[str, Any]]], within: float) -> str:
    """What remains of the change under each weighting, and how many weights are enough."""
    change = {name: own[-1]["exact"] / own[0]["exact"] - 1 for name, own in by_name.items()}
    first, *_, last = by_name[BASE]
    some = [f"{signed(c)} with {name}" for name, c in change.items() if name not in (BASE, ALL)]
    every = [f"{signed(change[ALL], 2)} with weights on all items"] if ALL in change else []
    return (
        f"Raw, the score of {algorithm} {moved(change[BASE])} from day {first['at']} to day {last['at']}. "
        f"Weighted, what remains of that is {listed(some + every)}; {_enough(by_name, within)}.{_jumps(by_name)}"
    )


def _jumps(by_name: dict[str, list[dict[str, Any]]]) -> str:
    """Which weightings go up and down from day to day; nothing if none does."""
    restless = []
    for name, own in by_name.items():
        steps = np.diff([row["exact"] for row in own]) / own[0]["exact"]
        if name not in (BASE, ALL) and steps.max() > JUMP and steps.min() < -JUMP:
            restless.append(name)
    if not restless:
        return ""
    word = "jumps" if len(restless) == 1 else "jump"
    return f" {listed(restless)} {word} because items enter and leave the p that moved most."


def _enough(by_name: dict[str, list[dict[str, Any]]], within: float) -> str:
    """From which weighting on the score of no day is further from that of the first."""
    far = {
        name: max(abs(row["exact"] / own[0]["exact"] - 1) for row in own)
        for name, own in by_name.items()
        if name != BASE
    }
    stable: list[str] = []
    for name in reversed(far):
        if far[name] > within:
            break
        stable.insert(0, name)
    near = f"every day within {percent(within, 0)} of day {by_name[BASE][0]['at']}"
    if not stable:
        return f"no weighting keeps {near}"
    if stable == [ALL]:
        return f"only weights on all items keep {near} (at most {percent(far[ALL], 2)} off)"
    return f"weights from {stable[0]} on keep {near} (at most {percent(_most(far, stable))} off)"


def _most(far: dict[str, float], names: Iterable[str]) -> float:
    return max(far[name] for name in names)
