"""``python -m benchmarks.coverage_of_kinds [REPETITIONS]``: how often each kind of interval holds the truth.

Users are drawn from a population whose true scores are known, again and again; an interval of level 95 % should
hold the truth in 95 % of the samples. What is known to be wrong is shown as well, to see that this can tell.
"""

from __future__ import annotations

import math
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context

from rich.console import Console
from rich.table import Table

import unskew as us
from benchmarks.population import BEFORE, ITEMS, LISTED, NOW, SEGMENT, Population, population
from unskew.arrays.blocks import threads
from unskew.evaluation.bootstrap import bootstrap, replace_interval
from unskew.evaluation.changes import Part, Split, explain_change, explain_split
from unskew.evaluation.comparison import compare

USERS, DRAWS = 400, 500
REPETITIONS = 3000  # of what is computed by a formula
REFITTED = 1000  # of what fits the weights again, REPEATS times each
REPEATS = 25  # Student's t knows that they are few
HIT, RECIPROCAL = f"hit@{LISTED}", f"mrr@{LISTED}"

Found = dict[str, bool]
"""For each kind of interval, whether it holds the truth."""
Study = Callable[[int], Found]

AS_GIVEN = "weighted, fitted weights taken as given"
ALONE = "weighted, bootstrap with t1 alone resampled, constant list"
NOT_MEANT = {AS_GIVEN, f"{AS_GIVEN}, constant list", ALONE}
"""What is not promised to hold the truth in 95 %: --refit is there because of these."""


def by_users(seed: int) -> Found:
    """Intervals by formula. The weights are those of the population, and so given."""
    people = population()
    sample = people.drawn(USERS, seed)
    own, other = (sample.ranked(name, sample.now) for name in ("own", "other"))
    weights = people.weights
    raw, weighted, before = _truths(people, "own")
    uneven = sample.ranked("own", sample.now_uneven).score(HIT)
    segment = own.by_segment(sample.now.profiles.item < SEGMENT, HIT)[1]
    moved = explain_change(own, sample.ranked("own", sample.before), weights, metric=HIT, refit=0)
    found = {
        "raw": _holds(own.score(HIT).interval, raw),
        "raw, P(u) not uniform": _holds(uneven.interval, people.score("own", NOW, uniform=False)),
        "raw, of a segment": _holds(segment.interval, people.score("own", NOW, items=SEGMENT)),
        "weighted, weights given": _holds(own.score(HIT, weights).interval, weighted),
        "raw change": _covers(moved.change, raw - before),
        "item mix, weights given": _covers(moved.item_mix, raw - weighted),
        "change unexplained, weights given": _covers(moved.unexplained, weighted - before),
    }
    for name, given in (("raw", None), ("weights given", weights)):
        [c] = compare(own, other, metric=HIT, weights=given)
        true, of_other = (people.score(r, NOW, weighted=given is not None) for r in ("own", "other"))
        found[f"difference of two, {name}"] = _holds((c.low, c.high), true - of_other)
    return found


def by_draws(seed: int) -> Found:
    """Intervals of sampled pairs. The truth is the score of all pairs of the same snapshot."""
    people = population()
    sample = people.drawn(USERS, seed)
    weights = people.weights
    cases = (("own", sample.now), ("other", sample.now), ("own", sample.before))
    own, other, then = (sample.ranked(name, at) for name, at in cases)
    some, some_other, some_then = (sample.ranked(name, at, sample=DRAWS, seed=seed) for name, at in cases)
    moved, moved_true = (
        explain_change(a, b, weights, metric=HIT, refit=0) for a, b in ((some, some_then), (own, then))
    )
    [c], [c_true] = (compare(a, b, metric=HIT) for a, b in ((some, some_other), (own, other)))
    found = {
        f"sampled {name}": _holds(some.score(q, weights).interval, own.score(q, weights).value)
        for name, q in (("hits", HIT), ("reciprocal ranks", RECIPROCAL))
    }
    found["sampled, change unexplained"] = _covers(moved.unexplained, moved_true.unexplained.value)
    found["sampled, difference of two"] = _holds((c.low, c.high), c_true.difference)
    return found


def by_refit(seed: int, *, trapped: bool = False, repeats: int = REPEATS) -> Found:
    """Intervals that know that the weights were fitted: users of both dates are resampled together."""
    people = population(trapped=trapped)
    sample = people.drawn(USERS, seed)
    names = ("own", "constant")
    now, then = ([sample.ranked(name, at) for name in names] for at in (sample.now, sample.before))
    weights = us.fit_weights(sample.now, sample.before)
    again = bootstrap(now, sample.before, weights, [HIT], reference_ranks=then, repeats=repeats, seed=seed)
    found = {}
    where = ", mass trapped" if trapped else ""
    for k, of in enumerate(("", ", constant list")):
        _, weighted, _ = _truths(people, names[k])
        score = now[k].score(HIT, weights)
        refitted = replace_interval(score, again.of(now[k], HIT)["weighted"])
        found[f"weighted, bootstrap{of}{where}"] = _holds(refitted.interval, weighted)
        if not trapped:
            found[f"{AS_GIVEN}{of}"] = _holds(score.interval, weighted)
    # of the constant list no change is left unexplained
    raw, weighted, before = _truths(people, "own")
    moved = explain_split(Split(now[0], then[0]), weights, HIT, 0.95, again)
    found[f"change unexplained, bootstrap{where}"] = _covers(moved.unexplained, weighted - before)
    found[f"raw change, bootstrap{where}"] = _covers(moved.change, raw - before)
    found[f"item mix, bootstrap{where}"] = _covers(moved.item_mix, raw - weighted)
    return found


def to_a_marginal(seed: int, *, repeats: int = REPEATS) -> Found:
    """The target is a saved marginal: that of the population is known, that of a sample is wrongly taken so."""
    people = population()
    sample = people.drawn(USERS, seed)
    found = {}
    for label, name, target in (
        (
            "weighted, bootstrap to a known target",
            "own",
            dict(zip(range(ITEMS), people.target.tolist(), strict=True)),
        ),
        (ALONE, "constant", sample.before.marginal()),
    ):
        ranks = sample.ranked(name, sample.now)
        weights = us.fit_weights(sample.now, target)
        again = bootstrap([ranks], target, weights, [HIT], repeats=repeats, seed=seed)
        score = replace_interval(ranks.score(HIT, weights), again.of(ranks, HIT)["weighted"], target_known=True)
        found[label] = _holds(score.interval, people.score(name, NOW, weighted=True))
    return found


def _truths(people: Population, recommender: str) -> tuple[float, float, float]:
    """The true scores: raw and weighted at t1, and at t0."""
    raw, weighted = (people.score(recommender, NOW, weighted=w) for w in (False, True))
    return raw, weighted, people.score(recommender, BEFORE)


def _covers(part: Part, true: float) -> bool:
    return _holds((part.low, part.high), true)


def _holds(interval: Iterable[float], true: float) -> bool:
    low, high = interval
    return low <= true <= high


@dataclass(frozen=True)
class Observed:
    """How often a kind of interval held the truth."""

    kind: str
    held: int
    samples: int

    @property
    def coverage(self) -> float:
        return self.held / self.samples

    @property
    def error(self) -> float:
        """The Monte Carlo error of an observed coverage that is meant to be 95 %."""
        return math.sqrt(0.95 * 0.05 / self.samples)

    @property
    def meant(self) -> bool:
        return self.kind not in NOT_MEANT


def counted(results: Iterable[Found], samples: int) -> list[Observed]:
    """Add up what was found in each sample."""
    held: Counter[str] = Counter()
    for found in results:
        held.update({kind: int(hit) for kind, hit in found.items()})
    return [Observed(kind, hits, samples) for kind, hits in held.items()]


def studies(repetitions: int, refitted: int) -> list[tuple[Study, int]]:
    """What is done to each sample, and to how many."""
    formulas: list[Study] = [by_users, by_draws]
    refits: list[Study] = [by_refit, partial(by_refit, trapped=True), to_a_marginal]
    return [(study, repetitions) for study in formulas] + [(study, refitted) for study in refits]


def run(repetitions: int, refitted: int, console: Console) -> None:
    """Look at all kinds of intervals and print a table."""
    table = Table("interval", title=f"Observed coverage of intervals of level 95 % ({USERS} users a sample)")
    for head in ("observed", "Monte Carlo error", "samples", "within 93 to 97 %"):
        table.add_column(head, justify="right")
    began = time.perf_counter()
    with ProcessPoolExecutor(threads(), mp_context=get_context("spawn")) as pool:
        for study, samples in studies(repetitions, refitted):
            results: Iterator[Found] = pool.map(study, range(samples), chunksize=10)
            for seen in counted(results, samples):
                within = "yes" if 0.93 <= seen.coverage <= 0.97 else "no" if seen.meant else "no, and not meant to"
                shown = [f"{100 * x:.1f} %" for x in (seen.coverage, seen.error)]
                table.add_row(seen.kind, *shown, f"{samples}", within)
            table.add_section()
            console.print(f"{time.perf_counter() - began:.0f} s", style="dim")
    console.print(table)


if __name__ == "__main__":
    n = int(sys.argv[1]) if len(sys.argv) > 1 else REPETITIONS
    run(n, max(n * REFITTED // REPETITIONS, 2), Console(width=130))
