"""Which columns are users, items and times: guessed from what they are called, or from what they hold.

`read_log` guesses only for files without a header, where there are no names to go by, and only where the column of
times is plain to see. `unskew doctor` guesses more, and says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from unskew.data.date_grammar import parse_time
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
    """Whether all values are dates, or numbers that count since 1970."""
    there = [value.strip() for value in values if classify(value) is not None]
    if not there:
        return False
    if all(parse_time(value) is not None or classify(value) == "time" for value in there):
        return True
    if not all(re.fullmatch(r"[0-9]+(\.[0-9]*)?", value) for value in there):
        return False
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
