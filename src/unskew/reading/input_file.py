"""A file to be read: where its bytes are, how to speak of it, and how it is to be read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from unskew.errors import ColumnError, EmptyError, option
from unskew.reading.file_options import FileOptions
from unskew.text import count, did_you_mean, enumerate_words

_MOST_NAMES = 12  # that a message lists


@dataclass(frozen=True)
class InputFile:
    """One file of a source.

    Attributes
    ----------
    path
        What is opened: the file itself, or what was unpacked from it.
    name
        How to speak of it.
    options
        How to read it.
    notes
        What was found out about it that it does not say itself, in words: "in latin-1".
    origin
        The file that the user named; its folders may say something.
    """

    path: Path
    name: str
    options: FileOptions = field(default_factory=FileOptions)
    notes: tuple[str, ...] = ()
    origin: Path | None = None

    @property
    def place(self) -> Path:
        """The file that the user named."""
        return self.origin or self.path


def choose_inside(file: InputFile, names: Sequence[str], what: str) -> str:
    """Which of the tables or sheets of a file is read: the one that was asked for, or the only one."""
    wanted = file.options.table
    if not names:
        raise EmptyError(f"{file.name} has no {what}s")
    if wanted is None and len(names) == 1:
        return names[0]
    found = [name for name in names if wanted is not None and name.lower() == wanted.lower()]
    if found:
        return found[0]
    has = f"{file.name} has the {what}{'s' * (len(names) > 1)} {list_names(names)}"
    if wanted is None:
        raise ColumnError(has, remedy=f"choose one with {option('table', names[0])}")
    raise ColumnError(f"{has}, and none is called {wanted!r}{did_you_mean(wanted, names)}")


def list_names(names: Sequence[str]) -> str:
    """Some names for a message, in quotes."""
    shown = [repr(name) for name in names[:_MOST_NAMES]]
    return enumerate_words([*shown, *([f"{len(names) - len(shown)} more"] * (len(names) > len(shown)))])


def name_columns(file: InputFile, first: Sequence[str], *, header: bool) -> tuple[str, ...]:
    """What columns are called: as asked for, as the first row says, or by number from 1."""
    given = file.options.column_names
    if given is not None:
        if len(given) != len(first):
            raise ColumnError(
                f"{file.name} has {count(len(first), 'column')}, and {option('column_names')} names {len(given)}",
                remedy=f"name each, or say with {option('sep')} what stands between them",
            )
        return given
    if not header:
        return tuple(str(k + 1) for k in range(len(first)))
    names = [name.strip() for name in first]
    twice = next((n for n in names if n and names.count(n) > 1), None)
    if twice is not None:
        raise ColumnError(
            f"{file.name} has two columns {twice!r} in its first line, which must name the columns",
            remedy=f"rename one of them, or say {option('header', False)} if that line is a row",
        )
    return _tell_apart(names)


def _tell_apart(names: list[str]) -> tuple[str, ...]:
    """Names that differ even without regard to case, which SQL does not tell; a column without a name gets one."""
    taken: set[str] = set()
    columns = []
    for k, name in enumerate(names):
        shown = name or f"column {k + 1}"
        while shown.lower() in taken:
            shown += "_"
        taken.add(shown.lower())
        columns.append(shown)
    return tuple(columns)
