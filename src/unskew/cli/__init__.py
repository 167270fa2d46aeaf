"""The command line: parse, call, show. Heavy imports happen inside the commands.

- `command_group`: exit codes, errors, warnings and progress of any command
- `option_groups`: options in groups, and help that shows the everyday ones
- `drift_command`, `marginal_command`, `weights_command`, `evaluate_command`, `sample_command`, `timeline_command`,
  `check_command`, `excess_command`, `simulate_command`, `yardstick_command`, `reproduce_command`: one command each
- `doctor_command`: what unskew sees in a file, and what to run next
- `configured_command`: a command that takes what is not given from a file; `configuration`: that file, read and
  checked; `configuration_keys`: what it may say; `configuration_values`: values as options take them;
  `configuration_writing`: the file, written
- `shared_options`: options that commands share; `file_name`: the type of options that name a file
- `log_source`: the log that options describe: where it is, how it is read, and the view that is evaluated
- `known_options`: what users know about recommendations, and the view that it allows
- `report_command`: the page; `command_line`: the command that makes it again
- `evaluate_output`: a report as tables and sentences
- `detect_output`: likely campaigns as a table and as a chart
- `printing`: tables for people and JSON for programs; `item_names`: names of items for these tables
- `terminal_progress`: what a command is doing, on a terminal; `streams`: output that is closed, full or not UTF-8
"""

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
