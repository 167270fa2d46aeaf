"""What the scores of many logs come to: errors, agreement of orders, and means over seeds."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import numpy as np

from unskew.drawing.theme import BLUE, INK, PALE, VERMILION, apply_theme, inline_data
from unskew.evaluation.intervals import influences, standard_error

Pair = tuple[str, str]
"""Two recommenders, the truly better one first."""


@dataclass(frozen=True)
class Choice:
    """What is chosen by some estimates, and what that costs.

    Attributes
    ----------
    chosen, best
        The recommender with the best estimate, and the truly best.
    regret
        What is lost by the choice: the true score of the best minus that of the chosen one.
    regret_share
        The same as a share of the true score of the best; None if that is 0.
    """

    chosen: str
    best: str
    regret: float
    regret_share: float | None


def kendall_tau(estimates: Mapping[str, float], ordered: Sequence[Pair]) -> float | None:
    """Kendall's tau over some pairs: the share in the true order minus the share in the reverse; None without any.

    A pair of equal estimates counts for neither.

    >>> kendall_tau({"a": 3.0, "b": 2.0, "c": 2.5}, [("a", "b"), ("b", "c"), ("a", "c")])
    0.3333333333333333
    """
    if not ordered:
        return None
    return float(np.mean([np.sign(estimates[better] - estimates[worse]) for better, worse in ordered]))


def choose_by(estimates: Mapping[str, float], truths: Mapping[str, float]) -> Choice:
    """The choice that estimates lead to; of equal ones the first.

    >>> choose_by({"a": 1.0, "b": 2.0}, {"a": 0.5, "b": 0.25})
    Choice(chosen='b', best='a', regret=0.25, regret_share=0.5)
    """
    chosen, best = (max(scores, key=lambda name: scores[name]) for scores in (estimates, truths))
    regret = truths[best] - truths[chosen]
    return Choice(chosen, best, regret, regret / truths[best] if truths[best] > 0 else None)


Row = dict[str, Any]

_CELL, _LINE = 46, 21  # width and height of a cell
_ACROSS = 700  # width of all cells, in which worlds stand side by side as far as there is room
_NAMES = 230  # width of the names of methods
_WORST = 0.5  # errors beyond it have the same colour


def draw_error_map(summary: Sequence[Row], methods: Sequence[str], title: str, subtitle: str) -> Any:
    """The chart of one metric: a panel for each world, methods down in the order given, recommenders across.

    `summary` are rows with world, method, recommender and error; a cell stays grey where there is no row.
    """
    worlds, recommenders = (list(dict.fromkeys(row[name] for row in summary)) for name in ("world", "recommender"))
    columns = max(1, min(len(worlds), _ACROSS // (_CELL * len(recommenders))))
    panels = [
        _draw_panel(
            [row for row in summary if row["world"] == world], world, methods, recommenders, first=k % columns == 0
        )
        for k, world in enumerate(worlds)
    ]
    rows = [alt.hconcat(*panels[k : k + columns], spacing=16) for k in range(0, len(panels), columns)]
    words = f"Errors of {', '.join(methods)} in the worlds {', '.join(worlds)}; the tables have the numbers"
    return apply_theme(alt.vconcat(*rows, spacing=14), title, subtitle, words)


def _draw_panel(
    rows: Sequence[Row], world: str, methods: Sequence[str], recommenders: Sequence[str], *, first: bool
) -> Any:
    cells = [
        {
            "method": row["method"],
            "recommender": row["recommender"],
            "error": row["error"],
            "shown": format_cell(row["error"]),
            "strong": abs(row["error"]) > 0.7 * _WORST,
        }
        for row in rows
        if row["error"] is not None
    ]
    names = alt.Axis(labelLimit=_NAMES, labels=first, ticks=False)
    x = alt.X("recommender:N", title=None).scale(domain=list(recommenders))
    y = alt.Y("method:N", title=None, axis=names).scale(domain=list(methods))
    base = alt.Chart(inline_data(cells)).encode(
        x=x.axis(orient="top", labelAngle=-40, domain=False, ticks=False), y=y
    )
    scale = alt.Scale(
        domain=[-_WORST, 0, _WORST], range=[BLUE, "#ffffff", VERMILION], clamp=True, interpolate="rgb"
    )
    squares = base.mark_rect(stroke="#ffffff").encode(color=alt.Color("error:Q", legend=None, scale=scale))
    ink = alt.when("datum.strong").then(alt.value("#ffffff")).otherwise(alt.value(INK))
    numbers = base.mark_text(fontSize=10.5).encode(text="shown:N", color=ink)
    head = alt.TitleParams(world, anchor="start", fontSize=13, color=INK, offset=6)
    size = {"width": _CELL * len(recommenders), "height": _LINE * len(methods)}
    return (squares + numbers).properties(title=head, view=alt.ViewBackground(fill=PALE), **size)


def format_cell(error: float) -> str:
    """An error in a cell: +4 %, or +0.4 % where it is small.

    >>> format_cell(0.0312), format_cell(-0.004), format_cell(1.5)
    ('+3 %', '\u22120.4 %', '+150 %')
    """
    shown = 100 * error
    text = f"{shown:+z.1f}" if abs(shown) < 0.95 else f"{shown:+z.0f}"
    return text.replace("-", "\u2212") + " %"


_METHOD = ("world", "method", "knows", "view", "weighting", "metric")


def summarise_rows(rows: Iterable[Row]) -> list[Row]:
    """One row for each world, method, recommender and metric."""
    return [
        dict(zip((*_METHOD, "recommender"), name, strict=True)) | _summarise(own)
        for name, own in _group(rows, (*_METHOD, "recommender"))
    ]


def _summarise(rows: Sequence[Row]) -> Row:
    error, error_se = mean_and_error([row["error"] for row in rows])
    removed, removed_se = find_share_removed(rows)
    covered, covered_se = mean_and_error([row["covered"] for row in rows])
    trusted, trusted_se = mean_and_error([row["trusted"] for row in rows])
    estimate, estimate_se = mean_and_error([row["estimate"] for row in rows])
    truth, truth_se = mean_and_error([row["truth"] for row in rows])
    size, size_se = mean_and_error([None if row["error"] is None else abs(row["error"]) for row in rows])
    return {
        "seeds": len(rows),
        "estimate": estimate,
        "estimate_se": estimate_se,
        "truth": truth,
        "truth_se": truth_se,
        "error": error,
        "error_se": error_se,
        "error_size": size,
        "error_size_se": size_se,
        "bias_removed": removed,
        "bias_removed_se": removed_se,
        "covered": covered,
        "covered_se": covered_se,
        "trusted": trusted,
        "trusted_se": trusted_se,
        "effective_pairs": float(np.mean([row["effective_pairs"] for row in rows])),
        "seconds": float(np.mean([row["seconds"] for row in rows])),
    }


def find_share_removed(rows: Sequence[Row]) -> tuple[float | None, float | None]:
    """``1 - sum |estimate - truth| / sum |raw - truth|`` over seeds, with its standard error, linearised.

    None where the raw scores are together no further from the truth than their intervals reach.
    """
    left = np.array([abs(row["estimate"] - row["truth"]) for row in rows])
    bias = np.array([abs(row["raw"] - row["truth"]) for row in rows])
    reach = [
        row["raw_high"] - row["raw"] if row["truth"] > row["raw"] else row["raw"] - row["raw_low"] for row in rows
    ]
    if bias.sum() <= sum(reach):
        return None, None
    error = standard_error(influences(bias, left), len(rows))
    return float(1 - left.sum() / bias.sum()), None if math.isnan(error) else error


def summarise_rankings(rankings: Iterable[Row]) -> list[Row]:
    """One row for each world, method and metric."""
    found = []
    for name, own in _group(rankings, _METHOD):
        tau, tau_se = mean_and_error([row["tau"] for row in own])
        regret, regret_se = mean_and_error([row["regret"] for row in own])
        regret_share, regret_share_se = mean_and_error([row["regret_share"] for row in own])
        trusted, trusted_se = mean_and_error([row["trusted"] for row in own])
        placebo, placebo_se = mean_and_error([row["placebo"] for row in own])
        counts = {key: sum(row[key] for row in own) for key in ("gains", "gains_seen", "gains_false")}
        found.append(
            dict(zip(_METHOD, name, strict=True))
            | {
                "seeds": len(own),
                "tau": tau,
                "tau_se": tau_se,
                "pairs": sum(row["pairs"] for row in own),
                "regret": regret,
                "regret_se": regret_se,
                "regret_share": regret_share,
                "regret_share_se": regret_share_se,
                "trusted": trusted,
                "trusted_se": trusted_se,
                "placebo": placebo,
                "placebo_se": placebo_se,
                **counts,
            }
        )
    return found


def summarise_coverage(rankings: Iterable[Row], rows: Iterable[Row]) -> list[Row]:
    """Summarised rankings with the share of intervals that cover, over recommenders and then over seeds."""
    by_name = dict(_group(rows, _METHOD))
    found = []
    for ranking in rankings:
        seeds = _group(by_name.get(tuple(ranking[name] for name in _METHOD), []), ["seed"])
        shares = [mean_and_error([row["covered"] for row in several])[0] for _, several in seeds]
        covered, covered_se = mean_and_error(shares)
        found.append(ranking | {"covered": covered, "covered_se": covered_se})
    return found


def mean_and_error(values: Iterable[float | None]) -> tuple[float | None, float | None]:
    """The mean of those that are known, and its standard error from their spread; None where too few are.

    >>> mean_and_error([1.0, 3.0, None])
    (2.0, 1.0)
    """
    known = [value for value in values if value is not None]
    if not known:
        return None, None
    error = float(np.std(known, ddof=1) / math.sqrt(len(known))) if len(known) > 1 else None
    return float(np.mean(known)), error


def _group(rows: Iterable[Row], names: Sequence[str]) -> list[tuple[tuple[Any, ...], list[Row]]]:
    """The rows that share some values, in the order in which these first come."""
    found: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        found.setdefault(tuple(row[name] for name in names), []).append(row)
    return list(found.items())
