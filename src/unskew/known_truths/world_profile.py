"""How realistic a world is: how active people are, and how much of that recommendations caused.

The first table of a yardstick. A world in which hardly anything happens without recommendations flatters methods
that remove what was recommended.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from unskew.arrays.types import Mask
from unskew.data.log import Log
from unskew.data.time_windows import TimeWindow
from unskew.known_truths.case_names import INJECTED, SUMMARIES, TUNING_WORLDS
from unskew.known_truths.summaries import mean_and_error

Row = dict[str, Any]
MEASURES = ("organic_so_far", "organic_before", "organic_after", "exposed_share", "induced_share")
"""The figures of a `Profile`."""

WORLDS = pa.schema(
    {
        "world": pa.string(),
        "used_for": pa.string(),
        "seeds": pa.int64(),
        **{name: pa.float64() for measure in MEASURES for name in (measure, f"{measure}_se")},
    }
)
"""The columns of the table of worlds."""

_DAYS = 60  # just before the reference date


@dataclass(frozen=True)
class Profile:
    """How active people are, and how much of that recommendations caused.

    Attributes
    ----------
    organic_so_far, organic_before, organic_after
        Interactions a day in the world without recommendations: until the reference date, in the 60 days before
        it, and after it.
    exposed_share
        Share of the interactions in the campaign windows that followed an exposure; None if there are none.
    induced_share
        Share of them that recommendations caused: had nothing been recommended since the reference date, the user
        would not have interacted with the item.
    """

    organic_so_far: float
    organic_before: float
    organic_after: float
    exposed_share: float | None
    induced_share: float | None

    @classmethod
    def of(
        cls,
        log: Log,
        organic: Log,
        truth: Log,
        windows: Sequence[TimeWindow],
        before: int | float,
        day: float,
    ) -> Profile:
        """From the log, the log without recommendations, the log without recommendations since `before`."""
        time = np.asarray(organic.time)
        first, last = (tick.item() for tick in organic.span)
        recent = max(first, before - _DAYS * day)
        inside = np.zeros(len(log.time), dtype=bool)
        for window in windows:
            inside |= window.contains(log.time)
        pairs = int(inside.sum())
        exposed = np.zeros(len(log.time), dtype=bool) if log.exposed is None else log.exposed
        return cls(
            _rate((time <= before).sum(), (before - first) / day),
            _rate(((time > recent) & (time <= before)).sum(), (before - recent) / day),
            _rate((time > before).sum(), (last - before) / day),
            float((exposed & inside).sum() / pairs) if pairs else None,
            float((_mark_missing(log, truth) & inside).sum() / pairs) if pairs else None,
        )

    def to_row(self) -> Row:
        """The figures by name."""
        return asdict(self)


def summarise_worlds(profiles: Iterable[tuple[str, Mapping[str, Any]]]) -> list[Row]:
    """One row for each world: means over its seeds, with standard errors."""
    by_world: dict[str, list[Mapping[str, Any]]] = {}
    for world, profile in profiles:
        by_world.setdefault(world, []).append(profile)
    rows = []
    for world, several in by_world.items():
        row: Row = {
            "world": world,
            "used_for": _find_use(world),
            "seeds": len(several),
        }
        for name in MEASURES:
            row[name], row[f"{name}_se"] = mean_and_error(profile[name] for profile in several)
        rows.append(row)
    return rows


def _find_use(world: str) -> str:
    """What a world may be used for; nothing is known of one from a folder."""
    if world in TUNING_WORLDS:
        return "tuning"
    return "reporting" if world in SUMMARIES or world == INJECTED else ""


def tabulate_profiles(rows: Iterable[Row]) -> list[list[str]]:
    """The table of worlds as cells, the first row its head."""
    cells = [["world", "used for", "organic a day", "60 days to t0", "after t0", "exposed", "induced"]]
    for row in rows:
        rates = [_show(row, name, 1.0, 1, "") for name in MEASURES[:3]]
        cells.append(
            [row["world"], row["used_for"], *rates, *(_show(row, name, 100.0, 1, " %") for name in MEASURES[3:])]
        )
    return cells


def _show(row: Row, name: str, scale: float, digits: int, unit: str) -> str:
    if row[name] is None:
        return ""
    error = row[f"{name}_se"]
    spread = "" if error is None else f" ±{scale * error:.{digits}f}"
    return f"{scale * row[name]:.{digits}f}{spread}{unit}"


def _rate(count: Any, days: float) -> float:
    return float(count) / days if days > 0 else math.nan


def _mark_missing(log: Log, truth: Log) -> Mask:
    """Which entries of a log are of pairs that another log does not have."""
    user = truth.users.codes(log.users.column())[log.entry_users()]
    item = truth.items.codes(log.items.column())[log.item]
    known = truth.entry_users() * len(truth.items) + truth.item
    missing: Mask = (user < 0) | (item < 0) | ~np.isin(user * len(truth.items) + item, known)
    return missing
