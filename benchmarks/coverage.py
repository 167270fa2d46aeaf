"""``python -m benchmarks.coverage [REPETITIONS]``: how often each kind of interval holds the truth.

Users are drawn from a population whose true scores are known, again and again; an interval of level 95 % should hold
the truth in 95 % of the samples. What is wrong on purpose is shown as well, to see that this can tell.
"""

from __future__ import annotations

import math
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context

from rich.console import Console
from rich.table import Table

import unskew as us
from benchmarks.population import LISTED, NOW, BEFORE, PUSHED, population
from unskew.comparison import change, compare, refitted_change
from unskew.intervals import by_bootstrap
from unskew.refit import refit, with_refitted_interval

USERS, DRAWS = 400, 500
REPETITIONS, REPEATS = 2000, 25
LEVEL = 0.95
HIT, RANK = f"hit@{LISTED}", f"mrr@{LISTED}"

Found = dict[str, bool]
"""For each kind of interval, whether it holds the truth."""


def by_users(seed: int) -> Found:
    """Intervals by the formula: the weights are those of the population, and so given."""
    people = population()
    sample = people.drawn(USERS, seed)
    w, weights = people.w, people.weights
    own, other = (sample.ranked(name, sample.now) for name in ("own", "other"))
    then = sample.ranked("own", sample.before)
    raw, weighted, before = people.score("own", NOW), people.score("own", NOW, w), people.score("own", BEFORE)
    pushed = own.by_segment((sample.now.profiles.item >= PUSHED.start) & (sample.now.profiles.item < PUSHED.stop), HIT)
    uneven = sample.ranked("own", sample.not_uniform())
    moved = change(own, then, weights, quality=HIT)
    found = {
        "raw": _holds(own.score(HIT).interval, raw),
        "raw, P(u) not uniform": _holds(uneven.score(HIT).interval, people.score("own", NOW, uniform=False)),
        "raw, of a segment": _holds(pushed[1].interval, people.score("own", NOW, segment=PUSHED)),
        "weighted, weights given": _holds(own.score(HIT, weights).interval, weighted),
        "raw change": _holds((moved.raw_low, moved.raw_high), raw - before),
        "change not explained, weights given": _holds((moved.low, moved.high), weighted - before),
    }
    for name, v, given in (("raw", None, None), ("weights given", w, weights)):
        [c] = compare(own, other, quality=HIT, weights=given)
        found[f"difference of two, {name}"] = _holds(
            (c.low, c.high), people.score("own", NOW, v) - people.score("other", NOW, v)
        )
    return found


def by_draws(seed: int) -> Found:
    """Intervals of sampled pairs; the truth is the score of all pairs of the same snapshot."""
    people = population()
    sample = people.drawn(USERS, seed)
    cases = (("own", sample.now), ("other", sample.now), ("own", sample.before))
    own, other, then = (sample.ranked(name, at) for name, at in cases)
    own_s, other_s, then_s = (sample.ranked(name, at, sample=DRAWS, seed=seed) for name, at in cases)
    weights = people.weights
    moved = change(own_s, then_s, weights, quality=HIT)
    [c], [true] = compare(own_s, other_s, quality=HIT), compare(own, other, quality=HIT)
    return {
        "sampled hits (Wilson)": _holds(own_s.score(HIT, weights).interval, own.score(HIT, weights).value),
        "sampled reciprocal ranks": _holds(own_s.score(RANK, weights).interval, own.score(RANK, weights).value),
        "sampled change not explained": _holds(
            (moved.low, moved.high), change(own, then, weights, quality=HIT).unexplained
        ),
        "sampled difference of two": _holds((c.low, c.high), true.difference),
    }


def by_refit(seed: int, *, trapped: bool = False, repeats: int = REPEATS) -> Found:
    """Intervals that know that the weights were fitted: both dates resampled together."""
    people = population(trapped=trapped)
    sample = people.drawn(USERS, seed)
    names = ("own", "other", "constant")
    now, then = ([sample.ranked(name, at) for name in names] for at in (sample.now, sample.before))
    weights = us.fit_weights(sample.now, sample.before)
    again = refit(now, sample.before, weights, [HIT], before=then, repeats=repeats, seed=seed)
    assert again.before is not None
    found = {}
    where = ", mass trapped" if trapped else ""
    for k, name in ((0, "own"), (2, "constant")):
        weighted, before = people.score(name, NOW, people.w), people.score(name, BEFORE)
        score = now[k].score(HIT, weights)
        repeated = again.now[:, k, 0]
        of = "" if name == "own" else f", {name} list"
        found[f"weighted, refit{of}{where}"] = _holds(with_refitted_interval(score, repeated).interval, weighted)
        found[f"weighted, fitted but taken as given{of}{where}"] = _holds(score.interval, weighted)
        moved = change(now[k], then[k], weights, quality=HIT)
        found[f"change, fitted but taken as given{of}{where}"] = _holds((moved.low, moved.high), weighted - before)
        moved = refitted_change(moved, repeated, again.raw[:, k, 0], again.before[:, k, 0])
        found[f"change not explained, refit{of}{where}"] = _holds((moved.low, moved.high), weighted - before)
        found[f"raw change, refit{of}{where}"] = _holds(
            (moved.raw_low, moved.raw_high), people.score(name, NOW) - before
        )
    [c] = compare(*now[:2], quality=HIT, weights=weights)
    difference = people.score("own", NOW, people.w) - people.score("other", NOW, people.w)
    found[f"difference, fitted but taken as given{where}"] = _holds((c.low, c.high), difference)
    found[f"difference, refit{where}"] = _holds(by_bootstrap(c.difference, again.now[:, 0, 0] - again.now[:, 1, 0], LEVEL), difference)
    return found


def to_a_marginal(seed: int, *, repeats: int = REPEATS) -> Found:
    """The target is a saved marginal: that of the population is known, that of a sample is wrongly taken so."""
    people = population()
    sample = people.drawn(USERS, seed)
    found = {}
    known = dict(enumerate(people.target.tolist()))
    for target, name, label in (
        (known, "own", "weighted, refit to a known target"),
        (sample.before.marginal(), "own", "weighted, t1 alone resampled"),
        (sample.before.marginal(), "constant", "weighted, t1 alone resampled, constant list"),
    ):
        ranks = sample.ranked(name, sample.now)
        weights = us.fit_weights(sample.now, target)
        again = refit([ranks], target, weights, [HIT], repeats=repeats, seed=seed)
        score = with_refitted_interval(ranks.score(HIT, weights), again.now[:, 0, 0], target_known=True)
        found[label] = _holds(score.interval, people.score(name, NOW, people.w))
    return found


def _holds(interval: Iterable[float], true: float) -> bool:
    low, high = interval
    return low <= true <= high

if __name__ == "__main__":
    n = int(sys.argv[1]) if len(sys.argv) > 1 else REPETITIONS
    for tr in (False,True):
        p=population(trapped=tr); print(p.weights); print(abs(p.entries(NOW,p.w).sum(0)-p.target).sum()/2, [ (r,p.score(r,BEFORE),p.score(r,NOW),p.score(r,NOW,p.w)) for r in p.ranks], p.w)
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        for f,k in ((by_users, n),(by_draws,n),(by_refit, n//4),(partial(by_refit,trapped=True),n//4),(to_a_marginal,n//4)):
            c=Counter(); t0=time.perf_counter()
            for r in pool.map(f, range(k), chunksize=10):
                c.update({a:int(b) for a,b in r.items()})
            print(time.perf_counter()-t0)
            for a,b in c.items(): print(f"{a:80s} {b/k:.3f} +- {math.sqrt(.95*.05/k):.3f}", flush=True)
