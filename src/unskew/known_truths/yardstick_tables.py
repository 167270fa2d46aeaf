"""The findings of a yardstick as tables that people read: for each world, methods by recommenders."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from unskew.known_truths.yardstick_result import Yardstick

Row = dict[str, Any]
Cells = list[list[str]]


@dataclass(frozen=True)
class WorldTables:
    """The methods in one world, for one metric, as cells whose first row is the head and first two columns words.

    Attributes
    ----------
    world, metric
        What they are about.
    errors
        The mean error of each recommender, Kendall's tau, the regret, in how many logs the view was trusted, what
        its placebo found, how many of the true gains were seen and how many that were none, and how often
        intervals cover.
    removed
        The share of the raw bias removed, of each recommender.
    """

    world: str
    metric: str
    errors: Cells
    removed: Cells


def tabulate_worlds(found: Yardstick) -> list[WorldTables]:
    """The tables of each world and metric; every mean with its standard error."""
    summary, ranking = found.summary.to_pylist(), found.ranking.to_pylist()
    names = list(dict.fromkeys((row["world"], row["metric"]) for row in ranking))
    return [_tabulate(name, _select(summary, name), _select(ranking, name)) for name in names]


def _select(rows: Iterable[Row], name: tuple[str, str]) -> list[Row]:
    return [row for row in rows if (row["world"], row["metric"]) == name]


def _tabulate(name: tuple[str, str], summary: list[Row], ranking: list[Row]) -> WorldTables:
    recommenders = list(dict.fromkeys(row["recommender"] for row in summary))
    by_name = {(row["method"], row["recommender"]): row for row in summary}

    def fill(one: Row, show: Callable[[Row], str]) -> list[str]:
        own = [by_name[one["method"], who] for who in recommenders]
        return [one["method"], one["knows"], *map(show, own)]

    errors = [
        ["method", "knows", *recommenders, "tau", "regret", "trusted", "placebo", "gains", "false", "covered"]
    ]
    for one in ranking:
        errors.append(
            [
                *fill(one, lambda row: format_error(row["error"], row["error_se"])),
                _format_tau(one["tau"], one["tau_se"]),
                format_share(one["regret_share"], one["regret_share_se"]),
                format_share(one["trusted"]),
                format_share(one["placebo"], one["placebo_se"]),
                f"{one['gains_seen']} of {one['gains']}",
                str(one["gains_false"]),
                format_share(one["covered"], one["covered_se"]),
            ]
        )
    shares = [fill(one, lambda row: format_share(row["bias_removed"], row["bias_removed_se"])) for one in ranking]
    return WorldTables(*name, errors, [["method", "knows", *recommenders], *shares])


def format_error(error: float | None, spread: float | None) -> str:
    """An error, with its standard error if that is known: +4.2 ±0.5 %."""
    if error is None:
        return ""
    digits = 0 if abs(error) >= 0.9995 else 1
    return f"{100 * error:+z.{digits}f}" + ("" if spread is None else f" ±{100 * spread:.{digits}f}") + " %"


def format_share(share: float | None, spread: float | None = None) -> str:
    """A share in percent, with its standard error if that is known; nothing if there is no share."""
    if share is None:
        return ""
    return f"{100 * share:z.0f}" + ("" if spread is None else f" ±{100 * spread:.0f}") + " %"


def _format_tau(tau: float | None, spread: float | None) -> str:
    if tau is None:
        return ""
    return f"{tau:z.2f}" + ("" if spread is None else f" ±{spread:.2f}")
