"""``python -m benchmarks [fit|evaluation|ranking|folds|timeline|coverage|views|margins|detect] [SIZE...]``.

Everything that measures speed and coverage, or one part. What margins remove, and what bursts find, is asked
for by name.
"""

from __future__ import annotations

import sys

from rich.console import Console

from benchmarks import core, coverage, detect, evaluation, folds, margins, ranking, timeline, views

SIZES = [163_000, 1_600_000, 16_000_000, 50_000_000]


def main(arguments: list[str]) -> None:
    """Run what was asked for."""
    console = Console(width=130)
    part = arguments[0] if arguments and not arguments[0][0].isdigit() else None
    sizes = [int(float(s)) for s in arguments[part is not None :]]
    if part in (None, "fit"):
        core.run(sizes or SIZES, console)
    if part in (None, "evaluation"):
        evaluation.run(sizes[0] if sizes else 1_000_000, console)
    if part in (None, "ranking"):
        ranking.run(sizes[0] if sizes else 150_000, console)
    if part in (None, "folds"):
        folds.run(console)
    if part in (None, "timeline"):
        timeline.run(console)
    if part in (None, "coverage"):
        coverage.run(sizes[0] if part and sizes else coverage.SAMPLES, console)
    if part in (None, "views"):
        views.run(sizes if part else (), console)  # seeds, here
    if part == "margins":
        margins.run(console)
    if part == "detect":
        detect.run(console)


if __name__ == "__main__":
    main(sys.argv[1:])
