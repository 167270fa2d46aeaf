"""Options that say how to read a file which does not say so itself."""

from __future__ import annotations

from typing import Any

import click

from unskew.cli.option_groups import Group, grouped_option

FORMATS = ["csv", "tsv", "json", "parquet", "arrow", "excel", "sqlite", "duckdb"]

FILE_OPTIONS = [
    grouped_option(
        "--format", type=click.Choice(FORMATS), group=Group.READING, help="Format of LOG.  [default: detected]"
    ),
    grouped_option(
        "--sep",
        metavar="TEXT",
        group=Group.READING,
        help="Separator of values: ';', '::', tab, space.  [default: detected]",
    ),
    grouped_option(
        "--header/--no-header",
        default=None,
        group=Group.READING,
        help="Whether the first line names the columns; if not, columns are numbered from 1.  [default: detected]",
    ),
    grouped_option(
        "--columns",
        "column_names",
        metavar="A,B,...",
        group=Group.READING,
        help="Column names of a file without a header.",
    ),
    grouped_option(
        "--encoding",
        metavar="NAME",
        group=Group.READING,
        help="Text encoding, such as latin-1.  [default: detected]",
    ),
    grouped_option(
        "--quote", metavar="CHAR", group=Group.READING, help="Quote around values, or 'none'.  [default: detected]"
    ),
    grouped_option(
        "--table",
        metavar="NAME",
        group=Group.READING,
        help="Table of a database, sheet of a workbook, or file in an archive.",
    ),
]
_NAMES = ("format", "sep", "header", "column_names", "encoding", "quote", "table")


def take_file_options(given: dict[str, Any]) -> dict[str, Any]:
    """What of these was said, taken out of the parameters of a command, as `read_log` takes it."""
    mine = {name: given.pop(name) for name in _NAMES}
    return {name: value for name, value in mine.items() if value is not None}
