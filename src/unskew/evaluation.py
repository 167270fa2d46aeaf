"""Evaluating a recommender: rank the held-out items once, then score them under any weights and quality.

Ranks are the one expensive step. `rank_held_out` computes them; `HeldOutRanks.score` is then a few sweeps over
arrays. What is uncertain about a score is in `unskew.intervals`, what differs between two in `unskew.comparison`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from unskew.errors import InputError, PolicyError
from unskew.heldout import HoldOut, all_entries, draw, entry_shares, pairs_of
from unskew.intervals import Interval, by_draws, by_users, wilson
from unskew.quality import Quality
from unskew.quality import quality as named_quality
from unskew.ranking import rank_pairs
from unskew.recommend.base import Codes, Recommender
from unskew.recommend.specs import recommender as named_recommender
from unskew.result import ItemWeights, Share
from unskew.score import Score
from unskew.snapshot import Snapshot
from unskew.sweep import Floats

AnyQuality = str | Quality | Callable[..., npt.ArrayLike]
AnyRecommender = str | Recommender | Callable[..., Any]


def evaluate(
    recommender: AnyRecommender,
    snapshot: Snapshot,
    *,
    weights: ItemWeights | None = None,
    quality: AnyQuality = "hit@5",
    sample: int | None = None,
    seed: int = 0,
    leave_out: int = 1,
    after: Any = None,
    level: float = 0.95,
) -> Score:
    """The score of a recommender at a date: ``L = sum_ui P(u) P(i|u,w) l(g(u minus i), i)``.

    Parameters
    ----------
    recommender
        Anything with ``fit`` and ``recommend``, a function from a list of ids and k to a list of ids, or a spec
        such as ``"popular"`` or ``"knn?neighbours=50"``.
    snapshot
        The profiles; each item of each profile is held out in turn.
    weights
        Item weights from `fit_weights`; None for the raw score.
    quality
        ``hit@5``, ``mrr@10``, ``ndcg@10``, ``rbp@100``, or a `Quality` of one's own.
    sample
        Draw so many pairs (users by P(u) with repetition, then one item each) instead of taking all.
    seed
        Of the draws.
    leave_out
        How many items of a profile are taken out at a time.
    after
        A time: the recommender is fitted then, sees the profiles of then, and has to find what its users took
        later, up to the snapshot. Nothing later leaks.
    level
        Of the interval.

    Examples
    --------
    >>> import unskew as us
    >>> rows = [("ann", "x"), ("ann", "y"), ("bob", "x"), ("bob", "y"), ("cid", "x"), ("cid", "z")]
    >>> log = us.read_log({"user": [u for u, _ in rows], "item": [i for _, i in rows], "time": [1] * 6})
    >>> us.evaluate("popular", log.at(1), quality="hit@1").value
    0.5
    """
    ranks = rank_held_out(
        recommender,
        snapshot,
        qualities=[quality],
        weights=[weights],
        sample=sample,
        seed=seed,
        leave_out=leave_out,
        after=after,
    )
    return ranks.score(quality, weights, level=level)


def rank_held_out(
    recommender: AnyRecommender,
    snapshot: Snapshot,
    *,
    qualities: Iterable[AnyQuality] = ("hit@5",),
    weights: Sequence[ItemWeights | None] = (None,),
    sample: int | None = None,
    seed: int = 0,
    leave_out: int = 1,
    after: Any = None,
) -> HeldOutRanks:
    """Fit a recommender and rank every held-out item; the result can be scored again and again.

    Parameters are those of `evaluate`; `qualities` decide how deep the lists must be, and with `sample` the
    `weights` decide which pairs are drawn.
    """
    _check(sample, leave_out, after)
    wanted = [named_quality(q) for q in qualities]
    whole = snapshot
    model = named_recommender(recommender)
    held = HoldOut(snapshot, leave_out, seed)
    if after is not None:
        known = snapshot.log.at(after)
        whole = snapshot.log.between(after, snapshot)
        snapshot = whole.restricted(known.sizes() > 0)
        if snapshot.n_users == 0:
            raise InputError(
                f"nobody who had a profile at {known.at} took anything between then and {snapshot.at}"
            )
        held = HoldOut(known, 1, seed)
    if sample is None:
        entries = all_entries(snapshot)
    else:
        drawn = [draw(*_weighted(snapshot, w), sample, seed) for w in weights]
        entries = np.unique(np.concatenate(drawn))
    pairs = pairs_of(snapshot, entries)
    depth = max(q.depth for q in wanted)
    ranks, grades = rank_pairs(model, held, pairs, depth, with_grades=any(q.needs_grades for q in wanted))
    return HeldOutRanks(str(model), snapshot, whole, held, entries, pairs.user, ranks, grades, depth, sample, seed)


@dataclass(frozen=True, repr=False, eq=False)
class HeldOutRanks:
    """The rank of each held-out item under one recommender, from 1; 0 if it was not among the best `depth`.

    Attributes
    ----------
    recommender
        Its name.
    snapshot, whole
        The profiles that items are held out from, and the same with those who could not take part.
    entries, users, ranks
        Where each pair is in ``snapshot.profiles.item``, whose it is, and the rank.
    grades
        The number that the recommender gives to the held-out item, or None.
    sample, seed
        Number and seed of the draws; None for every pair.
    """

    recommender: str
    snapshot: Snapshot
    whole: Snapshot
    held: HoldOut
    entries: Codes
    users: Codes
    ranks: Codes
    grades: Floats | None
    depth: int
    sample: int | None = None
    seed: int = 0

    def __len__(self) -> int:
        return len(self.entries)

    def __repr__(self) -> str:
        return (
            f"HeldOutRanks({self.recommender} at {self.snapshot.at}: {len(self)} pairs, down to rank {self.depth})"
        )

    def values(self, quality: AnyQuality) -> Floats:
        """The quality of each pair."""
        wanted = named_quality(quality)
        if wanted.depth > self.depth:
            raise PolicyError(
                f"ranks were computed down to {self.depth}, but {wanted.name} looks down to {wanted.depth}: name "
                "it in qualities= of rank_held_out"
            )
        return wanted(self.ranks, self.grades)

    def user_sums(self, quality: AnyQuality, weights: ItemWeights | None) -> tuple[Floats, Floats]:
        """For each user of the log: its mass, and its mass times quality. Both sum over all pairs."""
        if self.sample is not None:
            raise PolicyError("this needs every pair, but only a sample was ranked: leave out sample")
        shares = self._shares(weights)
        n = len(self.snapshot.log.users)
        return _summed(self.users, shares, n), _summed(self.users, shares * self.values(quality), n)

    def score(
        self,
        quality: AnyQuality = "hit@5",
        weights: ItemWeights | None = None,
        *,
        level: float = 0.95,
    ) -> Score:
        """The score under a quality and weights. Cheap: nothing is ranked again."""
        wanted = named_quality(quality)
        part, theta = _weighted(self.snapshot, weights)
        if self.sample is not None:
            return self._sampled(wanted, part, theta, weights, level)
        mass, total = self.user_sums(wanted, weights)
        value = float(total.sum() / mass.sum())
        shares = self._shares(weights)
        return self._score(
            wanted, weights, part, value, by_users(value, mass, total, level), shares, int(np.count_nonzero(mass))
        )

    def by_segment(
        self,
        labels: npt.NDArray[Any],
        quality: AnyQuality = "hit@5",
        weights: ItemWeights | None = None,
        *,
        level: float = 0.95,
    ) -> list[Score]:
        """Scores of each segment; `labels` has one per entry of ``snapshot.profiles.item``.

        Within a segment the pairs keep their weights relative to each other.
        """
        wanted = named_quality(quality)
        part, _ = _weighted(self.snapshot, weights)
        shares, values = self._shares(weights), self.values(wanted)
        names, codes = np.unique(np.asarray(labels)[self.entries], return_inverse=True)
        n = len(self.snapshot.log.users)
        found = []
        for k, name in enumerate(names):
            own = np.where(codes == k, shares, 0.0)
            mass, total = _summed(self.users, own, n), _summed(self.users, own * values, n)
            if mass.sum() <= 0:
                continue
            value = float(total.sum() / mass.sum())
            interval = by_users(value, mass, total, level)
            score = self._score(wanted, weights, part, value, interval, own, int(np.count_nonzero(mass)))
            found.append(replace(score, segment=str(name)))
        return found

    def _shares(self, weights: ItemWeights | None) -> Floats:
        part, theta = _weighted(self.snapshot, weights)
        return entry_shares(part, theta)[self.entries]

    def _sampled(
        self, wanted: Quality, part: Snapshot, theta: Floats, weights: ItemWeights | None, level: float
    ) -> Score:
        assert self.sample is not None
        drawn = draw(part, theta, self.sample, self.seed)
        place = np.searchsorted(self.entries, drawn)
        place = np.minimum(place, len(self.entries) - 1)
        if (self.entries[place] != drawn).any():
            raise PolicyError("these weights were not named when the sample was drawn: give them in weights=")
        values = self.values(wanted)[place]
        hits = wanted.is_hit
        interval = wilson(float(values.sum()), len(values), level) if hits else by_draws(values, level)
        shares = np.bincount(place, minlength=len(self.entries)) / len(drawn)
        users = len(np.unique(self.users[place]))
        return self._score(wanted, weights, part, float(values.mean()), interval, shares, users, len(drawn))

    def _score(
        self,
        wanted: Quality,
        weights: ItemWeights | None,
        part: Snapshot,
        value: float,
        interval: Interval,
        shares: Floats,
        users: int,
        pairs: int | None = None,
    ) -> Score:
        item = self.snapshot.profiles.item[self.entries].astype(np.int64)
        by_item = np.bincount(item, weights=shares)
        out = (self.whole.sizes() > 0) & (part.sizes() == 0)
        squares = float((shares * shares).sum())
        return Score(
            recommender=self.recommender,
            quality=wanted.name,
            view=self.snapshot.policy.view,
            weighting="raw" if weights is None else "weighted",
            top=None if weights is None else weights.top,
            at=self.snapshot.at,
            value=value,
            low=interval.low,
            high=interval.high,
            pairs=int(np.count_nonzero(shares)) if pairs is None else pairs,
            users=users,
            level=interval.level,
            method=interval.method,
            effective_pairs=float(shares.sum()) ** 2 / squares if squares > 0 else math.nan,
            largest_item=float(by_item.max() / shares.sum()),
            users_left_out=Share(int(out.sum()), float(self.whole.shares()[out].sum())),
        )


def _summed(where: Codes, what: Floats, n: int) -> Floats:
    return np.asarray(np.bincount(where, weights=what, minlength=n), dtype=np.float64)


def _weighted(snapshot: Snapshot, weights: ItemWeights | None) -> tuple[Snapshot, Floats]:
    """The snapshot of the users who take part, and a log-weight for each item."""
    if weights is None:
        return snapshot, np.zeros(snapshot.profiles.n_items)
    return weights.applied_to(snapshot)


def _check(sample: int | None, leave_out: int, after: Any) -> None:
    if sample is not None and sample < 1:
        raise InputError(f"sample is {sample}; it must be at least 1")
    if leave_out < 1:
        raise InputError(f"leave_out is {leave_out}; it must be at least 1")
    if after is not None and leave_out > 1:
        raise PolicyError("leave_out is about items taken out of a profile; with after= none is taken out")
