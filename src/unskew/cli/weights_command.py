"""``unskew weights``: item weights that undo what moved."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from unskew.cli.shared_options import FILE, LogOptions, item_ids, log_options, show_options

if TYPE_CHECKING:
    from unskew.weights.item_weights import ItemWeights


@click.command()
@log_options
@click.option(
    "--reference", required=True, type=FILE, metavar="T0|FILE", help="Date to compare with, or a saved marginal."
)
@click.option(
    "--at", required=True, metavar="T1", help="Date of the profiles; a bare date is the end of that day."
)
@click.option("--top", type=int, metavar="P", help="Fit only the P items of largest change (descent or lbfgs).")
@click.option("--items", metavar="A,B,...", help="Fit only these items (descent or lbfgs).")
@click.option(
    "--method",
    type=click.Choice(["scaling", "descent", "lbfgs"]),
    help="How to fit.  [default: scaling; descent with --top or --items]",
)
@click.option("--tol", default=1e-4, show_default=True, type=float, help="Tolerance, in score units.")
@click.option("--max-passes", type=int, metavar="N", help="Give up after so many sweeps over the data.")
@click.option(
    "--new-items",
    type=click.Choice(["drop", "keep"]),
    help="What to do with items that T0 lacks.  [default: drop]",
)
@click.option(
    "--min-items", default=1, show_default=True, type=int, help="Only users with so many items, at both dates."
)
@click.option(
    "--users", type=click.Choice(["all", "both"]), default="all", show_default=True, help="Whom to evaluate."
)
@click.option(
    "--show", "listed", default=10, show_default=True, type=click.IntRange(min=0), help="How many items to list."
)
@click.option(
    "--names", type=FILE, metavar="FILE", help="File with the names of items: column item and one of text."
)
@click.option("-o", "--output", type=FILE, metavar="FILE", help="Parquet file to write the weights to.")
@show_options
def weights(
    source: LogOptions,
    reference: str,
    at: str,
    top: int | None,
    items: str | None,
    method: str | None,
    tol: float,
    max_passes: int | None,
    new_items: str | None,
    min_items: int,
    users: str,
    listed: int,
    names: str | None,
    output: str | None,
    as_json: bool,
) -> None:
    """Fit item weights that make the item mix at T1 that of T0.

    Weight the choice of the held-out item with these, and the score of a constant algorithm is
    comparable with its score at T0, up to the bound that is shown. For personalised algorithms
    item weights alone are not enough.

    \b
    Examples:
      unskew weights events.parquet --reference 2024-03-01 --at 2024-09-01 -o weights.parquet
      unskew weights events.parquet --reference march.parquet --at 2024-09-01 --top 20 --method descent
    """
    from unskew.cli.printing import number, print_json, print_line, read_names
    from unskew.weights.fitting import fit_weights

    source.check_outputs(output, inputs=[reference, names])
    log = source.read()
    now = source.snapshot(log, at)
    before = source.reference(log, reference)
    chosen = None if items is None else item_ids(items, log)
    fitted = fit_weights(
        now,
        before,
        top=top,
        items=chosen,
        method=method or ("scaling" if top is None and chosen is None else "descent"),
        tol=tol,
        max_passes=max_passes,
        new_items=new_items,
        min_items=min_items,
        users=users,
    )
    moved = _moved_most(fitted, listed)
    called = read_names(names, fitted.items.take(moved))
    if output is not None:
        fitted.save(output)
    if as_json:
        print_json({**fitted.to_dict(), "output": output})
    else:
        _show(fitted, moved, called)
        if output is not None:
            print_line(f"Weights of {number(len(fitted))} items written to {output}")


def _moved_most(fitted: ItemWeights, n: int) -> Any:
    """Where the n items of largest change are among the items of the weights."""
    import numpy as np

    return np.argsort(-np.abs(fitted.p_before - fitted.p_reference), kind="stable")[:n]


def _show(fitted: ItemWeights, moved: Any, called: list[str] | None) -> None:
    from unskew.cli.printing import number, percent, print_figures, print_line, print_table

    out, out_before = fitted.users_left_out, fitted.users_left_out_reference
    left = (
        ""
        if out.count + out_before.count == 0
        else (f"with {percent(out.mass)} of the users left out now and {percent(out_before.mass)} then")
    )
    low, high = fitted.weight_range
    print_figures(
        f"Item weights at {fitted.at} to the item mix of {fitted.reference}",
        [
            (
                "bound",
                f"{fitted.bound_before:.4f} → {fitted.bound_after:.4f}",
                f"on the score of a constant algorithm {left}",
            ),
            ("worst@5", f"{fitted.worst(5):.4f}", "on hit@5 of a constant list"),
            (
                "least possible",
                f"{fitted.bound_least:.4f}",
                f"distance from the target of any weighting of these profiles ({fitted.residual:.4f} reached)",
            ),
            (
                "divergence",
                f"{fitted.divergence_before:.4f} → {fitted.divergence_after:.4f}",
                f"nats, at most {fitted.gap:.2g} above the least",
            ),
            ("new items", number(fitted.new_items.count), _new(fitted)),
            (
                "vanished items",
                number(fitted.vanished_items.count),
                f"{percent(fitted.vanished_items.mass)} of the mass then",
            ),
            ("users left out", number(out.count), f"{percent(out.mass)} of the users now"),
            ("weights", f"{low:.3g} to {high:.3g}", f"of {number(fitted.fitted)} items"),
            ("status", fitted.status, f"{fitted.passes} passes, {fitted.seconds:.2f} s, {fitted.method}"),
        ],
    )
    print_line(fitted.explanation[0].upper() + fitted.explanation[1:] + ".")
    if len(moved) == 0:
        return
    rows = [
        [
            *([called[n]] if called else []),
            str(fitted.items[int(k)].as_py()),
            percent(fitted.p_reference[k], 3),
            percent(fitted.p_before[k], 3),
            percent(fitted.p_after[k], 3),
            f"{fitted.weights[k]:.3g}",
        ]
        for n, k in enumerate(moved)
    ]
    head = [*(["name"] if called else []), "item", "reference", "before", "after", "weight"]
    print_table(head, rows, left=2 if called else 1)


def _new(fitted: ItemWeights) -> str:
    mass = f"{100 * fitted.new_items.mass:.2f} % of the mass now"
    if fitted.new_items.count == 0:
        return mass
    if fitted.new_items_policy == "drop":
        return mass + ", dropped"
    return mass + ", kept: the bound counts them in full"
