"""``unskew evaluate``: scores of recommenders, raw and weighted, with intervals."""

from __future__ import annotations

from typing import Any

import click

from unskew.cli.configured_command import ConfiguredCommand
from unskew.cli.evaluate_output import print_report
from unskew.cli.file_name import FILE
from unskew.cli.printing import print_json
from unskew.cli.shared_options import (
    FitChoice,
    LogOptions,
    at_option,
    change_options,
    check_specs,
    fit_options,
    log_options,
    score_options,
    show_options,
)
from unskew.cli.streams import tell


@click.command(cls=ConfiguredCommand)
@log_options
@at_option
@click.option(
    "--reference",
    type=FILE,
    metavar="T0|FILE",
    help="Fit weights to this date; also score there and split the change.",
)
@click.option(
    "--weights",
    type=FILE,
    metavar="FILE",
    help="Weights from 'unskew weights', instead of --reference.",
)
@score_options
@fit_options
@change_options
@click.option("--by", metavar="COLUMN", help="Also score each value of this column of the log.")
@show_options
def evaluate(
    source: LogOptions,
    fit: FitChoice,
    at: str,
    reference: str | None,
    weights: str | None,
    baseline: str | None,
    recommenders: tuple[str, ...],
    metrics: tuple[str, ...],
    by: str | None,
    draws: int,
    refit: int | None,
    level: float,
    as_json: bool,
    **selection: Any,
) -> None:
    """Score recommenders on held-out items, raw and weighted.

    SPEC is constant:a,b,c, popular, knn?neighbours=50&similarity=cosine, ease?l2=500, als?factors=64 (needs
    implicit), table:recommendations.parquet, ./file.py:Class or package.module:Class. NAME=SPEC gives it the name
    that results show: als=table:lists.csv.

    \b
    Examples:
      unskew evaluate events.parquet --at 2024-09-01 -r popular -r knn -m hit@5 -m mrr@10
      unskew evaluate events.parquet --reference 2024-03-01 --at 2024-09-01 -r popular
      unskew evaluate events.parquet --reference 2024-03-01 --at 2024-09-01 -r ease --baseline popular
      unskew evaluate events.parquet --reference 2024-03-01 --at 2024-09-01 -r ease --after=-30d
      unskew evaluate events.parquet --reference 2024-03-01 --at 2024-09-01 -r knn --exposures shown.parquet
    """
    from unskew.evaluation.evaluate_report import check_report_options, name_baseline, report
    from unskew.evaluation.selection_options import SelectionOptions
    from unskew.weights.item_weights import ItemWeights

    chosen = SelectionOptions(**selection)
    check_report_options(reference, weights, fit.first, chosen, by=by, refit=refit, level=level, baseline=baseline)
    models = check_specs(recommenders, metrics)
    ran = None if baseline is None else name_baseline(baseline, models)
    if chosen.folds is not None:
        dates = 1 if reference is None else 2
        fits = chosen.folds * dates * len({**models, **(ran or {})})
        tell(f"--folds {chosen.folds}: recommenders are fitted {fits} times in all")
    fitted = None if weights is None else ItemWeights.load(weights)
    log = source.read(labels=[*([by] if by else []), *fit.labels, *(fitted.columns if fitted else ())])
    then, now = source.read_dates(log, reference, at)
    since = then if fitted is None else fitted.reference
    compared = {**(ran or {}), **models}
    views = source.take_draws(log, since=since, until=now, draws=draws, seed=chosen.seed, compared=compared)
    found = report(
        views,
        models,
        at=now,
        reference=None if then is None else source.reference_of(then),
        weights=fitted,
        baseline=ran,
        metric=metrics,
        by=by,
        refit=refit,
        level=level,
        **source.priors(),
        **selection,
        **fit.keywords(log),
    )
    if as_json:
        print_json(found.to_dict())
    else:
        source.print_view(views[0])
        print_report(found)
