"""Standard output and standard error as a command may find them: closed, full, or not in UTF-8.

What is asked for goes to standard output, and the command fails if it cannot be written. What is said besides goes
to standard error, and nothing depends on whether anybody can read it.
"""

from __future__ import annotations

import codecs
import contextlib
import io
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from unskew.errors import FileError
from unskew.text import escape_controls

_PLAIN = {"→": "->", "×": "x", "±": "+-", "−": "-", "–": "-", "…": "...", "≤": "<=", "≥": ">=", "≈": "~"}
"""What stands for a sign that an encoding does not have; others are shown as escapes."""

_IN_PLAIN = "unskew.plain"


def prepare_streams() -> None:
    """Make sure that both can be written to, whatever is in a text."""
    for number in range(3):  # else the first file that is opened gets the number, and what is printed goes into it
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    if sys.stderr is None:
        sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
    codecs.register_error(_IN_PLAIN, _write_plainly)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # UTF-8 too has no sign for a byte of a path that is no text
            stream.reconfigure(errors=_IN_PLAIN)


def is_utf8(encoding: str | None) -> bool:
    """Whether every text can be written in an encoding as it is."""
    try:
        return codecs.lookup(encoding or "ascii").name.startswith("utf")
    except LookupError:
        return False


def tell(text: str) -> None:
    """One line on standard error, if that can be written."""
    with contextlib.suppress(OSError, ValueError):
        click.echo(escape_controls(text), err=True)


@contextlib.contextmanager
def writing() -> Iterator[None]:
    """Whatever cannot be written inside was meant for standard output."""
    if sys.stdout is None:
        raise FileError(
            "cannot write to standard output: it is closed", remedy="send it to a file or to /dev/null"
        )
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise FileError(f"cannot write to standard output: {error.strerror or error}") from None


def discard_output() -> None:
    """Let what is still to be written go nowhere, so that nothing complains when the process ends."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _write_plainly(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end]
    return "".join(
        _PLAIN.get(sign) or sign.encode("ascii", "backslashreplace").decode() for sign in text
    ), error.end
