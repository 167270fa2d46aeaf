"""``unskew check``: thresholds for a job that runs by itself."""

from __future__ import annotations

from typing import Any

import click

from unskew.cli.configured_command import ConfiguredCommand
from unskew.cli.log_source import LogOptions
from unskew.cli.option_groups import Group, grouped_option, place
from unskew.cli.printing import print_json
from unskew.cli.shared_options import (
    FitChoice,
    at_option,
    change_options,
    check_specs,
    clean_before_option,
    log_options,
    metrics_option,
    recommenders_option,
    reference_option,
    shared_fit_options,
    show_options,
)
from unskew.cli.streams import writing
from unskew.progress import progress
from unskew.text import escape_controls


@click.command(cls=ConfiguredCommand)
@place("campaigns", "holdout", "production", everyday=False)
@log_options
@reference_option
@at_option
@grouped_option(
    "--max-drift",
    type=float,
    metavar="X",
    group=Group.THRESHOLDS,
    everyday=True,
    help="Largest drift of the item mix: total variation, from 0 to 1.",
)
@grouped_option(
    "--max-bound",
    type=float,
    metavar="X",
    group=Group.THRESHOLDS,
    help="Largest bound on the error that remains in weighted scores, from 0 to 1.",
)
@grouped_option(
    "--max-excluded",
    type=float,
    metavar="X",
    group=Group.THRESHOLDS,
    help="Largest share of users that the weights exclude, at either date.",
)
@grouped_option(
    "--max-unexplained",
    type=float,
    metavar="X",
    group=Group.THRESHOLDS,
    everyday=True,
    help="Largest change of a score that neither the item mix nor chance explains: 0.01 is one point. Needs -r.",
)
@grouped_option(
    "--max-unexplained-relative",
    type=float,
    metavar="X",
    group=Group.THRESHOLDS,
    help="The same as a share of the score at the date of --reference: 0.1 is a tenth.",
)
@grouped_option(
    "--min-effective-pairs",
    type=float,
    metavar="N",
    group=Group.THRESHOLDS,
    help="Smallest effective number of held-out interactions behind weighted scores.",
)
@grouped_option(
    "--fail-if",
    type=click.Choice(["worse"]),
    group=Group.THRESHOLDS,
    everyday=True,
    help="Fail if the verdict on a recommender is 'worse' than --baseline, or than the first -r. An undecided "
    "verdict is shown, and does not fail.",
)
@clean_before_option
@recommenders_option
@metrics_option
@shared_fit_options
@change_options
@show_options
def check(
    source: LogOptions,
    fit: FitChoice,
    at: str,
    reference: str,
    max_drift: float | None,
    max_bound: float | None,
    max_excluded: float | None,
    max_unexplained: float | None,
    max_unexplained_relative: float | None,
    min_effective_pairs: float | None,
    fail_if: str | None,
    clean_before: str | None,
    recommenders: tuple[str, ...],
    metrics: tuple[str, ...],
    baseline: str | None,
    draws: int,
    refit: int | None,
    level: float,
    as_json: bool,
    **selection: Any,
) -> None:
    """Check a date against thresholds, for a weekly job or CI.

    Prints one line for each threshold that is crossed, or one line if none is. Exit codes: 0 no threshold is
    crossed; 1 a threshold is crossed (or, with nothing on standard output, an unexpected error); 2 wrong input.
    Recommenders are scored only if a threshold is about their scores.

    \b
    Examples:
      unskew check events.parquet --reference 2024-03-01 --at 2024-09-01 --max-drift 0.2 --max-excluded 0.1
      unskew check events.parquet --reference 2024-03-01 --at 2024-09-01 -r knn --max-unexplained 0.01
      unskew check events.parquet --reference 2024-03-01 --baseline popular -r knn --fail-if worse
      unskew check --json
    """
    from unskew.evaluation.evaluate_report import check_report_options, name_baseline
    from unskew.evaluation.selection_options import SelectionOptions
    from unskew.monitoring.check_thresholds import check as hold_against
    from unskew.monitoring.thresholds import Thresholds
    from unskew.views.knowledge import Knowledge

    chosen = SelectionOptions(**selection)
    limits = Thresholds.of(
        Thresholds(
            max_drift=max_drift,
            max_bound=max_bound,
            max_excluded=max_excluded,
            max_unexplained=max_unexplained,
            max_unexplained_relative=max_unexplained_relative,
            min_effective_pairs=min_effective_pairs,
            fail_if=fail_if,
        )
    )
    check_report_options(reference, None, fit.first, chosen, by=None, refit=refit, level=level, baseline=baseline)
    limits.require_recommenders(recommenders, baseline)
    models = check_specs(recommenders, metrics) if limits.need_scores else None
    ran = name_baseline(baseline, models) if models is not None and baseline is not None else None
    source.refuse_spark("'unskew check'")
    log = source.read()
    then, now = source.read_dates(log, reference, at)
    found = hold_against(
        log,
        models,
        at=now,
        reference=source.reference_of(then),
        thresholds=limits,
        baseline=ran,
        metric=metrics,
        refit=refit,
        level=level,
        knowledge=source.known.to_knowledge(log, drop_nulls=source.drop_nulls) or Knowledge(),
        view=source.known.view,
        draws=draws,
        clean_before=clean_before,
        **source.priors(),
        **selection,
        **fit.keywords(log),
    )
    if as_json:
        print_json(found.to_dict())
    else:
        progress().close()
        for line in found.lines:
            with writing():
                click.echo(escape_controls(line))
    if not found.passed:
        click.get_current_context().exit(1)
