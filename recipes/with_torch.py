"""A network of one's own in PyTorch, scored by unskew with weights, and the same figures by torch.topk."""

from __future__ import annotations

import torch

import unskew as us


class Autoencoder:
    """Squeezes a profile through a few numbers and guesses all of it from these; fitted to a matrix of ones."""

    def __init__(self, factors: int = 16, epochs: int = 60, seed: int = 0):
        self.factors, self.epochs, self.seed = factors, epochs, seed

    def __repr__(self):
        return f"Autoencoder({self.factors})"

    def fit(self, x):
        torch.manual_seed(self.seed)
        items = x.shape[1]
        squeeze, guess = torch.nn.Linear(items, self.factors), torch.nn.Linear(self.factors, items)
        self.network = torch.nn.Sequential(torch.nn.Dropout(0.5), squeeze, torch.nn.Tanh(), guess).double()
        optimizer = torch.optim.Adam(self.network.parameters(), lr=0.01)
        rows = torch.from_numpy(x.toarray()).double()
        for _ in range(self.epochs):
            for some in torch.randperm(len(rows)).split(128):
                loss = -(rows[some] * self.network(rows[some]).log_softmax(dim=1)).sum(dim=1).mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
        self.network.eval()
        return self

    def predict(self, rows):
        return self.network(torch.from_numpy(rows.toarray()).double())


if __name__ == "__main__":
    log = us.simulate(users=800, items=200, seed=7).log.numbered_by_id
    before, now = log.at(300), log.at(log.last)
    weights = us.fit_weights(now, reference=before)
    model = us.MatrixModel(Autoencoder(factors=16), "predict")
    drawn = {"sample": 1000, "seed": 1}

    names = ["hit@10", "mrr@10", "ndcg@10"]
    ranks = us.rank_held_out(model, now, qualities=names, weights=weights, **drawn)
    ours = [ranks.score(name, weights).value for name in names]

    # the same pairs as a test set, the same network, and nothing of unskew any more
    test = us.sample_pairs(now, weights, **drawn).to_arrow()
    column = {item: place for place, item in enumerate(sorted(now.marginal().to_dict()))}
    x = torch.zeros(len(test), len(column), dtype=torch.float64)
    for row, profile in enumerate(test["profile"].to_pylist()):
        x[row, [column[item] for item in profile]] = 1
    scores = model.fitted.network(x).masked_fill(x > 0, -torch.inf)
    held_out = torch.tensor([column[item] for item in test["item"].to_pylist()])
    hits = (scores.topk(10).indices == held_out[:, None]).double()
    place = torch.arange(1, 11, dtype=torch.float64)
    gains = torch.ones_like(place), 1 / place, 1 / torch.log2(place + 1)
    theirs = [(hits @ gain).mean().item() for gain in gains]

    for name, our, their in zip(names, ours, theirs, strict=True):
        print(f"{name:8} unskew {our:.6f}   torch {their:.6f}")
        assert abs(our - their) < 1e-9
