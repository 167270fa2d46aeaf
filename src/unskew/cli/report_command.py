"""``unskew report``: one page about some recommenders between two dates, to be sent to a team."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from unskew.cli.command_group import WARNINGS
from unskew.cli.configured_command import ConfiguredCommand, write_command
from unskew.cli.evaluate_command import print_answers
from unskew.cli.log_source import LogOptions
from unskew.cli.option_groups import own_option, place, use_options
from unskew.cli.shared_options import (
    FitChoice,
    baseline_option,
    check_question,
    check_specs,
    log_options,
    read_names_by_item,
    sample_option,
    shared_fit_options,
    show_options,
)
from unskew.cli.terminal import print_json, print_line
from unskew.errors import InputError, option
from unskew.options import Group

if TYPE_CHECKING:
    from unskew.over_time.timeline_table import Timeline


@click.command(cls=ConfiguredCommand)
@place("production", everyday=False)
@log_options
@use_options("reference", "at", "recommenders", "metrics")
@baseline_option
@use_options("by", "clean_before", "quick")
@own_option("--every STEP", "Step of the charts over time.  [default: chosen for about 16 dates]", Group.OUTPUT)
@own_option(
    "--timeline FILE",
    "Scores over time from 'unskew timeline -o', instead of computing them.",
    Group.OUTPUT,
    name="saved",
)
@use_options("names", "after", "leave_last_out", "min_items")
@sample_option
@use_options("seed", "draws")
@own_option(
    "--refit N", "Number of times to fit the weights again, for intervals.  [default: 50]", Group.INTERVALS
)
@use_options("level")
@shared_fit_options
@use_options("output", default="report.html", show_default=True, help="HTML page to write.")
@show_options
def report(
    source: LogOptions,
    fit: FitChoice,
    reference: str | None,
    at: str,
    recommenders: tuple[str, ...],
    metrics: tuple[str, ...],
    baseline: str | None,
    every: str | None,
    saved: str | None,
    names: str | None,
    output: str,
    as_json: bool,
    **options: Any,
) -> None:
    """Write an HTML page: what is better, what changed, and why.

    The page is one file that opens without a network, for people who have not read the paper: the verdict with its
    range and what would settle it, scores over time, the parts of each change, all recommenders with their
    intervals, the items that moved, and what to beware of. LOG may also be a timeline that 'unskew timeline -o'
    wrote; then nothing is computed.

    \b
    Examples:
      unskew report events.parquet --reference 2024-03-01 --at 2024-09-01 -r popular -r knn -o report.html
      unskew report events.parquet --reference 2024-03-01 --at 2024-09-01 -r ease --campaign 2024-05-01:2024-05-20
      unskew report timeline.parquet -o report.html
    """
    from unskew.drawing.page import check_page_name

    context, path = click.get_current_context(), Path(output)
    check_page_name(path)
    command = write_command(context, leave_out=["as_json"])
    from unskew.over_time.timeline_table import Timeline, is_timeline

    if len(source.log) == 1 and is_timeline(source.log[0]):
        _refuse_options_of_a_log(context, source.log[0])
        source.check_outputs(output, tables=False)
        _write_timeline(Timeline.load(source.log[0]), source, names, path, command, as_json=as_json)
        return
    for flag, value in (("--reference", reference), ("-r", recommenders)):
        if not value:
            raise click.UsageError(f"Missing option '{flag}'.", context)
    assert reference is not None
    from unskew.evaluation.evaluate_report import name_baseline
    from unskew.pages.log_page import make_log_page

    check_question(fit, options, reference)
    models = check_specs(recommenders, metrics)
    ran = None if baseline is None else name_baseline(baseline, models)
    source.check_outputs(output, inputs=[reference, names, saved], tables=False)
    before = None if saved is None else Timeline.load(saved)
    source.refuse_spark("'unskew report'")
    log = source.read(labels=list(filter(None, [options["by"]])))
    then, now = source.read_dates(log, reference, at)
    evaluation = write_command(context, leave_out=["as_json", "output", "every", "saved", "names"])
    done = make_log_page(
        log,
        models,
        at=now,
        reference=source.reference_of(then),
        every=every,
        saved=before,
        campaigns=source.known.campaigns,
        names=read_names_by_item(names, log.items.values),
        page_command=command,
        warnings=context.meta.setdefault(WARNINGS, []),
        baseline=ran,
        metric=metrics,
        command=evaluation.replace("unskew report ", "unskew evaluate ", 1),
        **source.keywords(log),
        **options,
        **fit.keywords(log),
    )
    done.page.write(path)
    if as_json:
        print_json({"output": output, **done.report.to_dict(), "timeline": done.timeline.to_dict()})
        return
    print_answers(done.report)
    source.print_view(done.log)
    for change in () if done.report.verdicts else done.report.changes:
        print_line(f"{change}.")
    _name_page(output)


def _refuse_options_of_a_log(context: click.Context, path: Any) -> None:
    """A timeline is shown as it is; what stands in a configuration file may be meant for other commands."""
    for name in ("reference", "at", "recommenders", "baseline", "metrics", "every", "saved"):
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise InputError(
                f"{option(name)} is for a log, and {path} is a timeline, which is shown as it was computed",
                remedy="leave it out, or give the log",
            )


def _write_timeline(
    timeline: Timeline, source: LogOptions, names: str | None, path: Path, command: str, *, as_json: bool
) -> None:
    from unskew.over_time.timeline_page import make_timeline_page

    items = timeline.probabilities.column("item").combine_chunks()
    labels = read_names_by_item(names, items) if len(items) else None
    make_timeline_page(timeline, campaigns=source.known.campaigns, names=labels, command=command).write(path)
    if as_json:
        print_json({"output": str(path), "timeline": timeline.to_dict()})
    else:
        _name_page(str(path))


def _name_page(path: str) -> None:
    print_line(f"The page is {path} ({Path(path).stat().st_size / 1e6:.1f} MB).")
