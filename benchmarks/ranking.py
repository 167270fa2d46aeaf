"""``python -m benchmarks ranking [PAIRS]``: ranking every held-out item, beside the product that scores all items.

That product, of a vector for each pair with the factors of all items, in single precision, in blocks and with
nothing kept, is as fast as ranking can be for a model with factors; everything is shown as a multiple of it. Times
are those of the processor, threads added up, which other work on the machine disturbs least; fits are not counted.
Other libraries are timed on some of the pairs, and their time multiplied. LensKit runs in an environment of its
own (``make .venv-recipes/lenskit/installed``). With ``UNSKEW_DATA`` ALS is measured on MovieTweetings too.
"""

from __future__ import annotations

import json
import subprocess
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from threadpoolctl import threadpool_limits

import unskew as us
from benchmarks.worlds import movietweetings, world_to_rank
from unskew.arrays.blocks import over_blocks, threads
from unskew.evaluation.folds import take_pairs
from unskew.evaluation.pairs import all_pairs
from unskew.recommend.contract import HeldOutPairs

FACTORS, NEIGHBOURS, L2, K = 64, 50, 200, 10
BLOCK = 256
SOME, FEW = 5_000, 100  # pairs for other libraries: in batches, and one at a time
LENSKIT = Path(".venv-recipes/lenskit/bin/python")

Row = tuple[str, float]


def run(pairs: int, console: Console) -> None:
    """Measure on a world with about so many pairs, and on a real log."""
    snapshot = world_to_rank(pairs)
    rows = [*_products(snapshot), *_ours(snapshot), *_implicit(snapshot), *_lenskit(pairs, len(snapshot))]
    console.print(_show("simulated", snapshot, rows))
    real = movietweetings()
    if real is not None:
        snapshot = real.number_by_id()
        als = [us.ImplicitModel("als", factors=FACTORS, alpha=alpha, iterations=3) for alpha in (1.0, 20.0)]
        rows = [*_products(snapshot), *_rank(snapshot, als), *_implicit_als(snapshot)]
        console.print(_show("MovieTweetings", snapshot, rows))


def _show(name: str, snapshot: us.Snapshot, rows: list[Row]) -> Table:
    title = f"Ranking {len(snapshot):,} pairs among {snapshot.n_items:,} items, {name}, {threads()} threads"
    table = Table("what", "seconds", "of the product", title=title)
    for what, took in rows:
        table.add_row(what, f"{took:.2f}", f"{took / rows[0][1]:.2f}")
    return table


def _products(snapshot: us.Snapshot) -> Iterator[Row]:
    """The product of a vector for each pair with the factors of every item."""
    rng = np.random.default_rng(0)
    n = len(snapshot)
    edges = np.append(np.arange(0, n, BLOCK), n)
    for name, kind in (("single", np.float32), ("double", np.float64)):
        vectors, factors = (rng.random((rows, FACTORS)).astype(kind) for rows in (n, snapshot.n_items))

        def multiply(_: int, low: int, high: int, left: Any = vectors, right: Any = factors) -> None:
            np.matmul(left[low:high], right.T)

        with threadpool_limits(1):
            took = _seconds(partial(over_blocks, edges, n * FACTORS, multiply))
        yield f"the product in {name} precision, {FACTORS} factors", took


def _ours(snapshot: us.Snapshot) -> Iterator[Row]:
    als = [us.ImplicitModel("als", factors=FACTORS, alpha=alpha) for alpha in (1.0, 20.0)]
    ease = [us.EASE(L2, exact=exact) for exact in (True, False)]
    knn = [us.ItemKNN(NEIGHBOURS, exact=exact) for exact in (True, False)]
    return _rank(snapshot, [*als, *ease, *knn])


def _rank(snapshot: us.Snapshot, models: list[Any]) -> Iterator[Row]:
    pairs = all_pairs(snapshot)
    for model in models:
        model.fit(snapshot)
        model.held_out_ranks(take_pairs(pairs, np.arange(5)), K)  # compile
        yield f"unskew, {model}", _seconds(partial(model.held_out_ranks, pairs, K))


def _implicit(snapshot: us.Snapshot) -> Iterator[Row]:
    from implicit.nearest_neighbours import CosineRecommender

    yield from _implicit_als(snapshot)
    cosine = CosineRecommender(K=NEIGHBOURS + 1, num_threads=threads())
    yield "implicit, cosine, recommend in batches", _recommend(cosine, snapshot)


def _implicit_als(snapshot: us.Snapshot) -> Iterator[Row]:
    from implicit.cpu.als import AlternatingLeastSquares

    als = AlternatingLeastSquares(FACTORS, iterations=3, num_threads=threads())
    yield "implicit, ALS, recommend in batches", _recommend(als, snapshot, recalculate_user=True)


def _recommend(model: Any, snapshot: us.Snapshot, **options: Any) -> float:
    """The time that a model of implicit takes for the lists of all pairs."""
    pairs = _some_pairs(snapshot, SOME)
    with threadpool_limits(1), warnings.catch_warnings():  # as the library asks for
        warnings.simplefilter("ignore")
        model.fit(us.Batch.of(snapshot).matrix(), show_progress=False)

        def recommend() -> None:
            for low in range(0, len(pairs), 1000):
                batch = pairs.remaining(low, min(low + 1000, len(pairs)))
                users = np.arange(len(batch))
                model.recommend(users, batch.matrix(), N=K, filter_already_liked_items=True, **options)

        return _seconds(recommend) * len(snapshot) / len(pairs)


def _lenskit(pairs: int, ranked: int) -> Iterator[Row]:
    if not LENSKIT.exists():
        yield "LensKit is not there: make .venv-recipes/lenskit/installed", float("nan")
        return
    command = [str(LENSKIT), "-m", "benchmarks.lenskit_ranking", str(pairs), str(FEW)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    for name, each in json.loads(done.stdout).items():
        yield f"LensKit, {name}, one profile at a time", each * ranked


def _some_pairs(snapshot: us.Snapshot, n: int) -> HeldOutPairs:
    pairs = all_pairs(snapshot)
    places = np.sort(np.random.default_rng(1).choice(len(pairs), min(n, len(pairs)), replace=False))
    return take_pairs(pairs, places)


def _seconds(work: Callable[[], Any]) -> float:
    """The better of two times."""
    times = []
    for _ in range(2):
        began = time.process_time()
        work()
        times.append(time.process_time() - began)
    return min(times)
