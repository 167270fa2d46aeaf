"""``unskew simulate``: a log with recommendations in it, and the same without."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from unskew.cli.log_source import LogOptions
from unskew.cli.option_groups import FILE, GroupedCommand, everyday_option, own_option, place, use_options
from unskew.cli.shared_options import base_options, limit_options, show_options
from unskew.cli.terminal import print_figures, print_json, print_line
from unskew.errors import InputError, option
from unskew.options import Group
from unskew.text import thousands
from unskew.worlds.world_names import SUMMARIES

if TYPE_CHECKING:
    from unskew.worlds.recipe import Campaign
    from unskew.worlds.world import World

_HELP = """Simulate a log whose truth is known.

Writes log.parquet, exposures.parquet (the exposure log), truth.parquet (the same world without
recommendations), holdout.parquet (the holdout group), world.json (all parameters) and, for a closed loop,
rounds.parquet (the scores of all candidates at every evaluation).

\b
Examples:
  unskew simulate world
  unskew simulate small --users 2000 --items 800 --holdout 0.1
  unskew simulate small --users 2000 --items 800 --recommender popular
  unskew simulate injected --base events.parquet --campaign-at 2024-06-01
"""


@click.command(cls=GroupedCommand, help=_HELP, lists={"Worlds": SUMMARIES})
@place("seed", group=Group.WORLD, everyday=True)
@click.argument("folder", type=FILE, metavar="DIR")
@everyday_option(
    "--world NAME", "World to simulate; see above.", Group.WORLD, default="paper", choices=tuple(SUMMARIES)
)
@everyday_option("--users N", "Number of users.  [default: that of the world, 34 448]", Group.WORLD)
@everyday_option("--items N", "Number of items.  [default: that of the world, mostly 35 741]", Group.WORLD)
@use_options("seed")
@everyday_option("--base LOG", "Log to inject the campaigns into, instead of simulating one.", Group.WORLD)
@base_options
@everyday_option(
    "--campaign-at T",
    "Date of a campaign; a bare date is the end of that day. Repeatable.",
    Group.CAMPAIGNS,
    name="campaigns",
    several=True,
)
@everyday_option(
    "--recommender SPEC", "Recommender of the campaigns.  [default: item neighbourhoods]", Group.CAMPAIGNS
)
@own_option("--reach SHARE", "Share of users who get a list.  [default: 1]", Group.CAMPAIGNS)
@own_option("--shown N", "Length of a list.  [default: 10]", Group.CAMPAIGNS)
@own_option("--acceptance P", "Mean share of a list that is accepted (less if P is large).", Group.CAMPAIGNS)
@everyday_option(
    "--holdout SHARE", "Share of users in the holdout group, who never see recommendations.", Group.CAMPAIGNS
)
@own_option(
    "--chosen-by",
    "Score that chooses the winner in a closed loop.  [default: raw]",
    Group.CAMPAIGNS,
    choices=("raw", "weighted", "organic"),
)
@limit_options
@show_options
def simulate(folder: str, base: LogOptions | None, as_json: bool, **parameters: Any) -> None:
    """Read the options, make the world, write it and say what it is."""
    from unskew.reading.sources import expand
    from unskew.worlds.simulation import simulate as simulate_world
    from unskew.worlds.world import check_folder

    settings = {name: parameters.pop(name) for name in ("recommender", "reach", "shown", "acceptance")}
    times = parameters.pop("campaigns")
    campaigns = _make_campaigns(parameters["world"], times, settings, is_base=base is not None)
    if not folder:
        raise InputError("the name of the folder is empty", remedy="say where to write, such as 'world'")
    for path in () if base is None else expand(base.path):
        if path.resolve().parent == Path(folder).resolve():
            raise InputError(
                f"{path} of {option('base')} lies in {folder}, where it could be lost",
                remedy="give another folder",
            )
    check_folder(folder)
    log = None if base is None else base.read()
    world = simulate_world(parameters.pop("world"), base=log, campaigns=campaigns, **parameters)
    paths = [str(path) for path in world.save(folder)]
    if as_json:
        print_json({**_summarise(world), "files": paths})
    else:
        _print_world(world, paths, folder)


def _make_campaigns(
    world: str, times: tuple[str, ...], settings: dict[str, Any], *, is_base: bool
) -> list[Campaign] | None:
    """The campaigns of the world with other settings; None if there are none."""
    from unskew.worlds.named_worlds import WORLDS
    from unskew.worlds.recipe import Campaign

    asked = {name: value for name, value in settings.items() if value is not None}
    if not times and not asked:
        return None
    usual = WORLDS[world].campaigns
    if WORLDS[world].loop is not None:
        raise InputError("a closed loop decides its campaigns by itself", remedy="leave out options for them")
    if not times:
        changed, remedy = option(next(iter(asked))), f"say with {option('campaigns')} when to recommend"
        if is_base:
            raise InputError(f"{changed} changes campaigns, but a base log has none", remedy=remedy)
        if not usual:
            raise InputError(f"{changed} changes campaigns, but the world {world!r} has none", remedy=remedy)
        return [replace(campaign, **asked) for campaign in usual]
    like = usual[-1] if usual else Campaign(0)
    return [replace(like, day=time if is_base else _read_day(time), **asked) for time in times]


def _read_day(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise InputError(
            f"{option('campaigns')} {text!r} is not a day of a simulated world", remedy="give a number such as 330"
        ) from None


def _summarise(world: World) -> dict[str, Any]:
    user, item, _ = world.columns
    log = world.tables["log"]
    users = len(log.column(user).unique())
    days: list[Any] = world.campaigns
    if "base" in world.about:  # as its times are written
        days = [campaign["day"] for campaign in world.about["parameters"]["campaigns"]]
    return {
        "world": world.about["world"],
        "seed": world.about["seed"],
        "users": users,
        "items": len(log.column(item).unique()),
        "interactions": len(log),
        "per_user": len(log) / users,
        "truth_interactions": len(world.tables["truth"]),
        "exposures": len(world.exposures),
        "campaigns": days,
        "holdout_users": len(world.holdout),
    }


def _print_world(world: World, paths: list[str], folder: str) -> None:
    summary = _summarise(world)
    when = summary["campaigns"]
    where = f" in {world.about['base']}" if "base" in world.about else ""
    days = ", ".join(map(str, when)) if len(when) <= 4 else f"{len(when)} from {when[0]} to {when[-1]}"
    print_figures(
        f"The world {summary['world']!r}{where}, seed {summary['seed']}",
        [
            ("users", thousands(summary["users"]), ""),
            ("items", thousands(summary["items"]), ""),
            ("interactions", thousands(summary["interactions"]), f"{summary['per_user']:.2f} per user"),
            ("without recommendations", thousands(summary["truth_interactions"]), "the truth"),
            ("recommended", thousands(summary["exposures"]), f"at {days}" if when else "nothing"),
            ("never shown anything", thousands(summary["holdout_users"]), "users"),
        ],
    )
    if world.rounds is not None:
        chosen = [row for row in world.rounds.to_pylist() if row["chosen"] and row["score_of"] == "raw"]
        print_line("In production: " + ", ".join(row["candidate"] for row in chosen))
    print_line(f"Written to {folder}: " + ", ".join(Path(path).name for path in paths))
