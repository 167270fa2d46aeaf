"""Which columns are users, items and times: as named, by the usual names, or guessed from what they hold.

`read_log` guesses only for files without a header, where there are no names to go by, and only where the column of
times is plain to see. `unskew doctor` guesses more, and says so: names of columns mislead (an invoice number is no
item, a day of the month no time), and counts of distinct values over the first rows tell them apart.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import duckdb

from unskew.data.columns import Columns
from unskew.data.date_grammar import parse_compact_date
from unskew.data.time_steps import find_epoch_unit
from unskew.data.times import PER_SECOND
from unskew.errors import ColumnError, missing_column, option
from unskew.reading.column_types import family_of, is_missing, refuse_twins
from unskew.reading.connection import fetch_row, quote_name
from unskew.reading.sources import Source, open_source
from unskew.reading.text_files import classify
from unskew.text import closest, enumerate_words

_ROWS = 200_000  # that are counted
_ENOUGH = 50  # values, before a count of distinct ones says anything
_NEARLY_ALL = 0.99
_FEW = 12  # distinct values or less: kinds of events, ratings, months
_FEW_TIMES = 31  # distinct numbers or less: days of a month, hours
_LONG = 200  # characters on average: a review and no id
_LONGEST_SPAN = 60 * 365.25 * 86400  # seconds: whole numbers that span more are more likely ids than times
_WHOLE = re.compile(r"[+-]?[0-9]+(\.0*)?")
_PLAIN = re.compile(r"[0-9]+(\.[0-9]*)?")
_PARTS = {
    "day": (1, 31),
    "month": (1, 12),
    "year": (1900, 2200),
    "hour": (0, 24),
    "minute": (0, 60),
    "second": (0, 60),
    "weekday": (0, 7),
    "week": (0, 53),
    "quarter": (1, 4),
}
"""Parts of dates, and the numbers that they are."""


@dataclass(frozen=True)
class Contents:
    """The values of a column in the first rows of a table."""

    # How many there are, missing ones aside, and how many different ones.
    values: int
    distinct: int
    sample: tuple[str, ...]  # some of them as texts

    @classmethod
    def of(cls, texts: Sequence[str]) -> Contents:
        """Of a table that has no more rows."""
        return cls(len(texts), len(set(texts)), tuple(texts))

    @property
    def is_enough(self) -> bool:
        """Whether there are enough values for counts to say anything."""
        return self.values >= _ENOUGH

    @property
    def written_values(self) -> list[str]:
        """The sample without missing values."""
        return [text.strip() for text in self.sample if classify(text) is not None]

    @property
    def are_numbers(self) -> bool:
        return all(classify(text) in ("number", None) for text in self.sample)

    @property
    def are_dates(self) -> bool:
        """Whether all values are written as dates or datetimes."""
        return bool(self.written_values) and all(classify(text) == "time" for text in self.written_values)

    @property
    def are_times(self) -> bool:
        """Whether all values are dates (or 20130601), or count since 1970 and span less than 60 years."""
        texts = self.written_values
        if not texts or self.are_dates:
            return bool(texts)
        if not all(_PLAIN.fullmatch(text) for text in texts):
            return False
        if all(parse_compact_date(text) for text in texts):
            return True
        numbers = [float(text) for text in texts]
        unit = find_epoch_unit(min(numbers), max(numbers))
        return unit is not None and max(numbers) - min(numbers) <= _LONGEST_SPAN * PER_SECOND[unit]

    def part_of_date(self, words: set[str]) -> str | None:
        """The part of a date that a column of such a name and such numbers is: ``day``, ``month``; else None."""
        part = next((part for part in _PARTS if part in words), "")
        least, most = _PARTS.get(part, (0, 0))
        texts = self.written_values
        is_part = all(_WHOLE.fullmatch(text) and least <= float(text) <= most for text in texts)
        return part if part and is_part else None

    @property
    def is_unique(self) -> bool:
        """Whether nearly every row has a value of its own, in rows enough to tell."""
        return self.is_enough and self.distinct >= _NEARLY_ALL * self.values

    def why_no_id(self) -> str | None:
        """Why these are neither users nor items; None if they may be."""
        texts = self.written_values
        if self.values and self.are_dates:
            return "holds dates"
        if self.are_numbers and not all(_WHOLE.fullmatch(text) for text in texts):
            return "holds decimal numbers"
        if texts and sum(map(len, texts)) > _LONG * len(texts):
            return "holds long texts"
        if self.values == 0:
            return "is empty"
        if not self.is_enough:
            return None
        if self.is_unique:
            return "has another value in nearly every row"
        if self.distinct <= _FEW:
            return f"has {self.distinct} different value{'s' * (self.distinct != 1)} only"
        return None

    def why_no_time(self) -> str | None:
        """Why these are no times, if they are not plainly such; None if they may be."""
        if self.values == 0:
            return "is empty"
        if not self.is_enough or self.are_dates:
            return None
        if self.are_numbers and self.distinct <= _FEW_TIMES and not self.are_times:
            return f"has {self.distinct} different number{'s' * (self.distinct != 1)} only"
        return None


class TableContents:
    """What the columns of a table hold; `rows` are its first ones as texts."""

    def __init__(self, source: Source, rows: Sequence[Sequence[str]]) -> None:
        self._source, names = source, tuple(source.columns)
        self.columns = {name: Contents.of([row[k] for row in rows]) for k, name in enumerate(names)}
        try:
            values = self._count([f"count(*) FILTER (NOT {is_missing(name)})" for name in names])
            distinct = self._count([f"count(DISTINCT {quote_name(name)}::VARCHAR)" for name in names])
        except duckdb.Error:  # two names that differ in case alone, a damaged row: whoever reads the table says so
            return
        for k, name in enumerate(names):
            self.columns[name] = Contents(values[k], distinct[k], self.columns[name].sample)

    def has_one_owner(self, name: str, user: str) -> bool:
        """Whether nearly every value of a column occurs with one user only, as the number of an invoice does."""
        if user not in self.columns or self.columns[user].distinct < 2 or not self.columns[name].is_enough:
            return False
        pair = f"({quote_name(name)}::VARCHAR, {quote_name(user)}::VARCHAR)"
        missing = f"{is_missing(name)} OR {is_missing(user)}"
        try:
            pairs, values = self._count(
                [f"count(DISTINCT {counted}) FILTER (NOT ({missing}))" for counted in (pair, quote_name(name))]
            )
        except duckdb.Error:
            return False
        return values > 0 and pairs <= values / _NEARLY_ALL

    def _count(self, counts: Sequence[str]) -> list[int]:
        query = f"SELECT {', '.join(counts)} FROM (SELECT * FROM {self._source.relation} LIMIT {_ROWS})"
        return list(fetch_row(self._source.connection, query))


ROLES = ("user", "item", "time")
_MOST_REASONS = 4
DEFAULT_NAMES = {"user": ("user",), "item": ("item",), "time": ("time", "timestamp")}


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


def find_by_words(role: str, columns: Sequence[str], *more: str) -> list[str]:
    """The columns whose name has a word that is often used for this role, the plainest names first.

    >>> find_by_words("user", ["user_session", "visitorid", "User ID", "product"])
    ['User ID', 'visitorid', 'user_session']
    """
    plain = {role, *more}
    ranks = {column: _rank_name(column, plain, {*plain, *OF_A_LOG.get(role, ())}) for column in columns}
    return sorted((c for c in columns if ranks[c] is not None), key=lambda c: ranks[c] or 0)


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


def shorten_name(column: str) -> str:
    """A name in small letters, without what is neither letter nor digit.

    >>> shorten_name("User_ID")
    'userid'
    """
    return re.sub(r"[\W_]", "", str(column).lower())


def split_name(column: str) -> list[str]:
    """The words of a name, in small letters.

    >>> split_name("InvoiceDate_2")
    ['invoice', 'date']
    """
    return re.findall(r"[^\W\d_]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", str(column)).lower())


def guess_by_content(
    columns: Sequence[str], rows: Sequence[Sequence[str]], taken: Mapping[str, str]
) -> dict[str, str] | None:
    """Users, items and times where the times are plain to see: they are the first two of the other columns.

    `taken` are those that are known; None if there is more than one column of times, or none.
    """
    roles = dict(taken)
    free = [k for k, name in enumerate(columns) if name not in taken.values()]
    if "time" not in roles:
        times = [k for k in free if Contents.of([row[k] for row in rows]).are_times]
        if len(times) != 1:
            return None
        roles["time"] = columns[times[0]]
        free.remove(times[0])
    for role in ("user", "item"):
        if role not in roles:
            if not free:
                return None
            roles[role] = columns[free.pop(0)]
    return {role: roles[role] for role in ROLES}


class Guess:
    """Which columns are users, items and times, as far as it can be told.

    By what was said, by the usual names, by words in names that are often used, then by what columns hold. A
    column has no users and no items if nearly every row has a value of its own, or if it has very few values; no
    items if each value belongs to one user; no times if it has the days of a month.

    Attributes
    ----------
    roles
        The columns of users, items and times, as far as they are known.
    guessed
        Which of these roles were guessed.
    parts
        Columns that are parts of a date.
    """

    def __init__(self, table: TableContents, given: Mapping[str, object]) -> None:
        self._table, self._contents, names = table, table.columns, list(table.columns)
        roles = {role: find_place(names, name) or str(name) for role, name in given.items() if name is not None}
        for role, usual in DEFAULT_NAMES.items():
            name = next((name for name in usual if name in names and name not in roles.values()), None)
            is_number_of_row = (
                role == "item" and len(names) > len(ROLES) and name and self._contents[name].is_unique
            )
            if name is not None and not is_number_of_row:
                roles.setdefault(role, name)
        parts = [name for name in names if self._contents[name].part_of_date(set(split_name(name)))]
        self.parts = [name for name in parts if name not in roles.values()]
        self._rejected: dict[str, dict[str, str]] = {role: {} for role in ROLES}  # why other columns have no role
        known, self.roles = set(roles), roles
        for role, find in (
            ("time", self._find_times),
            ("user", self._find_named_ids),
            ("item", self._find_named_ids),
            ("time", self._find_numbers),
            ("user", self._find_other_ids),
            ("item", self._find_other_ids),
        ):
            name = next(find(role), None) if role not in roles else None
            if name is not None:
                roles[role] = name
        self.roles = {role: roles[role] for role in ROLES if role in roles}
        self.guessed = [role for role in self.roles if role not in known]

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
        reasons = {name: reason for role in self.missing for name, reason in self._rejected[role].items()}
        listed = "; ".join(f"{name!r} {reason}" for name, reason in list(reasons.items())[:_MOST_REASONS])
        are = "columns are" if len(self.missing) > 1 else "column is"
        problem = f"it is not clear which {are} {enumerate_words([f'the {role}' for role in self.missing])}"
        return f"{problem} ({listed})" if listed else problem

    @property
    def _free(self) -> list[str]:
        """The columns without a role."""
        return [name for name in self._contents if name not in self.roles.values()]

    def _find_times(self, role: str) -> Iterator[str]:
        """Columns of dates or counts since 1970, then those whose name says that they are times."""
        worded = find_by_words(role, self._free)
        ids = {name for other in ("user", "item") for name in find_by_words(other, self._free)}
        plain = [name for name in self._free if self._contents[name].are_times and name not in self.parts]

        def rank(name: str) -> tuple[bool, bool, bool]:
            contents = self._contents[name]
            return contents.distinct < 2, name not in worded, not contents.are_dates

        yield from sorted((name for name in plain if name in worded or name not in ids), key=rank)
        yield from (name for name in worded if self._may_be(role, name))

    def _find_numbers(self, role: str) -> Iterator[str]:
        """Columns of numbers that may be times, the last first, if enough columns are left for the other roles."""
        if len(self._free) < len(self.missing):
            return
        for name in reversed(self._free):
            is_other = bool(OF_OTHERS & set(split_name(name)))
            if self._contents[name].are_numbers and not is_other and self._may_be(role, name):
                yield name

    def _find_named_ids(self, role: str) -> Iterator[str]:
        """Columns whose name says that they are users, or items."""
        return (name for name in find_by_words(role, self._free) if self._may_be(role, name))

    def _find_other_ids(self, role: str) -> Iterator[str]:
        """Other columns that may be users, or items; those of names for something else last."""
        user = self.roles.get("user")
        for name in sorted(self._free, key=lambda name: bool(OF_OTHERS & set(split_name(name)))):
            if not self._may_be(role, name):
                continue
            if role == "item" and user is not None and self._table.has_one_owner(name, user):
                self._rejected[role][name] = "has values that belong to one user each"
                continue
            yield name

    def _may_be(self, role: str, name: str) -> bool:
        """Whether what a column holds allows a role; if not, the reason is kept."""
        contents = self._contents[name]
        reason = contents.why_no_time() if role == "time" else contents.why_no_id()
        if name in self.parts and (len(self.parts) > 1 or contents.is_enough):
            reason = "holds a part of a date"
        if reason is not None:
            self._rejected[role][name] = reason
        return reason is None


_PEOPLE = ("member", "customer", "client", "visitor", "account")
_THINGS = ("product", "article", "movie", "book", "song", "track")

OF_A_LOG = {
    "user": (*_PEOPLE, "uid", "session", "household", "person", "reviewer", "buyer", "subscriber"),
    "item": (
        *_THINGS,
        *("sku", "iid", "skill", "content", "stockcode", "asin", "isbn", "film", "game", "artist", "video"),
        *("recipe", "business", "venue", "hotel", "listing", "course"),
    ),
    "time": ("date", "datetime", "timestamp", "ts", "day", "created", "added", "when", "at"),
    "removed": ("removed", "left", "end", "until", "deleted"),
    "exposed": ("exposed", "exposure", "recommended", "shown", "campaign"),
}
"""Words of which one stands in the name of a column."""

ENDINGS = ("id", "ids", "no", "nr", "num", "number", "code", "key")
"""What may follow such a word without a break: itemid."""

OF_OTHERS = frozenset(
    re.findall(
        "[a-z]+",
        """
        invoice order transaction basket receipt event type action behavior behaviour
        rating score stars price amount quantity qty count value total discount
        country city region state age gender category brand device channel store
        description name title text review url index row unnamed
        year month week weekday day hour minute second date time
        """,
    )
)
"""Words for what is neither a user nor an item: such a column is guessed last."""

OF_A_TABLE = {
    "user": (*(word + end for word in ("user", *_PEOPLE) for end in ("", "id")), "uid"),
    "item": (*(word + end for word in ("item", *_THINGS) for end in ("", "id")), "sku", "iid"),
    "items": ("items", "itemids", "recommendations"),
    "rank": ("rank", "position", "pos", "place"),
    "score": ("score", "prediction"),
    "held_out": ("heldout",),
    "date": ("date", "validfrom", "day"),
}
"""Whole names, in small letters and without what is neither letter nor digit."""

USUAL_NAMES = {
    "user": OF_A_TABLE["user"],
    "item": OF_A_TABLE["item"],
    "time": (
        *("datetime", "ts", "eventtime", "eventtimestamp", "eventts", "eventdate", "createdat", "occurredat"),
        *("timestampms", "unixtime", "date"),
    ),
}
"""Whole names by which `read_log` takes a column that is not named, in the same spelling."""


def find_columns(source: Any, like: Columns, what: str) -> Columns:
    """The columns of users, items and times of another table: called as in a log, as usual, or nearly so."""
    with open_source(source) as opened:
        return choose_alike(opened.columns, opened.name, like, what)


def choose_alike(columns: Sequence[str], table: str, like: Columns, what: str) -> Columns:
    """The same from the names of all columns of the `table`."""
    chosen: dict[str, str] = {}
    for role, usual in asdict(like).items():
        names = [usual, *DEFAULT_NAMES[role], *find_by_words(role, columns)]
        name = next((n for n in names if n in columns and n not in chosen.values()), None)
        if name is None:
            remedy = f"rename it, or give {option(what)} as a table with columns user, item and time"
            raise missing_column(table, usual, columns, remedy)
        chosen[role] = name
    return Columns(**chosen)


def choose_columns(source: Source, named: dict[str, str | int | None]) -> tuple[Columns, str]:
    """The columns of users, items and times, and what is to be said about those that were guessed."""
    if None not in named.values():
        guesses = {}
    elif source.has_no_names:
        guesses = _guess_columns(source, named)
    else:
        guesses = _find_usual(source.columns, named)
    chosen = {}
    for role, name in named.items():
        usual = (default for default in DEFAULT_NAMES[role] if default in source.columns)
        likely = next(usual, guesses.get(role, DEFAULT_NAMES[role][0]))
        chosen[role] = require_column(source, likely if name is None else name, role)
    if len(set(chosen.values())) < 3:
        raise ColumnError(f"user, item and time must be three different columns, not {', '.join(chosen.values())}")
    if not guesses:
        return Columns(**chosen), ""
    many, columns, roles = len(guesses) > 1, enumerate_words([*guesses.values()]), enumerate_words([*guesses])
    return Columns(**chosen), f"column{'s' * many} {columns} {'are' if many else 'is'} {roles}"


def _find_usual(columns: Sequence[str], named: dict[str, str | int | None]) -> dict[str, str]:
    """Columns with a usual name, such as ``user_id``, for those that were not named; none if several have one."""
    usual = {}
    for role, name in named.items():
        if name is None and not any(default in columns for default in DEFAULT_NAMES[role]):
            candidates = [column for column in columns if shorten_name(column) in USUAL_NAMES[role]]
            if len(candidates) == 1:
                usual[role] = candidates[0]
    return usual


def _guess_columns(source: Source, named: dict[str, str | int | None]) -> dict[str, str]:
    """The columns that were not roles, of files that do not name them either: by what they hold."""
    roles = {role: name for role, name in named.items() if name is not None}
    taken = {role: find_place(source.columns, name) or str(name) for role, name in roles.items()}
    rows = source.sample()
    guessed = guess_by_content(source.columns, rows, taken)
    if guessed is None:
        shown = ", ".join(map(repr, rows[0])) if rows else "nothing"
        example = " ".join(option(role, str(k + 1)) for k, role in enumerate(named))
        raise ColumnError(
            f"{source.name} has no header, and it is not clear which of its columns is which (the first row is "
            f"{shown})",
            remedy=f"number the columns from 1, as in {example}, or name them with {option('column_names')}",
        )
    return {role: name for role, name in guessed.items() if role not in taken}


def require_column(source: Source, name: str | int, role: str) -> str:
    """The name of a column, once it is sure that every file has it and that it is of one kind in all of them."""
    if not isinstance(name, str) and (isinstance(name, bool) or not isinstance(name, int)):
        raise ColumnError(
            f"{option(role)} is {name!r}; it takes the name of a column, or its number", remedy="give one of these"
        )
    name = find_place(source.columns, name) or str(name)
    if name not in source.columns:
        for part in source.parts:
            if part.schema is not None and name in part.schema.names:
                refuse_twins(part, name)
        likely = _find_likely(name, role, source.columns)
        remedy = f"{f'did you mean {likely!r}? Name' if likely else 'name'} the right one with {option(role)}"
        if source.is_in_folders(name):
            remedy = f"its folders are called so; to take that, ask for it with {option(role, name)}"
        if source.has_no_names:
            remedy = f"it has no header: number the columns from 1, or name them with {option('column_names')}"
        raise missing_column(source.name, name, source.columns, remedy)
    for part in source.parts:
        refuse_twins(part, name)
    files = [part for part in source.parts if part.kinds]
    for part in files:
        if name not in part.kinds:
            raise missing_column(part.name, name, part.kinds, "the other files have it")
    if not source.is_text:
        kinds = {family_of(part.kinds[name]): part.name for part in reversed(files)}
        kinds.pop("any", None)
        if len(kinds) > 1:
            listing = " and ".join(f"{kind} in {file}" for kind, file in kinds.items())
            raise ColumnError(f"column {name!r} holds {listing}", remedy="make them the same")
    return name


def _find_likely(name: str, role: str, columns: Sequence[str]) -> str | None:
    """The column that was meant: one of nearly the same name, else one that is often called so."""
    lowered = {str(c).lower(): c for c in columns}
    close = closest(name.lower(), lowered)
    if close is not None:
        return lowered[close]
    return next(iter(find_by_words(role, columns, name.lower())), None)
