"""A chart as a file of its own: a picture, a drawing, or a page that can be read without a network."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from unskew.drawing.page import Section, write_page
from unskew.drawing.theme import save_png, save_svg
from unskew.errors import InputError

ENDINGS = (".html", ".svg", ".png")


def check_chart_name(path: Path) -> None:
    """Refuse a name that does not say what kind of file to write."""
    if path.suffix.lower() not in ENDINGS:
        raise InputError(f"{path} is no name for a chart", remedy=f"let it end in {', '.join(ENDINGS)}")


def save_chart(chart: Any, path: Path, title: str, lead: str) -> None:
    """Write a chart as its name says; a page has the title and the lead above it."""
    check_chart_name(path)
    ending = path.suffix.lower()
    if ending == ".html":
        write_page(path, title, lead, [Section("", "", chart=chart)])
    else:
        (save_png if ending == ".png" else save_svg)(chart, path)
