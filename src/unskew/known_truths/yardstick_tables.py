"""The findings of a yardstick as tables that people read: for each world, methods by recommenders."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from unskew.known_truths.seed_summary import mean_and_error
from unskew.known_truths.yardstick_result import Yardstick

Row = dict[str, Any]
Cells = list[list[str]]


@dataclass(frozen=True)
class WorldTables:
    """The methods in one world, for one quality, as cells whose first row is the head and first two columns words.

    Attributes
    ----------
    world, quality
        What they are about.
    errors
        The mean error of each recommender, Kendall's tau, the regret, how many of the true gains were seen and how
        many that were none, and how often intervals cover.
    removed
        The share of the raw bias removed, of each recommender.
    """

    world: str
    quality: str
    errors: Cells
    removed: Cells


def tabulate_worlds(found: Yardstick, *, spread: bool = True) -> list[WorldTables]:
    """The tables of each world and quality; errors with their standard errors, or without."""
    summary, ranking = found.summary.to_pylist(), found.ranking.to_pylist()
    names = list(dict.fromkeys((row["world"], row["quality"]) for row in ranking))
    return [_tabulate(name, _select(summary, name), _select(ranking, name), spread=spread) for name in names]


def _select(rows: Iterable[Row], name: tuple[str, str]) -> list[Row]:
    return [row for row in rows if (row["world"], row["quality"]) == name]


def _tabulate(name: tuple[str, str], summary: list[Row], ranking: list[Row], *, spread: bool) -> WorldTables:
    recommenders = list(dict.fromkeys(row["recommender"] for row in summary))
    by_name = {(row["method"], row["recommender"]): row for row in summary}

    def fill(one: Row, show: Callable[[Row], str]) -> list[str]:
        own = [by_name[one["method"], who] for who in recommenders]
        return [one["method"], one["knows"], *map(show, own)]

    errors = [["method", "knows", *recommenders, "tau", "regret", "gains", "false", "covered"]]
    for one in ranking:
        covered = mean_and_error(by_name[one["method"], who]["covered"] for who in recommenders)[0]
        errors.append(
            [
                *fill(one, lambda row: format_error(row["error"], row["error_se"] if spread else None)),
                "" if one["tau"] is None else f"{one['tau']:z.2f}",
                format_share(one["regret_share"]),
                f"{one['gains_seen']} of {one['gains']}",
                str(one["gains_false"]),
                format_share(covered),
            ]
        )
    shares = [fill(one, lambda row: format_share(row["bias_removed"])) for one in ranking]
    return WorldTables(*name, errors, [["method", "knows", *recommenders], *shares])


def format_error(error: float | None, spread: float | None) -> str:
    """An error, with its standard error if that is known: +4.2 ±0.5 %."""
    if error is None:
        return ""
    digits = 0 if abs(error) >= 0.9995 else 1
    return f"{100 * error:+z.{digits}f}" + ("" if spread is None else f" ±{100 * spread:.{digits}f}") + " %"


def format_share(share: float | None) -> str:
    """A share in percent; nothing where there is none."""
    return "" if share is None else f"{100 * share:z.0f} %"
