"""Drift and weights as charts: what moved, how large the weights are, and how closely they match the target."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from unskew.arrays.types import Floats, Mask
from unskew.drawing.charts import draw_changes, draw_shares
from unskew.drawing.theme import apply_theme, wrap_lines
from unskew.errors import InputError
from unskew.text import percent, show_name, thousands

if TYPE_CHECKING:
    from unskew.weights.drift import Drift
    from unskew.weights.item_weights import ItemWeights

_MATCHED = 0.05
_WEIGHT_EDGES = (0.1, 0.5, 0.9, 1.1, 2.0, 10.0)
_WEIGHT_NAMES = ("below|0.1", "0.1 to|0.5", "0.5 to|0.9", "about|1", "1.1 to|2", "2 to|10", "above|10")
_RATIO_EDGES = (0.5, 0.8, 1 - _MATCHED, 1 + _MATCHED, 1.25, 2.0)
_WANTED = "as|wanted"
_RATIO_NAMES = ("below|half", "50 to|80 %", "80 to|95 %", _WANTED, "105 to|125 %", "125 to|200 %", "above|twice")


def plot_drift(drift: Drift, top: int, names: Mapping[Any, str]) -> Any:
    """The items that moved most, with the words that belong to them."""
    if top < 1:
        raise InputError(f"plot(top) shows at least one item, not {top}", remedy="give at least 1")
    words = (
        f"{percent(drift.bound)} of the item mix moved between {drift.reference} and {drift.at}: the score of no "
        "list that everybody gets has changed by more"
    )
    chart = draw_drift(drift, top, names)
    return apply_theme(chart, "What moved most", wrap_lines(words, 640), words)


def draw_drift(drift: Drift, top: int, names: Mapping[Any, str]) -> Any:
    """The share of each item at both dates, largest change first."""
    rows = [
        {
            "name": show_name(names.get(row["item"], row["item"]), 36),
            "before": row["p_reference"],
            "now": row["p_now"],
        }
        for row in drift.to_arrow().slice(0, top).to_pylist()
    ]
    before = "the reference" if drift.reference is None else str(drift.reference)
    return draw_changes(rows, before=before, now=str(drift.at), title="share of the item mix")


def plot_weights(weights: ItemWeights) -> Any:
    """Both charts of the weights, one above the other."""
    import altair as alt

    both = alt.vconcat(draw_weight_sizes(weights), draw_match(weights), spacing=30)
    head = f"Item weights at {weights.at} to the item mix of {weights.reference}"
    return apply_theme(both, head, wrap_lines(f"{weights.explanation[0].upper()}{weights.explanation[1:]}", 640))


def draw_weight_sizes(weights: ItemWeights) -> Any:
    """How much of today's item mix has which weight."""
    has = weights.log_weights > -np.inf
    rows = _classify(weights.weights, weights.p_before, has, _WEIGHT_EDGES, _WEIGHT_NAMES, good=None)
    if not has.all():
        rows.insert(0, _share("left|out", weights.p_before, ~has))
    return draw_shares(rows, title="share of the item mix now", across="weight of the item")


def draw_match(weights: ItemWeights) -> Any:
    """How much of the target is met, by how much of it each item gets."""
    return draw_shares(
        match_classes(weights),
        title="share of the reference mix",
        across="share after weighting, of what was wanted",
    )


def match_classes(weights: ItemWeights) -> list[dict[str, Any]]:
    """How much of the target falls to items that get so much of what they should."""
    wanted = weights.target > 0
    ratio = np.divide(weights.p_after, weights.target, out=np.zeros(len(weights)), where=wanted)
    return _classify(ratio, weights.target, wanted, _RATIO_EDGES, _RATIO_NAMES, good=_WANTED)


def _classify(
    values: Floats,
    shares: Floats,
    items: Mask,
    edges: Sequence[float],
    names: Sequence[str],
    *,
    good: str | None,
) -> list[dict[str, Any]]:
    classes = np.searchsorted(edges, values, side="right")
    rows = [_share(name, shares, items & (classes == k)) for k, name in enumerate(names)]
    return [row | {"good": row["name"] == good} for row in rows]


def _share(name: str, shares: Floats, chosen: Mask) -> dict[str, Any]:
    total = float(shares[chosen].sum())
    items = f"{thousands(int(chosen.sum()))} items" if chosen.sum() != 1 else "1 item"
    return {"name": name, "share": total, "shown": f"{percent(total)}, {items}", "good": False}
