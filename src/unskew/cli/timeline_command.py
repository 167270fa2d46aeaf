"""``unskew timeline``: scores over time, raw and weighted."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from unskew.cli.configured_command import ConfiguredCommand
from unskew.cli.log_source import LogOptions
from unskew.cli.option_groups import everyday_option, own_option, place, use_options
from unskew.cli.shared_options import (
    FitChoice,
    check_specs,
    item_ids,
    log_options,
    read_names_by_item,
    sample_option,
    shared_fit_options,
    show_options,
)
from unskew.cli.terminal import print_json, print_line, print_table
from unskew.errors import InputError
from unskew.options import Group
from unskew.show.report_words import TOO_FEW_HITS
from unskew.text import group_rows, percent, shorten_spec, thousands

if TYPE_CHECKING:
    from unskew.over_time.timeline_table import Timeline


@click.command(cls=ConfiguredCommand)
@place("campaigns", "holdout", "production", "after", everyday=False)
@log_options
@use_options("reference", required=True)
@everyday_option(
    "--from A", "First date of the grid.  [default: the date of --reference]", Group.COMPARE, name="start"
)
@everyday_option(
    "--to B", "Last date; always part of the grid.  [default: the end of the log]", Group.COMPARE, name="end"
)
@everyday_option(
    "--every STEP",
    "Step of the grid: 12h, 7d, 2w, 1mo, or a number (of days, if the log has dates).  [default: 1]",
    Group.COMPARE,
)
@use_options("recommenders", required=True)
@use_options("metrics")
@everyday_option(
    "--both-ends",
    "Also score the log without what recommendations since T0 may have caused, the other end of the range. "
    "Costs a search for a stand-in for production, then twice the time.",
    Group.COMPARE,
)
@own_option(
    "--top P,...",
    "Also weight only the P items that changed most; separate several by commas. Repeatable.",
    Group.FIT,
    several=True,
)
@use_options("after", "leave_last_out", "min_items")
@sample_option
@use_options("seed", "level")
@shared_fit_options
@own_option(
    "--follow A,B,...",
    "Also record the probabilities of these items. Repeatable.",
    Group.OUTPUT,
    name="items",
    several=True,
)
@own_option("--probabilities FILE", "Parquet file for these probabilities.", Group.OUTPUT)
@use_options("names")
@everyday_option("-o, --output FILE", "Parquet file to write the table to; CSV if it ends in .csv.", Group.OUTPUT)
@everyday_option("--resume", "Continue the file of -o: compute only missing dates.", Group.OUTPUT)
@show_options
def timeline(
    source: LogOptions,
    reference: str,
    end: str | None,
    recommenders: tuple[str, ...],
    metrics: tuple[str, ...],
    top: tuple[str, ...],
    after: str | None,
    leave_last_out: bool,
    min_items: int,
    seed: int,
    fit: FitChoice,
    items: tuple[str, ...],
    probabilities: str | None,
    names: str | None,
    resume: bool,
    output: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Score recommenders on a grid of dates, raw and weighted.

    Weights restore the item mix of T0. The table has one row for each date, recommender, metric and weighting:
    none, all items, and the P items of largest change for each --top. It is written every few seconds, so that
    --resume can continue after an interruption; without --resume an existing file is replaced once all dates are
    done.

    \b
    Examples:
      unskew timeline events.parquet --reference 2024-03-01 --every 1w -r popular -o timeline.parquet
      unskew timeline events.parquet --reference 2024-03-01 --every 1mo -r popular --after=-1mo
      unskew timeline events.parquet --reference 2024-03-01 --every 1w -r knn -r popular --both-ends
      unskew timeline events.parquet --reference 300 --to 500 -r constant:a,b,c --top 5 --top 20 --json
    """
    import pyarrow as pa

    from unskew.data.held_out import SplitRule
    from unskew.data.time_steps import LAST
    from unskew.over_time.timeline import timeline as make
    from unskew.over_time.timeline_table import TimelineFiles
    from unskew.recommend.contract import traits_of

    SplitRule(after, leave_last_out, min_items)
    models = check_specs(recommenders, metrics)
    files = [str(file) for model in models.values() for file in traits_of(model).files]
    TimelineFiles.of(output, probabilities, resume=resume, items=bool(items))
    source.check_outputs(output, probabilities, inputs=[reference, names, *files])
    whole = source.read()
    then, _ = source.read_dates(whole, reference, LAST if end is None else end, ordered=False)
    log = source.take_view(whole, since=then, until=end, seed=seed)
    followed = [item for text in items for item in item_ids(text, log)]
    ids = pa.array(followed, type=log.items.values.type)
    labels = read_names_by_item(names, ids) if followed else None
    result = make(
        log,
        models,
        reference=source.reference(log, then),
        end=end,
        metric=metrics,
        top=[_number(part) for text in top for part in text.split(",")],
        items=followed,
        seed=seed,
        after=after,
        leave_last_out=leave_last_out,
        output=output,
        probabilities=probabilities,
        resume=resume,
        **source.priors(),
        **options,
        **fit.keywords(log, min_items=min_items),
    )
    if as_json:
        values = result.to_dict()
        if labels is not None:
            values["probabilities"] = [{**row, "name": labels[row["item"]]} for row in values["probabilities"]]
        print_json({**values, "output": output, "view": source.describe_view(log)})
    else:
        source.print_view(log)
        _show(result, output, labels)


def _number(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise InputError(f"--top is {text!r}", remedy="give a whole number of items, such as 20") from None


def _show(result: Timeline, output: str | None, labels: Mapping[Any, str] | None) -> None:
    dates, total = result.dates, result.rows.to_pylist()
    few = any(row["too_few_hits"] for row in total)
    columns = ["first", "last", "low", "high", "change", "least", "most", "bound", *(["hits"] if few else [])]
    tables: dict[str, list[list[str]]] = {}
    end = result.other_end
    for name, group in group_rows(total, ("metric", "view", "recommender", "weighting", "top")):
        first, last, values = group[0], group[-1], [row["value"] for row in group]
        figures = [first["value"], last["value"], last["low"], last["high"]]
        change = last["value"] - first["value"]
        bound = _figure(last["bound"]) if name[2].startswith("constant:") else ""
        cells = [*map(_figure, figures), f"{change:+z.4f}", _figure(min(values)), _figure(max(values)), bound]
        if few:
            hits = sum(row["too_few_hits"] for row in group)
            cells.append(f"too few hits at {thousands(hits)} of {thousands(len(group))}" if hits else "")
        view = name[1] if end is None or name[1] == "all" else "other end"
        tables.setdefault(name[0], []).append([name[2], _name_kind(*name[3:], view=view), *cells])
    for metric, rows in tables.items():
        print_line(f"{metric} from {dates[0]} (first) to {dates[-1]} (last)")
        print_table(["recommender", "scored", *columns], rows, left=2)
    if end is not None:
        from unskew.evaluation.score import name_other_end

        share, stand_in = percent(end["share"], 0), end["stand_in"]
        dropped = f": {share} of the interactions since then" if stand_in else ""
        dropped += f", by the stand-in {shorten_spec(stand_in)}" if stand_in else ""
        print_line(f"Other end: the log {name_other_end(end['since'])}{dropped}.")
    if few:
        print_line(TOO_FEW_HITS)
    if len(result.probabilities):
        print_line(f"Probabilities from {dates[0]} (first) to {dates[-1]} (last)")
        rows = []
        for name, group in group_rows(result.probabilities.to_pylist(), ("item", "weighting", "top")):
            values = [row["probability"] for row in group]
            cells = [percent(x, 3) for x in (values[0], values[-1], min(values), max(values))]
            mix = _name_kind(*name[1:], view=total[0]["view"])
            rows.append([*([labels[name[0]]] if labels else []), str(name[0]), mix, *cells])
        head = [*(["name"] if labels else []), "item", "mix"]
        print_table([*head, "first", "last", "least", "most"], rows, left=len(head))
    after = result.options.get("after")
    if after is not None:
        relative = isinstance(after, str) and after.startswith("-")
        since = f"in the last {after[1:].strip()} before it" if relative else f"after {after} and up to it"
        print_line(f"Held out at each date: interactions {since}, and at the reference date for as long.")
    elif result.options.get("leave_last_out"):
        print_line("Held out at each date: the last item of each profile.")
    print_line(
        f"{thousands(len(dates))} date{'s' * (len(dates) != 1)}. Low, high and bound are those of the last; no "
        "fixed list's score in [0, 1] is off by more than the bound. Item weights alone do not repair "
        "personalised algorithms."
    )
    if output is not None and result.computed == 0:
        print_line(f"All dates were in {output} already: nothing was computed")
    elif output is not None:
        print_line(
            f"{thousands(len(result))} rows written to {output} (dates computed: {thousands(result.computed)})"
        )


def _figure(value: float) -> str:
    """A score; nothing where there is none, such as the interval of a single user."""
    return "" if math.isnan(value) else f"{value:z.4f}"


def _name_kind(weighting: str, top: int | None, *, view: str) -> str:
    from unskew.evaluation.score import REWEIGHTED, name_kind

    return name_kind(weighting, top, view).replace(f" items {REWEIGHTED}", "")
