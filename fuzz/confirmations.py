"""What can be known about a damaged table without unskew: logs, exposures, hold-outs, lists, names.

Each function says what is wrong with what unskew found; nothing if that is right. The log beside a table is
small enough to be looked through pair by pair.
"""

from __future__ import annotations

import re
from typing import Any

from fuzz.plain_columns import Columns
from fuzz.plain_log import describe_rows, find_difference, mix_items, show_id
from fuzz.small_log import TIMES, list_pairs


def _name_columns(columns: Columns, names: tuple[str, ...]) -> Columns:
    """The columns under these names; what is called otherwise takes the names that are left, in order."""
    if set(names) <= set(columns):
        return {name: columns[name] for name in names}
    if len(columns) != len(names):
        raise ValueError(f"these few lines know the columns {', '.join(names)} only")
    others = iter(name for name in columns if name not in names)
    return {name: columns[name if name in columns else next(others)] for name in names}


_WHOLE = re.compile(r"[ \t\n\f\r]*(0|-?[1-9][0-9]*)(\.0+)?[ \t\n\f\r]*")
"""A whole number as programs write it, with spaces around it."""

Rows = list[tuple[str, str, int]]
"""User, item and time of the log."""


def confirm_log(
    columns: Columns, found: Any, *, user: str = "user", item: str = "item", time: str = "time"
) -> str:
    """Compare the figures of a log; without a first line for names its columns are these three."""
    stripped = {name.strip("\0").strip(): values for name, values in columns.items()}
    if len(stripped) >= 3 and not {user, item, time} & set(stripped):
        named = zip((user, item, time), stripped.items(), strict=False)
        stripped = {role: [first, *values] for role, (first, values) in named}
    return find_difference(found, describe_rows(stripped, user, item, time))


def confirm_configuration(options: dict[str, Any], found: Any) -> str:
    """The distance between the item mixes of the two dates that the file names."""
    if {"log", "reference"} != set(options) - {"at"}:
        raise ValueError("these few lines know three options only")
    dates = [int(options["reference"]), int(options.get("at", max(TIMES)))]
    mixes = [mix_items([(u, i) for u, i, t in list_pairs() if t <= date]) for date in dates]
    distance = sum(abs(mixes[0].get(i, 0) - mixes[1].get(i, 0)) for i in {*mixes[0], *mixes[1]}) / 2
    if [found["reference"], found["at"]] != dates or abs(found["bound"] - distance) > 1e-9:
        return (
            f"unskew found {found['bound']} from {found['reference']} to {found['at']}, a plain reader {distance}"
        )
    return ""


def confirm_exposures(columns: Columns, found: Any, log: Rows) -> str:
    """A pair is exposed if the same user was shown the same item at its time or before."""
    named = _name_columns(columns, ("user", "item", "time"))
    shown = [(_read_number(u), _read_number(i), float(t)) for u, i, t in zip(*named.values(), strict=True)]
    plain = sorted([u, i] for u, i, t in log if any(s[:2] == (u, i) and s[2] <= t for s in shown))
    return "" if found == plain else f"exposed pairs: unskew found {found}, a plain reader {plain}"


def confirm_holdout(columns: Columns, found: Any, log: Rows) -> str:
    """The users who are in both."""
    known = {u for u, _, _ in log}
    ((name, values),) = [("user", columns["user"])] if "user" in columns else columns.items()
    first = [name] if len(columns) == 1 else []  # a list without a first line for names
    plain = sorted({_read_number(value) for value in (*values, *first) if value is not None} & known)
    return "" if found == plain else f"hold-out: unskew found {found}, a plain reader {plain}"


def confirm_lists(columns: Columns, found: Any, log: Rows) -> str:
    """hit@2 of each pair: how far up the item stands, not counting what else the user has."""
    columns = _name_columns(columns, ("user", "item", "rank"))
    lists: dict[str, list[tuple[float, str]]] = {}
    for u, i, rank in zip(columns["user"], columns["item"], columns["rank"], strict=True):
        lists.setdefault(_read_number(u), []).append((float(rank), _read_number(i)))
    if any(len({rank for rank, _ in pairs}) < len(pairs) for pairs in lists.values()):
        raise ValueError("two items have one rank")
    own: dict[str, set[str]] = {}
    for u, i, _ in log:
        own.setdefault(u, set()).add(i)
    score = 0.0
    for u, i in {(u, i) for u, i, _ in log}:
        others = [item for _, item in sorted(lists.get(u, [])) if item == i or item not in own[u]]
        score += (i in others[:2]) / (len(own) * len(own[u]))
    return "" if abs(found - score) < 1e-9 else f"hit@2 of the lists: unskew found {found}, a plain reader {score}"


def confirm_names(columns: Columns, found: Any, log: Rows) -> str:
    """A text that stands beside an item; the item itself where there is none."""
    is_named = "item" in columns
    items = columns["item"] if is_named else next(iter(columns.values()))
    others = [values for values in columns.values() if values is not items]
    first = () if is_named else [tuple(columns)]  # which may be a row like others
    names: dict[str, set[str]] = {}
    for i, *texts in (*zip(items, *others, strict=True), *first):
        beside = names.setdefault(_read_number(i), set())
        for text in texts:
            beside.update({text, text or show_id(i)} if isinstance(text, str) else {show_id(i)})
        if not is_named:  # it may not be clear that this is the item
            beside.add(show_id(i))
    known = {i for _, i, _ in log}
    wrong = {i: found.get(i) for i in known if found.get(i) not in (names.get(i) or {i})}
    return f"names: unskew found {wrong}, a plain reader {[names.get(i) for i in wrong]}" if wrong else ""


def _read_number(value: Any) -> str:
    """An id as text; a text as the number that it is, since this log has numbers: 6.0 is 6, 06 is not."""
    whole = _WHOLE.fullmatch(value) if isinstance(value, str) else None
    return whole[1] if whole else show_id(value)
