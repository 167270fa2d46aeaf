"""``python -m benchmarks``: all comparisons of speed, one of them, or one of the studies by name.

``python -m benchmarks [NAME...] [--size N]... [--repeats R]`` measures comparisons, writes their results to
``benchmarks/results/`` and makes docs/benchmarks.md of all that is there. ``python -m benchmarks page`` only makes
the page; ``quick`` runs the guards, which count and need no clock. Studies (coverage, placebo, folds, margins,
detect, cluster) print what they find; numbers after the name of one are its samples, seeds or sizes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from types import ModuleType

import click
from rich.console import Console
from rich.markdown import Markdown

from benchmarks import guards
from benchmarks.frame.comparison import Disagreement
from benchmarks.frame.machine import Bystanders, describe
from benchmarks.frame.result_files import FOLDER, Results, Table
from benchmarks.frame.results_page import render_tables, write_page
from benchmarks.speed import fits, growth, growth_chart, metrics, passes, ranking, reading, timelines

COMPARISONS: dict[str, ModuleType] = {
    "reading": reading,
    "pass": passes,
    "fit": fits,
    "ranking": ranking,
    "metrics": metrics,
    "timeline": timelines,
    "growth": growth,
}
"""Each has `comparisons(sizes)`, `SIZES` and `LIBRARIES`."""

STUDIES = ("coverage", "placebo", "folds", "margins", "detect", "cluster")
REPEATS = 5


@click.command(help=__doc__)
@click.argument("names", nargs=-1)
@click.option("--size", "sizes", multiple=True, type=float, help="Events or pairs; can be given more than once.")
@click.option("--repeats", default=REPEATS, show_default=True, type=click.IntRange(min=1), help="Rounds.")
@click.option("--results", default=FOLDER, type=click.Path(path_type=Path), help="The folder of results.")
def main(names: tuple[str, ...], sizes: tuple[float, ...], repeats: int, results: Path) -> None:
    """Run what was asked for."""
    console = Console(width=130)
    if names and names[0] in STUDIES:
        _find_study(names[0])([int(float(n)) for n in names[1:]], console)
        return
    if names == ("quick",):
        sys.exit(0 if guards.run(console) else 1)
    unknown = [name for name in names if name not in (*COMPARISONS, "page")]
    if unknown:
        known = ", ".join((*COMPARISONS, *STUDIES, "quick", "page"))
        raise click.UsageError(f"there is no benchmark {unknown[0]!r}; there are {known}")
    failed = False
    for name in names or COMPARISONS:
        if name != "page":
            failed |= not measure(name, [int(size) for size in sizes], repeats, results, console)
    if results == FOLDER:
        write_page()
        growth_chart.write_picture()
    if failed:
        sys.exit(1)


def measure(name: str, sizes: Iterable[int], repeats: int, folder: Path, console: Console) -> bool:
    """Run the comparisons of one benchmark, print and keep them; False, and nothing kept, if answers differed."""
    module, bystanders = COMPARISONS[name], Bystanders()
    tables: list[Table] = []
    versions: dict[str, str] = {}
    try:
        for comparison in module.comparisons(list(sizes) or module.SIZES):
            with console.status("") as status:
                table = comparison.run(repeats, status.update)
            console.print(Markdown("\n".join([f"**{table.title}**", "", *render_tables([table])])))
            tables.append(table)
            versions |= comparison.versions
    except Disagreement as error:
        console.print(f"[bold]{error}[/bold]")
        return False
    folder.mkdir(exist_ok=True)
    Results(name, describe(module.LIBRARIES, versions, bystanders), tables).write(folder)
    return True


def _find_study(name: str) -> Callable[[list[int], Console], None]:
    from benchmarks import cluster, coverage, detect, folds, margins, placebo

    return {
        "coverage": lambda numbers, console: coverage.run(numbers[0] if numbers else coverage.SAMPLES, console),
        "placebo": lambda _, console: placebo.run(console),
        "folds": lambda _, console: folds.run(console),
        "margins": lambda _, console: margins.run(console),
        "detect": lambda _, console: detect.run(console),
        "cluster": cluster.run,
    }[name]


if __name__ == "__main__":
    main(prog_name="python -m benchmarks")
