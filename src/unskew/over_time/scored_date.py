"""One date of a timeline: its weightings, and every recommender scored under each of them.

What `fit_weights` and `evaluate` do, with what several fits and scores of one snapshot have in common done once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from unskew.evaluation.pairs import HoldOut, all_pairs, draw, entry_shares, pairs_of
from unskew.evaluation.intervals import Interval
from unskew.evaluation.estimates import mean_of_draws, mean_of_users, summed
from unskew.evaluation.quality import Quality
from unskew.evaluation.ranking import rank_pairs
from unskew.recommend.contract import HeldOutPairs, Recommender
from unskew.weights.alignment import Reference, Scene
from unskew.data.snapshot import Snapshot
from unskew.arrays.sweep import Floats
from unskew.weights.fitting import fit_scene

Starts = Mapping[int | None, Floats]
"""Log-weights to start from, for each `top` (None for all items): an array over the items of the log."""


NEARBY = 5.0
"""How far from their mean, in nats, log-weights of all items may start.

Passes over MovieTweetings monthly, weekly and daily, and over a simulated log daily: 69, 220, 1064 and 972;
without any such bound 114, 316, 1277 and 995; without warm starts 80, 261, 1685 and 2762.
"""


@dataclass(frozen=True)
class Weighting:
    """One weighting of a snapshot; arrays are over all items of the log.

    Attributes
    ----------
    name, top
        ``raw``, or ``weighted`` with the number of fitted weights if not all.
    part
        The snapshot with the users who take part.
    theta, q
        Log-weights, and the marginal that they give.
    divergence, bound
        From the item mix of the reference date: before weighting for the raw one, else after.
    """

    name: str
    top: int | None
    part: Snapshot
    theta: Floats
    q: Floats
    divergence: float
    bound: float
    converged: bool = True

    def start(self) -> Floats:
        """Its log-weights as a start for the next date; an item that it drops starts at weight 1.

        Where no exact solution exists those of all items run off, further at every date, and from far out there is
        hardly a way back: they start from nearer by.
        """
        theta = np.where(np.isfinite(self.theta), self.theta, 0.0)
        return np.clip(theta, -NEARBY, NEARBY) if self.top is None else theta


def weightings_of(
    snapshot: Snapshot,
    reference: Reference,
    tops: Sequence[int],
    tol: float,
    starts: Starts,
    method: str = "descent",
) -> list[Weighting]:
    """No weights, the weights of all items by scaling, and those of the `tops` by `method`."""
    scene = Scene.of(snapshot, reference, 1, "all", drop=True)
    raw = np.zeros(snapshot.profiles.n_items)
    found = [
        Weighting("raw", None, snapshot, raw, scene.p_before, scene.divergence_before, scene.bound_before),
        _fitted(scene, None, tol, starts, "scaling"),
    ]
    if tops:
        scene = Scene.of(snapshot, reference, 1, "all", drop=False)
        found += [_fitted(scene, top, tol, starts, method) for top in tops]
    return found


def _fitted(scene: Scene, top: int | None, tol: float, starts: Starts, method: str) -> Weighting:
    reached = fit_scene(scene, top=top, method=method, tol=tol, start=starts.get(top)).solution
    return Weighting(
        name="weighted",
        top=top,
        part=scene.now,
        theta=reached.theta,
        q=reached.q,
        divergence=reached.divergence,
        bound=scene.bound(reached.q),
        converged=reached.status != "unfinished",
    )


def scores_of(
    snapshot: Snapshot,
    weightings: Sequence[Weighting],
    models: Sequence[Recommender],
    qualities: Sequence[Quality],
    *,
    level: float,
    sample: int | None = None,
    seed: int = 0,
) -> dict[tuple[int, int, int], tuple[float, float, float]]:
    """Value, low and high by the places of recommender, quality and weighting: those of `evaluate`."""
    drawn = [] if sample is None else [draw(w.part, w.theta, sample, seed) for w in weightings]
    place = np.zeros(len(snapshot.profiles.item), dtype=np.int64)  # of each entry among those that were drawn
    for entries in drawn:
        place[entries] = 1
    pairs = pairs_of(snapshot, np.flatnonzero(place)) if drawn else all_pairs(snapshot)
    ranked = {
        (i, j): values
        for i, model in enumerate(models)
        for j, values in enumerate(_values(snapshot, pairs, model, qualities))
    }
    if drawn:
        place[pairs.entry] = np.arange(len(pairs))
        return {
            (i, j, k): _row(mean_of_draws(qualities[j], values[place[entries]], level))
            for k, entries in enumerate(drawn)
            for (i, j), values in ranked.items()
        }
    users = snapshot.profiles.n_users
    some = {key: np.flatnonzero(values) for key, values in ranked.items()}  # few pairs, of a constant list
    found = {}
    for k, weighting in enumerate(weightings):
        shares = entry_shares(weighting.part, weighting.theta)
        shares = shares if len(shares) == len(pairs) else shares[pairs.entry]
        mass = summed(pairs.user, shares, users)
        for (i, j), values in ranked.items():
            at = some[i, j]
            total = summed(pairs.user[at], shares[at] * values[at], users)
            found[i, j, k] = _row(mean_of_users(qualities[j], mass, total, level))
    return found


def _row(mean: tuple[float, Interval]) -> tuple[float, float, float]:
    value, (low, high) = mean
    return value, low, high


def _values(
    snapshot: Snapshot, pairs: HeldOutPairs, model: Recommender, qualities: Sequence[Quality]
) -> list[Floats]:
    """The qualities of each pair under one recommender, which is fitted to the snapshot."""
    depth = max(q.depth for q in qualities)
    graded = any(q.needs_grades for q in qualities)
    ranks, grades = rank_pairs(model, HoldOut(snapshot), pairs, depth, with_grades=graded)
    return [q(ranks, grades) for q in qualities]
