"""Lists of LensKit for held-out pairs, run in its environment; see `benchmarks.speed.ranking`."""

from __future__ import annotations

from importlib import metadata
from typing import Any

import numpy as np
import pandas as pd
from lenskit import recommend, topn_pipeline
from lenskit.data import ItemList, RecQuery, from_interactions_df
from lenskit.knn import EASEScorer, ItemKNNScorer

from benchmarks.frame.worker_side import serve

_given: dict[str, Any] = {}


def do(request: dict[str, Any]) -> None:
    """Load profiles and queries, train a model, recommend, or write the ranks of what was held out."""
    if request["do"] == "load":
        given = np.load(request["file"])
        _given["data"] = from_interactions_df(pd.DataFrame({"user_id": given["user"], "item_id": given["item"]}))
        profiles = np.split(given["profile"], given["edges"][1:-1])
        _given["queries"] = [RecQuery(history_items=ItemList(profile)) for profile in profiles]
        _given["held_out"] = given["held_out"]
    elif request["do"] == "train":
        scorer = {
            "ease": lambda: EASEScorer(regularization=request["l2"]),
            "neighbours": lambda: ItemKNNScorer(
                save_nbrs=request["neighbours"], max_nbrs=100_000, feedback="implicit"
            ),
        }[request["model"]]()
        _given["pipeline"] = topn_pipeline(scorer)
        _given["pipeline"].train(_given["data"])
    elif request["do"] == "recommend":
        _given["lists"] = [recommend(_given["pipeline"], query, request["k"]).ids() for query in _given["queries"]]
    else:
        np.save(request["file"], [_rank(*pair) for pair in zip(_given["lists"], _given["held_out"], strict=True)])


def _rank(found: Any, wanted: int) -> int:
    places = np.flatnonzero(np.asarray(found) == wanted)
    return int(places[0]) + 1 if len(places) else 0


if __name__ == "__main__":
    serve(do, {"lenskit": metadata.version("lenskit"), "torch": metadata.version("torch")})
