"""Options that say how to read a file which does not say so itself."""

from __future__ import annotations

from typing import Any

import click

FORMATS = ["csv", "tsv", "json", "parquet", "arrow", "excel", "sqlite", "duckdb"]

FILE_OPTIONS = [
    click.option(
        "--format", type=click.Choice(FORMATS), help="Format of LOG.  [default: by its ending and its first bytes]"
    ),
    click.option(
        "--sep", metavar="TEXT", help="What stands between values: ';', '::', tab, space.  [default: found]"
    ),
    click.option(
        "--header/--no-header",
        default=None,
        help="Whether the first line names the columns; without one they are numbered from 1.  [default: found]",
    ),
    click.option(
        "--columns", "column_names", metavar="A,B,...", help="Names for the columns of a file without a header."
    ),
    click.option("--encoding", metavar="NAME", help="Encoding of text, such as latin-1.  [default: found]"),
    click.option(
        "--quote", metavar="CHAR", help="Quote around values; 'none' if there is none.  [default: found]"
    ),
    click.option(
        "--table", metavar="NAME", help="Table of a database, sheet of a workbook, or file in an archive."
    ),
]
_NAMES = ("format", "sep", "header", "column_names", "encoding", "quote", "table")


def take_file_options(given: dict[str, Any]) -> dict[str, Any]:
    """What of these was said, taken out of the parameters of a command, as `read_log` takes it."""
    mine = {name: given.pop(name) for name in _NAMES}
    return {name: value for name, value in mine.items() if value is not None}
