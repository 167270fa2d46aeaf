"""The command line: parse, call, show. Heavy imports happen inside the commands."""

from __future__ import annotations

import click

from unskew import __version__
from unskew.cli.command_group import CommandGroup, debug_option

SECTIONS = {
    "Everyday commands": ("doctor", "evaluate", "report", "check", "timeline"),
    "Building blocks": ("drift", "weights", "marginal", "sample", "excess"),
    "Research": ("simulate", "yardstick", "reproduce"),
}
"""The commands, as the help of all shows them; each is in a file of its name."""


@click.group(
    cls=CommandGroup,
    sections=SECTIONS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog="Start with 'unskew doctor LOG': a table of users, items and times is all it needs. "
    "'unskew COMMAND --help' shows the everyday options of a command, 'unskew COMMAND --help-all' all of them.",
)
@click.version_option(__version__, prog_name="unskew")
@debug_option
def main() -> None:
    """Make offline scores of recommender systems comparable over time.

    Recommendations and promotions fill the log with the items that they push, and an offline score
    computed on that log then rewards whatever agrees with them. unskew re-weights which item of each
    profile is held out, so that the item mix of today is that of a reference date.
    """
