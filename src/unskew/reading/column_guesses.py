"""Which columns are users, items and times: guessed from what they are called, and from what they hold.

`read_log` guesses only for files without a header, where there are no names to go by, and only where the column of
times is plain to see. `unskew doctor` guesses more, and says so.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from unskew.reading.column_contents import Contents, TableContents
from unskew.reading.column_synonyms import ENDINGS, OF_A_LOG, OF_OTHERS
from unskew.text import enumerate_words

ROLES = ("user", "item", "time")
_MOST_REASONS = 4
_USUAL = {"user": ("user",), "item": ("item",), "time": ("time", "timestamp")}


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
    """The columns whose name has a word that is often used for this role, the plainest names first.

    >>> list(find_by_words("user", ["user_session", "visitorid", "User ID", "product"]))
    ['User ID', 'visitorid', 'user_session']
    """
    plain = {role, *more}
    ranks = {column: _rank_name(column, plain, {*plain, *OF_A_LOG.get(role, ())}) for column in columns}
    return iter(sorted((c for c in columns if ranks[c] is not None), key=lambda c: ranks[c] or 0))


def _rank_name(column: str, plain: set[str], words: set[str]) -> int | None:
    """How plainly a name says a role, 0 best; None if it does not say it."""
    parts = split_name(column)
    joined = "".join(re.findall(r"[^\W\d_]+", str(column).lower()))
    whole = {word for word in words if joined in (word, *(word + end for end in ENDINGS))}
    if whole:
        return 0 if whole & plain else 1
    if words & set(parts):
        return 2 if plain & set(parts) else 3
    return None


def split_name(column: str) -> list[str]:
    """The words of a name, in small letters.

    >>> split_name("InvoiceDate_2")
    ['invoice', 'date']
    """
    return re.findall(r"[^\W\d_]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", str(column)).lower())


def looks_like_times(values: Sequence[str]) -> bool:
    """Whether all values are dates, or numbers that count since 1970."""
    return Contents(len(values), len(set(values)), tuple(values)).are_times


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


@dataclass
class Guess:
    """Which columns are what.

    Attributes
    ----------
    roles
        The columns of users, items and times, as far as they are known.
    guessed
        The roles that were guessed.
    rejected
        For each role, why other columns do not have it.
    parts
        Columns that are parts of a date.
    """

    roles: dict[str, str]
    guessed: list[str] = field(default_factory=list)
    rejected: dict[str, dict[str, str]] = field(default_factory=lambda: {role: {} for role in ROLES})
    parts: list[str] = field(default_factory=list)

    @property
    def missing(self) -> list[str]:
        """The roles that no column has."""
        return [role for role in ROLES if role not in self.roles]

    @property
    def has_split_dates(self) -> bool:
        """Whether the times are missing because they stand in several columns: year, month and day."""
        return self.missing == ["time"] and len(self.parts) > 1

    def explain_missing(self) -> str:
        """Why no column has the missing roles."""
        if self.has_split_dates:
            names = enumerate_words([repr(name) for name in self.parts])
            return f"no column holds times, and {names} are parts of a date"
        reasons = {name: reason for role in self.missing for name, reason in self.rejected[role].items()}
        listed = "; ".join(f"{name!r} {reason}" for name, reason in list(reasons.items())[:_MOST_REASONS])
        are = "columns are" if len(self.missing) > 1 else "column is"
        problem = f"it is not clear which {are} {enumerate_words([f'the {role}' for role in self.missing])}"
        return f"{problem} ({listed})" if listed else problem


def guess_columns(table: TableContents, given: Mapping[str, object]) -> Guess:
    """Which columns are users, items and times, as far as it can be told.

    By what was said, by the usual names, by words in names that are often used, then by what columns hold. A
    column has no users and no items if nearly every row has a value of its own, or if it has very few values; no
    items if each value belongs to one user; no times if it has the days of a month.
    """
    guesser = _Guesser(table, given)
    guess = guesser.guess
    known = set(guess.roles)
    steps: tuple[tuple[str, Callable[[], Iterator[str]]], ...] = (
        ("time", guesser.find_times),
        *((role, functools.partial(guesser.find_named_ids, role)) for role in ("user", "item")),
        ("time", guesser.find_numbers),
        *((role, functools.partial(guesser.find_other_ids, role)) for role in ("user", "item")),
    )
    for role, find in steps:
        name = next(find(), None) if role not in guess.roles else None
        if name is not None:
            guess.roles[role] = name
    guess.roles = {role: guess.roles[role] for role in ROLES if role in guess.roles}
    guess.guessed = [role for role in guess.roles if role not in known]
    return guess


class _Guesser:
    """Finds columns for a role, the likeliest first; what is known already is in `guess`."""

    def __init__(self, table: TableContents, given: Mapping[str, object]) -> None:
        self.table, self.contents, names = table, table.columns, list(table.columns)
        roles = {role: find_place(names, name) or str(name) for role, name in given.items() if name is not None}
        for role, usual in _USUAL.items():
            name = next((name for name in usual if name in names and name not in roles.values()), None)
            is_number_of_row = (
                role == "item" and len(names) > len(ROLES) and name and self.contents[name].is_unique
            )
            if name is not None and not is_number_of_row:
                roles.setdefault(role, name)
        parts = [name for name in names if self.contents[name].part_of_date(set(split_name(name)))]
        self.guess = Guess(roles, parts=[name for name in parts if name not in roles.values()])

    @property
    def free(self) -> list[str]:
        """The columns without a role."""
        return [name for name in self.contents if name not in self.guess.roles.values()]

    def find_times(self) -> Iterator[str]:
        """Columns of dates or counts since 1970, then those whose name says that they are times."""
        worded = list(find_by_words("time", self.free))
        ids = {name for role in ("user", "item") for name in find_by_words(role, self.free)}
        plain = [
            name
            for name in self.free
            if self.contents[name].are_times
            and name not in self.guess.parts
            and (name in worded or name not in ids)
        ]
        yield from sorted(
            plain,
            key=lambda name: (
                self.contents[name].distinct < 2,
                name not in worded,
                not self.contents[name].are_dates,
            ),
        )
        yield from (name for name in worded if self.may_be("time", name))

    def find_numbers(self) -> Iterator[str]:
        """Columns of numbers that may be times, the last first, if enough columns are left for the other roles."""
        if len(self.free) < len(self.guess.missing):
            return
        for name in reversed(self.free):
            is_other = bool(OF_OTHERS & set(split_name(name)))
            if self.contents[name].are_numbers and not is_other and self.may_be("time", name):
                yield name

    def find_named_ids(self, role: str) -> Iterator[str]:
        """Columns whose name says that they are users, or items."""
        return (name for name in find_by_words(role, self.free) if self.may_be(role, name))

    def find_other_ids(self, role: str) -> Iterator[str]:
        """Other columns that may be users, or items; those of names for something else last."""
        others = sorted(self.free, key=lambda name: bool(OF_OTHERS & set(split_name(name))))
        user = self.guess.roles.get("user")
        for name in others:
            if not self.may_be(role, name):
                continue
            if role == "item" and user is not None and self.table.has_one_owner(name, user):
                self.guess.rejected[role][name] = "has values that belong to one user each"
                continue
            yield name

    def may_be(self, role: str, name: str) -> bool:
        """Whether what a column holds allows a role; if not, the reason is kept."""
        contents = self.contents[name]
        reason = contents.why_no_time() if role == "time" else contents.why_no_id()
        if name in self.guess.parts and (len(self.guess.parts) > 1 or contents.is_enough):
            reason = "holds a part of a date"
        if reason is not None:
            self.guess.rejected[role][name] = reason
        return reason is None
