"""``unskew reproduce``: the paper's figures and claims, from a simulated network."""

from __future__ import annotations

from pathlib import Path

import click

from unskew.cli.option_groups import GroupedCommand, everyday_option, use_options
from unskew.cli.shared_options import show_options
from unskew.cli.terminal import print_json, print_line, print_table
from unskew.errors import InputError, option
from unskew.options import Group


@click.command(cls=GroupedCommand)
@use_options("output", required=True, metavar="DIR", help="Folder to write to.")
@everyday_option(
    "--seed S", "Seed of all random draws.  [default: 0]", Group.WORLD, least=0, meaning="where the draws begin"
)
@everyday_option("--users N", "Number of users.  [default: 34 448, as in the paper]", Group.WORLD)
@everyday_option("--items N", "Number of items.  [default: 35 741, as in the paper]", Group.WORLD)
@everyday_option("--world DIR", "World from 'unskew simulate', instead of a new one.", Group.WORLD, name="folder")
@everyday_option(
    "--seeds N",
    "Number of worlds to check the claims in: this one, and the same with the next seeds.",
    Group.PROTOCOL,
    default=5,
    least=1,
    most=100,
    meaning="in how many worlds the claims are checked",
)
@everyday_option(
    "--every N",
    "Days between points of a curve.",
    Group.OUTPUT,
    default=1,
    least=1,
    meaning="days between points of a curve",
)
@show_options
def reproduce(
    output: str,
    seed: int | None,
    users: int | None,
    items: int | None,
    folder: str | None,
    seeds: int,
    every: int,
    as_json: bool,
) -> None:
    """Reproduce the paper's figures and claims on one page.

    Simulates a network of the paper's size with two campaigns, scores two fixed lists on every day, raw and
    weighted, and writes index.html (the six figures of the paper, four more, and its claims beside ours),
    claims.json, every figure as PNG, SVG and Parquet, and the world.

    \b
    Example:
      unskew reproduce -o paper
    """
    from unskew.reproduction.experiment import check_target, claims_table
    from unskew.reproduction.experiment import reproduce as reproduce_paper
    from unskew.worlds.simulation import simulate
    from unskew.worlds.world import World

    for name, value in (("users", users), ("items", items), ("seed", seed)):
        if folder is not None and value is not None:
            raise InputError(
                f"the world of {option('folder')} has its own {name}", remedy=f"leave out {option(name)}"
            )
    target = Path(output)
    check_target(target)
    world = World.load(folder) if folder else simulate(users=users, items=items, seed=seed or 0)
    reproduction = reproduce_paper(world, seeds=seeds, every=every)
    page = reproduction.save(target)
    if as_json:
        changes, holds = reproduction.changes[0], all(claim.holds for claim in reproduction.claims)
        figures = {"seed": changes.seed, "claims": changes.to_json(), "holds": holds}
        print_json({**figures, "page": str(page.resolve())})
        return
    head, *rows = claims_table(reproduction.claims)
    print_table(head, rows, left=2)
    print_line(f"The page: {page.resolve()}")
