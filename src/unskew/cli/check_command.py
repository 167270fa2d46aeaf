"""``unskew check``: thresholds for a job that runs by itself."""

from __future__ import annotations

from typing import Any

import click

from unskew.cli.configured_command import ConfiguredCommand
from unskew.cli.log_source import LogOptions
from unskew.cli.option_groups import place, use_options
from unskew.cli.shared_options import (
    FitChoice,
    change_options,
    check_question,
    check_specs,
    log_options,
    shared_fit_options,
    show_options,
)
from unskew.cli.terminal import print_json, writing
from unskew.options import OPTIONS, Group
from unskew.progress import progress
from unskew.text import escape_controls

THRESHOLDS = [name for name, declared in OPTIONS.items() if declared.group is Group.THRESHOLDS]


@click.command(cls=ConfiguredCommand)
@place("campaigns", "holdout", "production", everyday=False)
@log_options
@use_options("reference", required=True)
@use_options("at")
@use_options(*THRESHOLDS)
@use_options("clean_before", "recommenders", "metrics")
@shared_fit_options
@change_options
@show_options
def check(
    source: LogOptions,
    fit: FitChoice,
    at: str,
    reference: str,
    recommenders: tuple[str, ...],
    metrics: tuple[str, ...],
    baseline: str | None,
    as_json: bool,
    **options: Any,
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
    from unskew.evaluation.evaluate_report import name_baseline
    from unskew.monitoring.check_thresholds import check as check_log
    from unskew.monitoring.thresholds import Thresholds
    from unskew.views.knowledge import Knowledge

    limits = Thresholds.of(Thresholds(**{name: options.pop(name) for name in THRESHOLDS}))
    check_question(fit, options, reference)
    limits.require_recommenders(recommenders, baseline)
    models = check_specs(recommenders, metrics) if limits.need_scores else None
    ran = name_baseline(baseline, models) if models is not None and baseline is not None else None
    source.refuse_spark("'unskew check'")
    log = source.read()
    then, now = source.read_dates(log, reference, at)
    known = source.keywords(log)
    result = check_log(
        log,
        models,
        at=now,
        reference=source.reference_of(then),
        thresholds=limits,
        baseline=ran,
        metric=metrics,
        **{**known, "knowledge": known["knowledge"] or Knowledge()},
        **options,
        **fit.keywords(log),
    )
    if as_json:
        print_json(result.to_dict())
    else:
        progress().close()
        for line in result.lines:
            with writing():
                click.echo(escape_controls(line))
    if not result.passed:
        click.get_current_context().exit(1)
