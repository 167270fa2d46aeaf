"""Charts as altair objects: the same in a notebook, in a page that works offline, and as a picture."""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np
import pyarrow as pa

from unskew.report.look import GREY, INK, RAW, WEIGHTED, styled
from unskew.result import ItemWeights


def score_chart(table: pa.Table, marks: tuple[int, ...], title: str, subtitle: str) -> Any:
    """Scores over time, raw and weighted, one panel for each algorithm.

    Parameters
    ----------
    table
        Columns at, algorithm, weighting ("raw" or "weighted"), score (relative to the reference).
    marks
        Times at which something happened.
    title, subtitle
        What one sees.
    """
    rows = table.to_pylist()
    algorithms = list(dict.fromkeys(row["algorithm"] for row in rows))
    last = max(row["at"] for row in rows)
    first = min(row["at"] for row in rows)
    colour = alt.Color("weighting:N", legend=None).scale(domain=["raw", "weighted"], range=[RAW, WEIGHTED])
    panels = []
    for name in algorithms:
        own = [row for row in rows if row["algorithm"] == name]
        base = alt.Chart(alt.InlineData(values=own))
        x = alt.X("at:Q", title="day").scale(domain=[first, last + (last - first) * 0.18], nice=False, zero=False)
        y = alt.Y("score:Q", title="score against day 300").axis(format="+.0%")
        lines = base.mark_line(strokeWidth=2.2).encode(
            x=x,
            y=y,
            color=colour,
            strokeDash=alt.StrokeDash("weighting:N", legend=None).scale(
                domain=["raw", "weighted"], range=[[5, 3], [1, 0]]
            ),
        )
        ends = [
            row | {"label": f"{row['weighting']} {round(row['score'], 2) + 0.0:+.0%}"}
            for row in own
            if row["at"] == last
        ]
        labels = (
            alt.Chart(alt.InlineData(values=ends))
            .mark_text(align="left", dx=6, fontSize=12, fontWeight="bold")
            .encode(x="at:Q", y="score:Q", text="label:N", color=colour)
        )
        rules = (
            alt.Chart(alt.InlineData(values=[{"at": m} for m in marks]))
            .mark_rule(color=GREY, strokeDash=[2, 3])
            .encode(x="at:Q")
        )
        notes = (
            alt.Chart(alt.InlineData(values=[{"at": m, "label": "campaign"} for m in marks]))
            .mark_text(align="left", dx=4, color=GREY, fontSize=10, baseline="bottom")
            .encode(x="at:Q", y=alt.value(228), text="label:N")
        )
        panels.append((rules + lines + labels + notes).properties(width=330, height=230, title=name))
    chart: Any = alt.hconcat(*panels, spacing=30)
    return styled(chart, title, subtitle)


def mix_chart(weights: ItemWeights, n: int = 15, names: dict[Any, str] | None = None) -> Any:
    """The items that moved most: where they were, where they are, and where weighting puts them."""
    order = np.argsort(-np.abs(weights.p_before - weights.p_reference), kind="stable")[:n]
    rows = []
    for k in order:
        item = weights.items[int(k)].as_py()
        for when, p in (
            ("reference", weights.p_reference[k]),
            ("now", weights.p_before[k]),
            ("now, weighted", weights.p_after[k]),
        ):
            rows.append({"item": (names or {}).get(item, str(item)), "when": when, "p": float(p)})
    shown = list(dict.fromkeys(str(row["item"]) for row in rows))
    kinds = ["reference", "now", "now, weighted"]
    base = alt.Chart(alt.InlineData(values=rows)).encode(
        y=alt.Y("item:N", sort=shown, title=None), x=alt.X("p:Q", title="share of the item mix").axis(format=".1%")
    )
    lines = base.mark_line(color="#cccccc", strokeWidth=2).encode(detail="item:N")
    points = base.mark_point(filled=True, size=70, opacity=1).encode(
        color=alt.Color("when:N", title=None).scale(domain=kinds, range=[INK, RAW, WEIGHTED]),
        shape=alt.Shape("when:N", title=None).scale(domain=kinds, range=["circle", "triangle-right", "cross"]),
    )
    chart: Any = (lines + points).properties(width=560, height=22 * len(shown))
    return styled(
        chart,
        f"The {len(shown)} items that moved most between {weights.reference} and {weights.at}",
        "Where weighting succeeds, the cross covers the circle",
    )
