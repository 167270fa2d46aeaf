"""``unskew marginal``: the item mix at a date, kept in a file."""

from __future__ import annotations

import click

from unskew.cli.configured_command import ConfiguredCommand
from unskew.cli.log_source import LogOptions
from unskew.cli.option_groups import use_options
from unskew.cli.shared_options import log_options, show_options
from unskew.cli.terminal import print_json, print_line
from unskew.errors import option
from unskew.text import thousands


@click.command(cls=ConfiguredCommand)
@log_options
@use_options("at")
@use_options("output", required=True, help="Parquet file to write; CSV if it ends in .csv.")
@use_options("after", "leave_last_out", "min_items")
@show_options
def marginal(
    source: LogOptions,
    at: str,
    min_items: int,
    output: str,
    after: str | None,
    leave_last_out: bool,
    as_json: bool,
) -> None:
    """Save the item mix of a date to a file.

    Later comparisons with that date then do not need the old log. The file records how it was computed (P(u),
    P(i|u), which users), and a command with other options refuses it.

    \b
    Examples:
      unskew marginal events.parquet --at 2024-03-01 -o march.parquet
      unskew weights events.parquet --reference march.parquet --at 2024-09-01
      unskew marginal events.parquet --at 2024-03-01 --after=-30d -o march.parquet
      unskew marginal events.parquet --at 2024-03-01 --campaign 2024-01-10: --production knn -o march.parquet
    """
    from unskew.data.held_out import SplitRule
    from unskew.data.slice import Slice
    from unskew.engines.population import require_local

    rule = SplitRule(after, leave_last_out, min_items)
    source.check_outputs(output)
    whole = source.read()
    _, date = source.read_dates(whole, None, at)
    log = source.take_view(whole, since=date, until=date)
    snapshot = source.snapshot(log, date)
    if rule:
        require_local(snapshot, f"{option('after')} or {option('leave_last_out')}")
    part: Slice = rule.split(snapshot).pairs if rule else snapshot
    result = part.marginal(min_items=min_items)
    result.save(output)
    policy = result.policy.to_dict() if result.policy else None
    if as_json:
        figures = {"at": result.at, "items": len(result), "users": part.n_users, "policy": policy}
        print_json({**figures, "output": output, "view": source.describe_view(log)})
    else:
        source.print_view(log)
        print_line(f"Item mix of {thousands(len(result))} items at {result.at} written to {output}")
