"""A table of any length on a page: its columns as plain values, which a script shows a window of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

TEXT, SHARE, NUMBER = "text", "share", "number"


@dataclass(frozen=True)
class Column:
    """One column.

    Attributes
    ----------
    title, meaning
        Its head, and what it means in a few words.
    kind
        ``text``, ``share`` (written as a percentage) or ``number``.
    values
        One for each row; None where there is none. Shares and numbers are not negative.
    """

    title: str
    meaning: str
    kind: str
    values: Sequence[Any]

    @property
    def text(self) -> bool:
        """Whether it holds words."""
        return self.kind == TEXT


@dataclass(frozen=True)
class Listing:
    """A table of any length.

    Attributes
    ----------
    label
        What it lists, read to those who cannot see it.
    columns
        Of the same length; rows are shown in their order until one is chosen to sort by.
    search, hint
        Words before the field to search in, and below the table.
    """

    label: str
    columns: Sequence[Column]
    search: str
    hint: str = ""

    def to_dict(self) -> dict[str, Any]:
        """What the script of the page reads; four digits of a number are enough to be looked at."""
        return {
            "kinds": [column.kind for column in self.columns],
            "columns": [
                list(column.values) if column.text else [_round(value) for value in column.values]
                for column in self.columns
            ],
        }


def _round(value: float | None) -> float | None:
    return None if value is None or value != value else float(f"{value:.4g}")  # noqa: PLR0124
