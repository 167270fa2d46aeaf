"""What figures 1 to 6 show, as sentences made from their numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from unskew.reproduction.phrases import describe_change, describe_changes, format_change, format_percent
from unskew.reproduction.power_law import PowerLaw
from unskew.reproduction.study import BOTH, NEVER, SECOND
from unskew.reproduction.weighting_strokes import ALL, RAW
from unskew.text import enumerate_words, thousands

JUMP = 0.05
"""A curve jumps if it goes up and down by more than this part of its start from one day to the next."""


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
            before = describe_changes([p[i, middle] / p[i, first] - 1 for i in items])
            after = describe_changes([p[i, last] / p[i, middle] - 1 for i in items])
            parts.append(f"{_name_items(items, group)} {before} until that campaign and {after} after it")
        else:
            parts.append(
                f"{_name_items(items, group)} {describe_changes([p[i, last] / p[i, first] - 1 for i in items])}"
            )
    return f"From day {first} to day {last} {'; '.join(parts)}."


def _name_items(items: list[int], group: str) -> str:
    return f"P(i) of item {items[0]}, {group}," if len(items) == 1 else f"P(i) of the {len(items)} items {group}"


def sizes_sentence(sizes: npt.NDArray[np.int64], users: npt.NDArray[np.int64], law: PowerLaw) -> str:
    """How many items users hold, and the law of the tail."""
    n = int(users.sum())
    order = np.argsort(sizes)
    half = int(sizes[order][np.searchsorted(users[order].cumsum(), n / 2)])
    share = format_percent(law.share, 0)
    tail = f"From {law.start} items on ({share} of the users)" if law.share < 1 else "Over all sizes"
    return (
        f"The {thousands(n)} users hold {(sizes * users).sum() / n:.2f} items on average; half of them hold at "
        f"most {half}, the fullest profile holds {thousands(int(sizes.max()))}. {tail} the number of users "
        f"falls about as the power −{law.exponent:.2f} of the number of items (seen and expected shares differ by "
        f"at most {format_percent(law.distance)})."
    )


def _describe_timing(rows: list[dict[str, Any]], campaigns: Sequence[int], days: int = 30) -> str:
    """How much of the whole change falls into the days after the campaigns began; empty if that is not known."""
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
    return (
        f", {format_percent(found / whole, 0)} of it from the day before a campaign to {days} days after its start"
    )


def score_sentence(algorithm: str, rows: list[dict[str, Any]], campaigns: Sequence[int]) -> str:
    """How far the raw score moved, when, and whether the samples agree."""
    start, end = rows[0], rows[-1]
    held = sum(row["low"] <= row["exact"] <= row["high"] for row in rows)
    change = describe_change(end["exact"] / start["exact"] - 1)
    before, after = (f"{format_percent(row['exact'], 2)} on day {row['at']}" for row in (start, end))
    return (
        f"{algorithm} recommends the same five items every day, yet its score {change}, from {before} to "
        f"{after}{_describe_timing(rows, campaigns)}; the intervals of {held} of the {len(rows)} samples hold the "
        "exact score."
    )


def weighted_sentence(algorithm: str, by_name: dict[str, list[dict[str, Any]]], within: float) -> str:
    """What remains of the change under each weighting, and how many weights are enough."""
    change = {name: own[-1]["exact"] / own[0]["exact"] - 1 for name, own in by_name.items()}
    first, *_, last = by_name[RAW]
    some = [f"{format_change(c)} with {name}" for name, c in change.items() if name not in (RAW, ALL)]
    every = [f"{format_change(change[ALL], 2)} with weights on all items"] if ALL in change else []
    stability, jumps = _describe_stability(by_name, within), _describe_jumps(by_name)
    return (
        f"Raw, the score of {algorithm} {describe_change(change[RAW])} from day {first['at']} to day "
        f"{last['at']}. Weighted, what remains of that is {enumerate_words(some + every)}; {stability}.{jumps}"
    )


def _describe_jumps(by_name: dict[str, list[dict[str, Any]]]) -> str:
    """Which weightings go up and down from day to day; empty if none does."""
    restless = []
    for name, own in by_name.items():
        steps = np.diff([row["exact"] for row in own]) / own[0]["exact"]
        if name not in (RAW, ALL) and steps.max() > JUMP and steps.min() < -JUMP:
            restless.append(name)
    if not restless:
        return ""
    word = "jumps" if len(restless) == 1 else "jump"
    return f" {enumerate_words(restless)} {word} because items enter and leave the p that moved most."


def _describe_stability(by_name: dict[str, list[dict[str, Any]]], within: float) -> str:
    """From which weighting on the score of every day is within `within` of that of the first."""
    far = {
        name: max(abs(row["exact"] / own[0]["exact"] - 1) for row in own)
        for name, own in by_name.items()
        if name != RAW
    }
    stable: list[str] = []
    for name in reversed(far):
        if far[name] > within:
            break
        stable.insert(0, name)
    near = f"every day within {format_percent(within, 0)} of day {by_name[RAW][0]['at']}"
    if not stable:
        return f"no weighting keeps {near}"
    if stable == [ALL]:
        return f"only weights on all items keep {near} (at most {format_percent(far[ALL], 2)} off)"
    most = format_percent(max(far[name] for name in stable))
    return f"weights from {stable[0]} on keep {near} (at most {most} off)"
