"""A log in a few plain lines: what unskew has to find in one, computed from the rows without unskew."""

from __future__ import annotations

import math
import re
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from fuzz.plain_columns import Columns

Figures = dict[str, Any]
"""What is compared; None where there is nothing to compare with."""

_EXACT = ("users", "items", "pairs")
_CLOSE = 1e-9


def describe_rows(columns: Columns, user: str, item: str, time: str) -> Figures:
    """The figures of a log, from its columns.

    Raises
    ------
    ValueError
        If a value is missing: unskew has to refuse such a file.
    """
    users, items, times = (columns[name] for name in (user, item, time))
    if not users or any(map(_is_missing, [*users, *items, *times])):
        raise ValueError("there are no rows, or a value is missing")
    moments = _read_times(times)
    earliest: dict[tuple[str, str], Any] = {}
    for who, what, when in zip(map(show_id, users), map(show_id, items), moments or [0] * len(users), strict=True):
        earliest[who, what] = min(when, earliest.get((who, what), when))
    figures: Figures = {
        "users": len({who for who, _ in earliest}),
        "items": len({what for _, what in earliest}),
        "pairs": len(earliest),
        "now": mix_items(list(earliest)),
        "then": None,
    }
    if moments is not None:
        middle = sorted(earliest.values())[len(earliest) // 2]
        figures["then"] = mix_items([pair for pair, when in earliest.items() if when <= middle])
    return figures


def show_id(value: Any) -> str:
    """An id as text, the same for 3 and 3.0."""
    if isinstance(value, float | Decimal) and float(value).is_integer() and abs(float(value)) < 2**63:
        return str(int(value))
    return str(value)


def find_difference(found: Figures, plain: Figures) -> str:
    """What unskew found otherwise than the plain lines; empty if nothing."""
    for name in _EXACT:
        if found[name] != plain[name]:
            return f"{name}: unskew found {found[name]}, a plain reader {plain[name]}"
    for name in ("now", "then"):
        if plain[name] is not None and not _is_close(found[name], plain[name]):
            return f"the item mix {name}: unskew found {found[name]}, a plain reader {plain[name]}"
    if plain["then"] is not None and found["drift"] is not None:
        now, then = plain["now"], plain["then"]
        distance = sum(abs(now.get(i, 0) - then.get(i, 0)) for i in {*now, *then}) / 2
        if abs(found["drift"] - distance) > _CLOSE:
            return f"the distance of two dates: unskew found {found['drift']}, a plain reader {distance}"
    if found["constant"] is not None:
        item, value = found["constant"]
        if abs(value - plain["now"][item]) > _CLOSE:
            return f"hit@1 of the item {item!r}: unskew found {value}, a plain reader {plain['now'][item]}"
    return ""


def mix_items(pairs: list[tuple[str, str]]) -> dict[str, float]:
    """P(i): a user uniformly, then an item of the profile uniformly."""
    sizes: dict[str, int] = {}
    for who, _ in pairs:
        sizes[who] = sizes.get(who, 0) + 1
    mix: dict[str, float] = {}
    for who, what in pairs:
        mix[what] = mix.get(what, 0.0) + 1 / (len(sizes) * sizes[who])
    return mix


def _is_close(one: dict[str, float], other: dict[str, float]) -> bool:
    return one.keys() == other.keys() and all(abs(one[item] - other[item]) <= _CLOSE for item in one)


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def _read_times(values: list[Any]) -> list[Any] | None:
    """Times that can be put in order; None where these few lines do not know how."""
    if all(isinstance(value, int | float) for value in values):
        return values
    if all(type(value) is type(values[0]) for value in values) and isinstance(values[0], date):
        return values
    if not all(isinstance(value, str) and not re.search(r"\.[0-9]{7}", value) for value in values):
        return None  # Python drops digits behind microseconds
    for read in (int, float, date.fromisoformat, datetime.fromisoformat):
        try:
            return [read(value) for value in values]
        except ValueError:
            continue
    return None
