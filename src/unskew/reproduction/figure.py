"""A figure of the reproduction and its files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from unskew.drawing.theme import convert_svg, save_svg
from unskew.table_files import write_parquet


@dataclass(frozen=True)
class Figure:
    """A chart, the numbers in it, and a sentence that says what one sees.

    Attributes
    ----------
    number
        Its number on the page; 1 to 6 are those of the paper.
    name
        The stem of its files, such as "figure-3-g1-raw".
    title
        What is shown; the same as in the chart.
    chart
        An altair chart.
    sentence
        What one sees, in plain text made from the numbers.
    table
        The numbers.
    """

    number: int
    name: str
    title: str
    chart: Any
    sentence: str
    table: pa.Table


def save_figure(figure: Figure, folder: Path) -> list[Path]:
    """Write NAME.png, NAME.svg and NAME.parquet, each whole or not at all; returns their paths."""
    png, svg, data = (folder / f"{figure.name}.{kind}" for kind in ("png", "svg", "parquet"))
    save_svg(figure.chart, svg)
    convert_svg(svg, png)
    about = {"number": figure.number, "title": figure.title, "sentence": figure.sentence}
    write_parquet(data, figure.table, "figure", about)
    return [png, svg, data]
