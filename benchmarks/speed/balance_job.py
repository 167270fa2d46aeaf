"""Raking of users and items with the library balance, run in its environment; see `benchmarks.speed.fits`.

Each pair is a unit of a survey with two covariates, its user and its item, whose margins are P(u) and the target.
"""

from __future__ import annotations

import logging
from importlib import metadata
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.frame.worker_side import serve

_given: dict[str, Any] = {}


def do(request: dict[str, Any]) -> None:
    """Load a problem, rake it, or write the probabilities of its pairs."""
    if request["do"] == "load":
        problem = np.load(request["file"])
        _given["pairs"] = pd.DataFrame({"user": problem["user"].astype(str), "item": problem["item"].astype(str)})
        _given["weights"] = pd.Series(problem["start"])
        _given["margins"] = _write_margins(problem["shares"], problem["target"])
        _given["passes"] = int(problem["passes"])
    elif request["do"] == "rake":
        _given["found"] = _rake()
    else:
        np.save(request["file"], _given["found"] / _given["found"].sum())


def _write_margins(shares: Any, target: Any) -> pd.DataFrame:
    """A table with these margins: its rows are where the sums of either begin anew."""
    edges = np.unique(np.concatenate([np.cumsum(shares), np.cumsum(target)]))
    edges = edges[np.concatenate([[True], np.diff(edges) > 1e-12])]
    middle = (np.concatenate([[0.0], edges[:-1]]) + edges) / 2
    places = [np.minimum(np.searchsorted(np.cumsum(m), middle), len(m) - 1) for m in (shares, target)]
    rows = {"user": places[0].astype(str), "item": places[1].astype(str)}
    return pd.DataFrame({**rows, "weight": np.diff(np.concatenate([[0.0], edges]))})


def _rake() -> Any:
    from balance.weighting_methods.rake import rake

    margins = _given["margins"]
    found = rake(
        _given["pairs"],
        _given["weights"],
        margins[["user", "item"]],
        margins["weight"],
        transformations=None,
        max_iteration=_given["passes"] - 1,  # one more is done
        convergence_rate=0.0,
        rate_tolerance=0.0,
    )
    return found["weight"].to_numpy()


if __name__ == "__main__":
    logging.disable(logging.WARNING)
    serve(do, {"balance": metadata.version("balance")})
