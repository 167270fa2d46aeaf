"""``unskew sample``: a debiased test set for any framework."""

from __future__ import annotations

from typing import Any

import click

from unskew.cli.configured_command import ConfiguredCommand
from unskew.cli.log_source import LogOptions
from unskew.cli.option_groups import everyday_option, use_options
from unskew.cli.shared_options import log_options, show_options
from unskew.cli.terminal import print_json, print_line
from unskew.options import Group
from unskew.show.report_words import describe_below_min_items, describe_held_out, describe_without_profile
from unskew.text import percent, thousands


@click.command(cls=ConfiguredCommand)
@log_options
@use_options("at")
@everyday_option(
    "--weights FILE", "Weights from 'unskew weights'.  [default: an unweighted sample]", Group.COMPARE
)
@everyday_option("-n N", "Number of held-out interactions to draw.", Group.PROTOCOL, name="sample", default=20_000)
@use_options("seed", "after", "leave_last_out", "min_items")
@use_options("output", required=True, help="Parquet file to write; CSV if it ends in .csv.")
@show_options
def sample(source: LogOptions, at: str, weights: str | None, output: str, as_json: bool, **selection: Any) -> None:
    """Draw a test set with item weights, for use in any library.

    Each row is a draw: user, item (held out), probability, profile (a list of the other items, or with --after of
    the items at that time). The mean of any metric over the rows estimates the weighted score.

    \b
    Examples:
      unskew sample events.parquet --at 2024-09-01 --weights weights.parquet -n 20000 -o test.parquet
      unskew sample events.parquet --at 2024-09-01 --after 2024-08-01 -o test.parquet
      unskew sample events.parquet --at 2024-09-01 --campaign 2024-05-01: --production knn -o test.parquet
    """
    from unskew.data.policy import Share
    from unskew.evaluation.debiased_test_set import sample_pairs
    from unskew.evaluation.selection_options import SelectionOptions
    from unskew.weights.item_weights import ItemWeights

    SelectionOptions(**selection)  # refuses a slip early
    source.check_outputs(output, inputs=[weights])
    fitted = ItemWeights.load(weights) if weights else None
    since, labels = (None, ()) if fitted is None else (fitted.reference, fitted.columns)
    whole = source.read(labels)
    _, date = source.read_dates(whole, None, at)
    log = source.take_view(whole, since=since, until=date, seed=selection["seed"])
    snapshot = source.snapshot(log, date)
    drawn = sample_pairs(snapshot, fitted, **selection)
    drawn.save(output)
    users = len(drawn.table.column("user").unique())
    if as_json:
        print_json({**drawn.about, "users": users, "output": output, "view": source.describe_view(log)})
    else:
        source.print_view(log)
        excluded = drawn.about["users_excluded"]
        remark = f" ({percent(excluded['mass'])} of users excluded by the weights)" if excluded["count"] else ""
        pairs = f"{thousands(selection['sample'])} held-out pairs of {thousands(users)} users"
        print_line(f"{pairs} at {date} written to {output}{remark}")
        protocol = drawn.about["protocol"]
        alone = Share(**drawn.about["users_without_profile"])
        sentences = [
            describe_held_out(protocol, date, drawn.about["after"]),
            describe_without_profile(alone, protocol),
            describe_below_min_items(Share(**drawn.about["users_below_min_items"]), selection["min_items"]),
        ]
        if any(sentences):
            print_line(" ".join(filter(None, sentences)))
