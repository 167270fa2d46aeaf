"""What columns hold, as far as it says which of them can be users, items or times.

Names of columns mislead: an invoice number is no item, a day of the month no time. Counts of distinct values over
the first rows of a table tell them apart.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import duckdb

from unskew.data.date_grammar import parse_compact_date, parse_time
from unskew.data.time_steps import find_epoch_unit
from unskew.data.times import PER_SECOND
from unskew.reading.column_types import is_missing
from unskew.reading.sources import Source
from unskew.reading.sql import quote_name
from unskew.reading.text_sniffing import classify

_ROWS = 200_000  # that are counted
_ENOUGH = 50  # values, before a count of distinct ones says anything
_NEARLY_ALL = 0.99
_FEW = 12  # distinct values or less: kinds of events, ratings, months
_FEW_TIMES = 31  # distinct numbers or less: days of a month, hours
_LONG = 200  # characters on average: a review and no id
_LONGEST_SPAN = (
    60 * 365.25 * 86400
)  # seconds: whole numbers in the range of times are more likely ids if they span more
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
    """The values of a column in the first rows of a table.

    Attributes
    ----------
    values, distinct
        How many there are, missing ones aside, and how many different ones.
    sample
        Some of them as texts.
    """

    values: int
    distinct: int
    sample: tuple[str, ...]

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
        return bool(self.written_values) and all(
            parse_time(text) is not None or classify(text) == "time" for text in self.written_values
        )

    @property
    def are_times(self) -> bool:
        """Whether all values are dates (or 20130601), or count since 1970 and span less than 60 years."""
        if not self.written_values:
            return False
        if self.are_dates:
            return True
        if not all(_PLAIN.fullmatch(text) for text in self.written_values):
            return False
        if all(parse_compact_date(text) for text in self.written_values):
            return True
        numbers = [float(text) for text in self.written_values]
        unit = find_epoch_unit(min(numbers), max(numbers))
        return unit is not None and max(numbers) - min(numbers) <= _LONGEST_SPAN * PER_SECOND[unit]

    def part_of_date(self, words: set[str]) -> str | None:
        """The part of a date that a column of such a name and such numbers is: ``day``, ``month``; else None."""
        part = next((part for part in _PARTS if part in words), None)
        if part is None or not all(_WHOLE.fullmatch(text) for text in self.written_values):
            return None
        least, most = _PARTS[part]
        return part if all(least <= float(text) <= most for text in self.written_values) else None

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
        samples = {name: tuple(row[k] for row in rows) for k, name in enumerate(names)}
        try:
            values = self._count([f"count(*) FILTER (NOT {is_missing(name)})" for name in names])
            distinct = self._count([f"count(DISTINCT {quote_name(name)}::VARCHAR)" for name in names])
        except duckdb.Error:  # two names that differ in case alone, a damaged row: whoever reads the table says so
            values = [len(texts) for texts in samples.values()]
            distinct = [len(set(texts)) for texts in samples.values()]
        self.columns: Mapping[str, Contents] = {
            name: Contents(values[k], distinct[k], samples[name]) for k, name in enumerate(names)
        }

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
        return [int(count) for count in self._source.connection.execute(query).fetchall()[0]]
