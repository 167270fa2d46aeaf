"""Tables and figures for people, and JSON for programs."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from typing import Any

import click

from unskew.cli.streams import is_utf8, writing
from unskew.progress import progress
from unskew.text import escape_controls, to_json_value

CAUSES = "Recommendations may have moved it, and so may seasons and news: all are part of the item mix."
"""What to say of an item mix that drifted."""


_STEERING = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")  # terminals


def print_json(value: dict[str, Any]) -> None:
    """One JSON object on standard output; a number that JSON does not have becomes null."""
    progress().close()
    with writing():
        plain = not is_utf8(sys.stdout.encoding)
        text = json.dumps(to_json_value(value), ensure_ascii=plain, default=str, allow_nan=False)
        click.echo(_STEERING.sub(lambda found: f"\\u{ord(found[0]):04x}", text))


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
    """A sentence, wrapped to the terminal."""
    from rich.text import Text

    with writing():
        _console().print(Text(escape_controls(text)))


def print_command(text: str) -> None:
    """A command in one line however long, so that it can be pasted."""
    from rich.text import Text

    with writing():
        _console().print(Text(escape_controls(text)), soft_wrap=True)


def points(change: float) -> str:
    """A change of a probability, in percentage points."""
    return f"{100 * change:+.3f}"


def times(new: float, old: float) -> str:
    """How many times as much."""
    if old == 0:
        return "new"
    return "gone" if new == 0 else f"×{new / old:.2f}"


def _console() -> Any:
    from rich import console as rich_console

    class Console(rich_console.Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError  # and not exit code 1: whoever read our output has seen enough

    progress().close()
    console = Console(highlight=False)
    # without a terminal the width is a guess: leave long lines alone instead of cutting them
    return console if console.is_terminal else Console(highlight=False, width=140)
