"""Ranking every held-out item, beside the product that scores all items, implicit and LensKit.

That product, of a vector for each pair with the factors of all items, in single precision, in blocks and with
nothing kept, is as fast as ranking can be for a model with factors.
"""

from __future__ import annotations

import contextlib
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import unskew as us
from benchmarks.frame.comparison import Comparison
from benchmarks.frame.contenders import Absent, Contender, in_process, with_library
from benchmarks.frame.machine import ROOT
from benchmarks.frame.workers import Worker, in_worker
from benchmarks.worlds import movietweetings, world_to_rank
from unskew.arrays.blocks import over_blocks, threads
from unskew.arrays.types import Codes
from unskew.evaluation.pairs import all_pairs, take_pairs
from unskew.recommend.contract import HeldOutPairs
from unskew.text import thousands

SIZES = (150_000,)
LIBRARIES = ("implicit", "threadpoolctl")
FACTORS, NEIGHBOURS, L2, K = 64, 50, 200, 10
SOME, FEW = 5000, 100  # pairs that others rank: in batches, and one at a time
PRECISION, TIES = 0.01, 0.05  # the share of ranks that may differ
LENSKIT = ROOT / ".venv-recipes" / "lenskit" / "bin" / "python"
YARDSTICK = f"the product with {FACTORS} factors"

_BLOCK = 256
_JOB = f"""\
Every item of every profile is held out once, and its rank among all items under a fitted model is found, if it is
one of the first {K}. Fitting is not counted. The yardstick is the product of a vector for each pair with the
factors of all items, which scores them and does nothing else. implicit recommends {K} items for what is left of a
profile, in batches, LensKit one profile at a time; they do so for {thousands(SOME)} and {FEW} of the pairs, and
their time is multiplied. *Exact* takes the pair out of the model too, which the others cannot do."""
_AGREEMENT = {
    PRECISION: f"the ranks of pairs; at most {100 * PRECISION:g} % differ, where single precision decides",
    TIES: f"the ranks of pairs; at most {100 * TIES:g} % differ, since the {NEIGHBOURS} neighbours of an item are "
    "cut off among equal ones, of which each library takes others",
}


def comparisons(sizes: Sequence[int] = SIZES) -> Iterator[Comparison]:
    """One for each model, on a simulated log, and ALS on a real one if it is there."""
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder:
            work = RankingWork(world_to_rank(size), "")
            lenskit = _start_lenskit(work, Path(folder))
            yield _compare_als(work)
            ours: dict[str, Any] = {"unskew": us.EASE(L2, exact=False), "unskew, exact": us.EASE(L2)}
            yield work.compare("EASE", ours, [_use_lenskit(work, lenskit, folder, "ease", l2=L2)], lenskit)
            ours = {"unskew": us.ItemKNN(NEIGHBOURS, exact=False), "unskew, exact": us.ItemKNN(NEIGHBOURS)}
            theirs = _use_lenskit(work, lenskit, folder, "neighbours", neighbours=NEIGHBOURS)
            yield work.compare("Item neighbours", ours, [_implicit_cosine(work), theirs], lenskit, TIES)
            if lenskit is not None:
                lenskit.close()
    real = movietweetings()
    if real is not None:
        work = RankingWork(real.number_by_id(), " of MovieTweetings")
        yield _compare_als(work)


class RankingWork:
    """The pairs of a snapshot, and those of them that others rank."""

    def __init__(self, snapshot: us.Snapshot, name: str) -> None:
        self.snapshot, self.name = snapshot, name
        self.pairs = all_pairs(snapshot)
        self.chosen = np.random.default_rng(1).permutation(len(self.pairs))[:SOME]

    def some_pairs(self, n: int) -> HeldOutPairs:
        """The first so many of those that others rank."""
        return take_pairs(self.pairs, self.chosen[:n])

    def compare(
        self,
        model: str,
        ours: dict[str, Any],
        others: list[Contender | Absent],
        lenskit: Worker | None = None,
        tolerance: float = PRECISION,
    ) -> Comparison:
        """All sides of one model."""
        sizes = f"{thousands(len(self.pairs))} pairs{self.name} among {thousands(self.snapshot.n_items)} items"
        return Comparison(
            f"{model}: {sizes}",
            _JOB,
            [*(self._rank(name, found) for name, found in ours.items()), self._product(), *others],
            YARDSTICK,
            _AGREEMENT[tolerance],
            partial(_differ, tolerance),
            versions={} if lenskit is None else lenskit.about,
        )

    def _rank(self, name: str, model: Any) -> Contender:
        model.fit(self.snapshot)
        other = None if "exact" not in name else "other ranks"
        rank = partial(model.held_out_ranks, self.pairs, K)
        return in_process(name, rank, answer=lambda ranks: ranks[self.chosen], uncompared=other)

    def _product(self) -> Contender:
        """The product of a vector for each pair with the factors of every item."""
        rng, n = np.random.default_rng(0), len(self.pairs)
        edges = np.append(np.arange(0, n, _BLOCK), n)
        vectors, factors = (rng.random((rows, FACTORS)).astype(np.float32) for rows in (n, self.snapshot.n_items))

        def multiply(_: int, low: int, high: int) -> None:
            np.matmul(vectors[low:high], factors.T)

        def product() -> None:
            with threadpool_limits(1):
                over_blocks(edges, n * FACTORS, multiply)

        return in_process(YARDSTICK, product, uncompared="a limit")


def _compare_als(work: RankingWork) -> Comparison:
    """One model of implicit, ranked by unskew and by itself."""
    try:
        ours = us.ImplicitModel("als", factors=FACTORS, iterations=5).fit(work.snapshot)
    except us.UnskewError as error:  # the library is not there
        raise LookupError(str(error)) from None
    theirs = _recommend("implicit, recommend", ours.fitted, work, recalculate_user=True)
    return work.compare("ALS", {"unskew": ours}, [theirs])


def _implicit_cosine(work: RankingWork) -> Contender | Absent:
    def make(module: Any) -> Contender:
        model = module.CosineRecommender(K=NEIGHBOURS + 1, num_threads=threads())
        with _quiet():
            model.fit(us.recommend.Batch.of(work.snapshot).matrix(), show_progress=False)
        return _recommend("implicit, recommend", model, work)

    return with_library("implicit, recommend", "implicit.nearest_neighbours", make)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """As implicit asks for: BLAS on one thread."""
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _recommend(name: str, model: Any, work: RankingWork, **options: Any) -> Contender:
    """Lists of a model of implicit for some of the pairs."""
    pairs = work.some_pairs(SOME)

    def recommend() -> Codes:
        parts = []
        with _quiet():
            for low in range(0, len(pairs), 1000):
                batch = pairs.remaining(low, min(low + 1000, len(pairs)))
                users = np.arange(len(batch))
                ids, scores = model.recommend(
                    users, batch.matrix(), N=K, filter_already_liked_items=True, **options
                )
                empty = np.diff(batch.start) == 0  # such a profile gets nothing from us
                parts.append(np.where(np.isfinite(scores) & (scores != 0) & ~empty[:, None], ids, -1))
        return np.concatenate(parts)

    def rank(lists: Codes) -> Codes:
        found = lists == pairs.item[:, None]
        return np.where(found.any(axis=1), found.argmax(axis=1) + 1, 0)

    return in_process(name, recommend, answer=rank, factor=len(work.pairs) / len(pairs))


def _start_lenskit(work: RankingWork, folder: Path) -> Worker | None:
    """A process of LensKit that knows the profiles and the few pairs."""
    if not LENSKIT.exists():
        return None
    whole, pairs = us.recommend.Batch.of(work.snapshot), work.some_pairs(FEW)
    left = pairs.remaining(0, len(pairs))
    np.savez(
        folder / "pairs.npz",
        user=np.repeat(whole.user, np.diff(whole.start)),
        item=whole.item,
        profile=left.item,
        edges=left.start,
        held_out=pairs.item,
    )
    worker = Worker("benchmarks.speed.lenskit_job", python=str(LENSKIT))
    worker.ask({"do": "load", "file": str(folder / "pairs.npz")})
    return worker


def _use_lenskit(
    work: RankingWork, worker: Worker | None, folder: str, model: str, **options: Any
) -> Contender | Absent:
    if worker is None:
        return Absent("LensKit, recommend", "make .venv-recipes/lenskit/installed")
    worker.ask({"do": "train", "model": model, **options})

    def tell(worker: Worker) -> Any:
        worker.ask({"do": "tell", "file": f"{folder}/ranks.npy"})
        return np.load(f"{folder}/ranks.npy")

    request = {"do": "recommend", "k": K}
    return in_worker("LensKit, recommend", worker, request, tell, factor=len(work.pairs) / FEW)


def _differ(tolerance: float, ours: Any, theirs: Any) -> str | None:
    off = float(np.mean(ours[: len(theirs)] != theirs))
    return None if off <= tolerance else f"{100 * off:.1f} % of the ranks differ"
