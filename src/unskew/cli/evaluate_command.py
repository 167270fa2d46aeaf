"""``unskew evaluate``: scores of recommenders, raw and weighted, with intervals."""

from __future__ import annotations

from typing import Any

import click

from unskew.cli.configured_command import ConfiguredCommand, quote_command
from unskew.cli.evaluate_output import print_answers, print_report, print_summary
from unskew.cli.file_name import FILE
from unskew.cli.known_options import print_view
from unskew.cli.log_source import LogOptions
from unskew.cli.option_groups import Group, grouped_option, place
from unskew.cli.printing import print_json
from unskew.cli.shared_options import (
    FitChoice,
    at_option,
    by_option,
    change_options,
    check_specs,
    clean_before_option,
    declare_reference,
    log_options,
    quick_option,
    score_options,
    shared_fit_options,
    show_options,
)
from unskew.cli.streams import tell


@click.command(cls=ConfiguredCommand)
@place("production", everyday=False)
@log_options
@declare_reference(
    help="Date to compare with, or a saved marginal: weight scores to its item mix, and split the change since "
    "then."
)
@at_option
@grouped_option(
    "--weights",
    type=FILE,
    metavar="FILE",
    group=Group.COMPARE,
    help="Weights from 'unskew weights', instead of --reference.",
)
@score_options
@shared_fit_options
@change_options
@by_option
@clean_before_option
@quick_option
@grouped_option(
    "--details",
    is_flag=True,
    group=Group.OUTPUT,
    everyday=True,
    help="Show all scores, their parts and what stands behind them.",
)
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
    clean_before: str | None,
    quick: bool,
    details: bool,
    as_json: bool,
    **selection: Any,
) -> None:
    """Score recommenders on held-out items, raw and weighted.

    With --reference, weighted scores are comparable with those at that date, and the change since then is split
    into its parts.

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
    log = source.read(labels=[*([by] if by else []), *(fitted.columns if fitted else ())])
    then, now = source.read_dates(log, reference, at)
    answer = report(
        log,
        models,
        at=now,
        reference=None if then is None else source.reference_of(then),
        weights=fitted,
        baseline=ran,
        metric=metrics,
        by=by,
        refit=refit,
        level=level,
        knowledge=source.known.to_knowledge(log, drop_nulls=source.drop_nulls),
        view=source.known.view,
        draws=draws,
        clean_before=clean_before,
        quick=quick,
        command=quote_command(without=("--json", "--details")),
        **source.priors(),
        **selection,
        **fit.keywords(log),
    )
    if as_json:
        print_json(answer.to_dict())
        return
    if not details:
        print_summary(answer)
    else:
        print_answers(answer)
    if source.known.is_given and (details or not answer.verdicts):
        print_view(answer.view_report, details=details)
    if details:
        print_report(answer)
