"""A model of RecBole, scored by unskew with weights, and RecBole's metrics on the same pairs."""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path

import numpy as np
import torch
from recbole.config import Config
from recbole.data import create_dataset
from recbole.data.interaction import Interaction
from recbole.evaluator import Collector, Evaluator
from recbole.model.general_recommender import EASE
from scipy import sparse

import unskew as us


class RecBole:
    """RecBole's EASE as a model that is fitted to a matrix.

    RecBole reads files and asks for users by number; so the matrix becomes a file, and rows to score take the
    place of the users it knows.
    """

    def __init__(self, reg_weight: float = 50.0):
        self.reg_weight = reg_weight

    def fit(self, x):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "log" / "log.inter"
            path.parent.mkdir()
            pairs = "".join(f"{user}\t{item}\n" for user, item in zip(*x.nonzero(), strict=True))
            path.write_text(f"user_id:token\titem_id:token\n{pairs}")
            self.config = Config(
                model="EASE",
                dataset="log",
                config_dict={
                    "data_path": folder,
                    "load_col": {"inter": ["user_id", "item_id"]},
                    "reg_weight": self.reg_weight,
                    "metrics": ["Hit", "MRR", "NDCG"],
                    "topk": [10],
                    "valid_metric": "MRR@10",
                    "metric_decimal_place": 12,
                    "use_gpu": False,
                },
            )
            dataset = create_dataset(self.config)
        self.model = EASE(self.config, dataset)
        self.number = dataset.token2id("item_id", [str(item) for item in range(x.shape[1])])
        return self

    def score_all(self, rows):
        """RecBole's scores, in RecBole's numbering of items, which begins with one that is none."""
        rows = rows.tocoo()
        shape = (rows.shape[0], self.model.n_items)
        self.model.interaction_matrix = sparse.csr_matrix((rows.data, (rows.row, self.number[rows.col])), shape)
        users = Interaction({"user_id": torch.arange(shape[0])})
        return self.model.full_sort_predict(users).reshape(shape)

    def predict(self, rows):
        return self.score_all(rows)[:, self.number]


if __name__ == "__main__":
    warnings.simplefilter("ignore", FutureWarning)  # of pandas, about RecBole
    log = us.simulate(users=800, items=200, seed=7).log.numbered_by_id
    before, now = log.at(300), log.at(log.last)
    # whoever holds one item has none left: everything scores 0, which unskew ranks by id and torch.topk anyhow
    weights = us.fit_weights(now, reference=before, min_items=2)
    model = us.MatrixModel(RecBole(reg_weight=50.0), "predict", name="EASE of RecBole")
    drawn = {"sample": 1000, "seed": 1, "min_items": 2}

    names = ["hit@10", "mrr@10", "ndcg@10"]
    ranks = us.rank_held_out(model, now, qualities=names, weights=weights, **drawn)
    ours = [ranks.score(name, weights).value for name in names]

    # the same pairs as a test set, ranked and measured by RecBole
    test = us.sample_pairs(now, weights, **drawn).to_arrow()
    column = {item: place for place, item in enumerate(sorted(now.marginal().to_dict()))}
    x = sparse.lil_matrix((len(test), len(column)), dtype=np.float32)
    for row, profile in enumerate(test["profile"].to_pylist()):
        x[row, [column[item] for item in profile]] = 1
    recbole = model.fitted
    scores = recbole.score_all(x)
    scores[recbole.model.interaction_matrix.nonzero()] = -torch.inf
    scores[:, 0] = -torch.inf
    held_out = torch.tensor(recbole.number[[column[item] for item in test["item"].to_pylist()]])
    collector = Collector(recbole.config)
    collector.eval_batch_collect(scores, None, torch.arange(len(test)), held_out)
    theirs = Evaluator(recbole.config).evaluate(collector.get_data_struct())

    for name, our in zip(names, ours, strict=True):
        print(f"{name:8} unskew {our:.6f}   RecBole {theirs[name]:.6f}")
        assert abs(our - theirs[name]) < 1e-9
