"""The command line: parse, call, show. Heavy imports happen inside the commands."""

from __future__ import annotations

import click

from unskew import __version__
from unskew.cli.check_command import check
from unskew.cli.command_group import CommandGroup, debug_option
from unskew.cli.doctor_command import doctor
from unskew.cli.drift_command import drift
from unskew.cli.evaluate_command import evaluate
from unskew.cli.excess_command import excess
from unskew.cli.marginal_command import marginal
from unskew.cli.report_command import report
from unskew.cli.reproduce_command import reproduce
from unskew.cli.sample_command import sample
from unskew.cli.simulate_command import simulate
from unskew.cli.timeline_command import timeline
from unskew.cli.weights_command import weights
from unskew.cli.yardstick_command import yardstick


@click.group(
    cls=CommandGroup,
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


main.add_section("Everyday commands", (doctor, evaluate, report, check, timeline))
main.add_section("Building blocks", (drift, weights, marginal, sample, excess))
main.add_section("Research", (simulate, yardstick, reproduce))
