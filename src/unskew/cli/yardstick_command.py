"""``unskew yardstick``: every method against worlds whose truth is known."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from unskew.cli.log_source import LogOptions
from unskew.cli.option_groups import FILE, GroupedCommand, everyday_option, own_option, use_options
from unskew.cli.shared_options import base_options, limit_options, show_options
from unskew.cli.terminal import print_json, print_line, print_table
from unskew.errors import InputError
from unskew.known_truths.case_names import CHOOSING, INJECTED, REPORTING, SUMMARIES
from unskew.options import Group
from unskew.text import count, enumerate_words

if TYPE_CHECKING:
    from unskew.known_truths.yardstick_result import Yardstick

_HELP = f"""Compare all methods in worlds whose truth is known.

Scores recommenders in each WORLD (by default in all of them) with every method for which enough is known there,
and compares each score with the truth of its own question. DIR is a folder that 'unskew simulate' wrote. -o DIR
writes a page, the tables and a file for each world and seed, so that --resume can continue after an interruption.
The seeds {REPORTING[0]} to {REPORTING[-1]} are for reporting; choose methods and parameters on others,
{CHOOSING[0]} to {CHOOSING[-1]}.

\b
Examples:
  unskew yardstick paper --seeds 2 --users 2000 --items 800
  unskew yardstick -o yardstick --base events.parquet --user member --item skill --time added_at
  unskew yardstick world -r popular -r cosine --method 'item weights' --method organic --json
"""

_WORLDS = {**SUMMARIES, INJECTED: "the paper's campaigns in the log of --base"}


@click.command(cls=GroupedCommand, help=_HELP, lists={"Worlds": _WORLDS})
@click.argument("worlds", nargs=-1, type=FILE, metavar="[WORLD|DIR]...")
@own_option(
    "--seed S",
    "Seed of the worlds. Repeatable.",
    Group.WORLD,
    name="given_seeds",
    several=True,
    least=0,
    meaning="where the draws begin",
)
@everyday_option(
    "--seeds N",
    f"Number of seeds, from {REPORTING[0]} on.  [default: {len(REPORTING)}]",
    Group.WORLD,
    least=1,
    most=100,
    meaning="how many seeds",
)
@everyday_option("--users N", "Number of users.", Group.WORLD, default=6000)
@everyday_option("--items N", "Number of items.", Group.WORLD, default=2000)
@everyday_option(
    "--method NAME", "Method to run. Repeatable.  [default: all]", Group.COMPARE, name="methods", several=True
)
@use_options(
    "recommenders",
    help="Recommender to score; g1 and g2 are fixed lists of items recommended most and "
    "least. Repeatable.  [default: g1, g2, popular, cosine, co-occurrence, ease, als]",
)
@everyday_option(
    "-m, --metric NAME",
    "hit@k, mrr@k, ndcg@k or rbp@k. Repeatable.",
    Group.COMPARE,
    several=True,
    default=("hit@5",),
)
@own_option("--folds K", "Folds of recommenders that need cross-fitting.", Group.PROTOCOL, default=5)
@own_option(
    "--truth-seeds N",
    "Draws of other users with the same items, to average the truth over.",
    Group.PROTOCOL,
    default=10,
)
@own_option("--base LOG", "Also inject campaigns into this log.", Group.WORLD)
@base_options
@use_options("output", metavar="DIR", help="Folder for the page, the tables and single cases.")
@everyday_option("--resume", "Continue the folder of -o: compute only missing cases.", Group.OUTPUT)
@limit_options
@show_options
def yardstick(
    worlds: tuple[str, ...],
    given_seeds: tuple[int, ...],
    seeds: int | None,
    methods: tuple[str, ...],
    recommenders: tuple[str, ...],
    base: LogOptions | None,
    output: str | None,
    as_json: bool,
    **parameters: Any,
) -> None:
    """Read the options, score the worlds, and show the errors."""
    from unskew.known_truths.yardstick_run import YardstickFolder
    from unskew.known_truths.yardstick_run import yardstick as measure

    if given_seeds and seeds is not None:
        raise InputError("--seed names seeds, and --seeds counts them", remedy="give one of them")
    YardstickFolder.of(output, resume=parameters["resume"])
    result = measure(
        worlds or None,
        seeds=given_seeds or range(REPORTING[0], REPORTING[0] + (seeds or len(REPORTING))),
        methods=methods or None,
        recommenders=recommenders or None,
        base=None if base is None else base.read(),
        output=output,
        **parameters,
    )
    if as_json:
        print_json(result.to_dict())
    else:
        _show(result, output)


def _show(result: Yardstick, output: str | None) -> None:
    from unskew.known_truths.yardstick_page import describe_worlds_used, tabulate_profiles, tabulate_worlds

    print_line(
        "The worlds: organic interactions a day until t0, in the 60 days before t0 and after t0; of the "
        "interactions in the campaign windows, those that followed an exposure and those that recommendations "
        "caused"
    )
    head, *rows = tabulate_profiles(result.worlds.to_pylist())
    print_table(head, rows, left=2)
    print_line(describe_worlds_used(result))
    for tables in tabulate_worlds(result):
        print_line(f"{tables.world}, {tables.metric}: error of the score against the truth of its own question")
        head, *rows = ([knows, method, *cells] for method, knows, *cells in tables.errors)
        print_table(head, rows, left=2)
    seeds = enumerate_words([str(seed) for seed in result.seeds])
    print_line(
        f"Mean over seeds {seeds} ± standard error. tau: Kendall's, with the true order "
        "of recommenders; regret: what choosing by the method loses of the best true score; gains: true "
        "improvements since the reference date that are seen; false: improvements seen that are none; covered: "
        "intervals that hold the mean truth."
    )
    if output is not None:
        print_line(f"Written to {Path(output) / 'index.html'} ({count(result.computed, 'case')} computed)")
