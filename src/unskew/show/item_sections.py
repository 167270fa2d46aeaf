"""Items on a page: those that moved most, all with their shares, and how closely weights meet the target."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from unskew.drawing.page import SHARE, TEXT, Column, Listing, Section
from unskew.drawing.theme import adapt_chart
from unskew.text import escape_controls, percent, show_name, thousands
from unskew.weights.mix_charts import draw_drift, draw_match

if TYPE_CHECKING:
    from unskew.weights.drift import Drift
    from unskew.weights.item_weights import ItemWeights

_MOVED = 8


def moved_section(drift: Drift, names: Mapping[Any, str]) -> Section:
    """The items whose share changed most, on the log as it is."""
    rows = drift.to_arrow().slice(0, _MOVED).to_pylist()
    text = (
        f"On the log as it is, {percent(drift.bound)} of the item mix moved to other items between "
        f"{drift.reference} and {drift.at}. Recommendations move it, and so do seasons, news and new users."
    )
    moves = [
        f"{show_name(names.get(row['item'], row['item']), 36)}: {percent(row['p_reference'])} to "
        f"{percent(row['p_now'])}"
        for row in rows
    ]
    label = f"{text} {'; '.join(moves)}."
    chart = adapt_chart(draw_drift(drift, _MOVED, names))
    return Section("Items that moved most", text, chart, anchor="moved", label=label, adapts=True)


def list_items(weights: ItemWeights, names: Mapping[Any, str]) -> Section:
    """All items of now: their share now, their target and their share after weighting; largest change first."""
    order = np.argsort(-np.abs(weights.p_before - weights.p_reference), kind="stable")
    ids = weights.items.take(order).to_pylist()
    columns = [Column("item", "The item", TEXT, [escape_controls(str(names.get(item, item))) for item in ids])]
    if names:
        columns.append(Column("id", "Its id in the log", TEXT, [escape_controls(str(item)) for item in ids]))
    before, target, after = (
        shares[order].tolist() for shares in (weights.p_before, weights.p_reference, weights.p_after)
    )
    columns += [
        Column("share before", f"Of the item mix on {weights.at}, before re-weighting", SHARE, before),
        Column("target", f"Its share of the item mix on {weights.reference}", SHARE, target),
        Column("share after", f"Of the item mix on {weights.at}, re-weighted", SHARE, after),
    ]
    gone = weights.report.vanished_items
    text = (
        f"{thousands(len(ids))} items, those whose share changed most first. Re-weighting brings the share of "
        f"each item on {weights.at} as near to its share on {weights.reference}, the target, as the profiles of "
        "the users allow. An item that nobody had then has the target 0."
    )
    if gone.count:
        text += (
            f" {thousands(gone.count)} items that nobody has any more, with {percent(gone.mass)} of the item "
            "mix then, have no line."
        )
    hint = "Click on a head to sort; scroll with the arrow keys once the table has the focus."
    listing = Listing("All items with their shares before and after", columns, "Search items:", hint)
    return Section("All items", text, anchor="items", listing=listing)


def weight_sections(weights: ItemWeights) -> list[Section]:
    """How closely the re-weighted item mix meets that of the reference date, and why no closer."""
    r = weights.report
    explanation = weights.explanation
    text = (
        f"Before re-weighting, {percent(r.bound_before)} of the item mix was on other items than on "
        f"{weights.reference}; after it {percent(r.bound)} is. That is the bound: the re-weighted score of a list "
        "that is the same for everybody is at most that far from its score then."
        f"\n\n{explanation[0].upper()}{explanation[1:]}."
    )
    match = (
        "How much of the item mix of the reference date is met: in the green bar, items get what they had to "
        "within 5 %."
    )
    return [
        Section("How closely the item mix is met", text, anchor="weights"),
        Section("", "", adapt_chart(draw_match(weights)), caption=match, adapts=True),
    ]
