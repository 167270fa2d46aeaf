"""The rows of all seeds together: means with standard errors, the seeds being the independent units."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from unskew.evaluation.intervals import influences, standard_error

Row = dict[str, Any]
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
