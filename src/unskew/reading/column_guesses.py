"""Which columns are users, items and times: guessed from what they are called, or from what they hold.

`read_log` guesses only for files without a header, where there are no names to go by, and only where the column of
times is plain to see. `unskew doctor` guesses more, and says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from unskew.data.date_grammar import parse_compact_date, parse_time
from unskew.data.epoch_units import find_epoch_unit
from unskew.reading.column_synonyms import OF_A_LOG
from unskew.reading.text_sniffing import classify

ROLES = ("user", "item", "time")


def find_place(columns: Sequence[str], name: object) -> str | None:
    """The column whose number from 1 was given in place of a name; None if that is not what was given.

    >>> find_place(["member", "skill"], 2), find_place(["2", "1"], "1"), find_place(["a"], "a")
    ('skill', '1', 'a')
    """
    if name in columns:
        return str(name)
    text = str(name)
    if text.isdecimal() and text.isascii() and 1 <= int(text) <= len(columns):
        return columns[int(text) - 1]
    return None


def find_by_words(role: str, columns: Sequence[str], *more: str) -> Iterator[str]:
    """The columns whose name has a word that is often used for this role."""
    words = {role, *more, *OF_A_LOG.get(role, ())}
    parts = {
        c: set(re.findall(r"[^\W\d_]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", str(c)).lower())) for c in columns
    }
    return (c for c in columns if words & parts[c])


def looks_like_times(values: Sequence[str]) -> bool:
    """Whether all values are dates, 20130601 included, or numbers that count since 1970."""
    there = [value.strip() for value in values if classify(value) is not None]
    if not there:
        return False
    if all(parse_time(value) is not None or classify(value) == "time" for value in there):
        return True
    if not all(re.fullmatch(r"[0-9]+(\.[0-9]*)?", value) for value in there):
        return False
    if all(parse_compact_date(value) for value in there):
        return True
    numbers = [float(value) for value in there]
    return find_epoch_unit(min(numbers), max(numbers)) is not None


def guess_by_content(
    columns: Sequence[str], rows: Sequence[Sequence[str]], taken: Mapping[str, str]
) -> dict[str, str] | None:
    """Users, items and times where the times are plain to see: they are the first two of the other columns.

    `taken` are those that are known; None if there is more than one column of times, or none.
    """
    found = dict(taken)
    free = [k for k, name in enumerate(columns) if name not in taken.values()]
    if "time" not in found:
        times = [k for k in free if looks_like_times([row[k] for row in rows])]
        if len(times) != 1:
            return None
        found["time"] = columns[times[0]]
        free.remove(times[0])
    for role in ("user", "item"):
        if role not in found:
            if not free:
                return None
            found[role] = columns[free.pop(0)]
    return {role: found[role] for role in ROLES}


def guess_columns(
    columns: Sequence[str], rows: Sequence[Sequence[str]], given: Mapping[str, object]
) -> tuple[dict[str, str], list[str]]:
    """Which columns are users, items and times, as far as it can be told, and which of these roles were guessed.

    By what was said, by the usual names, by words in names that are often used, then by what columns hold; what is
    left is the first of the others.
    """
    found = {role: find_place(columns, name) or str(name) for role, name in given.items() if name is not None}
    values = {name: [row[k] for row in rows] for k, name in enumerate(columns)}
    times = [name for name in columns if looks_like_times(values[name])]

    def free(names: Iterable[str]) -> list[str]:
        return [name for name in names if name not in found.values()]

    usual = {"user": ("user",), "item": ("item",), "time": ("time", "timestamp")}
    certain = set(found)
    for role in ROLES:
        name = next((one for one in usual[role] if one in free(columns)), None)
        if role not in found and name is not None:
            found[role] = name
            certain.add(role)
    if "time" not in found:
        worded = free(find_by_words("time", columns))
        likely = [name for name in worded if name in times] or free(times) or worded
        found |= {"time": likely[0]} if likely else {}
    for role in ("user", "item"):
        likely = free(find_by_words(role, columns))
        if role not in found and likely:
            found[role] = likely[0]
    if "time" not in found and len(free(columns)) + len(found) >= len(ROLES):
        numbers = [n for n in free(columns) if all(classify(v) in ("number", None) for v in values[n])]
        others = len(free(columns)) - len(found)
        found |= {"time": numbers[-1]} if numbers and others >= 0 else {}
    for role in ("user", "item"):
        if role not in found and free(columns):
            found[role] = free(columns)[0]
    return {role: found[role] for role in ROLES if role in found}, [
        r for r in ROLES if r in found and r not in certain
    ]
