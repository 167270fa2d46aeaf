"""Ranking held-out items against implicit's own recommend, scoring again, and qualities against ranx."""

from __future__ import annotations

import time
import tracemalloc

import numpy as np
from rich.console import Console
from rich.table import Table

import unskew as us
from benchmarks.rivals import seconds
from benchmarks.worlds import quick_world
from unskew.arrays.rows import all_entries
from unskew.evaluation.hold_out import HoldOut
from unskew.evaluation.pairs import pairs_of
from unskew.evaluation.quality import quality
from unskew.recommend.contract import Batch

K = 10
NEIGHBOURS = 50


def run(pairs: int, console: Console) -> None:
    """Measure on a world with about so many pairs."""
    scale = pairs / 163_000
    log = us.read_log(quick_world(int(34_448 * scale), int(12_000 * scale**0.5)))
    now, before = log.at(log.last), log.at(300)
    console.print(f"{len(now):,} pairs of {now.n_users:,} users, {now.n_items:,} items", style="dim")
    table = Table("what", "seconds", "hits", "ratio", title="Evaluation")

    model = us.ItemKNN(neighbours=NEIGHBOURS, exact=False)
    small = log.at(20)
    us.rank_held_out(us.ItemKNN(neighbours=5, exact=False), small, qualities=["hit@10"])  # compile
    us.rank_held_out(us.ItemKNN(neighbours=5), small, qualities=["hit@10"])
    began = time.perf_counter()
    mine = us.rank_held_out(model, now, qualities=["hit@10"])
    base = time.perf_counter() - began
    hits = int((mine.ranks > 0).sum())
    table.add_row("ItemKNN, exact=False", f"{base:.2f}", f"{hits:,}", "1.0")

    began = time.perf_counter()
    exact = us.rank_held_out(us.ItemKNN(neighbours=NEIGHBOURS), now, qualities=["hit@10"])
    took = time.perf_counter() - began
    table.add_row(
        "ItemKNN, exact leave-one-out", f"{took:.2f}", f"{int((exact.ranks > 0).sum()):,}", f"{took / base:.1f}"
    )

    theirs, their_hits = _implicit(now)
    table.add_row("implicit, recommend in batches", f"{theirs:.2f}", f"{their_hits:,}", f"{theirs / base:.1f}")

    weights = us.fit_weights(now, before)
    again = seconds(lambda: mine.score("hit@5", weights), 5)
    table.add_row("scoring again under weights", f"{again:.4f}", "", f"1 / {base / again:.0f}")
    console.print(table)

    console.print(_qualities(mine))
    console.print(_memory(now))


def _implicit(snapshot: us.Snapshot) -> tuple[float, int]:
    """The same evaluation with another library: fold each remaining profile in, look for the held-out item."""
    from implicit.nearest_neighbours import CosineRecommender

    p = snapshot.profiles
    whole = Batch(
        np.arange(p.n_users),
        np.concatenate([p.start, p.stop[-1:]]).astype(np.int64),
        p.item.astype(np.int64),
        p.n_items,
    )
    began = time.perf_counter()
    model = CosineRecommender(K=NEIGHBOURS + 1, num_threads=2)
    model.fit(whole.matrix(), show_progress=False)
    pairs = pairs_of(snapshot, all_entries(snapshot.profiles))
    hits = 0
    for part, batch in HoldOut(snapshot).batches(pairs, 400_000):
        ids, scores = model.recommend(np.arange(len(batch)), batch.matrix(), N=K, filter_already_liked_items=True)
        hits += int(((ids == pairs.item[part][:, None]) & (scores > 0)).sum())
    return time.perf_counter() - began, hits


def _qualities(ranks: us.HeldOutRanks) -> Table:
    from ranx import Qrels, Run, evaluate

    n = min(len(ranks), 100_000)
    some = ranks.ranks[:n]
    names = [f"q{i}" for i in range(n)]
    lists = {
        name: {(f"h{i}" if k + 1 == r else f"x{k}"): float(K - k) for k in range(K)}
        for i, (name, r) in enumerate(zip(names, some, strict=True))
    }
    truth, made = Qrels({name: {f"h{i}": 1} for i, name in enumerate(names)}), Run(lists)
    metrics = ["hit_rate@5", "mrr@10", "ndcg@10"]
    evaluate(truth, made, metrics)
    theirs = seconds(lambda: evaluate(truth, made, metrics), 3)
    wanted = [quality(q) for q in ("hit@5", "mrr@10", "ndcg@10")]
    mine = seconds(lambda: [q(some).mean() for q in wanted], 5)
    values = evaluate(truth, made, metrics)
    same = np.allclose([q(some).mean() for q in wanted], [values[m] for m in metrics], atol=1e-12)
    table = Table(
        "library", "ms for hit@5, mrr@10, ndcg@10", "ratio", "values agree", title=f"Qualities of {n:,} ranks"
    )
    table.add_row("unskew", f"{1e3 * mine:.2f}", "1.0", str(same))
    table.add_row("ranx", f"{1e3 * theirs:.2f}", f"{theirs / mine:.1f}", "")
    return table


def _memory(snapshot: us.Snapshot) -> Table:
    """Peak memory of ranking by lists, for two sizes of batch."""
    from unskew.evaluation import ranking

    class Lists:
        """Popular without its own ranking, so that lists are made in batches."""

        def __init__(self) -> None:
            self._model = us.Popular()

        def fit(self, snapshot: us.Snapshot) -> Lists:
            self._model.fit(snapshot)
            return self

        def recommend(self, profiles: Batch, k: int) -> np.ndarray:
            return self._model.recommend(profiles, k)

    table = Table("entries a batch", "peak MB", "users x items would be MB", title="Memory of ranking by lists")
    usual = ranking.ENTRIES
    for size in (usual // 4, usual, usual * 4):
        ranking.ENTRIES = size
        tracemalloc.start()
        us.rank_held_out(Lists(), snapshot, qualities=["hit@10"])
        peak = tracemalloc.get_traced_memory()[1] / 1e6
        tracemalloc.stop()
        table.add_row(f"{size:,}", f"{peak:.0f}", f"{snapshot.n_users * snapshot.n_items * 8 / 1e6:,.0f}")
    ranking.ENTRIES = usual
    return table
