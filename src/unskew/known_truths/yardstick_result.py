"""What a yardstick comes to: its tables, from the scores of many logs, as means over seeds."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from unskew.evaluation.intervals import influences, standard_error
from unskew.frames import show_as_table, to_native
from unskew.known_truths.case_names import INJECTED, SUMMARIES, TUNING_WORLDS
from unskew.text import group_rows, to_json_value

Row = dict[str, Any]

_TEXT, _NUMBER, _COUNT, _FLAG = pa.string(), pa.float64(), pa.int64(), pa.bool_()
_METHOD = {"method": _TEXT, "knows": _TEXT}
_HOW = {"metric": _TEXT, "view": _TEXT, "weighting": _TEXT}
ROWS = pa.schema(
    {
        "world": _TEXT,
        "seed": _COUNT,
        **_METHOD,
        "recommender": _TEXT,
        **_HOW,
        **dict.fromkeys(("estimate", "raw", "truth", "error", "bias_removed"), _NUMBER),
        "covered": _FLAG,
        **dict.fromkeys(("low", "high", "raw_low", "raw_high", "mean_truth", "effective_pairs"), _NUMBER),
        "trusted": _FLAG,
        "draws": _COUNT,
        "spread": _NUMBER,
        **dict.fromkeys(("change", "change_low", "change_high", "true_change"), _NUMBER),
        "gain": _FLAG,
        "gain_seen": _FLAG,
        "seconds": _NUMBER,
    }
)
"""The columns of `Yardstick.rows`."""

RANKING = pa.schema(
    {
        "world": _TEXT,
        **_METHOD,
        **_HOW,
        "seeds": _COUNT,
        "tau": _NUMBER,
        "tau_se": _NUMBER,
        "pairs": _COUNT,
        **dict.fromkeys(("regret", "regret_se", "regret_share", "regret_share_se"), _NUMBER),
        **dict.fromkeys(("trusted", "trusted_se", "placebo", "placebo_se"), _NUMBER),
        **dict.fromkeys(("gains", "gains_seen", "gains_false"), _COUNT),
        **dict.fromkeys(("covered", "covered_se"), _NUMBER),
    }
)
"""The columns of `Yardstick.ranking`."""

SUMMARY = pa.schema(
    {
        "world": _TEXT,
        **_METHOD,
        "recommender": _TEXT,
        **_HOW,
        "seeds": _COUNT,
        **dict.fromkeys(
            (
                *("estimate", "estimate_se", "truth", "truth_se"),
                *("error", "error_se", "error_size", "error_size_se"),
                *("bias_removed", "bias_removed_se", "covered", "covered_se", "trusted", "trusted_se"),
                *("effective_pairs", "seconds"),
            ),
            _NUMBER,
        ),
    }
)
"""The columns of `Yardstick.summary`."""


MEASURES = ("organic_so_far", "organic_before", "organic_after", "exposed_share", "induced_share")
"""The figures of a `Profile`."""

_FIGURES = {name: _NUMBER for measure in MEASURES for name in (measure, f"{measure}_se")}
WORLDS = pa.schema({"world": _TEXT, "used_for": _TEXT, "seeds": _COUNT, **_FIGURES})
"""The columns of the table of worlds."""

PAGE = "index.html"
TABLES = ("worlds", "rows", "summary", "ranking")
"""The tables of a yardstick, each a Parquet file in its folder."""

WRITTEN = (PAGE, *(f"{name}.parquet" for name in TABLES))
"""What stands in the folder beside the cases."""


@dataclass(frozen=True, repr=False, eq=False)
class Yardstick:
    """Every method beside the truth. Made by `yardstick`.

    Attributes
    ----------
    rows
        One row for each world, seed, method, recommender and metric.
    ranking
        One row for each world, method and metric, over seeds: whether recommenders come in their true order, what
        choosing by the method costs, and whether true gains since the reference date are seen.
    summary
        One row for each world, method, recommender and metric: means over seeds, with standard errors.
    worlds
        One row for each world: organic interactions a day, and the shares of interactions that were exposed and
        that recommendations caused, with standard errors.
    computed
        How many cases were computed in this run, and not taken from its folder.
    """

    rows: pa.Table
    ranking: pa.Table
    summary: pa.Table
    worlds: pa.Table
    computed: int = 0

    @classmethod
    def of(
        cls,
        rows: Iterable[Row],
        rankings: Iterable[Row],
        profiles: Iterable[tuple[str, Mapping[str, Any]]],
        computed: int,
    ) -> Yardstick:
        """From the rows, rankings and profiles of all seeds."""
        scores = list(rows)
        return cls(
            pa.Table.from_pylist(scores, ROWS),
            pa.Table.from_pylist(summarise_rankings(rankings, scores), RANKING),
            pa.Table.from_pylist(summarise_rows(scores), SUMMARY),
            pa.Table.from_pylist(summarise_worlds(profiles), WORLDS),
            computed,
        )

    def __repr__(self) -> str:
        worlds, methods = (self.rows.column(name).unique().to_pylist() for name in ("world", "method"))
        return f"Yardstick({', '.join(worlds)}: {len(methods)} methods, seeds {', '.join(map(str, self.seeds))})"

    @property
    def seeds(self) -> list[int]:
        """The seeds of the worlds."""
        return sorted(set(self.rows.column("seed").to_pylist()))

    def to_arrow(self) -> pa.Table:
        """The summary as an Arrow table."""
        return self.summary

    _repr_html_ = show_as_table

    def to_frame(self) -> Any:
        """The summary in pandas if it is installed, else in polars, else as an Arrow table."""
        return to_native(self.summary, None)

    def to_dict(self) -> dict[str, Any]:
        """Worlds, rows, ranking and summary, ready for JSON: what ``unskew yardstick --json`` prints."""
        names = ("worlds", "rows", "ranking", "summary")
        values: dict[str, Any] = to_json_value({name: getattr(self, name).to_pylist() for name in names})
        return values


_METHOD_NAMES = ("world", "method", "knows", "view", "weighting", "metric")


def summarise_rows(rows: Iterable[Row]) -> list[Row]:
    """One row for each world, method, recommender and metric."""
    names = (*_METHOD_NAMES, "recommender")
    summaries = []
    for name, several in group_rows(rows, names):
        removed, removed_se = find_share_removed(several)
        sizes = [{"error_size": None if row["error"] is None else abs(row["error"])} for row in several]
        summaries.append(
            {
                **dict(zip(names, name, strict=True)),
                "seeds": len(several),
                **_average(several, "estimate", "truth", "error", "covered", "trusted"),
                **_average(sizes, "error_size"),
                "bias_removed": removed,
                "bias_removed_se": removed_se,
                **{key: float(np.mean([row[key] for row in several])) for key in ("effective_pairs", "seconds")},
            }
        )
    return summaries


def _average(rows: Sequence[Mapping[str, Any]], *names: str) -> Row:
    means: Row = {}
    for name in names:
        means[name], means[f"{name}_se"] = mean_and_error(row[name] for row in rows)
    return means


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


def summarise_rankings(rankings: Iterable[Row], rows: Iterable[Row]) -> list[Row]:
    """One row for each world, method and metric, with the share of intervals of `rows` that cover.

    That share is one over recommenders first, and then over seeds.
    """
    by_name = dict(group_rows(rows, _METHOD_NAMES))
    counts = ("pairs", "gains", "gains_seen", "gains_false")
    summaries = []
    for name, several in group_rows(rankings, _METHOD_NAMES):
        seeds = [scores for _, scores in group_rows(by_name.get(name, []), ["seed"])]
        shares = [{"covered": mean_and_error(row["covered"] for row in scores)[0]} for scores in seeds]
        summaries.append(
            {
                **dict(zip(_METHOD_NAMES, name, strict=True)),
                "seeds": len(several),
                **_average(several, "tau", "regret", "regret_share", "trusted", "placebo"),
                **{key: sum(row[key] for row in several) for key in counts},
                **_average(shares, "covered"),
            }
        )
    return summaries


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


def summarise_worlds(profiles: Iterable[tuple[str, Mapping[str, Any]]]) -> list[Row]:
    """One row for each world: means over its seeds, with standard errors."""
    rows = [{**profile, "world": world} for world, profile in profiles]
    uses = dict.fromkeys((*SUMMARIES, INJECTED), "reporting") | dict.fromkeys(TUNING_WORLDS, "tuning")
    return [
        {"world": world, "used_for": uses.get(world, ""), "seeds": len(several), **_average(several, *MEASURES)}
        for (world,), several in group_rows(rows, ["world"])
    ]
