"""``unskew drift``: what moved between two dates, and when it moved in bursts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from unskew.cli.configured_command import ConfiguredCommand
from unskew.cli.log_source import KnownOptions, LogOptions
from unskew.cli.option_groups import everyday_option, use_options
from unskew.cli.shared_options import log_options, read_names, show_options
from unskew.cli.terminal import CAUSES, print_figures, print_json, print_line, print_table
from unskew.errors import InputError, option
from unskew.options import Group
from unskew.text import percent, thousands

if TYPE_CHECKING:
    from unskew.data.log import Log
    from unskew.data.slice import Snapshot
    from unskew.weights.alignment import Reference
    from unskew.weights.bursts import Bursts
    from unskew.weights.drift import Drift


@click.command(cls=ConfiguredCommand)
@log_options
@use_options("reference", "at")
@everyday_option(
    "--detect",
    "Detect bursts in the interactions of known users, which are likely campaigns; needs no dates.",
    Group.COMPARE,
)
@use_options("output", help="Chart of the bursts that --detect detects: .html, .svg or .png.")
@everyday_option(
    "--show N",
    "Number of items to list.",
    Group.OUTPUT,
    name="listed",
    default=20,
    least=1,
    meaning="how many items to list",
)
@use_options("names")
@show_options
def drift(
    source: LogOptions,
    reference: str | None,
    at: str,
    detect: bool,
    output: str | None,
    listed: int,
    names: str | None,
    as_json: bool,
) -> None:
    """Show which items gained and lost between two dates.

    With --detect, also show when the item mix moved in bursts.

    The first line says whether the item mix drifted by more than chance. Seasons and news are part of the item
    mix, as recommendations are.

    \b
    Examples:
      unskew drift events.parquet --reference 2024-03-01 --at 2024-09-01
      unskew drift events.parquet --reference 2024-03-01 --at 2024-09-01 --campaign 2024-05-01: --production knn
      unskew drift events.parquet --detect -o bursts.html
    """
    from unskew.weights.bursts import find_bursts

    _check(source.known, reference, detect, output)
    source.check_outputs(output, inputs=[reference, names], tables=False)
    if detect:
        source.refuse_spark("--detect")
    whole = source.read()
    result: dict[str, Any] = {}
    if reference is not None:
        then, now = source.read_dates(whole, reference, at)
        log = source.take_view(whole, since=then, until=now)
        result = _compare(source, log, then, now, listed, names, as_json)
    if detect:
        bursts = find_bursts(whole)
        result |= {**bursts.to_dict(), "output": output}
        if output is not None:
            _draw(bursts, whole, Path(output))
        if not as_json:
            _print(bursts, whole, names)
            if output is not None:
                print_line(f"Chart written to {output}")
    if as_json:
        print_json(result)


def _check(known: KnownOptions, reference: str | None, detect: bool, output: str | None) -> None:
    at_source = click.get_current_context().get_parameter_source("at")
    if reference is None and (not detect or at_source is ParameterSource.COMMANDLINE):
        other = "" if detect else f", or look for bursts with {option('detect', True)}"
        raise InputError(f"{option('reference')} is missing", remedy=f"give the date to compare with{other}")
    if detect and reference is None and known.is_given:
        raise InputError(
            f"{option('detect')} looks at the log as it is", remedy="leave out what is known about recommendations"
        )
    if output is not None:
        from unskew.drawing.page import check_chart_name

        if not detect:
            raise InputError(f"{option('output')} is the chart of {option('detect')}", remedy="give both")
        check_chart_name(Path(output))


def _compare(
    source: LogOptions, log: Log, reference: Any, at: Any, top: int, names: str | None, as_json: bool
) -> dict[str, Any]:
    """What moved between the two dates; printed, unless it is to be JSON."""
    from unskew.weights.drift import drift as find_drift

    now = source.snapshot(log, at)
    before = source.reference(log, reference)
    moved = find_drift(now, before)
    top = min(top, len(moved))
    item_names = read_names(names, moved.items.slice(0, top))
    if not as_json:
        source.print_view(log)
        _show(moved, now, before, top, item_names)
    result = moved.to_dict(top)
    for row, name in zip(result["top"], item_names or [], strict=False):
        row["name"] = name
    return {**result, "view": source.describe_view(log)}


def _show(moved: Drift, now: Snapshot, before: Reference, top: int, item_names: list[str] | None) -> None:
    from unskew.data.slice import Snapshot
    from unskew.engines.population import is_at_spark

    sizes = []
    if isinstance(before, Snapshot) or is_at_spark(before):
        sizes = [
            ("users", before.n_users, now.n_users),
            ("items", before.n_items, now.n_items),
            ("interactions", len(before), len(now)),
        ]
    fresh, gone, chance = moved.new_items, moved.vanished_items, []
    if moved.chance is not None:
        users = f"{thousands(moved.reference_users or 0)} random users of {moved.at}"
        chance = [("by chance alone", f"{moved.chance.value:.4f}", f"{users}, each with as many items as then")]
    figures = [
        *((name, f"{thousands(old)} → {thousands(new)}", "") for name, old, new in sizes),
        ("new items", thousands(fresh.count), f"{percent(fresh.mass)} of the mass now"),
        ("vanished items", thousands(gone.count), f"{percent(gone.mass)} of the mass then"),
        ("total variation", f"{moved.bound:.4f}", "no score in [0, 1] of a fixed list can have moved by more"),
        *chance,
        ("worst@5", f"{moved.worst(5):.4f}", "nor hit@5 of a fixed list of 5 items by more than this"),
        ("divergence", f"{moved.divergence:.4f}", "nats"),
    ]
    print_line(moved.conclusion)
    if moved.drifted:
        print_line(CAUSES)
    print_figures(f"Item mix at {moved.at} against {moved.reference}", figures)
    rows = [
        [
            *([item_names[k]] if item_names else []),
            str(row["item"]),
            percent(row["p_reference"], 3),
            percent(row["p_now"], 3),
            f"{100 * row['change']:+.3f}",
            _write_ratio(row["p_now"], row["p_reference"]),
        ]
        for k, row in enumerate(moved.to_arrow().slice(0, top).to_pylist())
    ]
    head = [*(["name"] if item_names else []), "item", "reference", "now", "points", "ratio"]
    print_table(head, rows, left=2 if item_names else 1)


def _write_ratio(new: float, old: float) -> str:
    return "new" if old == 0 else "gone" if new == 0 else f"×{new / old:.2f}"


_BEWARE = "Seasons, holidays and news look the same: check them against what you know."


def _print(result: Bursts, log: Log, names: str | None) -> None:
    if not result.bursts:
        print_line(_describe_none(result))
        return
    rows = []
    for burst in result.bursts:
        items = log.items.take(log.items.codes(list(burst.items)))
        labels = read_names(names, items) or [str(item) for item in burst.items]
        figures = [str(burst.window), thousands(burst.takes), f"× {burst.activity:.1f}", percent(burst.excess, 0)]
        rows.append([*figures, ", ".join(labels[:3])])
    print_line("Likely campaigns: known users interacted more than usual, and with other items than usual")
    print_table(["window", "interactions", "activity", "above usual", "above all"], rows)
    flags = " ".join(f"--campaign {window}" for window in result.windows)
    print_line(f"{_BEWARE} How much of them recommendations caused: unskew excess ... {flags} --production auto")
    print_line(f"To drop the interactions in them: {flags}")


def _draw(result: Bursts, log: Log, path: Path) -> None:
    from unskew.drawing.charts import draw_bursts
    from unskew.drawing.page import save_chart

    windows = [{"start": burst.window.first, "end": burst.window.last} for burst in result.bursts]
    chart = draw_bursts(result.cells.to_pylist(), windows, dates=log.axis.is_calendar)
    listed = ", ".join(map(str, result.windows))
    lead = f"{listed}. {_BEWARE}" if result.bursts else _describe_none(result)
    save_chart(chart, path, "Bursts in the log", lead)


def _describe_none(result: Bursts) -> str:
    if result.since is None:
        return "No burst was looked for: too few interactions to tell what is usual."
    return (
        f"No burst was detected since {result.since}. Recommendations that came little by little, or all the "
        "time, make none."
    )
