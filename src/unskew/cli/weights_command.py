"""``unskew weights``: item weights that undo what moved."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from unskew.cli.configured_command import ConfiguredCommand
from unskew.cli.log_source import LogOptions
from unskew.cli.option_groups import own_option, place, use_options
from unskew.cli.shared_options import FitChoice, fit_options, log_options, read_names, show_options
from unskew.cli.terminal import print_figures, print_json, print_line, print_sentence, print_table
from unskew.options import Group
from unskew.show.report_words import describe_held_out
from unskew.text import percent, thousands

if TYPE_CHECKING:
    from unskew.weights.item_weights import ItemWeights


@click.command(cls=ConfiguredCommand)
@place("top", "method", everyday=True)
@log_options
@use_options("reference", required=True)
@use_options("at", "after", "leave_last_out", "min_items")
@fit_options
@own_option(
    "--show N",
    "Number of items to list.",
    Group.OUTPUT,
    name="listed",
    default=10,
    least=0,
    meaning="how many items to list",
)
@use_options("names")
@use_options("output", help="Parquet file to write the weights to; CSV if it ends in .csv.")
@show_options
def weights(
    source: LogOptions,
    fit: FitChoice,
    reference: str,
    at: str,
    after: str | None,
    leave_last_out: bool,
    min_items: int,
    listed: int,
    names: str | None,
    output: str | None,
    as_json: bool,
) -> None:
    """Fit item weights that restore the item mix of T0.

    If the held-out item of each profile is chosen with these weights, the score of a fixed list is comparable
    with its score at T0, up to the bound that is shown. For personalised recommenders item weights alone are not
    enough.

    \b
    Examples:
      unskew weights events.parquet --reference 2024-03-01 --at 2024-09-01 -o weights.parquet
      unskew weights events.parquet --reference 2024-03-01 --at 2024-09-01 --after 2024-08-01 -o weights.parquet
      unskew weights events.parquet --reference march.parquet --at 2024-09-01 --top 20 --method descent
      unskew weights events.parquet --reference 2024-03-01 --at 2024-09-01 --margin column:price_band
      unskew weights events.parquet --reference 2024-03-01 --at 2024-09-01 --campaign 2024-05-01: --production knn
    """
    from unskew.data.held_out import SplitRule
    from unskew.weights.fit_weights import fit_weights

    SplitRule(after, leave_last_out, min_items)  # refuse both at once before the log is read
    source.check_outputs(output, inputs=[reference, names])
    if output is not None:
        fit.check_savable()
    whole = source.read(labels=fit.labels)
    start, end = source.read_dates(whole, reference, at)
    log = source.take_view(whole, since=start, until=end)
    now = source.snapshot(log, end)
    before = source.reference(log, start)
    chosen = fit.keywords(log, min_items=min_items)
    fitted = fit_weights(now, before, after=after, leave_last_out=leave_last_out, **chosen)
    moved = (-abs(fitted.p_before - fitted.p_reference)).argsort(kind="stable")[:listed]
    item_names = read_names(names, fitted.items.take(moved))
    if output is not None:
        fitted.save(output)
    if as_json:
        print_json({**fitted.to_dict(), "output": output, "view": source.describe_view(log)})
    else:
        source.print_view(log)
        _show(fitted, moved, item_names)
        if output is not None:
            print_line(f"Weights of {thousands(len(fitted))} items written to {output}")


def _show(fitted: ItemWeights, moved: Any, item_names: list[str] | None) -> None:
    from unskew.weights.fit_report import explain_range

    r, gone = fitted.report, fitted.report.vanished_items
    now, then = r.users_excluded, r.users_excluded_reference
    excluded = f"with {percent(now.mass)} of the users excluded now and {percent(then.mass)} then"
    scope = f"on the score of a fixed list {excluded if now.count + then.count else ''}"
    new = f"{100 * r.new_items.mass:.2f} % of the mass now"
    if r.new_items.count:
        new += ", dropped" if fitted.options.new_items == "drop" else ", kept: the bound counts them in full"
    least = f"smallest distance from the target that any weighting can reach (this one: {r.residual:.4f})"
    distance = f"nats, at most {r.gap:.2g} above the least"
    print_figures(
        f"Item weights at {fitted.at} to the item mix of {fitted.reference}",
        [
            ("bound", f"{r.bound_before:.4f} → {fitted.bound:.4f}", scope),
            ("worst@5", f"{fitted.worst(5):.4f}", "on hit@5 of a fixed list"),
            ("least possible", f"{r.bound_least:.4f}", least),
            ("divergence", f"{r.divergence_before:.4f} → {fitted.divergence:.4f}", distance),
            ("new items", thousands(r.new_items.count), new),
            ("vanished items", thousands(gone.count), f"{percent(gone.mass)} of the mass then"),
            ("users excluded", thousands(now.count), f"{percent(now.mass)} of the users now"),
            ("weights", thousands(r.fitted), f"items: {explain_range(fitted.weights[fitted.weights > 0])}"),
            *(
                (
                    f"margin {margin.name}",
                    f"{margin.bound_before:.4f} → {margin.bound:.4f}",
                    f"distance of the mix of {margin.groups} groups from that of then (least possible: "
                    f"{margin.bound_least:.4f}, this one: {margin.residual:.4f})",
                )
                for margin in r.margins
            ),
            ("status", fitted.status, f"{r.passes} passes, {r.seconds:.2f} s, {fitted.options.method}"),
        ],
    )
    held = describe_held_out(
        fitted.policy.protocol, fitted.at, fitted.after, fitted.reference, fitted.reference_after
    )
    if held:
        print_line(held)
    print_sentence(fitted.explanation)
    if len(moved) == 0:
        return
    rows = [
        [
            *([item_names[n]] if item_names else []),
            str(fitted.items[int(k)].as_py()),
            percent(fitted.p_reference[k], 3),
            percent(fitted.p_before[k], 3),
            percent(fitted.p_after[k], 3),
            _show_weight(float(fitted.weights[k])),
        ]
        for n, k in enumerate(moved)
    ]
    head = [*(["name"] if item_names else []), "item", "reference", "before", "after", "weight"]
    print_table(head, rows, left=2 if item_names else 1)


def _show_weight(weight: float) -> str:
    """A weight; one that decides alone as what it means."""
    from unskew.weights.fit_report import EXTREME

    if 0 < weight < 1 / EXTREME:
        return "only alone"
    return "always" if weight > EXTREME else f"{weight:.3g}"
