"""A model of RecTools, scored by unskew with weights, and RecTools' metrics on the same pairs."""

from __future__ import annotations

import numpy as np
import pandas as pd
from rectools import Columns
from rectools.dataset import Dataset, IdMap, Interactions
from rectools.metrics import MRR, NDCG, HitRate, calc_metrics
from rectools.models import EASEModel

import unskew as us


def make_frame(user, item):
    return pd.DataFrame(
        {Columns.User: user, Columns.Item: item, Columns.Weight: 1.0, Columns.Datetime: "2024-01-01"}
    )


class RecTools:
    """A model of RecTools as a recommender: profiles come to it as the users of another dataset."""

    def __init__(self, model):
        self.model = model

    def fit(self, snapshot):
        profiles = us.recommend.Batch.of(snapshot)
        user = np.repeat(profiles.user, np.diff(profiles.start))
        dataset = Dataset.construct(make_frame(user, profiles.item))
        self.items = dataset.item_id_map
        self.model.fit(dataset)
        return self

    def lists_for(self, profiles, k):
        """RecTools' own table of recommendations, the number of the profile in place of the user."""
        rows = np.repeat(np.arange(len(profiles)), [len(items) for items in profiles])
        # one more user, who holds everything, so that the matrix has a column for every item
        user = np.concatenate([rows, np.full(self.items.size, -1)])
        frame = make_frame(user, np.concatenate([*profiles, self.items.external_ids]))
        users = IdMap.from_values(user)
        dataset = Dataset(users, self.items, Interactions.from_raw(frame, users, self.items))
        return self.model.recommend(np.unique(rows), dataset, k=k, filter_viewed=True)

    def recommend(self, profiles, k):
        found = self.lists_for([profiles.profile(row) for row in range(len(profiles))], k)
        lists = np.full((len(profiles), k), -1)
        lists[found[Columns.User], found[Columns.Rank] - 1] = found[Columns.Item]
        return lists


if __name__ == "__main__":
    log = us.simulate(users=800, items=200, seed=7).log.numbered_by_id
    before, now = log.at(300), log.at(log.last)
    weights = us.fit_weights(now, reference=before)
    model = RecTools(EASEModel(regularization=50))
    drawn = {"sample": 1000, "seed": 1}

    names = ["hit@10", "mrr@10", "ndcg@10"]
    ranks = us.rank_held_out(model, now, qualities=names, weights=weights, **drawn)
    ours = [ranks.score(name, weights).value for name in names]

    # the same pairs as a test set: a plain mean over its rows estimates the weighted score
    test = us.sample_pairs(now, weights, **drawn).to_arrow()
    lists = model.lists_for([log.items.codes(profile) for profile in test["profile"].to_pylist()], 10)
    truth = make_frame(np.arange(len(test)), log.items.codes(test["item"]))
    metrics = {"hit@10": HitRate(10), "mrr@10": MRR(10), "ndcg@10": NDCG(10, divide_by_achievable=True)}
    theirs = calc_metrics(metrics, reco=lists, interactions=truth)

    for name, our in zip(names, ours, strict=True):
        print(f"{name:8} unskew {our:.6f}   RecTools {theirs[name]:.6f}")
        assert abs(our - theirs[name]) < 1e-9
