"""The rows of all seeds together: means with standard errors, the seeds being the independent units."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from unskew.evaluation.intervals import influences, standard_error

Row = dict[str, Any]
_METHOD = ("world", "method", "knows", "view", "weighting", "quality")


def summarise_rows(rows: Iterable[Row]) -> list[Row]:
    """One row for each world, method, recommender and quality."""
    return [
        dict(zip((*_METHOD, "recommender"), name, strict=True)) | _summarise(own)
        for name, own in _group(rows, (*_METHOD, "recommender"))
    ]


def _summarise(rows: Sequence[Row]) -> Row:
    error, error_se = mean_and_error([row["error"] for row in rows])
    removed, removed_se = find_share_removed(rows)
    covered = [row["covered"] for row in rows if row["covered"] is not None]
    return {
        "seeds": len(rows),
        "estimate": float(np.mean([row["estimate"] for row in rows])),
        "truth": float(np.mean([row["truth"] for row in rows])),
        "error": error,
        "error_se": error_se,
        "error_size": mean_and_error([None if row["error"] is None else abs(row["error"]) for row in rows])[0],
        "bias_removed": removed,
        "bias_removed_se": removed_se,
        "covered": float(np.mean(covered)) if covered else None,
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
    """One row for each world, method and quality."""
    found = []
    for name, own in _group(rankings, _METHOD):
        tau, tau_se = mean_and_error([row["tau"] for row in own])
        regret, regret_se = mean_and_error([row["regret"] for row in own])
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
                "regret_share": mean_and_error([row["regret_share"] for row in own])[0],
                **counts,
            }
        )
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
