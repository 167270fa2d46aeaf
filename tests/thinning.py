"""The rates that thinning rests on, computed densely in plain Python from the definitions."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

from tests.dense import Event, profiles_at

Rates = dict[str, tuple[float, float]]

LAST = [1, 2, 3, 5, 9, 14, 24, 48, 96, 200]
NAMES = [
    "rank 1",
    "rank 2",
    "rank 3",
    "ranks 4 to 5",
    "ranks 6 to 9",
    "ranks 10 to 14",
    "ranks 15 to 24",
    "ranks 25 to 48",
    "ranks 49 to 96",
    "ranks 97 to 200",
]


def popular_rank(held: dict[Any, dict[Any, int]], user: Any, item: Any) -> int:
    """The rank of `item` among what most users hold and this one does not; 0 if it is not in the first fifth."""
    counts = Counter(i for items in held.values() for i in items)
    ranking = sorted((i for i in counts if i not in held[user]), key=lambda i: (-counts[i], i))
    depth = max(1, min(200, len(counts) // 5))
    return ranking.index(item) + 1 if item in ranking[:depth] else 0


def stratum(held: dict[Any, dict[Any, int]], user: Any, item: Any) -> str:
    if user not in held:
        return "users without a profile"
    rank = popular_rank(held, user, item)
    return NAMES[next(k for k, last in enumerate(LAST) if rank <= last)] if rank else "beyond"


def kind(held: dict[Any, dict[Any, int]], first: dict[Any, dict[Any, int]], user: Any) -> int:
    """Users who join in the window, who joined since the first one, and by the size of the profile before it."""
    if user not in held:
        return -1
    size = len(first.get(user, {}))
    return 0 if size == 0 else 1 if size == 1 else 2 if size < 5 else 3


def group_rates(events: Sequence[Event], windows: Sequence[tuple[int, int]], group: set[Any]) -> Rates:
    """Observed and usual pairs of each stratum, for each user who could be shown something."""
    once: dict[tuple[Any, Any], int] = {}
    for user, item, time in events:
        once[user, item] = min(time, once.get((user, item), time))
    first = profiles_at(events, windows[0][0] - 1)
    pairs: dict[tuple[bool, str, int], int] = defaultdict(int)
    people: dict[tuple[bool, int], int] = defaultdict(int)
    for start, end in windows:
        held = profiles_at(events, start - 1)
        taken = [(user, item) for (user, item), time in once.items() if start <= time < end]
        for user in {*held, *(user for user, _ in taken)}:
            people[user in group, kind(held, first, user)] += 1
        for user, item in taken:
            pairs[user in group, stratum(held, user, item), kind(held, first, user)] += 1
    found: Rates = {}
    for name in {name for _, name, _ in pairs}:
        kinds = [-1] if name == "users without a profile" else [0, 1, 2, 3]
        everyone = max(sum(people[False, k] for k in kinds), 1)
        observed = sum(pairs[False, name, k] for k in kinds)
        usual = sum(
            pairs[True, name, k] * (people[False, k] / people[True, k] if people[True, k] else 1.0) for k in kinds
        )
        found[name] = observed / everyone, usual / everyone
    return found
