"""The tables behind figures 1 to 6, those of the paper, from what was measured."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from unskew.over_time.timeline_table import Timeline
from unskew.reproduction.study import LAST, Study
from unskew.reproduction.weighting_strokes import ALL, RAW, weighting_name


def items_table(timeline: Timeline, groups: Mapping[int, str]) -> pa.Table:
    """Figure 1: the raw probabilities of the items, with their group."""
    found = {
        (row["item"], row["at"]): row["probability"]
        for row in timeline.probabilities.to_pylist()
        if row["weighting"] == RAW
    }
    return pa.Table.from_pylist(
        [
            {"at": at, "item": item, "group": group, "probability": found[item, at]}
            for item, group in groups.items()
            for at in timeline.dates
        ]
    )


def sizes_table(study: Study) -> pa.Table:
    """Figure 2: how many users hold so many items on the last day."""
    sizes, users = np.unique(study.log.at(LAST).sizes(), return_counts=True)
    keep = sizes > 0
    return pa.table({"items": sizes[keep], "users": users[keep]})


def weighted_table(timeline: Timeline, study: Study, algorithm: str) -> pa.Table:
    """Figures 5 and 6: columns at, weighting, value, low, high (drawn) and exact (all pairs), of one algorithm."""
    own = {"g1": study.g1, "g2": study.g2}[algorithm]
    exact: dict[tuple[Any, str], float] = defaultdict(float)
    for row in timeline.probabilities.to_pylist():
        if row["item"] in own:
            exact[row["at"], _name_weighting(row)] += row["probability"]
    found = [
        {
            "at": row["at"],
            "weighting": _name_weighting(row),
            **{key: row[key] for key in ("value", "low", "high")},
            "exact": exact[row["at"], _name_weighting(row)],
        }
        for row in timeline.rows.to_pylist()
        if row["recommender"] == algorithm
    ]
    order = [RAW, *(weighting_name("weighted", p) for p in study.tops), ALL]
    return pa.Table.from_pylist(sorted(found, key=lambda row: (order.index(row["weighting"]), row["at"])))


def raw_table(weighted: pa.Table) -> pa.Table:
    """Figures 3 and 4: the rows of a weighted table without weights."""
    rows = [row for row in weighted.to_pylist() if row["weighting"] == RAW]
    return pa.Table.from_pylist([{k: v for k, v in row.items() if k != "weighting"} for row in rows])


def _name_weighting(row: dict[str, Any]) -> str:
    return weighting_name(row["weighting"], row["top"])
