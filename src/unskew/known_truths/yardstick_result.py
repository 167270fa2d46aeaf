"""What a yardstick found: every method beside the truth of its own question, and the tables made of that."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from unskew.frames import show_as_table, to_native
from unskew.known_truths.seed_summary import summarise_coverage, summarise_rankings, summarise_rows
from unskew.known_truths.world_profile import WORLDS, summarise_worlds
from unskew.text import to_json_value

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


@dataclass(frozen=True, repr=False, eq=False)
class Yardstick:
    """Every method beside the truth. Made by `unskew.yardstick`.

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
        found = list(rows)
        ranking = summarise_coverage(summarise_rankings(rankings), found)
        return cls(
            _make_table(found, ROWS),
            _make_table(ranking, RANKING),
            _make_table(summarise_rows(found), SUMMARY),
            _make_table(summarise_worlds(profiles), WORLDS),
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
        tables: Mapping[str, pa.Table] = {
            "worlds": self.worlds,
            "rows": self.rows,
            "ranking": self.ranking,
            "summary": self.summary,
        }
        told: dict[str, Any] = to_json_value({name: table.to_pylist() for name, table in tables.items()})
        return told


def _make_table(rows: list[Row], schema: pa.Schema) -> pa.Table:
    return pa.Table.from_pylist(rows, schema=schema)
