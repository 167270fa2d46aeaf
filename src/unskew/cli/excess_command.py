"""``unskew excess``: how many of the interactions in windows of time recommendations caused."""

from __future__ import annotations

import click

from unskew.cli.configured_command import ConfiguredCommand
from unskew.cli.log_source import LogOptions
from unskew.cli.option_groups import everyday_option, place, use_options
from unskew.cli.shared_options import log_options, show_options
from unskew.cli.terminal import print_figures, print_json, print_sentence, print_table
from unskew.options import Group
from unskew.text import percent, thousands


@click.command(cls=ConfiguredCommand)
@place("exposures", everyday=False)
@log_options
@everyday_option("--since T", "With --holdout: when recommendations started.", Group.KNOWN)
@everyday_option("--until T", "Ignore interactions after T.  [default: the end of the log]", Group.KNOWN)
@use_options("level", "seed")
@show_options
def excess(
    source: LogOptions, since: str | None, until: str | None, level: float, seed: int, as_json: bool
) -> None:
    """Estimate the share of interactions caused by recommendations.

    This needs no exposure log. Interactions in campaign windows, by the rank that production gave to their items,
    are compared with those of a holdout group, or with those in quiet windows.

    \b
    Examples:
      unskew excess events.parquet --campaign 2024-05-01:2024-05-20 --production knn
      unskew excess events.parquet --campaign 2024-05-01: --holdout never_shown.csv --production auto
    """
    from unskew.views.excess import check_known
    from unskew.views.excess import excess as find_excess

    check_known(source.known)
    source.refuse_spark("'unskew excess'")
    log = source.read()
    result = find_excess(
        log, knowledge=source.known.to_knowledge(log), since=since, until=until, level=level, seed=seed
    )
    if as_json:
        print_json(result.to_dict())
        return
    interval = f"[{percent(result.low, 1)}, {percent(result.high, 1)}]"
    explained = f"explains {percent(max(result.explains, 0.0), 0)}, {result.windows} windows"
    figures = [
        ("in the windows", thousands(result.pairs), "pairs of users who could be shown something"),
        ("caused by them", percent(result.value, 1), f"{interval} at a level of {percent(result.level, 0)}"),
        ("production", result.production, explained),
        ("compared with", result.compared_with, ""),
    ]
    print_figures("Interactions caused by recommendations", figures)
    rows = [
        [s.name, thousands(s.pairs), f"{s.observed:.4f}", f"{s.usual:.4f}", percent(s.excess, 1)]
        for s in result.strata
    ]
    print_table(["production's rank", "pairs", "each user", "usual", "from recommendations"], rows)
    if result.candidates:
        models = [[name, f"{share:.3f}"] for name, share in result.candidates.items()]
        print_table(["model of production", "tells"], models)
    for sentence in (str(result), *([] if result.placebo is None else [str(result.placebo)]), *result.notes):
        print_sentence(sentence)
