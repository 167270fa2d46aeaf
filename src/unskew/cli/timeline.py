"""``unskew timeline``: scores over time, raw and weighted."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from unskew.cli.options import FILE, LogOptions, item_ids, log_options, show_options
from unskew.errors import InputError

if TYPE_CHECKING:
    from unskew.timeline_result import Timeline


@click.command()
@log_options
@click.option(
    "--reference", required=True, type=FILE, metavar="T0|FILE", help="Date to compare with, or a saved marginal."
)
@click.option("--from", "start", metavar="A", help="First date of the grid.  [default: that of --reference]")
@click.option("--to", "end", metavar="B", help="Last date; always part of the grid.  [default: the log's last]")
@click.option(
    "--every",
    metavar="STEP",
    help="Step: a number (of days, if the log has dates), or 12h, 7d, 2w, 1mo.  [default: 1]",
)
@click.option(
    "-r",
    "--recommender",
    "specs",
    required=True,
    multiple=True,
    metavar="SPEC",
    help="What to score, fitted again at each date; repeat for several.",
)
@click.option(
    "-q",
    "--quality",
    "names",
    multiple=True,
    default=("hit@5",),
    show_default=True,
    metavar="NAME",
    help="hit@k, mrr@k, ndcg@k, rbp@k or rank<=1,5,10; repeat for several.",
)
@click.option(
    "--top",
    "tops",
    multiple=True,
    metavar="P,...",
    help="Also with weights of the P items of largest change alone; several with commas, or repeated.",
)
@click.option(
    "--method",
    default="descent",
    show_default=True,
    type=click.Choice(["descent", "lbfgs"]),
    help="How the weights of --top are fitted; lbfgs needs fewer passes.",
)
@click.option("--sample", type=int, metavar="N", help="Draw N pairs at each date instead of taking all.")
@click.option("--seed", default=0, show_default=True, type=click.IntRange(min=0), help="Seed of the draws.")
@click.option("--level", default=0.95, show_default=True, type=float, help="Level of the intervals.")
@click.option("--tol", default=1e-4, show_default=True, type=float, help="Tolerance of the fits, in score units.")
@click.option("--items", multiple=True, metavar="A,B,...", help="Record the probability of these items.")
@click.option("--probabilities", type=FILE, metavar="FILE", help="Parquet file to write these to.")
@click.option("--resume", is_flag=True, help="Go on with the file of -o: compute only the dates that it lacks.")
@click.option("-o", "--output", type=FILE, metavar="FILE", help="Parquet file to write the table to.")
@show_options
def timeline(
    source: LogOptions,
    reference: str,
    start: str | None,
    end: str | None,
    every: str | None,
    specs: tuple[str, ...],
    names: tuple[str, ...],
    tops: tuple[str, ...],
    method: str,
    sample: int | None,
    seed: int,
    level: float,
    tol: float,
    items: tuple[str, ...],
    probabilities: str | None,
    resume: bool,
    output: str | None,
    as_json: bool,
) -> None:
    """Score recommenders on a grid of dates, raw and weighted to the item mix of T0.

    The table has one row for each date, recommender, quality and weighting: none, all items, and the P items
    of largest change for each --top. It is written every few seconds, so that --resume can go on after an
    interruption. SPEC is as for 'unskew evaluate'.

    \b
    Examples:
      unskew timeline events.parquet --reference 2024-03-01 --every 1w -r popular -o timeline.parquet
      unskew timeline events.parquet --reference 300 --to 500 -r constant:a,b,c --top 5 --top 20 --json
    """
    from unskew.cli.show import print_json
    from unskew.files import check_writable
    from unskew.over_time import timeline as make
    from unskew.quality import qualities
    from unskew.recommend.specs import recommender

    if resume and output is None:
        raise InputError("--resume goes on with a file: name it with -o")
    if probabilities is not None and not items:
        raise InputError("--probabilities needs --items: say whose")
    for spec in specs:
        recommender(spec)  # so that a slip is found before the log is read
    qualities(names)
    top = [_number(part) for text in tops for part in text.split(",")]
    for path in (output, probabilities):
        if path is not None:
            check_writable(Path(path))
    log = source.read()
    made = make(
        log,
        specs,
        reference=source.reference(log, reference),
        start=start,
        end=end,
        every=every,
        qualities=names,
        top=top,
        method=method,
        items=[item for text in items for item in item_ids(text, log)],
        sample=sample,
        seed=seed,
        level=level,
        tol=tol,
        output=output,
        probabilities=probabilities,
        resume=resume,
        **source.priors(),
    )
    if as_json:
        print_json({**made.to_dict(), "output": output})
    else:
        _show(made, output)


def _number(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise InputError(f"--top {text!r}: give a whole number of items, such as 20") from None


def _show(made: Timeline, output: str | None) -> None:
    from unskew.cli.show import number, percent, print_line, print_table

    dates = made.dates
    columns = [str(dates[0]), str(dates[-1]), "low", "high", "change", "least", "most", "bound"]
    rows = []
    for name, group in _series(made.rows.to_pylist(), ("recommender", "quality", "weighting", "top")):
        first, last, values = group[0], group[-1], [row["value"] for row in group]
        figures = [first["value"], last["value"], last["low"], last["high"]]
        change = last["value"] - first["value"]
        spread = [min(values), max(values), last["bound"]]
        told = [*(f"{x:z.4f}" for x in figures), f"{change:+z.4f}", *(f"{x:z.4f}" for x in spread)]
        rows.append([name[0], name[1], _weighting(*name[2:]), *told])
    print_table(["recommender", "quality", "weighting", *columns], rows, left=3)
    if len(made.probabilities):
        rows = []
        for name, group in _series(made.probabilities.to_pylist(), ("item", "weighting", "top")):
            values = [row["probability"] for row in group]
            told = [percent(x, 3) for x in (values[0], values[-1], min(values), max(values))]
            rows.append([str(name[0]), _weighting(*name[1:]), *told])
        print_table(["item", "weighting", str(dates[0]), str(dates[-1]), "least", "most"], rows, left=2)
    print_line(
        f"{number(len(dates))} dates. Low, high and bound are those of the last; no constant algorithm's score in "
        "[0, 1] is off by more than the bound. Item weights alone do not repair personalised algorithms."
    )
    if output is not None and made.computed == 0:
        print_line(f"All dates were in {output} already: nothing was computed")
    elif output is not None:
        print_line(f"{number(len(made))} rows written to {output} (dates computed: {number(made.computed)})")


def _series(rows: Sequence[dict[str, Any]], by: Sequence[str]) -> list[tuple[tuple[Any, ...], list[Any]]]:
    """The rows of each series, in the order of dates."""
    found: dict[tuple[Any, ...], list[Any]] = {}
    for row in rows:
        found.setdefault(tuple(row[name] for name in by), []).append(row)
    return list(found.items())


def _weighting(name: str, top: int | None) -> str:
    return name if top is None else f"top {top}"
