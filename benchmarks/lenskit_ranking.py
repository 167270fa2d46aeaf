"""``python -m benchmarks.lenskit_ranking PAIRS SAMPLE``: seconds that LensKit takes for one list, as JSON.

Run by `benchmarks.ranking` in the environment of LensKit, on the same world.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from lenskit import recommend, topn_pipeline
from lenskit.als import ImplicitMFScorer
from lenskit.data import ItemList, RecQuery, from_interactions_df
from lenskit.knn import EASEScorer, ItemKNNScorer

import unskew as us
from benchmarks.worlds import world_to_rank
from unskew.evaluation.folds import take_pairs
from unskew.evaluation.pairs import all_pairs

SCORERS: dict[str, Callable[[], Any]] = {
    "ALS": lambda: ImplicitMFScorer(embedding_size=64, epochs=3),
    "EASE": lambda: EASEScorer(regularization=200),
    "item neighbours": lambda: ItemKNNScorer(max_nbrs=50, feedback="implicit"),
}


def main(pairs: int, sample: int) -> None:
    """Train each model, and have it recommend for some of the held-out pairs."""
    snapshot = world_to_rank(pairs)
    whole = us.Batch.of(snapshot)
    frame = pd.DataFrame({"user_id": np.repeat(whole.user, np.diff(whole.start)), "item_id": whole.item})
    data = from_interactions_df(frame)
    held = all_pairs(snapshot)
    some = take_pairs(held, np.sort(np.random.default_rng(1).choice(len(held), sample, replace=False)))
    profiles = some.remaining(0, sample)
    queries = [RecQuery(history_items=ItemList(profiles.profile(row))) for row in range(sample)]
    found = {}
    for name, make in SCORERS.items():
        pipeline = topn_pipeline(make())
        pipeline.train(data)
        recommend(pipeline, queries[0], 10)
        began = time.process_time()
        for query in queries:
            recommend(pipeline, query, 10)
        found[name] = (time.process_time() - began) / sample
    print(json.dumps(found))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
