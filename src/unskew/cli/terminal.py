"""Standard output and standard error: tables and figures for people, JSON for programs, and progress.

What a command computes goes to standard output, and the command fails if it cannot be written. Everything else
goes to standard error, and nothing depends on whether anybody can read it. Either may be closed, full, or not in
UTF-8.
"""

from __future__ import annotations

import codecs
import contextlib
import io
import json
import os
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from unskew.errors import FileError
from unskew.progress import COMPILING, Progress, progress
from unskew.text import escape_controls, to_json_value

if TYPE_CHECKING:
    from rich.console import Console

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


CAUSES = "Recommendations may have moved it, and so may seasons and news: all are part of the item mix."
"""What to say of an item mix that drifted."""


_STEERING = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")  # terminals


def print_json(value: dict[str, Any]) -> None:
    """One JSON object on standard output; a number that JSON does not have becomes null."""
    progress().close()
    with writing():
        plain = not is_utf8(sys.stdout.encoding)
        text = json.dumps(to_json_value(value), ensure_ascii=plain, default=str, allow_nan=False)
        click.echo(_STEERING.sub(lambda result: f"\\u{ord(result[0]):04x}", text))


def print_figures(title: str, figures: Sequence[tuple[str, str, str]]) -> None:
    """A title, then one line for each (name, value, remark)."""
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, 2))
    grid.add_column(justify="left", style="cyan", no_wrap=True)
    grid.add_column(justify="right", no_wrap=True)
    grid.add_column(justify="left", style="dim")
    for name, value, remark in figures:
        grid.add_row(
            Text(escape_controls("  " + name)), Text(escape_controls(value)), Text(escape_controls(remark))
        )
    with writing():
        console = _console()
        console.print(Text(escape_controls(title), style="bold"))
        console.print(grid)


_LEAST_NAME = 11  # to this a first column of text may shrink; others keep their width


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> None:
    """A table; the first `left` columns are text. Where room is short, names are shortened and numbers never."""
    from rich import box
    from rich.cells import cell_len
    from rich.table import Table
    from rich.text import Text

    console = _console()
    rows = [[escape_controls(cell) for cell in row] for row in rows]
    widths = [max([cell_len(name), *(cell_len(row[k]) for row in rows)]) for k, name in enumerate(columns)]
    widths[:left] = [min(width, 44) for width in widths[:left]]
    least = min(widths[0], _LEAST_NAME) if left > 0 else widths[0]
    loose = least + sum(widths[1:]) + 3 * len(columns) <= console.width
    room = console.width - sum(widths[1:]) - (3 if loose else 1) * len(columns)  # for the first column
    if left > 0:
        widths[0] = min(widths[0], max(room, least))
    console.width = max(console.width, sum(widths) + len(columns))  # a line too long is broken by the terminal
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, int(loose)), show_edge=loose)
    for k, name in enumerate(columns):
        side: Any = "left" if k < left else "right"
        table.add_column(name, justify=side, no_wrap=True, overflow="ellipsis", width=widths[k])
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    with writing():
        console.print(table)


def print_line(text: str) -> None:
    """A sentence, wrapped to the terminal; an indented command in one line, so that it can be pasted."""
    from rich.text import Text

    with writing():
        _console().print(Text(escape_controls(text)), soft_wrap=text.startswith("  "))


def print_sentence(text: str) -> None:
    """A sentence that begins with a small letter and has no full stop."""
    print_line(f"{text[0].upper()}{text[1:]}.")


def _console() -> Any:
    from rich import console as rich_console

    class Console(rich_console.Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError  # and not exit code 1: whoever read our output has seen enough

    progress().close()
    console = Console(highlight=False)
    # without a terminal the width is a guess: leave long lines alone instead of cutting them
    return console if console.is_terminal else Console(highlight=False, width=140)


class CountingProgress(Progress):
    """Shows large steps alone, but knows how far the work has come; for output that is not a terminal."""

    def __init__(self) -> None:
        self._text = ""
        self._unit = ""
        self._total = self._done = 0

    def step(self, number: int, total: int, text: str) -> None:
        CountingProgress.stage(self, text)
        tell(f"[{number}/{total}] {text}")

    def stage(self, text: str) -> None:
        self._text, self._total, self._done = text, 0, 0

    def begin(self, text: str, total: int, unit: str) -> None:
        self._text, self._total, self._done, self._unit = text, total, 0, unit

    def advance(self, steps: int) -> None:
        self._done += steps

    def compiling(self) -> None:
        pass

    def reached(self) -> str:
        if self._total:
            return f"{self._text}: {self._done} of {self._total} {self._unit}"
        return self._text


class TerminalProgress(CountingProgress):
    """One line of the terminal that goes away when the work is done; a bar where the end is known."""

    def __init__(self, console: Console | None = None) -> None:
        super().__init__()
        self._console = console
        self._bar: Any = None
        self._bounded = False
        self._step = ""

    def step(self, number: int, total: int, text: str) -> None:
        self._step = f"[{number}/{total}] {text}"
        CountingProgress.stage(self, text)
        self._show("")

    def stage(self, text: str) -> None:
        super().stage(text)
        self._show(text)

    def note(self, text: str) -> None:
        self._show(f"{self._text}: {text}" if self._text else text)

    def begin(self, text: str, total: int, unit: str) -> None:
        super().begin(text, total, unit)
        self.close()  # a rate is of one piece of work
        self._show(text)

    def advance(self, steps: int) -> None:
        super().advance(steps)
        self._show(self._text)

    def compiling(self) -> None:
        self.note(COMPILING)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def _show(self, part: str) -> None:
        text = escape_controls(": ".join(filter(None, (self._step, part))))
        from rich import progress
        from rich.console import Console
        from rich.markup import escape

        if self._bar is not None and bool(self._total) != self._bounded:
            self.close()
        if self._bar is None:
            self._bounded = bool(self._total)
            console = self._console or Console(stderr=True)
            columns: list[Any] = [progress.SpinnerColumn(), progress.TextColumn("{task.description}")]
            if self._bounded:
                columns += [
                    progress.BarColumn(),
                    progress.MofNCompleteColumn(),
                    progress.TextColumn("{task.fields[rate]}"),
                    progress.TimeRemainingColumn(),
                ]
            self._bar = progress.Progress(*columns, console=console, transient=True)
            self._task = self._bar.add_task(escape(text), total=self._total or None, rate="")
            self._bar.start()
        speed = self._bar.tasks[0].speed
        rate = f"{speed:,.0f} {self._unit}/s" if speed else ""
        self._bar.update(
            self._task, description=escape(text), completed=self._done, total=self._total or None, rate=rate
        )
