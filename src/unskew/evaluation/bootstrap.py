"""Intervals that know that the weights were fitted: users are resampled and the weights fitted again.

A fitted weight depends on who is in the sample at both dates. Resampling t1 alone against a target that is itself
an estimate gives intervals that are far too short; here a user who is drawn twice counts twice at t0 and at t1.
Recommenders are not fitted again: the interval is about these recommenders.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from unskew.arrays.types import Codes, Floats, Mask
from unskew.data.policy import eligible_users, find_users
from unskew.data.slice import Slice, Weighting
from unskew.errors import ConvergenceWarning, EmptyError, InputError, PolicyError, option
from unskew.evaluation.held_out_ranks import AnyMetric, HeldOutRanks
from unskew.evaluation.interval_formulas import UNIT, Bounds
from unskew.evaluation.intervals import Estimate, number_users
from unskew.evaluation.metric import metric as named_metric
from unskew.evaluation.score import Score
from unskew.progress import Progress, progress, reporting
from unskew.weights.alignment import Reference
from unskew.weights.fit_weights import fit_weights
from unskew.weights.item_weights import ItemWeights


def find_evaluated_users(
    weights: ItemWeights, weighting: Weighting, now: Slice, reference: Slice
) -> tuple[Mask, Mask]:
    """Whom the weights (`weighting` on `now`) evaluate, and whose mix then they were fitted to."""
    stay_now = weighting.part.sizes() > 0
    stay_then = eligible_users(reference, None, weights.policy.min_items)
    if weights.policy.users == "both":
        stay_then = stay_then & find_users(now, stay_now, reference)
    return stay_now, stay_then


REPEATS = 50
"""How often users are drawn and weights fitted again where nothing else is asked for."""

KINDS = ("all", "stay", "weighted")
"""Of each score: raw of all users, raw of those whom the weights evaluate, and weighted (at t1 only)."""


@dataclass(frozen=True)
class Repetitions:
    """Bootstrap repetitions of scores, all from the same draws of users."""

    # Of each of the ranks an array (repetition, kind, metric); the kinds are `KINDS`.
    values: Mapping[HeldOutRanks, Floats]
    metrics: Sequence[str]  # the names of the metrics
    target_known: bool  # whether the target was taken as known, because nobody can be drawn from a saved marginal

    def of(self, ranks: HeldOutRanks, metric: str) -> dict[str, Floats]:
        """The repetitions of each kind of score of a recommender."""
        draws = self.values[ranks][:, :, self.metrics.index(metric)]
        return dict(zip(KINDS, draws.T, strict=True))

    def __len__(self) -> int:
        return len(next(iter(self.values.values())))


def bootstrap(
    ranks: Sequence[HeldOutRanks],
    reference: Reference,
    weights: ItemWeights,
    metrics: Sequence[AnyMetric],
    *,
    reference_ranks: Sequence[HeldOutRanks] = (),
    repeats: int = REPEATS,
    seed: int = 0,
) -> Repetitions:
    """Draw users again and again, at both dates together; fit the weights and score each time.

    - `ranks`: of the recommenders at t1, on the same pairs.
    - `reference`: what the weights were fitted to. Of a snapshot users are drawn as well; with a saved marginal
      the target is taken as known, and only t1 is drawn.
    - `weights`: the fitted weights; they are fitted again by the same method and policy.
    - `metrics`: what to score.
    - `reference_ranks`: ranks at the reference date, for the change since then.
    - `repeats`, `seed`: number and seed of the repetitions.
    """
    if repeats < 2:
        raise InputError(f"repeats is {repeats}; a bootstrap needs at least 2")
    ranks[0].selection.require_all()
    for other in ranks[1:]:
        ranks[0].require_same_pairs(other)
    snapshot = ranks[0].snapshot
    before = reference if isinstance(reference, Slice) else None
    earlier = () if before is None else reference_ranks
    for r in earlier:
        if before is not None and (r.snapshot.log.users is not before.log.users or r.snapshot.tick != before.tick):
            raise PolicyError(
                f"{r.recommender} was ranked at {r.snapshot.at}, the reference is {before.at}",
                remedy="rank it on the reference",
            )
    rng = np.random.default_rng(seed)
    wanted = [named_metric(q) for q in metrics]
    values = {r: [r.values(q) for q in wanted] for r in ranks}
    sums = {r: _sums(r, wanted) for r in (*ranks, *earlier)}
    repetitions = {r: np.full((repeats, len(KINDS), len(wanted)), np.nan) for r in sums}
    draws = _Draws(snapshot, before)
    progress().begin("fitting again", repeats, "samples")
    for k in range(repeats):
        times_now, times_then = draws.counts(rng)
        at_t1 = _count_users(snapshot, times_now)
        at_t0 = None if before is None else _count_users(before, times_then)
        fitted = _fit_again(at_t1, reference if at_t0 is None else at_t0, weights)
        weighting = fitted.apply(at_t1, at_t0)
        stay_now, stay_then = weighting.part.sizes() > 0, None
        if at_t0 is not None:
            stay_now, stay_then = find_evaluated_users(fitted, weighting, at_t1, at_t0)
        for r in ranks:
            shares = weighting.pair_shares[r.entries]
            weighted = [(shares @ value) / shares.sum() for value in values[r]]
            repetitions[r][k] = [_means(sums[r], times_now), _means(sums[r], times_now * stay_now), weighted]
        stay = times_then if stay_then is None else times_then * stay_then
        for r in earlier:
            repetitions[r][k, :2] = [_means(sums[r], times_then), _means(sums[r], stay)]
        progress().advance(1)
    return Repetitions(repetitions, [q.name for q in wanted], before is None)


def bootstrap_if_possible(
    ranks: Sequence[HeldOutRanks],
    reference: Reference,
    weights: ItemWeights,
    metrics: Sequence[AnyMetric],
    *,
    reference_ranks: Sequence[HeldOutRanks],
    repeats: int | None,
    seed: int,
) -> Repetitions | None:
    """The same where `repeats` is not 0 and every pair was ranked, else None.

    Where nobody has asked for repetitions (None), too few users are no error: a draw may leave none of them.
    """
    if repeats == 0 or ranks[0].sample is not None:
        return None
    wanted = REPEATS if repeats is None else repeats
    try:
        return bootstrap(
            ranks, reference, weights, metrics, reference_ranks=reference_ranks, repeats=wanted, seed=seed
        )
    except EmptyError:
        if repeats is None:
            return None
        raise


def replace_interval(score: Score, repeats: Floats, *, target_known: bool = False, bounds: Bounds = UNIT) -> Score:
    """The same score, of a metric with these bounds, with the interval of its bootstrap repetitions.

    Few hits can be drawn again in few ways: where they are too few, the interval holds that of the users as well.
    """
    method = "bootstrap, target known" if target_known else "bootstrap"
    low, high = Estimate.from_repeats(score.value, repeats, score.level, bounds).interval
    if score.too_few_hits:
        low, high = min(low, score.low), max(high, score.high)
    return replace(score, low=low, high=high, method=method)


class _Draws:
    """Draws of as many users, with repetition, as there are at either date."""

    def __init__(self, now: Slice, before: Slice | None) -> None:
        self._now, self._before = number_users(now, now if before is None else before)
        anyone = np.zeros(max(self._now.max(), self._before.max()) + 1, dtype=bool)
        anyone[self._now] |= now.shares() > 0
        if before is not None:
            anyone[self._before] |= before.shares() > 0
        self._users = np.flatnonzero(anyone)
        self._size = len(anyone)

    def counts(self, rng: np.random.Generator) -> tuple[Codes, Codes]:
        """How often each user of `now`, and each of `before`, is drawn: the same user as often at both."""
        drawn = self._users[rng.integers(0, len(self._users), len(self._users))]
        times = np.bincount(drawn, minlength=self._size)
        return times[self._now], times[self._before]


def _count_users(snapshot: Slice, times: Codes) -> Slice:
    """The snapshot with every user counted so many times."""
    shares = snapshot.shares() * times
    if not shares.any():
        raise EmptyError(
            f"no user drawn in a repetition of the bootstrap has an item at {snapshot.at}",
            remedy="there are too few users for a bootstrap",
        )
    return replace(snapshot, profiles=replace(snapshot.profiles, a=shares))


def _fit_again(now: Slice, reference: Reference, weights: ItemWeights) -> ItemWeights:
    with warnings.catch_warnings(), reporting(Progress()):  # a fit is one step of the work that is reported
        warnings.simplefilter("ignore", ConvergenceWarning)
        try:
            return fit_weights(now, reference, options=weights.options, warm_start=weights)
        except InputError as error:
            raise EmptyError(
                f"the weights could not be fitted again to users drawn at random: {error.message}",
                remedy=f"leave out {option('refit')}, or take a log of more users",
            ) from error


def _sums(ranks: HeldOutRanks, wanted: Sequence[AnyMetric]) -> Floats:
    """The mass of every user and then its mass times each metric, unweighted."""
    units = [ranks.units(metric, None) for metric in wanted]
    return np.array([units[0].mass, *(each.total for each in units)])


def _means(sums: Floats, times: Codes) -> Floats:
    """Scores when every user counts so many times: they are linear in that, and nothing has to be swept."""
    counted = np.array([row @ times for row in sums])  # one by one: the sum of a row depends on no other
    means: Floats = counted[1:] / counted[0]
    return means
