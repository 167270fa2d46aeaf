"""What unskew raises and warns about. Everything else in the package imports from here."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from unskew.weights.item_weights import ItemWeights


class UnskewError(Exception):
    """Base of every error that unskew raises on purpose.

    The message says what was wrong, where (column, row, value) and what to do about it; the
    command line prints it as one line and leaves with exit code 2.
    """


class InputError(UnskewError, ValueError):
    """A value, a file or a table that cannot be used as it is."""


class ColumnError(InputError):
    """A column is missing or holds what it should not."""


class TimeError(InputError):
    """A time cannot be read, or does not fit the times of the log."""


class EmptyError(InputError):
    """A log, a snapshot or an evaluation has nothing in it."""


class PolicyError(InputError):
    """Options that contradict each other, or a reference made under other options."""


class FileError(UnskewError, OSError):
    """A file cannot be read or written."""


class UnskewWarning(UserWarning):
    """Base of every warning that unskew gives."""


class ConvergenceWarning(UnskewWarning):
    """The passes ran out before the weights were solved or certified.

    Attributes
    ----------
    reached : ItemWeights
        The result as far as it came; `fit_weights` returns the same object.
    """

    def __init__(self, message: str, reached: ItemWeights) -> None:
        super().__init__(message)
        self.reached = reached
