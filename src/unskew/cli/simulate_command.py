"""``unskew simulate``: a log with recommendations in it, and the same without."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from unskew.cli.printing import print_figures, print_json, print_line
from unskew.cli.shared_options import FILE, LogOptions, show_options
from unskew.errors import InputError
from unskew.text import thousands

if TYPE_CHECKING:
    from unskew.worlds.recipe import Campaign
    from unskew.worlds.world import World

_WORLDS = ("paper", "closed-loop", "always-on", "few-items", "growth", "pre-empting", "quiet")


@click.command()
@click.argument("folder", type=FILE, metavar="DIR")
@click.option(
    "--world", default="paper", show_default=True, type=click.Choice(_WORLDS), help="Which world; see below."
)
@click.option("--users", type=int, metavar="N", help="How many users.  [default: that of the world, 34 448]")
@click.option(
    "--items", type=int, metavar="N", help="How many items.  [default: that of the world, mostly 35 741]"
)
@click.option(
    "--seed", default=0, show_default=True, type=click.IntRange(min=0), help="Seed of everything that is random."
)
@click.option("--base", type=FILE, metavar="LOG", help="Inject the campaigns into this log instead.")
@click.option("--user", metavar="COLUMN", help="Column of users of the base log.  [default: user]")
@click.option("--item", metavar="COLUMN", help="Column of items of the base log.  [default: item]")
@click.option("--time", metavar="COLUMN", help="Column of times of the base log.  [default: time or timestamp]")
@click.option(
    "--time-unit",
    type=click.Choice(["s", "ms", "us", "ns", "day"]),
    help="Read integer times of the base log as so many units since 1970.",
)
@click.option("--drop-nulls", is_flag=True, help="Drop rows of the base log without user, item or time.")
@click.option(
    "--campaign-at",
    "times",
    multiple=True,
    metavar="T",
    help="When to recommend, at the end of a bare date; repeat for several.",
)
@click.option("--recommender", metavar="SPEC", help="What makes the lists.  [default: a neighbourhood model]")
@click.option("--reach", type=float, metavar="SHARE", help="Share of the users who get a list.  [default: 1]")
@click.option("--shown", type=int, metavar="N", help="Length of a list.  [default: 10]")
@click.option(
    "--acceptance", type=float, metavar="P", help="Share of a list that is taken, on average (less if large)."
)
@click.option("--holdout", type=float, metavar="SHARE", help="Share of the users who are never shown anything.")
@click.option(
    "--chosen-by",
    type=click.Choice(["raw", "weighted", "organic"]),
    help="In a closed loop, the score that decides.  [default: raw]",
)
@show_options
def simulate(folder: str, as_json: bool, **given: Any) -> None:
    """Make a log whose truth is known, to try things on.

    Writes log.parquet, exposures.parquet (who was shown what when), truth.parquet (the same world, nothing
    recommended), holdout.parquet (users never shown anything) and world.json (all parameters).

    \b
    Worlds:
      paper        two campaigns, at days 330 and 430; the sizes of the paper
      closed-loop  the winner of each offline evaluation goes into production and shapes the next log
                   (also writes rounds.parquet)
      always-on    no campaigns: a recommender that shows something to a fifth of the users every ten days
      few-items    two campaigns in a catalogue of 200 items
      growth       two campaigns while users keep joining, new items appear and tastes change
      pre-empting  two campaigns that often recommend what users would have taken anyway
      quiet        nothing is recommended

    \b
    Examples:
      unskew simulate world
      unskew simulate small --users 2000 --items 800 --holdout 0.1
      unskew simulate injected --base events.parquet --campaign-at 2024-06-01
    """
    from unskew.worlds.simulation import simulate as simulated
    from unskew.worlds.world import check_folder

    columns = {name: given.pop(name) for name in ("user", "item", "time", "time_unit")}
    base, drop_nulls = given.pop("base"), given.pop("drop_nulls")
    settings = {name: given.pop(name) for name in ("recommender", "reach", "shown", "acceptance")}
    if base is None and any(columns.values()):
        name = next(name for name, value in columns.items() if value)
        raise InputError(f"--{name.replace('_', '-')} is about the log of --base: give both, or neither")
    campaigns = _campaigns(given["world"], given.pop("times"), settings, is_base=base is not None)
    if not folder:
        raise InputError("the name of the folder is empty: say where to write, such as 'world'")
    if base is not None:
        _check_base(base, Path(folder))
    check_folder(folder)
    log = None if base is None else _read(base, columns, drop_nulls=drop_nulls)
    world = simulated(given.pop("world"), base=log, campaigns=campaigns, **given)
    paths = [str(path) for path in world.save(folder)]
    if as_json:
        print_json({**_summary(world), "files": paths})
    else:
        _show(world, paths, folder)


def _read(base: str, columns: dict[str, Any], *, drop_nulls: bool) -> Any:
    return LogOptions(log=(base,), **columns, removed=None, drop_nulls=drop_nulls, p_user=None, p_item=None).read()


def _check_base(base: str, folder: Path) -> None:
    """Refuse to write over a file of the base log."""
    from unskew.reading.sources import expand

    for path in expand(base):
        if path.resolve().parent == folder.resolve():
            raise InputError(f"{path} of --base lies in {folder}, where it could be lost: give another folder")


def _campaigns(
    world: str, times: tuple[str, ...], settings: dict[str, Any], *, is_base: bool
) -> list[Campaign] | None:
    """The campaigns of the world with other settings; None if nothing was asked for."""
    from unskew.worlds.recipe import WORLDS, Campaign

    asked = {name: value for name, value in settings.items() if value is not None}
    if not times and not asked:
        return None
    own = WORLDS[world].campaigns
    if WORLDS[world].loop is not None:
        raise InputError("a closed loop decides its campaigns by itself: leave out what is said about them")
    if not times:
        flag = next(iter(asked))
        if is_base:
            raise InputError(f"--{flag} on a base log: say with --campaign-at when the campaigns are")
        if not own:
            raise InputError(f"--{flag}: the world {world!r} has no campaigns; say with --campaign-at when one is")
        return [replace(campaign, **asked) for campaign in own]
    like = own[-1] if own else Campaign(0)
    return [replace(like, day=time if is_base else _day(time), **asked) for time in times]


def _day(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise InputError(f"--campaign-at {text!r}: in a simulated world give a day such as 330") from None


def _summary(world: World) -> dict[str, Any]:
    user, item, _ = world.columns
    log = world.tables["log"]
    users = len(log.column(user).unique())
    return {
        "world": world.about["world"],
        "seed": world.about["seed"],
        "users": users,
        "items": len(log.column(item).unique()),
        "interactions": len(log),
        "per_user": len(log) / users,
        "truth_interactions": len(world.tables["truth"]),
        "exposures": len(world.exposures),
        "campaigns": _days(world),
        "holdout_users": len(world.holdout),
    }


def _where(world: World) -> str:
    return f" in {world.about['base']}" if "base" in world.about else ""


def _days(world: World) -> list[Any]:
    """The days of the campaigns; in a log of somebody else's as its dates are written."""
    told = world.about["parameters"]["campaigns"]
    return [c["day"] for c in told] if "base" in world.about else world.campaigns


def _show(world: World, paths: list[str], folder: str) -> None:

    told = _summary(world)
    when = told["campaigns"]
    listed = ", ".join(map(str, when)) if len(when) <= 4 else f"{len(when)} from {when[0]} to {when[-1]}"
    print_figures(
        f"The world {told['world']!r}{_where(world)}, seed {told['seed']}",
        [
            ("users", thousands(told["users"]), ""),
            ("items taken", thousands(told["items"]), ""),
            ("interactions", thousands(told["interactions"]), f"{told['per_user']:.2f} a user"),
            ("without recommendations", thousands(told["truth_interactions"]), "the truth"),
            ("recommended", thousands(told["exposures"]), f"at {listed}" if when else "nothing"),
            ("never shown anything", thousands(told["holdout_users"]), "users"),
        ],
    )
    if world.rounds is not None:
        chosen = [row for row in world.rounds.to_pylist() if row["chosen"] and row["score_of"] == "raw"]
        print_line("In production: " + ", ".join(row["candidate"] for row in chosen))
    print_line(f"Written to {folder}: " + ", ".join(Path(path).name for path in paths))
