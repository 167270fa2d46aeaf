"""``python -m benchmarks folds``: cross-fitting beside exact leave-one-out, and what leaks without either.

Where exact leave-one-out is possible, it shows how far K folds are off; for ALS, where it is not, folds show what
of its score was leak. With ``UNSKEW_DATA`` on MovieTweetings too, where EASE, which is fitted 85 times, models the
items that most users hold.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

from rich.console import Console
from rich.table import Table
from threadpoolctl import threadpool_limits

import unskew as us
from benchmarks.worlds import movietweetings

FOLDS = (5, 10, 20, 50)
METRIC = "hit@5"


def run(console: Console) -> None:
    """Score every recommender in every way, on each log."""
    for name, snapshot, specs in _cases():
        began = time.perf_counter()
        title = f"{METRIC} in percent, {name}: {len(snapshot):,} pairs, {snapshot.n_items:,} items"
        table = Table("recommender", "profile only", "exact", *(f"{k} folds" for k in FOLDS), title=title)
        with threadpool_limits(1):  # small matrices, many times: more threads only wait for each other
            for exact, leaking in specs:
                table.add_row(leaking if exact is None else exact, *_score_all(snapshot, exact, leaking))
        console.print(table)
        console.print(f"in brackets the gap to exact; {time.perf_counter() - began:.0f} s", style="dim")


def _cases() -> Iterator[tuple[str, us.Snapshot, list[tuple[str | None, str]]]]:
    """A name, a snapshot, and the specs of recommenders: exact, if that is possible, and profile only."""
    log = us.simulate(users=4000, items=1000, seed=7).log
    yield "simulated", log.at(log.last), _specs("ease?l2=50", "als?factors=32")
    real = movietweetings()
    if real is not None:
        yield "MovieTweetings", real, _specs("ease?l2=50&max_items=1000", "als?factors=32&iterations=5")


def _specs(ease: str, als: str) -> list[tuple[str | None, str]]:
    return [(spec, f"{spec}{sign}exact=false") for spec, sign in (("popular", "?"), ("knn", "?"), (ease, "&"))] + [
        (None, als)
    ]


def _score_all(snapshot: us.Snapshot, exact: str | None, leaking: str) -> Iterator[str]:
    yield f"{100 * us.evaluate(leaking, snapshot, metric=METRIC).value:.2f}"
    right = None if exact is None else us.evaluate(exact, snapshot, metric=METRIC).value
    yield "" if right is None else f"{100 * right:.2f}"
    for k in FOLDS:
        value = us.evaluate(leaking, snapshot, metric=METRIC, folds=k).value
        yield f"{100 * value:.2f}" + ("" if right is None else f" ({100 * (value - right):+.2f})")
