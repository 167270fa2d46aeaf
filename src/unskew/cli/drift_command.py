"""``unskew drift``: what moved between two dates."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from unskew.cli.item_names import read_names
from unskew.cli.printing import points, print_figures, print_json, print_table, times
from unskew.cli.shared_options import (
    LogOptions,
    at_option,
    log_options,
    names_option,
    reference_option,
    show_options,
)
from unskew.text import percent, thousands

if TYPE_CHECKING:
    from unskew.data.snapshot import Snapshot
    from unskew.weights.alignment import Reference
    from unskew.weights.drift import Drift


@click.command()
@log_options
@reference_option
@at_option
@click.option(
    "--top", default=20, show_default=True, type=click.IntRange(min=1), metavar="N", help="How many items to list."
)
@names_option
@show_options
def drift(source: LogOptions, reference: str, at: str, top: int, names: str | None, as_json: bool) -> None:
    """Show which items gained and lost between two dates.

    \b
    Example:
      unskew drift events.parquet --reference 2024-03-01 --at 2024-09-01
    """
    from unskew.weights.drift import drift as find_drift

    log = source.read_view(since=reference, until=at)
    now = source.snapshot(log, at)
    before = source.reference(log, reference)
    found = find_drift(now, before)
    item_names = read_names(names, found.items.slice(0, top))
    if as_json:
        result = found.to_dict(top)
        for row, name in zip(result["top"], item_names or [], strict=False):
            row["name"] = name
        print_json({**result, "view": source.describe_view(log)})
    else:
        source.print_view(log)
        _show(found, now, before, top, item_names)


def _show(found: Drift, now: Snapshot, before: Reference, top: int, item_names: list[str] | None) -> None:
    from unskew.data.snapshot import Snapshot

    figures = []
    if isinstance(before, Snapshot):
        for name, old, new in (
            ("users", before.n_users, now.n_users),
            ("items", before.n_items, now.n_items),
            ("interactions", len(before), len(now)),
        ):
            figures.append((name, f"{thousands(old)} → {thousands(new)}", ""))
    fresh, gone = found.new_items, found.vanished_items
    figures += [
        ("new items", thousands(fresh.count), f"{percent(fresh.mass)} of the mass now"),
        ("vanished items", thousands(gone.count), f"{percent(gone.mass)} of the mass then"),
        (
            "total variation",
            f"{found.bound:.4f}",
            "no constant algorithm's score in [0, 1] can have moved by more",
        ),
        ("worst@5", f"{found.worst(5):.4f}", "nor hit@5 of any constant list of 5 items by more than this"),
        ("divergence", f"{found.divergence:.4f}", "nats"),
    ]
    print_figures(f"Item mix at {found.at} against {found.reference}", figures)
    rows = [
        [
            *([item_names[k]] if item_names else []),
            str(row["item"]),
            percent(row["p_reference"], 3),
            percent(row["p_now"], 3),
            points(row["change"]),
            times(row["p_now"], row["p_reference"]),
        ]
        for k, row in enumerate(found.to_arrow().slice(0, top).to_pylist())
    ]
    head = [*(["name"] if item_names else []), "item", "reference", "now", "points", "ratio"]
    print_table(head, rows, left=2 if item_names else 1)
