"""A model of LensKit, scored by unskew with weights, and LensKit's metrics on the same pairs."""

from __future__ import annotations

import numpy as np
import pandas as pd
from lenskit import recommend, topn_pipeline
from lenskit.data import ItemList, ItemListCollection, RecQuery, from_interactions_df
from lenskit.knn import ItemKNNScorer
from lenskit.metrics import NDCG, Hit, RecipRank, RunAnalysis
from lenskit.metrics.ranking import LogRankWeight

import unskew as us


class LensKit:
    """A pipeline of LensKit as a recommender: trained at each date, asked for one profile at a time."""

    def __init__(self, scorer):
        self.pipeline = topn_pipeline(scorer)

    def fit(self, snapshot):
        profiles = us.recommend.Batch.of(snapshot)
        pairs = {"user_id": np.repeat(profiles.user, np.diff(profiles.start)), "item_id": profiles.item}
        self.pipeline.train(from_interactions_df(pd.DataFrame(pairs)))
        return self

    def list_for(self, codes, k):
        return recommend(self.pipeline, RecQuery(history_items=ItemList(codes)), k)

    def recommend(self, profiles, k):
        lists = np.full((len(profiles), k), -1)
        for row in range(len(profiles)):
            found = self.list_for(profiles.profile(row), k).ids()
            lists[row, : len(found)] = found
        return lists


if __name__ == "__main__":
    log = us.simulate(users=800, items=200, seed=7).log.numbered_by_id
    before, now = log.at(300), log.at(log.last)
    weights = us.fit_weights(now, reference=before)
    model = LensKit(ItemKNNScorer(max_nbrs=20, feedback="implicit"))
    drawn = {"sample": 1000, "seed": 1}

    names = ["hit@10", "mrr@10", "ndcg@10"]
    ranks = us.rank_held_out(model, now, qualities=names, weights=weights, **drawn)
    ours = [ranks.score(name, weights).value for name in names]

    # the same pairs as a test set: a plain mean over its rows estimates the weighted score
    lists, truth = ItemListCollection(["row"]), ItemListCollection(["row"])
    for row, pair in enumerate(us.sample_pairs(now, weights, **drawn).to_arrow().to_pylist()):
        lists.add(model.list_for(log.items.codes(pair["profile"]), 10), row=row)
        truth.add(ItemList(log.items.codes([pair["item"]])), row=row)
    metrics = RunAnalysis(Hit(10), RecipRank(10), NDCG(10, weight=LogRankWeight(offset=1)))
    theirs = metrics.measure(lists, truth).list_metrics().mean()

    for name, our, their in zip(names, ours, theirs, strict=True):
        print(f"{name:8} unskew {our:.6f}   LensKit {their:.6f}")
        assert abs(our - their) < 1e-9
