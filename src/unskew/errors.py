"""What unskew raises and warns about. Everything else in the package imports from here, but for `unskew.text`.

A message says what was wrong and where; its `remedy` says what to do about it. Where either names an option, it
does so with `option`, so that Python users read ``users='both'`` and those of the command line ``--users both``;
likewise `function`, for ``fit_weights()`` and ``unskew weights``.
"""

from __future__ import annotations

import ast
import re
import sys
import warnings
from collections.abc import Callable, Iterable
from typing import Any, Self

from unskew.text import escape_controls, hide_secrets, shorten_line, shorten_quotes

_MOST_COLUMNS = 20  # that a message lists
_MOST_CHARACTERS = 2500  # of a message, whatever it has in it

_BEGIN, _BETWEEN, _END = (
    "\ue000",
    "\ue001",
    "\ue002",
)  # of an option within a message
_OPTION = re.compile(f"{_BEGIN}([\\w.()]+){_BETWEEN}([^{_END}]*){_END}")

NameOption = Callable[[str, Any], str]
"""How an option is written, from its name in Python and a value for it or None."""


def option(name: str, value: Any = None) -> str:
    """An option inside a message, with a value to give it if that matters.

    >>> str(PolicyError(f"leave out {option('top')}, or use {option('method', 'descent')}"))
    "leave out top, or use method='descent'"
    """
    return f"{_BEGIN}{name}{_BETWEEN}{'' if value is None else repr(value)}{_END}"


def function(name: str) -> str:
    """A function inside a message; those of the command line read the name of the command that does the same.

    >>> str(InputError("log.csv is not a file of item weights", remedy=f"make one with {function('fit_weights')}"))
    'log.csv is not a file of item weights: make one with fit_weights()'
    """
    return option(f"{name}()")


def name_in_python(name: str, value: Any) -> str:
    """An option as a keyword argument."""
    return name if value is None else f"{name}={value!r}"


def render(text: str, name_option: NameOption = name_in_python) -> str:
    """A message in one line, with its options written in one way or another."""

    def write(found: re.Match[str]) -> str:
        try:
            return name_option(found[1], ast.literal_eval(found[2]) if found[2] else None)
        except (ValueError, SyntaxError, MemoryError, RecursionError):  # an id that has these signs in it
            return f"{found[1]}={found[2]}"

    return shorten_line(shorten_quotes(hide_secrets(escape_controls(_OPTION.sub(write, text)))), _MOST_CHARACTERS)


class Message(BaseException):
    """What is raised or warned about with a message that may name options."""

    def __str__(self) -> str:
        return self.render()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"

    def render(self, name_option: NameOption = name_in_python) -> str:
        """The whole message, its options written in one way or another."""
        return render(str(self.args[0]) if self.args else "", name_option)


class UnskewError(Message, Exception):
    """Base of every error that unskew raises on purpose.

    The message says what was wrong and where (column, row, value), the remedy what to do about it; the command
    line prints both as one line and exits with code 2.

    Attributes
    ----------
    message, remedy
        The two parts, as they were given; `remedy` may be empty.
    """

    def __init__(self, message: str = "", *, remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy

    def render(self, name_option: NameOption = name_in_python) -> str:
        """The whole message, its options written in one way or another."""
        return render(f"{self.message}: {self.remedy}" if self.remedy else self.message, name_option)

    def with_context(self, context: str) -> Self:
        """The same error with a few words in front that say where the work was."""
        return type(self)(f"{context}: {self.message}", remedy=self.remedy)


class InputError(UnskewError, ValueError):
    """A value, a file or a table that cannot be used as it is."""


class ColumnError(InputError):
    """A column is missing or holds what it should not."""


class MissingColumnError(ColumnError):
    """A table has other columns than the one that is wanted."""


def missing_column(where: str, name: str, have: Iterable[str], remedy: str) -> MissingColumnError:
    """The error about a table that has other columns than the one that is wanted."""
    names = list(have)
    listed = ", ".join(map(repr, names[:_MOST_COLUMNS])) or "no columns"
    columns = listed + (f" and {len(names) - _MOST_COLUMNS} more" if len(names) > _MOST_COLUMNS else "")
    return MissingColumnError(f"{where} has no column {name!r}; it has {columns}", remedy=remedy)


class TimeError(InputError):
    """A time cannot be read, or does not fit the times of the log."""


class EmptyError(InputError):
    """A log, a snapshot or an evaluation has nothing in it."""


class PolicyError(InputError):
    """Options that contradict each other, or a reference made under other options."""


class FileError(UnskewError, OSError):
    """A file cannot be read or written."""


class EngineError(UnskewError, RuntimeError):
    """A cluster cannot be reached, was lost, or cannot do what is asked of it."""


class UnskewWarning(Message, UserWarning):
    """Base of every warning that unskew gives; its message may name options, as that of an error does."""


class Notice(UnskewWarning):
    """Nothing is wrong, but somebody should know; the command line prints it on standard error."""


class CostNotice(Notice):
    """About how long the work ahead will take, and whether pairs are drawn because of it."""


class ReadingNotice(Notice):
    """What a file was taken for, where it does not say so itself."""


_PASSED = ("unskew", "contextlib", "functools")
"""Packages whose lines no warning points at: ours, and what stands between ours."""


def warn(message: str | UnskewWarning, category: type[UnskewWarning] = UnskewWarning) -> None:
    """Warn at the line outside of this package that called it."""
    level, frame = 2, sys._getframe(1)
    while frame.f_globals.get("__name__", "").partition(".")[0] in _PASSED and frame.f_back is not None:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


class Interruption(Message, KeyboardInterrupt):
    """The work was interrupted; the message says what is left behind, and may name options."""


class ConvergenceWarning(UnskewWarning):
    """The passes ran out before the weights were solved or certified.

    Attributes
    ----------
    reached : ItemWeights
        What was reached by then; `fit_weights` returns the same object.
    """

    def __init__(self, message: str, reached: Any) -> None:
        super().__init__(message)
        self.reached = reached

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (*self.args, self.reached)
