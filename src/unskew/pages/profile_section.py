"""How many items users have, at both dates, as a section of a page."""

from __future__ import annotations

from typing import Any

import numpy as np

from unskew.data.slice import Slice
from unskew.drawing.charts import draw_share_groups
from unskew.drawing.page import Line, Section, Toggles
from unskew.drawing.theme import BLUE, GREY, Stroke, adapt_chart
from unskew.text import count, percent, thousands


def profile_section(before: Slice | None, now: Slice) -> Section:
    """The sizes of profiles as shares of users; those of one item alone can only be held out whole."""
    dates = [*([] if before is None else [before]), now]
    names = [str(one.at) for one in dates]
    strokes = dict(zip(names, [Stroke(GREY), Stroke(BLUE)][-len(dates) :], strict=True))
    largest = max(int(one.sizes().max(initial=1)) for one in dates)
    rows: list[dict[str, Any]] = []
    for one, name in zip(dates, names, strict=True):
        sizes = one.sizes()
        sizes = sizes[sizes > 0]
        for low, high in _classes(largest):
            users = int(((sizes >= low) & (sizes <= high)).sum())
            share = users / max(len(sizes), 1)
            rows.append(
                {
                    "name": str(low) if low == high else f"{thousands(low)}–{thousands(high)}",
                    "group": name,
                    "share": share,
                    "shown": f"{percent(share)}, {thousands(users)} users",
                }
            )
    told = [_describe(one) for one in dates]
    text = f"{' '.join(told)} The fewer items users have, the less any weighting can change."
    chart = adapt_chart(
        draw_share_groups(rows, strokes, title="share of users", across="items of a user", legend=False)
    )
    key = Toggles("Dates", [Line(name, stroke.colour) for name, stroke in strokes.items()])
    return Section(
        "How many items users have", text, chart, anchor="profiles", label=text, adapts=True, toggles=[key]
    )


def _classes(largest: int) -> list[tuple[int, int]]:
    """1, 2, 3, 4 to 7, 8 to 15 and so on."""
    found = [(1, 1), (2, 2), (3, 3)]
    low = 4
    while low <= largest:
        found.append((low, 2 * low - 1))
        low *= 2
    return found


def _describe(one: Slice) -> str:
    sizes = one.sizes()
    sizes = sizes[sizes > 0]
    single = float((sizes == 1).mean())
    return (
        f"On {one.at}: {thousands(len(sizes))} users; median {count(round(float(np.median(sizes))), 'item')}, "
        f"mean {sizes.mean():.1f}; {percent(single, 1)} have only one."
    )
