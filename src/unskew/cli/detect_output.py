"""What ``unskew drift --detect`` shows: likely campaigns as a table and as a chart."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from unskew.cli.item_names import read_names
from unskew.cli.printing import print_line, print_table
from unskew.text import percent, thousands

if TYPE_CHECKING:
    from unskew.data.log import Log
    from unskew.weights.bursts import Bursts

_BEWARE = "Seasons, holidays and news look the same: check them against what you know."


def print_bursts(found: Bursts, log: Log, names: str | None) -> None:
    """The bursts, what they may be instead, and how to drop the interactions in them."""
    if not found.bursts:
        print_line(_describe_none(found))
        return
    rows = []
    for burst in found.bursts:
        codes = log.items.codes(list(burst.items))
        called = read_names(names, log.items.take(codes)) or [str(item) for item in burst.items]
        shown = [str(burst.window), thousands(burst.takes), f"× {burst.activity:.1f}", percent(burst.excess, 0)]
        rows.append([*shown, ", ".join(called[:3])])
    print_line("Likely campaigns: known users interacted more than usual, and with other items than usual")
    print_table(["window", "interactions", "activity", "above usual", "above all"], rows)
    flags = " ".join(f"--campaign {window}" for window in found.windows)
    print_line(f"{_BEWARE} How much of them recommendations caused: unskew excess ... {flags} --production auto")
    print_line(f"To drop the interactions in them: {flags}")


def draw_bursts_to(found: Bursts, log: Log, path: str) -> None:
    """Write the chart of the cells of time."""
    from unskew.drawing.charts import draw_bursts
    from unskew.drawing.page import save_chart

    windows = [{"start": burst.window.first, "end": burst.window.last} for burst in found.bursts]
    chart = draw_bursts(found.cells.to_pylist(), windows, dates=log.axis.is_calendar)
    listed = ", ".join(map(str, found.windows))
    lead = f"{listed}. {_BEWARE}" if found.bursts else _describe_none(found)
    save_chart(chart, Path(path), "Bursts in the log", lead)


def _describe_none(found: Bursts) -> str:
    if found.since is None:
        return "No burst was looked for: too few interactions to tell what is usual."
    return (
        f"No burst was detected since {found.since}. Recommendations that came little by little, or all the time, "
        "make none."
    )
