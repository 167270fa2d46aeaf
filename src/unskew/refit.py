"""Intervals that know that the weights were fitted: users are resampled and the weights fitted again.

A fitted weight depends on who is in the sample at both dates. Resampling t1 alone against a target that is itself
an estimate gives intervals that are far too short; here a user who is drawn twice counts twice at t0 and at t1.
Recommenders are not fitted again: the interval is about these recommenders.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from unskew.errors import ConvergenceWarning, InputError, PolicyError
from unskew.evaluation import AnyQuality, HeldOutRanks
from unskew.heldout import entry_shares
from unskew.intervals import by_bootstrap
from unskew.population import users_of
from unskew.progress import progress
from unskew.quality import quality as named_quality
from unskew.recommend.base import Codes
from unskew.result import ItemWeights
from unskew.scene import Reference
from unskew.score import Score
from unskew.snapshot import Snapshot
from unskew.sweep import Floats
from unskew.weights import fit_weights


@dataclass(frozen=True)
class Refitted:
    """Bootstrap repetitions of scores, all from the same draws of users.

    Attributes
    ----------
    now
        Array (repetition, ranks, quality) of weighted scores at t1; `raw` the same without weights.
    before
        Scores at t0, if ranks of t0 were given.
    """

    now: Floats
    raw: Floats
    before: Floats | None
    target_known: bool


def refit(
    ranks: Sequence[HeldOutRanks],
    reference: Reference,
    weights: ItemWeights,
    qualities: Sequence[AnyQuality],
    *,
    before: Sequence[HeldOutRanks] = (),
    repeats: int = 200,
    seed: int = 0,
) -> Refitted:
    """Draw users again and again, at both dates together; fit the weights and score each time.

    With a saved marginal as reference the target is taken as known, and only t1 is drawn.
    """
    if repeats < 2:
        raise InputError(f"repeats is {repeats}; a bootstrap needs at least 2")
    if weights.restricted and weights.top is None:
        raise PolicyError("weights of chosen items cannot be fitted again from their file: use top or all items")
    snapshot = ranks[0].snapshot
    rng = np.random.default_rng(seed)
    wanted = [named_quality(q) for q in qualities]
    values = [[r.values(q) for q in wanted] for r in ranks]
    values_before = [[r.values(q) for q in wanted] for r in before]
    shape = (repeats, len(ranks), len(wanted))
    now, raw, then = np.empty(shape), np.empty(shape), np.empty(shape)
    progress().begin("fitting again", repeats, "samples")
    for k in range(repeats):
        at_t1, at_t0 = _redrawn(rng, snapshot, reference if isinstance(reference, Snapshot) else None)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            fitted = fit_weights(
                at_t1,
                at_t0 if at_t0 is not None else reference,
                top=weights.top,
                method=weights.method,
                tol=weights.tol,
                new_items=weights.new_items_policy,
                min_items=weights.policy.min_items,
                users=weights.policy.users,
                warm_start=weights,
            )
        part, theta = fitted.applied_to(at_t1, at_t0)
        _fill(now[k], ranks, values, entry_shares(part, theta))
        _fill(raw[k], ranks, values, entry_shares(at_t1, np.zeros(len(theta))))
        if before and at_t0 is not None:
            _fill(then[k], before, values_before, entry_shares(at_t0, np.zeros(at_t0.profiles.n_items)))
        progress().advance(1)
    known = not isinstance(reference, Snapshot)
    return Refitted(now, raw, then if before and not known else None, known)


def with_refitted_interval(score: Score, repeats: Floats) -> Score:
    """The same score with the interval of its bootstrap repetitions."""
    interval = by_bootstrap(score.value, repeats, score.level)
    return replace(score, low=interval.low, high=interval.high, method=interval.method)


def _fill(out: Floats, ranks: Sequence[HeldOutRanks], values: list[list[Floats]], shares: Floats) -> None:
    for i, r in enumerate(ranks):
        own = shares[r.entries]
        for j, value in enumerate(values[i]):
            out[i, j] = (own * value).sum() / own.sum()


def _redrawn(rng: np.random.Generator, now: Snapshot, before: Snapshot | None) -> tuple[Snapshot, Snapshot | None]:
    """Both dates with every user counted as often as it was drawn."""
    here = now.sizes() > 0
    if before is None:
        return _counted(now, _drawn(rng, here)), None
    if before.log.users is not now.log.users:
        there_here = users_of(before, before.sizes() > 0, now)
        times = _drawn(rng, here | there_here)
        codes = now.log.users.codes(before.log.users.values)
        alone = _drawn(rng, (codes < 0) & (before.sizes() > 0))
        return _counted(now, times), _counted(before, np.where(codes >= 0, times[codes], alone))
    times = _drawn(rng, here | (before.sizes() > 0))
    return _counted(now, times), _counted(before, times)


def _drawn(rng: np.random.Generator, who: np.ndarray) -> Codes:
    """How often each user is drawn when as many are drawn, with repetition, as there are."""
    users = np.flatnonzero(who)
    if len(users) == 0:
        return np.zeros(len(who), dtype=np.int64)
    return np.bincount(users[rng.integers(0, len(users), len(users))], minlength=len(who)).astype(np.int64)


def _counted(snapshot: Snapshot, times: Codes) -> Snapshot:
    p = snapshot.profiles
    shares = times.astype(np.float64) if p.a is None else p.a * times
    return replace(snapshot, profiles=replace(p, a=np.where(snapshot.sizes() > 0, shares, 0.0)))
